"""Whether `failwell check` tells bad failures from good ones: every planted defect and its mended twin, on every server.

    python tests/check/whole.py [--part PART] [NAME …]

First a client that knows only lines of JSON sees that each server does what is claimed of it. Then the checker grades them: the pairs
on their own framework, on the other two, in TypeScript, over HTTP; the servers that are no pairs; and those that behave badly. A part of
it alone is one of own, mcpserver, lowlevel, fastmcp, http, others and rough.
Ends with 1 if a rule is right in less than 95 of 100 cases, or a server brings the checker down.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import nasty
import raw
from grading import RULES, Pair, at, graded, report_of, tallies
from http_twins import NASTY, WALL, wall
from ts_twins import TS_TWINS, ts_command
from twins import TWINS, Twin

from failwell.check import CheckOptions, CheckTarget, Waits, check

BAR: Final = 0.95
_FRAMEWORKS: Final = ("mcpserver", "lowlevel", "fastmcp")
_OWN: Final = ("pydantic", "pydantic-fastmcp", "raising", "raising-fastmcp", "raising-mcpserver", "internal-prompts", "takes-anything",
               "takes-typos", "takes-anything-reading", "internal-error", "bad-request", "reserved", "says-hiccup")  # fmt: skip
"""Defects that are one framework's own, or that another one would not let through."""
_AT_A_TIME: Final = 8


def main(names: Sequence[str], part: str | None = None) -> int:
    chosen = [twin for twin in (*TWINS, *TS_TWINS) if not names or twin.name in names]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, raw.nursery(Path(folder)) as door:
        wrong = [*_unproven(chosen, door)] if part in (None, "own") else []
        pairs = [pair for _, more in _graded(chosen, door, part) for pair in more]
        wrong += _table(pairs)
        if not names and part in (None, "others"):
            wrong += _others(door)
        if not names and part in (None, "rough"):
            wrong += _rough()
    print(f"\n{len(pairs)} pairs, {time.monotonic() - started:.0f} s")
    for line in wrong:
        print(f"WRONG {line}")
    return 1 if wrong else 0


def _unproven(chosen: Sequence[Twin], door: Path) -> Iterator[str]:
    """The servers that do not do what is claimed of them."""

    def seen(one: tuple[Twin, bool]) -> bool:
        twin, bad = one
        command = ts_command(twin.name, bad) if twin in TS_TWINS else raw.command_of(twin.name, bad, door)
        return bool(twin.shows(raw.observed(twin, command, bad))) is bad

    asked = [(twin, bad) for twin in chosen for bad in (True, False)]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        for (twin, bad), shown in zip(asked, pool.map(seen, asked), strict=True):
            if not shown:
                yield f"{twin.name} {'--bad' if bad else '--good'} is not what it says"


def _graded(chosen: Sequence[Twin], door: Path, part: str | None) -> Iterator[tuple[str, list[Pair]]]:
    if part in (None, "own"):
        yield _told("its own server", graded(chosen, at(door), at_a_time=_AT_A_TIME))
    for on in _FRAMEWORKS:
        if part not in (None, on):
            continue
        moved = [twin for twin in chosen if twin in TWINS and twin.on != on and twin.name not in _OWN]
        target = lambda twin, bad, on=on: CheckTarget(raw.command_of(twin.name, bad, door, on))  # noqa: E731
        yield _told(f"on {on}", graded(moved, target, at_a_time=_AT_A_TIME))
    if part not in (None, "http"):
        return
    with wall() as url:
        listening = [twin for twin in chosen if twin.name in WALL]
        target = lambda twin, bad: CheckTarget(url=f"{url}/{twin.name}/{'bad' if bad else 'good'}/mcp")  # noqa: E731
        yield _told("over HTTP", graded(listening, target, at_a_time=_AT_A_TIME))


def _told(where: str, pairs: list[Pair]) -> tuple[str, list[Pair]]:
    print(f"\n{where}: {len(pairs)} pairs")
    for pair in pairs:
        if pair.missed or pair.mistaken or not RULES[pair.twin.name]:
            print(
                f"  {pair.twin.name:24} bad {pair.bad.score:3} good {pair.good.score:3}  missed {pair.missed}  mistaken {pair.mistaken}"
            )
    return where, pairs


def _table(pairs: Sequence[Pair]) -> Iterator[str]:
    print(f"\n{'rule':36} pairs  precision  recall")
    for rule, tally in tallies(pairs).items():
        print(f"{rule:36} {tally.found + tally.missed:5}  {tally.precision:9.2f}  {tally.recall:6.2f}")
        if min(tally.precision, tally.recall) < BAR:
            yield f"{rule}: precision {tally.precision:.2f}, recall {tally.recall:.2f}"
    for pair in pairs:
        if not RULES[pair.twin.name]:
            yield f"{pair.twin.name}: no rule is about it"


def _others(door: Path) -> Iterator[str]:
    bars: dict[str, tuple[int, int]] = {"plain": (85, 100)}
    for on in _FRAMEWORKS:
        bars |= {f"twenty --on {on}": (0, 84), f"twenty --on {on} --installed": (95, 100)}
    print(f"\n{'server':36} score  seconds")
    for name, (least, most) in bars.items():
        report = report_of(name.split(), door)
        print(f"{name:36} {report.score:5}  {report.to_dict()['duration_s']:7.1f}")
        if not least <= report.score <= most:
            yield f"{name}: {report.score}, not between {least} and {most}"


def _rough() -> Iterator[str]:
    """The servers that behave badly: each ends in a report."""
    with wall() as url, tempfile.TemporaryDirectory() as folder:
        here = str(raw.HERE / "nasty.py")
        targets = {name: CheckTarget([sys.executable, here, name, f"{folder}/{name}"]) for name in nasty.NASTY}
        targets |= {f"http {kind}": CheckTarget(url=f"{url}/nasty/{kind}") for kind in NASTY}
        waits = CheckOptions(waits=Waits(start=8, call=3))
        print(f"\n{'server that behaves badly':28} score  seconds  reason, or the first finding")
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            looks = {name: pool.submit(check, target, waits) for name, target in targets.items()}
            for name, look in looks.items():
                try:
                    report = look.result().to_dict()
                except Exception as exc:
                    yield f"{name}: {exc!r}"
                    continue
                first = next((finding["message"] for finding in report["findings"]), "")
                print(
                    f"{name:28} {report['score']!s:>5}  {report['duration_s']:7.1f}  {(report['reason'] or first)[:90]}"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("own", *_FRAMEWORKS, "http", "others", "rough"))
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    sys.exit(main(asked.names, asked.part))
