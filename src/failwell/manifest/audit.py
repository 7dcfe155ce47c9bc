"""What is wrong with a manifest, what differs between two of them, and a table for documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from failwell.model import find, snake

from .entries import Manifest, ToolEntry

# What a dependency can do to a call: a tool that needs it says that it can fail so. Contract 003's flags.
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "db": ("db_error",),
    "llm": ("llm_error", "llm_not_configured"),
    "x_client": ("x_not_configured",),
}
# The dependency that a code of contract 003 speaks of, by how it begins.
_SPEAKS_OF: Final[Mapping[str, str]] = {"db_": "db", "llm_": "llm", "x_": "x_client"}
# Codes that only one profile can send.
BOUND: Final[Mapping[str, str]] = {"policy_": "workflow"}


def problems(manifest: Manifest) -> list[str]:
    """The rules of contract 003 that tie flags, profiles and codes together, where they are broken."""
    social = is_social(manifest.tools)
    found = [f"{tool.name}: {wrong}" for tool in manifest.tools for wrong in _problems(tool, social)]
    names = [tool.name for tool in manifest.tools]
    return found if names == sorted(names) else [*found, "The tools are not sorted by name."]


def _problems(tool: ToolEntry, social: bool) -> Iterable[str]:
    if tool.mutation and tool.annotations.get("readOnlyHint"):
        yield "is a mutation, but has readOnlyHint"
    if not tool.mutation and tool.annotations.get("destructiveHint"):
        yield "is no mutation, but has destructiveHint"
    if not social:
        return
    codes = {snake(code) for code in tool.possible_error_codes}
    for flag in sorted(tool.requires & NEEDED.keys()):
        yield from (f"requires_{flag} without the code {code}" for code in NEEDED[flag] if code not in codes)
    for prefix, profile in BOUND.items():
        bound = [code for code in tool.possible_error_codes if snake(code).startswith(prefix)]
        if bound and tool.profiles and profile not in tool.profiles:
            yield f"{', '.join(bound)} can be sent only in the {profile} profile"
    if unknown := [code for code in tool.possible_error_codes if find(code) is None]:
        yield f"{', '.join(unknown)} in no catalogue"
    if not tool.profiles:
        yield "is in no profile"
    if tool.mutation and not tool.requires & {"x_client", "db"}:
        yield "is a mutation, but needs nothing that could be changed (requires_x_client, requires_db)"


def is_social(tools: Iterable[ToolEntry]) -> bool:
    """Whether the codes are those of contract 003: a closed set, whose flags say what must be in it."""
    known = (find(code, exact=True) for tool in tools for code in tool.possible_error_codes)
    return any(code is not None and code.catalog == "social" for code in known)


def needs(codes: Iterable[str]) -> frozenset[str]:
    """The dependencies without which a tool could not fail with these codes of contract 003."""
    known = [info.name for code in codes if (info := find(snake(code), exact=True)) and info.catalog == "social"]
    return frozenset(flag for prefix, flag in _SPEAKS_OF.items() if any(name.startswith(prefix) for name in known))


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
        changes = [f"-{each}" for each in before if each not in after] + [
            f"+{each}" for each in after if each not in before
        ]
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
