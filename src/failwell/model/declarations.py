"""`raises`: what a tool says about itself, for the manifest and for whoever reads before they call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from .codes import Code
from .tool_error import ToolError

F = TypeVar("F", bound=Callable[..., Any])
_MARK: Final = "__failwell_raises__"


@dataclass(frozen=True, slots=True)
class Declared:
    """What the author of a tool declares; None where they do not say."""

    codes: tuple[str, ...] = ()
    category: str | None = None
    mutation: bool | None = None
    requires: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()


def raises(
    *codes: str | Code | type[ToolError],
    category: str | None = None,
    mutation: bool | None = None,
    requires: Iterable[str] | str = (),
    profiles: Iterable[str] | str = (),
) -> Callable[[F], F]:
    """Declare the codes a tool may fail with, and what contract 003's manifest says of it.

    Stands below the framework's own decorator; several add up. Nothing changes when the tool runs.

    >>> @raises("NOT_FOUND", category="read", mutation=False, requires=["db"])
    ... def get_invoice(id: str) -> str: ...
    >>> declared(get_invoice).codes
    ('NOT_FOUND',)
    """
    named = tuple(dict.fromkeys(map(_name, codes)))
    said = Declared(
        named, category, mutation, *((each,) if isinstance(each, str) else tuple(each) for each in (requires, profiles))
    )

    def declare(function: F) -> F:
        known = declared(function)
        both = Declared()
        for field in both.__slots__:
            mine, others = getattr(said, field), getattr(known, field)
            if isinstance(mine, tuple):
                mine = tuple(dict.fromkeys((*mine, *others)))
            object.__setattr__(both, field, others if mine is None else mine)
        setattr(function, _MARK, both)
        return function

    return declare


def declared(function: object) -> Declared:
    """What `raises` said about a function, or about what it wraps."""
    for _ in range(100):
        found = getattr(function, _MARK, None)
        if isinstance(found, Declared):
            return found
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    return Declared()


def _name(code: object) -> str:
    if isinstance(code, Code):
        return code.name
    if isinstance(code, type) and issubclass(code, ToolError):
        name = code._defaults.get("code")
        if isinstance(name, str):
            return name
    if isinstance(code, str) and code:
        return code
    raise TypeError(f"raises() takes codes, by name or from a catalogue, and errors that have one; not {code!r}.")
