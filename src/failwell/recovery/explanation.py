"""What a server's own list proves about a call that failed: which tool was meant, which argument is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import IN_DOUBT, ToolError, Traits
from failwell.readers import call_of, check_names, unknown_tool
from failwell.redact import shown_arguments
from failwell.schema import NO_PROBLEMS, Problems, check, invalid

from .attempts import NEVER_SENT, is_in_words
from .tools import schema_of

# What a server proposes itself is not to be bettered.
_PROPOSED: Final = frozenset({"patch", "suggestion", "actions"})
_NO_OPTION: Final = frozenset({"enum", "const"})


def explained(
    error: ToolError, tool: str, arguments: Mapping[str, Any], listed: Mapping[str, Any], traits: Traits
) -> ToolError:
    """The error, with what the call breaks of what the server lists, and the corrected call.

    Unless the tool only reads, only what no server would have taken counts, and no listed value: one that reads "5" as
    5 may have done its work.
    """
    if error.origin != "peer" or not listed or not _PROPOSED.isdisjoint(error._given) or error.effect in IN_DOUBT:
        return error
    is_plain = is_in_words(error) or error.legacy
    if tool not in listed:
        if not is_plain:
            return error
        meant = unknown_tool(tool, listed)
        return error.replace(kind=meant.kind, code=meant.code, suggestion=meant.suggestion, actions=meant.actions)
    schema = schema_of(listed[tool])
    broken = NO_PROBLEMS if schema is None else _broken(arguments, schema)
    if schema is None or not broken:
        return error
    if not traits.repeatable and not broken.refused and _NO_OPTION.isdisjoint(each.rule for each in broken.fields):
        return error
    found = invalid(broken, check_names(arguments, schema))
    if not is_plain and error.fields and _places(error).isdisjoint(_places(found)):
        # The server states that something else is wrong.
        return error
    kind = {"kind": found.kind, "code": found.code} if is_plain else {}
    return error.replace(**kind, **_next_call(found, arguments, schema))


def _places(error: ToolError) -> set[object]:
    return {problem.path[0] for problem in error.fields if problem.path}


def _next_call(found: ToolError, arguments: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """What is wrong, what mends it, and what the next call is made of."""
    sent = shown_arguments(arguments, schema)
    return {"fields": found.fields, "patch": found.patch, "suggestion": found.suggestion, "sent": sent}


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
    return found.replace(**_next_call(found, arguments, schema), **NEVER_SENT)


def _broken(arguments: Mapping[str, Any], schema: dict[str, Any]) -> Problems:
    try:
        return check(call_of(schema, arguments))
    except RecursionError:
        return NO_PROBLEMS
