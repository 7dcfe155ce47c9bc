"""What may be done to a server that is checked, and how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from .conversation import Waits


class CheckChoices(TypedDict, total=False):
    """The options of `check`, by name."""

    allow_writes: bool
    reads: Sequence[str]
    examples: Mapping[str, Mapping[str, Any]]
    only: Sequence[str]
    skip: Sequence[str]
    era: str
    waits: Waits
    max_time: float
    most_tools: int
    faults: bool
    base_urls: Sequence[str]


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What may be done to a server, and what is looked at."""

    allow_writes: bool = False
    reads: Sequence[str] = ()
    examples: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only: Sequence[str] = ()
    """Tools; all of them if none is named."""
    skip: Sequence[str] = ()
    """Rules, or groups of rules."""
    era: str = "auto"
    waits: Waits = field(default_factory=Waits)
    most_tools: int = 50
    max_time: float = 120.0
    """Seconds for the whole check, after which the report holds what was seen."""
    faults: bool = False
    """Whether to stand between the server and its upstream as well, and to fail there."""
    base_urls: Sequence[str] = ()
    """Variables in which the server reads the address of its upstream."""

    def wants(self, rule: str) -> bool:
        return rule not in self.skip and rule.partition(".")[0] not in self.skip
