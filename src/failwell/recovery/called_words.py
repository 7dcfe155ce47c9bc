"""The words that a call brings along: what its tool does, to what, and what its arguments are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from failwell.model import forms, parsed, words_of

from .plain_words import IN, PLACES

# What a tool with these does was not there before. `send` and `publish` take what is.
_MAKES: Final = frozenset(
    "create make insert add generate mint provision register upload init initialize mkdir new clone fork".split()
)
_RENAMES: Final = frozenset("rename move copy mv cp".split())
_IDENTIFIES: Final = frozenset("id ids name key number no ts code slug uuid guid arn url".split())
# Arguments that say what something made is to be.
_OF_MADE: Final = _IDENTIFIES | frozenset(
    "title label email username login handle subject summary path filename new text body content description".split()
)
_OF_RENAMED: Final = frozenset("new name title to destination dest dst target".split())
_CONTENT: Final = frozenset("text body content description".split())
_PATHS: Final = frozenset("path paths file files filename filepath directory dir folder source destination".split())
_KEPT_ASIDE: Final = frozenset("cache backup backups archive archives tmp temp trash log logs".split())
# Other words for the same: by how an argument or a tool is called, how what it stands for is.
_SAME: Final = (
    ("issue", "ticket", "task", "bug"),
    ("repo", "repository"),
    ("table", "relation", "view"),
    ("org", "organization", "organisation"),
    ("dir", "directory", "folder"),
    ("file", "document", "path"),
    ("channel", "conversation"),
    ("branch", "ref", "head", "base"),
    ("db", "database"),
    ("mail", "email", "message"),
)
# People are called by what they are to the call.
_PEOPLE: Final = frozenset(
    "user users member person people contact recipient recipients assignee assignees owner author reviewer reviewers to"
    " cc bcc login username email".split()
)
_TO_DO: Final = frozenset("to not cannot t could for while when error trying".split())
# What a page of any web server says.
_NO_SUBJECT: Final = frozenset("page file path url id name".split())


class CalledWords:
    """What the words of a failure may be about, of one tool with arguments of these names."""

    __slots__ = ("_arguments", "_made", "_stems", "_takes_paths", "_verbs", "things")

    def __init__(self, tool: str, names: tuple[str, ...]) -> None:
        name = parsed(tool)
        words = {word for each in names for word in words_of(each)}
        about = words | set(name.things)
        self.things = frozenset(form for word in about for form in forms(word)) | _others(about)
        self._verbs = frozenset(name.words) - self.things
        self._stems = tuple(word.removesuffix("e") for word in self._verbs)
        self._takes_paths = not _PATHS.isdisjoint(about)
        self._made = {each for each in names if _is_of_made(name.verb, name.head, name.words, words_of(each))}
        self._arguments = Counter(
            noun
            for each in names
            if each not in self._made and (noun := _noun(words_of(each), name.head, name.verb)) is not None
        )

    def makes(self, name: str) -> bool:
        """Whether an argument says what is to be made, and is not there before."""
        return name in self._made

    def is_made(self, step: str) -> bool:
        """Whether a step of an address is where what the tool makes is put: /issues, of create_issue."""
        return bool(self._made) and self.is_about(step)

    def is_about(self, word: str) -> bool:
        return word in self.things or not forms(word).isdisjoint(self.things)

    def is_argument(self, noun: str) -> bool:
        """Whether a noun alone says which argument is meant."""
        if noun in _NO_SUBJECT:
            return False
        return sum(times for each, times in self._arguments.items() if noun == each or _is_same(noun, each)) == 1

    def may_hold(self, step: str) -> bool:
        """Whether a directory may be where something sent is looked for."""
        return self.is_about(step) or (self._takes_paths and step not in _KEPT_ASIDE)

    def knows(
        self,
        words: Sequence[str],
        plain: Container[str],
        value: str,
        arguments: Mapping[str, Any],
        *,
        is_lead: bool = False,
    ) -> bool:
        """Whether each of the words is plain, or is about what was called."""
        for at, word in enumerate(words):
            if word in plain or word in self.things or word.isdigit() or not forms(word).isdisjoint(self.things):
                continue
            if word in PLACES and not IN.isdisjoint(words[max(0, at - 3) : at]):
                continue
            if word.startswith(self._stems) if is_lead else word in self._verbs and words[at - 1] in _TO_DO:
                continue
            if not _is_of_value(word, value) and not _is_sent(word, arguments):
                return False
        return True


@lru_cache(256)
def called_words(tool: str, names: tuple[str, ...]) -> CalledWords:
    return CalledWords(tool, names)


def _others(words: set[str]) -> frozenset[str]:
    """Other words for the same things."""
    found: set[str] = set()
    for same in _SAME:
        if not words.isdisjoint(same):
            found.update(same)
    return frozenset(found if words.isdisjoint(_PEOPLE) else found | _PEOPLE - {"to"})


def _is_same(one: str, other: str) -> bool:
    return not forms(one).isdisjoint(forms(other)) or any(one in same and other in same for same in _SAME)


def _is_of_made(verb: str | None, head: str | None, words: Sequence[str], argument: Sequence[str]) -> bool:
    if not _CONTENT.isdisjoint(argument[-1:]):
        return True
    if verb in _RENAMES:
        return bool(argument) and _OF_RENAMED.issuperset(argument)
    if verb not in _MAKES or "to" in words:
        return False
    return bool(argument) and all(word in _OF_MADE or (head is not None and _is_same(word, head)) for word in argument)


def _noun(argument: Sequence[str], head: str | None, verb: str | None) -> str | None:
    """What an argument is the id of, by its name: the bucket of `bucket` and `bucket_name`."""
    nouns = [word for word in argument if word not in _IDENTIFIES]
    if not nouns:
        return head if verb not in _MAKES and head != verb else None
    return nouns[0] if len(nouns) == 1 else None


def _is_of_value(word: str, value: str) -> bool:
    """Whether an id begins like the thing that it is of, or has the word in it."""
    prefix = re.match("[a-z]{2,}(?=[_-])", value)
    return (prefix is not None and word.startswith(prefix[0])) or word in words_of(value)


def _is_sent(word: str, arguments: Mapping[str, Any]) -> bool:
    return any(
        word in words_of(each)
        for value in arguments.values()
        for each in (value if isinstance(value, list) else (value,))
        if isinstance(each, str) and len(each) <= 100
    )
