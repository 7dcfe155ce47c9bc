"""What an answer says about making the same call again: that it may work later, or that it is asked for."""

from __future__ import annotations

import re
from typing import Final

from failwell.model import pattern

from .exposures import either
from .wording import names_next_step, says_wanted

_INVITES: Final = pattern(
    r"(?i)\b(?:try|call|make|send|repeat|run|submit|place|do|pay|order|book)\b[^.!?;]{0,60}\b(?:again|once more)\b"
    r"|\bretry\b|\brepeat (?:it|the)\b|\bre-?(?:submit|send|run|do|order|try)\b|\banother (?:attempt|try)\b"
)
_NEGATED: Final = pattern(
    r"(?i)\b(?:not|never|\w+n't|without|before|fails?|failing|instead of|once you|to see whether|whether)\b"
)
RETRYABLE: Final = pattern(
    r'(?i)\\?"(?:retr[yi]able|is_?retr[yi]able|can_?retry|should_?retry|retry|transient|is_?transient)\\?"\s*:\s*true'
)
"""A flag that says that the same call may be made again."""
WAITS: Final = pattern(
    r'(?i)\\?"(?:retry_?after|retry_?in|backoff|retry_?delay)_?(?:ms|millis|milliseconds|s|sec|seconds)?\\?"\s*:\s*\\?"?0*\.?[1-9]'
)
"""A delay after which the same call may be made again."""
_LIMITED: Final = pattern(
    r"(?i)\brate.?limit|\btoo many (?:requests|calls)|\bthrottl|\bquota\b|\b429\b|\bRATE_LIMIT|\bRESOURCE_EXHAUSTED"
)
_CALL: Final = r"(?:(?:tool )?calls?|requests?|commands?|operations?|quer(?:y|ies)|lookups?|it|arguments)"
# Not with something else, nor when something has changed.
_UNCHANGED: Final = either(
    rf"\b(?:same|identical) (?:\w+ )?(?:{_CALL} )?(?:again|once more|one more time)\b",
    rf"\b(?:this|the|your|that) {_CALL} (?:again|once more|one more time|another time)\b",
    rf"\b(?:repeat|retry|re-?send|re-?submit|re-?run|re-?try) (?:this|the|your|that)? ?(?:same |identical )?{_CALL}\b",
    r"\b(?:again|repeat|retry)\b[^.!?;]{0,20}\b(?:unchanged|as it is|as is|with the same)\b",
    flags="(?i)",
)
_BARE_AGAIN: Final = pattern(
    r"(?i)^\W{0,3}(?:please |kindly |just |simply |you (?:can|may|should) )*"
    r"(?:try(?: (?:it|this))? (?:again|once more)|retry|give it another (?:go|try)|try another time)\W{0,3}$"
)
_CHANGED: Final = pattern(
    r"(?i)\b(?:with (?!the same)|using|after|once(?! more)|when|until|unless|if|and|then|but|instead|another"
    r"|different|correct\w*|valid|fix\w*|chang\w+|adjust\w*)\b"
)
_AGAIN: Final = either(
    r"\b(?:try|retry|repeat)(?: (?:it|(?:the|this) (?:same )?(?:call|request)))? (?:again )?(?:later|shortly|soon)",
    r"\b(?:try|retry)(?: again)? in (?:a|\d)",
    r"temporar(?:y|ily)",
    r"\bwait (?:a |some |and |\d)",
    r"\bcome back later\b",
    r"\bagain in (?:a|\d)",
    flags="(?i)",
)


_NEW: Final = pattern(r"(?i)\bif (?:you|it|this|that|the \w+) (?:\w+ ){0,2}(?:just|recently|newly)\b[^.;!?\n]*")


def invites_again(text: str) -> bool:
    """Whether a sentence of a text says to make the same call again.

    >>> invites_again("Make the same call again."), invites_again("Do not make the call again.")
    (True, False)
    """
    return any(_INVITES.search(part) and not _NEGATED.search(part) for part in re.split(r"(?<=[.!?;])\s", text[:4_000]))


def invites_same(text: str) -> bool:
    """Whether a text says to make the same call again, with nothing changed in it or around it.

    >>> invites_same("No such stop. Please try the same call again."), invites_same("Correct it and retry the call.")
    (True, False)
    >>> invites_same("No such stop. Please try again."), invites_same("Look the id up in list_stops. Then try again.")
    (True, False)
    """
    sentences = re.split(r"(?<=[.!?;])\s|\n", text[:4_000])
    plain = [part for part in sentences if not _NEGATED.search(part) and not _CHANGED.search(part)]
    if any(_UNCHANGED.search(part) for part in plain):
        return True
    # "Try again" after words that say what to change means the changed call.
    others = " ".join(part for part in sentences if not _BARE_AGAIN.match(part))
    return len(others) < len(" ".join(sentences)) and not names_next_step(others) and not says_wanted(others)


def is_limited(text: str) -> bool:
    """Whether a text says that too much was asked for, which passes whatever else is wrong."""
    return _LIMITED.search(text) is not None


def promises_passing(text: str) -> bool:
    """Whether a text says that the same call may work later, and not only for what is quite new.

    >>> promises_passing("Try again later."), promises_passing("If you have just made it, wait a minute.")
    (True, False)
    """
    return _AGAIN.search(_NEW.sub("", text)) is not None
