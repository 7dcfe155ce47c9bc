"""A relay over HTTP: one server, however many clients, and what an operator asks it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from failwell.idempotency import LeasedKeys, shared_hold
from failwell.observe import SESSION_HEADER, Names
from failwell.relay.actions import Note, RelayOptions
from failwell.relay.calls import PATIENT
from failwell.relay.core import SystemClock
from failwell.relay.failures import command_line
from failwell.relay.process_server import ProcessServer
from failwell.relay.processes import SESSION_VARIABLE, Warden, fresh_mark, mark_below, take_in_orphans
from failwell.relay.relay_protocol import RelayProtocol
from failwell.relay.runner import Runner, ServerSide
from failwell.relay.stdio import run, serve_stdio

from .address import RemoteServer, http_client
from .bounds import Gatekeeper, RelayLimits, is_loopback
from .front import Front
from .health import Look, unfit, unreachable
from .metrics import RelayCollector, RelayTally, page
from .server import HttpServer
from .visit import Visit

if TYPE_CHECKING:
    import httpx2

_PATH: Final = "/mcp"
_LARGEST_HEAD: Final = 65_536


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
        say: Callable[[Note], None] | None = None,
    ) -> None:
        self.address = RemoteServer(target, headers or {}) if isinstance(target, str) else None
        self._command = () if isinstance(target, str) else tuple(target)
        self._env, self._cwd = os.environ if env is None else env, cwd
        self._mark = fresh_mark()
        self._warden: Warden | None = None
        options = options or RelayOptions()
        if self.address is not None:
            place = self.address.place
            self.options = replace(
                options, command=place, remote=True, headers=self.address.headers, url=self.address.url
            )
        else:
            self.options = replace(options, command=" ".join(self._command), words=self._command, remote=False)
        self.gatekeeper = Gatekeeper(limits or RelayLimits(), hosts=hosts, origins=origins, tokens=tokens)
        self._say = say or _said
        self.tally = RelayTally()
        self.options = replace(self.options, hooks=(*self.options.hooks, self.tally))
        self._client: httpx2.AsyncClient | None = None
        self._look_upstream, self._look_store = Look(self._upstream), Look(self._store)
        self._front: Front | None = None

    def app(self) -> Front:
        """The relay as an ASGI application, which may be mounted anywhere."""
        if self._front is None:
            self._front = Front(
                self._visit,
                self.gatekeeper,
                path=_PATH,
                say=self._say,
                pages={"/healthz": self._health, "/metrics": self._metrics},
                at_end=self.close,
            )
        return self._front

    def _connect(self, runner: Runner, headers: Mapping[str, str], names: Names | None = None) -> ServerSide:
        if self.address is None:
            # Each has a mark of its own, by which it is ended with all that it started.
            mark = mark_below(self._mark)
            # A server that keeps events, too, tells of the same calls.
            env = self._env if names is None else {**self._env, SESSION_VARIABLE: names.session}
            return ProcessServer(runner, self._command, env, self._cwd, mark=mark, warden=self._warden)
        told = headers if names is None else {**headers, SESSION_HEADER: names.session}
        return HttpServer(runner, self.address, self._http(), told)

    def _visit(self, visit: Visit, headers: Mapping[str, str]) -> Runner:
        keys = self.options.keys
        names = self._names()
        known, held = self.options, None
        if visit.is_shared:
            # Nothing tells its clients apart: what one of them does wrong closes no tool for another.
            known = replace(known, policy=replace(known.policy or PATIENT, hold=known.hold, circuit_breaker=False))
        if visit.is_shared and not visit.owner:
            # What one has in doubt would hold the call of another, too.
            known = replace(known, hold=0.0, policy=known.policy and replace(known.policy, hold=0.0))
        elif visit.is_shared and keys is not None:
            # A session of the older era is known to one relay alone.
            seconds = known.hold if known.policy is None else known.policy.hold
            held = shared_hold(keys, seconds, known.command, visit.owner)
        options = replace(
            known,
            caller=visit.owner,
            shared_hold=held,
            names=names,
            headers={**self.options.headers, **headers},
        )
        protocol = RelayProtocol(options, SystemClock(), random.random)
        return Runner(
            protocol,
            visit,
            lambda runner: self._connect(runner, headers, names),
            counts=self.tally.counts,
        )

    def _names(self) -> Names | None:
        """By what the calls of one client are known, where events are kept."""
        return None if self.options.events is None else Names.of(self.options.events)

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _health(self) -> tuple[int, str, bytes]:
        front = self.app()
        states = [visit.runner.protocol.state for visit in [*front.visits.values(), *front.lanes.values()]]
        told: dict[str, Any] = {"sessions": len(front.visits), "draining": front.is_draining}
        if self.address is not None:
            problem = await self._look_upstream()
            told["upstream"] = "up" if problem is None else "down"
            if problem is not None:
                told["problem"] = problem
        else:
            counted = {state: states.count(state) for state in sorted(set(states))}
            is_down = front.is_broken or (states and not {"up", "starting", "off"} & set(states))
            told["upstream"] = "down" if is_down else "up"
            told["processes"] = counted
        is_well, status = told["upstream"] == "up" and not front.is_draining, "ok"
        if isinstance(self.options.keys, LeasedKeys):
            told["store"] = "up" if await self._look_store() is None else "down"
            # All relays lose it at once, and go on, each alone: none of them is worth less than the others.
            status = status if told["store"] == "up" else "degraded"
        body = {"status": status if is_well else "failing", **told}
        return 200 if is_well else 503, "application/json", json.dumps(body).encode()

    async def _metrics(self) -> tuple[int, str, bytes]:
        front = self.app()
        collector = RelayCollector(self.tally, front.gatekeeper.refused, lambda: len(front.visits))
        return 200, "text/plain; version=0.0.4; charset=utf-8", page(collector, self.tally.stats)

    async def _upstream(self) -> str | None:
        assert self.address is not None
        return await unreachable(self.address, self._http())

    async def _store(self) -> str | None:
        keys = self.options.keys
        return await asyncio.to_thread(keys.problem) if isinstance(keys, LeasedKeys) else None

    def _http(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = http_client()
        return self._client

    # Running it

    def stdio(self) -> int:
        """Relay between standard input and output and the server; the exit code."""

        names = self._names()

        async def serve() -> int:
            try:
                return await serve_stdio(
                    RelayProtocol(replace(self.options, names=names), SystemClock(), random.random),
                    lambda runner: self._connect(runner, {}, names),
                    log=self._say,
                )
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
        if not is_loopback(host) and not self.gatekeeper.tokens:
            raise CannotListen(
                f"{host} can be reached by others: ask for a token (--token, or FAILWELL_TOKEN), or listen on 127.0.0.1"
            )
        if self.address is None and shutil.which(self._command[0], path=self._env.get("PATH")) is None:
            raise CannotListen(f"cannot start {command_line(self._command)}: there is no {self._command[0]}")
        listening = _bound(host, port)
        self.gatekeeper.bound = host
        shown = f"[{host}]" if ":" in host else host
        where = f"http://{shown}:{listening.getsockname()[1]}{_PATH}"
        if is_alone and self.address is None and hasattr(os, "fork"):
            self._warden = Warden(self._mark)
            take_in_orphans()
        try:
            return asyncio.run(self._listen(listening, lambda: ready and ready(where), reload))
        finally:
            listening.close()
            if self._warden is not None:
                self._warden.dismiss()

    async def _listen(
        self,
        listening: socket.socket,
        ready: Callable[[], None],
        reload: Callable[[], None] | None,
    ) -> int:
        import uvicorn

        front = self.app()
        if self.address is not None and (found := await unfit(self.address, self._http())) is not None:
            if found.is_final:
                await self.close()
                raise CannotListen(found.line)
            self._say(Note(found.line, loud=True))
        config = uvicorn.Config(
            front, http="h11", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD, backlog=512,
            timeout_graceful_shutdown=2, limit_concurrency=4 * front.limits.sessions, proxy_headers=False,
        )  # fmt: skip
        server = uvicorn.Server(config)
        loop = asyncio.get_running_loop()
        ending: list[asyncio.Task[None]] = []

        def end() -> None:
            if ending:
                # Whoever says so twice does not want to wait.
                front.drain()
                return
            front.drain()
            ending.append(loop.create_task(self._ended(front, server)))

        def on_signal(sig: int, frame: object) -> None:
            loop.call_soon_threadsafe(end)

        # By uvicorn's own way, all that is under way would be cut off.
        server.handle_exit = on_signal  # type: ignore[method-assign]
        if hasattr(signal, "SIGHUP"):
            with suppress(NotImplementedError):
                loop.add_signal_handler(signal.SIGHUP, reload or end)
        ready()
        await server.serve(sockets=[listening])
        await front.close()
        return 0

    async def _ended(self, front: Front, server: Any) -> None:
        """When all that was under way has come to its end."""
        while front.visits or front.lanes:
            await asyncio.sleep(0.05)
        server.should_exit = True


def app(target: str | Sequence[str], **given: Any) -> Front:
    """A server, wrapped, as an ASGI application: what `Relay(target, …).app()` gives."""
    return Relay(target, **given).app()


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except OSError as problem:
        raise CannotListen(f"cannot listen on {host}: {problem.strerror or problem}") from None
    # Named in full, or asyncio does not switch off the delay of small packets.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(512)
    except OSError as problem:
        listening.close()
        why = problem.strerror or str(problem)
        raise CannotListen(f"cannot listen on {host}:{port}: {why}; name another one with --listen") from None
    return listening


def _said(note: Note) -> None:
    if note.loud:
        print(f"failwell: {note.line}", file=sys.stderr, flush=True)
