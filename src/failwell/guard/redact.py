"""Secrets out of text: by their shape, by the place they stand in, and by the name in front of them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .names import is_secret_name, words_of
from .shapes import (
    ELEMENT,
    ENTROPIC,
    FLAG,
    LONG_RUN,
    NAME_WORDS,
    NAMED,
    OPENING,
    OPERATORS,
    PLACE_WORDS,
    PLACEHOLDER,
    PROSE,
    VALUE,
    marked,
    places,
)

MASK: Final = "[redacted]"

_HARMLESS_VALUES: Final = re.compile(
    r"sha(?:1|224|256|384|512)[-_:]|[0-9a-fA-F-]{32,200}$|iVBOR|R0lGOD|/9j/|UklGR|PHN2Zy|Qk[0-9A-Za-z]|AAAAB3|AAAAC3|JVBER|UEsDB"
)
_HARMLESS_NAMES: Final = re.compile(
    r"(?:sha\d*|hash|md5|etag|digest|checksum|integrity|commit|rev(?:ision)?|version|image|thumbnail|icon|avatar|logo|preview|"
    r"png|gif|jpe?g|webp|svg|cursor|next|page|id|uid|guid|uuid|path|file|name|url|uri|href|"
    r"fingerprint|public|pub|pubkey|address|ssh|arn|object|digest|trace|span|request|correlation|nonce)$",
    re.IGNORECASE,
)


_WORD: Final = re.compile(r"[^\W\d_]{1,40}|[0-9]{1,3}(?:-[0-9]{1,3})?")
_SETTING: Final = re.compile(r"[a-z_]{2,40}=[^=]")
_PLAIN_PART: Final = re.compile(r"[A-Za-z]*[0-9]*")
_DIGIT: Final = re.compile(r"[0-9]")
_ABOUT: Final = ("unexpected ", "invalid ", "missing ", "expected ", "unknown ", "bad ", "next ")
_SIGNED: Final = re.compile(r"sig(?:nature)?$|token$|hmac$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets in text. `patterns` are compiled extra shapes, `values` are secrets known word for word."""

    patterns: tuple[re.Pattern[str], ...] = ()
    values: tuple[str, ...] = ()
    names: frozenset[tuple[str, ...]] = frozenset()
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
            or (_has(text, OPERATORS) and _has(lower, NAME_WORDS))
            or any(mark in lower and _has(lower, words) for mark, words in PLACE_WORDS.items())
        )
        return worth and self(text) != text

    def __call__(self, text: str) -> str:
        """`text` with every secret in it masked."""
        for value in self.values:
            if value in text:
                text = text.replace(value, self.mask)
        for pattern in self.patterns:
            text = pattern.sub(self._masked, text)
        lower = text.lower()
        for words, pattern in places():
            if _has(lower, words):
                text = pattern.sub(self._masked, text)
        runs = LONG_RUN.findall(text)
        if runs and _marked(text):
            text = marked().sub(self.mask, text)
        if runs and len(max(runs, key=len)) >= 32 and ("=" in text or ":" in text):
            text = ENTROPIC.sub(self._entropic, text)
        if self.names or _has(lower, NAME_WORDS):
            for pattern, mark in ((ELEMENT, "</"), (NAMED, ""), (FLAG, "")):
                if mark in text:
                    text = self._values(pattern, text)
        return text

    def secret_name(self, name: str, query: bool = False) -> bool:
        """Whether a value under `name` is a secret."""
        if is_secret_name(name, query):
            return True
        if not self.names:
            return False
        words = tuple(words_of(name))
        return any(words[-len(own) :] == own for own in self.names)

    def _masked(self, match: re.Match[str]) -> str:
        return ((match["keep"] or "") if "keep" in match.re.groupindex else "") + self.mask

    def _values(self, pattern: re.Pattern[str], text: str) -> str:
        pieces: list[str] = []
        position = 0
        for match in pattern.finditer(text):
            if match.start() < position or not self.secret_name(match["name"], bool(match["lead"])):
                continue
            opening = OPENING.match(text, match.end())
            found = VALUE.match(text, opening.end() if opening else match.end())
            if found is None or self._harmless(match, found):
                continue
            value = found[0]
            quote = value[: 2 if value.startswith("\\") else 1] if value.lstrip("\\")[:1] in ("'", '"') else ""
            pieces += [text[position : found.start()], quote, self.mask, quote if value.endswith(quote) else ""]
            position = found.end()
        return "".join([*pieces, text[position:]]) if pieces else text

    def _harmless(self, match: re.Match[str], found: re.Match[str]) -> bool:
        name, op, shown = match["name"], match["op"], found[0]
        value = shown.strip("\\\"'{}")
        if not value or value[0] == "…" or PLACEHOLDER.fullmatch(value):
            return True
        if match["lead"] and not is_secret_name(name) and not _SIGNED.search(name):
            # In a query `key` and `code` are often words: only what looks drawn at random is a secret.
            return len(value) < 16 or value.isalpha()
        if name.lower().endswith("cookie") and "=" not in value:
            return True
        if name.lower() == "pass" and value.isdigit() and len(value) < 7:
            return True
        if "=" in op or "->" in op or op == ">":
            return False
        if ":" not in op:
            # After a flag: what follows may be its value or the rest of a sentence about it.
            return PROSE.match(value) is not None
        # Between colons it is part of a longer name; before another word it belongs to a sentence.
        if match.start() > 0 and match.string[match.start() - 1] == ":":
            return True
        if shown[0] in "\\\"'":
            return " " in value and PROSE.match(value) is not None
        before = match.string[max(0, match.start() - 12) : match.start()].lower()
        return (
            PROSE.match(value) is not None
            or _SETTING.match(value) is not None
            or before.endswith(_ABOUT)
            or _reads_on(found)
        )

    def _entropic(self, match: re.Match[str]) -> str:
        value = match["value"]
        name = match["keep"].rstrip(" \t\n=:\"'")
        if _HARMLESS_NAMES.search(name) or _HARMLESS_VALUES.match(value) or _of_words(value) or not _random(value):
            return match[0]
        return match["keep"] + self.mask


def _marked(text: str) -> bool:
    pattern = marked()
    for run in LONG_RUN.finditer(text):
        # Random characters without a single digit among them are not random.
        if (len(run[0]) >= 24 or _DIGIT.search(run[0])) and pattern.search(text, run.start(), run.end()):
            return True
    return False


def _has(lower: str, words: tuple[str, ...]) -> bool:
    # A plain loop: on ordinary text this is asked more often than anything else, and it is the fastest way to ask.
    for word in words:  # noqa: SIM110
        if word in lower:
            return True
    return False


def _reads_on(found: re.Match[str]) -> bool:
    """After a colon, a plain word that another word follows belongs to a sentence."""
    following = found.string[found.end() : found.end() + 2]
    spaced = len(following) == 2 and following[0] == " " and following[1].isalpha()
    return spaced and _WORD.fullmatch(found[0].rstrip(".!?:")) is not None


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
    patterns: Iterable[str | re.Pattern[str]] = (), values: Iterable[str] = (), names: Iterable[str] = ()
) -> Redactor:
    """A redactor with shapes, known secrets and names of your own; a pattern that could run for ever is refused."""
    import html
    from urllib.parse import quote, quote_plus

    from .patterns import checked

    known: set[str] = set()
    for value in values:
        if len(value) < 4 or value.lower() in MASK:
            raise ValueError(f"The value {value!r} is too short or too common to be masked wherever it stands.")
        # The same secret as it looks inside JSON, a URL and HTML.
        known |= {value, json.dumps(value)[1:-1], html.escape(value)}
        known |= {quote(value, safe=safe, errors="replace") for safe in ("", "/")}
        known |= {quote_plus(value, safe=safe, errors="replace") for safe in ("", "/")}
    return Redactor(
        tuple(checked(pattern) for pattern in patterns),
        # The longest first, so that a secret that contains another goes as a whole.
        tuple(sorted(known, key=lambda value: (-len(value), value))),
        frozenset(words for name in names if (words := tuple(words_of(name)))),
    )
