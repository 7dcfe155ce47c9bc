"""The tools."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

import failwell as fw
import failwell.server
from failwell.formats import to_wire

from .store import Store

TABLE = fw.classify.table()

READS = ToolAnnotations(read_only_hint=True)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False)
AGAIN = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)

Agent = Annotated[str, Field(pattern=r"^[\w.-]{1,64}$", description="Your name, as you registered it")]
Minutes = Annotated[float, Field(gt=0, le=24 * 60, description="How long, at most a day")]


@TABLE.maps(sqlite3.OperationalError)
def busy(exc: sqlite3.OperationalError) -> fw.ToolError:
    """Each tool is one transaction, so what is known of the statement that failed is known of the tool."""
    return fw.classify.operation(exc)


class Wish(BaseModel):
    """One of several reservations."""

    pattern: str
    minutes: Minutes = 30
    exclusive: bool = True


def build(path: str | None = None, clock: Callable[[], float] | None = None) -> MCPServer[Any]:
    """The server, with a store at `path`."""
    store = Store(path or os.environ.get("RESERVATIONS_DB") or _temporary(), clock or _clock())
    server: MCPServer[Any] = MCPServer("reservations", version="1.0", log_level="CRITICAL")

    @server.tool(annotations=AGAIN, structured_output=False)
    @fw.raises("VALIDATION_ERROR", category="agents", mutation=True, requires="db")
    def register_agent(agent_id: Agent, task: str) -> dict[str, Any]:
        """Say who you are and what you work on, before anything else."""
        return store.register(agent_id, task)

    @server.tool(annotations=CHANGES, structured_output=False)
    @fw.raises("NOT_FOUND", "CONFLICT", "VALIDATION_ERROR", category="reservations", mutation=True, requires="db")
    def reserve(agent_id: Agent, pattern: str, minutes: Minutes = 30, exclusive: bool = True) -> dict[str, Any]:
        """Reserve the files that fit a pattern. Others may share what is not exclusive."""
        return store.reserve(agent_id, pattern, minutes, exclusive)

    @server.tool(annotations=CHANGES, structured_output=False)
    @fw.raises("NOT_FOUND", "CONFLICT", "VALIDATION_ERROR", category="reservations", mutation=True, requires="db")
    def reserve_many(agent_id: Agent, wishes: Annotated[list[Wish], Field(min_length=1)]) -> dict[str, Any]:
        """Reserve several patterns. What cannot be had does not keep the rest from being reserved."""
        granted, failed = [], []
        for wish in wishes:
            try:
                granted.append(store.reserve(agent_id, wish.pattern, wish.minutes, wish.exclusive))
            except fw.ToolError as error:
                failed.append({"pattern": wish.pattern, "error": to_wire(error, "typed")})
        return {"granted": granted, "failed": failed}

    @server.tool(annotations=READS, structured_output=False)
    @fw.raises("VALIDATION_ERROR", category="reservations", mutation=False, requires="db")
    def check_conflicts(agent_id: Agent, pattern: str, exclusive: bool = True) -> dict[str, Any]:
        """Who would be in the way of a reservation."""
        return {"conflicts": store.conflicts(agent_id, pattern, exclusive)}

    @server.tool(annotations=AGAIN, structured_output=False)
    @fw.raises("NOT_FOUND", "FORBIDDEN", category="reservations", mutation=True, requires="db")
    def extend(agent_id: Agent, reservation_id: int, minutes: Minutes) -> dict[str, Any]:
        """Keep a reservation for so many minutes from now."""
        return store.extend(agent_id, reservation_id, minutes)

    @server.tool(annotations=CHANGES, structured_output=False)
    @fw.raises("NOT_FOUND", "FORBIDDEN", category="reservations", mutation=True, requires="db")
    def release(agent_id: Agent, reservation_id: int) -> dict[str, Any]:
        """Let go of a reservation."""
        return store.release(agent_id, reservation_id)

    @server.tool(annotations=READS, structured_output=False)
    @fw.raises(category="reservations", mutation=False, requires="db")
    def list_reservations(agent_id: Agent | None = None) -> dict[str, Any]:
        """What is reserved, by anybody or by one agent."""
        return {"reservations": store.listed(agent_id)}

    @server.tool(annotations=CHANGES, structured_output=False)
    @fw.raises("NOT_FOUND", category="negotiation", mutation=True, requires="db")
    def request_release(agent_id: Agent, reservation_id: int, reason: str) -> dict[str, Any]:
        """Ask the holder of a reservation to let go of it."""
        return store.ask(agent_id, reservation_id, reason)

    @server.tool(annotations=CHANGES, structured_output=False)
    @fw.raises("NOT_FOUND", "FORBIDDEN", category="negotiation", mutation=True, requires="db")
    def answer_request(agent_id: Agent, request_id: int, release: bool, reason: str = "") -> dict[str, Any]:
        """Let go of what was asked for, or say why not."""
        return store.answer(agent_id, request_id, release, reason)

    @server.tool(annotations=READS, structured_output=False)
    @fw.raises(category="negotiation", mutation=False, requires="db")
    def list_requests(agent_id: Agent) -> dict[str, Any]:
        """What others ask of you, and what became of what you asked."""
        return {"requests": store.requests(agent_id)}

    return failwell.server.install(server, format="typed", questions="missing", table=TABLE)


def _temporary() -> str:
    return str(Path(tempfile.mkdtemp(prefix="reservations-")) / "reservations.db")


def _clock() -> Callable[[], float]:
    named = os.environ.get("RESERVATIONS_CLOCK")
    return time.time if named is None else lambda: float(Path(named).read_text())
