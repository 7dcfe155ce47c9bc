"""What `install` costs on each generation of the SDKs: pairs of servers in the environments of `make matrix`.

Asked in alternating blocks over stdio, and measured by the time that the server's process computes, which a busy
machine hardly changes. The exit code is 1 when a bar is missed: 1.05 for a success, 1.25 for a failure.

    python tools/bench_generations.py [ROW ...]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from matrix import ROWS, Row, build, python_of

CALLS: Final = 150
ROUNDS: Final = 15
SUCCESS_ROUNDS: Final = 41  # a bar of five per cent needs a sharper measure
APP: Final = """
import sys
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

if guarded == "failwell":
    from failwell.server import install
    install(server)
server.run(**({"show_banner": False} if kind == "fastmcp" else {}))
"""
CASES: Final = (
    ("success", "add", {"a": 1, "b": 2}, 1.05),
    ("a rejected value", "reject", {"a": 1}, 1.25),
    ("a crash", "crash", {"a": 1}, 1.25),
    ("wrong arguments", "add", {"a": "x"}, 1.25),
)


class Server:
    """One server on stdio, spoken to in bare JSON-RPC."""

    def __init__(self, python: str, kind: str, guarded: str) -> None:
        self._process = subprocess.Popen(
            [python, "-c", APP, kind, guarded],
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

    def ask(self, method: str, params: dict[str, Any]) -> None:
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        assert self._process.stdout is not None
        while json.loads(self._process.stdout.readline()).get("id") != self._next:
            pass

    def _computed(self) -> int:
        """Nanoseconds that its threads have run."""
        threads = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((each / "schedstat").read_text().split()[0]) for each in threads)

    def block(self, tool: str, arguments: dict[str, Any]) -> float:
        before = self._computed()
        for _ in range(CALLS):
            self.ask("tools/call", {"name": tool, "arguments": arguments})
        return (self._computed() - before) / CALLS

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def compare(row: Row, tool: str, arguments: dict[str, Any], rounds: int) -> tuple[float, float]:
    """How many times the bare server's time ours takes, and the bare one's microseconds."""
    first, second = (Server(python_of(row), row.servers[0], guarded) for guarded in ("failwell", "none"))
    try:
        first.block(tool, arguments), second.block(tool, arguments)
        pairs = []
        for turn in range(rounds):
            a, b = (first, second) if turn % 2 else (second, first)
            times = {a: a.block(tool, arguments), b: b.block(tool, arguments)}
            pairs.append((times[first], times[second]))
    finally:
        first.close(), second.close()
    return statistics.median(a / b for a, b in pairs), statistics.median(b for _, b in pairs) / 1e3


def main() -> int:
    chosen = sys.argv[1:]
    missed = 0
    for row in (each for each in ROWS if not chosen or each.name in chosen):
        build(row)
        for name, tool, arguments, limit in CASES:
            ratio, micros = compare(row, tool, arguments, SUCCESS_ROUNDS if name == "success" else ROUNDS)
            missed += ratio > limit
            told = "" if ratio <= limit else "  MISSED"
            print(f"{row.name:14} {name:18} {micros:7.0f} µs  {ratio:5.2f}  (bar {limit:g}){told}", flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
