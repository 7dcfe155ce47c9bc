"""How a server fails, graded: `failwell check`. It speaks raw JSON-RPC, and judges every answer by a table of rules.

report = check(CheckTarget(["python", "server.py"]))
print(report.score, report.grade)
"""

from __future__ import annotations

from . import reports
from .checking import check, send
from .comparison import Comparison, NoReport, load_report, new_findings
from .conversation import Waits
from .examination import CheckOptions
from .findings import CheckFinding
from .report import CheckReport
from .rules import GROUPS, RULES, CheckRule
from .target import CheckTarget, absolute

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
# What the command line uses, and nobody else may count on.
_HOUSE = ("reports", "send", "Comparison", "NoReport", "load_report", "new_findings", "absolute")
