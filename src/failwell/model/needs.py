"""`NeedsInput`: the call did not fail, it needs an answer from the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from .fields import Standing
from .json_values import Json, each, label, lines, plain, text
from .no_data import NoData
from .parts import FieldError, Option, all_of
from .tool_error import CANONICAL_VERSION, Invalid, ToolError


class NeedsInput(Exception, NoData):
    """Raise it, or return it, to ask instead of failing.

    >>> question = NeedsInput("Which pattern?", fields=["id"], suggestions={"id": ["retry", "stream"]})
    >>> question.to_error().fields[0].options
    ('retry', 'stream')
    """

    def __init__(
        self,
        message: object = "",
        *,
        fields: Iterable[str] | str = (),
        reason: str | None = None,
        suggestions: Mapping[str, Iterable[Any]] | None = None,
        options: Iterable[Option | Mapping[str, Any] | str] = (),
        notes: Iterable[str] = (),
        format: str | None = None,
        standing: Standing | None = None,
    ) -> None:
        self.message = text(message)
        self.fields = lines(fields)
        self.reason = label(reason)
        self.suggestions: dict[str, list[Json]] = _choices(suggestions)
        self.options: tuple[Option, ...] = all_of(Option, options)
        self.notes = lines(notes)
        self.format = label(format)
        self.standing = standing
        super().__init__(self.message)

    def to_dict(self) -> dict[str, Json]:
        """The canonical JSON object."""
        given: dict[str, Json] = {
            "fields": list(self.fields),
            "reason": self.reason,
            "suggestions": {name: list(values) for name, values in self.suggestions.items()},
            "options": [option.to_dict() for option in self.options],
            "notes": list(self.notes),
        }
        data = {"failwell": CANONICAL_VERSION, "outcome": "needs_input", "message": self.message}
        return data | {name: value for name, value in given.items() if value}

    def to_error(self) -> ToolError:
        """The nearest failure, for formats and clients that know no questions."""
        problems = [
            FieldError((name,), self.reason or "A value is needed", options=tuple(self.suggestions.get(name, ())))
            for name in self.fields
        ]
        named = ", ".join(self.fields)
        return Invalid(
            self.message,
            fields=problems,
            suggestion=f"Ask the user for {named}, then call again with the answer." if named else None,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NeedsInput):
            return NotImplemented
        return self.to_dict() | {"notes": None} == other.to_dict() | {"notes": None}

    def __hash__(self) -> int:
        return hash(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (type(self), self.__dict__))

    def __repr__(self) -> str:
        return f"NeedsInput({self.message!r}, fields={list(self.fields)!r})"


def _restore(cls: type[NeedsInput], state: dict[str, Any]) -> NeedsInput:
    # Not through the constructor: a subclass may want other arguments.
    self = cls.__new__(cls)
    self.__dict__.update(state)
    self.args = (self.message,)
    return self


def _choices(suggestions: object) -> dict[str, list[Json]]:
    try:
        known = plain(suggestions) if isinstance(suggestions, Mapping) else {}
        # Looked at again: a value that was no list lies one level deeper in one.
        chosen = {name: found for name, values in known.items() if (found := each(values))}
        return cast("dict[str, list[Json]]", plain(chosen))
    except Exception:
        return {}
