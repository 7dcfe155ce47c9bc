"""`failwell dashboard`, `report`, `tail` and `resolve`: what a store of events tells, and what an operator tells it."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from .io import Commands, Stop, interruptible, print_json, stop_on, write_file

if TYPE_CHECKING:
    from failwell.observe import EventKeeper, Reading

STORE_VARIABLE: Final = "FAILWELL_EVENTS"
DEFAULT_STORE: Final = "sqlite:///events.db"
TOKEN_VARIABLE: Final = "FAILWELL_DASHBOARD_TOKEN"


def register(commands: Commands) -> None:
    parser = _add(commands, "dashboard", dashboard, "see in the browser what failed, and whether agents got through")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen; other than this machine asks for a token")
    parser.add_argument("--port", type=int, default=8791, help="8791 by default; 0 for any that is free")
    parser.add_argument(
        "--name", action="append", default=[], metavar="HOST", help="a further name of it, behind a proxy"
    )
    parser = _add(commands, "report", report, "what failed and whether agents got through, as text, HTML or JSON")
    parser.add_argument("--since", default="7d", metavar="TIME", help="24h, 7d, 2026-11-17; 7d by default")
    parser.add_argument("--until", default="", metavar="TIME", help="now by default")
    for name in ("server", "client", "tool"):
        parser.add_argument(f"--{name}", default="", metavar="NAME", help=f"of this {name} alone")
    parser.add_argument("--html", metavar="FILE", help="write one page that needs nothing else; - is standard output")
    parser.add_argument("--json", action="store_true", help="for programs, on standard output")
    told = "exit with 1 where this holds: 'recovery<0.5', 'in-doubt>0', 'failure-rate>5%%', 'loops>10'"
    parser.add_argument("--fail-on", action="append", default=[], metavar="LIMIT", help=told)
    parser = _add(commands, "tail", tail, "follow the calls that a store is told of")
    parser.add_argument("--last", type=int, default=10, metavar="N", help="begin with so many that were there before")
    parser.add_argument("--failed", action="store_true", help="failures alone")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--no-follow", action="store_true", help="end after those that are there")
    parser = commands.add_parser("resolve", help="say what became of a call in doubt, which ends its hold")
    parser.add_argument("id", metavar="ID", help="of the page of calls in doubt, or the id that the user was told")
    parser.add_argument("word", choices=["done", "not-done"], help="what became of the call")
    _add_store(parser, resolve)
    parser.add_argument("--state", metavar="FILE|URL", help="end the hold in this store of keys, as in wrap --state")


def _add(commands: Commands, name: str, run: Any, text: str) -> ArgumentParser:
    parser: ArgumentParser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    return _add_store(parser, run)


def _add_store(parser: ArgumentParser, run: Any) -> ArgumentParser:
    default = os.environ.get(STORE_VARIABLE) or DEFAULT_STORE
    told = f"the store's address; {DEFAULT_STORE} unless {STORE_VARIABLE} says otherwise"
    parser.add_argument("store", nargs="?", default=default, metavar="STORE", help=told)
    parser.set_defaults(run=run)
    return parser


def dashboard(options: Namespace) -> int:
    from failwell.dashboard import serve
    from failwell.observe import BadStore, address_of

    with stop_on(BadStore):
        address_of(options.store)
    try:
        with closing(_read(options.store)) as reading:
            store = reading.url
    except Stop as stop:
        # It may be made later.
        if not str(stop).startswith("there "):
            raise
        store = options.store
    token = os.environ.get(TOKEN_VARIABLE) or None
    if token is not None and len(token) < 16:
        raise Stop(f"{TOKEN_VARIABLE} is a token of 16 characters or more")
    given = {"host": options.host, "port": options.port, "token": token, "names": options.name}
    try:
        with interruptible():
            serve(options.store, **given, store=store, say=lambda line: print(line, flush=True))
    except OverflowError:
        raise Stop(f"there is no port {options.port}; name one from 0 to 65535") from None
    except OSError as problem:
        raise Stop(f"cannot listen on {options.host}:{options.port}: {problem.strerror or problem}") from None
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 0


def report(options: Namespace) -> int:
    from failwell.dashboard import BadLimit, BadTime, Query, broken, limit_of, report_data, report_document, report_text
    from failwell.observe import BadStore

    with stop_on(BadTime, BadLimit):
        query = Query.of({name: getattr(options, name) for name in ("since", "until", "server", "client", "tool")})
        limits = [limit_of(text) for text in options.fail_on]
    with closing(_read(options.store)) as reading, stop_on(BadStore):
        if options.html is not None:
            write_file(options.html, report_document(reading, query))
        if options.json:
            print_json(report_data(reading, query))
        elif options.html is None:
            print(report_text(reading, query))
        found = broken(limits, reading, query)
    for limit, value in found:
        print(f"failwell: {limit} holds: it is {value:g}", file=sys.stderr)
    return 1 if found else 0


def tail(options: Namespace) -> int:
    from failwell.dashboard import line_of
    from failwell.observe import BadStore

    with closing(_read(options.store)) as reading, interruptible(), stop_on(BadStore):
        last = reading.before_latest(max(0, options.last), failed=options.failed)
        while True:
            rows = reading.after(last)
            for row in rows:
                last = row["id"]
                if row["failed"] or not options.failed:
                    print(json.dumps(row) if options.json else line_of(row), flush=True)
            if not rows:
                if options.no_follow:
                    return 0
                time.sleep(0.5)


def resolve(options: Namespace) -> int:
    from failwell.idempotency import StoreUnusable, open_store
    from failwell.observe import BadStore, Database, address_of, keyed_hash
    from failwell.observe import resolve as resolve_call

    with stop_on(BadStore, StoreUnusable, ImportError), closing(_read(options.store)):
        # Servers and relays keep theirs apart.
        spaces = () if options.state is None else ("keys", "relay")
        holds = [open_store(options.state, namespace=namespace) for namespace in spaces]
        with closing(Database(address_of(options.store))) as database:
            key, call = database.key, resolve_call(database, options.id, is_done=options.word == "done")
        for each in holds:
            each.end_holds(lambda held: keyed_hash(held, key) == call.print)
            each.close()
    print(f"{call.tool}, call {call.id}: {options.word.replace('-', ' ')}")
    return 0


def open_events(url: str, no_messages: bool) -> EventKeeper:
    """The store at an address, to write to."""
    from failwell.observe import BadStore, store

    with stop_on(BadStore):
        found: EventKeeper = store(url, messages=False) if no_messages else store(url)
    return found


def _read(url: str) -> Reading:
    """The store at an address, to read from."""
    from failwell.observe import BadStore, Reading, address_of

    with stop_on(BadStore):
        address_of(url)
        return Reading.of(url)
