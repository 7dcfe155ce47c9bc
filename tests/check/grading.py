"""What `failwell check` finds on the pairs, and how well that tells them apart."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from raw import HERE, LEGACY, command_of
from ts_twins import TS_TWINS, ts_command
from twins import TWINS, Twin

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check

RULES: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(rules) for name, rules in json.loads(Path(__file__).with_name("twins.json").read_text()).items()
}
"""Which rules of the checker are about the defect of a pair."""
_WAITS: Final = Waits(start=20, call=3)


@dataclass(frozen=True)
class Pair:
    """What was found on the two."""

    twin: Twin
    bad: CheckReport
    good: CheckReport

    @property
    def missed(self) -> list[str]:
        """The rules that say nothing of the one that they do not say of the other."""
        more = _said(self.bad) - _said(self.good)
        return [rule for rule in RULES[self.twin.name] if rule not in {found for found, _, _ in more}]

    @property
    def mistaken(self) -> list[str]:
        """The rules that are broken by the mended one, where the other keeps them."""
        more = {each[:2] for each in _said(self.good)} - {each[:2] for each in _said(self.bad)}
        return [rule for rule in RULES[self.twin.name] if rule in {found for found, _ in more}]


def _said(report: CheckReport) -> set[tuple[str, str | None, str]]:
    return {(finding.rule, finding.tool, finding.message) for finding in report.findings}


def options(twin: Twin, era: str = "auto") -> CheckOptions:
    return CheckOptions(
        allow_writes="--allow-writes" in twin.options,
        faults="--faults" in twin.options,
        base_urls=("BOOKS_URL",) if "--faults" in twin.options else (),
        era=era if twin.era == LEGACY else "auto",
        waits=_WAITS,
    )


Target = Callable[[Twin, bool], CheckTarget]


def at(door: Path) -> Target:
    """The servers as processes that the nursery starts; those in TypeScript start by themselves."""

    def target(twin: Twin, bad: bool) -> CheckTarget:
        return CheckTarget(ts_command(twin.name, bad) if twin in TS_TWINS else command_of(twin.name, bad, door))

    return target


def graded(twins: Iterable[Twin], target: Target, *, era: str = "auto", at_a_time: int = 8) -> list[Pair]:
    """The pairs, each of the two checked by itself. Pairs with the same mended server have it checked once."""
    wanted = list(twins)
    looks: dict[object, Future[CheckReport]] = {}
    with ThreadPoolExecutor(at_a_time) as pool:

        def look(twin: Twin, bad: bool) -> Future[CheckReport]:
            same = twin.name if bad or twin in TS_TWINS else (twin.good, twin.on, twin.options)
            if (same, bad) not in looks:
                looks[same, bad] = pool.submit(check, target(twin, bad), options(twin, era))
            return looks[same, bad]

        both = [(twin, look(twin, True), look(twin, False)) for twin in wanted]
        return [Pair(twin, bad.result(), good.result()) for twin, bad, good in both]


def report_of(arguments: list[str], door: Path, era: str = "auto") -> CheckReport:
    """Of a server of `others.py`."""
    command = [sys.executable, "-I", str(HERE / "nursery.py"), str(door), *arguments]
    return check(CheckTarget(command), CheckOptions(era=era))


@dataclass
class Tally:
    """How often a rule was right about the pairs that it is about."""

    found: int = 0
    missed: int = 0
    mistaken: int = 0

    @property
    def recall(self) -> float:
        return self.found / (self.found + self.missed)

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.mistaken) if self.found + self.mistaken else 0.0


def tallies(pairs: Sequence[Pair]) -> dict[str, Tally]:
    """Per rule, over the pairs whose defect is its own."""
    table: dict[str, Tally] = defaultdict(Tally)
    for pair in pairs:
        for rule in RULES[pair.twin.name]:
            table[rule].missed += rule in pair.missed
            table[rule].found += rule not in pair.missed
            table[rule].mistaken += rule in pair.mistaken
    return dict(sorted(table.items()))


__all__ = ["RULES", "TS_TWINS", "TWINS", "Pair", "Tally", "at", "graded", "options", "report_of", "tallies"]
