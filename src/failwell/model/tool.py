"""What is known of a tool, and what a failure of it may have changed: one table for server, client and bridges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from .kinds import Effect
from .toolname import is_named_read


class Nature(StrEnum):
    """What calling a tool twice would mean, as far as anybody said."""

    READ = "read"
    """It changes nothing: marked as read-only and not as destructive, or named as a read by the user."""
    IDEMPOTENT = "idempotent"
    """Twice is the same as once."""
    WRITE = "write"
    """It is marked as changing something."""
    NAMED_READ = "named_read"
    """Nobody said so, but its name is plainly that of a read: `get_weather`."""
    UNMARKED = "unmarked"
    """Nobody said anything. Most tools of the world are like that."""


ESCAPED: Final[Mapping[Nature, Effect | None]] = {
    Nature.READ: Effect.NONE,
    Nature.IDEMPOTENT: None,
    Nature.WRITE: Effect.UNKNOWN,
    Nature.NAMED_READ: None,
    Nature.UNMARKED: Effect.UNKNOWN,
}
"""What a failure that nobody stated says about the whole call: an exception proves nothing about what came before."""


_READ: Final = Nature.READ
_REPEATABLE: Final = frozenset({Nature.READ, Nature.IDEMPOTENT})
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
    """Whether whoever runs this says so themselves: then it does not matter whether the server is trusted."""
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
        return Nature.NAMED_READ if is_named_read(self.name or "") else Nature.UNMARKED

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.nature is _READ

    @property
    def repeatable(self) -> bool:
        """Whether calling it twice does no more than calling it once."""
        return self.nature in _REPEATABLE

    def known(self, *, trusted: bool = True, reads: Iterable[str] = ()) -> Traits:
        """The same as far as it is to be believed: a tool of `reads` only reads, by the word of whoever runs this, and
        of a server that is not trusted only what makes one more careful counts."""
        name = self.name
        named = [pattern for pattern in reads if fnmatchcase(name, pattern)] if reads and name is not None else []
        # A pattern is drawn too wide more easily than a tool is called a write or destructive by mistake.
        if named and self.destructive is not True and (self.read_only is not False or self.name in named):
            return replace(self, read_only=True, told=True)
        if trusted or self.told or not (self.read_only or self.idempotent):
            return self
        return replace(self, read_only=self.read_only and None, idempotent=self.idempotent and None)

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
