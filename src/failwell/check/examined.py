"""What is known of a server when it has been examined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .findings import CheckFinding, Judgements
from .named_things import Roster
from .probes import CheckedSurface


@dataclass
class Examined:
    """What is known at the end."""

    ledger: Judgements
    tools: list[CheckedSurface] = field(default_factory=list)
    roster: Roster = field(default_factory=lambda: Roster(()))
    left_out: list[str] = field(default_factory=list)
    probes: dict[str, int] = field(default_factory=dict)
    eras: list[str] = field(default_factory=list)
    server: Mapping[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    reason: str | None = None
    """Why it did not start."""

    @property
    def findings(self) -> list[CheckFinding]:
        return self.ledger.findings()

    @property
    def probed_tools(self) -> list[CheckedSurface]:
        return [tool for tool in self.tools if self.probes.get(tool.name)]

    @property
    def lists_tools(self) -> bool:
        """Whether the list of tools could be had, be it an empty one."""
        return "protocol.lists-tools" not in self.ledger.tally.broken()
