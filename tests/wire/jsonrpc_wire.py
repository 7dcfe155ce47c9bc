"""The server of contract 004 over a real wire: what is answered may be a JSON-RPC error."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from shop_wire import LEGACY, MODERN, Json, Shop

import commands

SERVER: Final = Path(__file__).with_name("jsonrpc_server.py")
FRAMEWORKS: Final = ("mcpserver", "fastmcp", "lowlevel")
ERAS: Final = (LEGACY, MODERN)


class Routers(Shop):
    """The server, as a session calls it."""

    @staticmethod
    def command(kind: str, options: Json | None, transport: str, ledger: Path) -> list[str]:
        return commands.python(SERVER, kind, transport, ledger, *Shop.command("", options, "", ledger)[-1:])

    def answer(self, tool: str, **arguments: Any) -> Json:
        """The message that answers a call, without its id."""
        message = self.session.ask("tools/call", {"name": tool, "arguments": arguments})
        return {name: value for name, value in message.items() if name not in ("id", "jsonrpc")}

    def error(self, tool: str, **arguments: Any) -> Json:
        """The JSON-RPC error that answers a call."""
        message = self.answer(tool, **arguments)
        assert "error" in message, message
        error: Json = message["error"]
        return error

    def noted(self, word: str, tool: str) -> list[str]:
        """What the log (`log`) or a hook (`event`) was told of a tool."""
        lines = self.ledger.read_text("utf-8").splitlines()
        return [line.removeprefix(f"{word} {tool} ") for line in lines if line.startswith(f"{word} {tool} ")]
