"""How an error keeps its fields: only what was given, normalised when it is set, the rest derived when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypedDict, TypeVar, overload

from .call import Sent
from .json_values import positive
from .kinds import Effect, Kind, Severity, Strategy
from .parts import Action, Conflicting, FieldError, Patch

if TYPE_CHECKING:
    from .tool_error import ToolError

T = TypeVar("T")


Delivery = Literal["never_sent", "refused", "unanswered", "answered"]
Standing = Literal["stated", "quoted"]


class Fields(TypedDict, total=False):
    """Everything an error can be given besides its message. None, and values that make no sense, count as not given."""

    code: str | None
    kind: Kind | str | None
    title: str | None
    severity: Severity | str | None
    recoverable: bool | None
    strategy: Strategy | str | None
    retry_after: float | timedelta | None
    reset_at: datetime | float | str | None
    suggestion: str | None
    next_steps: Iterable[str] | None
    actions: Iterable[Action | str | Mapping[str, Any]] | None
    fields: Iterable[FieldError | Mapping[str, Any] | tuple[Any, str]] | None
    patch: Iterable[Patch | Mapping[str, Any]] | None
    conflicts: Iterable[Conflicting | Mapping[str, Any] | str] | None
    effect: Effect | str | None
    verify: Action | str | Mapping[str, Any] | None
    details: Mapping[str, Any] | None
    http_status: int | None
    policy_decision: str | None
    tool: str | None
    action: str | None
    tier: str | None
    correlation_id: str | None
    meta: Mapping[str, Any] | None
    origin: Literal["peer", "local"] | None
    standing: Standing | None
    delivery: Delivery | None
    format: str | None
    confidence: float | None
    legacy: bool | None
    notes: Iterable[str] | None
    debug: object
    sent: Mapping[str, Any] | Sent | None
    authored: bool | None
    crashed: bool | None
    logged: bool | None
    cause: BaseException | None


DELIVERIES: Final = ("never_sent", "refused", "unanswered", "answered")
"""What became of a call, as the caller knows it. A call that was `refused` was answered before its tool ran."""
STANDINGS: Final = ("stated", "quoted")
"""How a failure that was read was said: as the answer itself, or as something that only looks like one."""


class Field(property, Generic[T]):
    """One stored field: kept only when it was given, normalised when it is set."""

    name: str

    def __init__(self, normal: Callable[[Any], T | None], default: T) -> None:
        self.normal = normal
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        # Fields are read a hundred times for one failure, and a property is read faster than any other descriptor.
        super().__init__(self._reader(name), lambda error, value: error._give(name, value))

    def _reader(self, name: str) -> Callable[[ToolError], Any]:
        default = self.default
        return lambda error: error._given.get(name, default)

    if TYPE_CHECKING:

        @overload  # type: ignore[override]
        def __get__(self, obj: None, owner: type) -> Self: ...
        @overload
        def __get__(self, obj: ToolError, owner: type) -> T: ...
        def __get__(self, obj: ToolError | None, owner: type) -> Self | T: ...


class Derived(Field[T]):
    """A field that follows from the others unless it was given."""

    def __init__(self, normal: Callable[[Any], T | None], derive: Callable[[ToolError], T]) -> None:
        self.normal = normal
        self.derive = derive

    def _reader(self, name: str) -> Callable[[ToolError], Any]:
        derive = self.derive

        def read(error: ToolError) -> T:
            value: T | None = error._given.get(name)
            return value if value is not None else derive(error)

        return read


class Delay(Field[T]):
    """A wait before the same call is made again: none where the call may have been done already."""

    def _reader(self, name: str) -> Callable[[ToolError], Any]:
        default = self.default

        def read(error: ToolError) -> T:
            value: T = error._given.get(name, default)
            return value if value is None or error.may_repeat else default

        return read


def flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def status(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599 else None


def share(value: object) -> float | None:
    number = positive(value)
    return None if number is None or number > 1 else float(number)


def delivery_of(value: object) -> Delivery | None:
    return value if isinstance(value, str) and value in DELIVERIES else None  # type: ignore[return-value]


def standing_of(value: object) -> Standing | None:
    return value if isinstance(value, str) and value in STANDINGS else None  # type: ignore[return-value]


def origin_of(value: object) -> Literal["peer", "local"] | None:
    return value if isinstance(value, str) and value in ("peer", "local") else None  # type: ignore[return-value]


_severity = Severity.of


def severity_of(value: object) -> Severity:
    # An unknown word is no reason to call a failure a success.
    return _severity(value) or Severity.ERROR
