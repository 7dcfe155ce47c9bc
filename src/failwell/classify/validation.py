"""Arguments that break a tool's schema: one error that says what was sent, what is expected, and what fixes it.

pydantic's errors and those of jsonschema become the same broken rules, and those the same sentences. Neither package
is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from failwell.formats.xml_writing import shown
from failwell.model.error import NotFound, ToolError
from failwell.model.parts import Action, Path
from failwell.model.plain import text

from . import builtin
from .jsonschema_errors import jsonschema_problems
from .locations import anchored
from .nearest import nearest, ranked
from .problems import (
    LONGEST_NAME,
    MOST_NAMES,
    MOST_PROBLEMS,
    MOST_READ,
    NO_PROBLEMS,
    Broken,
    Call,
    Problems,
    cut,
    invalid,
    told,
)
from .pydantic_errors import pydantic_problems
from .schemas import Schema
from .table import SHIPPED


def from_pydantic(
    exc: object,
    *,
    tool: str | None = None,
    action: str | None = None,
    schema: Schema | None = None,
    arguments: Mapping[str, Any] | None = None,
    at: Path = (),
) -> ToolError:
    """The error for a pydantic ValidationError about the arguments, or about the part of them that lies `at` a path."""
    error = invalid(pydantic_problems(exc, schema=schema, arguments=arguments, at=at), tool=tool, action=action)
    error.__cause__ = exc if isinstance(exc, BaseException) else None
    return error


def from_jsonschema(
    errors: object,
    *,
    tool: str | None = None,
    action: str | None = None,
    schema: Schema | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> ToolError:
    """The error for one or more of jsonschema's ValidationErrors."""
    return invalid(jsonschema_problems(errors, schema=schema, arguments=arguments), tool=tool, action=action)


def unknown_arguments(
    names: Iterable[str],
    known: Iterable[str],
    *,
    tool: str | None = None,
    action: str | None = None,
    arguments: Mapping[str, Any] | None = None,
    schema: Schema | None = None,
) -> ToolError:
    """The error for arguments that the tool does not have.

    >>> unknown_arguments(["limt"], ["limit", "offset"]).suggestion.partition("?")[0]
    "Did you mean 'limit' instead of 'limt'"
    """
    node: Schema = {"properties": {name: {} for name in islice(known, MOST_READ)}}
    broken = Broken("additionalProperties", (), limit=list(islice(names, MOST_READ)), node=node)
    return invalid(told([broken], Call(schema, arguments)), tool=tool, action=action)


def check_names(arguments: Mapping[str, Any], schema: Schema) -> Problems:
    """The arguments that the schema does not have; nothing, quickly, when it has them all.

    A schema that says nothing about names, or allows others, allows them all.
    """
    try:
        properties = schema["properties"]
        if arguments.keys() <= properties.keys():
            return NO_PROBLEMS
        if not _OPEN.isdisjoint(schema) or schema.get("additionalProperties") not in (None, False):
            return NO_PROBLEMS
        unknown = [name for name in arguments if name not in properties]
    except (KeyError, TypeError, AttributeError):
        return NO_PROBLEMS
    return told([Broken("additionalProperties", (), limit=unknown, node=schema)], Call(schema, arguments))


# With one of these, the names that are allowed stand elsewhere too.
_OPEN: Final = frozenset(
    ["patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"]
)


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
            f"The tools with a name like it are {listed}."
            if few and len(names) > 10
            else f"The tools are {listed}."
            if few
            else "List the tools and choose one of them."
            if names
            else "The server has no tools."
        ),
    )


@SHIPPED.maps(
    "pydantic_core._pydantic_core.ValidationError",
    "pydantic.v1.error_wrappers.ValidationError",
    "jsonschema.exceptions.ValidationError",
)
def unanchored(exc: Exception) -> ToolError:
    """Without the call's arguments nobody knows whose data were rejected, and its text quotes them."""
    return builtin.broken(exc)


__all__ = [
    "MOST_PROBLEMS",
    "NO_PROBLEMS",
    "Problems",
    "anchored",
    "check_names",
    "from_jsonschema",
    "from_pydantic",
    "invalid",
    "jsonschema_problems",
    "pydantic_problems",
    "unknown_arguments",
    "unknown_tool",
]
