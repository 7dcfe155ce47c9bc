"""What `failwell check` finds on the pairs that it was not written with: `python tests/check/heldout/held.py [NAME …]`.

First a client that knows only lines of JSON sees that each server does what is said of it. Ends with 1 if one does not, or
if a rule is right in less than 95 of 100 cases.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

import raw
from grading import Tally
from held_pairs import PAIRS, HeldPair

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check

_AT_A_TIME: Final = 4
_BAR: Final = 0.95


def shown(pair: HeldPair, bad: bool) -> bool:
    """Whether one of the two does, before a client that knows nothing of rules, what is said of it."""
    with tempfile.TemporaryDirectory() as folder, raw.shop(pair.faults) as url:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": folder, "METERS_URL": url}
        talk = raw.Talk(pair.command(bad), env, Path(folder))
        try:
            seen = talk.see(pair.ask)
            if pair.faults and not seen.answer:  # Its service was slower than two requests.
                seen = replace(seen, lines=(*seen.lines, *talk.until("never", 3)[0]))
            return bool(pair.shows(seen))
        finally:
            talk.close()


def looked_at(pair: HeldPair, bad: bool, era: str = "auto") -> CheckReport:
    options = CheckOptions(
        allow_writes=pair.writes,
        faults=bool(pair.faults),
        base_urls=("METERS_URL",) if pair.faults else (),
        era=era,
        # As patient as the command is, and more: what a busy machine takes to start is no finding.
        waits=Waits(start=90, call=10),
    )
    return check(CheckTarget(pair.command(bad)), options)


def main(names: Sequence[str]) -> int:
    chosen = [pair for pair in PAIRS if not names or pair.name in names]
    started = time.monotonic()
    both = [(pair, bad) for pair in chosen for bad in (True, False)]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        proven = pool.map(lambda one: shown(*one) is one[1], both)
        unproven = [one for one, is_proven in zip(both, proven, strict=True) if not is_proven]
        reports = list(pool.map(lambda one: looked_at(*one), both))
    table = _tallied(chosen, reports[::2], reports[1::2])
    print(f"\n{'rule':36} pairs  precision  recall")
    for rule, tally in sorted(table.items()):
        print(f"{rule:36} {tally.found + tally.missed:5}  {tally.precision:9.2f}  {tally.recall:6.2f}")
    found, mistaken = (sum(getattr(tally, what) for tally in table.values()) for what in ("found", "mistaken"))
    print(f"\n{len(chosen)} pairs, {found} defects found, {mistaken} on a twin, {time.monotonic() - started:.0f} s")
    for pair, bad in unproven:
        print(f"WRONG {pair.name} {'--bad' if bad else '--good'} is not what it says")
    return int(bool(unproven) or any(min(tally.precision, tally.recall) < _BAR for tally in table.values()))


def _tallied(pairs: Sequence[HeldPair], bad: Sequence[CheckReport], good: Sequence[CheckReport]) -> dict[str, Tally]:
    table: dict[str, Tally] = defaultdict(Tally)
    for pair, worse, better in zip(pairs, bad, good, strict=True):
        there, still = (
            {(each.rule, each.tool, each.message) for each in report.findings} for report in (worse, better)
        )
        more, less = {rule for rule, _, _ in there - still}, {rule for rule, _, _ in still - there}
        for rule in pair.rules:
            table[rule].found += rule in more
            table[rule].missed += rule not in more
            table[rule].mistaken += rule in less and rule not in more
        missed = ", ".join(f"missed {rule}" for rule in pair.rules if rule not in more)
        print(f"{pair.name:24} bad {worse.score:3} good {better.score:3}  {missed}")
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
