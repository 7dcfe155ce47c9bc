"""From a server to its manifest: what its tools declare, what their source says, and what was seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from failwell.formats import GATES
from failwell.model import COMMON_CODES, Declared, upper_snake
from failwell.observe import CallEvent
from failwell.readers import DEFAULT, Table
from failwell.server import (
    ROUTING,
    declared_of,
    functions_of,
    gate_of,
    group_of,
    installed_on,
    read_declared,
    rule_codes,
)

from .entries import HINTS, NEEDED, Manifest, ToolEntry, digest, is_social, needs
from .source import codes_in

Seen = Mapping[str, Iterable[str]]
_MOST_PAGES: Final = 100


class ListedTool(NamedTuple):
    """A tool as a server lists it, and what is known of what stands behind it."""

    tool: Any
    said: Declared
    functions: tuple[Callable[..., Any], ...] = ()
    ruled: tuple[str, ...] = ()
    """The codes of the rules it stands under, and of a group's routing."""


class ServerTools(NamedTuple):
    """A server's tools, and how its failures leave it."""

    tools: tuple[ListedTool, ...]
    table: Table = DEFAULT
    format: str | None = None
    profile: str | None = None
    """The profile of contract 003 that its envelope has."""
    common: tuple[str, ...] = ()
    """The codes that any of them may answer."""


async def of_server(server: Any) -> ServerTools:
    """The tools of a server object, with their functions."""
    listed = await of_url(getattr(server, "_mcp_server", server))
    manager, found = getattr(server, "_tool_manager", None), []
    for tool, said, *_ in listed.tools:
        if manager is not None:
            kept = manager.get_tool(tool.name)
        else:
            kept = await server.get_tool(tool.name) if hasattr(server, "_mcp_server") else None
        function = getattr(kept, "fn", None)
        functions = functions_of(function)
        codes = {*rule_codes(functions), *(ROUTING if group_of(function) is not None else ())}
        said = declared_of(function) if function is not None else said
        found.append(ListedTool(tool, said, functions, tuple(sorted(codes))))
    boundary = installed_on(server)
    if boundary is None:
        return ServerTools(tuple(found))
    options = boundary.options
    profile = getattr(options.format, "profile", None)
    return ServerTools(tuple(found), options.table, options.form, profile, boundary.renderer.common_codes())


async def of_command(command: Sequence[str]) -> ServerTools:
    """The tools of a server that a command starts on stdio."""
    return await of_url(stdio_client(StdioServerParameters(command=command[0], args=list(command[1:]))))


async def of_url(target: Any) -> ServerTools:
    """The tools of a server over HTTP, or of whatever else the SDK's client takes."""
    tools, cursor = [], None
    async with Client(target) as client:
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += [ListedTool(tool, read_declared(tool)) for tool in page.tools]
            if not (cursor := page.next_cursor):
                break
    return ServerTools(tuple(tools))


def build(sources: ServerTools | list[ServerTools], seen: Seen | None = None) -> Manifest:
    """The manifest of what was listed, by one server or by one for each profile. Its notes say what is wrong."""
    sources = [sources] if isinstance(sources, ServerTools) else sources
    seen = seen or {}
    entries: dict[str, ToolEntry] = {}
    undeclared: list[str] = []
    notes: list[str] = []
    for source in sources:
        rows = {code for row in source.table.own_rows() for code in codes_in(row, source.table)}
        for listed in source.tools:
            entry, missing, idle = _entry(listed, source, seen.get(listed.tool.name), rows)
            undeclared += missing
            notes += idle
            before = entries.get(entry.name, entry)
            entry = replace(entry, profiles=tuple(sorted({*before.profiles, *entry.profiles})))
            entries[entry.name] = entry
            if entry != replace(before, profiles=entry.profiles):
                notes.append(f"{entry.name}: is not the same in each profile")
    flags = {flag for entry in entries.values() for flag in entry.requires}
    if is_social(entries.values()):
        # Contract 003 has its three flags in every entry, whether a tool needs anything or not.
        flags.update(NEEDED)
    notes += [f"{name}: seen, but not listed" for name in seen if name not in entries and not name.startswith("(")]
    return Manifest(
        tools=tuple(entries[name] for name in sorted(entries)),
        flags=tuple(sorted(flags)),
        common_error_codes=tuple(sorted({code for source in sources for code in source.common})),
        undeclared=tuple(dict.fromkeys(undeclared)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _entry(
    listed: ListedTool, source: ServerTools, seen: Iterable[str] | None, rows: set[str]
) -> tuple[ToolEntry, list[str], list[str]]:
    tool, said = listed.tool, listed.said
    ruled = set(listed.ruled)
    found = {code for function in listed.functions for code in codes_in(function, source.table)} | ruled
    declared, observed = set(said.codes), set(seen or ()) - COMMON_CODES
    codes = (declared or found) | observed | ruled
    shown = {} if tool.annotations is None else tool.annotations.model_dump(by_alias=True, exclude_none=True)
    hints = {name: shown[name] for name in HINTS if isinstance(shown.get(name), bool)}
    mutation = said.mutation if said.mutation is not None else not hints.get("readOnlyHint", False)
    gated = gate_of(tool.input_schema, {}) is not None
    entry = ToolEntry(
        name=tool.name,
        category=said.category or ("write" if mutation else "read"),
        mutation=mutation,
        requires=frozenset(said.requires) | needs(codes),
        profiles=tuple(sorted(said.profiles)) or ((source.profile,) if source.profile is not None else ()),
        possible_error_codes=tuple(sorted(codes)),
        input_schema=digest(tool.input_schema),
        annotations=hints,
        formats=GATES if gated else (source.format,) if source.format is not None else (),
    )
    if not declared:
        return entry, [], []
    known = {upper_snake(code) for code in declared} | COMMON_CODES
    undeclared = [
        f"{tool.name}: {code} is {where}, but not declared"
        for where, codes in (("in the source", found - ruled), ("seen", observed - ruled))
        for code in sorted(codes)
        if upper_snake(code) not in known
    ]
    notes: list[str] = []
    # Reading does not find everything, so that only a tool that was watched can be said never to fail so; and which
    # exceptions reach a row of the author's own table is not to be seen in the source.
    if seen is not None and listed.functions:
        known = {upper_snake(code) for code in found | observed | rows} | COMMON_CODES
        idle = sorted(code for code in declared if upper_snake(code) not in known)
        notes = [f"{tool.name}: {code} is declared, but neither in the source nor seen" for code in idle]
    return entry, undeclared, notes


class Recorder:
    """A hook that writes down which tool sent which code, each pair once.

    `install(server, hooks=[Recorder("seen.jsonl")])`, and later `failwell manifest TARGET --seen seen.jsonl`.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._known: set[tuple[str, str]] = set()

    def __call__(self, event: CallEvent) -> None:
        code = event.error.code if event.error is not None else None
        if code is None or (event.tool, code) in self._known:
            return
        self._known.add((event.tool, code))
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"tool": event.tool, "code": code}) + "\n")


def read_seen(path: str | Path) -> dict[str, list[str]]:
    """What a Recorder wrote down, by tool; lines that are something else are passed over."""
    seen: dict[str, set[str]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
            seen.setdefault(str(row["tool"]), set()).add(str(row["code"]))
        except (ValueError, KeyError, TypeError):
            continue
    return {tool: sorted(codes) for tool, codes in sorted(seen.items())}
