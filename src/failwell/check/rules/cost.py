"""What a failure costs whoever has to read it."""

from __future__ import annotations

from typing import Final

from failwell.check import exposures
from failwell.check.observation import Observation

from .rule import CheckRule, Judged

_INSTALL: Final = "failwell.server.install(server)"
# Characters; a token of English is about four.
_MANY: Final = 2_000
_FAR_TOO_MANY: Final = 20_000


def short(seen: Observation) -> Judged:
    if not seen.failed or seen.kind == "huge":
        return None
    size = sum(map(len, seen.blocks))
    if size <= _MANY:
        return True
    return f"The failure has {size:,} characters, about {size // 4:,} tokens; {_MANY // 4} are plenty."


def no_flood(seen: Observation) -> Judged:
    if (
        seen.probe.method != "tools/call"
        or seen.reply.state != "answered"
        or not (seen.failed or seen.reply.message is None)
    ):
        return None
    size = sum(map(len, seen.blocks)) if seen.reply.message is not None else seen.reply.size
    return True if size <= _FAR_TOO_MANY else f"The text of a failed call has {size:,} characters."


def no_page(seen: Observation) -> Judged:
    if not seen.failed:
        return None
    return "The failure is a page of HTML." if exposures.is_page(seen.text) else True


def no_echo(seen: Observation) -> Judged:
    if seen.kind != "huge" or not seen.failed:
        return None
    if "failwell " * 200 in seen.text:
        return "The failure repeats a very long argument that it was sent."
    return True


RULES: Final = (
    CheckRule(
        "cost.length",
        "medium",
        4,
        "A failure is short",
        "The length of the text of every failure, against 500 tokens.",
        "Every token of a failure is paid again with each later turn of the conversation.",
        _INSTALL,
        "One sentence that says what is wrong, and one that says what to do.",
        short,
    ),
    CheckRule(
        "cost.flood",
        "high",
        4,
        "A failure is no flood",
        "Failures of more than 20,000 bytes.",
        "It drives the task itself out of the model's context.",
        _INSTALL,
        "Cut what you pass on from others to a few hundred characters.",
        no_flood,
        most=79,
    ),
    CheckRule(
        "cost.page",
        "medium",
        3,
        "A failure is no web page",
        "HTML in the text of a failure.",
        "A page costs fifty times what its one sentence does.",
        _INSTALL,
        "Read the status and the title, and pass on neither markup nor scripts.",
        no_page,
    ),
    CheckRule(
        "cost.echo",
        "low",
        2,
        "A long argument is not sent back",
        "Failures of calls with an argument of 20,000 characters.",
        "The caller knows what it sent.",
        _INSTALL,
        "Quote at most the first fifty characters of a value.",
        no_echo,
    ),
)
