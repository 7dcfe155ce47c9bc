"""A call that did some of its work: every item that failed keeps what its own failure says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from failwell.formats import to_wire
from failwell.model import Effect, ToolError, text

from .exceptions.exception_table import classify

_MOST_ITEMS: Final = 50


def partial_failure(failed: Mapping[str, BaseException], *, done: Iterable[object] = ()) -> ToolError:
    """The error of a batch: which items failed, each with its own type, and which are done and must not be repeated.

    >>> error = partial_failure({"b": TimeoutError()}, done=["a"])
    >>> error.message, error.effect.value, error.details["failed"]["b"]["type"]
    ('1 of 2 items failed: b.', 'partial', 'INTERNAL')
    """
    errors = {text(item): classify(exc) for item, exc in islice(failed.items(), _MOST_ITEMS)}
    finished = list(done)
    items: dict[str, Any] = {
        item: {**_typed(error), **({"code": error.code} if error.code else {})} for item, error in errors.items()
    }
    names = ", ".join(list(errors)[:5]) + (f" and {len(failed) - 5} more" if len(failed) > 5 else "")
    total = len(failed) + len(finished)
    # Where none is known to be done, the batch is as uncertain as its items.
    nothing = all(error.effect is Effect.NONE for error in errors.values()) and len(errors) == len(failed)
    effect = Effect.PARTIAL if finished else Effect.NONE if nothing else Effect.UNKNOWN
    again = [item for item, error in errors.items() if error.retryable]
    return ToolError(
        f"{len(failed)} of {total} items failed: {names}.",
        code="PARTIAL_FAILURE",
        effect=effect,
        details={"failed": items, "done": finished[:_MOST_ITEMS]},
        suggestion=f"Call it for these items only: {', '.join(again[:20])}."
        if again and effect is not Effect.UNKNOWN
        else None,
    )


def _typed(error: ToolError) -> dict[str, Any]:
    wire = to_wire(error, "typed", guard=None)
    return wire if isinstance(wire, dict) else {}
