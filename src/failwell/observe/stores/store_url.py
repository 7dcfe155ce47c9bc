"""Where a store is: a URL, and what may be wrong with one."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

SCHEMES = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql", "otlp": "otlp"}
_HINT = "write sqlite:///events.db, postgresql://user@host/database or otlp:"


class BadStore(ValueError):
    """A store that cannot be used, in one line that says why and what to do."""


class Unreachable(BadStore):
    """A store that cannot be reached now, and may be later."""


@dataclass(frozen=True, slots=True)
class Address:
    """A store's URL, taken apart."""

    scheme: str
    path: str
    """The file of a SQLite store; else the URL itself."""

    def __str__(self) -> str:
        """Without a password."""
        if self.scheme == "sqlite":
            return f"sqlite:///{self.path}"
        parts = urlsplit(self.path)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def address_of(url: str) -> Address:
    """What a URL names. It raises `BadStore`.

    >>> address_of("sqlite:///events.db").path, address_of("sqlite:////var/events.db").path
    ('events.db', '/var/events.db')
    """
    scheme, colon, rest = url.partition(":")
    known = SCHEMES.get(scheme.lower()) if colon else None
    if known is None:
        # A password may be in it, wherever a user has put it.
        raise BadStore(f"this is no address of a store: {scheme[:20]!r}…; {_HINT}" if colon else _plain(url))
    if known != "sqlite":
        try:
            _ = urlsplit(url).netloc
        except ValueError:
            raise BadStore(f"the host of this {known}: address cannot be read; {_HINT}") from None
        return Address(known, url)
    path = unquote(rest.removeprefix("///")) if rest.startswith("///") else ""
    if not path or "?" in path or "\0" in path:
        raise BadStore("sqlite: names a file after three slashes: sqlite:///events.db, sqlite:////var/lib/events.db")
    return Address(known, path)


def _plain(url: str) -> str:
    if url.endswith((".db", ".sqlite", ".sqlite3")):
        return f"a store is named by a URL; for this file write sqlite:///{url}"
    return f"this is no address of a store; {_HINT}"
