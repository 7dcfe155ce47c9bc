"""Tools whose schemas the APIs of models refuse: one of them can cost a session all the others.

Each rule is one that a provider's API is known to enforce. What cannot be mended without changing what the tool takes
is left out instead, where that was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_UNIONS: Final = ("anyOf", "oneOf", "allOf")
_DEEPEST: Final = 30
_MOST_NAMED: Final = 20


def is_sound(tool: Mapping[str, Any]) -> bool:
    """Whether the APIs of models take a tool."""
    name = tool.get("name")
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and mended(tool) == tool


def mended(tool: Mapping[str, Any]) -> dict[str, Any]:
    """The tool with a schema that they take, which allows at least what it allowed before."""
    schema = tool.get("inputSchema")
    return {**tool, "inputSchema": _object(schema if isinstance(schema, dict) else {})}


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = _node(schema, 0)
    if made.get("type") != "object":
        made = {**made, "type": "object"}
    if any(union in made for union in _UNIONS):
        # None of them may stand at the top; what it would refuse, the server refuses.
        branches = [each for union in _UNIONS for each in made.get(union, ()) if isinstance(each, dict)]
        found: dict[str, Any] = {}
        for branch in branches:
            properties = branch.get("properties")
            found |= properties if isinstance(properties, dict) else {}
        made = {name: value for name, value in made.items() if name not in _UNIONS}
        made["properties"] = {**found, **(made.get("properties") or {})}
    if not isinstance(made.get("properties"), dict):
        made = {**made, "properties": {}}
    required = made.get("required")
    if required is not None:
        listed = required if isinstance(required, list) else []
        names = [name for name in listed if isinstance(name, str) and name in made["properties"]]
        made = {**made, "required": names}
    return made


def _node(node: Any, depth: int) -> Any:
    if not isinstance(node, dict) or depth > _DEEPEST:
        return node
    made = {name: _below(name, value, depth) for name, value in node.items()}
    if made.get("type") == "array" and "items" not in made:
        made["items"] = {}
    for limit, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        # As the fourth draft said it.
        if isinstance(made.get(limit), bool) and made.pop(limit) and bound in made:
            made[limit] = made.pop(bound)
    return made


def _below(name: str, value: Any, depth: int) -> Any:
    if name in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, dict):
        return {key: _node(each, depth + 1) for key, each in value.items()}
    if name in (*_UNIONS, "prefixItems") and isinstance(value, list):
        return [_node(each, depth + 1) for each in value]
    if name in ("items", "additionalProperties", "not") and isinstance(value, dict):
        return _node(value, depth + 1)
    return value


def listed(tools: list[Any], mend: str) -> list[Any]:
    """The tools as they are listed: `fix` mends what can be, `drop` leaves out what the APIs refuse."""
    sound = [tool for tool in tools if isinstance(tool, dict) and is_sound(tool)]
    if mend == "drop":
        return sound
    named = [tool for tool in tools if isinstance(tool, dict) and _NAME.fullmatch(str(tool.get("name")))]
    return [tool if is_sound(tool) else mended(tool) for tool in named]


def left_out(tools: list[Any], made: list[Any]) -> str:
    """Which tools are not listed any more, as they can be told; empty if all are."""
    from failwell.redact import DEFAULT

    kept = {str(tool.get("name")) for tool in made}
    names = [str(tool.get("name")) if isinstance(tool, dict) else str(tool) for tool in tools]
    lost = [DEFAULT.label(name) or repr(name) for name in names if name not in kept]
    return ", ".join(lost[:_MOST_NAMED]) + (f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else "")
