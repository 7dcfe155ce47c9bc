"""Routers: devices in tiers and environments, with plans to approve, by contract 004's error codes.

Shows protocol errors or results (`ROUTERS_ERRORS`), a table that reads what devices answer, templates, tiers and flags
checked before a tool runs, a rate for each device, progress, callers with tokens, and one JSON line for each failure.
"""

from __future__ import annotations

from .server import build

__all__ = ["build"]
