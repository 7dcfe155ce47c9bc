"""Five thousand calls through `failwell wrap`, to a server that is killed, frozen and cut off.

The exit code is 1 if any answer is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time

from relay_ledger import run, run_repeats


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=5_000)
    parser.add_argument("--repeated", type=int, default=100, help="writes whose agents repeat them")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    began = time.monotonic()
    print(f"seed {asked.seed}", flush=True)
    tally = run(asked.seed, asked.calls, faulty=0.03, killed=0.003)
    said = ", ".join(f"{count} {effect}" for effect, count in sorted(tally.said.items()))
    print(f"{tally.calls} calls, {tally.worked} worked; of the others: {said}; {time.monotonic() - began:.0f} seconds")
    print("\n".join(tally.wrong[:20]) or "nothing lost, nothing done twice, every answer true")
    print(f"{tally.left} processes left over")
    repeats = run_repeats(asked.seed, asked.repeated)
    print(repeats, *repeats.wrong[:20], sep="\n")
    return bool(tally.wrong or tally.left or repeats.wrong)


if __name__ == "__main__":
    sys.exit(main())
