"""What `failwell.server.install` costs on a real wire: pairs of servers on stdio, asked in alternating blocks.

Each pair runs the same tools, one server with Failwell and one without, both with the logging they have by default, to
nowhere. The exit code is 1 when a bar is missed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

import failwell as fw
from bench import Report

SECONDS = 0.1
ROUNDS = 15
SUCCESS_ROUNDS = 61  # a bar of five per cent needs a sharper measure
APP = """
import logging, sys
kind, guarded = sys.argv[1], sys.argv[2]
if kind == "fastmcp":
    from fastmcp import FastMCP as Kind
elif kind == "fastmcp1":
    from mcp.server.fastmcp import FastMCP as Kind
else:
    from mcp.server import MCPServer as Kind
server = Kind("bench")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

@server.tool()
def crash(a: int) -> str:
    return {}[a]

@server.tool()
def reject(a: int) -> str:
    raise ValueError("a must be even")

if guarded.startswith("failwell"):
    from failwell.server import install
    install(server)
elif guarded == "middleware":
    from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware
    server.add_middleware(ErrorHandlingMiddleware())
if guarded.endswith("silent"):
    logging.disable(logging.CRITICAL)
server.run(**({"show_banner": False} if kind == "fastmcp" else {}))
"""


class Server:
    """One server on stdio, spoken to in bare JSON-RPC."""

    def __init__(self, kind: str, guarded: str, python: str = sys.executable, app: str = APP) -> None:
        self._process = subprocess.Popen(
            [python, "-c", app, kind, guarded],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._next = 0
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", about)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._next:
                return answer

    def block(self, tool: str, arguments: dict[str, Any]) -> float:
        calls = 0
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < SECONDS:
            self.ask("tools/call", {"name": tool, "arguments": arguments})
            calls += 1
        return elapsed / calls

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def compare(first: Server, second: Server, tool: str, arguments: dict[str, Any], rounds: int) -> tuple[float, float]:
    """How many times the second server's time the first takes, and the second's microseconds; it ends both."""
    try:
        first.block(tool, arguments), second.block(tool, arguments)
        pairs = []
        for turn in range(rounds):
            # Who goes first changes, so that neither always finds the machine warm.
            a, b = (first, second) if turn % 2 else (second, first)
            times = {a: a.block(tool, arguments), b: b.block(tool, arguments)}
            pairs.append((times[first], times[second]))
    finally:
        first.close(), second.close()
    return statistics.median(a / b for a, b in pairs), statistics.median(b for _, b in pairs) * 1e6


def servers(report: Report) -> None:
    cases = [
        ("MCPServer, success", "mcpserver", "none", "add", {"a": 1, "b": 2}, 1.05),
        ("MCPServer, a rejected value", "mcpserver", "none", "reject", {"a": 1}, 1.25),
        ("MCPServer, a crash", "mcpserver", "none", "crash", {"a": 1}, 1.25),
        ("MCPServer, wrong arguments", "mcpserver", "none", "add", {"a": "x"}, 1.25),
        ("FastMCP, success", "fastmcp", "none", "add", {"a": 1, "b": 2}, 1.05),
        ("FastMCP, a rejected value", "fastmcp", "middleware", "reject", {"a": 1}, 1.0),
        ("FastMCP, a crash", "fastmcp", "middleware", "crash", {"a": 1}, 1.0),
        ("FastMCP, wrong arguments", "fastmcp", "middleware", "add", {"a": "x"}, 1.0),
    ]
    rows = []
    for name, kind, peer, tool, arguments, limit in cases:
        rounds = SUCCESS_ROUNDS if "success" in name else ROUNDS
        ratio, micros = compare(Server(kind, "failwell"), Server(kind, peer), tool, arguments, rounds)
        against = "bare" if peer == "none" else "ErrorHandlingMiddleware"
        rows.append([name, against, f"{micros:.0f}", report.bar(name, ratio, limit), f"{limit:g}"])
    report.table("A call over stdio, with Failwell over without", ["case", "against", "µs", "ratio", "bar"], rows)


def classification(report: Report) -> None:
    failures: list[Exception] = [
        ValueError("a must be even"),
        KeyError("a"),
        TimeoutError(),
        ConnectionRefusedError(),
        ExceptionGroup("several", [TypeError("a"), ConnectionResetError()]),
    ]
    rows = []
    for exc in failures:
        start = time.perf_counter()
        for _ in range(5000):
            fw.wrap(exc)
        micros = (time.perf_counter() - start) / 5000 * 1e6
        rows.append([type(exc).__name__, report.bar(f"classify {type(exc).__name__}", micros, 50)])
    report.table("Classification (bar: 50 µs)", ["exception", "µs"], rows)


if __name__ == "__main__":
    report = Report()
    classification(report)
    servers(report)
    for miss in report.missed:
        report.console.print(f"missed: {miss}")
    sys.exit(bool(report.missed))
