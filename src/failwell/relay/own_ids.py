"""Ids of the relay's own: for what it asks by itself, and for what goes under another id than the client gave it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from .messages import key_of

# High among the numbers that fit in 32 bits, where no client counts: most begin at 0.
_LEAST: Final = 1_500_000_000
_MOST: Final = 2**31 - 1


class OwnIds:
    """Ids that nobody else has given: from a random place on, so that those of two relays differ, too."""

    def __init__(self) -> None:
        self._nonce = os.urandom(4)
        self._count = count(1)

    def new(self, like: type | None, is_taken: Callable[[bytes], bool]) -> int | str:
        """One of the kind that is in use: a text for texts, and otherwise a whole number, which any server takes."""
        made: Iterator[int | str] = map(self._text if like is str else self._number, self._count)
        return next(each for each in made if not is_taken(key_of(each)))

    def _text(self, number: int) -> str:
        return f"failwell-{self._nonce.hex()}-{number}"

    def _number(self, number: int) -> int:
        return _LEAST + (int.from_bytes(self._nonce) - number) % (_MOST - _LEAST)
