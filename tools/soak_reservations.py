"""Fifty agents on the reservations example for a minute, with a database that is locked every now and then.

No reservation may be held by two, and none may be lost. The exit code is 1 when that does not hold.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import anyio

sys.path += [str(Path(__file__).parents[1] / name) for name in ("tests", "tests/examples")]

from test_reservations import crowd

AGENTS = 50
SECONDS = 60.0


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        counts = anyio.run(crowd, Path(folder), AGENTS, seconds)
    print(f"{AGENTS} agents, {seconds:g} s: {', '.join(f'{count} {name}' for name, count in counts.items())}")
    return 1 if counts["twice"] or counts["lost"] or not counts["granted"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
