"""Whether a message says that something failed: an answer in whatever form, or word of work in the background."""

from __future__ import annotations

from typing import Any, Final

from .messages import Message

# As servers say it that take no care of types: 1 is True.
YES: Final = (True, "true", "True")
_OF_TASKS: Final = frozenset({"taskId", "statusMessage"})
# What a task came to that did not work, in whichever capitals: why stands beside it.
_ENDED_SO: Final = frozenset({"failed", "cancelled", "canceled", "error"})
# Where the state of a task, or the result that it ended with, stands in what is said of it.
_INSIDE: Final = ("task", "result")


def says_failed(message: Message) -> bool:
    """Whether a message says that something failed, in an error, a result, or the state of a task."""
    if message.get("error") or ("error" in message and "result" not in message):
        return True
    return _is_failed(message.get("params" if "method" in message else "result"))


def _is_failed(said: Any) -> bool:
    if type(said) is not dict:
        return False
    if said.get("isError") in YES:
        return True
    if not _OF_TASKS.isdisjoint(said) and (said.get("error") or str(said.get("status")).lower() in _ENDED_SO):
        return True
    tasks = said.get("tasks")
    return any(_is_failed(said[name]) for name in _INSIDE if name in said) or (
        type(tasks) is list and any(map(_is_failed, tasks))
    )
