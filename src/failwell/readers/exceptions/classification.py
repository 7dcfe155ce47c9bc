"""Any exception to a ToolError: the nearest row that knows it, or knows what it came from."""

from __future__ import annotations

from typing import Any, overload

from failwell.model import Effect, Kind, NeedsInput, ToolError
from failwell.readers.http import from_response

from .builtin import broken
from .chain import LONGEST_CHAIN, attribute, cause, chain, class_name, is_a, leaves, members, origin
from .exception_table import DEFAULT, SHIPPED, Table
from .exception_text import named


def classify(exc: BaseException, *, table: Table = DEFAULT) -> ToolError:
    """What an exception means for the caller of a tool.

    A ToolError in it, or among its causes, is the answer. Otherwise the table decides by the exception, and where it
    does not know the exception, by what that came from. That nothing was done, only a row of your own can say.

    >>> classify(ConnectionRefusedError()).code
    'NETWORK_ERROR'
    """
    if is_order(exc):
        raise exc
    try:
        own = from_error(exc, context=False)
        if own is not None:
            return own
        error = _meaning(exc, table, set()) or broken(exc)
        # A copy: a row may give the same error each time, and what is said here is about this exception.
        changes: dict[str, Any] = {"debug": error.debug or named(exc), "cause": error.cause or exc}
        if not error.authored:
            # What was refused is the operation that raised it; what the tool did before, an exception cannot know.
            changes |= {"standing": "quoted"} | ({"effect": None} if error.effect is Effect.NONE else {})
        return error.replace(**changes)
    except Exception as failure:
        # Whatever that was, the caller is still owed an answer.
        _warn("Reading %s failed with %s.", class_name(exc), class_name(failure))
        return broken(exc).replace(cause=exc)


def operation(exc: BaseException) -> ToolError:
    """What an exception means for the one operation that raised it, and nothing about what came before it.

    >>> operation(ConnectionRefusedError()).effect.value, classify(ConnectionRefusedError()).effect
    ('none', None)
    """
    error = classify(exc)
    found = _meaning(exc, DEFAULT, set())
    known = None if found is None else found.effect
    return error if known is None else error.replace(effect=known, standing=None)


def is_order(exc: BaseException) -> bool:
    """Whether it is no failure but an order to stop (a cancellation, an interrupt), which nobody may swallow."""
    return any(not is_a(each, Exception, SystemExit) for each in leaves(exc))


@overload
def wrap(exc: None) -> None: ...
@overload
def wrap(exc: BaseException) -> ToolError: ...
def wrap(exc: BaseException | None) -> ToolError | None:
    """`exc` as a ToolError: itself if it is one already, nothing for nothing."""
    return None if exc is None else classify(exc)


def from_error(exc: BaseException | None, *, context: bool = True) -> ToolError | None:
    """The ToolError that `exc` is, was raised from, or was raised while handling; None if there is none.

    >>> from_error(RuntimeError("no")) is None
    True
    """
    if exc is None:
        return None
    for each in chain(exc, context=context):
        if is_a(each, ToolError):
            return each  # type: ignore[return-value]
        if is_a(each, NeedsInput):
            return each.to_error()  # type: ignore[attr-defined, no-any-return]
    return None


def _meaning(exc: BaseException, table: Table, seen: set[int]) -> ToolError | None:
    """What a row says about `exc`, or about the first of its origins that any row knows."""
    each: BaseException | None = exc
    certain = True
    while each is not None and id(each) not in seen and len(seen) < LONGEST_CHAIN:
        seen.add(id(each))
        found = _read(each, table) or _among(each, table, seen)
        if found is not None:
            # What was tried after a failure, and failed in its own way, may have changed something.
            doubtful = not certain and found.kind is Kind.TRANSIENT
            return found.replace(effect=Effect.UNKNOWN) if doubtful else found
        certain = certain and cause(each) is not None
        each = origin(each)
    return None


def _among(group: BaseException, table: Table, seen: set[int]) -> ToolError | None:
    """Of several failures at once, the first that is none of the tool's own: a crash beside a refused connection is
    likely to have followed from it."""
    first = None
    for leaf in leaves(group) if members(group) else ():
        if len(seen) >= LONGEST_CHAIN:
            break
        error = _meaning(leaf, table, seen)
        if error is not None and error.kind is not Kind.INTERNAL:
            return error
        first = first or error
    return first


def _read(exc: BaseException, table: Table) -> ToolError | None:
    for row in table.rows(type(exc)):
        try:
            found = row(exc)
        except Exception as failure:
            _warn("The mapping %s failed with %s.", attribute(row, "__qualname__"), class_name(failure))
            continue
        if is_a(found, ToolError):
            if row not in SHIPPED:
                found.authored = True  # type: ignore[union-attr]
            return found
    return _by_status(exc)


def _by_status(exc: BaseException) -> ToolError | None:
    """Clients of web services that nobody knows still tend to say the status."""
    response = attribute(exc, "response")
    for holder in (exc, response):
        for name in ("status_code", "http_status", "status"):
            status = attribute(holder, name)
            if type(status) is int and 400 <= status < 600:
                return from_response(status, holder if response is None else response)
    return None


def _warn(message: str, *about: object) -> None:
    import logging  # only for rows that break, and slower to import than all rows together

    logging.getLogger("failwell.classify").warning(message, *about)
