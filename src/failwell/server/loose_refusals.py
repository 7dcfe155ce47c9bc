"""Whether what an author raised is about the call, where the tool may have written something before it.

`raise ValueError("amount must be positive")` speaks of an argument, and `raise LookupError("Invoice inv_1 not found")`
of what was sent. "Could not parse the bank's answer" and "Receipt for inv_1 not found" are raised in the same way after
the payment: whoever is told to correct the arguments, or to look for another invoice, pays twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from failwell.model import Kind, Nature, ToolError, forms, words_of
from failwell.readers import said
from failwell.recovery import names_missing, places_of, values_in
from failwell.schema import known_names

from .facts import Failed

_OF_CALLS: Final = frozenset({Kind.VALIDATION, Kind.NOT_FOUND})
_WRITES: Final = frozenset({Nature.WRITE, Nature.UNMARKED})
_LONGEST: Final = 2_000
_MOST_NAMES: Final = 1_000
# What a thing is called by, or measured in: `invoice_id` is the invoice, `amount_cents` the amount.
_SAYS_HOW: Final = frozenset(
    "id ids uuid key name names number no code ref reference slug value text cents usd eur seconds ms minutes hours"
    " days bytes percent".split()
)
# What may follow a name that is spoken of. Any other word makes something else of it: the template in "invoice
# template", the rate in "EUR rate".
_OF_IT: Final = frozenset(
    "is are was were be been must should shall may might can cannot could will would do does did has have had need"
    " needs not no never already too only also exceeds exceeded exceed lacks contains ends starts begins required"
    " missing invalid malformed unknown unsupported empty expired wrong out and or but nor so if when because since"
    " that which of for in on at to from with without by as than after before between below above under over".split()
)
_BELONGS: Final = frozenset({"for", "of", "from", "about", "behind"})
_SMALL: Final = frozenset("the a an your this that its was is are were not no found given sent passed".split())
# "Invalid value for amount"
_SAYS_NOTHING: Final = frozenset(
    "value values argument parameter field input format type length size range choice option error problem failed out"
    " invalid unsupported wrong bad missing required unknown limit maximum minimum instead because".split()
)
_NEAR: Final = 80
_FOLLOWING: Final = re.compile(r"(?P<whose>['’]s\b)|[^\w\s]|\s*$|\s+(?![^\W\d])|\s+(?P<word>\w+(?:['’]t)?)")


def is_loose(failed: Failed, nature: Nature, arguments: Mapping[str, Any]) -> bool:
    """Whether a plain exception refuses a call of a tool that may have written something, and does not speak of what
    was sent. A `ToolError` is its author's word, and so is a row of their table."""
    error = failed.outcome
    if not isinstance(error, ToolError) or isinstance(failed.raised, ToolError) or error.authored:
        return False
    is_known = error.standing != "quoted" or error.origin is not None or error.effect is not None
    if is_known or error.fields or error.kind not in _OF_CALLS or nature not in _WRITES:
        return False
    # A bare key is not told, and may be just what was sent.
    words, tool = said(failed.raised)[:_LONGEST], failed.tool.label
    if error.kind is Kind.NOT_FOUND:
        return not names_missing(words, tool, arguments)
    return not _names_argument(words, tool, {*known_names(failed.tool.schema), *_names_in(arguments)}, arguments)


def _names_argument(words: str, tool: str, names: Collection[str], arguments: Mapping[str, Any]) -> bool:
    """Whether words speak of an argument, by its name or by what was sent for it."""
    told = words.lower()
    # A number may be any number: a status, a line, an attempt.
    values = (value for value in values_in(arguments) if not value.replace(".", "").isdigit())
    known = {form for name in (tool, *names) for word in words_of(name) for form in forms(word)}
    return any(
        _is_spoken_of(told, at + len(each)) and not _is_of_another(told[:at], known)
        for each in {*values, *(spelling for name in names for spelling in _spellings(name))}
        for at in places_of(each, told)
    )


def _is_of_another(before: str, known: Collection[str]) -> bool:
    """Whether what stands before a name makes it that of something else: the receipt in "receipt for invoice"."""
    words = words_of(before[-_NEAR:])
    for back, word in enumerate(reversed(words[-3:]), 1):
        if word in _BELONGS:
            thing = next((each for each in reversed(words[:-back]) if each not in _SMALL), None)
            return thing is not None and thing not in _SAYS_NOTHING and forms(thing).isdisjoint(known)
    return False


def _spellings(name: str) -> Iterator[str]:
    """What people call an argument: `invoice_id`, "invoice id", "invoice". The last word of several is the thing."""
    words = words_of(name)
    yield from (name.lower(), " ".join(words))
    core = [word for word in words if word not in _SAYS_HOW]
    if core:
        yield from (*forms(core[-1]), f"{core[-1]}s")


def _is_spoken_of(text: str, end: int) -> bool:
    found = _FOLLOWING.match(text, end)
    if found is None or found["whose"]:
        return False
    word = found["word"]
    return word is None or word in _OF_IT or word.endswith(("n't", "n’t"))


def _names_in(arguments: object) -> set[str]:
    """The names of all that was sent, inside of objects too."""
    names: set[str] = set()
    left = [arguments]
    while left and len(names) < _MOST_NAMES:
        held = left.pop()
        if isinstance(held, Mapping):
            names.update(name for name in held if isinstance(name, str))
            left.extend(held.values())
        elif isinstance(held, list):
            left.extend(held)
    return names
