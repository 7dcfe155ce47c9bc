"""What leaves a relay that listens: a head with what follows it, in order, and nothing that is kept back."""

from __future__ import annotations

import asyncio

from failwell.relay.web.socket_server import Gathered

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Sink:
    """A transport that notes what it is given, and when it is closed."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.written.append(b"closed")

    def is_closing(self) -> bool:
        return b"closed" in self.written


def test_a_head_leaves_with_what_follows_it_at_once_and_alone_where_nothing_does() -> None:
    async def run() -> tuple[list[bytes], ...]:
        together, alone, ended = Sink(), Sink(), Sink()
        gathered = Gathered(together)
        for data in (HEAD, b"body", b"", b"more"):
            gathered.write(data)
        Gathered(alone).write(HEAD)
        closed = Gathered(ended)
        closed.write(HEAD)
        closed.close()
        assert closed.is_closing()
        assert alone.written == []
        await asyncio.sleep(0)
        return together.written, alone.written, ended.written

    assert asyncio.run(run()) == ([HEAD + b"body", b"more"], [HEAD], [HEAD, b"closed"])
