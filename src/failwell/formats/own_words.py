"""Sentences of our own about what somebody else did, and how they are known again when they come back as a peer's.

`Recovering` answers with them, a bridge reads them, and whoever answered nothing is told of with them: they are never
cited as what the peer said. They are closed: nothing that a peer writes fits into one but a name and a number.
"""

from __future__ import annotations

from functools import cache
from re import Match, Pattern, compile, escape
from string import Formatter
from typing import Final

from failwell.guards import CITATION, cited
from failwell.model import Kind

NOTHING_SAID: Final = "The tool failed and gave no reason."
ANSWERED: Final = "{service} answered {status}."
FAILED_BEFORE: Final = "Not called{for_now}: the same call failed {times}{alike}."
LEFT_ALONE: Final = "Not called: {tool} failed {times} in a row."
AND_NOT_CALLED: Final = "; it failed {times}{like_that}, and was not called this time"
AND_LEFT_ALONE: Final = "; {tool} failed {times} in a row, and was not called this time"
TOO_SOON: Final = "The same call has now failed {times}{alike}: calling sooner is no use."
AGAIN: Final = "The same call has now failed {times}{alike}{stopped}. {way_out}"
ALIKE: Final = " in the same way"
LIKE_THAT: Final = " like that"
STOPPED: Final = " and will not be made again{for_now}"
FOR_NOW: Final = " for {seconds} seconds"
TRIED: Final = "It was tried {times}."
LEFT_OPEN: Final = "What it did before that is not known: find that out first, or ask the user."
DONE_BEFORE: Final = "An earlier try, whose answer was lost, may have done it."
WAYS_OUT: Final = {
    Kind.VALIDATION: "Change {what} before you call it again.",
    Kind.NOT_FOUND: "Use another one, or look for it first.",
    Kind.CONFLICT: "Look at how things stand first.",
    Kind.PERMISSION: "Ask the user.",
    Kind.TRANSIENT: "Do something else meanwhile, or tell the user.",
    Kind.INTERNAL: "Do something else, or tell the user.",
}

_FIRST: Final = (NOTHING_SAID, ANSWERED, FAILED_BEFORE, LEFT_ALONE)
_BEGINNINGS: Final = tuple(each.partition("{")[0] for each in _FIRST if not each.startswith("{"))
_LAST: Final = (AND_NOT_CALLED, AND_LEFT_ALONE)
_STEPS: Final = (TOO_SOON, AGAIN, TRIED, DONE_BEFORE, LEFT_OPEN, *WAYS_OUT.values())
_SLOTS: Final = {
    "service": r"[A-Z][\w.:-]{0,60}(?: [\w.:-]{1,60}){0,3}",
    "status": r"[1-5][0-9]{2}(?: [A-Z][A-Za-z'-]{1,20}(?: [A-Za-z'-]{1,20}){0,5})?",
    "times": r"(?:once|twice|[0-9]{1,6} times)",
    "tool": r"[\w./:-]{1,128}",
    "seconds": r"[0-9.]{1,8}",
    "what": r"[\w.\[\]-]{1,100}(?:,? [\w.\[\]-]{1,100}){0,20}",
}

_OPTIONAL: Final = {"alike": ALIKE, "like_that": LIKE_THAT}


def attributed(message: str) -> str:
    """A peer's message with its words cited, and ours beside them."""
    if (found := _first(message)) is not None:
        rest = message[found.end() :].strip()
        return f"{found[0]} {_beside(rest)}" if rest else found[0]
    if "; " in message and (found := _any(_LAST).search(message)):
        return cited(message[: found.start()]) + found[0] if found.end() == len(message.rstrip(".")) else cited(message)
    return cited(message, lines=True)


def _first(message: str) -> Match[str] | None:
    """The sentence of ours that a message begins with."""
    # Told by as little as that takes: most are somebody else's.
    if not message.startswith(_BEGINNINGS) and " answered " not in message:
        return None
    return _any(_FIRST).match(message)


def _beside(rest: str) -> str:
    """What stands after a sentence of ours: a citation and more sentences of ours stay."""
    if (found := CITATION.match(rest)) and is_ours(rest[found.end() :].lstrip(". ")):
        return rest
    return cited(rest, lines=True)


def is_ours(words: str) -> bool:
    """Whether it is a sentence of ours, from beginning to end."""
    return _any((*_FIRST, *_STEPS)).fullmatch(words) is not None


@cache
def _any(templates: tuple[str, ...]) -> Pattern[str]:
    return compile("|".join(map(_source, templates)))


def _source(template: str) -> str:
    parts = []
    for text, slot, _, _ in Formatter().parse(template):
        parts.append(escape(text))
        if slot is not None:
            parts.append(_slot(slot))
    return "".join(parts)


def _slot(name: str) -> str:
    if name == "for_now":
        return f"(?:{_source(FOR_NOW)})?"
    if name in _OPTIONAL:
        return f"(?:{_OPTIONAL[name]})?"
    if name == "stopped":
        return f"(?:{_source(STOPPED)})?"
    if name == "way_out":
        return f"(?:{'|'.join(map(_source, (LEFT_OPEN, *WAYS_OUT.values())))})"
    return _SLOTS[name]
