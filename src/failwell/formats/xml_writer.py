"""`xml`: contract 002, `<tool_error>` and `<validation_error>`: writing them. Reading is `xml_reading`'s."""

from __future__ import annotations

import json
import re
from typing import Final

from failwell.model import (
    IN_DOUBT,
    UNSET,
    Action,
    FieldError,
    Json,
    Kind,
    ToolError,
    compact,
    pattern,
    shown,
)

from .crosswalk import default_code
from .doubt import recovery as recovery_of
from .wire import FIX_FIELDS, RESERVED

ROUTING: Final = frozenset({"MISSING_DISCRIMINATOR", "INVALID_DISCRIMINATOR", "UNKNOWN_ACTION"})
"""Codes of a grouped tool that could not find out what was wanted; the contract writes them in a form of their own."""

_MISSING: Final = "MISSING_REQUIRED_FIELD"
_STRUCTURAL: Final = ROUTING | {_MISSING}
_REQUIRED = pattern(r'Required field "(.*)" is missing\.', re.DOTALL)

_ILLEGAL = pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", "\r": "&#13;"})
_ATTRIBUTE_ESCAPES: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)


def escape(value: str) -> str:
    """Element text: `&` and `<`, and what would otherwise not come back or not be XML at all."""
    return _ILLEGAL.sub("\ufffd", value).translate(_TEXT_ESCAPES).replace("]]>", "]]&gt;")


def escape_attribute(value: str) -> str:
    """Attribute text: all five special characters, and white space that a reader would fold."""
    return _ILLEGAL.sub("\ufffd", value).translate(_ATTRIBUTE_ESCAPES)


def dump(error: ToolError, *, layout: str = "indent", carried: dict[str, Json] | None = None) -> str:
    if layout not in ("indent", "flush"):
        raise ValueError(f"There is no layout {layout!r}; use 'indent' or 'flush'.")
    rows = (_validation_rows if is_validation(error) else _tool_error_rows)(error, carried)
    if layout == "flush":
        # The form of the system behind the contract: only what is two levels down is indented.
        rows = [(max(depth - 1, 0), row) for depth, row in rows]
    return "\n".join("  " * depth + row for depth, row in rows)


def is_validation(error: ToolError) -> bool:
    """Whether the contract writes the error as `<validation_error>`."""
    return bool(error.fields) and error.kind is Kind.VALIDATION and error.code not in _STRUCTURAL


def missing_field(code: str | None, message: str) -> str | None:
    """The argument that the contract's sentence for a missing one names."""
    told = _REQUIRED.fullmatch(message) if code == _MISSING else None
    return told and told[1]


def _validation_rows(error: ToolError, carried: dict[str, Json] | None) -> list[tuple[int, str]]:
    # The contract's tools are `users.create` to whoever calls them, and `users/create` here.
    where = f"{error.tool or ''}/{error.action}" if error.action else (error.tool or "").replace(".", "/")
    where = where.removeprefix("/")
    rows = [(0, f'<validation_error action="{escape_attribute(where)}">' if where else "<validation_error>")]
    rows += [
        (1, f'<field name="{escape_attribute(problem.name)}">{escape(field_text(problem))}</field>')
        for problem in error.fields
    ]
    told = recovery_of(error) if error.effect in IN_DOUBT else _mending(error.suggestion)
    rows.append((1, f"<recovery>{escape(told)}</recovery>"))
    rows += _detail_rows([], carried)
    rows.append((0, "</validation_error>"))
    return rows


def _mending(suggestion: str | None) -> str:
    """What the contract says to do about wrong arguments, unless their author says something else; a question alone is
    nothing to do."""
    if suggestion is None:
        return FIX_FIELDS
    return f"{suggestion} {FIX_FIELDS}" if suggestion.endswith("?") else suggestion


def _tool_error_rows(error: ToolError, carried: dict[str, Json] | None) -> list[tuple[int, str]]:
    routing = error.code in ROUTING
    attributes = ""
    code = error.code
    if code is None and error.given("severity") and error.kind is not Kind.INTERNAL:
        # The kind has no place of its own, and an agent acts on it.
        code = default_code(error)
    if code is not None:
        attributes = f' code="{escape_attribute(code)}"'
    if error.given("severity") and not routing:
        attributes += f' severity="{error.severity.value}"'
    rows = [(0, f"<tool_error{attributes}>"), (1, f"<message>{escape(error.message)}</message>")]
    # Without a word about it, a model makes a call again that may have been done.
    told = recovery_of(error) if error.is_error else error.suggestion or ""
    recovery = [(1, f"<recovery>{escape(told)}</recovery>")] if told else []
    if routing:
        if error.actions:
            names = ", ".join(_choice(action) for action in error.actions)
            rows.append((1, f"<available_actions>{escape(names)}</available_actions>"))
        rows += recovery
    else:
        rows += recovery
        if error.actions:
            rows.append((1, "<available_actions>"))
            rows += [(2, f"<action>{escape(action.tool)}</action>") for action in error.actions]
            rows.append((1, "</available_actions>"))
    details = {name: value for name, value in error.details.items() if name != RESERVED}
    if error.effect in IN_DOUBT and error.is_error:
        # The contract has no flag for programs that read nothing else.
        details["effect"] = error.effect.value
    rows += _detail_rows(
        [(name, value if isinstance(value, str) else compact(value)) for name, value in details.items()], carried
    )
    if error.retry_after is not None:
        rows.append((1, f"<retry_after>{error.retry_after} seconds</retry_after>"))
    rows.append((0, "</tool_error>"))
    return rows


def _detail_rows(details: list[tuple[str, str]], carried: dict[str, Json] | None) -> list[tuple[int, str]]:
    if carried is not None:
        # In ASCII, since XML cannot hold every character there is.
        details = [*details, (RESERVED, json.dumps(carried, separators=(",", ":")))]
    if not details:
        return []
    rows = [f'<detail key="{escape_attribute(name)}">{escape(value)}</detail>' for name, value in details]
    return [(1, "<details>"), *((2, row) for row in rows), (1, "</details>")]


def _choice(action: Action) -> str:
    """What to put into the discriminator: the action's argument, or its bare name."""
    if action.arguments and len(action.arguments) == 1:
        (value,) = action.arguments.values()
        if isinstance(value, str):
            return value
    return action.tool


def field_text(problem: FieldError) -> str:
    """The contract's sentence about one argument: what is wrong, what was sent, what is expected."""
    parts = []
    if problem.sent is not UNSET:
        parts.append(f"You sent: {shown(problem.sent)}.")
    elif problem.rule in ("required", "missing"):
        parts.append("You sent: (missing).")
    if problem.options:
        parts.append(f"Valid options: {', '.join(shown(option, cut=False) for option in problem.options)}.")
    if problem.expected:
        parts.append(problem.expected if problem.expected.endswith(".") else f"Expected: {problem.expected}.")
    message = problem.message
    if parts and message and message[-1] not in ".!?":
        message += "."
    return " ".join([message, *parts] if message else parts)
