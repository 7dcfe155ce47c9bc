"""A server on stdio: its process, in the event loop of a relay."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import Final

from .actions import Death, ToServer
from .frames import Lines
from .messages import last_frame
from .processes import MUTE, STUBBORN, CannotStart, Child, Warden, read_now, sweep
from .runner import Runner

_AT_ONCE: Final = 64
_LONGEST_LINE: Final = 64_000
"""Of what a server writes to stderr."""


class Outlet:
    """What is to be written to one pipe, in order, as the pipe takes it."""

    def __init__(self, pipe: int, written: Callable[[], None] | None = None) -> None:
        self.pipe, self._written = pipe, written
        self._waiting: deque[tuple[bytes, object]] = deque()
        self._begun = 0
        """How many bytes of the first frame are written."""
        self.size = 0
        """How many bytes wait."""
        self.is_broken = self._is_watched = False

    @property
    def unwritten(self) -> tuple[object, ...]:
        """The requests whose frames are not written, not by one byte."""
        rest = list(self._waiting)[1 if self._begun else 0 :]
        return tuple(request for _, request in rest if request is not None)

    def send(self, frame: bytes, request: object = None) -> None:
        self._waiting.append((frame, request))
        self.size += len(frame)

    def flush(self) -> None:
        """Write as much as the pipe takes: many frames at once, since each write wakes somebody."""
        waiting = self._waiting
        try:
            while waiting and not self.is_broken:
                if len(waiting) == 1:
                    frame = waiting[0][0]
                    count = os.write(self.pipe, memoryview(frame)[self._begun :] if self._begun else frame)
                else:
                    frames: list[bytes | memoryview] = [frame for frame, _ in islice(waiting, _AT_ONCE)]
                    frames[0] = memoryview(frames[0])[self._begun :]
                    count = os.writev(self.pipe, frames)
                self._begun += count
                self.size -= count
                while waiting and self._begun >= len(waiting[0][0]):
                    self._begun -= len(waiting.popleft()[0])
        except BlockingIOError:
            pass
        except OSError:
            self.is_broken = True
        if self._is_watched is not (is_full := bool(waiting) and not self.is_broken):
            self._watch(is_full)

    def _watch(self, wanted: bool) -> None:
        self._is_watched = wanted
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_writer(self.pipe, self._writable)
        else:
            loop.remove_writer(self.pipe)

    def _writable(self) -> None:
        self.flush()
        if self._written is not None:
            self._written()

    def close(self) -> None:
        if self._is_watched:
            self._watch(False)


class ProcessServer:
    """A process, started as often as the protocol wants it."""

    def __init__(
        self,
        runner: Runner,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        *,
        mark: str,
        warden: Warden | None = None,
        child: Child | None = None,
    ) -> None:
        self._runner, self._command, self._env, self._cwd = runner, command, env, cwd
        self._mark, self._warden, self._first = mark, warden, child
        self._loop = asyncio.get_running_loop()
        self._child: Child | None = None
        self._outlet, self._lines, self._errors = Outlet(-1), Lines(), Lines(_LONGEST_LINE)
        self._is_held = self._is_silent = False
        self._ended_for = ""
        self._kill: asyncio.TimerHandle | None = None

    @property
    def pids(self) -> tuple[int, ...]:
        """The process, if there is one."""
        return tuple(each.pid for each in (self._child, self._first) if each is not None)

    def start(self) -> None:
        child, self._first = self._first, None
        if child is None:
            try:
                child = Child(self._command, self._env, self._cwd, self._mark)
            except CannotStart as problem:
                self._runner.died(Death(None, problem=str(problem)))
                return
        if self._warden is not None:
            self._warden.knows(child.pid)
        self._child, self._outlet = child, Outlet(child.stdin)
        self._lines = Lines(self._runner.protocol.options.longest)
        self._errors = Lines(_LONGEST_LINE)
        self._is_silent, self._ended_for = False, ""
        if not self._is_held:
            self._loop.add_reader(child.stdout, self._read, child)
        self._loop.add_reader(child.stderr, self._read_errors, child)
        Thread(target=self._wait, args=(child,), daemon=True).start()
        self._runner.started()

    def _wait(self, child: Child) -> None:
        child.wait()
        # Here, where nobody else waits for it, and before the next one is there, which might find what this one left.
        sweep(child.mark)
        with suppress(RuntimeError):
            # The loop may be gone by then.
            self._loop.call_soon_threadsafe(self._ended, child)

    def send(self, action: ToServer) -> None:
        if self._child is not None:
            if action.request is not None:
                self._child.asked()
            self._outlet.send(action.frame, action.request)

    def flush(self) -> None:
        if self._child is not None:
            self._outlet.flush()

    def hold_back(self, is_full: bool) -> None:
        child, self._is_held = self._child, is_full
        if child is None or self._is_silent:
            return
        if is_full:
            self._loop.remove_reader(child.stdout)
        else:
            self._loop.add_reader(child.stdout, self._read, child)

    def _read(self, child: Child) -> bool:
        """Read what is there; whether there may be more."""
        if child is not self._child or self._is_silent:
            return False
        data = read_now(child.stdout)
        if data is None:
            return False
        if data:
            self._runner.from_server(self._lines.feed(data))
            return True
        self._is_silent = True
        self._loop.remove_reader(child.stdout)
        # Whoever writes no more may have left out the end of the last line.
        if (last := last_frame(self._lines.rest())) is not None:
            self._runner.from_server([last])
        if self._kill is None:
            # It cannot say any more, so it has a moment to end by itself.
            self._end_soon(child, MUTE)
        return False

    def _read_errors(self, child: Child) -> None:
        data = read_now(child.stderr)
        if data:
            child.said(data)
            self._runner.from_stderr(self._errors.feed(data))
        elif data is not None:
            self._loop.remove_reader(child.stderr)
            self._runner.from_stderr([self._errors.rest()])

    def stop(self, why: str) -> None:
        if self._child is not None and self._kill is None:
            self._ended_for = why
            self._child.signal(signal.SIGTERM)
            self._end_soon(self._child, why)

    def _end_soon(self, child: Child, why: str) -> None:
        def end() -> None:
            if child is self._child:
                self._ended_for = why
                child.signal(signal.SIGKILL)

        # Once only: however often it is asked to end, its time is not extended.
        self._kill = self._loop.call_later(STUBBORN, end)

    def _ended(self, child: Child) -> None:
        """The process is gone."""
        if child is not self._child:
            return
        # What it said before its end is still to be read.
        while self._read(child):
            pass
        if child is not self._child:
            return
        if not self._is_silent and (last := last_frame(self._lines.rest())) is not None:
            # Something that it started holds its stdout open.
            self._runner.from_server([last])
        self._read_errors(child)
        unwritten, why = self._outlet.unwritten, self._ended_for
        self._let_go(child)
        code = child.code
        child.end(politely=False)
        self._runner.died(Death(code, child.errors, unwritten, ended_for=why, recent=child.recent))

    def _let_go(self, child: Child) -> None:
        self._child = None
        self._outlet.close()
        if self._warden is not None:
            self._warden.forgets(child.pid)
        if self._kill is not None:
            self._kill.cancel()
            self._kill = None
        self._loop.remove_reader(child.stdout)
        self._loop.remove_reader(child.stderr)

    async def close(self, *, politely: bool = True) -> None:
        child = self._child or self._first
        self._first = None
        if child is not None:
            if child is self._child:
                self._let_go(child)
            await asyncio.to_thread(child.end, politely=politely)
        await asyncio.to_thread(sweep, self._mark)
