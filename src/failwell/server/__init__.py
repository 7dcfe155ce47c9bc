"""One line for server authors: every failure leaves structured, safe and actionable.

    server = failwell.server.install(MCPServer("shop"))

`install` knows `mcp.server.MCPServer`, which was `mcp.server.fastmcp.FastMCP` in version 1 of the SDK, the low-level
`mcp` `Server`, and FastMCP; anything else uses `tool_errors`.
"""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, Unpack

from failwell.idempotency import open_store
from failwell.packages import bring, generation
from failwell.schema import nearest

from .decorator import tool_errors
from .groups.group import Group
from .options import PROTOCOL_NUMBERS as PROTOCOL_NUMBERS
from .options import Envelope, Given
from .options import Options as Options
from .tool_rules import Rule, deprecated, limit, rate

if TYPE_CHECKING:
    from failwell.observe import ToolStats

    from .boundary import Boundary
    from .replies import progress, reply, tool_result

S = TypeVar("S")


class _Kind(NamedTuple):
    """A kind of server: the extra that it needs, and the adapter for each generation of its package."""

    extra: str
    adapters: dict[int, str]


# By name, so that nothing is imported that the server did not import itself.
_KINDS: Final = {
    "fastmcp.server.server.FastMCP": _Kind("fastmcp", {2: "fastmcp2", 3: "fastmcp2.install3", 4: "fastmcp"}),
    "mcp.server.mcpserver.server.MCPServer": _Kind("mcp", {2: "mcp2.install_mcpserver"}),
    "mcp.server.fastmcp.server.FastMCP": _Kind("mcp", {1: "mcp1.install_fastmcp"}),
    "mcp.server.lowlevel.server.Server": _Kind("mcp", {1: "mcp1.install_lowlevel", 2: "mcp2.install_lowlevel"}),
}
_MARK: Final = "_failwell_installed"
# Where the frameworks keep the low-level server that they are built on.
_BELOW: Final = ("_mcp_server", "_lowlevel_server")
# These need the SDK, which a server of another framework may do without.
_LATER: Final = dict.fromkeys(("progress", "reply", "tool_result"), ".replies")
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL: Final = {
    **dict.fromkeys(("ROUTING", "functions_of", "declared_of"), ".declared_failures"),
    **dict.fromkeys(("read_declared", "rule_codes"), ".declared_failures"),
    "group_of": ".served_call",
    "gate_of": ".served_call",
    "installed_on": ".",
}


def __getattr__(name: str) -> Any:
    home = _LATER.get(name) or _INTERNAL.get(name)
    if not home:
        raise AttributeError(f"module 'failwell.server' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home, __name__), name)
    return value


def install(server: S, **options: Unpack[Given]) -> S:
    """Make every failure of `server` structured, safe and actionable, and give the server back.

    Before or after its tools are registered; once. The options are those of `failwell.server.Options`.
    """
    known = [field.name for field in fields(Options)]
    for name in options:
        if name not in known:
            meant = nearest(name, known)
            hint = f"did you mean {meant!r}?" if meant else f"it has {', '.join(known)}."
            raise TypeError(f"install() has no option {name!r}; {hint}")
    chosen = Options(**options)
    names = [f"{base.__module__}.{base.__qualname__}" for base in type(server).__mro__]
    kind = next((_KINDS[name] for name in names if name in _KINDS), None)
    if kind is None:
        given, remedy = (
            type(server).__name__,
            "for other frameworks decorate the tools with failwell.server.tool_errors.",
        )
        if isinstance(server, type):
            given, remedy = f"the class {server.__name__}", "make a server of it first."
        elif isinstance(server, (list, tuple, set, dict)):
            remedy = "call it once for each server."
        raise TypeError(f"install() takes an MCPServer, a low-level mcp Server or a FastMCP, not {given}; {remedy}")
    if any(getattr(each, _MARK, None) is not None for each in _layers(server)):
        raise RuntimeError("Failwell is installed on this server already; give all options to one install() call.")
    adapter = generation(__name__, kind.extra, kind.adapters)
    name, _, function = adapter.partition(".")
    install_on = getattr(bring(f".adapters.{name}", __name__, kind.extra), function or "install")
    from .boundary import Boundary
    from .observer import mask_framework_logs

    boundary = Boundary(chosen)
    install_on(server, boundary)
    boundary.observer.server = named if isinstance(named := getattr(server, "name", None), str) else None
    mask_framework_logs(chosen.guard)
    for each in _layers(server):
        setattr(each, _MARK, boundary)
    return server


def stats(server: object) -> dict[str, ToolStats]:
    """How often each tool was called, how it failed and how long it took: a copy, to be read from any thread."""
    boundary = installed_on(server)
    if boundary is None:
        raise RuntimeError("Failwell is not installed on this server; call failwell.server.install(server) first.")
    return boundary.observer.stats.read()


def installed_on(server: object) -> Boundary | None:
    """What `install` put on the server; None if it did not."""
    found: Boundary | None = getattr(server, _MARK, None)
    return found


def _layers(server: object) -> list[object]:
    """A server, and the low-level one that it is built on: whatever is put on one of them is on both."""
    below = (getattr(server, name, None) for name in _BELOW)
    return [server, *(each for each in below if each is not None)]


__all__ = [
    # one line
    "install",
    "stats",
    "tool_errors",
    # what a tool can be, and answer
    "Group",
    "Envelope",
    "reply",
    "tool_result",
    "progress",
    # what a tool can be put under
    "Rule",
    "limit",
    "rate",
    "deprecated",
    # calls that are made again
    "open_store",
]
