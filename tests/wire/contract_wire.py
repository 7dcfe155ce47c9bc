"""The contract server over a real wire, in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shop_wire import LEGACY, MODERN, Answer, Json, Shop

import commands

SERVER = Path(__file__).with_name("contract_server.py")
FRAMEWORKS = ("mcpserver", "fastmcp", "lowlevel")
ERAS = (LEGACY, MODERN)


class Contracts(Shop):
    """The server, as a session calls it."""

    @staticmethod
    def command(kind: str, options: Json | None, transport: str, ledger: Path) -> list[str]:
        return commands.python(SERVER, kind, transport, ledger, *Shop.command("", options, "", ledger)[-1:])

    def call(self, tool: str, **arguments: Any) -> Answer:
        return self.session.call(tool, arguments=arguments)

    def listed(self) -> dict[str, Json]:
        found: list[Json] = self.session.ask("tools/list", {})["result"]["tools"]
        return {tool["name"]: tool for tool in found}

    def logged(self, tool: str) -> list[str]:
        """What the log says of a tool, newest last."""
        lines = self.ledger.read_text("utf-8").splitlines()
        return [line for line in lines if line.startswith(f"log tool_error {tool}: ")]


class Servers:
    """One process for each kind."""

    def __init__(self) -> None:
        self._open: dict[str, Contracts] = {}

    def get(self, kind: str, options: Json | None, era: str = LEGACY, transport: str = "stdio") -> Contracts:
        name = repr((kind, options, era, transport))
        if name not in self._open:
            self._open[name] = Contracts(kind, options, era=era, transport=transport)
        return self._open[name]

    def close(self) -> None:
        for each in self._open.values():
            each.close()
