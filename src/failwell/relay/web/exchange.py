"""One request of a client over HTTP, or its open stream, while it waits for what there is to tell it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

from failwell.readers import Http

PING: Final = 15.0
"""After how many seconds of silence a stream says that it is still there."""


class Exchange:
    """What is to be told on one answer, in order."""

    def __init__(self, id: Any = None, *, most: int) -> None:
        self.id = id
        """The client's own id, where it is known by another one here."""
        self.is_renamed = False
        self.token: Any = None
        """The client's own progress token, where it is known by another one here."""
        self.is_listening = False
        """Whether it waits for what is subscribed to."""
        self.waiting: deque[bytes] = deque()
        self.answer: bytes | None = None
        self.code: int | None = None
        """The number of the JSON-RPC error that is the answer."""
        self.http: Http | None = None
        """How the server itself refused the request."""
        self.is_gone = False
        """Whether the client has hung up."""
        self.is_closed = False
        self.dropped = 0
        self._most, self._size = most, 0
        self._some = asyncio.Event()

    def put(self, frame: bytes) -> None:
        """Something to tell beside the answer. Who does not read loses the oldest first."""
        if self.is_gone or self.is_closed:
            return
        self.waiting.append(frame)
        self._size += len(frame)
        while self._size > self._most and len(self.waiting) > 1:
            self._size -= len(self.waiting.popleft())
            self.dropped += 1
        self._some.set()

    def finish(self, frame: bytes, code: int | None) -> None:
        """The answer."""
        self.answer, self.code = frame, code
        self._some.set()

    def leave(self) -> None:
        self.is_gone = True
        self._some.set()

    def close(self) -> None:
        """Nothing more will come."""
        self.is_closed = True
        self._some.set()

    def taken(self) -> bytes | None:
        """The next thing to tell."""
        if not self.waiting:
            return None
        frame = self.waiting.popleft()
        self._size -= len(frame)
        return frame

    @property
    def has_ended(self) -> bool:
        return self.answer is not None or self.is_gone or self.is_closed

    async def wait(self) -> bool:
        """Until there is something; whether there is, before it is time to say that we are still there."""
        if self.waiting or self.has_ended:
            return True
        self._some.clear()
        try:
            async with asyncio.timeout(PING):
                await self._some.wait()
        except TimeoutError:
            return False
        return True
