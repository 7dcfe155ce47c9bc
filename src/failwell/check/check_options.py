"""What may be done to a server that is checked, and what is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict

from .conversation import Waits


class CheckChoices(TypedDict, total=False):
    """The options of `check`, by name."""

    allow_writes: bool
    reads: Sequence[str]
    examples: Mapping[str, Mapping[str, Any]]
    only: Sequence[str]
    rules: Sequence[str]
    skip: Sequence[str]
    era: str
    timeout: float
    start_timeout: float
    most_tools: int
    most_seconds: float
    declared: Mapping[str, frozenset[str]]
    faults: bool
    base_urls: Sequence[str]


_WAITS: Final = {"start_timeout": "start", "timeout": "call"}


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What may be done to a server, and what is looked at."""

    allow_writes: bool = False
    reads: Sequence[str] = ()
    examples: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only: Sequence[str] = ()
    """Tools; all of them if none is named."""
    rules: Sequence[str] = ()
    skip: Sequence[str] = ()
    era: str = "auto"
    waits: Waits = field(default_factory=Waits)
    most_tools: int = 50
    most_seconds: float = 600.0
    declared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The codes of each tool, from a manifest."""
    faults: bool = False
    """Whether to stand between the server and its upstream as well, and to fail there."""
    base_urls: Sequence[str] = ()
    """Variables in which the server reads the address of its upstream."""

    @classmethod
    def of(cls, chosen: CheckChoices) -> CheckOptions:
        given: dict[str, Any] = {**chosen}
        waits = Waits(**{field: given.pop(name) for name, field in _WAITS.items() if name in given})
        return cls(**{"waits": waits, **given})

    def wants(self, rule: str) -> bool:
        group = rule.partition(".")[0]
        named = not self.rules or rule in self.rules or group in self.rules
        return named and rule not in self.skip and group not in self.skip
