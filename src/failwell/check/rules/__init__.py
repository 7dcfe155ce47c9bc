"""The rules, in one table: what a good failure is, one small function for each question."""

from __future__ import annotations

from typing import Final

from . import action, cost, protocol, recovery, safety, structure
from .rule import GROUPS, SEVERITIES, CheckRule, Judged

RULES: Final[dict[str, CheckRule]] = {
    rule.id: rule
    for rule in (
        *structure.RULES,
        *action.RULES,
        *safety.RULES,
        *protocol.RULES,
        *recovery.RULES,
        *cost.RULES,
    )
}

__all__ = ["GROUPS", "RULES", "SEVERITIES", "CheckRule", "Judged"]
