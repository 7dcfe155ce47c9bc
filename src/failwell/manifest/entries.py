"""The manifest: one entry per tool, sorted and deterministic, as contract 003 describes it and a little beyond; what is
wrong with one, what differs between two, and a table for documentation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from failwell.model import find, snake
from failwell.readers import from_schema

VERSION: Final = "1.0"
_FLAG: Final = "requires_"
# The hints of the protocol, in the order in which they are written.
HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
# What a dependency can do to a call: a tool that needs it says that it can fail so. Contract 003's flags.
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "db": ("db_error",),
    "llm": ("llm_error", "llm_not_configured"),
    "x_client": ("x_not_configured",),
}
# The dependency that a code of contract 003 speaks of, by how it begins.
_SPEAKS_OF: Final = {"db_": "db", "llm_": "llm", "x_": "x_client"}


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
        optional = {
            "input_schema": self.input_schema,
            "annotations": dict(self.annotations),
            "formats": list(self.formats),
        }
        return {
            "name": self.name,
            "category": self.category,
            "mutation": self.mutation,
            **{f"{_FLAG}{flag}": flag in self.requires for flag in flags},
            "profiles": list(self.profiles),
            "possible_error_codes": list(self.possible_error_codes),
            **{name: value for name, value in optional.items() if value},
        }


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
    if not isinstance(data, dict):
        raise NoManifest("it is not an object")
    schema = json.loads((Path(__file__).parent / "manifest.schema.json").read_text(encoding="utf-8"))
    if (wrong := from_schema(schema, data, tool="manifest")) is not None:
        raise NoManifest("; ".join(f"{each.name}: {each.message}" for each in wrong.fields) or wrong.message)
    entries = tuple(
        ToolEntry(
            name=tool["name"],
            category=tool["category"],
            mutation=tool["mutation"],
            requires=frozenset(key.removeprefix(_FLAG) for key in tool if key.startswith(_FLAG) and tool[key]),
            profiles=tuple(tool["profiles"]),
            possible_error_codes=tuple(tool["possible_error_codes"]),
            input_schema=tool.get("input_schema"),
            annotations=tool.get("annotations", {}),
            formats=tuple(tool.get("formats", ())),
        )
        for tool in data["tools"]
    )
    names = [entry.name for entry in entries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise NoManifest(f"it lists {', '.join(twice)} twice")
    flags = dict.fromkeys(key.removeprefix(_FLAG) for tool in data["tools"] for key in tool if key.startswith(_FLAG))
    common = tuple(data.get("common_error_codes", ()))
    return Manifest(tools=entries, flags=tuple(flags), common_error_codes=common, named=data.get("profile"))


def digest(schema: object) -> str | None:
    """A short hash of a schema, the same for every order of its keys."""
    if not isinstance(schema, Mapping):
        return None
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:16]


def is_social(tools: Iterable[ToolEntry]) -> bool:
    """Whether the codes are those of contract 003: a closed set, whose flags say what must be in it."""
    known = (find(code, exact=True) for tool in tools for code in tool.possible_error_codes)
    return any(code is not None and code.catalog == "social" for code in known)


def needs(codes: Iterable[str]) -> frozenset[str]:
    """The dependencies without which a tool could not fail with these codes of contract 003."""
    known = [info.name for code in codes if (info := find(snake(code), exact=True)) and info.catalog == "social"]
    return frozenset(flag for prefix, flag in _SPEAKS_OF.items() if any(name.startswith(prefix) for name in known))


def problems(manifest: Manifest) -> list[str]:
    """The rules of contract 003 that tie flags, profiles and codes together, where they are broken."""
    social, found = is_social(manifest.tools), list[str]()
    for tool in manifest.tools:
        codes = {code: snake(code) for code in tool.possible_error_codes}
        wrong = {
            "is a mutation, but has readOnlyHint": tool.mutation and tool.annotations.get("readOnlyHint"),
            "is no mutation, but has destructiveHint": not tool.mutation and tool.annotations.get("destructiveHint"),
        }
        if social:
            for flag in sorted(tool.requires & NEEDED.keys()):
                wrong |= {
                    f"requires_{flag} without the code {need}": need not in codes.values() for need in NEEDED[flag]
                }
            bound = [code for code, name in codes.items() if name.startswith("policy_")]
            unknown = [code for code in codes if find(code) is None]
            unbound = bool(bound and tool.profiles) and "workflow" not in tool.profiles
            idle = tool.mutation and not tool.requires & {"x_client", "db"}
            wrong |= {
                f"{', '.join(bound)} can be sent only in the workflow profile": unbound,
                f"{', '.join(unknown)} in no catalogue": bool(unknown),
                "is in no profile": not tool.profiles,
                "is a mutation, but needs nothing that could be changed (requires_x_client, requires_db)": idle,
            }
        found += [f"{tool.name}: {what}" for what, holds in wrong.items() if holds]
    names = [tool.name for tool in manifest.tools]
    return found if names == sorted(names) else [*found, "The tools are not sorted by name."]


def differences(old: Manifest, new: Manifest) -> list[str]:
    """What changed from one manifest to the other, a line each."""
    before, after = ({tool.name: tool for tool in manifest.tools} for manifest in (old, new))
    lines = [f"- {name}: the tool is gone" for name in before if name not in after]
    lines += [f"+ {name}: a new tool" for name in after if name not in before]
    flags = sorted({*old.flags, *new.flags})
    for name in sorted(before.keys() & after.keys()):
        one, other = before[name].to_dict(flags), after[name].to_dict(flags)
        for key in dict.fromkeys((*one, *other)):
            if one.get(key) != other.get(key):
                lines.append(f"~ {name}: {key} {_change(one.get(key), other.get(key))}")
    if old.common_error_codes != new.common_error_codes:
        lines.append(f"~ common_error_codes {_change(list(old.common_error_codes), list(new.common_error_codes))}")
    return lines


def _change(before: object, after: object) -> str:
    if isinstance(before, list) and isinstance(after, list):
        changes = [*(f"-{each}" for each in before if each not in after)]
        changes += [f"+{each}" for each in after if each not in before]
        return " ".join(changes) or "are in another order"
    was, now = (
        "absent" if each is None else str(each).lower() if isinstance(each, bool) else each for each in (before, after)
    )
    return f"was {was}, is {now}"


def markdown(manifest: Manifest) -> str:
    """A table for documentation."""
    head = ["tool", "category", "changes things", "needs", "profiles", "may fail with"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for tool in manifest.tools:
        cells = [
            f"`{tool.name}`",
            tool.category,
            "yes" if tool.mutation else "no",
            ", ".join(sorted(tool.requires)) or "nothing",
            ", ".join(tool.profiles) or "all",
            ", ".join(f"`{code}`" for code in tool.possible_error_codes) or "nothing of its own",
        ]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    if manifest.common_error_codes:
        lines += ["", f"Any tool may also answer {', '.join(f'`{code}`' for code in manifest.common_error_codes)}."]
    return "\n".join(lines) + "\n"
