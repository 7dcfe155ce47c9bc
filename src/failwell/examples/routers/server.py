"""The server: what it is made of, and how its failures leave."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mcp.server import MCPServer

import failwell.server

from .access import Access
from .devices import FAILURES, Devices
from .plans import add_plans
from .service import Router
from .store import Device, Store
from .tools import add_tools

LOGGED = ("request_id", "tool_name", "error_code", "mcp_error_code", "correlation_id", "details", "context")


def build(settings: Mapping[str, str] = os.environ) -> MCPServer[Any]:
    """The server, as the environment wants it.

    ROUTERS_DB: the registry, an SQLite file; without one there are three devices of its own to try.
    ROUTERS_ERRORS: `result`, which models see, or `protocol`: JSON-RPC errors, by the letter of the contract.
    ROUTERS_ENVIRONMENT: where it runs; devices of other environments are refused. `lab` unless given.
    ROUTERS_USERS: who may call, as `name:tier:token` with blanks between. ROUTERS_TOKEN: who calls on stdio.
    ROUTERS_TIMEOUT: seconds for a device to answer.
    ROUTERS_LOG: a file for the JSON lines about failures, instead of standard error.
    ROUTERS_DEBUG: 1 sends the whole of what a device said, too.
    ROUTERS_NOW: the time it takes it to be, for tests.
    """
    now, log = settings.get("ROUTERS_NOW"), settings.get("ROUTERS_LOG")
    path = settings.get("ROUTERS_DB", ":memory:")
    store = Store(path, lambda: datetime.fromisoformat(now) if now else datetime.now(UTC))
    if "ROUTERS_DB" not in settings:
        flags = ("allow_advanced_writes", "allow_professional_workflows")
        store.save(Device("dev-lab-01", "lab-router-01", Router().address, "lab", flags=flags))
        store.save(Device("dev-lab-02", "lab-router-02", Router(version="7.8 (stable)").address, "lab"))
        store.save(Device("dev-prod-01", "prod-router-01", Router().address, "prod", flags=flags))
    access, devices = Access(store, settings), Devices(store, float(settings.get("ROUTERS_TIMEOUT", "5")))
    # The SDK logs a warning about each name with a slash in it; contract 004 wants them so.
    server = MCPServer[Any]("routers", log_level="ERROR", middleware=[access.middleware])
    add_tools(server, store, devices, access)
    add_plans(server, store, devices, access)
    protocol = settings.get("ROUTERS_ERRORS") == "protocol"
    # A logger that stands by itself: standard output belongs to the protocol.
    logger = logging.Logger("routers", logging.INFO)
    handler = logging.FileHandler(log, encoding="utf-8") if log else logging.StreamHandler()
    handler.setFormatter(JsonLine())
    logger.addHandler(handler)
    return failwell.server.install(
        server,
        format="jsonrpc",
        wire={"debug": settings.get("ROUTERS_DEBUG") == "1", "protocol": "all" if protocol else ()},
        table=FAILURES,
        logger=logger,
    )


class JsonLine(logging.Formatter):
    """One JSON object for each failure. What it holds has been masked."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"event": "tool_error", "level": record.levelname}
        line |= {name: getattr(record, name, None) for name in LOGGED}
        return json.dumps(line | ({"way": record.exc_text} if record.exc_text else {}), ensure_ascii=False)
