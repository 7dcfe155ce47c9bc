"""Routers: devices in tiers and environments, with plans to approve, by contract 004's error codes.

`tools` and `plans` are the tools, `access` says who may use them, `devices` reads what devices answer, `store` keeps
the registry, and `server` puts it together. `service` is only there to try it: devices on loopback.
"""

from __future__ import annotations

from .server import build

__all__ = ["build"]
