"""How a server fails, graded: `failwell check`. It speaks raw JSON-RPC, and judges every answer by a table of rules.

report = check(["python", "server.py"])
print(report.score, report.grade)
"""

from __future__ import annotations

from . import reports as reports
from .check_options import CheckOptions as CheckOptions
from .checking import check as check
from .checking import send as send
from .comparison import Comparison as Comparison
from .comparison import NoReport as NoReport
from .comparison import load_report as load_report
from .comparison import new_findings as new_findings
from .conversation import Waits as Waits
from .findings import CheckFinding as CheckFinding
from .report_data import CheckReport as CheckReport
from .rules import GROUPS as GROUPS
from .rules import RULES as RULES
from .rules import CheckRule as CheckRule
from .target import CheckTarget as CheckTarget
from .target import absolute as absolute

__all__: list[str] = []
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL = (
    *("check", "send", "reports", "Comparison", "NoReport", "load_report", "new_findings", "absolute"),
    *("CheckTarget", "CheckOptions", "CheckReport", "CheckFinding", "CheckRule", "RULES", "GROUPS", "Waits"),
)
