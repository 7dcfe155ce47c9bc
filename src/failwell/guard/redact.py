"""Secrets out of text: by their shape, by the place they stand in, and by the name in front of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .names import is_secret_name
from .shapes import (
    ELEMENT,
    ENTROPIC,
    FLAG,
    LONG_RUN,
    MARKED_PATTERN,
    NAME_WORDS,
    NAMED,
    PLACE_WORDS,
    PLACES,
    PROSE,
    VALUE,
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


_SIGNED: Final = re.compile(r"sig(?:nature)?$|token$|hmac$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets in text. `patterns` are compiled extra shapes, `values` are secrets known word for word."""

    patterns: tuple[re.Pattern[str], ...] = ()
    values: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    mask: str = MASK

    def finds(self, text: str, lower: str) -> bool:
        """Whether there is anything to mask in `text`; `lower` is the same in lower case."""
        if self.patterns or self.values or self.names:
            return True
        runs = LONG_RUN.findall(text)
        if runs and any(map(MARKED_PATTERN.search, runs)):
            return True
        worth = (runs and len(max(runs, key=len)) >= 32) or _has(lower, NAME_WORDS) or _has(lower, PLACE_WORDS)
        return bool(worth) and self(text) != text

    def __call__(self, text: str) -> str:
        """`text` with every secret in it masked."""
        for value in self.values:
            if value in text:
                text = text.replace(value, self.mask)
        for pattern in self.patterns:
            text = pattern.sub(self._masked, text)
        lower = text.lower()
        for words, pattern in PLACES:
            if _has(lower, words):
                text = pattern.sub(self._masked, text)
        runs = LONG_RUN.findall(text)
        if any(map(MARKED_PATTERN.search, runs)):
            text = MARKED_PATTERN.sub(self.mask, text)
        if runs and len(max(runs, key=len)) >= 32 and ("=" in text or ":" in text):
            text = ENTROPIC.sub(self._entropic, text)
        if self.names or _has(lower, NAME_WORDS):
            for pattern, mark in ((ELEMENT, "</"), (NAMED, ""), (FLAG, "")):
                if mark in text:
                    text = self._values(pattern, text)
        return text

    def secret_name(self, name: str, query: bool = False) -> bool:
        """Whether a value under `name` is a secret."""
        return is_secret_name(name, query) or name.lower() in self.names

    def _masked(self, match: re.Match[str]) -> str:
        return (match["keep"] if "keep" in match.re.groupindex else "") + self.mask

    def _values(self, pattern: re.Pattern[str], text: str) -> str:
        pieces: list[str] = []
        position = 0
        for match in pattern.finditer(text):
            if match.start() < position or not self.secret_name(match["name"], bool(match["lead"])):
                continue
            found = VALUE.match(text, match.end())
            if found is None or self._harmless(match, found):
                continue
            value = found[0]
            quote = value[: 2 if value.startswith("\\") else 1] if value.lstrip("\\")[:1] in ("'", '"') else ""
            pieces += [text[position : match.end()], quote, self.mask, quote if value.endswith(quote) else ""]
            position = found.end()
        return "".join([*pieces, text[position:]]) if pieces else text

    def _harmless(self, match: re.Match[str], found: re.Match[str]) -> bool:
        name, op, value = match["name"], match["op"], found[0].strip("\\\"'{}")
        if not value or value.startswith(self.mask) or PROSE.match(value):
            return True
        if match["lead"] and not is_secret_name(name) and not _SIGNED.search(name):
            # In a query `key` and `code` are often words: only what looks drawn at random is a secret.
            return len(value) < 16 or value.isalpha()
        if name.lower().endswith("cookie") and "=" not in value:
            return True
        if ":" not in op or "=" in op:
            return False
        # Between colons it is part of a longer name; before another word it belongs to a sentence.
        inside = match.start() > 0 and match.string[match.start() - 1] == ":"
        return inside or (found[0][0] not in "\\\"'" and _reads_on(found))

    def _entropic(self, match: re.Match[str]) -> str:
        value = match["value"]
        name = match["keep"].rstrip(" \t\n=:\"'")
        if _HARMLESS_NAMES.search(name) or _HARMLESS_VALUES.match(value) or not _random(value):
            return match[0]
        return match["keep"] + self.mask


def _has(lower: str, words: tuple[str, ...]) -> bool:
    # A plain loop: on ordinary text this is asked more often than anything else, and it is the fastest way to ask.
    for word in words:  # noqa: SIM110
        if word in lower:
            return True
    return False


def _reads_on(found: re.Match[str]) -> bool:
    """After a colon, a plain word that another word follows belongs to a sentence."""
    following = found.string[found.end() : found.end() + 2]
    return found[0].rstrip(".!?:").isalpha() and len(following) == 2 and following[0] == " " and following[1].isalpha()


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
    from .patterns import checked

    return Redactor(
        tuple(checked(pattern) for pattern in patterns),
        # The longest first, so that a secret that contains another goes as a whole.
        tuple(sorted({value for value in values if len(value) >= 4}, key=lambda value: (-len(value), value))),
        frozenset(name.lower() for name in names),
    )
