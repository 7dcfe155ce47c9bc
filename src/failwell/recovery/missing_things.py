"""What is missing, by the words of a failure: what was sent, or something that belongs to it.

"Invoice inv_1 not found" says that the call was wrong. "Receipt for inv_1 not found" says that something was met in the
middle of the work, and so do "EUR rate not found", though "EUR" was sent, "Failed to update CRM: invoice inv_1 not
found" and "Invoice inv_1 not found in the archive". So each word has to be one of the call's own, or one that says
nothing: one that nobody knows may be about anything, and then nothing is said of what was done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from failwell.model import forms, words_of

from .called_words import CalledWords, called_words
from .plain_words import AT_LENGTH, BEFORE, IN_NAMED, LACKING, PLAIN
from .validators import places_of

_MOST: Final = 10_000
# As much as anybody says about one thing that is missing.
_FAR: Final = 400
# What is shorter than that has no address and no phrase in it that could be said in fewer words.
_SHORT: Final = 24
_END: Final = re.compile(r"[.;!?](?=\s|$)|\n")
_STOP: Final = re.compile(r"[:.;!?](?=\s)|\n")
_JOINTS: Final = frozenset("_.@+~%-")
# What stands around a value without a space may make another name of it: receipt-inv_1.pdf.
_NAME_AFTER: Final = re.compile(r"[\w@+~%/-]{0,200}(?:\.[\w@+~%/-]{1,200}){0,9}", re.ASCII)
_HELD: Final = re.compile(r"[^\s'\"`(=,;<>]{1,300}/$")
_WITHIN: Final = re.compile(r"\b(table|relation|view|collection)[: ]{1,2}[\"'`]?([\w-]{1,64}\.)$", re.IGNORECASE)
_BESIDE: Final = re.compile(r"[\"'`”’]?\s?\([^()]{1,40}\)")
_NO_STEP: Final = re.compile(r"v?\d[\d.]{0,9}|api|rest|", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"https?://\S{1,300}")
_QUESTION: Final = re.compile(r"\A\?\S{0,300}")
_OPERATION: Final = re.compile(
    r"An error occurred \([\w.]{1,80}\) when calling the (\w{1,80}) operation(?: \([^()]{1,60}\))?: "
)
# The subject of it, where no value is told: channel_not_found, "No such bucket".
_SUBJECT: Final = re.compile(
    r"\b([a-z]{2,40})(?:[ _]id)?[ _-](?:(?:was|is|could|does|did|can) ?)?"
    r"(?:not[ _-]?(?:be )?(?:found|exist)|n['’]t exist)"
    r"|(?:no such|unknown|not find(?: the| an?)?(?: specified| requested)?) ([a-z]{2,40})\b",
    re.IGNORECASE,
)


def names_missing(text: str, tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether words about something that is missing name what was sent as that."""
    text = text[: 2 * _FAR]
    if (operation := _OPERATION.search(text)) is not None:
        if not _is_own(operation[1], tool):
            return False
        text = text[: operation.start()] + text[operation.end() :]
    told, call, is_told = text.lower(), called_words(tool, tuple(arguments)), False
    if len(text) > _SHORT:
        text = AT_LENGTH.sub(_in_short, text)
        told = text.lower()
    for value, name in _sent(arguments):
        for at in places_of(value, told):
            is_told = True
            if not call.makes(name) and _is_missing(text, at, value, call, arguments):
                return True
    return not is_told and _is_told_of(text, call, arguments)


def _in_short(told: re.Match[str]) -> str:
    return " not found " if told[1] else ""


def _is_own(operation: str, tool: str) -> bool:
    """Whether an operation of a service is what the tool does: DeleteBucket, of delete_bucket."""
    known = {form for word in words_of(tool) for form in forms(word)}
    return all(not known.isdisjoint(forms(word)) for word in words_of(operation))


def _sent(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each text and number that was sent, in small letters, and the argument that it stands in."""
    left: list[tuple[Any, str]] = [(value, name) for name, value in arguments.items()]
    seen = 0
    while left and seen < _MOST:
        value, name = left.pop()
        seen += 1
        if isinstance(value, str):
            if told := value.strip().lower():
                yield told, name
        elif isinstance(value, Mapping):
            left.extend((each, name) for each in value.values())
        elif isinstance(value, list):
            left.extend((each, name) for each in value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield str(value).lower(), name


def _is_missing(text: str, at: int, value: str, call: CalledWords, arguments: Mapping[str, Any]) -> bool:
    """Whether what was sent, and stands here, is all that the words are about."""
    end = at + len(value)
    alone = _alone(text[:at], text[end : end + _FAR], call, arguments) if at <= _FAR else None
    if alone is None:
        return False
    before, after = alone
    ending = _END.search(after)
    after, rest = (after, "") if ending is None else (after[: ending.start()], after[ending.end() :])
    clause = _clause(before)
    if (clause or rest) and LACKING.search(before, clause) is None and LACKING.search(after) is None:
        # "Receipt not found: inv_1" tells before what is missing.
        if LACKING.search(before) is None:
            return False
        clause = 0
    if "://" in after or " in" in after:
        after = IN_NAMED.sub("", _ADDRESS.sub("", after))
    return (
        (not clause or call.knows(words_of(before[:clause]), BEFORE, value, arguments, is_lead=True))
        and call.knows(words_of(before[clause:]), BEFORE, value, arguments)
        and call.knows(words_of(after), PLAIN, value, arguments)
    )


def _clause(text: str) -> int:
    """Where the last clause of a text begins."""
    at = 0
    for stop in _STOP.finditer(text):
        at = stop.end()
    return at


def _alone(before: str, after: str, call: CalledWords, arguments: Mapping[str, Any]) -> tuple[str, str] | None:
    """What stands around a value that is a name by itself, or the last one of a path; None around any other."""
    is_address = False
    if before.endswith("/"):
        held = _HELD.search(before)
        if held is not None:
            is_address = "://" in held[0]
            if not _is_held(held[0], is_address, call, arguments):
                return None
            before = before[: held.start()]
    elif before and (before[-1] in _JOINTS or (before[-1].isascii() and before[-1].isalnum())):
        within = _WITHIN.search(before)
        if within is None or not call.is_about(within[1].lower()):
            return None
        before = before[: within.start(2)]
    more = _NAME_AFTER.match(after)
    assert more is not None
    if more[0]:
        if more[0] != "/" and not (is_address and call.is_made(more[0][1:].lower())):
            return None
        after = after[more.end() :]
    if is_address:
        after = _QUESTION.sub("", after, count=1)
    if "(" in after and (beside := _BESIDE.match(after)) is not None and LACKING.search(beside[0]) is None:
        after = after[beside.end() :]
    return before, after


def _is_held(path: str, is_address: bool, call: CalledWords, arguments: Mapping[str, Any]) -> bool:
    """Whether what is before a value in a path is no other thing: /receipts/inv_1 is the receipt."""
    steps = path.lower().split("://")[-1].split("/")[:-1]
    sent = {value for value, _ in _sent(arguments)}
    for step in reversed(steps[1:] if is_address else steps):
        if step not in sent and not _NO_STEP.fullmatch(step):
            return call.is_about(step) if is_address else call.may_hold(step)
    return True


def _is_told_of(text: str, call: CalledWords, arguments: Mapping[str, Any]) -> bool:
    """Whether the words name, by its noun alone, what one of the arguments stands for."""
    if len(text) > _FAR:
        return False
    nouns = {(found[1] or found[2]).lower() for found in _SUBJECT.finditer(text)}
    told = [noun for noun in nouns if call.is_argument(noun)]
    if len(told) != 1 or not all(noun in told or noun in PLAIN for noun in nouns):
        return False
    text = _ADDRESS.sub(" ", text)
    clause = _clause(text)
    return call.knows(words_of(text[:clause]), BEFORE, "", arguments, is_lead=True) and call.knows(
        words_of(text[clause:]), PLAIN, "", arguments
    )
