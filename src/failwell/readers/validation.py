"""Arguments that break a tool's schema, are unknown to it, or cannot be read: one error that says what was sent, what
is expected, and what fixes it.

pydantic's errors and those of the validator become the same broken rules, and those the same sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from failwell.model import Action, FieldError, Nature, NotFound, Path, ToolError, shown, text
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
    known_names,
    nearest,
    open_ended,
    pydantic_problems,
    ranked,
    restraint,
    unknown_names,
)
from failwell.schema import check_names as _check_names

from .exceptions.builtin import position_of
from .exceptions.chain import attribute, chain, exc_text, is_a
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


# What Python says of a function that is called with a name that it does not have.
_UNEXPECTED: Final = re.compile(r" got an unexpected keyword argument '(.+?)'(?:\. Did you mean '.+'\?)?", re.DOTALL)
_HARMLESS: Final = frozenset({Nature.READ, Nature.NAMED_READ, Nature.UNMARKED})
"""Of which tools an argument that they do not have may be ignored: of those that are not said to change things."""


def extras_policy(extra: str, arguments: Mapping[str, Any], schema: Mapping[str, Any], nature: Nature) -> str:
    """What becomes of a call with arguments that the tool does not have: `reject`, `warn`, `note` or `allow`.

    Unless the author chose, a call is refused where to ignore one could do harm or hides a mistake: on a tool that
    changes things, where the name is near that of an argument that is missing, and where it promises restraint.
    """
    if extra != "auto":
        return extra
    if schema.get("additionalProperties") is False or nature not in _HARMLESS:
        return "reject"
    strange = check_names(arguments, schema)
    if any(change.op == "rename" for change in strange.patch):
        return "reject"
    return "reject" if any(map(restraint, unknown_names(arguments, schema))) else "note"


def applied_schema(schema: Mapping[str, Any], extra: str) -> Mapping[str, Any]:
    """The schema as it is applied: unknown arguments are against it only if they are refused."""
    if open_ended(schema) or (extra == "auto" and schema.get("additionalProperties") is False):
        return schema
    return {**schema, "properties": known_names(schema), "additionalProperties": extra != "reject"}


def unexpected(
    exc: BaseException, arguments: Mapping[str, Any], schema: Mapping[str, Any] | None, *, tool: str
) -> ToolError | None:
    """What is wrong with a call that was handed on as it came, to a function that does not have all of its names."""
    for each in chain(exc, context=False):
        found = _UNEXPECTED.search(exc_text(each)) if is_a(each, TypeError) else None
        if found is not None and found[1] in unknown_names(arguments, schema or {}):
            return from_schema(applied_schema(schema or {}, "reject"), arguments, tool=tool)
    return None


def invalid_json(exc: BaseException, arguments: Mapping[str, Any]) -> ToolError | None:
    """What is wrong with an argument that was to be JSON and is none, if that is what `exc` is about."""
    for each in chain(exc, context=False):
        if not is_a(each, json.JSONDecodeError):
            continue
        for name, value in islice(arguments.items(), _MOST):
            if isinstance(name, str) and isinstance(value, str) and attribute(each, "doc") == value:
                words = f"must be JSON ({position_of(each)})"  # type: ignore[arg-type]
                return ToolError(words, code="VALIDATION_ERROR", fields=[FieldError((name,), words)], standing="quoted")
    return None


_MOST: Final = 50


# Without the call's arguments nobody knows whose data were rejected, and the text of these quotes them.
SHIPPED.maps(
    "pydantic_core._pydantic_core.ValidationError",
    "pydantic.v1.error_wrappers.ValidationError",
    "jsonschema.exceptions.ValidationError",
)(broken)
