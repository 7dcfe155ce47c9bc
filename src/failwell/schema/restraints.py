"""Arguments that restrain a call: whoever drops one does more than was asked for."""

from __future__ import annotations

from typing import Final

from failwell.model import snake

# What whoever sends an argument with one of these words in its name counts on: that nothing is done in earnest, that
# less is done than without it, that something is done only when it is confirmed.
_RESTRAINTS: Final = {
    **dict.fromkeys(
        "dry dryrun simulate simulation preview safe readonly test validate draft noop rollback".split(), "trial"
    ),
    **dict.fromkeys("limit max maximum only until before".split(), "less"),
    **dict.fromkeys("confirm confirmed confirmation".split(), "confirmed"),
}


def restraint(name: str) -> str | None:
    """Which restraint an argument of this name promises: `trial`, `less` or `confirmed`; None for any other."""
    return next((kind for word in snake(name[:200]).split("_") if (kind := _RESTRAINTS.get(word))), None)
