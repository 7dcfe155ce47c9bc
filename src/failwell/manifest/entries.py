"""The manifest: one entry per tool, sorted and deterministic, as contract 003 describes it and a little beyond."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

VERSION: Final = "1.0"
_FLAG: Final = "requires_"
# The hints of the protocol, in the order in which they are written.
HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class NoManifest(ValueError):
    """What was read is no manifest; the text says where it goes wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """One tool: what it is, and how it may fail."""

    name: str
    category: str = "write"
    mutation: bool = True
    requires: frozenset[str] = frozenset()
    profiles: tuple[str, ...] = ()
    possible_error_codes: tuple[str, ...] = ()
    input_schema: str | None = None
    """A hash: a manifest says that a schema changed, not how."""
    annotations: Mapping[str, bool] = field(default_factory=dict)
    formats: tuple[str, ...] = ()

    def to_dict(self, flags: Iterable[str]) -> dict[str, Any]:
        """The entry with every flag of the manifest, since contract 003 wants to see those that are false, too."""
        wire: dict[str, Any] = {"name": self.name, "category": self.category, "mutation": self.mutation}
        wire |= {f"{_FLAG}{flag}": flag in self.requires for flag in flags}
        wire |= {"profiles": list(self.profiles), "possible_error_codes": list(self.possible_error_codes)}
        if self.input_schema is not None:
            wire["input_schema"] = self.input_schema
        if self.annotations:
            wire["annotations"] = dict(self.annotations)
        if self.formats:
            wire["formats"] = list(self.formats)
        return wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The tools of a server, by name."""

    tools: tuple[ToolEntry, ...] = ()
    flags: tuple[str, ...] = ()
    common_error_codes: tuple[str, ...] = ()
    named: str | None = None
    """The profile it is of, if it is of one only."""
    undeclared: tuple[str, ...] = ()
    """Codes that a tool which declares its codes may send beside them. Not part of the file."""
    notes: tuple[str, ...] = ()
    """Other disagreements of what is declared, what the source says and what was seen. Not part of the file."""

    def profile(self, name: str) -> Manifest:
        """Only the tools of one profile."""
        kept = tuple(tool for tool in self.tools if name in tool.profiles)
        return replace(self, tools=kept, named=name)

    def to_dict(self) -> dict[str, Any]:
        wire: dict[str, Any] = {"version": VERSION}
        if self.named is not None:
            wire |= {"profile": self.named, "tool_count": len(self.tools)}
        if self.common_error_codes:
            wire["common_error_codes"] = list(self.common_error_codes)
        wire["tools"] = [tool.to_dict(self.flags) for tool in sorted(self.tools, key=lambda tool: tool.name)]
        return wire

    def to_json(self) -> str:
        """The file: the same bytes for the same tools."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n"


def load(text: str) -> Manifest:
    """A manifest out of its JSON; NoManifest says what is wrong with any other text."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise NoManifest(f"it is not JSON: {problem}") from None
    tools = data.get("tools") if isinstance(data, dict) else None
    if not isinstance(tools, list):
        raise NoManifest("it has no list of tools")
    if not str(data.get("version", "")).startswith("1."):
        raise NoManifest(f"its version is {data.get('version')!r}, and this reads 1.x")
    entries = tuple(_entry(tool, index) for index, tool in enumerate(tools))
    names = [entry.name for entry in entries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise NoManifest(f"it lists {', '.join(twice)} twice")
    seen = dict.fromkeys(key.removeprefix(_FLAG) for tool in tools for key in tool if key.startswith(_FLAG))
    common, named = _texts(data.get("common_error_codes", []), "it"), data.get("profile")
    named = None if named is None else str(named)
    return Manifest(tools=entries, flags=tuple(seen), common_error_codes=common, named=named)


def _entry(data: Any, index: int) -> ToolEntry:
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise NoManifest(f"tool {index} has no name")
    name = data["name"]
    for key, kind in (("category", str), ("mutation", bool), ("profiles", list), ("possible_error_codes", list)):
        if not isinstance(data.get(key), kind):
            raise NoManifest(f"{name} has no {key}")
    flags = {key: value for key, value in data.items() if key.startswith(_FLAG)}
    if any(not isinstance(value, bool) for value in flags.values()):
        raise NoManifest(f"{name} has a {_FLAG} flag that is neither true nor false")
    annotations = data.get("annotations", {})
    return ToolEntry(
        name=name,
        category=data["category"],
        mutation=data["mutation"],
        requires=frozenset(key.removeprefix(_FLAG) for key, value in flags.items() if value),
        profiles=_texts(data["profiles"], name),
        possible_error_codes=_texts(data["possible_error_codes"], name),
        input_schema=data.get("input_schema"),
        annotations=annotations if isinstance(annotations, dict) else {},
        formats=_texts(data.get("formats", []), name),
    )


def _texts(values: Any, name: str) -> tuple[str, ...]:
    if not isinstance(values, list) or any(not isinstance(value, str) for value in values):
        raise NoManifest(f"{name} has a list that is not one of texts")
    return tuple(values)


def digest(schema: object) -> str | None:
    """A short hash of a schema, the same for every order of its keys."""
    if not isinstance(schema, Mapping):
        return None
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:16]
