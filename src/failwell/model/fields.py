"""The fields of an error: what each accepts, and the form in which it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypedDict, TypeVar, get_args, overload

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


DELIVERIES: Final = get_args(Delivery)
"""What became of a call, as the caller knows it. A call that was `refused` was answered before its tool ran."""
NOTHING_RAN: Final = frozenset({"never_sent", "refused"})
"""What the transport saw, or what was proven from the tool's own schema: the call did nothing."""


class Field(Generic[T]):
    """A field that is kept only when it was given, and normalised when it is set.

    Fields are read a hundred times for one failure. So what was given is an attribute of the error like any other, and
    the default is one of its class: no function is called to read either.
    """

    def __init__(self, normal: Callable[[Any], T | None], default: T) -> None:
        self._normal = normal
        self._default = default

    def __set_name__(self, owner: type[ToolError], name: str) -> None:
        owner._normal[name] = self._normal
        setattr(owner, name, self._default)

    if TYPE_CHECKING:

        @overload
        def __get__(self, obj: None, owner: type) -> Self: ...
        @overload
        def __get__(self, obj: ToolError, owner: type) -> T: ...
        def __get__(self, obj: ToolError | None, owner: type) -> Self | T: ...
        def __set__(self, obj: ToolError, value: Any) -> None: ...


def one_of(*choices: str) -> Callable[[object], Any]:
    """Keeps one of a few words."""
    return lambda value: value if isinstance(value, str) and value in choices else None


def flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def status(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599 else None


def share(value: object) -> float | None:
    number = positive(value)
    return None if number is None or number > 1 else float(number)


def effect_of(value: object) -> Effect | None:
    # A misspelt word does not say that nothing was done.
    return Effect.of(value) or (Effect.UNKNOWN if value != "" else None)


def severity_of(value: object) -> Severity:
    # An unknown word is no reason to call a failure a success.
    return Severity.of(value) or Severity.ERROR
