"""What is made of a schema once, and needed with every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from .refs import Schema

T = TypeVar("T")
_MOST: Final = 500


class BySchema(Generic[T]):
    """What `make` made of each schema, as long as it is the same object."""

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._known: dict[int, tuple[Schema, T]] = {}

    def __call__(self, schema: Schema) -> T:
        known = self._known.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._known) >= _MOST:
                self._known.clear()
            # With the schema itself: else another one could come to lie in its place.
            known = self._known[id(schema)] = schema, self._make(schema)
        return known[1]
