"""The example `routers` as a process of its own, a world of devices around it, and clients that speak raw JSON-RPC."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Final

from running import ERAS, LEGACY, MODERN, Example, Process
from wire import PATIENCE, Http, Stdio

from failwell.examples.routers.service import Router
from failwell.examples.routers.store import Device, Plan, Store

ANN: Final = "token-of-ann-7Qx2"
BEN: Final = "token-of-ben-9Rz4"
PASSWORD: Final = "correct-horse-battery"
# What the device quotes in an error: a password that the registry knows, and one that only its name gives away.
OTHER: Final = "hunter2hunter2"
LONG: Final = (
    f"failure: login of user admin with secret '{PASSWORD}' was refused by radius, password={OTHER}, "
    + "while the interface list was being read from the configuration; " * 3
    + "see the log of the device"
)
NOW: Final = "2024-01-15T14:00:00+00:00"
FLAGS: Final = ("allow_advanced_writes", "allow_professional_workflows")
_PORT: Final = re.compile(r"127\.0\.0\.1:\d{4,5}")
# Of a rate limit, which depends on how fast the test is: how long to wait, in the data and in the words.
_WAIT: Final = re.compile(r"(retry_after\\*\": |retry_after\\*\":|Wait )(\d\d?)(?=\D)")


class World:
    """Eleven devices and a registry that knows them. What is wrong with each is really wrong with it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "routers.db"
        self.log = folder / "routers.log"
        names = "lab-01 lab-02 auth broken busy garbled old prod-01 slow stuck".split()
        self.routers = {f"dev-{name}": Router(password=PASSWORD) for name in names}
        self.routers["dev-old"].version = "7.8 (stable)"
        said = json.dumps({"error": 500, "message": "Internal Server Error", "detail": LONG}).encode()
        self.routers["dev-broken"].faults = {"GET": (500, said)}
        self.routers["dev-old"].faults = {"PUT": (500, said)}
        self.routers["dev-garbled"].faults = {"GET": (200, b'{"version": "7.15')}
        self.routers["dev-slow"].faults = {"GET": "silent"}
        self.routers["dev-stuck"].faults = {"PUT": "silent"}
        # Bound, but nobody listens: connections are refused, and nobody else gets the port.
        self._closed = socket.socket()
        self._closed.bind(("127.0.0.1", 0))
        self.furnish()

    def furnish(self) -> None:
        """Everything as it was in the beginning."""
        addresses = {name: router.address for name, router in self.routers.items()}
        addresses["dev-down"] = f"127.0.0.1:{self._closed.getsockname()[1]}"
        store = Store(str(self.path))
        store._db.execute("DELETE FROM kept")
        for name, address in addresses.items():
            environment = "prod" if "prod" in name else "lab"
            password = "wrong-password" if name == "dev-auth" else PASSWORD
            flags = () if name == "dev-lab-02" else FLAGS
            store.save(Device(name, name.replace("dev-", "router-"), address, environment, "admin", password, flags))
        for router in self.routers.values():
            del router.addresses[1:]
        # One that expired two hours ago, and one that will stop in the middle.
        early, noon, late = (f"2024-01-15T{hour}:00:00Z" for hour in (10, 12, 16))
        store.save(Plan("plan-1", ["dev-lab-01"], ["192.0.2.9"], early, noon, "approved"))
        store.save(Plan("plan-2", ["dev-lab-01", "dev-down"], ["192.0.2.9"], NOW, late, "approved"))
        store._db.close()

    def close(self) -> None:
        for router in self.routers.values():
            router.close()
        self._closed.close()


class Web(Http):
    """Over HTTP, with a bearer's token, and with the notifications that come before an answer kept."""

    def __init__(self, process: Process, era: str, token: str = ANN) -> None:
        super().__init__(process, era)
        self.token = token
        self.passed: list[dict[str, Any]] = []

    def _post(self, frame: dict[str, Any], text: str) -> tuple[HTTPResponse, str]:
        response, body = super()._post(frame, text)
        for line in body.splitlines():
            if line.startswith("data:") and "id" not in (value := json.loads(line.removeprefix("data:") or "{}")):
                self.passed.append(value)
        return response, body

    def _headers(self, frame: dict[str, Any]) -> dict[str, str]:
        bearer = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return {**super()._headers(frame), **bearer}

    def headers(self) -> dict[str, str]:
        """Those of any request of this session."""
        return self._headers({"method": "tools/list", "params": {}})

    def post(self, body: str, headers: dict[str, str]) -> tuple[int, Any]:
        """What is answered to a body that need not be a request."""
        connection = HTTPConnection("127.0.0.1", self.process.port, timeout=PATIENCE)
        connection.request("POST", "/mcp", body.encode(), {name: value for name, value in headers.items() if value})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, json.loads(content)

    def close(self) -> None:
        self._connection.close()


def fixed(value: Any) -> Any:
    """The value with what differs from run to run made the same."""
    return json.loads(_WAIT.sub(r"\g<1>60", _PORT.sub("127.0.0.1:443", json.dumps(value))))


SETTINGS: Final = {
    "ROUTERS_USERS": f"ann:professional:{ANN} ben:fundamental:{BEN}",
    "ROUTERS_TOKEN": ANN,
    "ROUTERS_NOW": NOW,
    "ROUTERS_TIMEOUT": "1",
}


@contextmanager
def serving(
    folder: Path, *, http: bool, script: Path | None = None, **settings: str
) -> Iterator[tuple[Process, World]]:
    """A server, and a world of its own around it."""
    folder.mkdir()
    world = World(folder)
    files = {"ROUTERS_DB": str(world.path), "ROUTERS_LOG": str(world.log)}
    process = Example("routers", folder / "errors", {**files, **SETTINGS, **settings}, http=http, script=script)
    try:
        yield process, world
    finally:
        process.close()
        world.close()


def spoken(process: Process, era: str, *, http: bool, token: str = ANN) -> Stdio | Web:
    client: Stdio | Web = Web(process, era, token) if http else Stdio(process, era)
    client.open()
    return client


__all__ = ["ANN", "BEN", "ERAS", "LEGACY", "LONG", "MODERN", "OTHER", "PASSWORD", "Web", "fixed", "serving", "spoken"]
