"""A client on standard input and output, whatever the server is."""

from __future__ import annotations

import asyncio
import os
import select
import selectors
import signal
import stat
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from .actions import Note
from .frames import Lines
from .messages import last_frame
from .process_server import Outlet
from .processes import read_now
from .relay_protocol import RelayProtocol
from .runner import Origin, Runner, ServerSide

if TYPE_CHECKING:
    from failwell.readers import Http

    from .request import RelayedRequest

_FLUSH: Final = 2.0
"""How long a client may take nothing of what is left for it."""
# More than one large answer.
_MOST_WAITING: Final = 32_000_000


class StdioClient:
    """The program that started us, and speaks to us in lines."""

    def __init__(
        self,
        protocol: RelayProtocol,
        connect: Callable[[Runner], ServerSide],
        *,
        log: Callable[[Note], None],
    ) -> None:
        self.log = log
        self._outlet = Outlet(1, self._written)
        self._lines = Lines(protocol.options.longest)
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._runner = Runner(protocol, self, connect)

    @property
    def is_full(self) -> bool:
        return self._outlet.size > _MOST_WAITING

    def send(self, frame: bytes, origin: Origin) -> None:
        self._outlet.send(frame)

    def flush(self) -> None:
        self._outlet.flush()
        if self._outlet.is_broken:
            # Nobody reads any more.
            self.ended(0)

    def _written(self) -> None:
        self._runner.settle()

    def refused(self, request: RelayedRequest, http: Http) -> None:
        """All there is to say stands in the answer."""

    def ended(self, code: int) -> None:
        if not self._code.done():
            self._code.set_result(code)

    async def serve(self) -> int:
        """Relay until there is nobody to relay for; the exit code."""
        runner, loop = self._runner, asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, runner.drain)
        kind = os.fstat(1).st_mode
        if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
            os.set_blocking(1, False)
        if stat.S_ISFIFO(kind):
            # The end for writing becomes readable when nobody reads the other one any more.
            loop.add_reader(1, self.ended, 0)
        loop.add_reader(0, self._read)
        try:
            runner.begin()
            code = await self._code
            for pipe in (0, 1):
                loop.remove_reader(pipe)
            runner.quit(code)
            await runner.close(politely=code == 0)
            return code
        finally:
            self._finish()

    def _read(self) -> None:
        data = read_now(0)
        if data:
            self._runner.from_client(self._lines.feed(data))
        elif data is not None:
            asyncio.get_running_loop().remove_reader(0)
            if (last := last_frame(self._lines.rest())) is not None:
                self._runner.from_client([last])
            self._runner.drain()

    def _finish(self) -> None:
        """Write what is left, as long as somebody reads it."""
        with suppress(OSError):
            while self._outlet.size and not self._outlet.is_broken and select.select([], [1], [], _FLUSH)[1]:
                self._outlet.flush()
            os.set_blocking(1, True)


async def serve_stdio(
    protocol: RelayProtocol,
    connect: Callable[[Runner], ServerSide],
    *,
    log: Callable[[Note], None],
) -> int:
    """Relay between standard input and output and a server, until one of them is gone; the exit code."""
    return await StdioClient(protocol, connect, log=log).serve()


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run it in a loop that takes a regular file as standard input, too; epoll takes none."""
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.PollSelector())) as runner:
        return runner.run(main)
