"""Devices to try it with: each answers on loopback as RouterOS's REST API does, and fails when told to."""

from __future__ import annotations

import base64
import json
from typing import Any, Literal

from failwell.examples.loopback import JSON, Answer, Loopback, Request

Fault = tuple[int, bytes] | Literal["silent"]
"""Answers with this status and body, or with nothing until the device is switched off."""


class Router(Loopback):
    """A device on a free port, until it is closed. `faults` can be set at any time, for each method: `GET`, `PUT`."""

    def __init__(self, *, version: str = "7.15.2 (stable)", password: str = "changeme") -> None:
        self.version = version
        self.faults: dict[str, Fault] = {}
        self.dns = "192.0.2.53"
        self.interfaces = {"ether1": "false", "ether2": "false", "ether3": "true"}
        self.addresses = [{".id": "*1", "address": "127.0.0.1/8", "interface": "ether1"}]
        self.expected = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()
        super().__init__()
        self.address = self.url.removeprefix("http://")

    def answer(self, request: Request) -> Answer | None:
        fault = self.faults.get(request.method)
        if fault == "silent":
            self.ended.wait()
            return None
        if fault is not None:
            return *fault, JSON
        if request.headers.get("authorization") != self.expected:
            return 401, json.dumps({"error": 401, "message": "Unauthorized"}), JSON
        path, body = request.path.removeprefix("/rest/"), json.loads(request.body or b"{}")
        status, answer = self._do(request.method, path, body)
        return status, json.dumps(answer), JSON

    def _do(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, object]:
        match method, path:
            case "GET", "system/resource":
                memory = {"total-memory": "536870912", "free-memory": "402653184"}
                return 200, {"version": self.version, "cpu-load": "5", "uptime": "1d", **memory}
            case "GET", "system/ntp/client":
                return 200, {"enabled": "true", "status": "synchronized", "system-offset": "0.3ms"}
            case "GET", "interface":
                return 200, [{"name": name, "disabled": disabled} for name, disabled in self.interfaces.items()]
            case "GET", "ip/address":
                return 200, self.addresses
            case "PUT", "ip/address" if any(row["address"] == body["address"] for row in self.addresses):
                return _refused("failure: already have such address")
            case "PUT", "ip/address":
                self.addresses.append({".id": f"*{len(self.addresses) + 1}", **body})
                return 201, self.addresses[-1]
            case "GET", "ip/dns":
                return 200, {"servers": self.dns}
            case "POST", "ip/dns/set":
                self.dns = body["servers"]
                return 200, []
        return _refused("no such command")


def _refused(detail: str) -> tuple[int, object]:
    return 400, {"error": 400, "message": "Bad Request", "detail": detail}
