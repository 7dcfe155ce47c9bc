"""Arguments that a tool does not have: refused, or let pass with a word about it, or let pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from failwell.formats import keys
from failwell.model import Nature, snake
from failwell.readers import check_names, unknown_arguments
from failwell.schema import open_ended, properties_of

from .served_call import ServedCall

if TYPE_CHECKING:
    from .facts import Facts

IGNORED: Final = keys.IGNORED_ARGUMENTS
"""The key in the `_meta` of a result under which stand the arguments that the tool does not have."""

# Whoever sends one of these counts on less being done than without it.
_RESTRAINT: Final = frozenset(
    """dry dryrun simulate simulation preview confirm confirmed confirmation limit max maximum only safe readonly test
    validate draft noop rollback until before""".split()
)
_HARMLESS: Final = frozenset({Nature.READ, Nature.NAMED_READ, Nature.UNMARKED})


def fate(extra: str, arguments: Mapping[str, Any], schema: Mapping[str, Any], nature: Nature) -> str:
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
    unknown = unknown_names(arguments, properties_of(schema))
    return "note" if all(_RESTRAINT.isdisjoint(snake(name[:200]).split("_")) for name in unknown) else "reject"


def strictly(schema: Mapping[str, Any], extra: str) -> Mapping[str, Any]:
    """The schema as it is applied: unknown arguments are against it only if they are refused."""
    if open_ended(schema) or (extra == "auto" and schema.get("additionalProperties") is False):
        return schema
    return {**schema, "additionalProperties": extra != "reject"}


def unknown_names(arguments: Mapping[str, Any], known: Collection[str]) -> list[str]:
    return [name for name in arguments if name not in known]


def note(call: ServedCall, unknown: list[str], tool: Facts, extra: str) -> None:
    """A word about the arguments that were ignored: beside the result if the author wants it, else in its `_meta`."""
    if not unknown or extra not in ("warn", "note"):
        return
    if extra == "note":
        call.ignored = [name[:_LONGEST_NAME] for name in unknown[:_MOST_NAMES]]
        return
    known = list(properties_of(tool.schema))
    remark = unknown_arguments(unknown, known, tool=tool.name, schema=tool.schema)
    names = ", ".join(repr(name[:50]) for name in unknown[:5])
    remark = remark.replace(
        message=f"These arguments do not exist and were ignored: {names}.", severity="warning", suggestion=None
    )
    call.remarks.append(remark)


_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 100
