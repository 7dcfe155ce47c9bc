"""What a store of events tells, for people: a page in the browser, a report in one file, lines on a terminal.

Nothing here writes into a store or calls a tool.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .digest import BadLimit, broken, limit_of, line_of
from .digest import data as report_data
from .digest import document as report_document
from .digest import text as report_text
from .figures import BadTime, milliseconds
from .query import Query

if TYPE_CHECKING:
    from .app import application as application
    from .serving import serve as serve

# These need a web framework.
_LATER: Final = {"application": ".app", "serve": ".serving"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name], __name__), name)


__all__ = [
    "application",
    "serve",
    "Query",
    "report_data",
    "report_document",
    "report_text",
    "limit_of",
    "broken",
    "line_of",
    "milliseconds",
    "BadLimit",
    "BadTime",
]
