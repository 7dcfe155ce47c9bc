"""What is not sent at all: arguments that the tool's own schema refuses, and tools that do not exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from failwell.model import Kind, Nature, ToolError
from failwell.readers import HARMLESS, call_of, check_names, fate, unknown_tool
from failwell.recovery import NEVER_SENT, schema_of
from failwell.schema import (
    NO_PROBLEMS,
    Checkers,
    Problems,
    broken_rules,
    has_names,
    invalid,
    is_hopeless,
    known_names,
    respelt,
    without_unheeded,
)

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
        if self._mode == "off" or not listing.is_fresh or listing.is_recalled:
            return None
        if tool not in listing.known:
            return self._unknown(tool, listing)
        schema = schema_of(listing.known[tool])
        if schema is None or tool in self._given_up:
            return None
        try:
            problems = self._problems(tool, arguments, schema, listing)
            if problems and self._mode == "auto":
                meant = _as_taken(arguments, schema, listing.tools.traits(tool).nature)
                problems = problems if meant is arguments or self._problems(tool, meant, schema, listing) else ()
        except (ImportError, RecursionError):
            # Without a validator, or where none can follow, it is the server's to say.
            return None
        return invalid(*problems, tool=tool).replace(**NEVER_SENT) if problems else None

    def _unknown(self, tool: str, listing: RememberedTools) -> ToolError | None:
        found = unknown_tool(tool, listing.known)
        # Some servers take calls of tools that they do not list; but none whose name is that of another one misspelt.
        return found.replace(**NEVER_SENT) if found.actions or self._mode == "on" else None

    def _problems(
        self, tool: str, arguments: Mapping[str, Any], schema: dict[str, Any], listing: RememberedTools
    ) -> tuple[Problems, ...]:
        broken = NO_PROBLEMS
        if not self._checkers(schema).fits(arguments):
            broken = broken_rules(call_of(schema, arguments), own=False)
            if self._mode == "auto" and _may_be_taken(broken, arguments, schema):
                broken = NO_PROBLEMS
        strange = NO_PROBLEMS
        if not has_names(arguments, schema):
            nature = listing.tools.traits(tool).nature
            if fate("auto" if self._mode == "auto" else "reject", arguments, schema, nature) == "reject":
                strange = check_names(arguments, schema)
        return tuple(each for each in (broken, strange) if each)

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


def _as_taken(arguments: Mapping[str, Any], schema: dict[str, Any], nature: Nature) -> Mapping[str, Any]:
    """The arguments as a lenient server may understand them; themselves, if that is no other way."""
    # By another spelling nothing can be done unseen: the server takes it, or misses the name that it lists.
    meant: Mapping[str, Any] = respelt(arguments, schema)
    return without_unheeded(meant, schema) if nature in HARMLESS else meant


def _may_be_taken(broken: Problems, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Whether a server may take it all the same: many are more lenient than what they list."""
    fields = invalid(broken).fields if broken else ()
    return bool(fields) and not any(is_hopeless(problem, arguments, schema) for problem in fields)
