"""The numbers that tell how agents fare: what each means, and its card on the overview."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from failwell.observe import Numbers

from .figures import count, duration, share
from .query import Query
from .view import Card, Cell, Column, Sheet

MEANS: Final = {
    "recovery": "The share of failed calls after which one of the next five calls of the tool in the session worked.",
    "first_retry": "The share of first repetitions of a failed call, with the same arguments, that worked.",
    "unknown": "Failed calls that may have been done, and nobody has looked since.",
    "prevented": "Calls that may have been done and were not made again, or were answered from what was kept.",
    "obeyed": "The share of delays that a failure named after which the next call came no earlier.",
    "drift": "The share of failures whose code the tool does not declare, of those of tools that declare any.",
    "loops": "The same call, failing in the same way three times or more in a session; the cost is from the third on.",
    "failure_rate": "The share of calls that failed.",
}
"""The numbers, each in one sentence: the documentation has the same."""


NAMES: Final = {
    "recovery": "Recovered",
    "first_retry": "First retry works",
    "unknown": "Outcome unknown",
    "prevented": "Double effects prevented",
    "obeyed": "Delays obeyed",
    "drift": "Drift",
    "loops": "Loops",
    "failure_rate": "Failure rate",
}


def moved(old: float | None, new: float | None, *, better: int = 1, is_share: bool = True) -> tuple[str, str]:
    """How a number has changed, in words, and whether that is good."""
    if old is None or new is None:
        return "", "soft"
    change = new - old
    size = abs(change) * (100 if is_share else 1)
    if size < 0.05:
        return "same", "soft"
    said = f"{'▲' if change > 0 else '▼'} {size:.1f}{' points' if is_share else ''}"
    return said, "good" if change * better > 0 else "poor"


def per_thousand(value: float, numbers: Numbers) -> float | None:
    """How many in a thousand calls."""
    return 1000 * value / numbers.calls if numbers.calls else None


def meanings_sheet() -> Sheet:
    """What each number means, for those who cannot point at it."""
    rows = [(Cell(NAMES[name]), Cell(sentence)) for name, sentence in MEANS.items()]
    return Sheet("meanings", "What the numbers mean", (Column("number"), Column("meaning")), rows)


def overview_cards(
    whole: Numbers, doubts: Any, parts: list[tuple[int, Numbers]], query: Query, old: Numbers, old_doubts: Any
) -> list[Card]:
    """The numbers, and how they have changed."""
    series = [part for _, part in parts]

    def rarer(new: float, before: float) -> tuple[str, str]:
        said, tone = moved(per_thousand(before, old), per_thousand(new, whole), better=-1, is_share=False)
        return said if said in ("", "same") else f"{said} per 1 000 calls", tone

    def tone(value: float | None, good: float, fair: float) -> str:
        return "" if value is None else "good" if value >= good else "fair" if value >= fair else "poor"

    def card(name: str, value: str, note: str, tone: str = "", path: str = "", **more: Any) -> Card:
        address = query.address(path) if path else None
        return Card(NAMES[name], value, note, tone, address, means=MEANS[name], **more)

    def rate(of: Callable[[Numbers], float | None], better: int = 1) -> dict[str, Any]:
        return {"series": [of(part) for part in series], "moved": moved(of(old), of(whole), better=better)}

    w = whole
    is_delayed, is_declaring = w.delays_us + w.delays_client, w.declared + w.undeclared
    return [
        card(
            "recovery",
            share(w.recovery_rate),
            f"{count(w.recovered)} of {count(w.failed)} failures, {after_words(w)}"
            if w.failed
            else "nothing has failed",
            tone(w.recovery_rate, 0.7, 0.4),
            "/codes",
            **rate(lambda numbers: numbers.recovery_rate),
        ),
        card(
            "first_retry",
            share(w.first_retry),
            f"{count(w.retried_ok)} of {count(w.retried)}",
            tone(w.first_retry, 0.6, 0.3),
            "/codes",
            **rate(lambda numbers: numbers.first_retry),
        ),
        card(
            "unknown",
            count(doubts.open),
            f"{count(doubts.looked)} looked at, {count(doubts.repeated)} repeated all the same",
            "poor" if doubts.open else "good",
            "/unknown",
            moved=rarer(doubts.open, old_doubts.open),
        ),
        card(
            "prevented",
            count(w.prevented),
            "writes that were not made twice",
            "good" if w.prevented else "",
            "/tools",
            series=[part.prevented for part in series],
        ),
        card(
            "obeyed",
            share(w.obeyed),
            f"{count(w.obeyed_us)} of {count(w.delays_us)} by us, "
            f"{count(w.obeyed_client)} of {count(w.delays_client)} by clients"
            if is_delayed
            else "no failure named one",
            tone(w.obeyed, 0.9, 0.6),
            **rate(lambda numbers: numbers.obeyed),
        ),
        card(
            "drift",
            share(w.drift),
            f"{count(w.undeclared)} failures with a code that is not declared"
            if is_declaring
            else "no tool declares its codes",
            "" if w.drift is None else "good" if not w.drift else "fair",
            "/drift",
            **rate(lambda numbers: numbers.drift, -1),
        ),
        card(
            "loops",
            count(w.loops),
            f"{count(w.loop_calls)} calls, {duration(w.loop_seconds)}, about {count(w.loop_tokens)} tokens"
            if w.loops
            else "no call was made in vain again and again",
            "poor" if w.loops else "good",
            "/failures",
            series=[part.loops for part in series],
            moved=rarer(w.loops, old.loops),
        ),
        card(
            "failure_rate",
            share(w.failure_rate),
            f"{count(w.failed)} of {count(w.calls)} calls",
            path="/tools",
            **rate(lambda numbers: numbers.failure_rate, -1),
        ),
    ]


def after_words(numbers: Numbers) -> str:
    if not numbers.recovered:
        return "never"
    return f"{share(numbers.after[0] / numbers.recovered)} of these by the next call"
