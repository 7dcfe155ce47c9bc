"""Five thousand calls of tools that really raise after they really did something, held against what they wrote down.

A call that may have done something is never made twice, and is never said to have done nothing. Beside it, what others
do on the same calls. The exit code is 1 when something does not hold.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from ledger_real import LANES, PEER_LANES, REPEAT_LANES, Lane, run, run_repeats, shares
from ledger_real_check import TWICE, WHATS, Tally, Wrong
from ledger_real_clients import PEERS
from soak_ledger import table

_HEADINGS = ["calls", "succeeded", "recovered", "owed", *WHATS, "ran", "seconds"]


def main() -> int:
    asked = _asked()
    print(f"seed {asked.seed}", flush=True)
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.at_a_time, mp_context=context) as pool:
        runs = {
            lane: pool.submit(run, lane, f"{asked.seed} {lane}", share)
            for lane, share in zip(LANES, shares(asked.calls), strict=True)
            if asked.lanes in str(lane) and share
        }
        whole = Tally()
        rows: list[list[object]] = [["real tools", *_HEADINGS]]
        for lane, future in runs.items():
            tally = future.result()
            rows.append([lane, *_row(tally)])
            whole.add(tally)
        rows.append(["all", *_row(whole)])
        print(table(rows))
        print("\n".join(f"{what}: {meaning}" for what, meaning in WHATS.items()))
        print(f"{whole.calls} calls met {len(whole.met)} kinds of trouble; {whole.excused} were excused.", flush=True)
        _causes(whole)
        _samples(whole.wrong, asked.show)
        failed = bool(whole.wrong)
        if asked.peers:
            failed |= _peers(pool, asked.seed, asked.peers)
        if asked.repeated:
            failed |= _repeats(pool, asked.seed, asked.repeated, asked.show)
    verdict = "something does not hold" if failed else "all of it holds"
    print(f"seed {asked.seed}, {time.monotonic() - began:.0f} s: {verdict}")
    return 1 if failed else 0


def _asked() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5_000, help="of Failwell (default: 5000)")
    parser.add_argument("--peers", type=int, default=300, help="for the comparison, of each client; 0 for none")
    parser.add_argument("--repeated", type=int, default=300, help="writes whose agents repeat them; 0 for none")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="the same seed, the same calls")
    parser.add_argument("--at-a-time", type=int, default=2, help="how many processes make calls (default: 2)")
    parser.add_argument("--lanes", default="", help="only the lanes that have this in their name")
    parser.add_argument("--show", type=int, default=3, help="samples of each thing that does not hold")
    return parser.parse_args()


def _row(tally: Tally) -> list[object]:
    wrong = Counter(each.what for each in tally.wrong)
    figures = [tally.calls, tally.succeeded, tally.recovered, tally.owed]
    return [*figures, *(wrong[what] for what in WHATS), tally.ran, round(tally.seconds)]


def _causes(whole: Tally) -> None:
    """What does not hold, by what the calls met."""
    found = Counter((each.job.family, each.what) for each in whole.wrong)
    families = Counter(family for family, _ in found.elements())
    if not families:
        return
    rows: list[list[object]] = [["by what they met", "calls", *WHATS]]
    rows += [
        [family, whole.met[family], *(found[family, what] for what in WHATS)] for family, _ in families.most_common()
    ]
    print(table(rows), flush=True)


def _samples(wrong: Sequence[Wrong], show: int) -> None:
    for what in WHATS:
        # The shortest of each family first: it is the easiest to make again.
        first = {each.job.family: each for each in sorted(wrong, key=lambda one: -len(str(one))) if each.what == what}
        for each in list(first.values())[:show]:
            print(f"WRONG {str(each)[:600]}")


def _peers(pool: ProcessPoolExecutor, seed: int, calls: int) -> bool:
    names = ["Failwell Recovering", *PEERS]
    runs = {
        name: [pool.submit(run, Lane(server, name), f"{seed} peers {server}", calls // 2) for server in PEER_LANES]
        for name in names
    }
    rows: list[list[object]] = [["the same calls for each", *_HEADINGS]]
    failed = False
    for name, futures in runs.items():
        tally = Tally()
        for future in futures:
            tally.add(future.result())
        rows.append([name, *_row(tally)])
        failed |= bool(tally.wrong) if name == names[0] else name == "repeat everything" and not tally.count(TWICE)
    print(table(rows), flush=True)
    return failed


def _repeats(pool: ProcessPoolExecutor, seed: int, calls: int, show: int) -> bool:
    share = max(1, calls // len(REPEAT_LANES))
    runs = {lane: pool.submit(run_repeats, lane, f"{seed} repeats {lane}", share) for lane in REPEAT_LANES}
    failed = False
    for lane, future in runs.items():
        figures = future.result()
        print(f"{lane}: {figures}", *(f"WRONG {each}" for each in figures.wrong[:show]), sep="\n", flush=True)
        failed |= bool(figures.wrong)
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
