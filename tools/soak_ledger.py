"""Ten thousand calls of agents whose server fails at every point, held against the ledger of what was really done.

No write may be done twice, nothing may be said that is not so, and everything must succeed that can. Beside it, what
the retries of others do with the same faults. The exit code is 1 when something does not hold.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, Final

import ledger_keys
import ledger_once
from ledger_check import Tally
from ledger_clients import PEERS
from ledger_run import LANES, Lane, run, run_repeats

_SHOWN: Final = 10
_COLUMNS: Final[dict[str, Callable[[Tally], object]]] = {
    "calls": lambda tally: tally.calls,
    "succeeded": lambda tally: tally.succeeded,
    "recovered": lambda tally: tally.recovered,
    "had to, and did not": lambda tally: tally.lost,
    "done twice": lambda tally: tally.twice,
    "lies": lambda tally: tally.lies,
    "hung, cancelled": lambda tally: tally.hung + tally.aborted,
    "on the wire": lambda tally: tally.arrived,
    "seconds": lambda tally: round(tally.seconds),
}
_ONCE_COLUMNS: Final = ("calls", "sent", "rounds", "writes", "done", "twice")
_KEY_COLUMNS: Final = ("calls", "succeeded", "recovered", "unknown", "unfinished", "twice", "lies", "lost")


def table(rows: Sequence[Sequence[object]]) -> str:
    """Rows, the first one the headings, in columns of Markdown."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in texts) for column in range(len(texts[0]))]
    lines = [
        "| " + " | ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in cells) + " |"
        for cells in (enumerate(zip(row, widths, strict=True)) for row in texts)
    ]
    rule = "|" + "|".join("-" * (width + 1) + (":" if place else "-") for place, width in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def main() -> int:
    asked = _asked()
    print(f"seed {asked.seed}", flush=True)
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.at_a_time, mp_context=context) as pool:
        share = max(1, asked.calls // len(LANES))
        lanes = {lane: pool.submit(run, lane, f"{asked.seed} {lane}", share) for lane in LANES}
        failed = _lanes(lanes)
        print(f"{share * len(LANES)} calls in {time.monotonic() - began:.0f} s", flush=True)
        if asked.peers:
            failed |= _peers(pool, asked.seed, asked.peers)
        failed |= _keys(pool, asked.seed, asked.keyed)
        failed |= _repeats(pool, asked.seed, asked.repeated)
        failed |= _once(pool, asked.seed, asked.denied)
    verdict = "something does not hold" if failed else "all of it holds"
    print(f"seed {asked.seed}, {time.monotonic() - began:.0f} s: {verdict}")
    return 1 if failed else 0


def _asked() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000, help="of Failwell's client (default: 10000)")
    parser.add_argument("--peers", type=int, default=500, help="for the comparison, of each client; 0 for none")
    parser.add_argument("--keyed", type=int, default=400, help="on the server with idempotency keys")
    parser.add_argument("--repeated", type=int, default=400, help="writes whose agents repeat them")
    parser.add_argument("--denied", type=int, default=1_600, help="to a server that does a call and then denies it")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="the same seed, the same faults")
    parser.add_argument("--at-a-time", type=int, default=2, help="how many processes make calls (default: 2)")
    return parser.parse_args()


def _lanes(lanes: dict[Lane, Future[Tally]]) -> bool:
    whole = Tally()
    rows: list[list[object]] = [["Failwell Recovering", *_COLUMNS]]
    for lane, future in lanes.items():
        tally = future.result()
        rows.append([lane, *(show(tally) for show in _COLUMNS.values())])
        whole.add(tally)
    rows.append(["all", *(show(whole) for show in _COLUMNS.values())])
    print(table(rows))
    print(
        f"{sum(whole.met.values())} faults of {len(whole.met)} kinds met.\n"
        f"{whole.owed} calls had to succeed; {whole.excused} more, had another call not killed their server.\n"
        f"{whole.unknown} ended unknown; {whole.verified} of them were looked up with the call that the error names."
    )
    return _complain(whole.wrong + [f"left behind: {what}" for what in whole.left])


def _peers(pool: ProcessPoolExecutor, seed: int, calls: int) -> bool:
    runs = {
        name: [
            pool.submit(run, Lane(transport, peer=name), f"{seed} peers", calls // 2) for transport in ("stdio", "http")
        ]
        for name in PEERS
    }
    rows: list[list[object]] = [["the same faults for each", *_COLUMNS]]
    wrong: list[str] = []
    for name, futures in runs.items():
        tally = Tally()
        for future in futures:
            tally.add(future.result())
        rows.append([name, *(show(tally) for show in _COLUMNS.values())])
        if name.startswith("Failwell"):
            wrong += tally.wrong
        elif name == "repeat everything" and not tally.twice:
            wrong.append("a client that repeats everything was not caught")
    print(table(rows), flush=True)
    return _complain(wrong)


def _keys(pool: ProcessPoolExecutor, seed: int, calls: int) -> bool:
    ways = [(kind, mode) for kind in ("mcp", "fastmcp") for mode in ("auto", "legacy")]
    rows: list[list[object]] = [["plain writes", *_KEY_COLUMNS]]
    wrong: list[str] = []
    for keys in (True, False):
        futures = [
            pool.submit(ledger_keys.run, f"{seed}", max(1, calls // 4), keys=keys, kind=kind, mode=mode)
            for kind, mode in ways
        ]
        figures = ledger_keys.Figures()
        for future in futures:
            figures.add(future.result())
        wrong += figures.wrong
        name = "with idempotency keys" if keys else "without"
        rows.append([name, *(getattr(figures, column) for column in _KEY_COLUMNS)])
    print(table(rows), flush=True)
    return _complain(wrong)


def _repeats(pool: ProcessPoolExecutor, seed: int, calls: int) -> bool:
    lanes = [
        Lane(transport, "auto", client, shared=True) for transport in ("stdio", "http") for client in ("mcp", "fastmcp")
    ]
    runs = {lane: pool.submit(run_repeats, lane, f"{seed} repeats {lane}", calls // len(lanes)) for lane in lanes}
    wrong: list[str] = []
    for lane, future in runs.items():
        figures = future.result()
        print(f"{lane}: {figures}", flush=True)
        wrong += figures.wrong
    return _complain(wrong)


def _once(pool: ProcessPoolExecutor, seed: int, calls: int) -> bool:
    whole = ledger_once.Once()
    rows: list[list[object]] = [["done, then denied", *_ONCE_COLUMNS]]
    runs = [(lane, agents) for lane in ledger_once.LANES for agents in (1, 4)]
    futures = [
        pool.submit(ledger_once.run, lane, f"{seed} {lane}", -(-calls // len(runs)), agents) for lane, agents in runs
    ]
    for (lane, agents), future in zip(runs, futures, strict=True):
        tally = future.result()
        rows.append([f"{lane}, {agents} at a time", *(getattr(tally, column) for column in _ONCE_COLUMNS)])
        whole.add(tally)
    rows.append(["all", *(getattr(whole, column) for column in _ONCE_COLUMNS)])
    print(table(rows), flush=True)
    return _complain(whole.wrong)


def _complain(wrong: list[str]) -> bool:
    for line in wrong[:_SHOWN]:
        print(f"WRONG {line}")
    if len(wrong) > _SHOWN:
        print(f"and {len(wrong) - _SHOWN} more")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
