"""Any exception to a ToolError: by the nearest row that knows it, or knows what it came from.

The rows stand in one table, which is looked up along the class hierarchy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from typing import Any, Final, TypeVar, overload

from failwell.formats import to_wire
from failwell.model import Effect, Kind, NeedsInput, ToolError, text
from failwell.readers.http import from_response

from .chain import (
    LONGEST_CHAIN,
    attribute,
    cause,
    chain,
    class_name,
    exc_summary,
    full_names,
    is_a,
    leaves,
    members,
    origin,
)

Row = Callable[[Any], ToolError | None]
"""Reads an exception; None says that this one is somebody else's."""

R = TypeVar("R", bound=Row)
T = TypeVar("T")


class Table:
    """Rows by class, or by the full name of a class that need not be imported to be known.

    A table that stands on another is asked first: a server can have rows of its own.
    """

    def __init__(self, below: Table | None = None, *, modules: tuple[str, ...] = ()) -> None:
        self._below = below
        # Where more rows are, to be imported when the first exception is looked up.
        self._modules = modules
        self._rows: dict[type[BaseException] | str, Row] = {}

    def maps(self, *exceptions: type[BaseException] | str) -> Callable[[R], R]:
        """The decorated function reads these exceptions and what is derived from them.

        >>> table = Table()
        >>> @table.maps(KeyError)
        ... def missing(exc: KeyError) -> ToolError:
        ...     return ToolError("No such key.", code="NOT_FOUND")
        """
        if not exceptions:
            raise TypeError("maps() needs the exceptions the function reads: @maps(MyError).")
        for exception in exceptions:
            if not isinstance(exception, str) and not (
                isinstance(exception, type) and issubclass(exception, BaseException)
            ):
                raise TypeError(f"maps() takes exception classes or their full names, not {exception!r}.")

        def register(row: R) -> R:
            self._rows.update(dict.fromkeys(exceptions, row))
            return row

        return register

    def add(self, rows: Mapping[Row, Iterable[str]]) -> None:
        """Many rows at once, each with the full names of its classes."""
        self._rows.update({name: row for row, names in rows.items() for name in names})

    def search(self, exception: type[BaseException]) -> Iterator[tuple[Row, bool]]:
        """The rows for a class, the nearest class first, and of one class the newest table's first; each with whether
        the package came with it."""
        tables = self._tables()
        for base, name in full_names(exception):
            for table in tables:
                row = table._rows.get(base) or table._rows.get(name)
                if row is not None:
                    yield row, table is SHIPPED

    def own_rows(self) -> tuple[Row, ...]:
        """The functions of rows that the package did not come with."""
        return tuple(
            dict.fromkeys(row for table in self._tables() if table is not SHIPPED for row in table._rows.values())
        )

    @property
    def is_shipped(self) -> bool:
        """Whether it has no row that the package did not come with."""
        return self is SHIPPED or not (self._rows or self._modules or (self._below and not self._below.is_shipped))

    def packages(self) -> frozenset[str]:
        """The packages whose exceptions are known by their full names."""
        self._load()
        return frozenset(name.partition(".")[0] for name in self._rows if isinstance(name, str))

    def _tables(self) -> list[Table]:
        tables: list[Table] = []
        table: Table | None = self
        while table is not None:
            table._load()
            tables.append(table)
            table = table._below
        return tables

    def _load(self) -> None:
        modules, self._modules = self._modules, ()
        for module in modules:
            import_module(module, __package__)


def by_name(known: Mapping[str, T], value: object) -> T | None:
    """What is known about the class of `value`, by the full name of the nearest class that it is derived from."""
    return next((known[name] for _, name in full_names(type(value)) if name in known), None)


def names(packages: str, classes: str) -> tuple[str, ...]:
    """The full names of classes that several packages have alike.

    >>> names("httpx httpx2", "ReadError")
    ('httpx.ReadError', 'httpx2.ReadError')
    """
    return tuple(f"{package}.{name}" for package in packages.split() for name in classes.split())


# Whatever takes too long, or breaks on the other side, may have been done.
_UNSURE: Final = frozenset({"TIMEOUT", "UPSTREAM_ERROR"})


def says(code: str, message: str, effect: Effect | None = None) -> Row:
    """A row that says the same of every exception it is given.

    >>> says("NOT_FOUND", "The record does not exist.")(LookupError()).message
    'The record does not exist.'
    """
    effect = Effect.UNKNOWN if code in _UNSURE else effect
    return lambda exc: ToolError(message, code=code, effect=effect)


SHIPPED = Table(modules=(".builtin", ".databases", ".services", "..validation", ".web"))
"""The rows that come with the package."""

DEFAULT = Table(SHIPPED)
"""The table everybody shares: the shipped rows, and what `failwell.classify.maps` adds."""


def broken(exc: BaseException) -> ToolError:
    """What nobody planned for. Its text is for the log: it may hold anything."""
    return ToolError("The tool failed unexpectedly.", code="INTERNAL_ERROR", details={"error_type": class_name(exc)})


def classify(exc: BaseException, *, table: Table = DEFAULT) -> ToolError:
    """What an exception means for the caller of a tool.

    A ToolError in it, or among its causes, is the answer. Otherwise the table decides by the exception, and where it
    does not know the exception, by what that came from. That nothing was done, only a row of your own can say.

    >>> classify(ConnectionRefusedError()).code
    'NETWORK_ERROR'
    """
    if is_stop_request(exc):
        raise exc
    try:
        own = from_error(exc, context=False)
        if own is not None:
            return own
        error = _meaning(exc, table, set()) or broken(exc)
        # A copy: a row may give the same error each time, and what is said here is about this exception.
        changes: dict[str, Any] = {"debug": error.debug or exc_summary(exc), "cause": error.cause or exc}
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


def is_stop_request(exc: BaseException) -> bool:
    """Whether it is no failure but an order to stop (a cancellation, an interrupt), which nobody may swallow. Any other
    class beside `Exception` is a failure, as the panics of native libraries are."""
    return any(map(_is_stop_request, leaves(exc)))


# By name: whoever has not imported a library has not been stopped by it.
_ORDERS = frozenset(
    {
        *("builtins.KeyboardInterrupt", "builtins.GeneratorExit", "asyncio.exceptions.CancelledError"),
        *("trio.Cancelled", "greenlet.GreenletExit", "_pytest.outcomes.OutcomeException", "hypothesis.errors.StopTest"),
    }
)


def _is_stop_request(exc: BaseException) -> bool:
    if is_a(exc, Exception, SystemExit):
        return False
    return any(name in _ORDERS for _, name in full_names(type(exc)))


@overload
def wrap(exc: None, *, table: Table = ...) -> None: ...
@overload
def wrap(exc: BaseException, *, table: Table = ...) -> ToolError: ...
def wrap(exc: BaseException | None, *, table: Table = DEFAULT) -> ToolError | None:
    """`exc` as a ToolError: itself, or the one that it was raised from, or what the table says; nothing for nothing."""
    return None if exc is None else classify(exc, table=table)


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
    for row, is_shipped in table.search(type(exc)):
        try:
            found = row(exc)
        except Exception as failure:
            _warn("The mapping %s failed with %s.", attribute(row, "__qualname__"), class_name(failure))
            continue
        if is_a(found, ToolError):
            if not is_shipped:
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


def partial_failure(failed: Mapping[str, BaseException], *, done: Iterable[object] = ()) -> ToolError:
    """The error of a call that did some of its work: which items failed, each with its own type, and which are done and
    must not be repeated.

    >>> error = partial_failure({"b": TimeoutError()}, done=["a"])
    >>> error.message, error.effect.value, error.details["failed"]["b"]["type"]
    ('1 of 2 items failed: b.', 'partial', 'TRANSIENT')
    """
    errors = {text(item): classify(exc) for item, exc in islice(failed.items(), _MOST_ITEMS)}
    finished = list(done)
    items = {item: {**_typed(error), **({"code": error.code} if error.code else {})} for item, error in errors.items()}
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


_MOST_ITEMS: Final = 50
