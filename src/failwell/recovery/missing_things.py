"""What is missing, by the words of a failure: what was sent, or something that belongs to it.

"Invoice inv_1 not found" says that the call was wrong. "Receipt for inv_1 not found" says that something was met in the
middle of the work, and so does "EUR rate not found", though "EUR" was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final

from failwell.model import forms, words_of

from .validators import places_of, values_in

# What stands around a value without a space may make another name of it: receipt-inv_1.pdf.
_NAME_BEFORE: Final = re.compile(r"[\w.@+~%-]*$", re.ASCII)
_NAME_AFTER: Final = re.compile(r"[\w@+~%/-]*(?:\.[\w@+~%/-]+)*", re.ASCII)
_HELD_BY: Final = re.compile(r"://[^\s/]+(?:/[^\s/]*)*/([a-z][a-z_-]{2,})/$")
_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*|[.,;:!?/(]")
_CLOSED: Final = "\"'`”’)]"
_VERBS: Final = r"(?:found|exists?|missing|available|configured|registered|known|gone)\b"
_THING: Final = re.compile(rf"((?: [\w'’-]+){{1,4}}?) {_VERBS}")
# "No EUR rate", "no active session for it".
_LACK: Final = frozenset({"no", "such", "missing", "unknown", "any", "without"})
_LACKED: Final = re.compile(r"((?: [\w'’-]+){1,2}?)(?=[.,;:!?)]|$| (?:for|in|on|at|of|from|with)\b)")
_OF: Final = frozenset({"for", "of", "from", "to", "on", "about", "in", "at", "within", "inside", "under", "behind"})
_LINKING: Final = frozenset(
    "was were is are be been being do does did could can cannot has have had not no never longer yet found find exist"
    " exists existing available known matching stored registered configured there any such but and or as because since"
    " with by that which who when while after before if then so".split()
)
# "failed to find inv_1"
_SEEKING: Final = frozenset(
    "find locate get load read open fetch retrieve resolve access look query delete update".split()
)
# They say no more than the value beside them does, or are no things at all.
_ANYTHING: Final = frozenset(
    "record entry entries item object resource entity document row result match thing id ids key name one nothing"
    " anything data value reference identifier number error failure problem lookup search request call response get"
    " post put patch delete http https status code client server anywhere here there now today url uri path the a an"
    " your this that these those it its".split()
)


def names_missing(text: str, tool: str, arguments: Mapping[str, Any]) -> bool:
    """Whether words about something that is missing name what was sent as that."""
    told, names = text.lower(), tuple(arguments)
    return any(
        _is_missing(told, at, value, tool, names) for value in values_in(arguments) for at in places_of(value, told)
    )


def _is_missing(text: str, at: int, value: str, tool: str, names: tuple[str, ...]) -> bool:
    before, after = text[max(0, at - 100) : at], text[at + len(value) : at + len(value) + 100]
    if not _is_whole(before, after):
        return False
    things = (_thing_before(before), _thing_after(before, after))
    return all(thing is None or _is_about(thing, value, tool, names) for thing in things)


def _is_whole(before: str, after: str) -> bool:
    """Whether the value is a name by itself, or the last one of a path."""
    more, less = _NAME_AFTER.match(after), _NAME_BEFORE.search(before)
    return (more is None or more[0] in ("", "/")) and (less is None or not less[0])


def _thing_before(before: str) -> str | None:
    """The receipt in "receipt for invoice …", and in "/receipts/…"."""
    if before.endswith("/"):
        held = _HELD_BY.search(before)
        return None if held is None else held[1]
    words: list[str] = _WORD.findall(before)
    for back in range(1, min(4, len(words) + 1)):
        word = words[-back]
        if not word[0].isalnum():
            return None
        if word in _OF and not (word == "to" and back > 1 and words[1 - back] in _SEEKING):
            thing = next((each for each in reversed(words[:-back]) if each not in _LINKING), None)
            return thing if thing is not None and thing[0].isalnum() else None
    return None


def _thing_after(before: str, after: str) -> str | None:
    """The rate in "EUR rate not found"."""
    rest = after[2:] if after.startswith(("'s ", "’s ")) else after.lstrip(_CLOSED)
    found = _THING.match(rest)
    if found is None and (words := _WORD.findall(before)) and words[-1] in _LACK:
        found = _LACKED.match(rest)
    if found is None:
        return None
    things = list(takewhile(lambda word: word not in _OF and not _is_linking(word), found[1].split()))
    return things[-1] if things else None


def _is_linking(word: str) -> bool:
    return word in _LINKING or word.endswith(("n't", "n’t"))


@lru_cache(256)
def _is_about(thing: str, value: str, tool: str, names: tuple[str, ...]) -> bool:
    """Whether a word is another one for what was sent: the argument's, the tool's, or one that says nothing."""
    if thing in _ANYTHING or thing.isdigit():
        return True
    known = {*words_of(tool), *(word for name in names for word in words_of(name))}
    prefix = re.match("[a-z]{2,}(?=[_-])", value)
    return not known.isdisjoint(forms(thing)) or thing in known or (prefix is not None and thing.startswith(prefix[0]))
