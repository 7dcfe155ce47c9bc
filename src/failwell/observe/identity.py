"""By what a call is known again: in its session, by other seats that see it too, and when it is made once more."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any, Final, NamedTuple, Self

from failwell.formats import keys
from failwell.model import budget_left, fingerprint, pattern

CALL_KEY: Final = keys.CALL
SESSION_VARIABLE: Final = "FAILWELL_SESSION"
"""By which a relay tells the server that it starts in which session its calls are."""
SESSION_HEADER: Final = "failwell-session"
"""The same over HTTP."""
# Whatever is larger is known by its outline: nobody waits for a hash of what they sent.
_ROOM: Final = 4_000
_SENT: Final = pattern(r"([0-9a-f]{8,32})/([0-9a-f]{1,12})/([0-9]{1,4})")
_TRACE: Final = pattern(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def keyed_fingerprint(tool: str, arguments: Mapping[str, Any], key: bytes) -> str:
    """The same for the same call under the same key; what the hold knows the call by gives the same.

    The key is what makes it safe to keep: few values are so long that nobody could guess them by trying.
    """
    if budget_left(arguments, _ROOM) < 0:
        arguments = {str(name)[:200]: _outline(value) for name, value in list(arguments.items())[:200]}
    return keyed_hash(fingerprint(tool, arguments), key)


def keyed_hash(text: str, key: bytes) -> str:
    """A fingerprint of a call under the key of a store."""
    # It loads OpenSSL, and only whoever keeps events needs it.
    from hashlib import blake2b

    return blake2b(text.encode(), digest_size=8, key=key).hexdigest()


def _outline(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= _ROOM // 4 else [len(value), value[:100], value[-100:]]
    if isinstance(value, (list, tuple, dict)) and budget_left(value, _ROOM // 4) < 0:
        return [type(value).__name__, len(value)]
    return value


class SentId(NamedTuple):
    """What a call says of itself in its `_meta`."""

    session: str
    text: str
    attempt: int


def sent_id(meta: object) -> SentId | None:
    """The id that a client gave a call; None where it gave none, or something else."""
    given = meta.get(CALL_KEY) if isinstance(meta, Mapping) else None
    if not isinstance(given, str) or len(given) > 60 or (found := _SENT.fullmatch(given)) is None:
        return None
    return SentId(found[1], given, int(found[3]))


def trace_of(meta: object) -> str | None:
    """The trace that a call says it belongs to."""
    given = meta.get("traceparent") if isinstance(meta, Mapping) else None
    if not isinstance(given, str) or len(given) > 60 or (found := _TRACE.fullmatch(given)) is None:
        return None
    return found[1]


@dataclass(slots=True)
class Names:
    """Gives the calls of one session ids that travel with them.

    key: that of the store, so that the same call has the same fingerprint whoever tells of it.
    """

    key: bytes = field(default_factory=lambda: os.urandom(16))
    session: str = field(default_factory=lambda: os.urandom(8).hex())
    _count: count[int] = field(default_factory=lambda: count(1))

    @classmethod
    def of(cls, hook: object) -> Self:
        """For whoever tells this hook."""
        key = getattr(hook, "key", None)
        return cls(key) if isinstance(key, bytes) else cls()

    def next(self) -> str:
        """The beginning of the id of one call; the number of the attempt comes after it."""
        return f"{self.session}/{next(self._count):x}"


@cache
def inherited_session() -> str | None:
    """The session of the relay that has started this process; its own children are in none."""
    return session_in(os.environ.pop(SESSION_VARIABLE, None))


def session_in(given: object) -> str | None:
    """The name of a session, if it is one."""
    return given if isinstance(given, str) and 0 < len(given) <= 40 and given.isascii() and given.isalnum() else None
