"""How much of everything a relay takes, and who may ask: a refusal names the limit, and every one is counted."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_ANYWHERE: Final = frozenset({"", "0.0.0.0", "::"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayLimits:
    """How much a relay takes.

    body, headers, header_count: bytes of a request's body and of its headers, and how many of these.
    sessions: clients at a time. calls: requests of one client at a time. buffer: bytes that wait for one client.
    patience: how many seconds the body of a request may take. idle: after how many seconds without a request a client
        is forgotten.
    """

    body: int = 16_000_000
    headers: int = 32_000
    header_count: int = 100
    sessions: int = 1_000
    calls: int = 200
    buffer: int = 16_000_000
    patience: float = 30.0
    idle: float = 1_800.0


class NotTaken(Exception):
    """A request that is not taken: why, for the client and for the counters."""

    def __init__(self, status: int, reason: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(slots=True)
class Gatekeeper:
    """Who may ask.

    bound: the address that is listened on. hosts, origins: what else a request may name. tokens: one of these is asked
    for, where there are any.
    """

    limits: RelayLimits = field(default_factory=RelayLimits)
    bound: str = "127.0.0.1"
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()
    tokens: Sequence[str] = ()
    refused: Counter[str] = field(default_factory=Counter)
    """How often, by why."""

    def check(self, headers: Mapping[str, str], raw: Iterable[tuple[bytes, bytes]]) -> None:
        """Raises `NotTaken` for a request of somebody who may not ask."""
        raw = list(raw)
        size = sum(len(name) + len(value) + 4 for name, value in raw)
        if len(raw) > self.limits.header_count or size > self.limits.headers:
            most = f"{self.limits.header_count} headers of {self.limits.headers} bytes together"
            raise NotTaken(431, "headers", f"The request has more than {most}.")
        host = _host(headers.get("host", ""))
        if not self._is_host(host):
            raise NotTaken(421, "host", "The Host header names another server; --allow-host allows it.")
        origin = headers.get("origin")
        if origin is not None and not self._is_origin(origin, host):
            raise NotTaken(403, "origin", "The Origin header names a page that may not ask; --allow-origin allows it.")

    def admit(self, headers: Mapping[str, str]) -> None:
        """Raises `NotTaken` for a request without a token that is known."""
        if not self.tokens:
            return
        kind, given = _login(headers)
        seen = hashlib.sha256(given.encode()).digest()
        # All of them, and each in the same time, whatever was given.
        fits = [hmac.compare_digest(seen, hashlib.sha256(token.encode()).digest()) for token in self.tokens]
        if kind.lower() != "bearer" or not any(fits):
            what = "The request has no token that is known here." if given else "The request has no bearer token."
            raise NotTaken(401, "token", what, www_authenticate='Bearer realm="failwell"')

    def caller(self, headers: Mapping[str, str]) -> str:
        """By what a client is known again: what it logs in with, as nobody can read it."""
        given = headers.get("authorization", "")
        if self.tokens:
            # One token is one caller, however it is written.
            given = f"Bearer {_login(headers)[1]}"
        return hashlib.sha256(given.encode()).hexdigest() if given else ""

    def _is_host(self, host: str) -> bool:
        if host in _LOOPBACK or host in map(_host, self.hosts):
            return True
        if self.bound in _ANYWHERE:
            # Under which names it is known is not known here; whoever asks has a token.
            return not self.hosts and bool(self.tokens)
        return host == _host(self.bound)

    def _is_origin(self, origin: str, host: str) -> bool:
        if origin in self.origins:
            return True
        scheme, _, rest = origin.partition("://")
        named = _host(rest)
        return scheme in ("http", "https") and bool(named) and (named in _LOOPBACK or named == host)


def _login(headers: Mapping[str, str]) -> tuple[str, str]:
    """The scheme that a client logs in by, and what it gives there."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return kind, given.strip()


def _host(given: str) -> str:
    """A Host header, or an address, without its port."""
    if any(sign in given for sign in "@,/?# "):
        return ""
    try:
        parts = urlsplit(f"//{given}")
        # What is no port is no address either, and only looks like one.
        return (parts.hostname or "").lower() if (parts.port or 1) > 0 else ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    return host in _LOOPBACK or host.startswith("127.")
