"""What is known of a tool, and what makes two calls of it the same: one table for server, client and bridges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final, Literal, Self

from .json_values import Json, budget_left, plain, text
from .toolname import nature_of_name

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


class Nature(StrEnum):
    """What calling a tool twice would mean."""

    READ = "read"
    """It changes nothing: annotated as read-only and not as destructive, or named in `reads` by the user."""
    NAMED_READ = "named_read"
    """Nobody said so, but its name is that of a read: `get_weather`."""
    IDEMPOTENT = "idempotent"
    """Twice is the same as once."""
    WRITE = "write"
    """It changes something: by its annotations, the user's `writes`, or its name."""
    UNMARKED = "unmarked"
    """Neither annotations nor the user nor its name tell."""


_READS: Final = frozenset({Nature.READ, Nature.NAMED_READ})
_REPEATABLE: Final = frozenset({Nature.READ, Nature.IDEMPOTENT})
Unmarked = Literal["as is", "write"]
ADVICE: Final = ("suggestion", "next_steps", "actions", "patch")
"""What such a failure may say about the next call, which is out of place once the first one may have been done."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known about a tool. None means that nobody said."""

    name: str | None = None
    read_only: bool | None = None
    idempotent: bool | None = None
    destructive: bool | None = None
    told: bool = False
    """Whether the user says so: then it does not matter whether the server is trusted."""
    unmarked: Unmarked = "as is"
    """Whether the strong rules of writes hold for a tool that nothing tells about."""
    trusted: bool = field(default=True, compare=False)
    """Whether its name is enough to call it twice."""
    nature: Nature = field(init=False, repr=False, compare=False)
    """What calling it twice would mean: found once, since of one failure it is asked again and again."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nature", self._nature())

    def _nature(self) -> Nature:
        if self.read_only is True and self.destructive is not True:
            return Nature.READ
        if self.idempotent is True:
            return Nature.IDEMPOTENT
        # These hints mean something only for tools that change something, so whoever gives one has such a tool. One
        # that is read-only and destructive contradicts itself, and is taken for the worse.
        if self.read_only is not None or self.idempotent is not None or self.destructive is not None:
            return Nature.WRITE
        named = nature_of_name(self.name or "")
        if named == "read":
            return Nature.NAMED_READ
        return Nature.WRITE if named == "write" or self.unmarked == "write" else Nature.UNMARKED

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.nature in _READS

    @property
    def writes(self) -> bool:
        """Whether calling it twice does more than calling it once."""
        return self.nature is Nature.WRITE

    @property
    def repeatable(self) -> bool:
        """Whether calling it twice does no more than calling it once."""
        return self.nature in _REPEATABLE or (self.trusted and self.nature is Nature.NAMED_READ)

    def known(
        self,
        *,
        trusted: bool = True,
        reads: Iterable[str] = (),
        writes: Iterable[str] = (),
        unmarked: Unmarked | None = None,
    ) -> Traits:
        """The same as far as it is to be believed. The user's word counts for a tool of `reads` or `writes`; of a
        server that is not trusted, only what makes one more careful counts."""
        name, known = self.name, self if unmarked in (None, self.unmarked) else replace(self, unmarked=unmarked)
        if name is None:
            return known._believed(trusted)
        if writes and any(fnmatchcase(name, pattern) for pattern in writes):
            return replace(known, read_only=False, told=True)
        named = [pattern for pattern in reads if fnmatchcase(name, pattern)] if reads else []
        # A pattern is drawn too wide more easily than a tool is annotated as a write by mistake.
        if named and self.destructive is not True and (self.read_only is not False or name in named):
            return replace(known, read_only=True, told=True)
        return known._believed(trusted)

    def _believed(self, trusted: bool) -> Traits:
        if trusted or self.told:
            return self
        return replace(self, read_only=self.read_only and None, idempotent=self.idempotent and None, trusted=False)

    @classmethod
    def of(cls, tool: object) -> Traits:
        """From a tool as MCP lists it (an SDK object or its JSON), from its annotations, or from a name."""
        if isinstance(tool, cls):
            return tool
        if tool is None or isinstance(tool, str):
            return cls(tool)
        name = _get(tool, "name")
        annotations = _get(tool, "annotations")
        hints = tool if annotations is None else annotations

        def hint(wire: str, attribute: str) -> bool | None:
            # Where the attribute is, the SDKs warn about the name on the wire.
            value = _get(hints, attribute) if hasattr(hints, attribute) else _get(hints, attribute, wire)
            return value if isinstance(value, bool) else None

        return cls(
            name if isinstance(name, str) else None,
            hint("readOnlyHint", "read_only_hint"),
            hint("idempotentHint", "idempotent_hint"),
            hint("destructiveHint", "destructive_hint"),
        )


def is_same_tool(called: str, named: str) -> bool:
    """Whether two names are of one tool. Gateways, and servers that mount others, put a name before it: `shop_pay`."""
    longer, shorter = (called, named) if len(called) >= len(named) else (named, called)
    return longer == shorter or (longer.endswith(shorter) and not longer[-len(shorter) - 1].isalnum())


def _get(source: object, *names: str) -> object:
    # To ask for a Mapping takes longer than all the rest, and it is asked for every tool of a server.
    is_map = type(source) is dict or isinstance(source, Mapping)
    for name in names:
        try:
            value = source.get(name) if is_map else getattr(source, name, None)  # type: ignore[attr-defined]
        except Exception:
            continue
        if value is not None:
            return value
    return None
