"""Arguments that a tool does not have: refused, or dropped with a word about it, or dropped."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from failwell.classify.validation import unknown_arguments

from .call import Call

if TYPE_CHECKING:
    from .facts import Facts

# Keywords by which a schema gets properties that are not under `properties`.
_ELSEWHERE: Final = frozenset(
    {"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"}
)


def open_ended(schema: object) -> bool:
    """Whether the schema does not say which arguments there are."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        return True
    more = schema.get("additionalProperties")
    return more is True or isinstance(more, Mapping) or not _ELSEWHERE.isdisjoint(schema)


def strictly(schema: Mapping[str, Any], extra: str) -> Mapping[str, Any]:
    """The schema as it is applied: unknown arguments are against it only if they are refused."""
    return schema if open_ended(schema) else {**schema, "additionalProperties": extra != "reject"}


def unknown_names(arguments: Mapping[str, Any], known: Collection[str]) -> list[str]:
    return [name for name in arguments if name not in known]


def note(call: Call, unknown: list[str], tool: Facts) -> None:
    """A word beside the result about the arguments that were dropped."""
    if not unknown:
        return
    known = list((tool.schema or {}).get("properties", ()))
    remark = unknown_arguments(unknown, known, tool=tool.name, schema=tool.schema)
    names = ", ".join(repr(name[:50]) for name in unknown[:5])
    remark = remark.replace(
        message=f"These arguments do not exist and were ignored: {names}.", severity="warning", suggestion=None
    )
    call.remarks.append(remark)
