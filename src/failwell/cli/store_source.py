"""What the commands share that take a store."""

from __future__ import annotations

from typing import Any

from .io import Stop


def opened(url: str) -> Any:
    """The store at an address, to write to."""
    from failwell.observe import BadStore, store

    try:
        return store(url)
    except BadStore as problem:
        raise Stop(str(problem)) from None
