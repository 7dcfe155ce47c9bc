"""What is said to a server in one era of the protocol: the handshake, requests with ids, and whether it still lives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from .http_wire import HttpTransport
from .transport import LONGEST_FRAME, CannotConnect, Reply, Transport, encoded

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
ERAS: Final = (LEGACY, MODERN)
CLIENT: Final = {"name": "failwell-check", "version": "1"}
SILENCE: Final = 3.0
"""So long is waited for an answer that may not come."""
ALIVE: Final = 10.0
"""So long is waited for a sign of life: a busy machine is not a dead server."""
_MOST_UNANSWERED: Final = 2
_MOST_WAITED: Final = 60.0
_MOST_PAGES: Final = 200
_MOST_STARTS: Final = 12


class DoesNotStart(Exception):
    """Why a server cannot be talked to: what it was asked, and what came instead."""

    def __init__(self, reason: str, reply: Reply | None = None) -> None:
        super().__init__(reason)
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Waits:
    """The longest waits, in seconds."""

    start: float = 30.0
    call: float = 10.0


@dataclass(slots=True)
class Endurance:
    """How long a server is waited for: less once it has left two calls unanswered, and not for ever in all."""

    waits: Waits
    until: float = inf
    """When the whole check ends."""
    unanswered: int = 0
    spent: float = 0.0

    @property
    def is_short(self) -> bool:
        return self.unanswered >= _MOST_UNANSWERED

    @property
    def left(self) -> float:
        return max(self.until - time.monotonic(), 0.05)

    @property
    def call(self) -> float:
        return min(self.waits.call, self.left, SILENCE if self.is_short else inf)

    @property
    def alive(self) -> float:
        return min(SILENCE if self.is_short else ALIVE, self.left)

    @property
    def is_over(self) -> bool:
        return self.spent >= max(_MOST_WAITED, 4 * self.waits.call) or time.monotonic() >= self.until

    def lost(self, seconds: float) -> None:
        """Nothing came in that time."""
        self.unanswered += 1
        self.spent += seconds


class Conversation:
    """One server in one era; it can be started again when it has died."""

    def __init__(self, transport: Transport, era: str, waits: Waits, patience: Endurance | None = None) -> None:
        self.transport, self.era, self.waits = transport, era, waits
        self.patience = patience or Endurance(waits)
        self.opening: dict[str, Any] = {}
        self.starts = 0
        self.began = 0.0
        self._number = 0

    @property
    def capabilities(self) -> Mapping[str, Any]:
        found = self.opening.get("capabilities")
        return found if isinstance(found, Mapping) else {}

    @property
    def can_start(self) -> bool:
        return self.starts < _MOST_STARTS and not self.patience.is_over

    def open(self) -> None:
        """Start it and shake hands; it raises `DoesNotStart`."""
        self.starts += 1
        try:
            self.transport.open()
        except CannotConnect as problem:
            raise DoesNotStart(str(problem)) from None
        if isinstance(self.transport, HttpTransport):
            self.transport.modern = self.era == MODERN
            self.transport.version = MODERN if self.era == MODERN else None
        reply = self.ask(*_HELLO[self.era], patience=min(self.waits.start, self.patience.left))
        result = (reply.message or {}).get("result")
        if not isinstance(result, dict):
            raise DoesNotStart(_why(reply, self), reply)
        self.opening = result
        self.began = reply.seconds
        if self.era == LEGACY:
            if isinstance(self.transport, HttpTransport):
                self.transport.version = str(result.get("protocolVersion"))
            self.transport.tell(encoded({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def close(self) -> None:
        self.transport.close()

    def fresh_id(self) -> int:
        self._number += 1
        return self._number

    def request(self, method: str, params: Mapping[str, Any] | None, id: Any = None) -> dict[str, Any]:
        """A request as this era writes it."""
        frame: dict[str, Any] = {"jsonrpc": "2.0", "id": self.fresh_id() if id is None else id, "method": method}
        if self.era == MODERN:
            params = dict(params or {})
            params["_meta"] = {**params.get("_meta", {}), **_ENVELOPE}
        if params is not None:
            frame["params"] = dict(params)
        return frame

    def ask(self, method: str, params: Mapping[str, Any] | None = None, *, patience: float | None = None) -> Reply:
        return self.send(self.request(method, params), patience)

    def send(self, frame: dict[str, Any], patience: float | None = None) -> Reply:
        seconds = self.patience.call if patience is None else patience
        return self.transport.exchange([encoded(frame)], frame.get("id"), seconds)

    def send_raw(self, frames: Sequence[bytes], id: Any) -> Reply:
        """Send what is no proper request, for which silence is an answer, too."""
        if isinstance(self.transport, HttpTransport):
            return self.transport.exchange(frames, id, SILENCE, loose=True)
        # Whoever answers what was sent after it will not answer it any more, so that silence need not be waited for.
        after = self.request(*self._sign_of_life)
        return self.transport.exchange([*frames, encoded(after)], id, SILENCE, loose=True, end=after["id"])

    @property
    def _sign_of_life(self) -> tuple[str, Mapping[str, Any]]:
        # The newer era has no ping, and one in it turns some servers back to the older.
        return ("ping" if self.era == LEGACY else "server/discover", {})

    def is_alive(self) -> bool:
        """Whether it answers at all."""
        return self.ask(*self._sign_of_life, patience=self.patience.alive).state in ("answered", "refused")

    def listed(self, method: str, key: str, note: Callable[[Reply], None]) -> tuple[list[Any], str | None]:
        """Everything of a list, page by page, and why its end was not reached, if it was not."""
        found: list[Any] = []
        cursor: Any = None
        cursors: set[str] = set()
        for _ in range(_MOST_PAGES):
            reply = self.ask(
                method, {} if cursor is None else {"cursor": cursor}, patience=min(self.waits.start, self.patience.left)
            )
            note(reply)
            result = (reply.message or {}).get("result")
            items = result.get(key) if isinstance(result, dict) else None
            if not isinstance(items, list):
                return found, None
            found += items
            after = result.get("nextCursor") if isinstance(result, dict) else None
            if not isinstance(after, str):
                return found, None
            if after in cursors:
                return found, f"the page {after[:40]!r} comes again and again"
            cursors.add(after)
            cursor = after
        return found, f"there are more than {_MOST_PAGES} pages"


_ENVELOPE: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_HELLO: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    LEGACY: ("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}),
    MODERN: ("server/discover", {}),
}


def _why(reply: Reply, conversation: Conversation) -> str:
    asked = _HELLO[conversation.era][0]
    words = conversation.transport.last_words()
    more = f"; {words}" if words else ""
    if reply.state == "ended" and isinstance(conversation.transport, HttpTransport):
        return f"it did not answer {asked}: {words}"
    if reply.state == "ended":
        return f"it was gone before it answered {asked}{more}"
    if reply.state == "silent":
        return f"it did not answer {asked} within {reply.seconds:.0f} seconds{more}"
    if reply.state == "refused":
        return f"it answered {asked} with {_refusal(reply)}"
    error = (reply.message or {}).get("error")
    said = f"the error {error.get('code')}: {error.get('message')}" if isinstance(error, dict) else reply.raw[:200]
    return f"it answered {asked} with {said}{more}"


_HINTS: Final[Mapping[int, str]] = {
    401: "it wants credentials: give them with --header",
    403: "it wants other credentials: give them with --header",
    404: "there is no server at that path",
    405: "there is no server at that path",
}


def _refusal(reply: Reply) -> str:
    """What came over HTTP in place of a message, in words."""
    status, said = reply.status or 0, " ".join(reply.raw.split())[:120]
    shown = f": {said!r}" if said and not said.startswith("<") else ""
    if 300 <= status < 400:
        place = reply.headers.get("location", "nowhere")
        return f"HTTP status {status}, a redirection to {place[:200]}: name that address if you trust it"
    if status >= 400:
        wait = reply.headers.get("retry-after")
        hint = _HINTS.get(status) or (f"it asks to wait {wait} seconds" if wait and wait.isdigit() else "")
        return f"HTTP status {status}{f'; {hint}' if hint else shown}"
    if reply.size == 0:
        return f"nothing: the body is empty (HTTP status {status})"
    kind = reply.headers.get("content-type", "").partition(";")[0].strip()
    if kind == "text/html" or said[:5].lower() in ("<!doc", "<html"):
        return "a web page (text/html), such as a login page: is the address right, and are credentials missing?"
    if reply.size >= LONGEST_FRAME:
        return f"more than {LONGEST_FRAME // 1_000_000} MB that are no message"
    return f"what is no JSON-RPC message ({kind or 'of no type'}){shown}"
