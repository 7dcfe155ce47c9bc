"""What `failwell wrap` costs on a call, against the server alone and against other relays: in the same run, in turns.

Real processes and a client that knows nothing but lines of JSON, so that there is nothing to hide behind. The exit code
is 1 when a bar is missed. Peers are measured where they are installed: FastMCP's proxy always, `mcp-proxy` of PyPI
where it is on the path or named by MCP_PROXY.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

from bench import Report

BAR = 1.35
STARTUP = 0.15
MEMORY = 60.0
CALLS = int(os.environ.get("CALLS", "2000"))
BLOCK = 100
DEPTH = 16
SERVER = """
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("bench", log_level="CRITICAL")

@server.tool()
def echo(text: str) -> str:
    return text

@server.tool()
def fail(text: str) -> str:
    raise ToolError(f"Thing {text} not found")

server.run()
"""
PROXY = """
import sys
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

create_proxy(StdioTransport(sys.executable, [sys.argv[1]]), name="proxy").run(show_banner=False)
"""


class Client:
    """A client of one command."""

    def __init__(self, command: list[str]) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self.process.stdout is not None
        self._pipe, self._rest, self._lines, self._id = self.process.stdout.fileno(), b"", deque[bytes](), 0
        info = {"name": "bench", "version": "1"}
        self._send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        self._read()
        self.startup = time.perf_counter() - began
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self._send("tools/list", {})
        self._read()

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def _send(self, method: str, params: dict[str, Any]) -> None:
        self._id += 1
        self._write({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})

    def _read(self) -> bytes:
        while not self._lines:
            *lines, self._rest = (self._rest + os.read(self._pipe, 1 << 16)).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft()

    def _word(self) -> str:
        """Another text each time: the same call that keeps failing is not made for ever. No digits, which mean much."""
        return "".join(chr(ord("a") + int(digit)) for digit in str(self._id))

    def block(self, tool: str, calls: int) -> list[float]:
        """How long each call took, one after the other."""
        times = []
        for _ in range(calls):
            began = time.perf_counter()
            self._send("tools/call", {"name": tool, "arguments": {"text": self._word()}})
            self._read()
            times.append(time.perf_counter() - began)
        return times

    def deep(self, tool: str, calls: int) -> float:
        """How long a call took, with several under way."""
        began = time.perf_counter()
        for number in range(calls):
            if number >= DEPTH:
                self._read()
            self._send("tools/call", {"name": tool, "arguments": {"text": self._word()}})
        for _ in range(min(DEPTH, calls)):
            self._read()
        return (time.perf_counter() - began) / calls

    @property
    def memory(self) -> float:
        """Megabytes in use, where the system tells."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        except OSError:
            return 0.0
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def main() -> int:
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        server, proxy = Path(folder) / "server.py", Path(folder) / "proxy.py"
        server.write_text(SERVER, "utf-8")
        proxy.write_text(PROXY, "utf-8")
        direct = [sys.executable, str(server)]
        lanes = {"direct": direct, "failwell wrap": [sys.executable, "-m", "failwell", "wrap", "--", *direct]}
        lanes["FastMCP's proxy"] = [sys.executable, str(proxy), str(server)]
        if (other := os.environ.get("MCP_PROXY") or shutil.which("mcp-proxy")) is not None:
            lanes["mcp-proxy (PyPI)"] = [other, "--", *direct]
        _startup(report, lanes)
        _calls(report, lanes)
    for line in report.missed:
        print(f"missed: {line}")
    return bool(report.missed)


def _startup(report: Report, lanes: dict[str, list[str]]) -> None:
    """How much later the first answer comes, by the fastest of several starts in turns."""
    times: dict[str, list[float]] = {name: [] for name in ("direct", "failwell wrap")}
    for _ in range(5):
        for name, found in times.items():
            client = Client(lanes[name])
            found.append(client.startup)
            client.close()
    added = min(times["failwell wrap"]) - min(times["direct"])
    told = report.bar("failwell wrap: seconds that a start takes longer", added, STARTUP)
    report.table("A start", ["", "seconds"], [["direct", f"{min(times['direct']):.2f}"], ["the relay adds", told]])


def _calls(report: Report, lanes: dict[str, list[str]]) -> None:
    clients = {name: Client(command) for name, command in lanes.items()}
    try:
        for tool in ("echo", "fail"):
            times: dict[str, list[float]] = {name: [] for name in clients}
            deep: dict[str, list[float]] = {name: [] for name in clients}
            for client in clients.values():
                client.block(tool, BLOCK)
            for _ in range(CALLS // BLOCK):
                for name, client in clients.items():
                    times[name] += client.block(tool, BLOCK)
                    deep[name].append(client.deep(tool, BLOCK))
            base, base_deep = statistics.median(times["direct"]), statistics.median(deep["direct"])
            rows = []
            for name in clients:
                middle, together = statistics.median(times[name]), statistics.median(deep[name])
                limit = BAR if name == "failwell wrap" else 1e9
                told = report.bar(f"{name}, {tool}: times of direct", middle / base, limit)
                rows.append([name, f"{middle * 1000:.3f}", told, f"{together / base_deep:.2f}"])
            columns = [tool, "ms, the middle call", "times of direct", f"with {DEPTH} under way"]
            report.table(f"{CALLS} calls of {tool}, in turns", columns, rows)
        told = report.bar("failwell wrap: megabytes", clients["failwell wrap"].memory, MEMORY)
        report.table("Memory of the relay after all that", ["", "MB"], [["failwell wrap", told]])
    finally:
        for client in clients.values():
            client.close()


if __name__ == "__main__":
    sys.exit(main())
