"""Devices to try it with: each answers on loopback as RouterOS's REST API does, and fails when told to."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Fault = tuple[int, bytes] | Literal["silent"]
"""Answers with this status and body, or with nothing until the device is switched off."""


class Router:
    """A device on a free port, until it is closed. `faults` can be set at any time, for each method: `GET`, `PUT`."""

    def __init__(self, *, version: str = "7.15.2 (stable)", password: str = "changeme") -> None:
        self.version = version
        self.faults: dict[str, Fault] = {}
        self.dns = "192.0.2.53"
        self.interfaces = {"ether1": "false", "ether2": "false", "ether3": "true"}
        self.addresses = [{".id": "*1", "address": "127.0.0.1/8", "interface": "ether1"}]
        self.expected = "Basic " + base64.b64encode(f"admin:{password}".encode()).decode()
        self._off = threading.Event()
        router = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                router._answer(self, {})

            def do_PUT(self) -> None:
                router._answer(self, json.loads(self.rfile.read(int(self.headers["content-length"]))))

            do_POST = do_PUT

            def log_message(self, format: str, *args: object) -> None:
                """Nobody reads it, and standard output belongs to the protocol."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._off.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        fault = self.faults.get(request.command)
        if fault == "silent":
            self._off.wait()
            return
        if fault is not None:
            status, content = fault
        elif request.headers["authorization"] != self.expected:
            status, content = 401, json.dumps({"error": 401, "message": "Unauthorized"}).encode()
        else:
            status, answer = self._do(request.command, request.path.removeprefix("/rest/"), body)
            content = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

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
