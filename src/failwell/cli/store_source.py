"""What the commands share that take a store of events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from .io import Stop

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from failwell.observe import EventKeeper, Reading

STORE_VARIABLE: Final = "FAILWELL_EVENTS"
DEFAULT_STORE: Final = "sqlite:///events.db"


def add_store(parser: ArgumentParser) -> None:
    """The argument that names a store."""
    default = os.environ.get(STORE_VARIABLE) or DEFAULT_STORE
    parser.add_argument(
        "store",
        nargs="?",
        default=default,
        metavar="STORE",
        help=f"the store's address; {DEFAULT_STORE} unless {STORE_VARIABLE} says otherwise",
    )


def opened(url: str) -> EventKeeper:
    """The store at an address, to write to."""
    from failwell.observe import BadStore, store

    try:
        found: EventKeeper = store(url)
        return found
    except BadStore as problem:
        raise Stop(str(problem)) from None


def read_store(url: str, *, is_empty_fine: bool = False) -> Reading | None:
    """The store at an address, to read from; None of one that is not there yet, where that is fine."""
    from failwell.observe import BadStore, Reading, address_of

    try:
        address_of(url)
        return Reading.of(url)
    except BadStore as problem:
        if is_empty_fine and str(problem).startswith("there "):
            return None
        raise Stop(str(problem)) from None
