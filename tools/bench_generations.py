"""What `install` costs on each generation of the SDKs: pairs of servers in the environments of `make matrix`.

Asked in alternating blocks over stdio, as tools/bench_server.py does, and measured by the time that the server's
process computes, which a busy machine hardly changes. Failures are measured once more without the line of Failwell's in
the log: what is between the two is the handler that the SDK has put there. The exit code is 1 when a bar is missed:
1.05 for a success, 1.25 for a failure.

    python tools/bench_generations.py [ROW ...]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from bench_server import Server, compare
from matrix import ROWS, Row, build, python_of

CALLS: Final = 150
ROUNDS: Final = 15
SUCCESS_ROUNDS: Final = 41  # a bar of five per cent needs a sharper measure
CASES: Final = (
    ("success", "add", {"a": 1, "b": 2}, 1.05),
    ("a rejected value", "reject", {"a": 1}, 1.25),
    ("a crash", "crash", {"a": 1}, 1.25),
    ("wrong arguments", "add", {"a": "x"}, 1.25),
)


class Computing(Server):
    """A server of which the time is counted that it computes."""

    def _computed(self) -> int:
        """Nanoseconds that its threads have run."""
        threads = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((each / "schedstat").read_text().split()[0]) for each in threads)

    def block(self, tool: str, arguments: dict[str, Any]) -> float:
        before = self._computed()
        for _ in range(CALLS):
            self.ask("tools/call", {"name": tool, "arguments": arguments})
        return (self._computed() - before) / CALLS / 1e9


def against(row: Row, ours: str, tool: str, arguments: dict[str, Any], rounds: int) -> tuple[float, float]:
    first, second = (Computing(row.servers[0], guarded, python_of(row)) for guarded in (ours, "none"))
    return compare(first, second, tool, arguments, rounds)


def main() -> int:
    chosen = sys.argv[1:]
    missed = 0
    for row in (each for each in ROWS if not chosen or each.name in chosen):
        build(row)
        for name, tool, arguments, limit in CASES:
            ratio, micros = against(row, "failwell", tool, arguments, SUCCESS_ROUNDS if name == "success" else ROUNDS)
            line = f"{row.name:14} {name:18} {micros:7.0f} µs  {ratio:5.2f}  (bar {limit:g})"
            if name != "success":
                line += f"  without the line in the log {against(row, 'unlogged', tool, arguments, ROUNDS)[0]:.2f}"
            missed += ratio > limit
            print(line + ("" if ratio <= limit else "  MISSED"), flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
