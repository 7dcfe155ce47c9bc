"""The numbers that tell how agents fare: what each means, and its card on the overview."""

from __future__ import annotations

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

    delays = whole.delays_us + whole.delays_client
    return [
        Card(
            "Recovered",
            share(whole.recovery_rate),
            f"{count(whole.recovered)} of {count(whole.failed)} failures, {after_words(whole)}"
            if whole.failed
            else "nothing has failed",
            tone(whole.recovery_rate, 0.7, 0.4),
            query.address("/codes"),
            [part.recovery_rate for part in series],
            MEANS["recovery"],
            moved(old.recovery_rate, whole.recovery_rate),
        ),
        Card(
            "First retry works",
            share(whole.first_retry),
            f"{count(whole.retried_ok)} of {count(whole.retried)}",
            tone(whole.first_retry, 0.6, 0.3),
            query.address("/codes"),
            [part.first_retry for part in series],
            MEANS["first_retry"],
            moved(old.first_retry, whole.first_retry),
        ),
        Card(
            "Outcome unknown",
            count(doubts.open),
            f"{count(doubts.looked)} looked at, {count(doubts.repeated)} repeated all the same",
            "poor" if doubts.open else "good",
            query.address("/unknown"),
            means=MEANS["unknown"],
            moved=rarer(doubts.open, old_doubts.open),
        ),
        Card(
            "Double effects prevented",
            count(whole.prevented),
            "writes that were not made twice",
            "good" if whole.prevented else "",
            query.address("/tools"),
            [part.prevented for part in series],
            MEANS["prevented"],
        ),
        Card(
            "Delays obeyed",
            share(whole.obeyed),
            f"{count(whole.obeyed_us)} of {count(whole.delays_us)} by us, "
            f"{count(whole.obeyed_client)} of {count(whole.delays_client)} by clients"
            if delays
            else "no failure named one",
            tone(whole.obeyed, 0.9, 0.6),
            None,
            [part.obeyed for part in series],
            MEANS["obeyed"],
            moved(old.obeyed, whole.obeyed),
        ),
        Card(
            "Drift",
            share(whole.drift),
            f"{count(whole.undeclared)} failures with a code that is not declared"
            if whole.declared + whole.undeclared
            else "no tool declares its codes",
            "" if whole.drift is None else "good" if not whole.drift else "fair",
            query.address("/drift"),
            [part.drift for part in series],
            MEANS["drift"],
            moved(old.drift, whole.drift, better=-1),
        ),
        Card(
            "Loops",
            count(whole.loops),
            f"{count(whole.loop_calls)} calls, {duration(whole.loop_seconds)}, about {count(whole.loop_tokens)} tokens"
            if whole.loops
            else "no call was made in vain again and again",
            "poor" if whole.loops else "good",
            query.address("/failures"),
            [part.loops for part in series],
            MEANS["loops"],
            rarer(whole.loops, old.loops),
        ),
        Card(
            "Failure rate",
            share(whole.failure_rate),
            f"{count(whole.failed)} of {count(whole.calls)} calls",
            "",
            query.address("/tools"),
            [part.failure_rate for part in series],
            MEANS["failure_rate"],
            moved(old.failure_rate, whole.failure_rate, better=-1),
        ),
    ]


def after_words(numbers: Numbers) -> str:
    if not numbers.recovered:
        return "never"
    return f"{share(numbers.after[0] / numbers.recovered)} of these by the next call"
