"""The registry of devices, and the plans for them: one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import failwell as fw

PLAN_LIFE = timedelta(hours=2)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS devices (
    id TEXT PRIMARY KEY, name TEXT UNIQUE, address TEXT, environment TEXT, username TEXT, password TEXT, flags TEXT
);
CREATE TABLE IF NOT EXISTS plans (
    number INTEGER PRIMARY KEY, devices TEXT, servers TEXT, created_at TEXT,
    status TEXT DEFAULT 'draft', applied TEXT DEFAULT '[]'
);
"""


@dataclass(frozen=True)
class Device:
    id: str
    name: str
    address: str
    environment: str
    username: str = "admin"
    password: str = field(default="changeme", repr=False)
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """The same DNS servers for several devices; `applied` are those that have them already."""

    id: str
    devices: tuple[str, ...]
    servers: tuple[str, ...]
    created_at: datetime
    status: str
    applied: tuple[str, ...]

    @property
    def expires_at(self) -> datetime:
        return self.created_at + PLAN_LIFE


class Store:
    def __init__(self, path: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.clock = clock
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    def devices(self) -> list[Device]:
        rows = self._db.execute("SELECT * FROM devices ORDER BY id")
        return [Device(**{**row, "flags": frozenset(json.loads(row["flags"]))}) for row in map(dict, rows)]

    def device(self, device_id: str) -> Device:
        known = {device.id: device for device in self.devices()}
        if device_id not in known:
            raise _no_device(device_id, list(known))
        return known[device_id]

    def add(self, device: Device) -> None:
        for known in self.devices():
            if known.name == device.name or known.id == device.id:
                raise fw.Conflict(
                    f"Device with name '{known.name}' already exists",
                    suggestion="Use another name, or registry/update to change the device that has it.",
                    details={"device_name": known.name, "existing_device_id": known.id},
                )
        self._save("INSERT", device)

    def update(self, device: Device) -> None:
        self._save("REPLACE", device)

    def _save(self, verb: str, device: Device) -> None:
        values = [getattr(device, name) for name in ("id", "name", "address", "environment", "username", "password")]
        self._db.execute(f"{verb} INTO devices VALUES (?,?,?,?,?,?,?)", (*values, json.dumps(sorted(device.flags))))

    def create_plan(self, devices: Iterable[str], servers: Iterable[str]) -> Plan:
        values = (json.dumps(list(devices)), json.dumps(list(servers)), self.clock().isoformat())
        row = self._db.execute("INSERT INTO plans (devices, servers, created_at) VALUES (?,?,?)", values)
        return self.plan(f"plan-{row.lastrowid}")

    def plan(self, plan_id: str) -> Plan:
        row = self._db.execute("SELECT * FROM plans WHERE 'plan-' || number = ?", (plan_id,)).fetchone()
        if row is None:
            raise fw.NotFound(
                f"Plan '{plan_id}' not found",
                suggestion="Use plan/create to make a plan, and the plan_id that it answers.",
                details={"plan_id": plan_id, "resource_type": "plan"},
            )
        devices, servers, applied = (tuple(json.loads(row[name])) for name in ("devices", "servers", "applied"))
        return Plan(plan_id, devices, servers, datetime.fromisoformat(row["created_at"]), row["status"], applied)

    def mark(self, plan: Plan, status: str, applied: Iterable[str] = ()) -> None:
        values = (status, json.dumps(list(applied)), plan.id)
        self._db.execute("UPDATE plans SET status = ?, applied = ? WHERE 'plan-' || number = ?", values)


def _no_device(device_id: str, known: list[str]) -> fw.ToolError:
    """Not only what went wrong, but what to do next: a few names, and where the others are."""
    there = f"Available devices: {', '.join(known[:5])}." if known else "There are no devices yet."
    return fw.NotFound(
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
