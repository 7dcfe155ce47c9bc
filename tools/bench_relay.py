"""What `failwell wrap` costs on a call, against the server alone and against other relays: in the same run, in turns.

Real processes and a client that knows nothing but lines of JSON, so that there is nothing to hide behind. Each block of
a relay is held against the block of the server alone that came just before it, and what is told is the middle of these
ratios. The peers are installed into environments of their own, under .field; one that cannot be had is left out. The
exit code is 1 when a bar is missed.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import Report
from field_servers import NotInstalled, Server

BAR = 1.35
STARTUP = 0.15
STARTS = 9
MEMORY = 60.0
CALLS = int(os.environ.get("CALLS", "2000"))
MANY = int(os.environ.get("MANY", "0"))
"""How many calls more are made for the sake of the memory: 100000 takes some minutes."""
BLOCK = 100
DEPTH = 16
WRAP = "failwell wrap"
GUARD = "mcp-doctor guard"
# What takes many times as long is not measured as often.
SLOW = {"FastMCP's proxy": 5, "mcp-proxy (PyPI)": 10}
SERVER = """
import sys
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("bench", log_level="CRITICAL")

@server.tool()
def echo(text: str) -> str:
    return text

@server.tool()
def fail(text: str) -> str:
    raise ToolError(f"Thing {text} not found")

if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
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
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        server, proxy = Path(folder) / "server.py", Path(folder) / "proxy.py"
        server.write_text(SERVER, "utf-8")
        proxy.write_text(PROXY, "utf-8")
        direct = [sys.executable, str(server)]
        lanes = {
            "direct": direct,
            WRAP: [sys.executable, "-m", "failwell", "wrap", "--", *direct],
            "FastMCP's proxy": [sys.executable, str(proxy), str(server)],
            **_peers(direct, running),
        }
        _startup(report, lanes)
        _calls(report, lanes)
    print(f"load: {', '.join(f'{each:.1f}' for each in os.getloadavg())} on {os.cpu_count()} cores")
    for line in report.missed:
        print(f"missed: {line}")
    return bool(report.missed)


def _peers(direct: list[str], running: ExitStack) -> dict[str, list[str]]:
    """The relays of others that can be installed."""
    found = {}
    here = Path(direct[-1]).parent
    try:
        guard = Server("bench-guard", ("mcp-server-lint==0.35.7",), "mcp-doctor").command_line(here)
        found[GUARD] = [*guard, "guard", "--", *direct]
    except NotInstalled as problem:
        print(f"{GUARD} is left out: {problem}")
    try:
        proxy = Server("bench-proxy", ("mcp-proxy==0.13.0",), "mcp-proxy").command_line(here)
        # It stands between stdio and HTTP, never between two on stdio.
        found["mcp-proxy (PyPI)"] = [*proxy, "--transport", "streamablehttp", _served(direct, running)]
    except NotInstalled as problem:
        print(f"mcp-proxy is left out: {problem}")
    return found


def _served(direct: list[str], running: ExitStack) -> str:
    """The address of the same server over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([*direct, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    running.callback(process.wait)
    running.callback(process.terminate)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    return f"http://127.0.0.1:{port}/mcp"


def _startup(report: Report, lanes: dict[str, list[str]]) -> None:
    """How much later the first answer comes, by the fastest of several starts in turns."""
    names = [name for name in lanes if not name.startswith("mcp-proxy")]
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(STARTS):
        for name, found in times.items():
            client = Client(lanes[name])
            found.append(client.startup)
            client.close()
    rows = [["direct", f"{min(times['direct']):.2f}", ""]]
    for name in names[1:]:
        added = min(times[name]) - min(times["direct"])
        limit = STARTUP if name == WRAP else 1e9
        rows.append([name, f"{min(times[name]):.2f}", report.bar(f"{name}: seconds that a start adds", added, limit)])
    report.table(f"A start, the fastest of {STARTS}", ["", "seconds", "added"], rows)


def _calls(report: Report, lanes: dict[str, list[str]]) -> None:
    clients = {name: Client(command) for name, command in lanes.items()}
    try:
        for tool in ("echo", "fail"):
            _blocks(report, clients, tool)
        relay = clients[WRAP]
        before = relay.memory
        for _ in range(MANY // BLOCK):
            relay.deep("echo", BLOCK)
        told = report.bar(f"{WRAP}: megabytes", relay.memory, MEMORY)
        rows = [[f"after {4 * CALLS} calls", f"{before:.1f}"], [f"after {MANY} more", told]]
        report.table("Memory of the relay", ["", "MB"], rows)
    finally:
        for client in clients.values():
            client.close()


def _blocks(report: Report, clients: dict[str, Client], tool: str) -> None:
    for client in clients.values():
        client.block(tool, BLOCK)
    middle: dict[str, list[float]] = {name: [] for name in clients}
    one: dict[str, list[float]] = {name: [] for name in clients}
    many: dict[str, list[float]] = {name: [] for name in clients}
    for number in range(CALLS // BLOCK):
        for name, client in clients.items():
            if number % SLOW.get(name, 1):
                continue
            # Just before each relay the server alone: what else the machine does meets both.
            alone = clients["direct"]
            direct, deep = statistics.median(alone.block(tool, BLOCK)), alone.deep(tool, BLOCK)
            times = statistics.median(client.block(tool, BLOCK))
            middle[name].append(times)
            one[name].append(times / direct)
            many[name].append(client.deep(tool, BLOCK) / deep)
    rows = []
    for name in clients:
        limit = BAR if name == WRAP else 1e9
        rows.append(
            [
                name,
                f"{statistics.median(middle[name]) * 1000:.3f}",
                report.bar(f"{name}, {tool}: times of direct", statistics.median(one[name]), limit),
                report.bar(f"{name}, {tool}, {DEPTH} under way", statistics.median(many[name]), limit),
            ]
        )
    columns = [tool, "ms, the middle call", "times of direct", f"with {DEPTH} under way"]
    report.table(f"{CALLS} calls of {tool}, in turns", columns, rows)
    if GUARD in clients:
        for kind, found in (("one", one), (str(DEPTH), many)):
            mine, theirs = statistics.median(found[WRAP]), statistics.median(found[GUARD])
            report.bar(f"{WRAP}, {tool}, {kind} under way, against {GUARD}", mine / theirs, 1.0)


if __name__ == "__main__":
    sys.exit(main())
