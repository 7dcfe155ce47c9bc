"""The loop between a client, a server and the desk, on raw pipes: for Linux and macOS.

One thread, one poll: nothing is copied more often than the system does, and nothing ever waits for a pipe that is full.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import stat
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import Final

from .actions import Action, Death, Note, Prepare, Quit, Start, StopServer, ToClient, ToServer
from .desk import Desk
from .frames import Lines, TooLong
from .messages import last_frame
from .processes import MUTE, STUBBORN, CannotStart, Child, Warden, bury, end_orphans, read_now, sweep

_FLUSH: Final = 2.0
_AT_ONCE: Final = 64
# More than one large answer.
_MOST_WAITING: Final = 32_000_000

Witness = Callable[[str, bytes], None]
"""Told of each frame: `client`, `server`, `to client` or `to server`."""


class Outlet:
    """What is to be written to one pipe, in order."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self._waiting: deque[tuple[bytes, object]] = deque()
        self._begun = 0
        """How many bytes of the first one are written."""
        self.size = 0
        """How many bytes wait."""
        self.is_broken = False

    @property
    def is_full(self) -> bool:
        return bool(self._waiting) and not self.is_broken

    @property
    def unwritten(self) -> tuple[object, ...]:
        """Whose frames are not written, not by one byte."""
        rest = list(self._waiting)[1 if self._begun else 0 :]
        return tuple(request for _, request in rest if request is not None)

    def send(self, frame: bytes, request: object = None) -> None:
        self._waiting.append((frame, request))
        self.size += len(frame)

    def flush(self) -> None:
        """Write as much as the pipe takes: many frames at once, since each write wakes somebody."""
        waiting = self._waiting
        if not waiting:
            return
        try:
            while waiting and not self.is_broken:
                if len(waiting) == 1:
                    frame = waiting[0][0]
                    count = os.write(self.pipe, memoryview(frame)[self._begun :] if self._begun else frame)
                else:
                    frames: list[bytes | memoryview] = [frame for frame, _ in islice(waiting, _AT_ONCE)]
                    frames[0] = memoryview(frames[0])[self._begun :]
                    count = os.writev(self.pipe, frames)
                self._taken(count)
        except BlockingIOError:
            return
        except OSError:
            self.is_broken = True

    def _taken(self, count: int) -> None:
        """So many bytes are written."""
        self._begun += count
        self.size -= count
        while self._waiting and self._begun >= len(self._waiting[0][0]):
            self._begun -= len(self._waiting.popleft()[0])


class Pipes:
    """One relay while it runs."""

    def __init__(
        self,
        desk: Desk,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        *,
        say: Callable[[Note], None],
        child: Child | None = None,
        mark: str = "",
        warden: Warden | None = None,
        witness: Witness | None = None,
    ) -> None:
        self._desk, self._command, self._env, self._cwd = desk, command, env, cwd
        self._say, self._witness, self._mark, self._warden = say, witness, mark, warden
        self._first = child
        self._child: Child | None = None
        self._poll = select.poll()
        self._from_client = Lines(desk.options.longest)
        self._from_server = Lines(desk.options.longest)
        self._to_client = Outlet(1)
        self._to_server = Outlet(-1)
        self._code: int | None = None
        self._ends_at: float | None = None
        self._ends_for = self._ended_for = ""
        self._is_ending = self._is_held = False
        self._masks: dict[int, int] = {}

    def run(self) -> int:
        """Relay until there is nobody to relay for; the exit code."""
        wake, self._wake = socket.socketpair()
        wake.setblocking(False)
        self._wake.setblocking(False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        if stat.S_ISFIFO(os.fstat(1).st_mode) or stat.S_ISSOCK(os.fstat(1).st_mode):
            os.set_blocking(1, False)
        self._watch(self._wake.fileno(), select.POLLIN)
        self._watch(0, select.POLLIN)
        self._watch(1, 0)
        try:
            self._do(self._desk.begin())
            self._flush()
            while self._code is None:
                self._turn()
        finally:
            self._leave()
        return self._code

    def _watch(self, pipe: int, mask: int) -> None:
        if self._masks.get(pipe) != mask:
            self._masks[pipe] = mask
            self._poll.register(pipe, mask)

    def _unwatch(self, pipe: int) -> None:
        if self._masks.pop(pipe, None) is not None:
            self._poll.unregister(pipe)

    def _turn(self) -> None:
        """Wait for something, and do what follows from it."""
        child = self._child
        if self._to_client.size or self._masks.get(1) == select.POLLOUT:
            self._watch(1, select.POLLOUT if self._to_client.is_full else 0)
        if child is not None and (self._to_server.size or child.stdin in self._masks):
            if self._to_server.is_full:
                self._watch(child.stdin, select.POLLOUT)
            else:
                self._unwatch(child.stdin)
        if self._to_client.size or self._is_held:
            self._hold_back(child)
        for pipe, event in self._poll.poll(self._patience()):
            if pipe == 0:
                self._read_client()
            elif child is not None and child is self._child and pipe == child.stdout:
                self._read_server(child)
            elif pipe == 1:
                self._write_client(event)
            elif pipe == self._wake.fileno():
                self._signalled()
            elif child is not None and child is self._child and pipe == child.stderr:
                self._read_errors(child)
            elif child is not None and child is self._child and pipe == child.stdin:
                self._to_server.flush()
        due = self._desk.wakes_at
        if due is not None and due <= time.monotonic():
            self._do(self._desk.tick())
        self._flush()
        if self._ends_at is not None or self._is_ending:
            self._look_at_ends()

    def _hold_back(self, child: Child | None) -> None:
        """Who sends more than the other side reads has to wait, as it would without us."""
        is_full = self._to_client.size > _MOST_WAITING
        if child is not None and is_full is not self._is_held:
            self._is_held = is_full
            if is_full:
                self._unwatch(child.stdout)
            else:
                self._watch(child.stdout, select.POLLIN)

    def _flush(self) -> None:
        self._to_server.flush()
        self._to_client.flush()
        if self._to_client.is_broken:
            self._code = 0

    def _patience(self) -> float | None:
        """For how many milliseconds there is nothing to do but wait."""
        due, end = self._desk.wakes_at, self._ends_at
        if due is None and end is None:
            return None
        first = min(each for each in (due, end) if each is not None)
        return max(0.0, first - time.monotonic()) * 1000 + 0.5

    def _look_at_ends(self) -> None:
        if self._ends_at is not None and self._ends_at <= time.monotonic():
            self._ends_at = None
            if self._child is not None:
                self._ended_for = self._ends_for
                self._child.signal(signal.SIGKILL)
        if self._desk.is_drained and not self._to_client.is_full:
            self._code = 0

    # In

    def _read_client(self) -> None:
        data = read_now(0)
        if data is None:
            return
        if not data:
            self._unwatch(0)
            if (last := last_frame(self._from_client.rest())) is not None:
                self._heard_client(last)
            self._end()
            return
        for frame in self._from_client.feed(data):
            self._heard_client(frame)

    def _heard_client(self, frame: bytes | TooLong) -> None:
        if self._witness is not None and isinstance(frame, bytes):
            self._witness("client", frame)
        self._do(self._desk.client(frame))

    def _read_server(self, child: Child) -> bool:
        """Whether there may be more to read."""
        data = read_now(child.stdout)
        if data is None:
            return False
        if not data:
            self._unwatch(child.stdout)
            self._hear_last()
            if child.code is None and self._ends_at is None:
                # It cannot say any more, so it has a moment to end by itself.
                self._ends_for = MUTE
                self._ends_at = time.monotonic() + STUBBORN
            self._ended_perhaps()
            return False
        for frame in self._from_server.feed(data):
            self._heard_server(frame)
        return True

    def _heard_server(self, frame: bytes | TooLong) -> None:
        if self._witness is not None and isinstance(frame, bytes):
            self._witness("server", frame)
        self._do(self._desk.server(frame))

    def _hear_last(self) -> None:
        """Whoever writes no more may have left out the end of the last line."""
        if (last := last_frame(self._from_server.rest())) is not None:
            self._heard_server(last)

    def _read_errors(self, child: Child) -> None:
        data = read_now(child.stderr)
        if data is None:
            return
        if not data:
            self._unwatch(child.stderr)
            return
        child.said(data)
        _pass_on(data)

    def _signalled(self) -> None:
        for number in self._wake.recv(4096):
            if number == signal.SIGCHLD:
                self._ended_perhaps()
                bury(self._known)
            else:
                self._end()

    def _end(self) -> None:
        self._is_ending = True
        self._do(self._desk.drain())

    @property
    def _known(self) -> tuple[int, ...]:
        """The processes that are ours: all others were left to us."""
        return tuple(each.pid for each in (self._child, self._first, self._warden) if each is not None)

    def _ended_perhaps(self) -> None:
        child = self._child
        if child is None or child.code is None:
            return
        # What it said before its end is still to be read.
        while (child.stdout in self._masks or self._is_held) and self._read_server(child):
            if self._child is not child:
                return
        if self._child is not child:
            return
        self._hear_last()
        self._read_errors(child)
        why, self._ended_for = self._ended_for, ""
        self._child, self._ends_at = None, None
        for pipe in (child.stdin, child.stdout, child.stderr):
            self._unwatch(pipe)
        code, unwritten = child.code, self._to_server.unwritten
        child.end(politely=False)
        # Before the next one is there, which might find what this one left behind, and use it.
        sweep(child.mark)
        if self._warden is not None:
            self._warden.forgets(child.pid)
        self._do(self._desk.died(Death(code, child.errors, unwritten, ended_for=why, recent=child.recent)))

    # Out

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, ToClient):
                if self._witness is not None:
                    self._witness("to client", action.frame)
                self._to_client.send(action.frame)
            elif isinstance(action, ToServer):
                if self._witness is not None:
                    self._witness("to server", action.frame)
                if action.request is not None and self._child is not None:
                    self._child.asked()
                self._to_server.send(action.frame, action.request)
            elif isinstance(action, Note):
                self._say(action)
            elif isinstance(action, Start):
                self._start()
            elif isinstance(action, Prepare):
                Thread(target=self._desk.prepare, daemon=True).start()
            elif isinstance(action, StopServer):
                if self._child is not None:
                    self._ended_for = self._ends_for = action.why
                    self._child.signal(signal.SIGTERM)
                    self._ends_at = time.monotonic() + STUBBORN
            elif isinstance(action, Quit):
                if action.line:
                    self._say(Note(action.line, loud=True))
                self._code = action.code

    def _start(self) -> None:
        child, self._first = self._first, None
        if child is None:
            try:
                child = Child(self._command, self._env, self._cwd, self._mark)
            except CannotStart as problem:
                self._do(self._desk.died(Death(None, problem=str(problem))))
                return
        if self._warden is not None:
            self._warden.knows(child.pid)
        self._child = child
        self._to_server = Outlet(child.stdin)
        self._from_server = Lines(self._desk.options.longest)
        self._is_held = False
        self._watch(child.stdout, select.POLLIN)
        self._watch(child.stderr, select.POLLIN)
        self._do(self._desk.started())
        self._ended_perhaps()

    def _write_client(self, event: int) -> None:
        if event & (select.POLLERR | select.POLLNVAL | select.POLLHUP):
            # Nobody reads any more.
            self._code = 0
        else:
            self._to_client.flush()

    def _leave(self) -> None:
        """End the server with all that it started, and say what is left to say."""
        signal.set_wakeup_fd(-1)
        child = self._child or self._first
        if child is not None:
            child.end(politely=self._code == 0)
        sweep(self._mark)
        end_orphans(self._known)
        if self._warden is not None:
            self._warden.dismiss()
        until = time.monotonic() + _FLUSH
        while self._to_client.is_full and (left := until - time.monotonic()) > 0:
            select.select([], [1], [], left)
            self._to_client.flush()
        with suppress(OSError):
            os.set_blocking(1, True)


def _pass_on(data: bytes) -> None:
    """What the server says on stderr goes where it would go without us, as far as anybody reads it."""
    with suppress(OSError, ValueError):
        while data and select.select([], [2], [], 0)[1]:
            written = os.write(2, data[: select.PIPE_BUF])
            data = data[written:]
