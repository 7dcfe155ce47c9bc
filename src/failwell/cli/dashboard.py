"""`failwell dashboard`: recoveries, unknown outcomes, the worst failures, in the browser."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from .io import Commands, Stop, interruptible
from .store_source import DEFAULT_STORE, add_store, read_store

TOKEN_VARIABLE = "FAILWELL_DASHBOARD_TOKEN"


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "dashboard",
        help="see in the browser what failed, and whether agents got through",
        description="Serves a page on this machine that shows what a store of events holds. It changes nothing.",
    )
    add_store(parser)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen; other than this machine asks for a token")
    parser.add_argument("--port", type=int, default=8791, help="8791 by default; 0 for any that is free")
    parser.add_argument(
        "--name", action="append", default=[], metavar="HOST", help="a further name of it, behind a proxy"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    from failwell.dashboard import serve

    reading = read_store(options.store, is_empty_fine=True)
    store = options.store if reading is None else reading.url
    if reading is not None:
        reading.close()
    token = os.environ.get(TOKEN_VARIABLE) or None
    if token is not None and len(token) < 16:
        raise Stop(f"{TOKEN_VARIABLE} is a token of 16 characters or more")
    given = {"host": options.host, "port": options.port, "token": token, "names": options.name}
    try:
        with interruptible():
            serve(options.store, **given, store=store or DEFAULT_STORE, say=lambda line: print(line, flush=True))
    except OverflowError:
        raise Stop(f"there is no port {options.port}; name one from 0 to 65535") from None
    except OSError as problem:
        raise Stop(f"cannot listen on {options.host}:{options.port}: {problem.strerror or problem}") from None
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 0
