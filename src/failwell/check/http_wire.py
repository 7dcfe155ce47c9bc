"""The same over streamable HTTP: one POST for each frame, answered with JSON or with a stream of events."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from http.client import (
    BadStatusLine,
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
    RemoteDisconnected,
)
from typing import Any, Final
from urllib.parse import urlsplit

from .transport import LONGEST_FRAME, CannotConnect, Message, Reply, loads

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
_KEPT: Final = 200_000
# The parameter that the newer era repeats in a header, as it does the version.
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class HttpTransport:
    """A server at an address; it is not ours to start or to end."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CannotConnect(f"{url} is no address of a server: it begins with http:// or https://")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._given = dict(headers)
        self._session: str | None = None
        self.version: str | None = None
        """What the handshake agreed on, which every later request names."""
        self.modern = False
        self.noise: list[str] = []
        self.twice: list[Any] = []
        self._problem = ""

    def open(self) -> None:
        self._session = self.version = None
        self.modern = False

    def close(self) -> None:
        if self._session is None:
            return
        connection = self._connection(2.0)
        try:
            connection.request("DELETE", self._path, headers=self._headers({}))
            connection.getresponse().read(1000)
        except (OSError, HTTPException):
            pass
        finally:
            connection.close()
        self._session = None

    def last_words(self) -> str:
        return self._problem

    def late(self, id: Any) -> Reply | None:
        return None

    def tell(self, frame: bytes) -> None:
        self.exchange([frame], None, 3.0)

    def exchange(
        self, frames: Sequence[bytes], id: Any, patience: float, *, loose: bool = False, end: Any = None
    ) -> Reply:
        started = time.monotonic()
        reply = Reply("silent")
        for frame in frames:
            reply = self._posted(frame, id, started, started + patience, loose)
        return reply

    def _posted(self, frame: bytes, id: Any, started: float, until: float, loose: bool) -> Reply:
        connection = self._connection(max(until - time.monotonic(), 0.05))
        try:
            connection.request("POST", self._path, frame, self._headers(loads(frame)))
            answer = connection.getresponse()
            if (session := answer.headers.get(SESSION)) is not None:
                self._session = session
            return self._read(answer, connection, id, started, until, loose)
        except TimeoutError:
            return Reply("silent", seconds=time.monotonic() - started)
        except (OSError, HTTPException, ValueError) as problem:
            # The last of a header that cannot be sent.
            self._problem = _told(problem)
            return Reply("ended", seconds=time.monotonic() - started)
        finally:
            connection.close()

    def _read(
        self, answer: HTTPResponse, connection: HTTPConnection, id: Any, started: float, until: float, loose: bool
    ) -> Reply:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        kind = headers.get("content-type", "")
        found: Message | None = None
        raw, size, many = "", 0, 0
        if kind.startswith("text/event-stream"):
            for data in _events(answer, connection, until):
                size += len(data)
                message = loads(data)
                if isinstance(message, dict) and "method" not in message and _is_for(message, id, loose):
                    many += 1
                    if found is None:
                        found, raw = message, data[:_KEPT].decode("utf-8", "replace")
                    # A stream that ends at once has nothing more to say; one that stays open is not waited for.
                    until = min(until, time.monotonic() + 0.3)
        else:
            body = _body(answer, connection, until)
            size, raw = len(body), body[:_KEPT].decode("utf-8", "replace")
            message = loads(body)
            if isinstance(message, dict) and "method" not in message and _is_message(message, answer.status):
                found, many = message, 1
        strange = found is not None and not _is_for(found, id, loose) and not (loose or "error" in found)
        if many > 1:
            self.twice.append(id)
        seconds = time.monotonic() - started
        if found is not None:
            return Reply("answered", found, raw, size, seconds, answer.status, headers, many, strange)
        # What is no request needs no answer; a stream that says other things is waited for.
        expected = id is not None and not loose
        is_silent = answer.status < 300 and (time.monotonic() >= until or (size == 0 and not expected))
        return Reply("silent" if is_silent else "refused", None, raw, size, seconds, answer.status, headers)

    def _connection(self, seconds: float) -> HTTPConnection:
        make = HTTPSConnection if self._secure else HTTPConnection
        return make(self._host, self._port, timeout=seconds)

    def _headers(self, message: Any) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self._session is not None:
            headers[SESSION] = self._session
        if self.version is not None:
            headers[VERSION] = self.version
        if self.modern and isinstance(message, dict) and isinstance(message.get("method"), str):
            params = message["params"] if isinstance(message.get("params"), dict) else {}
            meta = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
            headers["mcp-method"] = message["method"]
            repeated = {
                "mcp-name": params.get(_NAMED_BY.get(message["method"], "")),
                VERSION: meta.get("io.modelcontextprotocol/protocolVersion"),
            }
            headers |= {
                header: value
                for header, value in repeated.items()
                if isinstance(value, str) and value.isascii() and value.isprintable()
            }
        return headers | self._given


def _is_message(message: Message, status: int) -> bool:
    """Whether an object is one of JSON-RPC; a gateway's own `{"error": "forbidden"}` is none."""
    return status < 300 or "jsonrpc" in message or isinstance(message.get("error"), dict)


_TOLD: Final = (
    (ConnectionRefusedError, "nobody listens there"),
    (socket.gaierror, "there is no host of that name"),
    (ssl.SSLCertVerificationError, "its certificate is not trusted here"),
    (ssl.SSLError, "it does not speak TLS as it should"),
    (IncompleteRead, "it cut the connection in the middle of its answer"),
    (RemoteDisconnected, "it cut the connection without an answer"),
    (ConnectionError, "it cut the connection"),
    (BadStatusLine, "it does not speak HTTP"),
)


def _told(problem: Exception) -> str:
    said = next((words for kind, words in _TOLD if isinstance(problem, kind)), None)
    return said or f"{type(problem).__name__}: {problem}"


def _is_for(message: Message, id: Any, loose: bool) -> bool:
    return message.get("id") == id or (loose and message.get("id") is None)


def _patient(connection: HTTPConnection, until: float) -> bool:
    left = until - time.monotonic()
    if left <= 0:
        return False
    sock: socket.socket | None = connection.sock
    if sock is not None:
        sock.settimeout(left)
    return True


def _body(answer: HTTPResponse, connection: HTTPConnection, until: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < LONGEST_FRAME and _patient(connection, until):
        part = answer.read1(65_536)
        if not part:
            if answer.length:
                raise IncompleteRead(b"")
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _events(answer: HTTPResponse, connection: HTTPConnection, until: float) -> Iterator[bytes]:
    """The data of each event of a stream, until it ends or the time is over."""
    rest = b""
    size = 0
    while size < LONGEST_FRAME and _patient(connection, until):
        try:
            part = answer.read1(65_536)
        except TimeoutError:
            return
        if not part:
            return
        size += len(part)
        rest = (rest + part).replace(b"\r\n", b"\n")
        while b"\n\n" in rest:
            event, _, rest = rest.partition(b"\n\n")
            lines = [line[5:].lstrip(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
            if lines:
                yield b"\n".join(lines)
