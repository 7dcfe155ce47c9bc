"""Raw JSON-RPC to a server, without an SDK, which would hide what is to be graded. Every wait is bounded."""

from __future__ import annotations

import json
import os
import select
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from failwell.relay import Lines, TooLong, processes

from .offspring import Offspring

LONGEST_FRAME: Final = 8_000_000
"""More of one answer is not kept: its size is all that is graded of it."""
_KEPT: Final = 200_000
_MOST_NOISE: Final = 20
_MOST_IDS: Final = 4_000
_AFTERWARDS: Final = 0.3
_PARTING: Final = 2.0

Message = dict[str, Any]
State = Literal["answered", "silent", "ended", "refused"]
"""What became of a frame: an answer came, none did, the server was gone, or the HTTP layer refused it."""


class CannotConnect(Exception):
    """Why there is no server to talk to."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one frame."""

    state: State
    message: Message | None = None
    raw: str = ""
    size: int = 0
    seconds: float = 0.0
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    many: int = 1
    """How many answers came for it, as far as anybody looked."""
    strange: bool = False
    """Whether it came with an id that nobody asked with."""


class Transport(Protocol):
    """A way to a server."""

    noise: list[str]
    """What it printed where only messages belong."""
    twice: list[Any]
    """The ids of requests that were answered more than once."""

    def open(self) -> None:
        """Start or reach it; it raises `CannotConnect`."""

    def close(self) -> None:
        """End it."""

    def exchange(
        self, frames: Sequence[bytes], id: Any, patience: float, *, loose: bool = False, end: Any = None
    ) -> Reply:
        """Send frames and wait for the answer to one id; if `loose`, an answer without an id is one too.

        Once `end` is answered, which was sent last, no more is expected.
        """

    def late(self, id: Any) -> Reply | None:
        """The answer to a request that was not waited for long enough, if it has come since."""

    def tell(self, frame: bytes) -> None:
        """Send what nobody answers."""

    def last_words(self) -> str:
        """How it ended: its exit code and the end of what it said on stderr."""


def encoded(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")


def loads(line: bytes) -> Any:
    """The JSON value of a line; None for what is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


class StdioTransport:
    """A process of our own, with all that it starts in a group that is ended with it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str | None, warden: Any = None) -> None:
        self._command, self._env, self._cwd = list(command), dict(env), cwd
        self._mark = processes.fresh_mark() if warden is None else warden.mark
        self._child: processes.Child | None = None
        self._warden = warden
        # Whoever has a warden takes in what servers leave behind: what is there before is somebody else's.
        self._others = processes.children() if warden is not None else []
        self._said_all = False
        self._lines = Lines(LONGEST_FRAME)
        self._waiting: deque[bytes | TooLong] = deque()
        self._answered: deque[str] = deque(maxlen=_MOST_IDS)
        self._asked: deque[str] = deque(maxlen=_MOST_IDS)
        self._late: dict[str, Reply] = {}
        self.noise: list[str] = []
        self.twice: list[Any] = []

    def open(self) -> None:
        self.close()
        if not hasattr(select, "poll"):
            # There a pipe cannot be waited for, and every server would look as if it did not answer.
            raise CannotConnect("this system cannot wait for pipes: serve it over HTTP, and check its URL")
        try:
            self._child = processes.Child(self._command, self._env, self._cwd, self._mark)
        except processes.CannotStart as problem:
            raise CannotConnect(str(problem)) from None
        if self._warden is not None:
            self._warden.knows(self._child.pid)
        self._lines = Lines(LONGEST_FRAME)
        self._said_all = False
        self._waiting.clear()
        self._answered.clear()
        self._asked.clear()
        self._late.clear()

    def close(self) -> None:
        if self._child is not None:
            started = Offspring(self._child.pid)
            self._child.end(politely=False)
            self._child = None
            processes.sweep(self._mark)
            started.end()
            if self._warden is not None:
                processes.end_orphans(self._others)

    def last_words(self) -> str:
        if self._child is None:
            return ""
        until = time.monotonic() + _PARTING
        while self._said_all and self._child.code is None and time.monotonic() < until:
            # Its pipes close a moment before it has ended.
            self._listen(0.02)
            time.sleep(0.02)
        self._listen(0.05)
        code, said = self._child.code, self._child.errors.strip()
        ended = f"it ended with exit code {code}" if code is not None else "it is still running"
        return f"{ended}; stderr ends with: {said[-600:]}" if said else ended

    def tell(self, frame: bytes) -> None:
        self._write(frame + b"\n", time.monotonic() + 3)

    def exchange(
        self, frames: Sequence[bytes], id: Any, patience: float, *, loose: bool = False, end: Any = None
    ) -> Reply:
        started = time.monotonic()
        until = started + patience
        self._asked += [json.dumps(each) for each in (id, end) if each is not None]
        if not self._write(b"".join(frame + b"\n" for frame in frames), until):
            return Reply("ended" if self._is_gone() else "silent", seconds=time.monotonic() - started)
        while True:
            while self._waiting:
                reply = self._taken(self._waiting.popleft(), id, started, loose)
                if reply is not None:
                    return reply
                if end is not None and json.dumps(end) in self._answered:
                    # A slow machine is given longer.
                    took = time.monotonic() - started
                    until = min(until, time.monotonic() + min(max(3 * took, 0.03), _AFTERWARDS))
                    end = None
            left = until - time.monotonic()
            if left <= 0:
                return Reply("silent", seconds=time.monotonic() - started)
            if not self._listen(left):
                return Reply("ended", seconds=time.monotonic() - started)

    def _taken(self, line: bytes | TooLong, id: Any, started: float, loose: bool) -> Reply | None:
        """The reply that a line is; None for what belongs to nobody who waits."""
        if isinstance(line, TooLong):
            raw = line.head.decode("utf-8", "replace")
            return Reply("answered", None, raw, line.size, time.monotonic() - started)
        if not line.strip():
            return None
        message = loads(line)
        if not isinstance(message, dict):
            if len(self.noise) < _MOST_NOISE:
                self.noise.append(line[:300].decode("utf-8", "replace").rstrip())
            return None
        if "method" in message:
            self._answer(message)
            return None
        key = json.dumps(message.get("id"), default=str)
        if key in self._answered and message.get("id") is not None:
            self.twice.append(message.get("id"))
        self._answered.append(key)
        raw = line[:_KEPT].decode("utf-8", "replace").rstrip("\n")
        is_own = key == json.dumps(id, default=str) or (loose and message.get("id") is None)
        reply = Reply("answered", message, raw, len(line), time.monotonic() - started, strange=not is_own)
        # Nobody else can be meant by an id that nobody asked with.
        if is_own or (not loose and key not in self._asked):
            return reply
        self._late[key] = replace(reply, strange=False)
        return None

    def late(self, id: Any) -> Reply | None:
        key = json.dumps(id)
        until = time.monotonic() + _AFTERWARDS
        while key not in self._late and time.monotonic() < until and self._listen(until - time.monotonic()):
            while self._waiting:
                self._taken(self._waiting.popleft(), None, time.monotonic(), True)
        return self._late.pop(key, None)

    def _answer(self, request: Message) -> None:
        """Whoever asks us something is told that we cannot do it, since we said so from the beginning."""
        if "id" in request:
            error = {"code": -32601, "message": "This client only checks."}
            with suppress(OSError):
                self.tell(encoded({"jsonrpc": "2.0", "id": request["id"], "error": error}))

    def _is_gone(self) -> bool:
        return self._child is None or self._child.code is not None

    def _write(self, data: bytes, until: float) -> bool:
        view = memoryview(data)
        while view:
            if self._child is None or time.monotonic() > until:
                return False
            try:
                view = view[os.write(self._child.stdin, view[:65_536]) :]
            except BlockingIOError:
                # It does not read before we do.
                if not self._listen(0.02):
                    return False
            except (OSError, ValueError):
                return False
        return True

    def _listen(self, seconds: float) -> bool:
        """Read what there is, or wait for it; False when nothing more can come."""
        child = self._child
        if child is None:
            return False
        try:
            ready, _, _ = select.select([child.stdout, child.stderr], [], [], max(seconds, 0))
        except (OSError, ValueError):
            return False
        open_ended = True
        for pipe in ready:
            try:
                data = os.read(pipe, 1 << 16)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if pipe == child.stderr:
                child.said(data)
                # A server may close its stderr and live on: then there is nothing to hear there, at once and for ever.
                if not data and ready == [child.stderr]:
                    ready, _, _ = select.select([child.stdout], [], [], max(seconds, 0))
                    if ready:
                        open_ended = self._heard(os.read(child.stdout, 1 << 16))
            else:
                open_ended = self._heard(data)
        return open_ended or bool(self._waiting)

    def _heard(self, data: bytes) -> bool:
        if not data:
            self._said_all = True
            if rest := self._lines.rest():
                self._waiting.append(rest)
            return False
        self._waiting.extend(self._lines.feed(data))
        return True
