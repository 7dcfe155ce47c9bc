"""One server, wrapped: the process first, since starting it is what takes the time, then all the rest."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .actions import Note, RelayOptions

if TYPE_CHECKING:
    from failwell.observe import CallEvent

    from .runner import Runner
    from .web.limits import RelayLimits


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a relay listens, and for whom. The rest is said in `failwell.relay.Relay`."""

    host: str = "127.0.0.1"
    port: int = 0
    tokens: Sequence[str] = ()
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    limits: RelayLimits | None = None
    reload: Callable[[], str | None] | None = None
    """Reads the rules anew, and says what came of it."""


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What is started, and how it is wrapped."""

    command: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    cwd: str | None = None
    options: RelayOptions = field(default_factory=RelayOptions)
    loud: bool = False
    url: str | None = None
    """Where the server is, if it is not a command."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """What a server behind an address is sent with each request."""
    log: str = "text"
    """How the log is written: as `text`, or as `json`, with a line for each call that failed."""
    listening: Listening | None = None
    """Where clients come in, if not by standard input and output."""

    def close(self) -> None:
        """Nothing more is relayed."""
        if self.options.keys is not None:
            self.options.keys.close()


def wrap(wrapping: Wrapping) -> int:
    """Relay between standard input and output and the server, until one of them is gone; the exit code."""
    if wrapping.listening is not None:
        return _listen(wrapping, wrapping.listening)
    if wrapping.url is not None:
        return _over_http(wrapping)
    if not hasattr(os, "fork"):
        _said(wrapping.loud, wrapping.log, Note("failwell wrap needs Linux or macOS to start a server", loud=True))
        return 2
    from .processes import SESSION_VARIABLE, CannotStart, Child, Warden, end_orphans, fresh_mark

    mark = fresh_mark()
    words = tuple(wrapping.command)
    options = replace(wrapping.options, command=" ".join(words), words=words, env=wrapping.env)
    env = wrapping.env
    if options.events is not None:
        from failwell.observe import Names

        names = Names.of(options.events)
        options = replace(options, names=names)
        # A server that keeps events, too, tells of the same calls.
        env = {**env, SESSION_VARIABLE: names.session}
    warden = Warden(mark)
    try:
        child = Child(wrapping.command, env, wrapping.cwd, mark)
        warden.knows(child.pid)
    except CannotStart:
        # Said once more when the protocol wants it started.
        child = None
    import asyncio
    import random

    from .processes import bury, take_in_orphans

    take_in_orphans()
    from .process_server import ProcessServer
    from .relay_protocol import RelayProtocol, SystemClock
    from .stdio import run, serve_stdio

    protocol = RelayProtocol(options, SystemClock(), random.random)

    def connect(runner: Runner) -> ProcessServer:
        server = ProcessServer(runner, wrapping.command, env, wrapping.cwd, mark=mark, warden=warden, child=child)
        # Whatever else ends was left to us by a server that is gone.
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, lambda: bury((*server.pids, warden.pid)))
        return server

    say = partial(_said, wrapping.loud, wrapping.log)
    try:
        return run(serve_stdio(protocol, connect, log=say))
    finally:
        end_orphans((warden.pid,))
        warden.dismiss()
        wrapping.close()


def _said(is_verbose: bool, log: str, note: Note) -> None:
    if note.is_of_server:
        # It says more than anybody asked for, so that nothing waits for whoever does not read it.
        if not select.select([], [2], [], 0)[1]:
            return
        if log == "json":
            _logged({"level": "info", "message": note.line, "logger": "server"})
        else:
            print(note.line, file=sys.stderr, flush=True)
        return
    if not note.loud and not is_verbose:
        return
    if log == "json":
        _logged({"level": "warning" if note.loud else "info", "message": note.line})
    else:
        print(f"failwell: {note.line}", file=sys.stderr, flush=True)


def _logged(line: dict[str, Any]) -> None:
    import json
    from datetime import UTC, datetime

    told = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **line}
    print(json.dumps(told, ensure_ascii=False), file=sys.stderr, flush=True)


def log_as_json() -> None:
    """What libraries and our own rooms have to say, which has no other way out of the process, is JSON from now on."""
    import logging

    class LogLines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told = {"level": record.levelname.lower(), "message": record.getMessage(), "logger": record.name}
            if record.exc_info is not None:
                told["exception"] = logging.Formatter().formatException(record.exc_info)
            _logged(told)

    # Asked only where nobody has said where a line goes.
    logging.lastResort = LogLines(logging.WARNING)


def log_call(event: CallEvent) -> None:
    """A hook that writes a line of JSON for each call that failed, and for each that was made more than once."""
    if event.ok and event.attempts == 1:
        return
    line: dict[str, Any] = {
        "level": "info" if event.ok else "warning",
        "message": "call",
        "tool": event.tool,
        "ok": event.ok,
        "seconds": round(event.seconds, 4),
        "attempts": event.attempts,
        "client": event.client,
    }
    _logged({**line, **({} if event.error is None else {"error": event.error.to_dict()})})


def _listen(wrapping: Wrapping, where: Listening) -> int:
    """Streamable HTTP in front of a server, wherever it is. It raises `CannotListen`."""
    from failwell.packages import bring

    web = bring(f"{__package__}.web.relay", "failwell wrap --listen", "http")
    say = partial(_said, wrapping.loud, wrapping.log)
    relay = web.Relay(
        wrapping.url if wrapping.url is not None else wrapping.command,
        options=replace(wrapping.options, env=wrapping.env if wrapping.command else {}),
        headers=wrapping.headers,
        env=wrapping.env,
        cwd=wrapping.cwd,
        limits=where.limits,
        tokens=where.tokens,
        hosts=where.hosts,
        origins=where.origins,
        log=say,
    )
    try:
        code: int = relay.listen(
            where.host,
            where.port,
            ready=lambda address: say(Note(f"listening on {address}", loud=True)),
            reload=None if where.reload is None else lambda: _reloaded(where, say),
            is_alone=True,
        )
        return code
    finally:
        wrapping.close()


def _reloaded(where: Listening, say: Callable[[Note], None]) -> None:
    line = where.reload() if where.reload is not None else None
    if line is not None:
        say(Note(line, loud=True))


def _over_http(wrapping: Wrapping) -> int:
    """The same in front of a server behind an address."""
    from failwell.packages import bring

    web = bring(f"{__package__}.web.relay", "failwell wrap", "http")
    log = partial(_said, wrapping.loud, wrapping.log)
    try:
        code: int = web.Relay(wrapping.url, options=wrapping.options, headers=wrapping.headers, log=log).stdio()
        return code
    finally:
        wrapping.close()
