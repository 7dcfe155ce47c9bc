"""Servers over HTTP: what is posted and is no request is answered in the contract's words.

The transport still answers: it looks at headers and sessions first, as ever, and only then reads the body. A body that
is no request is spoilt while it is read, so that the transport refuses it, and its answer is put into our words.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from failwell.sdk import ErrorData
from failwell.server.boundary import Boundary
from failwell.server.wrong_requests import Refusal, Request, WrongRequests, read_message

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]
_SPOILT: Final = b"\x00"
_REFUSED: Final = 400
_CRASHED: Final = 500
# As far into an event as its id may be long.
_BEGINNING: Final = 1_000
_SESSION: Final = b"mcp-session-id"


class CheckedPosts:
    """An ASGI application that looks at what is posted to another."""

    def __init__(self, app: App, boundary: Boundary) -> None:
        self._app = app
        self._wrong = boundary.wrong
        self._unanswered: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        session = next((value for name, value in scope["headers"] if name == _SESSION), b"")
        post = _Post(receive, send, self._wrong, self._unanswered, session)
        try:
            await self._app(scope, post.receive, post.send)
        finally:
            if post.key is not None:
                self._unanswered.discard(post.key)


class _Post:
    """One of them, while it is read and answered."""

    def __init__(
        self, receive: Receive, send: Send, wrong: WrongRequests, unanswered: set[tuple[bytes, str]], session: bytes
    ) -> None:
        self._receive = receive
        self._send = send
        self._wrong = wrong
        self._unanswered = unanswered
        self._session = session
        self._sent = b""
        self._read: Request | Refusal | None = None
        self._held: Message | None = None
        self._answer = b""
        self.key: tuple[bytes, str] | None = None

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or self._read is not None:
            return message
        body = message.get("body", b"")
        self._sent = self._sent + body if self._sent else body
        if message.get("more_body", False):
            return message
        read = self._read = read_message(self._sent)
        self._sent = b""
        if isinstance(read, Request):
            if read.id is None:
                self._wrong.pass_over(read.method)
            elif self._session:
                # In a session of this transport 7 and "7" are the same; without one each post has its own ids.
                key = (self._session, str(read.id))
                if key not in self._unanswered:
                    self._unanswered.add(key)
                    self.key = key
                    return message
                read = self._read = self._wrong.again(read)
        if isinstance(read, Refusal):
            # In the place of what was sent: the transport takes bytes that are no text for a mistake of its own.
            return {**message, "body": _SPOILT}
        return message

    async def send(self, message: Message) -> None:
        if self.key is not None and _answers(message):
            # Before it is sent: whoever reads it may use the id again at once.
            self._unanswered.discard(self.key)
            self.key = None
        if message["type"] == "http.response.start":
            if isinstance(self._read, Refusal) or (self._is_refused(message["status"]) and _is_json(message)):
                self._held = message
                return
        elif self._held is not None and message["type"] == "http.response.body":
            self._answer += message.get("body", b"")
            if message.get("more_body", False):
                return
            start, self._held = self._held, None
            body = self._worded(self._answer)
            headers = [each for each in start["headers"] if each[0].lower() != b"content-length"]
            if isinstance(self._read, Refusal) and start["status"] == _CRASHED:
                # It came in parts, of which the transport has read the first ones.
                start = {**start, "status": _REFUSED}
            await self._send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
            message = {**message, "body": body}
        await self._send(message)

    def _is_refused(self, status: int) -> bool:
        # In a session a 404 says that the session is gone: clients know it by its bare form, and begin another.
        return status == _REFUSED or (status == 404 and not self._session)

    def _worded(self, answer: bytes) -> bytes:
        """The transport's answer in the contract's words; as it is where there is nothing to add."""
        read = self._read
        try:
            whole = json.loads(answer)
            error = whole["error"]
            if isinstance(read, Refusal):
                whole |= {"id": read.id, "error": self._wrong.told(read)}
                return _dumped(whole)
            if whole.get("id") is None and isinstance(read, Request):
                whole["id"] = read.id
            method = read.method if isinstance(read, Request) else ""
            completed = self._wrong.completed(ErrorData.model_validate(error), method, whole.get("id"))
        except (ValueError, TypeError, KeyError, AttributeError):
            return answer
        if completed is not None:
            whole["error"] = completed.model_dump(exclude_none=True)
        return _dumped(whole)


def _answers(message: Message) -> bool:
    """Whether a part of a body holds the answer; in a stream, the end comes only after it."""
    if message["type"] != "http.response.body":
        return False
    start = message.get("body", b"")[:_BEGINNING]
    return not message.get("more_body", False) or b'"result":' in start or b'"error":' in start


def _dumped(whole: Any) -> bytes:
    return json.dumps(whole, separators=(",", ":")).encode()


def _is_json(start: Message) -> bool:
    return any(name.lower() == b"content-type" and b"json" in value for name, value in start["headers"])
