"""Secrets out of text: by their shape, by the place they stand in, and by the name in front of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from failwell.model import pattern

from . import secret_rules as rules
from .assignments import Span, assignments, folded_end, is_harmless, token_end
from .known import all_forms, without_values
from .looks import PROSE, drawn, is_stand_in, likely, plausible, scrambled
from .secret_names import is_ambiguous_name, is_secret_name, names_something, words_of
from .sentences import said

MASK: Final = "[redacted]"
_ROUNDS: Final = 4
_MOST_KNOWN: Final = 100
_QUOTES: Final = "\"'`"
# What is worth a look for tokens.
_RUN: Final = pattern(r"[A-Za-z0-9_~.+/=:@…-]{14}")
_LONG_VALUE: Final = pattern(r"[A-Za-z0-9+/_-]{32}")
_NEXT_LINE: Final = pattern(r"\\?\r?\n[ \t>|]{0,20}([A-Za-z0-9_~.+/=:@-]{6,200})")
_BEGUN: Final = pattern(r"[A-Za-z0-9_~.+/=:@-]{3,80}$")
_PART: Final = pattern(r"[A-Za-z0-9]{12,}")
_PLAIN_PART: Final = pattern(r"[A-Za-z]*[0-9]*")
# As documentation writes it.
_EXAMPLE_LOGIN: Final = pattern(r"://(?:user(?:name)?|login):(?:pass(?:word|wd)?|pwd)$", re.IGNORECASE)
_LOOKS: Final = {"drawn": drawn, "plausible": plausible, "likely": likely, "scrambled": scrambled}


# Texts that hold nothing, by hash, so that none is kept: an error is looked through again wherever it was put together.
_clean: set[int] = set()
_MOST_CLEAN: Final = 4096


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets in text. `patterns` are compiled extra shapes, `values` are secrets known word for word."""

    patterns: tuple[re.Pattern[str], ...] = ()
    values: tuple[str, ...] = ()
    names: frozenset[tuple[str, ...]] = frozenset()
    shown: frozenset[tuple[str, ...]] = frozenset()
    mask: str = MASK

    def is_idle(self, text: str) -> bool:
        """Whether none of the rules has anything to do in a text: the quick answer about most."""
        if self.patterns or self.values or self.names:
            return False
        lower = text.lower()
        if names_something(lower):
            return False
        for word, _ in rules.PLACE_WORDS:
            if word in lower:
                return False
        return _RUN.search(text) is None or (
            _LONG_VALUE.search(text) is None and next(self._tokens(text, lower), None) is None
        )

    def __call__(self, text: str) -> str:
        """`text` with every secret in it masked. What is left is looked at again: a mask may show what it stood in."""
        if self.is_idle(text):
            return text
        is_plain = not (self.patterns or self.values or self.names or self.shown)
        for _ in range(_ROUNDS):
            if is_plain and hash(text) in _clean:
                break
            clean = self._redact(text, {})
            if clean == text:
                if is_plain:
                    if len(_clean) >= _MOST_CLEAN:
                        _clean.clear()
                    _clean.add(hash(text))
                break
            text = clean
        return text

    def secret_name(self, name: str, query: bool = False) -> bool:
        """Whether a value under `name` is a secret."""
        if self.shown and tuple(words_of(name)) in self.shown:
            return False
        if is_secret_name(name, query):
            return True
        words = tuple(words_of(name)) if self.names else ()
        return any(words[-len(own) :] == own for own in self.names)

    def found(self, text: str) -> list[str]:
        """The secrets in a text."""
        found: dict[str, None] = {}
        if not self.is_idle(text):
            self._redact(text, found)
        return [value for value in found if self.mask not in value]

    def _redact(self, text: str, found: dict[str, None]) -> str:
        """`text` with the secrets in it masked, which are added to those `found`."""
        if self.values:
            text = without_values(text, self.values, self.mask)
        for own in self.patterns:
            text = own.sub(
                lambda found: (found["keep"] or "" if "keep" in found.re.groupindex else "") + self.mask, text
            )
        lower = text.lower()
        named = bool(self.names) or names_something(lower)
        asked = dict.fromkeys(name for word, name in rules.PLACE_WORDS if word in lower)
        for name in (*asked, *(rules.NAMED_PLACES if named else ())):
            text = self._without(text, self._placed(text, name), found)
        if named:
            text = self._without(text, ((span.start, span.end) for span in said(text, self.secret_name)), found)
        if _RUN.search(text):
            text = self._without(text, sorted(self._tokens(text, lower)), found)
            text = self._without(text, self._entropic(text), found)
        for way in assignments(text) if named else ():
            spans = (
                (one.value.start, token_end(text, one.value.end))
                for one in way
                if self._is_secret(text, one.name, one.match, one.value, one.doubted)
            )
            text = self._without(text, spans, found)
        # What is a secret in one place is one in every other; the longest first, which may hold others.
        for value in sorted(found, key=lambda value: (-len(value), value))[:_MOST_KNOWN]:
            text = self._everywhere(value, text)
        return text

    def _without(self, text: str, spans: Iterable[tuple[int, int]], found: dict[str, None]) -> str:
        pieces: list[str] = []
        position = 0
        for start, end in spans:
            if start < position or end <= start:
                continue
            found[text[start:end]] = None
            pieces += [text[position:start], self.mask]
            position = end
        return "".join([*pieces, text[position:]]) if pieces else text

    def _placed(self, text: str, name: str) -> Iterator[tuple[int, int]]:
        for match in rules.place(name).finditer(text):
            groups = match.groupdict()
            keep = groups.get("keep") or groups.get("kept") or ""
            value = text[match.start() + len(keep) : match.end()]
            if groups.get("name") and not self.secret_name(groups["name"]):
                continue
            looks = all(is_it(groups[group]) for group, is_it in _LOOKS.items() if groups.get(group) is not None)
            if looks and not is_stand_in(value.strip(_QUOTES)) and not _EXAMPLE_LOGIN.search(match[0]):
                yield match.start() + len(keep), token_end(text, match.end())

    def _tokens(self, text: str, lower: str) -> Iterator[tuple[int, int]]:
        """The tokens that are known by their marks and shapes, also over the end of a line."""
        present = [written for mark, written in rules.MARKS.items() if mark in lower]
        for mark in present:
            for match in rules.token(mark).finditer(text):
                body = match[0][len(mark) :]
                sure = mark in rules.UNMISTAKABLE and any(map(str.isdigit, body))
                if (sure or drawn(body) or any(map(drawn, _PART.findall(body)))) and not is_stand_in(match[0]):
                    yield match.start(), folded_end(text, match.end())
        for number in dict.fromkeys(number for word, number in rules.SHAPE_WORDS if word in lower):
            for match in rules.shape(number).finditer(text):
                if not is_stand_in(match[0]):
                    yield match.start(), folded_end(text, match.end())
        for rest in _NEXT_LINE.finditer(text) if present and "\n" in text else ():
            begun = _BEGUN.search(text[max(0, rest.start() - 80) : rest.start()])
            if begun is None or not drawn(rest[1]):
                continue
            for mark in present:
                at = begun[0].find(mark)
                joined = begun[0][at:] + rest[1]
                if at >= 0 and (whole := rules.token(mark).match(joined)) and whole.end() > len(begun[0]) - at:
                    yield rest.start() - len(begun[0]) + at, folded_end(text, rest.end())

    def _entropic(self, text: str) -> Iterator[tuple[int, int]]:
        """Long values with every sort of character in them, set to any name at all."""
        if _LONG_VALUE.search(text) is None:
            return
        for match in rules.ENTROPIC.finditer(text):
            value = match["value"]
            # The numbers of a public key, in JSON.
            if match["name"] in ("n", "e", "x", "y") and '"' in match["keep"]:
                continue
            harmless = rules.HARMLESS_NAME.search(match["name"]) or rules.HARMLESS_VALUE.match(value)
            if not harmless and not rules.TYPED_ID.match(value) and not is_stand_in(value) and _is_entropic(value):
                yield match.start("value"), match.end()

    def _is_secret(self, text: str, name: str, match: re.Match[str], value: Span, doubted: bool) -> bool:
        sure = self.secret_name(name, bool(match["lead"]))
        if (not sure and not is_ambiguous_name(name)) or is_harmless(match, value):
            return False
        shown = text[value.start : value.end]
        if not sure and (not drawn(shown) or rules.TYPED_ID.match(shown)):
            return False
        return not doubted or plausible(shown.strip(_QUOTES))

    def _everywhere(self, value: str, text: str) -> str:
        """`text` without a value that was a secret in one place; a word that others may use only where it is quoted."""
        if len(value) < 5 or value not in text or is_stand_in(value) or self.mask in value:
            return text
        if drawn(value):
            return text.replace(value, self.mask)
        if not plausible(value):
            if PROSE.match(value) or is_secret_name(value):
                return text
            for quote in _QUOTES:
                text = text.replace(f"{quote}{value}{quote}", f"{quote}{self.mask}{quote}")
            return text
        pieces = text.split(value)
        shown = pieces[0]
        for before, after in pairwise(pieces):
            inside = (before[-1:].isalnum() and value[0].isalnum()) or (after[:1].isalnum() and value[-1].isalnum())
            shown += (value if inside else self.mask) + after
        return shown


def _is_entropic(value: str) -> bool:
    """Whether it is random, rather than put together from words and numbers, as paths and branch names are."""
    parts = re.split(r"[-/_.]", value)
    if len(parts) > 3 and sum(_PLAIN_PART.fullmatch(part) is not None for part in parts) >= len(parts) - 1:
        return False
    if sum(map(str.isdigit, value)) < 3 or value.islower() or value.isupper():
        return False
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values()) >= 4.2


def redactor(
    patterns: Iterable[str | re.Pattern[str]] = (),
    values: Iterable[str] = (),
    names: Iterable[str] = (),
    show: Iterable[str] = (),
) -> Redactor:
    """A redactor with shapes, known secrets and names of your own."""
    known = [*values]
    for value in known:
        if len(value) < 4 or value.lower() in MASK:
            raise ValueError(f"The value {value!r} is too short or too common to be masked wherever it stands.")
    own, shown = (frozenset(words for name in group if (words := tuple(words_of(name)))) for group in (names, show))
    return Redactor(tuple(map(_compiled, patterns)), all_forms(known), own, shown)


def _compiled(source: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        compiled = re.compile(source)
    except (re.error, OverflowError, RecursionError) as problem:
        raise ValueError(f"The pattern {source!r} is not a regular expression: {problem}.") from None
    if compiled.search("") is not None or compiled.search(MASK) is not None:
        raise ValueError(f"The pattern {source!r} matches nothing at all, or the mask; make it more particular.")
    return compiled
