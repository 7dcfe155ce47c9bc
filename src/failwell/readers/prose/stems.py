"""Regular expressions that are run only where they can match: every match of one holds a certain piece of text, and
whether that is there is found out far sooner.

The pieces are read from the expression itself, so that no table of them can be wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, lru_cache
from importlib import import_module
from operator import add
from typing import Any, Final

Search = Callable[[str], re.Match[str] | None]


class WordRules:
    """Codes with what stands for them in a text, in the order in which they are tried. The expressions mind the case of
    letters; each is taken apart where it is a choice, and what is never needed of it is never compiled."""

    def __init__(self, rows: Iterable[tuple[str, Iterable[str]]]) -> None:
        self._rows = tuple((code, tuple(sources)) for code, sources in rows)

    def code_of(self, text: str) -> str | None:
        """The first code that something in the text stands for."""
        choices, places = self._choices, self._places
        likely = set(places[""])
        for stem in self._held(text):
            likely.update(places[stem])
        for place in sorted(likely):
            choice = choices[place]
            if choice.search(text):
                return choice.code
        return None

    def _held(self, text: str) -> list[str]:
        """Which of the stems are in a text. In a short one they are told by three letters that follow each other."""
        index = self._index
        pieces = index if len(text) > _SHORT else index.keys() & _pieces_in(text)
        return [stem for piece in pieces for stem in index[piece] if stem in text]

    @cached_property
    def _choices(self) -> tuple[_Choice, ...]:
        """What is searched for, in order."""
        return tuple(
            _Choice(code, each) for code, sources in self._rows for source in sources for each in alternatives(source)
        )

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """By each stem, which of the choices a text with it may be; under no stem those that any text may be."""
        places: dict[str, list[int]] = {"": []}
        for place, choice in enumerate(self._choices):
            for stem in choice.stems or ("",):
                places.setdefault(stem, []).append(place)
        return places

    @cached_property
    def _index(self) -> dict[str, list[str]]:
        """The stems by three letters in each of them: those that the fewest others have."""
        stems = sorted(filter(None, self._places))
        often = Counter(piece for stem in stems for piece in _pieces_in(stem))
        index: dict[str, list[str]] = {}
        for stem in stems:
            index.setdefault(min(_pieces_in(stem), key=lambda piece: (often[piece], piece)), []).append(stem)
        return index


_SHORT: Final = 400


@lru_cache(8)
def _pieces_in(text: str) -> frozenset[str]:
    # Kept, since a text is held against several tables, one after the other.
    return frozenset(map(add, map(add, text, text[1:]), text[2:]))


class _Choice:
    __slots__ = ("_source", "code", "search", "stems")

    def __init__(self, code: str, source: str) -> None:
        self.code = code
        self._source = source
        self.stems = stems(source)
        self.search: Search = self._first_search

    def _first_search(self, text: str) -> re.Match[str] | None:
        self.search = re.compile(self._source).search
        return self.search(text)


def alternatives(source: str) -> Iterator[str]:
    """The expressions between which an expression is a choice.

    >>> list(alternatives("no (?:one|two)|[|]|b"))
    ['no (?:one|two)', '[|]', 'b']
    """
    start = depth = 0
    for found in _TOKENS.finditer(source):
        token = found[0]
        if token == "|" and not depth:
            yield source[start : found.start()]
            start = found.end()
        depth += (token == "(") - (token == ")")
    yield source[start:]


_TOKENS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[|()]", re.DOTALL)


def stems(source: str) -> tuple[str, ...]:
    """Texts of three letters or more of which every match of an expression holds one; none where nothing is certain.

    >>> stems("(?:un)?known tools?|no such [a-z]+")
    ('known tool', 'no such ')
    """
    try:
        parsed = _parser().parse(source)
        found = None if parsed.state.flags & re.IGNORECASE else _of_all(parsed)
    except (AttributeError, ImportError, TypeError, ValueError):
        # Python's own reader of expressions is nothing that it promises. Without it everything is searched for.
        return ()
    return _shortest(found) if found and min(map(len, found)) > 2 else ()


def _shortest(found: Iterable[str]) -> tuple[str, ...]:
    """A text that holds another one of them need not be asked for."""
    kept: list[str] = []
    for each in sorted(found, key=lambda stem: (len(stem), stem)):
        if not any(other in each for other in kept):
            kept.append(each)
    return tuple(sorted(kept))


@cache
def _parser() -> Any:
    return import_module("re._parser")


def _of_all(parsed: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    """Of parts that follow each other, those of the part by which a text is told best."""
    found: list[frozenset[str]] = []
    run = ""
    for kind, held in parsed:
        name = str(kind)
        if name == "LITERAL":
            run += chr(held)
        elif name not in _WITHOUT_LENGTH:
            found += [frozenset({run})] if run else []
            run = ""
            inner = _of_one(name, held)
            found += [inner] if inner is not None else []
    found += [frozenset({run})] if run else []
    return min(found, key=_cost, default=None)


def _of_one(name: str, held: Any) -> frozenset[str] | None:
    if name == "SUBPATTERN" and not held[1] and not held[2]:
        return _of_all(held[3])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and held[0] > 0:
        return _of_all(held[2])
    if name == "BRANCH":
        each = [_of_all(branch) for branch in held[1]]
        return None if None in each else frozenset().union(*(found for found in each if found is not None))
    return None


_WITHOUT_LENGTH: Final = frozenset({"AT", "ASSERT", "ASSERT_NOT"})


def _cost(found: frozenset[str]) -> float:
    """What asking for them takes, and how often it is in vain: short texts and common words are everywhere."""
    return sum(9.0 if each.strip() in _COMMON else 1 + 3_000 / 9.0 ** len(each) for each in found)


_COMMON: Final = frozenset("not no is are was be to the a an by error failed".split())
