"""Five servers to copy from, each living by one of the five public contracts: `failwell example NAME`.

Each is a package with a function `build`, which gives the server with Failwell installed; what it can be told, it is
told by environment variables. Real parts stand behind them: SQLite, and services that speak HTTP on loopback.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final
from unittest.mock import patch

from failwell.packages import bring

EXAMPLES: Final = {
    "reservations": "agents reserve files, and negotiate who holds them (contract 000)",
    "patterns": "a pattern library behind an HTTP service, for people and programs (contract 001)",
    "workspace": "grouped tools that tell an agent how to heal a call (contract 002)",
    "social": "posts, threads and approvals under a policy, in one envelope (contract 003)",
    "routers": "devices in tiers and environments, with plans to approve (contract 004)",
}


def build(name: str, *, plain: bool = False) -> Any:
    """The server of an example, ready to run; `plain` is the same one without Failwell, to compare with."""
    if name not in EXAMPLES:
        raise ValueError(f"There is no example {name!r}; use one of: {', '.join(EXAMPLES)}.")
    module = bring(f"{__name__}.{name}", f"the example {name}", "fastmcp" if name == "workspace" else "mcp")
    if not plain:
        return module.build()
    with patch("failwell.server.install", lambda server, **options: server):
        return module.build()


def profiles(name: str) -> list[Any]:
    """The servers of an example, one for each profile that it can be started in."""
    module = import_module(f"{__name__}.{name}")
    return module.profiles() if hasattr(module, "profiles") else [build(name)]


def serve(server: Any, *, port: int | None = None, host: str = "127.0.0.1") -> None:
    """Serve what `build` gave on stdio, or over HTTP at `/mcp`."""
    own = type(server).__module__.startswith("fastmcp")
    if port is None:
        server.run(**({"show_banner": False} if own else {}))
    elif own:
        server.run("http", host=host, port=port, path="/mcp", show_banner=False)
    else:
        server.run("streamable-http", host=host, port=port)
