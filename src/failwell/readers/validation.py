"""Arguments that break a tool's schema: one error that says what was sent, what is expected, and what fixes it.

pydantic's errors and those of the validator become the same broken rules, and those the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from failwell.model import Action, NotFound, Path, ToolError, shown, text
from failwell.redact import Secrets
from failwell.schema import (
    LONGEST_NAME,
    MOST_NAMES,
    MOST_READ,
    BrokenRule,
    CheckedCall,
    Problems,
    Schema,
    check,
    cut,
    explain,
    invalid,
    nearest,
    pydantic_problems,
    ranked,
)
from failwell.schema import check_names as _check_names

from .exceptions.exception_table import SHIPPED, broken

Arguments = Mapping[str, Any]


def call_of(schema: Schema | None, arguments: Arguments | None) -> CheckedCall:
    """A call to be looked at, with what is secret of it."""
    return CheckedCall(schema, arguments, Secrets.of(schema))


def from_pydantic(
    exc: object,
    *,
    tool: str | None = None,
    action: str | None = None,
    schema: Schema | None = None,
    arguments: Arguments | None = None,
    at: Path = (),
) -> ToolError:
    """The error for a pydantic ValidationError about the arguments, or about the part of them that lies `at` a path."""
    error = invalid(pydantic_problems(exc, call_of(schema, arguments), at), tool=tool, action=action)
    error.__cause__ = exc if isinstance(exc, BaseException) else None
    return error


def from_schema(schema: Schema, arguments: Arguments, *, tool: str) -> ToolError | None:
    """The error for what the arguments break of a schema of our own; None if nothing, or nobody can tell.

    A name that the schema does not have, and does not forbid, is no mistake by itself, but it is one where it stands
    for an argument that is missing.
    """
    try:
        found = check(call_of(schema, arguments))
    except RecursionError:
        return ToolError("The arguments are nested too deeply.", code="VALIDATION_ERROR", tool=tool)
    if not found:
        return None
    strange = check_names(arguments, schema)
    is_misspelt = any(change.op == "rename" for change in strange.patch)
    return invalid(found, *([strange] if is_misspelt else []), tool=tool)


def unknown_arguments(
    names: Iterable[str],
    known: Iterable[str],
    *,
    tool: str | None = None,
    action: str | None = None,
    arguments: Arguments | None = None,
    schema: Schema | None = None,
) -> ToolError:
    """The error for arguments that the tool does not have.

    >>> unknown_arguments(["limt"], ["limit", "offset"]).suggestion.partition("?")[0]
    "Did you mean 'limit' instead of 'limt'"
    """
    node: Schema = {"properties": {name: {} for name in islice(known, MOST_READ)}}
    broken = BrokenRule("additionalProperties", (), limit=list(islice(names, MOST_READ)), node=node)
    return invalid(explain([broken], call_of(schema, arguments)), tool=tool, action=action)


def check_names(arguments: Arguments, schema: Schema) -> Problems:
    """The arguments that the schema does not have; nothing, quickly, when it has them all.

    A schema that says nothing about names, or allows others, allows them all.
    """
    return _check_names(call_of(schema, arguments))


def unknown_tool(name: str, known: Iterable[str]) -> ToolError:
    """The error for a tool that does not exist, with the names that are near it, or all when they are few.

    >>> unknown_tool("get_wether", ["get_weather", "list_cities"]).suggestion
    "Did you mean 'get_weather'?"
    """
    names = [text(each) for each in islice(known, 5_000)]
    asked = cut(name, LONGEST_NAME)
    meant = nearest(asked, names)
    if meant:
        return NotFound(
            f"There is no tool {shown(asked)}.",
            code="UNKNOWN_TOOL",
            suggestion=f"Did you mean {shown(meant)}?",
            actions=[Action(meant)],
        )
    # No orders: that a tool exists is no reason to call it.
    few = names if len(names) <= 10 else ranked(asked, names, 0.4, MOST_NAMES)
    listed = ", ".join(shown(each) for each in few)
    return NotFound(
        f"There is no tool {shown(asked)}.",
        code="UNKNOWN_TOOL",
        suggestion=(
            f"Choose one of the tools with a name like it: {listed}."
            if few and len(names) > 10
            else f"Choose one of the tools: {listed}."
            if few
            else "List the tools and choose one of them."
            if names
            else "The server has no tools: tell the user."
        ),
    )


@SHIPPED.maps(
    "pydantic_core._pydantic_core.ValidationError",
    "pydantic.v1.error_wrappers.ValidationError",
    "jsonschema.exceptions.ValidationError",
)
def unanchored(exc: Exception) -> ToolError:
    """Without the call's arguments nobody knows whose data were rejected, and its text quotes them."""
    return broken(exc)
