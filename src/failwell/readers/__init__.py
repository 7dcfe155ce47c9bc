"""Anything that failed to a ToolError: exceptions by one table, HTTP answers, results, other people's words.

What most programs never need is imported when it is asked for: the tables are large.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .batch import partial_failure
from .exceptions.exception_table import (
    DEFAULT,
    SHIPPED,
    Row,
    Table,
    broken,
    classify,
    from_error,
    is_order,
    operation,
    wrap,
)
from .http import STATUSES, body_message, code_for, from_http, retry_after
from .prose import from_text

if TYPE_CHECKING:
    from .exceptions.builtin import timed_out
    from .exceptions.callers_text import misread
    from .exceptions.chain import attribute, chain, leaves, named, said, shorten_text
    from .exceptions.databases import is_of_database
    from .exceptions.refusal import code_of, plain_function, refusal
    from .extra_arguments import HARMLESS, fate, strictly, unexpected
    from .failure_reader import (
        BAD_ANSWER,
        Http,
        is_envelope,
        is_failing,
        is_plain_failure,
        lost_session,
        of_post,
        read,
        text_of,
    )
    from .hints.verify import Checks
    from .traces import trace_line, without_frames
    from .validation import call_of, check_names, from_pydantic, from_schema, unknown_arguments, unknown_tool

_LATER: Final = {
    **dict.fromkeys(
        (
            "BAD_ANSWER",
            "Http",
            "is_envelope",
            "is_failing",
            "is_plain_failure",
            "lost_session",
            "of_post",
            "read",
            "text_of",
        ),
        ".failure_reader",
    ),
    "timed_out": ".exceptions.builtin",
    **dict.fromkeys(("attribute", "chain", "leaves", "named", "said", "shorten_text"), ".exceptions.chain"),
    **dict.fromkeys(("code_of", "plain_function", "refusal"), ".exceptions.refusal"),
    "misread": ".exceptions.callers_text",
    "is_of_database": ".exceptions.databases",
    **dict.fromkeys(("HARMLESS", "fate", "strictly", "unexpected"), ".extra_arguments"),
    "Checks": ".hints.verify",
    "trace_line": ".traces",
    "without_frames": ".traces",
    **dict.fromkeys(
        ("call_of", "check_names", "from_pydantic", "from_schema", "unknown_arguments", "unknown_tool"), ".validation"
    ),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
    return value


__all__ = [
    # anything
    "read",
    "Http",
    "is_envelope",
    "is_failing",
    "is_plain_failure",
    "text_of",
    "of_post",
    "lost_session",
    "BAD_ANSWER",
    # exceptions
    "classify",
    "wrap",
    "from_error",
    "operation",
    "is_order",
    "Row",
    "Table",
    "DEFAULT",
    "SHIPPED",
    "broken",
    "timed_out",
    "attribute",
    "chain",
    "leaves",
    "named",
    "said",
    "shorten_text",
    "refusal",
    "misread",
    "code_of",
    "plain_function",
    "partial_failure",
    "is_of_database",
    # HTTP answers
    "from_http",
    "STATUSES",
    "body_message",
    "code_for",
    "retry_after",
    # words
    "from_text",
    "trace_line",
    "without_frames",
    # arguments, and tools that do not exist
    "call_of",
    "check_names",
    "from_pydantic",
    "from_schema",
    "unknown_arguments",
    "unknown_tool",
    "HARMLESS",
    "fate",
    "strictly",
    "unexpected",
    # what a tool list adds
    "Checks",
]
