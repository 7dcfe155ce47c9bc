"""How a server fails, graded: `failwell check`. It speaks raw JSON-RPC, and judges every answer by a table of rules.

report = check(["python", "server.py"])
print(report.score, report.grade)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from failwell.old_names import house_name

from . import reports as reports
from .checking import check
from .checking import send as send
from .comparison import Comparison as Comparison
from .comparison import NoReport as NoReport
from .comparison import load_report as load_report
from .comparison import new_findings as new_findings
from .findings import CheckFinding as CheckFinding
from .rules import GROUPS as GROUPS
from .rules import RULES as RULES
from .rules import CheckRule as CheckRule
from .target import absolute as absolute

if TYPE_CHECKING:
    from .check_options import CheckOptions as CheckOptions
    from .conversation import Waits as Waits
    from .report_data import CheckReport as CheckReport
    from .target import CheckTarget as CheckTarget

# What was public once and is still used here: where it is, and what others write instead.
_OLD: Final = {
    "CheckTarget": ("failwell.check.target.CheckTarget", 'check(["python", "server.py"]), or check(url)'),
    "CheckOptions": ("failwell.check.check_options.CheckOptions", "its fields as arguments of check"),
    "Waits": ("failwell.check.conversation.Waits", "the arguments timeout and start_timeout of check"),
    "CheckReport": ("failwell.check.report_data.CheckReport", "what check returns"),
}


def __getattr__(name: str) -> Any:
    if name not in _OLD:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return house_name(__name__, name, *_OLD[name])


__all__ = ["check"]
# What the command line uses, and nobody else may count on.
_HOUSE = (
    "reports",
    "send",
    "Comparison",
    "NoReport",
    "load_report",
    "new_findings",
    "absolute",
    "CheckFinding",
    "CheckRule",
    "RULES",
    "GROUPS",
    *("CheckTarget", "CheckOptions", "CheckReport", "Waits"),
)
