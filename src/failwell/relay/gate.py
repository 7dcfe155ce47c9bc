"""What is not sent at all: arguments that the tool's own schema refuses, and tools that do not exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failwell.model import Kind, Patch, ToolError, apply_patch
from failwell.readers import call_of, unknown_tool
from failwell.recovery import NEVER_SENT, schema_of
from failwell.schema import NO_PROBLEMS, Checkers, Problems, check, check_names, invalid, known_names, normal, value_at

from .remembered_tools import RememberedTools


class Gate:
    """Whether a call is sent. Where anybody could take it, it is."""

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._checkers = Checkers()
        self._given_up: set[str] = set()
        """Tools whose own answers contradict their schemas."""

    def refuses(self, tool: str, arguments: Mapping[str, Any], listing: RememberedTools) -> ToolError | None:
        """Why a call is not sent, or None."""
        if self._mode == "off" or not listing.is_fresh:
            return None
        if tool not in listing.known:
            return self._unknown(tool, listing)
        schema = schema_of(listing.known[tool])
        if schema is None or tool in self._given_up:
            return None
        try:
            problems = self._problems(arguments, schema)
            meant, left = arguments, problems
            while self._mode == "auto" and left and (respelt := _respelt(meant, left)) is not meant:
                meant, left = respelt, self._problems(respelt, schema)
            problems = problems if left else ()
        except RecursionError:
            # Where none can follow, it is the server's to say.
            return None
        return invalid(*problems, tool=tool).replace(**NEVER_SENT) if problems else None

    def _unknown(self, tool: str, listing: RememberedTools) -> ToolError | None:
        found = unknown_tool(tool, listing.known)
        # Some servers take calls of tools that they do not list; but none whose name is that of another one misspelt.
        return found.replace(**NEVER_SENT) if found.actions or self._mode == "on" else None

    def _problems(self, arguments: Mapping[str, Any], schema: dict[str, Any]) -> tuple[Problems, ...]:
        """What is wrong with a call; in the mode `auto` nothing, unless any server refuses it."""
        call = call_of(schema, arguments)
        broken = NO_PROBLEMS if self._checkers(schema).fits(arguments) else check(call)
        found = tuple(each for each in (broken, check_names(call)) if each)
        return found if self._mode == "on" or any(each.refused for each in found) else ()

    def heard(self, error: ToolError, tool: str, listing: RememberedTools) -> None:
        """A refusal of the server itself: if it asks for what its schema does not have, the schema is not to be
        believed."""
        if self._mode != "auto" or error.kind is not Kind.VALIDATION or not error.fields:
            return
        schema = schema_of(listing.known.get(tool))
        known = known_names(schema)
        for problem in error.fields:
            name = problem.path[0] if problem.path else None
            is_unwanted = problem.rule == "additionalProperties"
            if is_unwanted and problem.message.startswith("Unrecognized key"):
                # Of names inside the argument, which is not unwanted itself.
                continue
            if isinstance(name, str) and schema is not None and (name in known) is is_unwanted:
                self._given_up.add(tool)


def _respelt(arguments: Mapping[str, Any], problems: tuple[Problems, ...]) -> Mapping[str, Any]:
    """The arguments with the required names as the schema spells them: a server takes both spellings, or misses one."""
    changes = [
        Patch("rename", (*field.path[:-1], name), to=str(field.path[-1]))
        for each in problems
        for field in each.fields
        if field.rule == "required" and field.path and isinstance(holder := value_at(arguments, field.path[:-1]), dict)
        for name in holder
        if normal(name) == normal(str(field.path[-1]))
    ]
    return apply_patch(arguments, changes) if changes else arguments
