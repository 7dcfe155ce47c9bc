"""What `failwell check` finds on the pairs that it was not written with: `python tests/check/heldout/held.py [NAME …]`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))

import raw
from held_pairs import PAIRS, HeldPair

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check

_AT_A_TIME: Final = 4


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
        waits=Waits(start=20, call=5),
    )
    return check(CheckTarget(pair.command(bad)), options)


def main(names: Sequence[str]) -> int:
    chosen = [pair for pair in PAIRS if not names or pair.name in names]
    started = time.monotonic()
    both = [(pair, bad) for pair in chosen for bad in (True, False)]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        unproven = [
            f"{pair.name} {bad}"
            for (pair, bad), seen in zip(both, pool.map(lambda one: shown(*one), both), strict=True)
            if seen is not bad
        ]
        reports = dict(
            zip([(pair.name, bad) for pair, bad in both], pool.map(lambda one: looked_at(*one), both), strict=True)
        )
    rules = {key: {finding.rule for finding in report.findings} for key, report in reports.items()}
    found: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    mistaken: Counter[str] = Counter()
    for pair in chosen:
        bad, good = rules[pair.name, True], rules[pair.name, False]
        for rule in pair.rules:
            found[rule] += rule in bad
            missed[rule] += rule not in bad
            mistaken[rule] += rule in good
        print(f"{pair.name:24} bad {reports[pair.name, True].score!s:>4} good {reports[pair.name, False].score!s:>4}"
              f"  missed {[r for r in pair.rules if r not in bad]}  mistaken {[r for r in pair.rules if r in good]}  also {sorted(bad - good - set(pair.rules))}")  # fmt: skip
    print(f"\n{'rule':36} pairs  precision  recall")
    for rule in sorted({rule for pair in chosen for rule in pair.rules}):
        named = found[rule] + mistaken[rule]
        print(
            f"{rule:36} {found[rule] + missed[rule]:5}  {found[rule] / named if named else 0:9.2f}  {found[rule] / (found[rule] + missed[rule]):6.2f}"
        )
    total, wrong = sum(found.values()), sum(mistaken.values())
    print(
        f"\n{len(chosen)} pairs, {total} of {total + sum(missed.values())} defects found, {wrong} on a mended twin, {time.monotonic() - started:.0f} s"
    )
    for line in unproven:
        print(f"UNPROVEN {line}")
    return 1 if unproven else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
