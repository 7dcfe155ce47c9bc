"""What the words of a refusal are about: a wrong call, refused before the tool ran, or the tool's own work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from failwell.model import Kind, ToolError

from .tools import schema_of

# Whose arguments the validators of the Python SDKs say they have looked at.
_VALIDATED: Final = re.compile(r"\d{1,4} validation errors? for (?:(\w{1,200})Arguments|call\[([^\]\n]{1,200})\])\n")
# Python's own conversions, with what they could not convert: a crash, unless that was sent.
_CONVERTED: Final = re.compile(
    r"invalid literal for int\(\) with base \d{1,2}: '([^'\n]{1,200})'"
    r"|could not convert string to float: '([^'\n]{1,200})'"
    r"|codec can't (?:de|en)code"
)
# What an operating system says of a file, with the file; and what a server says of a tool that it does not have.
_OF_SYSTEM: Final = re.compile(
    r"(?:\bE(?:NOENT|ACCES|PERM|ROFS|NOTDIR|ISDIR|XDEV)\b|\[Errno \d{1,3}\]|[Nn]o such file or directory"
    r"|[Rr]ead-only file system|[Pp]ermission denied(?=[: ]{1,3}['\"](?:[A-Z]:)?[/\\]))"
    r"[^'\"\n]{0,80}['\"]([^'\"\n]{1,500})['\"]"
)
_OF_TOOL: Final = re.compile(r"(?i)\b(?:unknown tool|no such tool|tool not found):? ['\"`]?([\w./-]{1,200})")
_REFUSED: Final = frozenset({Kind.NOT_FOUND, Kind.PERMISSION})
_MOST_NAMES: Final = 10_000
# How the validators of the SDKs begin: before any tool runs, and with its name.
_REFUSALS: Final = (
    r"(?:Error (?:executing|calling) tool '?{tool}'?: )?\d{{1,4}} validation errors? for {tool}Arguments\n",
    r"(?:Error (?:executing|calling) tool '?{tool}'?: )?\d{{1,4}} validation errors? for call\[{tool}\]\n",
    r"(?:MCP error -32602: )*(?:Input validation error: )?Invalid arguments for tool {tool}: ",
)


def is_refusal_of(text: str, tool: str) -> bool:
    name = re.escape(tool)
    return any(re.match(refusal.format(tool=name), text) for refusal in _REFUSALS)


def own_failure(
    error: ToolError, tool: str, arguments: Mapping[str, Any], listed: Mapping[str, Any], text: str = ""
) -> ToolError:
    """The error, or a crash in its place where the words of a refusal cannot be about this call: the tool met it in its
    own work."""
    if error.standing != "quoted" or error.origin != "peer":
        return error
    if error.kind in _REFUSED:
        is_own = tool in listed and _is_of_something_else(text or error.message, tool, arguments)
    elif error.kind is Kind.VALIDATION:
        schema = schema_of(listed.get(tool))
        is_own = schema is not None and _is_foreign(error, tool, arguments, listed, schema, text)
    else:
        return error
    if not is_own:
        return error
    return error.replace(kind=Kind.INTERNAL, code="INTERNAL_ERROR", fields=(), patch=(), sent=None)


def _is_of_something_else(text: str, tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether something is missing, or not allowed, of which the caller knows nothing: a file that was not sent, or
    another tool."""
    if (named := _OF_TOOL.search(text)) is not None:
        # Whoever stands in between may have put a name of their own before that of the tool.
        return named[1] not in tool and tool not in named[1]
    found = _OF_SYSTEM.search(text)
    if found is None:
        return False
    steps = [step for step in re.split(r"[/\\]+", found[1]) if len(step) > 1 and step != "…"]
    return bool(steps) and not names_sent(steps[-1], arguments)


def names_sent(text: str, arguments: Mapping[str, Any]) -> bool:
    """Whether words name something that was sent, or the other way round."""
    values, names = values_in(arguments), text.lower()
    return any(
        (len(names) > 2 and names in value) or next(places_of(value, names), None) is not None for value in values
    )


def places_of(value: str, text: str) -> Iterator[int]:
    """Where a text has a value in it that is no part of a longer word or number: 404 does not name the invoice 4."""
    at = text.find(value)
    while at >= 0:
        end = at + len(value)
        if not _is_joined(text[at - 1 : at] + value[0]) and not _is_joined(value[-1] + text[end : end + 1]):
            yield at
        at = text.find(value, at + 1)


def _is_joined(pair: str) -> bool:
    """Whether two characters belong to one word. Scripts without spaces are not told apart by their letters."""
    return len(pair) == 2 and pair.isascii() and pair.replace("_", "a").isalnum()


def values_in(value: object) -> set[str]:
    """Every text and number in JSON data that says something, in small letters."""
    values: set[str] = set()
    left = [value]
    while left and len(values) < _MOST_NAMES:
        held = left.pop()
        if isinstance(held, Mapping):
            left.extend(held.values())
        elif isinstance(held, list):
            left.extend(held)
        elif isinstance(held, (str, int, float)) and not isinstance(held, bool) and str(held).strip():
            values.add(str(held).strip().lower())
    return values


def _is_foreign(
    error: ToolError,
    tool: str,
    arguments: Mapping[str, Any],
    listed: Mapping[str, Any],
    schema: Mapping[str, Any],
    text: str,
) -> bool:
    """Whether a validator's words cannot be about this call: they name another one, an argument that neither the tool
    has nor was sent, one as missing that was sent, or as wrong that was not; or what could not be converted was not
    sent."""
    named = _VALIDATED.search(text)
    # They name the function, which may be called otherwise than its tool.
    if named is not None and (named[1] or named[2]) != tool and (named[1] or named[2]) in listed:
        return True
    told = [each for each in error.fields if each.path]
    if not told:
        converted = _CONVERTED.search(text)
        return converted is not None and (converted[1] or converted[2] or "\0") not in str(arguments)
    known = _names_in(schema) | _names_in(arguments)
    # A server's list may lack what its own validator wants, or all of it.
    is_listed = named is None and bool(schema.get("properties"))
    # Of a tool that is listed without any, only a validator that says which rule was broken is believed.
    is_bare = named is None and "properties" in schema
    return any(
        ((is_listed or (is_bare and each.rule is None)) and known.isdisjoint(each.path))
        or (each.rule is not None and (each.rule == "required") is _is_sent(each.path, arguments))
        for each in told
    )


def _names_in(value: object) -> set[object]:
    """Every name in JSON data, which for a schema are those of all that may be sent, and some more."""
    names: set[object] = set()
    left = [value]
    while left and len(names) < _MOST_NAMES:
        held = left.pop()
        if isinstance(held, Mapping):
            names.update(held)
            left.extend(held.values())
        elif isinstance(held, list):
            left.extend(held)
    return names


def _is_sent(path: Sequence[str | int], arguments: Any) -> bool:
    for key in path:
        try:
            arguments = arguments[key]
        except (LookupError, TypeError):
            return False
    return True
