"""Arguments that a tool does not have: whether to refuse them, to let them pass with a word about it, or to let them
pass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from failwell.model import Nature, ToolError
from failwell.schema import known_names, open_ended, restraint, unknown_names

from .exceptions.chain import chain, is_a, said
from .validation import check_names, from_schema

# What Python says of a function that is called with a name that it does not have.
_UNEXPECTED: Final = re.compile(r" got an unexpected keyword argument '(.+?)'(?:\. Did you mean '.+'\?)?", re.DOTALL)
HARMLESS: Final = frozenset({Nature.READ, Nature.NAMED_READ, Nature.UNMARKED})
"""Of which tools an argument that they do not have may be ignored: of those that are not said to change things."""


def fate(extra: str, arguments: Mapping[str, Any], schema: Mapping[str, Any], nature: Nature) -> str:
    """What becomes of a call with arguments that the tool does not have: `reject`, `warn`, `note` or `allow`.

    Unless the author chose, a call is refused where to ignore one could do harm or hides a mistake: on a tool that
    changes things, where the name is near that of an argument that is missing, and where it promises restraint.
    """
    if extra != "auto":
        return extra
    if schema.get("additionalProperties") is False or nature not in HARMLESS:
        return "reject"
    strange = check_names(arguments, schema)
    if any(change.op == "rename" for change in strange.patch):
        return "reject"
    return "reject" if any(map(restraint, unknown_names(arguments, schema))) else "note"


def strictly(schema: Mapping[str, Any], extra: str) -> Mapping[str, Any]:
    """The schema as it is applied: unknown arguments are against it only if they are refused."""
    if open_ended(schema) or (extra == "auto" and schema.get("additionalProperties") is False):
        return schema
    return {**schema, "properties": known_names(schema), "additionalProperties": extra != "reject"}


def unexpected(
    exc: BaseException, arguments: Mapping[str, Any], schema: Mapping[str, Any] | None, *, tool: str
) -> ToolError | None:
    """What is wrong with a call that was handed on as it came, to a function that does not have all of its names."""
    for each in chain(exc, context=False):
        found = _UNEXPECTED.search(said(each)) if is_a(each, TypeError) else None
        if found is not None and found[1] in unknown_names(arguments, schema or {}):
            return from_schema(strictly(schema or {}, "reject"), arguments, tool=tool)
    return None
