"""The ledger through the relay: nothing lost, nothing done twice, every answer true, no process left over."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from relay_ledger import run


def test_calls_to_a_server_that_dies_freezes_and_breaks_off() -> None:
    tally = run(7, 80, faulty=0.2, killed=0.05)
    assert tally.wrong == []
    assert tally.left == 0
    assert tally.calls == 80
    assert tally.worked > 20
    assert tally.said["unknown"] > 0
