"""The registry of devices, and the plans for them: JSON documents in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import failwell as fw


@dataclass(frozen=True)
class Device:
    id: str
    name: str
    address: str
    environment: str
    username: str = "admin"
    password: str = field(default="changeme", repr=False)
    flags: Sequence[str] = ()


@dataclass(frozen=True)
class Plan:
    """The same DNS servers for several devices; `applied` are those that have them already."""

    id: str
    devices: Sequence[str]
    servers: Sequence[str]
    created_at: str
    expires_at: str
    status: str = "draft"
    applied: Sequence[str] = ()


Kept = TypeVar("Kept", Device, Plan)


class Store:
    def __init__(self, path: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.now = now
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS kept (kind TEXT, id TEXT, body TEXT, PRIMARY KEY (kind, id))")

    def all(self, kind: type[Kept]) -> dict[str, Kept]:
        rows = self._db.execute("SELECT id, body FROM kept WHERE kind = ? ORDER BY id", (kind.__name__,))
        return {id: kind(**json.loads(body)) for id, body in rows}

    def save(self, one: Device | Plan) -> None:
        row = (type(one).__name__, one.id, json.dumps(asdict(one)))
        self._db.execute("REPLACE INTO kept VALUES (?, ?, ?)", row)

    def device(self, device_id: str) -> Device:
        """The device; if there is none, not only what went wrong but what to do next."""
        known = self.all(Device)
        if device_id in known:
            return known[device_id]
        there = f"Available devices: {', '.join(list(known)[:5])}." if known else "There are no devices yet."
        raise fw.NotFound(
            f"Device '{device_id}' not found in registry. {there} "
            "Use registry/list to see all devices, or registry/add to add a new device.",
            title="Device Not Found",
            suggestion="Use one of the available devices, or registry/list to see all of them.",
            next_steps=[
                "Use registry/list to see all available devices",
                "Check device_id spelling and try again",
                f"Use registry/add to add '{device_id}' to the registry",
            ],
            actions=["registry/list"],
            details={"device_id": device_id, "resource_type": "device", "available_device_count": len(known)},
        )

    def plan(self, plan_id: str) -> Plan:
        if plan := self.all(Plan).get(plan_id):
            return plan
        advice = "Use plan/create to make a plan, and the plan_id that it answers."
        about = {"plan_id": plan_id, "resource_type": "plan"}
        raise fw.NotFound(f"Plan '{plan_id}' not found", suggestion=advice, details=about)
