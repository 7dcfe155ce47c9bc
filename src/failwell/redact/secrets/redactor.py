"""Secrets out of text: by their shape, by the place they stand in, and by the name in front of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

from failwell.model import pattern

from .argv import argument_at, command_lines
from .assignments import ASSIGNED, END_OF_ELEMENT, PROSE
from .known import without_values
from .looks import drawn, is_stand_in, likely, plain_cookies, plausible, random, scrambled, thought_up
from .neighbours import READERS as NEIGHBOURS
from .neighbours import masked
from .places import READERS
from .rows import asked, commands
from .secret_names import (
    OTHERS,
    SHORT,
    STEMS,
    alike,
    folded,
    is_ambiguous_name,
    is_bookmark,
    is_secret_name,
    unescaped,
    without_class,
    words_of,
)
from .sentences import sentences
from .shapes import ENTROPIC, LONG_RUN, LONG_VALUE, cut, marked
from .values import COMMON_LASTS, Span, folded_end, full_name, harmless, quoted_in, spans, token_end
from .written_forms import all_forms

MASK: Final = "[redacted]"
_BESIDE: Final = (*NEIGHBOURS, ((" ", "'", '"'), sentences))
_ROUNDS: Final = 4
_MOST_KNOWN: Final = 100

_HARMLESS_VALUES: Final = pattern(
    r"sha(?:1|224|256|384|512)[-_:]|(?:0x)?[0-9a-fA-F-]{32,200}$|iVBOR|R0lGOD|/9j/|UklGR|PHN2Zy|Qk[0-9A-Za-z]|AAAAB3|AAAAC3|JVBER|UEsDB"
    # Certificates and public keys, as they are and in base64 again.
    r"|LS0tLS1CRUdJTiBDRVJU|LS0tLS1CRUdJTiBQVUJM|MI[GI]\w{1,4}A0GCSqGSIb3DQEBAQUAA4|MIIBIjANBgkq|MFkwEwYHKoZIzj0|MCowBQYDK2Vw"
)
# Identifiers that say by their first letters what they identify.
_TYPED_ID: Final = pattern(
    r"(?:cs|pi|pm|cus|ch|in|sub|price|prod|evt|req|msg|seti|src|acct|txn|file|run|thread|asst|chatcmpl|resp|batch|call|toolu|"
    r"org|proj|ord|inv|pk)[-_](?:test[-_]|live[-_])?[A-Za-z0-9]{8,128}$"
)
_HARMLESS_NAMES: Final = pattern(
    r"(?:sha-?\d*|hash|md5|etag|digest|checksum|integrity|commit|rev(?:ision)?|version|image|thumbnail|icon|avatar|logo|preview|"
    r"png|gif|jpe?g|webp|svg|cursor|next|page|id|uid|guid|uuid|path|file|name|url|uri|href|"
    r"fingerprint|public|pub|pub_?key|public[_-]?key|address|ssh|arn|object|digest|trace|span|request|correlation|nonce|"
    r"id-[0-9]|boundary|peer|contract|references|cert(?:ificate)?|crt|evaluated_?key|after|before|marker|continuation|"
    r"offset|scroll|position|state|found|exists?|gclid|fbclid|debug|(?<![A-Za-z])(?:h1|bh|to|from))$",
    re.IGNORECASE,
)


# The numbers of a public key, in JSON.
_PUBLIC_PARTS: Final = ("n", "e", "x", "y")
_PLAIN_PART: Final = pattern(r"[A-Za-z]*[0-9]*")
_DIGIT: Final = pattern(r"[0-9]")
_RUN: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_~.+/=:@-"
_RUNS: Final = bytes(ord("x" if chr(code) in _RUN else " ") for code in range(256))
_LONG: Final = b"x" * 16
_NEXT_LINE: Final = pattern(r"\\?\r?\n[ \t>|]{0,20}([A-Za-z0-9_~.+/=:@-]{6,200})")
_ESCAPED_LETTER: Final = pattern(r"%[2-7][0-9a-f]")


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets in text. `patterns` are compiled extra shapes, `values` are secrets known word for word."""

    patterns: tuple[re.Pattern[str], ...] = ()
    values: tuple[str, ...] = ()
    names: frozenset[tuple[str, ...]] = frozenset()
    shown: frozenset[tuple[str, ...]] = frozenset()
    mask: str = MASK

    def finds(self, text: str, lower: str) -> bool:
        """Whether there is anything to mask in `text`; `lower` is the same in lower case."""
        if self.patterns or self.values or self.names:
            return True
        long = [word for word in text.split() if len(word) >= 16]
        if long and _marked(" ".join(long)):
            return True
        worth = (
            (bool(long) and any(len(run) >= 32 for run in LONG_RUN.findall(" ".join(long))))
            or _names_something(lower)
            or bool(asked(lower))
            or ("\n" in text and _parted(text) is not None)
        )
        return worth and self(text) != text

    def idle(self, text: str) -> bool:
        """Whether no long run in ASCII `text` is worth a closer look, and there are no rules of one's own."""
        if self.patterns or self.values or self.names:
            return False
        return not any(_may_be_random(run) and (LONG_VALUE.search(run) or _marked(run)) for run in _long_runs(text))

    def __call__(self, text: str) -> str:
        """`text` with every secret in it masked. What is left is looked at again: a mask may show what it stood in."""
        for _ in range(_ROUNDS):
            clean = self._masked(text)
            if clean == text:
                break
            text = clean
        return text

    def _masked(self, text: str) -> str:
        if self.values:
            text = without_values(text, self.values, self.mask)
        for own in self.patterns:
            text = own.sub(self._kept, text)
        lower = text.lower()
        found: set[str] = set()
        for place in asked(lower):
            text = self._placed(place, text, found)
        if any(mark in text for mark in _ARGUMENTS):
            text = masked(text, self._arguments(text, found), self.mask)
        named = bool(self.names) or _names_something(lower)
        for words, read in READERS:
            if named and _has(lower, words):
                text = read(text, self.secret_name, self.mask)
        for marks, beside in _BESIDE:
            if named and _has(lower, marks):
                spanned = list(beside(text, self.secret_name))
                found.update(text[span.start : span.end] for span in spanned)
                text = masked(text, spanned, self.mask)
        runs = LONG_RUN.findall(text)
        if (runs and _marked(text)) or ("\n" in text and _parted(text)):
            text = self._marked(text)
        if runs and len(max(runs, key=len)) >= 32 and ("=" in text or ":" in text):
            text = ENTROPIC.sub(partial(self._entropic, found), text)
        if named:
            for pattern, mark, random in ASSIGNED:
                if mark in text:
                    text = self._values(pattern, text, found, random)
        # What is a secret in one place is one in every other; the longest first, which may hold others.
        for value in sorted(found, key=lambda value: (-len(value), value))[:_MOST_KNOWN]:
            text = self._everywhere(value, text)
        return text

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

    def secret_name(self, name: str, query: bool = False) -> bool:
        """Whether a value under `name` is a secret."""
        if self.shown and tuple(words_of(name)) in self.shown:
            return False
        if is_secret_name(name, query):
            return True
        if not self.names:
            return False
        words = tuple(words_of(name))
        return any(words[-len(own) :] == own for own in self.names)

    def _kept(self, match: re.Match[str]) -> str:
        return ((match["keep"] or "") if "keep" in match.re.groupindex else "") + self.mask

    def _placed(self, pattern: re.Pattern[str], text: str, known: set[str]) -> str:
        pieces: list[str] = []
        position = 0
        for match in pattern.finditer(text):
            keep = (match["keep"] or "") if "keep" in match.re.groupindex else ""
            value = match[0][len(keep) :]
            stands_in = is_stand_in(value.strip("\"'")) or _EXAMPLE_LOGIN.search(match[0])
            if match.start() < position or stands_in or not _looks(match):
                continue
            known.add(value)
            pieces += [text[position : match.start()], keep, self.mask]
            position = token_end(text, match.end())
        return "".join([*pieces, text[position:]]) if pieces else text

    def _arguments(self, text: str, known: set[str]) -> Iterator[Span]:
        """What the rows of command lines find in lists of arguments."""
        for line, arguments in command_lines(text):
            lower = line.lower()
            for words, place in commands():
                for match in place.finditer(line) if _has(lower, words) else ():
                    span = argument_at(arguments, match.start() + len(match["keep"] or ""))
                    value = text[span.start : span.end]
                    if _looks(match) and not is_stand_in(value) and self.mask not in value:
                        known.add(value)
                        yield span

    def _marked(self, text: str) -> str:
        while parted := _parted(text):
            text = text[: parted[0]] + self.mask + text[parted[1] :]
        pieces: list[str] = []
        position = 0
        for match in _cuts(text):
            pieces += [text[position : match.start()], self.mask]
            position = max(match.end(), token_end(text, match.end(), marked=True))
        text, pieces, position = "".join([*pieces, text[position:]]), [], 0
        for match in marked().finditer(text):
            if match.start() >= position and not is_stand_in(match[0]):
                pieces += [text[position : match.start()], self.mask]
                position = folded_end(text, token_end(text, match.end(), marked=True))
                position = _with_second(text, position)
        return "".join([*pieces, text[position:]])

    def _values(self, pattern: re.Pattern[str], text: str, known: set[str], random: bool) -> str:
        """`text` without the values of secret names; those that are found nowhere by chance are added to `known`."""
        pieces: list[str] = []
        position = 0
        for match in pattern.finditer(text):
            if match.start() < position:
                continue
            name = full_name(text, *match.span("name"))
            sure = self.secret_name(name, bool(match["lead"]))
            if not sure and not is_ambiguous_name(name):
                continue
            # A name of several words is one of many in a sentence.
            looks = (random and name.lower() not in _DIRECTIVES) or (
                name != match["name"] and name.lower().endswith(COMMON_LASTS)
            )
            inside = _element(text, match.end()) if match["op"] in _ENDS_TAG else None
            for span in inside if inside is not None else spans(text, match.end(), match["op"], bool(match["lead"])):
                value = text[span.start : span.end]
                if span.start < position:
                    continue
                if harmless(match, span):
                    # A sentence about it may quote it.
                    for inner in quoted_in(text, span) if sure and span.quoted and " " in value else ():
                        known.add(text[inner.start : inner.end])
                        pieces += [text[position : inner.start], self.mask]
                        position = inner.end
                    continue
                if (not sure and (not drawn(value) or _TYPED_ID.match(value))) or (
                    looks and not plausible(value.strip(_QUOTES))
                ):
                    continue
                known.add(value)
                pieces += [text[position : span.start], self.mask]
                position = token_end(text, span.end)
        return "".join([*pieces, text[position:]]) if pieces else text

    def _entropic(self, known: set[str], match: re.Match[str]) -> str:
        value = match["value"]
        name = match["keep"].rstrip(" \t\n=:\"'")
        if _HARMLESS_NAMES.search(name) or _HARMLESS_VALUES.match(value) or _TYPED_ID.match(value):
            return match[0]
        if is_bookmark(name) or is_stand_in(value) or (name in _PUBLIC_PARTS and '"' in match["keep"]):
            return match[0]
        if _of_words(value) or not _random(value):
            return match[0]
        known.add(value)
        return match["keep"] + self.mask


def _looks(match: re.Match[str]) -> bool:
    """Whether it looks as the row asks for."""
    groups = match.re.groupindex
    if "drawn" in groups and match["drawn"] is not None:
        return drawn(match["drawn"])
    if "random" in groups:
        return random(match["random"])
    if "scrambled" in groups:
        return scrambled(match["scrambled"])
    if "phrase" in groups:
        # Words that were drawn make no sentence, even if one of many is a word of sentences.
        words = match["phrase"].split()
        spoken = sum(
            bool(PROSE.match(word) or (word.endswith(_INFLECTED) and not words[-1].isdigit())) for word in words
        )
        return spoken <= len(words) // 8
    for group in ("likely", "set_to"):
        if group in groups and match[group] is not None:
            return likely(match[group])
    if "thought" in groups:
        return plausible(match["thought"]) or thought_up(match["thought"])
    if "login" in groups:
        return plausible(match["login"]) or (likely(match["login"]) and _near_login(match))
    if "cookies" in groups:
        return not plain_cookies(match["cookies"])
    return "plausible" not in groups or match["plausible"] is None or plausible(match["plausible"])


_NEAR: Final = 300
_OF_LOGIN: Final = pattern(
    r"authenticat|log[ -]?[io]n\b|denied|authori[sz]ed|password|passphrase|credential|establish session|refused",
    re.IGNORECASE,
)


def _near_login(match: re.Match[str]) -> bool:
    """Whether a login is spoken of before or after it."""
    return _OF_LOGIN.search(match.string, max(0, match.start() - _NEAR), match.end() + _NEAR) is not None


# A flag in a list of arguments.
_ARGUMENTS: Final = ("'-", '"-', "'/", '"/')
# Settings that are nothing else.
_DIRECTIVES: Final = frozenset("requirepass masterauth rootpw bindpw".split())
_INFLECTED: Final = ("ed", "ing", "es", "ly", "ters")


# As documentation writes it.
_EXAMPLE_LOGIN: Final = pattern(r"://(?:user(?:name)?|login):(?:pass(?:word|wd)?|pwd)$", re.IGNORECASE)
_QUOTES: Final = "\"'`"
_ENDS_TAG: Final = (">", "&gt;", "\\u003e", "\\u003E", "%3E", "%3e")
_CLOSES: Final = pattern(r"(?:<|&lt;|\\u003[cC]|%3[cC])(?:/|\\/|%2[fF])")
_FIRST_WORD: Final = pattern(r"[^\s<>\"']{6,400}")


def _element(text: str, start: int) -> list[Span]:
    """What an element holds; of one that nobody closes, the first word, if it looks like a secret."""
    end = END_OF_ELEMENT.search(text, start, start + 4000)
    if end is not None and _CLOSES.match(text, end.start()):
        return [Span(start, end.start(), False)]
    word = _FIRST_WORD.match(text, start)
    return [Span(start, word.end(), True)] if word and drawn(word[0]) else []


def _long_runs(text: str) -> Iterator[str]:
    """The same as `LONG_RUN` finds in ASCII, by way of bytes, which takes a tenth of the time when there are none."""
    marks = text.encode().translate(_RUNS)
    start = marks.find(_LONG)
    while start >= 0:
        end = marks.find(b" ", start)
        end = len(text) if end < 0 else end
        yield text[start:end]
        start = marks.find(_LONG, end)


def _marked(text: str) -> bool:
    pattern = marked()
    for run in LONG_RUN.finditer(text):
        if _may_be_random(run[0]) and pattern.search(text, run.start(), run.end()):
            return True
    return any(_cuts(text))


def _may_be_random(run: str) -> bool:
    """Whether a run is long, or has a digit: random characters without a single one among them are not random."""
    return len(run) >= 24 or _DIGIT.search(run) is not None


def _cuts(text: str) -> Iterator[re.Match[str]]:
    """The tokens whose middle was left out."""
    if "..." in text or "…" in text:
        for run in LONG_RUN.finditer(text):
            if "..." in run[0] or "…" in run[0]:
                yield from (one for one in cut().finditer(text, run.start(), run.end()) if drawn(one[0]))


_SECOND: Final = pattern(r":(?P<value>[A-Za-z0-9+/_-]{16,200})(?![\w+/-])")


def _with_second(text: str, end: int) -> int:
    """Where it ends with what belongs to it: the secret of a key whose number has a mark."""
    second = _SECOND.match(text, end)
    return second.end() if second and drawn(second["value"]) else end


def _parted(text: str) -> tuple[int, int] | None:
    """Where a token stands whose mark is at the end of one line and the rest at the beginning of the next."""
    for rest in _NEXT_LINE.finditer(text):
        above = text[max(0, rest.start() - 80) : rest.start()]
        begun = above[len(above.rstrip(_RUN)) :]
        if len(begun) < 3 or len(begun) + len(rest[1]) < 16 or not drawn(rest[1]):
            continue
        match = marked().search(begun + rest[1])
        if match and match.start() + 3 <= len(begun) < match.end():
            return rest.start() - len(begun) + match.start(), folded_end(text, rest.end())
    return None


_SHORT_NAME: Final = pattern(rf"(?:{'|'.join(SHORT)})(?![a-z])|code=")


def _names_something(lower: str) -> bool:
    """Whether a name that stands for a secret may be in the text."""
    if "%" in lower and _ESCAPED_LETTER.search(lower):
        from urllib.parse import unquote

        lower = unquote(lower)
    if "\\u00" in lower:
        lower = unescaped(lower).lower()
    if _has(without_class(lower), STEMS) or "\ufffd" in lower or _SHORT_NAME.search(lower) is not None:
        return True
    if lower.isascii():
        return False
    plain = folded(lower).casefold()
    return _has(plain, OTHERS) or _has(alike(plain), STEMS)


def _has(lower: str, words: tuple[str, ...]) -> bool:
    # A plain loop: on ordinary text this is asked more often than anything else, and it is the fastest way to ask.
    for word in words:  # noqa: SIM110
        if word in lower:
            return True
    return False


def _of_words(value: str) -> bool:
    """Whether it is put together from words and numbers, as paths and branch names are."""
    parts = re.split(r"[-/_.]", value)
    return len(parts) > 3 and sum(_PLAIN_PART.fullmatch(part) is not None for part in parts) >= len(parts) - 1


def _random(value: str) -> bool:
    digits = sum(character.isdigit() for character in value)
    if digits < 3 or value.islower() or value.isupper():
        return False
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return entropy >= 4.2


def redactor(
    patterns: Iterable[str | re.Pattern[str]] = (),
    values: Iterable[str] = (),
    names: Iterable[str] = (),
    show: Iterable[str] = (),
) -> Redactor:
    """A redactor with shapes, known secrets and names of your own; a pattern that could run for ever is refused."""
    from .patterns import checked

    known = [*values]
    for value in known:
        if len(value) < 4 or value.lower() in MASK:
            raise ValueError(f"The value {value!r} is too short or too common to be masked wherever it stands.")
    return Redactor(
        tuple(checked(pattern) for pattern in patterns),
        all_forms(known),
        _in_words(names),
        _in_words(show),
    )


def _in_words(names: Iterable[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(words for name in names if (words := tuple(words_of(name))))
