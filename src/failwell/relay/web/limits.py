"""How much a relay accepts, and who may ask. A rejection names the limit, and each is counted."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_ANYWHERE: Final = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayLimits:
    """How much a relay accepts.

    body, headers, header_count: bytes of a request's body and of its headers, and how many of these.
    sessions: clients at a time. calls: requests of one client at a time. buffer: bytes that wait for one client.
    body_timeout: how many seconds the body of a request may take. idle: after how many seconds without a request a
        client is forgotten.
    """

    body: int = 16_000_000
    headers: int = 32_000
    header_count: int = 100
    sessions: int = 1_000
    calls: int = 200
    buffer: int = 16_000_000
    body_timeout: float = 30.0
    idle: float = 1_800.0


@dataclass(eq=False)
class RequestRejected(Exception):
    """A request that the relay answers itself: the status, the reason for the counters, and the JSON-RPC error."""

    status: int
    reason: str
    message: str
    code: int = -32600
    id: Any = None
    headers: Mapping[str, str] | None = None


@dataclass(slots=True)
class AccessControl:
    """Who may ask.

    bound: the address that is listened on. hosts, origins: what else a request may name. tokens: a request has to have
    one of these, where there are any.
    """

    limits: RelayLimits = field(default_factory=RelayLimits)
    bound: str = "127.0.0.1"
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    tokens: Sequence[str] = ()
    rejected: Counter[str] = field(default_factory=Counter)
    """How often, by reason."""

    def check_origin(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        """Raise `RequestRejected` for headers that are too large, or name a host or an origin that is not ours."""
        size = sum(len(name) + len(value) + 4 for name, value in raw)
        if len(raw) > self.limits.header_count or size > self.limits.headers:
            most = f"{self.limits.header_count} headers of {self.limits.headers} bytes together"
            raise RequestRejected(431, "headers", f"The request has more than {most}.")
        headers = {name.lower(): value.decode("latin-1") for name, value in raw}
        host, origin = _host(headers.get(b"host", "")), headers.get(b"origin")
        # The names of a machine are not known here. Whoever asks has a token.
        is_any = self.bound in _ANYWHERE and not self.hosts and bool(self.tokens)
        if not is_any and host not in {*_LOOPBACK, *map(_host, self.hosts), _host(self.bound)} - _ANYWHERE:
            raise RequestRejected(421, "host", "The Host header names another server; --allow-host allows it.")
        if origin is None or origin in self.origins:
            return
        scheme, _, rest = origin.partition("://")
        named = _host(rest)
        if scheme not in ("http", "https") or not named or (named not in _LOOPBACK and named != host):
            words = "The Origin header names a page that may not ask; --allow-origin allows it."
            raise RequestRejected(403, "origin", words)

    def authenticate(self, headers: Mapping[str, str]) -> None:
        """Raise `RequestRejected` for a request without a token that is known."""
        if not self.tokens:
            return
        kind, given = _login(headers)
        digest = hashlib.sha256(given.encode()).digest()
        # All of them, and each in the same time, whatever was given.
        fits = [hmac.compare_digest(digest, hashlib.sha256(token.encode()).digest()) for token in self.tokens]
        if kind.lower() != "bearer" or not any(fits):
            words = "The request has no token that is known here." if given else "The request has no bearer token."
            raise RequestRejected(401, "token", words, headers={"www-authenticate": 'Bearer realm="failwell"'})

    def caller(self, headers: Mapping[str, str]) -> str:
        """A digest of the client's login, by which the client is known again; empty without a login."""
        # One token is one caller, however it is written.
        given = f"Bearer {_login(headers)[1]}" if self.tokens else headers.get("authorization", "")
        return hashlib.sha256(given.encode()).hexdigest() if given else ""


def _login(headers: Mapping[str, str]) -> tuple[str, str]:
    """The scheme of a login, and what follows it."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return kind, given.strip()


def _host(given: str) -> str:
    """A Host header, or an address, without its port; empty for what is neither."""
    if any(sign in given for sign in "@,/?# "):
        return ""
    try:
        parts = urlsplit(f"//{given}")
        return (parts.hostname or "").lower() if (parts.port or 1) > 0 else ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    return host in _LOOPBACK or host.startswith("127.")
