"""What a parser found in a text, and the few things that several parsers make findings from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, NamedTuple

from failwell.model import FieldError, Path, pattern, text

EXACT: Final = 0.95
STATED: Final = 0.85
WORDED: Final = 0.65
GUESSED: Final = 0.4
UNKNOWN: Final = 0.2

MOST_FIELDS: Final = 50
_LONGEST_NAME: Final = 200


class Finding(NamedTuple):
    """What a text says. Without a code it is an error that says nothing about its kind.

    `message` is given where a shape holds better words than the text as a whole. `plain` says that the shape alone
    proves an error, whatever the result says about itself.
    """

    code: str | None
    confidence: float
    message: str | None = None
    fields: tuple[FieldError, ...] = ()
    http_status: int | None = None
    retry_after: float | int | None = None
    suggestion: str | None = None
    plain: bool = False
    reset_at: datetime | None = None


Parser = Callable[[str], "Finding | None"]


def invalid(problems: Iterable[FieldError], *, message: str | None = None, plain: bool = False) -> Finding | None:
    """The finding for arguments that break a schema; nothing when there are no problems."""
    fields = _distinct(problems)
    if not fields:
        return None
    missing = all(problem.rule == "required" for problem in fields)
    code = "MISSING_REQUIRED_FIELD" if missing else "VALIDATION_ERROR"
    return Finding(code, EXACT, message, fields, plain=plain)


def _distinct(problems: Iterable[FieldError]) -> tuple[FieldError, ...]:
    found: list[FieldError] = []
    for problem in problems:
        if problem not in found:
            found.append(problem)
        if len(found) == MOST_FIELDS:
            break
    return tuple(found)


def summary(fields: tuple[FieldError, ...]) -> str:
    """One line for what is otherwise a dump."""
    said = "; ".join(
        f"{problem.name}: {problem.message}" if problem.path else problem.message for problem in fields[:5]
    )
    return f"{said}; and {len(fields) - 5} more" if len(fields) > 5 else said


_STEPS: Final = pattern(r"[^.\[\]/]{1,200}")


def path(written: str) -> Path:
    """A path as people write it, `a.b[0]` or `/a/b/0`, as names and indexes.

    >>> path("items[0].name")
    ('items', 0, 'name')
    """
    steps = _STEPS.findall(written[:_LONGEST_NAME].strip())
    return tuple(int(step) if step.isdecimal() and len(step) < 10 else step.strip("'\"`") for step in steps)


_QUOTED: Final = pattern(r"'([^'\n]{0,200})'|\"([^\"\n]{0,200})\"|`([^`\n]{0,200})`")


def quoted(written: str) -> tuple[str, ...]:
    """The texts in quotes.

    >>> quoted("expected 'a', \\"b\\" or `c`")
    ('a', 'b', 'c')
    """
    return tuple(text(one or two or three) for one, two, three in _QUOTED.findall(written[:5_000])[:MOST_FIELDS])
