"""How a server fails, graded: `failwell check`. It speaks raw JSON-RPC, and judges every answer by a table of rules."""

from __future__ import annotations

from .checking import check
from .conversation import Waits
from .examination import CheckOptions
from .findings import CheckFinding
from .report import CheckReport
from .rules import GROUPS, RULES, CheckRule
from .target import CheckTarget

__all__ = [
    "check",
    "CheckTarget",
    "CheckOptions",
    "Waits",
    "CheckReport",
    "CheckFinding",
    "CheckRule",
    "RULES",
    "GROUPS",
]
