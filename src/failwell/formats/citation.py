"""A peer's error as somebody else passes it on: what it says in words is cited, what it says in data stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from failwell.guards import cited
from failwell.model import FieldError, ToolError

from .own_words import attributed, is_ours
from .wrong_argument import quotes_message


def passed_on(error: ToolError, heard: ToolError | None = None) -> ToolError:
    """The error as our own statement, in which the words of the peer are cited. One that is no peer's stays as it is.

    `heard` is what the peer said before anything was added to it: what it did not say is not cited.
    """
    if error.origin != "peer":
        return error
    changes: dict[str, Any] = {"origin": None}
    if message := error.message:
        changes["message"] = attributed(message) or None
    suggestion, steps, fields = error.suggestion, error.next_steps, error.fields
    if suggestion or steps or fields:
        is_theirs = _said_by(error if heard is None else heard)
        if suggestion:
            changes["suggestion"] = _told(suggestion, is_theirs) or None
        if steps:
            changes["next_steps"] = [_told(step, is_theirs) for step in steps]
        if fields:
            changes["fields"] = [_field(each, is_theirs) for each in fields]
    return error.replace(**changes)


def cited_field(problem: FieldError) -> FieldError:
    """What somebody else says of an argument, cited where it is not put into words of our own."""
    if not quotes_message(problem):
        return problem
    said = cited(problem.message)
    return FieldError(problem.path, said, problem.sent, problem.expected, problem.options, problem.rule)


def _field(problem: FieldError, is_theirs: Callable[[str], bool]) -> FieldError:
    return cited_field(problem) if is_theirs(problem.message) else problem


def _told(words: str, is_theirs: Callable[[str], bool]) -> str:
    return cited(words) if is_theirs(words) and not is_ours(words) else words


def _said_by(heard: ToolError) -> Callable[[str], bool]:
    said = "\n".join(
        filter(None, (heard.message, heard.suggestion, *heard.next_steps, *(each.message for each in heard.fields)))
    )
    return lambda words: words in said
