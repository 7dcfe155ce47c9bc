"""Standard input and output in front of a desk that stands in an event loop."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Thread
from typing import IO, TYPE_CHECKING, Final

from failwell.relay.actions import Note, RelayOptions
from failwell.relay.desk import Desk
from failwell.relay.frames import Lines
from failwell.relay.machine_clock import SystemClock

from .attendant import Attendant, Backend, Origin, Told

if TYPE_CHECKING:
    from failwell.readers import Http
    from failwell.relay.request import RelayedRequest

# As much as a pipe holds. Above 128 kB the memory for each read would be asked of the system, and given back.
_CHUNK: Final = 1 << 16
_FLUSH: Final = 2.0


class Writer(Thread):
    """Writes frames to one pipe, in order, whoever reads it and however slowly."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._waiting: deque[bytes] = deque()
        self._some = Condition()
        self._is_closed = False
        self.is_broken = False
        self.start()

    def send(self, frame: bytes) -> None:
        with self._some:
            self._waiting.append(frame)
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
                frame = self._waiting.popleft()
            try:
                self._pipe.write(frame)
                self._pipe.flush()
            except (OSError, ValueError):
                self.is_broken = True
                return


class StdioVisitor:
    """Whoever started us, and speaks to us in lines."""

    def __init__(self, say: Callable[[Note], None]) -> None:
        self._writer = Writer(sys.stdout.buffer)
        self._loop = asyncio.get_running_loop()
        self._code: asyncio.Future[int] = self._loop.create_future()
        self.say = say

    def tell(self, frame: bytes, origin: Origin) -> None:
        self._writer.send(frame)
        if self._writer.is_broken:
            self.ended(0)

    def refused(self, request: RelayedRequest, http: Http) -> None:
        """All there is to say stands in the answer."""

    def ended(self, code: int) -> None:
        if not self._code.done():
            self._code.set_result(code)

    async def serve(self, attendant: Attendant) -> int:
        """Until there is nobody to relay for; the exit code."""
        lines = Lines(attendant.desk.options.longest)

        def fed(data: bytes) -> None:
            if not data:
                attendant.drain()
            for frame in lines.feed(data):
                attendant.client(frame)

        def read() -> None:
            data = b"?"
            while data:
                try:
                    data = os.read(0, _CHUNK)
                except OSError:
                    data = b""
                with suppress(RuntimeError):
                    # The loop may be gone by then.
                    self._loop.call_soon_threadsafe(fed, data)

        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            with suppress(NotImplementedError, AttributeError):
                self._loop.add_signal_handler(getattr(signal, name), attendant.drain)
        attendant.begin()
        Thread(target=read, daemon=True).start()
        code = await self._code
        await attendant.close()
        self._writer.close(_FLUSH)
        return code


async def over_stdio(
    options: RelayOptions,
    connect: Callable[[Attendant], Backend],
    *,
    say: Callable[[Note], None],
    witness: Told | None = None,
) -> int:
    """Relay between standard input and output and a server, until one of them is gone; the exit code."""
    client = StdioVisitor(say)
    desk = Desk(options, SystemClock(), random.random)
    return await client.serve(Attendant(desk, client, connect, witness=witness))
