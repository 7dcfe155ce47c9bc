"""What the contract behind a wire format says about making a call again: each format tells, and `decide` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Form:
    """What counts as the peer's own word in a form. One that says nothing leaves everything to the error."""

    flagged: bool = False
    """Whether a flag that says that the call may be made again is the form's own, not carried beside it."""
    ruled: frozenset[str] = frozenset()
    """The codes that the contract itself has repeated, so that they need no flag."""
    final: bool = False
    """Whether the form says `recoverable`, and no means that it is in vain."""
    asks: bool = False
    """Whether the contract has the user act wherever it says that the call is not to be made again."""
    relayed: bool = False
    """Whether it is said by a server that has looked at its tool, so that being quoted is no mere word on the way."""
    plans: bool = False
    """Whether the form says by a strategy what to do, so that nothing else is to be made of its kind."""
    first_delay: float | None = None
    """The first wait in seconds, if the contract names one."""


FORMS: Final[dict[str, Form]] = {}
FIRST_DELAYS: Final[dict[str, float]] = {}
SILENT: Final = Form()


def tell(name: str, form: Form) -> None:
    """Make known what a format says, under the name that its errors have as their `format`."""
    FORMS[name] = form
    if form.first_delay is not None:
        FIRST_DELAYS[name] = form.first_delay


def form_of(name: str | None) -> Form:
    """What the format of that name says; nothing for one that nobody knows."""
    return FORMS.get(name or "", SILENT)
