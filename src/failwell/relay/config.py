"""The files in which clients keep their servers: Claude Code, Claude Desktop, Cursor, VS Code.

They differ in where the servers stand, and agree on what one is: a command with its arguments, or an address.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from failwell.schema import nearest

from .jsonc import Node, NotJson, read

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\{input:([^}]+)\}")
_NO_COMMAND: Final = "its command is empty"


class NoServer(Exception):
    """Why a server cannot be taken from a file: one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A server as it stands in a file."""

    name: str
    node: Node
    place: tuple[str, ...] = ()
    """Under which names of the file it stands: two projects may have servers of one name."""

    @property
    def is_stdio(self) -> bool:
        command, kind = self.node.get("command"), self.node.value.get("type", "stdio")
        return command is not None and isinstance(command.value, str) and kind == "stdio"

    @property
    def flaw(self) -> str | None:
        """Why its command cannot be run as it stands; None if it can be, or if it has none."""
        given = self.node.value
        if "command" not in given or given.get("type", "stdio") != "stdio":
            return None
        command, arguments = given["command"], given.get("args", [])
        if not isinstance(command, str):
            return "its command is no text" if given.get("url") is None else None
        if not command.strip():
            return _NO_COMMAND
        if not (isinstance(arguments, list) and all(isinstance(each, str) for each in arguments)):
            return "its args are no list of texts"
        return None if _is_table(given.get("env")) else "its env is no object with a text for each name"

    @property
    def command(self) -> list[str]:
        arguments = self.node.value.get("args")
        return [self.node.value["command"], *map(str, arguments if isinstance(arguments, list) else ())]


@dataclass(frozen=True, slots=True)
class Server:
    """A server that can be started."""

    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    own: Mapping[str, str] = field(default_factory=dict)
    """The variables that stand in the file."""


def parsed(path: str | Path) -> tuple[str, Node]:
    """The text of a file of servers, and what stands in it; it raises `NoServer`."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise NoServer(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise NoServer(f"{path} is no text in UTF-8") from None
    except OSError as problem:
        raise NoServer(f"cannot read {path}: {problem.strerror or problem}") from None
    try:
        node = read(text)
    except NotJson as problem:
        raise NoServer(f"{path} is no JSON: {problem}") from None
    if not isinstance(node.value, dict):
        raise NoServer(f"{path} holds no object with servers")
    return text, node


def entries(node: Node) -> list[Entry]:
    """All servers of a file, in its order."""
    return [
        Entry(name, each, (*place, name))
        for place, servers in _places(node)
        for name, each in servers.members.items()
        if _is_server(each)
    ]


def _places(node: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Where servers stand: `mcpServers` at the top or of a project, `servers` of VS Code, or under its `mcp`."""
    if (servers := node.get("mcpServers")) is not None:
        yield ("mcpServers",), servers
    for above, holder in (((), node), (("mcp",), node.get("mcp"))):
        if holder is not None and (servers := holder.get("servers")) is not None:
            yield (*above, "servers"), servers
    projects = node.get("projects")
    for name, project in projects.members.items() if projects is not None else ():
        if (servers := project.get("mcpServers")) is not None:
            yield ("projects", name, "mcpServers"), servers


def _is_server(node: Node) -> bool:
    return isinstance(node.value, dict) and ("command" in node.value or "url" in node.value or "type" in node.value)


def chosen(path: str, name: str | None) -> Entry:
    """The server of that name, or the only one, as it stands in a file; it raises `NoServer`."""
    node = parsed(path)[1]
    found = entries(node)
    names = [entry.name for entry in found]
    if not found:
        raise NoServer(f"{path} names no server: {_why_none(node)}")
    if name is None and len(found) > 1:
        raise NoServer(f"{path} names several servers, so say which: {', '.join(names)}")
    entry = next((entry for entry in found if name in (None, entry.name)), None)
    if entry is None:
        meant = nearest(str(name), names)
        told = f"did you mean {meant!r}?" if meant else f"there are: {', '.join(names)}"
        raise NoServer(f"{path} names no server {name!r}; {told}")
    if entry.flaw is not None:
        raise NoServer(f"{entry.name} in {path} cannot be started: {entry.flaw}")
    return entry


def _why_none(node: Node) -> str:
    """Why there is no server in a file."""
    found = list(_places(node))
    names = [name for _, servers in found for name in servers.members]
    if names:
        return f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} neither a command nor a url"
    for place, servers in found:
        what = "is empty" if isinstance(servers.value, dict) else "is no object"
        return f"its {place[-1]} {what}"
    return "it has neither mcpServers nor servers"


def server(path: str, name: str | None, environment: Mapping[str, str]) -> Server:
    """The server of that name, or the only one, ready to be started; it raises `NoServer`."""
    entry = chosen(path, name)
    if not entry.is_stdio:
        raise NoServer(f"{entry.name} in {path} is no server on stdio")
    return _startable(entry, environment)


def address(entry: Entry, environment: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Where a server over HTTP is, and the headers that it is sent; it raises `NoServer`."""
    given = entry.node.value
    url, headers = given.get("url"), given.get("headers")
    if not isinstance(url, str):
        raise NoServer(f"{entry.name} has neither a command nor a url")
    if given.get("type") == "sse":
        raise NoServer(f"{entry.name} is a server of the old kind, over SSE, which is not spoken here")
    if not _is_table(headers):
        raise NoServer(f"{entry.name} has headers that are no object with a text for each name")
    named = headers if isinstance(headers, dict) else {}
    sent = {str(key): filled(str(value), environment, entry.name) for key, value in named.items()}
    for key, value in sent.items():
        if not is_header(key, value):
            raise NoServer(f"{entry.name} has a header {key!r} that cannot be sent: {HEADER}")
    return filled(url, environment, entry.name), sent


HEADER: Final = "a header is written as 'Name: value', on one line, in ASCII"


def is_header(name: str, value: str) -> bool:
    """Whether it can be sent as a header."""
    return _HEADER_NAME.fullmatch(name) is not None and value.isascii() and value.isprintable()


def _startable(entry: Entry, environment: Mapping[str, str]) -> Server:
    given = entry.node.value
    env = given.get("env")
    mine = {str(key): str(value) for key, value in env.items()} if isinstance(env, dict) else {}
    known = {**environment, **mine}
    from .adoption import unwrapped_command

    command = unwrapped_command(entry.command)
    cwd = given.get("cwd")
    own = {key: filled(value, environment, entry.name) for key, value in mine.items()}
    words = [filled(part, known, entry.name) for part in command]
    where = filled(cwd, known, entry.name) if isinstance(cwd, str) else None
    if not words[0].strip():
        raise NoServer(f"{entry.name} cannot be started: {_NO_COMMAND}")
    for what, texts in (("command", words), ("cwd", [where or ""]), ("env", [*own, *own.values()])):
        if not all(map(_is_fit, texts)):
            raise NoServer(f"{entry.name} cannot be started: its {what} has a character that no program can be given")
    if not all(name and "=" not in name for name in own):
        raise NoServer(f"{entry.name} cannot be started: its env has a name that is none, empty or with a =")
    return Server(words, {**environment, **own}, where, own)


def _is_table(given: Any) -> bool:
    """Whether it has a text for each name, or something that can be written as one; or is not there."""
    values = list(given.values()) if isinstance(given, dict) else []
    return given is None or (isinstance(given, dict) and not any(isinstance(each, (dict, list)) for each in values))


def _is_fit(text: str) -> bool:
    """Whether the system takes it: no NUL, and no half of a character."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def filled(text: str, known: Mapping[str, str], name: str) -> str:
    """A text with the variables that clients fill in; it raises `NoServer`."""

    def value(found: re.Match[str]) -> str:
        if found[3]:
            raise NoServer(f"{name} needs ${{input:{found[3]}}}, which only VS Code asks for; put it into env instead")
        return known.get(found[1], found[2] or "")

    return _VARIABLE.sub(value, os.path.expanduser(text) if text.startswith("~/") else text)
