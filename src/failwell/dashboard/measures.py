"""The numbers that tell how agents fare: what each means, and its card on the overview."""

from __future__ import annotations

from typing import Any, Final

from failwell.observe import Numbers

from .query import Query
from .view import Card
from .words import count, duration, share

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


def overview_cards(whole: Numbers, doubts: Any, parts: list[tuple[int, Numbers]], query: Query) -> list[Card]:
    series = [part for _, part in parts]

    def tone(value: float | None, good: float, fair: float) -> str:
        return "" if value is None else "good" if value >= good else "fair" if value >= fair else "poor"

    delays = whole.delays_us + whole.delays_client
    return [
        Card(
            "Recovered",
            share(whole.recovery_rate),
            f"{count(whole.recovered)} of {count(whole.failed)} failures, {_after(whole)}",
            tone(whole.recovery_rate, 0.7, 0.4),
            query.address("/codes"),
            [part.recovery_rate for part in series],
            MEANS["recovery"],
        ),
        Card(
            "First retry works",
            share(whole.first_retry),
            f"{count(whole.retried_ok)} of {count(whole.retried)}",
            tone(whole.first_retry, 0.6, 0.3),
            query.address("/codes"),
            [part.first_retry for part in series],
            MEANS["first_retry"],
        ),
        Card(
            "Outcome unknown",
            count(doubts.open),
            f"{count(doubts.looked)} looked at, {count(doubts.repeated)} repeated all the same",
            "poor" if doubts.open else "good",
            query.address("/unknown"),
            means=MEANS["unknown"],
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
        ),
        Card(
            "Loops",
            count(whole.loops),
            f"{count(whole.loop_calls)} calls, {duration(whole.loop_seconds)}, about {count(whole.loop_tokens)} tokens",
            "poor" if whole.loops else "good",
            query.address("/failures"),
            [part.loops for part in series],
            MEANS["loops"],
        ),
        Card(
            "Calls",
            count(whole.calls),
            f"{share(whole.failure_rate)} failed",
            "",
            query.address("/sessions"),
            [part.calls for part in series],
            MEANS["failure_rate"],
        ),
    ]


def _after(numbers: Numbers) -> str:
    if not numbers.recovered:
        return "none at once"
    return f"{share(numbers.after[0] / numbers.recovered)} of these by the next call"
