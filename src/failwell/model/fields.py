"""How an error keeps its fields: only what was given, normalised when it is set, the rest derived when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Never, Self, TypedDict, TypeVar, overload

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
    """Everything an error can be given besides its message. None, and values that make no sense, count as not given;
    an effect that makes none counts as unknown."""

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
NOTHING_RAN: Final = frozenset({"never_sent", "refused"})
"""What the transport saw, or what was proven from the tool's own schema: the call did nothing."""
"""What became of a call, as the caller knows it. A call that was `refused` was answered before its tool ran."""
STANDINGS: Final = ("stated", "quoted")
"""How a failure that was read was said: as the answer itself, or as something that only looks like one."""


class Field(Generic[T]):
    """One stored field: kept only when it was given, normalised when it is set.

    Fields are read a hundred times for one failure. So what was given is an attribute of the error like any other, and
    the default one of its class: no function is called to read either.
    """

    name: str

    def __init__(self, normal: Callable[[Any], T | None], default: T) -> None:
        self.normal = normal
        self.default = default

    def __set_name__(self, owner: type[ToolError], name: str) -> None:
        self.name = name
        owner._table[name] = self
        setattr(owner, name, self.default)

    if TYPE_CHECKING:

        @overload
        def __get__(self, obj: None, owner: type) -> Self: ...
        @overload
        def __get__(self, obj: ToolError, owner: type) -> T: ...
        def __get__(self, obj: ToolError | None, owner: type) -> Self | T: ...
        def __set__(self, obj: ToolError, value: Any) -> None: ...


class Derived(Field[T]):
    """A field that follows from the others unless it was given; kept until one of them changes."""

    def __init__(self, normal: Callable[[Any], T | None], derive: Callable[[ToolError], T]) -> None:
        self.normal = normal
        self.derive = derive

    def __set_name__(self, owner: type[ToolError], name: str) -> None:
        self.name = name
        owner._table[name] = self

    def _said(self, error: ToolError) -> T:
        value: T | None = error._given.get(self.name)
        return value if value is not None else self.derive(error)

    if not TYPE_CHECKING:

        def __get__(self, error: ToolError | None, owner: type) -> Any:
            if error is None:
                return self
            value = error.__dict__[self.name] = self._said(error)
            return value


class Delay(Field[T]):
    """A wait before the same call is made again: none where the call may have been done already."""


class Follows(Generic[T]):
    """What can only be read: it follows from the fields, and is kept until one of them changes."""

    name: str

    def __init__(self, derive: Callable[[Any], T]) -> None:
        self.derive = derive
        self.__doc__ = derive.__doc__

    def __set_name__(self, owner: type[ToolError], name: str) -> None:
        self.name = name
        owner._following.append(name)

    @overload
    def __get__(self, error: None, owner: type) -> Self: ...
    @overload
    def __get__(self, error: ToolError, owner: type) -> T: ...
    def __get__(self, error: ToolError | None, owner: type) -> Self | T:
        if error is None:
            return self
        value: T = self.derive(error)
        error.__dict__[self.name] = value
        return value

    if TYPE_CHECKING:

        def __set__(self, error: ToolError, value: Never) -> None: ...


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


_effect = Effect.of


def effect_of(value: object) -> Effect | None:
    # Whoever says something about it that nobody understands, a misspelt word, does not say that nothing was done.
    return _effect(value) or (Effect.UNKNOWN if value != "" else None)


_severity = Severity.of


def severity_of(value: object) -> Severity:
    # An unknown word is no reason to call a failure a success.
    return _severity(value) or Severity.ERROR
