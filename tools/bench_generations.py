"""What `install` costs on each generation of the SDKs: pairs of servers in the environments of `make matrix`.

Asked in alternating blocks over stdio, as tools/bench_server.py does, and measured by the time that the server's
process computes, which a busy machine hardly changes. Every case is measured once more with no logging at all, in both
servers: the handlers of the SDKs take as long for a line as the rest of a call does, the bare server writes none about
a failure on 1.x and a whole traceback on 2.x. A generation's figure is the geometric mean of its servers and failures,
each of which is told as well; the exit code is 1 when one is above 1.05 for a success or 1.25 for a failure, with the
logging that there is by default.

    python tools/bench_generations.py [ROW ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Final

from bench_server import APP, Server, compare
from matrix import ROWS, Row, build, python_of

CALLS: Final = 100
FEWEST: Final = 5
SECONDS: Final = 0.5
ROUNDS: Final = 11
SUCCESS_ROUNDS: Final = 31  # a bar of five per cent needs a sharper measure
CASES: Final = (
    ("success", "add", {"a": 1, "b": 2}, 1.05),
    ("a rejected value", "reject", {"a": 1}, 1.25),
    ("a crash", "crash", {"a": 1}, 1.25),
    ("wrong arguments", "add", {"a": "x"}, 1.25),
)
# The low-level server of either generation, with the tools of the others.
LOWLEVEL: Final = """
import asyncio, logging, sys
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
guarded = sys.argv[2]
number = {"type": "integer"}
schemas = {"add": {"a": number, "b": number}, "crash": {"a": number}, "reject": {"a": number}}

def answered(name, arguments):
    if name == "crash":
        return {}[arguments["a"]]
    if name == "reject":
        raise ValueError("a must be even")
    return str(arguments["a"] + arguments["b"])

def tools(Tool):
    schema = lambda name: {"type": "object", "properties": schemas[name], "required": list(schemas[name])}
    return [Tool.model_validate({"name": name, "inputSchema": schema(name)}) for name in schemas]

try:
    import mcp_types as types
except ImportError:
    import mcp.types as types
    server = Server("bench")

    @server.list_tools()
    async def listed():
        return tools(types.Tool)

    @server.call_tool()
    async def called(name, arguments):
        return [types.TextContent(type="text", text=answered(name, arguments))]
else:
    async def listed(ctx, params):
        return types.ListToolsResult(tools=tools(types.Tool))

    async def called(ctx, params):
        text = answered(params.name, params.arguments)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    server = Server("bench", on_list_tools=listed, on_call_tool=called)

if guarded.startswith("failwell"):
    from failwell.server import install
    install(server)
if guarded.endswith("silent"):
    logging.disable(logging.CRITICAL)

async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""


class Computing(Server):
    """A server of which the time is counted that it computes."""

    def _computed(self) -> int:
        """Nanoseconds that its threads have run."""
        threads = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((each / "schedstat").read_text().split()[0]) for each in threads)

    def block(self, tool: str, arguments: dict[str, Any]) -> float:
        before, began, calls = self._computed(), time.monotonic(), 0
        # The newer SDK draws a box around every traceback, which takes longer than a hundred calls.
        while calls < CALLS and (calls < FEWEST or time.monotonic() - began < SECONDS):
            self.ask("tools/call", {"name": tool, "arguments": arguments})
            calls += 1
        return (self._computed() - before) / calls / 1e9


def against(row: Row, server: str, logging: str, tool: str, arguments: dict[str, Any], rounds: int) -> Sequence[float]:
    """How many times the bare server's time one with `install` takes, and the bare server's microseconds."""
    app = LOWLEVEL if server == "lowlevel" else APP
    first, second = (Computing(server, guarded + logging, python_of(row), app) for guarded in ("failwell", "none"))
    return compare(first, second, tool, arguments, rounds)


def main() -> int:
    chosen = sys.argv[1:]
    pairs = [(row, server) for row in ROWS for server in row.servers if not chosen or row.name in chosen]
    for row in dict.fromkeys(row for row, _ in pairs):
        build(row)
    print(f"{'':24} {'':18}    bare   ratio        without any logging", flush=True)
    found: dict[tuple[str, float], list[float]] = {}
    for row, server in pairs:
        for name, tool, arguments, limit in CASES:
            rounds = SUCCESS_ROUNDS if name == "success" else ROUNDS
            ratio, micros = against(row, server, "", tool, arguments, rounds)
            silent, quiet = against(row, server, "-silent", tool, arguments, rounds)
            told = f"{micros:5.0f} µs {ratio:5.2f}  {quiet:5.0f} µs {silent:5.2f}"
            found.setdefault((row.name, limit), []).append(ratio)
            print(f"{row.name + ' ' + server:24} {name:18} {told}{f'  above {limit:g}' * (ratio > limit)}", flush=True)
    missed = 0
    for (row_name, limit), ratios in found.items():
        mean = geometric_mean(ratios)
        missed += mean > limit
        what = "success" if limit < 1.1 else "failures"
        print(f"{row_name:24} {what + ', the mean':24} {mean:5.2f}  (bar {limit:g}){'  MISSED' * (mean > limit)}")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
