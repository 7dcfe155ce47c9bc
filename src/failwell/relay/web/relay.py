"""A relay over HTTP: one server, however many clients, and what an operator asks it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from failwell.idempotency import LeasedKeys, shared_hold
from failwell.model import ToolError
from failwell.observe import SESSION_HEADER, Names
from failwell.readers import read
from failwell.relay.actions import Note, RelayOptions
from failwell.relay.calls import PATIENT
from failwell.relay.failures import command_line
from failwell.relay.messages import read_frame, written
from failwell.relay.process_server import ProcessServer
from failwell.relay.processes import SESSION_VARIABLE, Warden, fresh_mark, mark_below, take_in_orphans
from failwell.relay.relay_protocol import RelayProtocol, SystemClock
from failwell.relay.runner import Runner, ServerSide
from failwell.relay.stdio import run, serve_stdio

from .client_session import ClientSession
from .http_server import HttpServer, RemoteServer
from .limits import AccessControl, RelayLimits, is_loopback

if TYPE_CHECKING:
    from .asgi import RelayApp

_LARGEST_HEAD: Final = 65_536
_GREETING: Final = {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "failwell-probe", "version": "1"},
}  # fmt: skip
_UNAVAILABLE: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class CannotListen(Exception):
    """Why a relay cannot listen: one line that says what to do."""


class Relay:
    """A server, wrapped, for programs that run the relay themselves.

    target: the server's URL, or its command. headers: what a server behind an address is sent with each request.
    tokens: one of these is asked for as a bearer token. hosts, origins: what a request may name beside loopback.

        relay = Relay(["npx", "-y", "some-server"])
        relay.app()                    # an ASGI application
        relay.listen("127.0.0.1", 8000)
        relay.stdio()
    """

    def __init__(
        self,
        target: str | Sequence[str],
        *,
        options: RelayOptions | None = None,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        limits: RelayLimits | None = None,
        tokens: Sequence[str] = (),
        hosts: Sequence[str] = (),
        origins: Sequence[str] = (),
        log: Callable[[Note], None] | None = None,
    ) -> None:
        options = options or RelayOptions()
        self._env, self._cwd = os.environ if env is None else env, cwd
        self._mark = fresh_mark()
        self._warden: Warden | None = None
        self._command: tuple[str, ...] = ()
        self.address: RemoteServer | None = None
        if isinstance(target, str):
            self.address = address = RemoteServer(target, headers or {})
            self.options = replace(
                options, command=address.place, remote=True, headers=address.headers, url=address.url
            )
        else:
            self._command = words = tuple(target)
            self.options = replace(options, command=" ".join(words), words=words, remote=False)
        self.access = AccessControl(limits or RelayLimits(), hosts=hosts, origins=origins, tokens=tokens)
        self.log = log or _print
        self._probing = asyncio.Lock()
        self._probed: tuple[float, str | None, str | None] = 0.0, None, None

    def app(self) -> RelayApp:
        """The relay as an ASGI application, which may be mounted anywhere."""
        return self._app

    @cached_property
    def _app(self) -> RelayApp:
        from .asgi import RelayApp

        return RelayApp(self)

    async def close(self) -> None:
        if self.address is not None:
            await self.address.client.aclose()

    # The servers

    def _connect(self, runner: Runner, headers: Mapping[str, str], names: Names | None) -> ServerSide:
        # A server that keeps events, too, tells of the same calls.
        if self.address is not None:
            return HttpServer(runner, self.address, {**headers, **({SESSION_HEADER: names.session} if names else {})})
        env = {**self._env, **({SESSION_VARIABLE: names.session} if names else {})}
        # Each has a mark of its own, by which it is ended with all that it started.
        mark = mark_below(self._mark)
        return ProcessServer(runner, self._command, env, self._cwd, mark=mark, warden=self._warden)

    def _names(self) -> Names | None:
        """By what the calls of one client are known, where events are kept."""
        return None if self.options.events is None else Names.of(self.options.events)

    def open(self, session: ClientSession, headers: Mapping[str, str]) -> Runner:
        """The runner of a session; the headers are those of the client that the server may be sent."""
        known, names, held = self.options, self._names(), None
        if session.is_shared:
            # Nothing tells its clients apart: what one of them does wrong closes no tool for another.
            known = replace(known, policy=replace(known.policy or PATIENT, hold=known.hold, circuit_breaker=False))
        if session.is_shared and not session.owner:
            # What one has in doubt would hold the call of another, too.
            known = replace(known, hold=0.0, policy=known.policy and replace(known.policy, hold=0.0))
        elif session.is_shared and known.keys is not None:
            # A session of the older era is known to one relay alone.
            seconds = known.hold if known.policy is None else known.policy.hold
            held = shared_hold(known.keys, seconds, known.command, session.owner)
        headers_known, metrics = {**known.headers, **headers}, self._app.metrics
        options = replace(known, caller=session.owner, shared_hold=held, names=names, headers=headers_known)
        options = replace(options, hooks=(*known.hooks, metrics))
        protocol = RelayProtocol(options, SystemClock(), random.random)
        return Runner(protocol, session, lambda runner: self._connect(runner, headers, names), counts=metrics.counts)

    async def _greet(self) -> None:
        """Greet the server behind the address as a client would: an address with no server behind it is told at once.

        One that is down may come back, and the relay should not have to be started again for that.
        """
        session = ClientSession("probe", "", self.access.limits, lambda note: None, lambda session: None)
        session.runner = self.open(session, {})
        session.runner.begin()
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _GREETING}
        _, exchange = session.ask(written(asked), asked)
        await exchange.wait()
        state = session.runner.protocol.state
        await session.runner.close()
        answer = read_frame(exchange.answer or b"")
        status = exchange.http.status if exchange.http is not None else 0
        if status in (401, 403) or (answer is not None and state != "failed"):
            # Whoever has to log in is told so by the server itself.
            return
        error = read(answer) if answer is not None else None
        line = answer["error"]["message"] if answer is not None else "The server behind the address does not answer."
        is_down = not isinstance(error, ToolError) or error.code in ("NETWORK_ERROR", "TIMEOUT")
        if not is_down and status not in _UNAVAILABLE:
            await self.close()
            raise CannotListen(f"{line} Check the address.")
        self.log(Note(f"{line} Start it, or check the address.", loud=True))

    async def health(self) -> tuple[int, dict[str, Any]]:
        """The status and the body of the page that tells whether the server can be reached."""
        app, keys = self._app, self.options.keys
        async with self._probing:
            # However many ask, it is looked at once in a second.
            until, problem, store = self._probed
            if time.monotonic() >= until:
                problem = await self.address.probe() if self.address is not None else None
                store = await asyncio.to_thread(keys.problem) if isinstance(keys, LeasedKeys) else None
                self._probed = time.monotonic() + 1.0, problem, store
        body: dict[str, Any] = {"sessions": len(app.sessions), "draining": app.is_draining}
        if self.address is None:
            states = [session.runner.protocol.state for session in app.sessions.values()]
            body["processes"] = {state: states.count(state) for state in sorted(set(states))}
            is_up = not app.is_broken and (not states or bool({"up", "starting", "off"} & set(states)))
        else:
            is_up = problem is None
        if problem is not None:
            body["problem"] = problem
        body["upstream"], status = "up" if is_up else "down", "ok"
        if isinstance(keys, LeasedKeys):
            body["store"] = "up" if store is None else "down"
            # All relays lose it at once, and go on, each alone: none of them is worth less than the others.
            status = "ok" if store is None else "degraded"
        is_well = is_up and not app.is_draining
        return 200 if is_well else 503, {"status": status if is_well else "failing", **body}

    # Running it

    def stdio(self) -> int:
        """Relay between standard input and output and the server; the exit code."""
        names = self._names()

        async def serve() -> int:
            protocol = RelayProtocol(replace(self.options, names=names), SystemClock(), random.random)
            try:
                return await serve_stdio(protocol, lambda runner: self._connect(runner, {}, names), log=self.log)
            finally:
                await self.close()

        return run(serve())

    def listen(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        ready: Callable[[str], None] | None = None,
        reload: Callable[[], None] | None = None,
        is_alone: bool = False,
    ) -> int:
        """Listen until told to end; the exit code. It raises `CannotListen`.

        ready: told the address. reload: called for SIGHUP. is_alone: whether nothing else runs in this process: then a
        second, tiny one ends what was started if this one is killed.
        """
        if not is_loopback(host) and not self.access.tokens:
            raise CannotListen(
                f"{host} can be reached by others: ask for a token (--token, or FAILWELL_TOKEN), or listen on 127.0.0.1"
            )
        if self.address is None and shutil.which(self._command[0], path=self._env.get("PATH")) is None:
            raise CannotListen(f"cannot start {command_line(self._command)}: there is no {self._command[0]}")
        listening = _bind(host, port)
        self.access.bound = host
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listening.getsockname()[1]}/mcp"
        if is_alone and self.address is None and hasattr(os, "fork"):
            self._warden = Warden(self._mark)
            take_in_orphans()
        try:
            return asyncio.run(self._listen(listening, lambda: ready and ready(url), reload))
        finally:
            listening.close()
            if self._warden is not None:
                self._warden.dismiss()

    async def _listen(
        self, listening: socket.socket, ready: Callable[[], None], reload: Callable[[], None] | None
    ) -> int:
        import uvicorn

        if self.address is not None:
            await self._greet()
        app, loop = self._app, asyncio.get_running_loop()
        config = uvicorn.Config(
            app, http="h11", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD, backlog=512,
            timeout_graceful_shutdown=2, limit_concurrency=4 * app.limits.sessions, proxy_headers=False,
        )  # fmt: skip
        server = uvicorn.Server(config)

        # By uvicorn's own way, all that is under way would be cut off. A second signal ends it at once.
        server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
        for name, then in (("SIGTERM", app.drain), ("SIGINT", app.drain), ("SIGHUP", reload or app.drain)):
            with suppress(AttributeError, NotImplementedError):
                loop.add_signal_handler(getattr(signal, name), then)

        app.on_drained = partial(setattr, server, "should_exit", True)
        ready()
        await server.serve(sockets=[listening])
        await app.close()
        return 0


def app(target: str | Sequence[str], **given: Any) -> RelayApp:
    """A server, wrapped, as an ASGI application: what `Relay(target, …).app()` gives."""
    return Relay(target, **given).app()


def _bind(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        is_dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listening = socket.create_server((host, port), family=family, backlog=512, dualstack_ipv6=is_dual)
    except OSError as problem:
        why = (problem.strerror or str(problem)).partition(" (while")[0]
        raise CannotListen(f"cannot listen on {host}:{port}: {why}; name another one with --listen") from None
    # Each connection inherits it; asyncio does not set it where the protocol of a socket is not named.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _print(note: Note) -> None:
    if note.loud:
        print(f"failwell: {note.line}", file=sys.stderr, flush=True)
