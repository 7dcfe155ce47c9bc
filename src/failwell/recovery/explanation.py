"""What a server's own list tells about a refusal that says little: which tool was meant, which argument is wrong."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, Final

from failwell.guards import shown_arguments
from failwell.model import Effect, FieldError, Kind, Path, ToolError
from failwell.readers import call_of, check_names, unknown_tool
from failwell.schema import NO_PROBLEMS, Problems, broken_rules, invalid, may_take

from .refusals import NEVER_SENT
from .tools import schema_of
from .validators import is_refusal_of, own_failure

EXPLAINED: Final = frozenset({Kind.VALIDATION, Kind.INTERNAL})
"""Failures of which the list may tell more, with what the server said."""
# What a server proposes itself is not to be bettered.
_SAID: Final = frozenset({"patch", "suggestion", "actions"})


def explained(
    error: ToolError, tool: str, arguments: Mapping[str, Any], listed: Mapping[str, Any], text: str = ""
) -> ToolError:
    """The error, with what the call breaks of what the server lists. What the server says itself comes first.

    `text` is what the server answered. Where it is the refusal of an SDK's own validator that names this tool, and the
    arguments do break the schema in that place, the tool never ran: unless such a validator may have read them as what
    the schema wants ("5" as 5), and only the tool itself can have found fault.
    """
    if error.origin != "peer" or not listed or not _SAID.isdisjoint(error._given):
        return error
    if error.effect not in (None, Effect.NONE):
        # Something may have been done: that is no time to propose the next call.
        return error
    if tool not in listed:
        if error.code == "UNKNOWN_TOOL" or (error.kind is Kind.VALIDATION and not error.fields):
            meant = unknown_tool(tool, listed)
            return error.replace(kind=meant.kind, code=meant.code, suggestion=meant.suggestion, actions=meant.actions)
        return error
    if error.kind not in EXPLAINED:
        return error
    schema = schema_of(listed[tool])
    if (disowned := own_failure(error, tool, arguments, listed, text)) is not error:
        return disowned
    broken = _broken(arguments, schema) if schema is not None else NO_PROBLEMS
    if error.kind is Kind.INTERNAL:
        return _crashed(error, broken, arguments, schema)
    strange = check_names(arguments, schema) if schema is not None else NO_PROBLEMS
    if not broken and not any(name in error.message for name in strange.names):
        # Many tools ignore what they do not know, so it is not what this is about.
        return error
    found = invalid(broken, strange)
    if not _is_about(error, found, strange):
        # It complains of something else: what the schema does not know, or a call that the tool made itself.
        return error
    changes = _told(found, arguments, schema)
    if error.fields and not any(each.path for each in found.fields):
        # Which name is strange, the server says itself.
        changes["fields"] = error.fields
    is_quoted = bool(error.fields) and error.standing == "quoted" and is_refusal_of(text, tool)
    if broken and schema is not None and is_quoted and not may_take(arguments, schema):
        changes |= {"delivery": "refused", "effect": Effect.NONE}
    return error.replace(**changes)


def _is_about(error: ToolError, found: ToolError, strange: Problems) -> bool:
    """Whether what the words complain of is what is wrong with this very call: what was sent is not missing.

    A tool that has done its work may meet the same validator in a call of its own.
    """
    missing = {each.path: each.rule == "required" for each in found.fields}
    missing = dict.fromkeys([(name,) for name in strange.names], False) | missing
    unwanted = {each.path for each in found.fields if each.rule == "additionalProperties"}
    return all(
        missing[each.path] is (each.rule == "required")
        if each.path in missing and each.rule
        else _covers(each, missing, unwanted)
        for each in error.fields
        if each.path
    )


def _covers(told: FieldError, missing: Mapping[Path, bool], unwanted: Container[Path]) -> bool:
    """Whether a complaint that names another place is about something that is wrong."""
    if told.rule == "additionalProperties":
        # Of a name that an object does not have, some name the object, and some the name in it.
        return told.path[:-1] in unwanted
    if told.rule == "required":
        # The validators of Python say what is missing, and not where.
        return any(is_missing and path[-len(told.path) :] == told.path for path, is_missing in missing.items())
    # It names no rule, or a union of which no branch fits.
    return told.rule in (None, "anyOf") and any(path[: len(told.path)] == told.path for path in missing)


def _told(found: ToolError, arguments: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """What the list tells about a call: what is wrong, what mends it, and what the next one is made of."""
    sent = shown_arguments(arguments, schema)
    return {"fields": found.fields, "patch": found.patch, "suggestion": found.suggestion, "sent": sent}


def _crashed(error: ToolError, broken: Problems, arguments: Mapping[str, Any], schema: Any) -> ToolError:
    """A tool that crashes for want of an argument which its own schema calls required: that is the caller's mistake."""
    if not error.legacy or not broken:
        return error
    found = invalid(broken)
    missing = [each.name for each in found.fields if each.rule == "required"]
    if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", error.message) for name in missing if name):
        return error
    return error.replace(kind=Kind.VALIDATION, code=found.code, **_told(found, arguments, schema))


def misspelt(tool: str, arguments: Mapping[str, Any], listed: Mapping[str, Any]) -> ToolError | None:
    """Why a call had better not be sent: it has an argument that the tool does not know, and lacks the one it means.

    Many servers ignore what they do not know, and do the thing without it: a payment, in another currency.
    """
    schema = schema_of(listed.get(tool))
    if schema is None or not arguments:
        return None
    strange = check_names(arguments, schema)
    if not strange or not any(change.op == "rename" for change in strange.patch):
        return None
    found = invalid(strange, tool=tool)
    return found.replace(**_told(found, arguments, schema), **NEVER_SENT)


def _broken(arguments: Mapping[str, Any], schema: dict[str, Any]) -> Problems:
    try:
        return broken_rules(call_of(schema, arguments), own=False)
    except RecursionError:
        return NO_PROBLEMS
