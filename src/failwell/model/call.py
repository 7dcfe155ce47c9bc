"""What a call is: a tool and its arguments. Two calls are the same call if both are the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

from .json_values import Json, budget_left, plain, text

# Of an argument that is shown, and how many are.
_LONGEST: Final = 160
_MOST: Final = 30
_WRITE: Final = json.JSONEncoder(sort_keys=True, default=repr, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class SentArguments:
    """What a call was made with, as far as it is short enough to be shown to whoever makes it again."""

    arguments: Mapping[str, Json]
    long: tuple[str, ...] = ()
    """The names of the others."""

    @classmethod
    def of(cls, value: object) -> Self | None:
        """What can be shown of some arguments; None where there are too many."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping) or len(value) > _MOST:
            return None
        long = [text(name) for name, each in value.items() if budget_left(each, _LONGEST) < 0]
        if any(len(text(name)) > _LONGEST for name in value):
            return None
        return cls({text(name): plain(each) for name, each in value.items() if text(name) not in long}, tuple(long))

    def to_dict(self) -> dict[str, Json]:
        return {"arguments": dict(self.arguments), "long": list(self.long)}


def fingerprint(tool: str, arguments: Mapping[str, Any]) -> str:
    """The same text for the same call, whatever the order of its arguments, and another one for any other call.

    It holds nothing that was sent, so it can be kept.

    >>> fingerprint("pay", {"id": 7, "amount": 5}) == fingerprint("pay", {"amount": 5, "id": 7})
    True
    """
    try:
        written = _WRITE([tool, _canonical(arguments)])
    except (TypeError, ValueError, RecursionError):
        written = f"{tool} {arguments!r}"
    digest: str = _hash()(written.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
    return digest


def _canonical(value: Any) -> Any:
    """JSON in which a number has one form: 1.0 is 1."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {name: _canonical(below) for name, below in value.items()}
    return [_canonical(below) for below in value] if isinstance(value, (list, tuple)) else value


@cache
def _hash() -> Callable[..., Any]:
    # It loads OpenSSL, and only whoever makes calls needs it.
    from hashlib import blake2b

    return blake2b
