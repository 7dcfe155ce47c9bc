"""Which function reads which exception: one table, looked up along the class hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from failwell.model import Effect, ToolError

from .chain import full_names

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
        self._found: WeakKeyDictionary[type[BaseException], tuple[int, tuple[Row, ...]]] = WeakKeyDictionary()
        self._changes = 0

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
            for exception in exceptions:
                self._rows[exception] = row
            self._changes += 1
            return row

        return register

    def add(self, rows: Mapping[str, Row]) -> None:
        """Many rows at once, by the full names of the classes."""
        self._rows.update(rows)
        self._changes += 1

    def rows(self, exception: type[BaseException]) -> tuple[Row, ...]:
        """The rows for a class, the nearest class first, and of one class the newest table's first."""
        self._load()
        state = self._state()
        known = self._found.get(exception)
        if known is None or known[0] != state:
            known = self._found[exception] = (state, tuple(self._search(exception)))
        return known[1]

    def packages(self) -> frozenset[str]:
        """The packages whose exceptions are known by their full names."""
        self._load()
        return frozenset(name.partition(".")[0] for name in self._rows if isinstance(name, str))

    def own_rows(self) -> tuple[Row, ...]:
        """The functions of rows that the package did not come with."""
        rows = () if self is SHIPPED else tuple(dict.fromkeys(self._rows.values()))
        return rows if self._below is None else (*rows, *self._below.own_rows())

    def __contains__(self, row: object) -> bool:
        return any(row is own for own in self._rows.values())

    def _load(self) -> None:
        for module in self._modules:
            import_module(module, __package__)
        self._modules = ()
        if self._below is not None:
            self._below._load()

    def _state(self) -> int:
        return self._changes + (self._below._state() if self._below else 0)

    def _search(self, exception: type[BaseException]) -> Iterator[Row]:
        tables: list[Table] = []
        table: Table | None = self
        while table is not None:
            tables.append(table)
            table = table._below
        for base, name in full_names(exception):
            for table in tables:
                row = table._rows.get(base) or table._rows.get(name)
                if row is not None:
                    yield row


class ByName(Generic[T]):
    """What is known about a class, by the full name of the nearest of those it is derived from."""

    def __init__(self, known: Mapping[str, T]) -> None:
        self._known = known
        self._found: WeakKeyDictionary[type, T | None] = WeakKeyDictionary()

    def of(self, value: object) -> T | None:
        """What is known about the class of `value`; None if nothing is."""
        cls = type(value)
        if cls not in self._found:
            self._found[cls] = next((self._known[name] for _, name in full_names(cls) if name in self._known), None)
        return self._found[cls]


def says(code: str, message: str, effect: Effect | None = None, error_type: str | None = None) -> Row:
    """A row that says the same of every exception it is given.

    >>> says("NOT_FOUND", "The record does not exist.")(LookupError()).message
    'The record does not exist.'
    """
    details = {"errorType": error_type} if error_type else None

    def row(exc: BaseException) -> ToolError:
        return ToolError(message, code=code, effect=effect, details=details)

    return row


SHIPPED = Table(modules=(".builtin", ".databases", ".services", "..validation", ".web"))
"""The rows that come with the package."""

DEFAULT = Table(SHIPPED)
"""The table everybody shares: the shipped rows, and what `failwell.classify.maps` adds."""
