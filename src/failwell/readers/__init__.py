"""Anything that failed to a ToolError: exceptions by one table, HTTP answers, results, other people's words.

What most programs never need is imported when it is asked for: the tables are large.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .exceptions.exception_table import (
    DEFAULT,
    SHIPPED,
    Table,
    broken,
    classify,
    from_error,
    is_stop_request,
    operation,
    partial_failure,
    wrap,
)
from .http import body_message, from_http, host_of

if TYPE_CHECKING:
    from .client_errors import BAD_ANSWER, Http, from_post, lost_session
    from .error_text import from_text
    from .exceptions.builtin import timed_out
    from .exceptions.chain import attribute, chain, exc_summary, exc_text, shorten_text, with_words
    from .exceptions.databases import is_of_database
    from .exceptions.refusal import code_of, plain_function, refusal
    from .failure_reader import is_failing, is_plain_failure, read, text_of
    from .traces import trace_line, without_frames
    from .validation import (
        applied_schema,
        call_of,
        check_names,
        extras_policy,
        from_pydantic,
        from_schema,
        invalid_json,
        unexpected,
        unknown_arguments,
        unknown_tool,
    )
    from .verify import Checks

_LATER: Final = {
    name: module
    for module, names in {
        ".client_errors": "BAD_ANSWER Http from_post lost_session",
        ".exceptions.builtin": "timed_out",
        ".exceptions.chain": "attribute chain exc_summary exc_text shorten_text with_words",
        ".exceptions.databases": "is_of_database",
        ".exceptions.refusal": "code_of plain_function refusal",
        ".failure_reader": "is_failing is_plain_failure read text_of",
        ".error_text": "from_text",
        ".traces": "trace_line without_frames",
        ".validation": """
            applied_schema call_of check_names from_pydantic from_schema invalid_json unexpected
            extras_policy unknown_arguments unknown_tool
        """,
        ".verify": "Checks",
    }.items()
    for name in names.split()
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
    "is_failing",
    "is_plain_failure",
    "text_of",
    "from_post",
    "lost_session",
    "BAD_ANSWER",
    # exceptions
    "classify",
    "wrap",
    "from_error",
    "operation",
    "is_stop_request",
    "Table",
    "DEFAULT",
    "SHIPPED",
    "broken",
    "timed_out",
    "attribute",
    "chain",
    "exc_summary",
    "exc_text",
    "shorten_text",
    "with_words",
    "refusal",
    "invalid_json",
    "code_of",
    "plain_function",
    "partial_failure",
    "is_of_database",
    # HTTP answers
    "from_http",
    "body_message",
    "host_of",
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
    "extras_policy",
    "applied_schema",
    "unexpected",
    # what a tool list adds
    "Checks",
]
