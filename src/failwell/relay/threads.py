"""The loop between a client, a server and the desk with a thread for each pipe: for Windows, which cannot poll pipes.

It works on every system. Of it only what Linux does was ever run: on Windows it has not been tried.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Final

from .actions import Action, Death, Note, Prepare, Quit, Start, StopServer, ToClient, ToServer
from .desk import Desk
from .frames import Lines, TooLong
from .glued_lines import last_line
from .messages import last_frame
from .processes import child_env, mark_below, sweep

_CHUNK: Final = 1 << 16
_TAIL: Final = 8_192
_POLITE: Final = 2.0


class Writer(threading.Thread):
    """Writes frames to one pipe, in order, whoever reads it and however slowly."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._waiting: deque[tuple[bytes, object]] = deque()
        self._some = threading.Condition()
        self._is_closed = False
        self.is_broken = False
        self.start()

    @property
    def unwritten(self) -> tuple[object, ...]:
        with self._some:
            return tuple(request for _, request in self._waiting if request is not None)

    def send(self, frame: bytes, request: object = None) -> None:
        with self._some:
            self._waiting.append((frame, request))
            self._some.notify()

    def close(self, patience: float) -> None:
        with self._some:
            self._is_closed = True
            self._some.notify()
        self.join(patience)

    def run(self) -> None:
        while True:
            with self._some:
                while not self._waiting and not self._is_closed:
                    self._some.wait()
                if not self._waiting:
                    return
                # From here on it counts as written.
                frame, _ = self._waiting.popleft()
            try:
                self._pipe.write(frame)
                self._pipe.flush()
            except (OSError, ValueError):
                self.is_broken = True
                return


class _Child:
    """A server's process, and who reads from it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str | None, mark: str, events: Any) -> None:
        self._mark = mark_below(mark)
        options: dict[str, Any] = {"process_group": 0}
        if sys.platform == "win32":
            options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=child_env(env, self._mark), cwd=cwd, **options,
        )  # fmt: skip
        assert self.process.stdin is not None
        self.writer = Writer(self.process.stdin)
        self.errors = b""
        self._events = events
        self._readers = [
            threading.Thread(target=self._read, args=(name, pipe), daemon=True)
            for name, pipe in (("server", self.process.stdout), ("errors", self.process.stderr))
        ]
        for reader in self._readers:
            reader.start()
        threading.Thread(target=self._wait, daemon=True).start()

    def _read(self, name: str, pipe: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            while data := os.read(pipe.fileno(), _CHUNK):
                self._events.put((name, self, data))

    def _wait(self) -> None:
        self.process.wait()
        for reader in self._readers:
            reader.join(_POLITE)
        self._events.put(("ended", self, b""))

    def kill(self) -> None:
        """End it with all that it started."""
        with suppress(OSError, subprocess.SubprocessError):
            if sys.platform == "win32":
                command = ["taskkill", "/T", "/F", "/PID", str(self.process.pid)]
                subprocess.run(command, check=False, capture_output=True, timeout=10)
            else:
                os.killpg(self.process.pid, signal.SIGKILL)

    def ended(self) -> None:
        """It is gone: so is all that it started, in its group or out of it, before there is another one."""
        self.kill()
        sweep(self._mark)


class Threads:
    """One relay while it runs."""

    def __init__(
        self,
        desk: Desk,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        *,
        say: Callable[[Note], None],
        mark: str = "",
        witness: Callable[[str, bytes], None] | None = None,
    ) -> None:
        self._desk, self._command, self._env, self._cwd = desk, command, env, cwd
        self._say, self._mark = say, mark
        self._witness: Callable[[str, bytes], None] = witness or (lambda side, frame: None)
        self._events: queue.Queue[tuple[str, Any, bytes]] = queue.Queue()
        self._from_client, self._from_server = Lines(desk.options.longest), Lines(desk.options.longest)
        self._child: _Child | None = None
        self._to_client = Writer(sys.stdout.buffer)
        self._code: int | None = None

    def run(self) -> int:
        """Relay until there is nobody to relay for; the exit code."""
        threading.Thread(target=self._read_client, daemon=True).start()
        with suppress(ValueError, OSError):
            signal.signal(signal.SIGTERM, lambda *_: self._events.put(("drain", None, b"")))
        try:
            self._do(self._desk.begin())
            while self._code is None:
                due = self._desk.wakes_at
                wait = None if due is None else max(0.0, due - time.monotonic())
                with suppress(queue.Empty):
                    self._happened(*self._events.get(timeout=wait))
                self._do(self._desk.tick())
                if self._desk.is_drained:
                    self._code = 0
        finally:
            self._leave()
        return self._code

    def _read_client(self) -> None:
        with suppress(OSError, ValueError):
            while data := os.read(0, _CHUNK):
                self._events.put(("client", None, data))
        self._events.put(("hung up", None, b""))

    def _happened(self, what: str, child: Any, data: bytes) -> None:
        current = self._child
        if what == "client":
            for frame in self._from_client.feed(data):
                self._heard_client(frame)
        elif what in ("drain", "hung up"):
            if what == "hung up" and (last := last_frame(self._from_client.rest())) is not None:
                self._heard_client(last)
            self._do(self._desk.drain())
        elif current is None or child is not current:
            return
        elif what == "server":
            for frame in self._from_server.feed(data):
                self._heard_server(frame)
        elif what == "errors":
            current.errors = (current.errors + data)[-_TAIL:]
            with suppress(OSError, ValueError):
                sys.stderr.buffer.write(data)
                sys.stderr.buffer.flush()
        elif what == "ended":
            if (last := last_line(self._from_server.rest())) is not None:
                self._heard_server(last)
            self._child = None
            current.ended()
            errors = current.errors.decode("utf-8", "replace")
            self._do(self._desk.died(Death(current.process.returncode, errors, current.writer.unwritten)))

    def _heard_client(self, frame: bytes | TooLong) -> None:
        if isinstance(frame, bytes):
            self._witness("client", frame)
        self._do(self._desk.client(frame))

    def _heard_server(self, frame: bytes | TooLong) -> None:
        if isinstance(frame, bytes):
            self._witness("server", frame)
        self._do(self._desk.server(frame))

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, ToClient):
                self._witness("to client", action.frame)
                self._to_client.send(action.frame)
                if self._to_client.is_broken:
                    self._code = 0
            elif isinstance(action, ToServer) and self._child is not None:
                self._witness("to server", action.frame)
                self._child.writer.send(action.frame, action.request)
            elif isinstance(action, Note):
                self._say(action)
            elif isinstance(action, Start):
                self._start()
            elif isinstance(action, Prepare):
                threading.Thread(target=self._desk.prepare, daemon=True).start()
            elif isinstance(action, StopServer) and self._child is not None:
                self._child.kill()
            elif isinstance(action, Quit):
                if action.line:
                    self._say(Note(action.line, loud=True))
                self._code = action.code

    def _start(self) -> None:
        self._from_server = Lines(self._desk.options.longest)
        try:
            self._child = _Child(self._command, self._env, self._cwd, self._mark, self._events)
        except OSError as problem:
            missing = f"there is no {self._command[0]}" if isinstance(problem, FileNotFoundError) else None
            self._do(self._desk.died(Death(None, problem=missing or problem.strerror or str(problem))))
            return
        self._do(self._desk.started())

    def _leave(self) -> None:
        child = self._child
        if child is not None:
            with suppress(OSError, subprocess.TimeoutExpired):
                child.writer.close(_POLITE)
                assert child.process.stdin is not None
                child.process.stdin.close()
                child.process.wait(_POLITE)
            child.kill()
        sweep(self._mark)
        self._to_client.close(_POLITE)
