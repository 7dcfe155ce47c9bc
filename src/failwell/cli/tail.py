"""`failwell tail`: calls as they come, on a terminal."""

from __future__ import annotations

import json
import time
from argparse import Namespace

from .io import Commands, Stop, interruptible
from .store_source import add_store, read_store


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "tail",
        help="follow the calls that a store is told of",
        description="Prints the latest calls of a store, and each one that comes after them.",
    )
    add_store(parser)
    parser.add_argument("--last", type=int, default=10, metavar="N", help="begin with so many that were there before")
    parser.add_argument("--failed", action="store_true", help="failures alone")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--no-follow", action="store_true", help="end after those that are there")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    from failwell.dashboard import line_of
    from failwell.observe import BadStore

    reading = read_store(options.store)
    assert reading is not None
    with interruptible():
        try:
            last = reading.before_latest(max(0, options.last), failed=options.failed)
            while True:
                rows = reading.after(last)
                for row in rows:
                    last = row["id"]
                    if not (options.failed and row["ok"]):
                        print(json.dumps(row) if options.json else line_of(row), flush=True)
                if not rows:
                    if options.no_follow:
                        return 0
                    time.sleep(0.5)
        except BadStore as problem:
            raise Stop(str(problem)) from None
        finally:
            reading.close()
