"""How a server fails, graded: `failwell check`. It speaks raw JSON-RPC, and judges every answer by the rubric.

report = check(["python", "server.py"])
print(report.score, report.grade)
"""

from __future__ import annotations

from . import reports as reports
from .check_options import CheckOptions as CheckOptions
from .checking import check as check
from .checking import send as send
from .conversation import Waits as Waits
from .report_data import CheckFinding as CheckFinding
from .report_data import CheckReport as CheckReport
from .report_data import NoReport as NoReport
from .report_data import load_baseline as load_baseline
from .rubric import GROUPS as GROUPS
from .rubric import RULES as RULES
from .rubric import VERSION as VERSION
from .rubric import CheckRule as CheckRule
from .target import CheckTarget as CheckTarget
from .target import absolute as absolute

__all__: list[str] = []
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL = (
    *("check", "send", "reports", "NoReport", "load_baseline", "absolute", "VERSION"),
    *("CheckTarget", "CheckOptions", "CheckReport", "CheckFinding", "CheckRule", "RULES", "GROUPS", "Waits"),
)
