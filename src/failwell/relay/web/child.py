"""A server on stdio, behind a relay that runs in an event loop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Thread

from failwell.relay.actions import Death, ToServer
from failwell.relay.frames import Lines
from failwell.relay.pipes import Outlet
from failwell.relay.processes import MUTE, STUBBORN, CannotStart, Child, Warden, read_now, sweep

from .attendant import Attendant


class ChildBackend:
    """A process of one's own for each client in front."""

    def __init__(
        self,
        attendant: Attendant,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        *,
        mark: str,
        warden: Warden | None = None,
    ) -> None:
        self._attendant, self._command, self._env, self._cwd = attendant, command, env, cwd
        self._mark, self._warden = mark, warden
        self._loop = asyncio.get_running_loop()
        self._child: Child | None = None
        self._outlet = Outlet(-1)
        self._lines = Lines()
        self._is_waiting = False
        """Whether the pipe to the server is full."""
        self._ended_for = ""
        self._kill: asyncio.TimerHandle | None = None

    def start(self) -> None:
        try:
            child = Child(self._command, self._env, self._cwd, self._mark)
        except CannotStart as problem:
            self._attendant.died(Death(None, problem=str(problem)))
            return
        if self._warden is not None:
            self._warden.knows(child.pid)
        self._child, self._outlet = child, Outlet(child.stdin)
        self._lines = Lines(self._attendant.desk.options.longest)
        self._is_waiting, self._ended_for = False, ""
        self._loop.add_reader(child.stdout, self._read, child)
        self._loop.add_reader(child.stderr, self._read_errors, child)
        Thread(target=self._await, args=(child,), daemon=True).start()
        self._attendant.started()

    def _await(self, child: Child) -> None:
        child.wait()
        # Here, where nobody else waits for it, and before the next one is there.
        sweep(child.mark)
        with suppress(RuntimeError):
            # The loop may be gone by then.
            self._loop.call_soon_threadsafe(self._ended, child)

    def send(self, action: ToServer) -> None:
        if self._child is None:
            return
        self._outlet.send(action.frame, action.request)
        if not self._is_waiting:
            self._flush()

    def _flush(self) -> None:
        self._outlet.flush()
        if self._child is None or self._outlet.is_full is self._is_waiting:
            return
        self._is_waiting = self._outlet.is_full
        if self._is_waiting:
            self._loop.add_writer(self._child.stdin, self._flush)
        else:
            self._loop.remove_writer(self._child.stdin)

    def _read(self, child: Child) -> bool:
        """Whether there may be more to read."""
        if child is not self._child:
            return False
        data = read_now(child.stdout)
        if data is None:
            return False
        if not data:
            self._loop.remove_reader(child.stdout)
            if self._kill is None:
                # It cannot say any more, so it has a moment to end by itself.
                self._end_soon(child, MUTE)
            return False
        for frame in self._lines.feed(data):
            self._attendant.server(frame)
        return True

    def _read_errors(self, child: Child) -> None:
        data = read_now(child.stderr)
        if data is None:
            return
        if data:
            child.said(data)
        else:
            self._loop.remove_reader(child.stderr)

    def stop(self, why: str) -> None:
        if self._child is not None:
            self._child.signal(signal.SIGTERM)
            self._end_soon(self._child, why)
            self._ended_for = why

    def _end_soon(self, child: Child, why: str) -> None:
        def end() -> None:
            if child is self._child:
                self._ended_for = why
                child.signal(signal.SIGKILL)

        self._kill = self._loop.call_later(STUBBORN, end)

    def _ended(self, child: Child) -> None:
        """The process is gone."""
        if child is not self._child:
            return
        # What it said before its end is still to be read.
        while self._read(child):
            if child is not self._child:
                return
        self._read_errors(child)
        self._let_go(child)
        code, unwritten, why = child.code, self._outlet.unwritten, self._ended_for
        child.end(politely=False)
        self._attendant.died(Death(code, child.errors, unwritten, ended_for=why))

    def _let_go(self, child: Child) -> None:
        self._child = None
        if self._warden is not None:
            self._warden.forgets(child.pid)
        if self._kill is not None:
            self._kill.cancel()
            self._kill = None
        self._loop.remove_reader(child.stdout)
        self._loop.remove_reader(child.stderr)
        self._loop.remove_writer(child.stdin)

    async def close(self, *, politely: bool = True) -> None:
        child = self._child
        if child is not None:
            self._let_go(child)
            await asyncio.to_thread(child.end, politely=politely)
        await asyncio.to_thread(sweep, self._mark)
