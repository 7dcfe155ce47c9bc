"""How long a post is: 280 at most, where an address counts 23, and an emoji or a Chinese character 2."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from .codes import S, validation_error

LIMIT: Final = 280
_URL: Final = re.compile(r"https?://\S+")
_PICTURE: Final = r"[\u2600-\u27bf\U0001f300-\U0001faff]"
# One picture, however many characters it takes: with a skin tone, joined with others, or a flag.
_EMOJI: Final = re.compile(
    rf"{_PICTURE}(?:[\ufe0f\U0001f3fb-\U0001f3ff]|\u200d{_PICTURE})*|[\U0001f1e6-\U0001f1ff]{{2}}"
)
_SINGLE: Final = re.compile(r"[\u0000-\u10ff\u2000-\u200d\u2010-\u201f\u2032-\u2037]")


def weight(text: str) -> int:
    """The length of a post as the network counts it.

    >>> weight("see https://example.com/a/very/long/address/that/goes/on"), weight("日本"), weight("👩‍👩‍👧!")
    (27, 4, 3)
    """
    rest, urls = _URL.subn("", unicodedata.normalize("NFC", text))
    rest, emoji = _EMOJI.subn("", rest)
    single = len(_SINGLE.findall(rest))
    return 23 * urls + 2 * emoji + single + 2 * (len(rest) - single)


def checked(texts: list[str]) -> list[str]:
    """The texts, if the network takes them."""
    for place, text in enumerate(texts):
        if not text.strip():
            raise validation_error(texts=f"Post {place + 1} must not be empty.")
        if (length := weight(text)) > LIMIT:
            text = f"Post {place + 1} counts {length} characters, and {LIMIT} are allowed."
            raise S.tweet_too_long(text, suggestion=f"Shorten it by {length - LIMIT}, then call again.")
    return texts
