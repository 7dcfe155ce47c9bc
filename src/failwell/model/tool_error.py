"""`ToolError`: an exception you raise, and a value you can read, compare, copy and send.

    ToolError
    ├── NotFound    also a LookupError
    ├── Conflict
    ├── Invalid     also a ValueError
    ├── Denied      also a PermissionError
    ├── Transient
    └── Internal

`ToolError(kind=…)` and `ToolError(code=…)` give an instance of the kind's class. Errors are equal when they say the
same, whatever their class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self, TypeVar, Unpack, cast

from .call import Sent
from .codes import Code, find, humanize
from .fields import (
    Delay,
    Delivery,
    Derived,
    Field,
    Fields,
    Follows,
    Standing,
    delivery_of,
    effect_of,
    flag,
    origin_of,
    severity_of,
    share,
    standing_of,
    status,
)
from .json_values import Json, instant, label, lines, plain, plain_map, rfc3339, seconds, text
from .kinds import EFFECT_OF_KIND, IN_DOUBT, STRATEGY_OF_KIND, Effect, Kind, Severity, Strategy
from .parts import Action, Conflicting, FieldError, Patch, all_of, apply_patch

T = TypeVar("T")
# Looking a member up in its class takes as long as a call.
_TRANSIENT: Final = Kind.TRANSIENT
_NO_EFFECT: Final = Effect.NONE
_WARNING: Final = Severity.WARNING
_EMPTY: Final[Mapping[str, Json]] = MappingProxyType({})

_AGAIN: Final = frozenset({Strategy.RETRY, Strategy.FIX})

CANONICAL_VERSION: Final = 1
TYPE_OF_KIND: Final = {kind: kind.value.upper() for kind in Kind}


def _problems(value: object) -> tuple[FieldError, ...]:
    # A map from argument to message is the shortest way to say it.
    if isinstance(value, Mapping) and "message" not in value and "path" not in value:
        value = list(value.items())
    return all_of(FieldError, value)


def _default_title(error: ToolError) -> str:
    info = error._info
    return info.title if info else humanize(error.code or "") or humanize(error.kind.value)


def _default_strategy(error: ToolError) -> Strategy:
    info, kind = error._info, error.kind
    # An error filed under another kind than its code's was turned into something else by its author.
    strategy = info.strategy if info and info.kind is kind else STRATEGY_OF_KIND[kind]
    return strategy if strategy not in _AGAIN or error.may_repeat else Strategy.USER_ACTION


def _default_recoverable(error: ToolError) -> bool:
    return error.kind is _TRANSIENT and error.may_repeat


def _default_effect(error: ToolError) -> Effect | None:
    # Of one failure this is asked thirty times.
    info, kind, given = error._info, error._kind or error.kind, error._given
    known = info.effect if info is not None and info.kind is kind else EFFECT_OF_KIND.get(kind)
    if known is _NO_EFFECT and given.get("standing") == "quoted":
        # That a kind is a refusal counts where somebody refused. What is only quoted proves nothing.
        known = None
    # Whoever names a call that tells whether something happened does not know it.
    return Effect.UNKNOWN if known is None and "verify" in given else known


class _RecoverableField(Derived[bool]):
    """Whether it may succeed if it is tried again: never where the call may have been done already."""

    def _said(self, error: ToolError) -> bool:
        value = super()._said(error)
        return value and error.may_repeat if value is True else value


class _StrategyField(Derived[Strategy]):
    """How to overcome it: not by the same call where that may have been done already."""

    def _said(self, error: ToolError) -> Strategy:
        value = super()._said(error)
        return Strategy.USER_ACTION if value in _AGAIN and not error.may_repeat else value


class ToolError(Exception):
    """A failed tool call.

    >>> error = ToolError("Invoice inv_1 is paid.", code="InvoiceAlreadyPaid", kind="conflict")
    >>> str(error), error.retryable, type(error).__name__
    ('[CONFLICT] Invoice inv_1 is paid.', False, 'Conflict')
    """

    _kind: ClassVar[Kind | None] = None
    _defaults: ClassVar[dict[str, Any]] = {}
    # The constructor of the built-in base, found once: a subclass may have another one than Exception's.
    _new: ClassVar[Callable[..., Any]] = Exception.__new__
    _table: ClassVar[dict[str, Field[Any]]] = {}
    _following: ClassVar[list[str]] = []
    _given: dict[str, Any]
    """What was given, by the names of the fields. Each is an attribute as well (`_settle`)."""
    _info: Code | None

    message = Field(text, "")
    code = Field(label, cast("str | None", None))
    title = Derived(label, _default_title)
    severity = Field(severity_of, Severity.ERROR)
    recoverable = _RecoverableField(flag, _default_recoverable)
    strategy = _StrategyField(Strategy.of, _default_strategy)
    retry_after = Delay(seconds, cast("float | int | None", None))
    reset_at = Delay(instant, cast("datetime | None", None))
    suggestion = Field(label, cast("str | None", None))
    next_steps = Field(lines, cast("tuple[str, ...]", ()))
    actions = Field(lambda value: all_of(Action, value), cast("tuple[Action, ...]", ()))
    fields = Field(_problems, cast("tuple[FieldError, ...]", ()))
    patch = Field(lambda value: all_of(Patch, value), cast("tuple[Patch, ...]", ()))
    conflicts = Field(lambda value: all_of(Conflicting, value), cast("tuple[Conflicting, ...]", ()))
    effect = Derived(effect_of, _default_effect)
    verify = Field(Action.of, cast("Action | None", None))
    details = Field(plain_map, _EMPTY)
    http_status = Field(status, cast("int | None", None))
    policy_decision = Field(label, cast("str | None", None))
    tool = Field(label, cast("str | None", None))
    action = Field(label, cast("str | None", None))
    tier = Field(label, cast("str | None", None))
    correlation_id = Field(label, cast("str | None", None))
    meta = Field(plain_map, _EMPTY)

    origin = Field(origin_of, cast("Literal['peer', 'local'] | None", None))
    standing = Field(standing_of, cast("Standing | None", None))
    delivery = Field(delivery_of, cast("Delivery | None", None))
    format = Field(label, cast("str | None", None))
    confidence = Field(share, cast("float | None", None))
    legacy = Field(flag, False)
    notes = Field(lines, cast("tuple[str, ...]", ()))
    debug = Field(plain, cast("Json", None))
    # With what the call was made: for the words about the next one, and for no wire.
    sent = Field(Sent.of, cast("Sent | None", None))
    # Whether its words were chosen for the caller, by a row of somebody's own table or by whoever raised a framework's
    # own error: then they stand as they are. For no wire either.
    authored = Field(flag, False)
    # Whether it was made of an exception that nobody meant for the caller, which is its cause; and whether it stands in
    # the log already. Both are for whoever writes the log, and for no wire.
    crashed = Field(flag, False)
    logged = Field(flag, False)

    def __init_subclass__(cls, **defaults: Unpack[Fields]) -> None:
        """Fields given in a class statement, or in its body, are the defaults of its instances.

        >>> class InvoicePaid(Conflict, code="InvoiceAlreadyPaid"): ...
        >>> InvoicePaid("Invoice inv_1 is paid.").code
        'InvoiceAlreadyPaid'
        """
        super().__init_subclass__()
        cls._new = super().__new__
        for name in _NORMAL.keys() & vars(cls).keys():
            value = vars(cls)[name]
            if not hasattr(type(value), "__get__"):
                defaults.setdefault(name, value)  # type: ignore[misc]
                delattr(cls, name)
        cls._kind = Kind.of(defaults.get("kind")) or cls._kind
        if cls._kind is None and (info := find(label(defaults.get("code")))):
            cls._kind = info.kind
        defaults.pop("kind", None)
        cls._defaults = {**cls._defaults, **cls._normalise({**defaults})}
        if cls._kind is not None:
            cls.kind = cls._kind  # type: ignore[assignment]

    def __new__(cls, message: object = "", *rest: object, **fields: Unpack[Fields]) -> Self:
        # The rest belongs to the constructors of subclasses.
        if cls is not ToolError:
            return cls._blank(_own(cls._defaults))
        info = find(label(fields.get("code")))
        kind = Kind.of(fields.get("kind")) or (info.kind if info else None)
        # Made by its kind or code, not by the class, so the class's own default code does not apply.
        chosen = KIND_CLASSES[kind] if kind else cls
        return cast(Self, chosen._blank({}))

    def __init__(self, message: object = "", **fields: Unpack[Fields]) -> None:
        super().__init__(message)
        cause = fields.pop("cause", None)
        # Stated unless the author says None: contract 002 tells the two apart.
        if "severity" not in self._given:
            fields.setdefault("severity", Severity.ERROR)
        if self._kind is not None:
            fields.pop("kind", None)
        given = self._given
        given.update(self._normalise({"message": message, **fields}))
        self._settle(find(given.get("code")))
        self.args = (given.get("message", ""),)
        if isinstance(cause, BaseException):
            self.__cause__ = cause

    @classmethod
    def _blank(cls, given: dict[str, Any], info: Code | None = None) -> Self:
        self: Self = cls._new(cls)
        self.__dict__["_given"] = given
        self._settle(info)
        return self

    @classmethod
    def _of(cls, kind: Kind, given: dict[str, Any], info: Code | None) -> ToolError:
        """An error of a kind, of values that are as its fields keep them: nobody looks at them again."""
        chosen = KIND_CLASSES[kind]
        self: ToolError = chosen._new(chosen, given["message"])
        self.__dict__["_given"] = given
        self._settle(info)
        return self

    def _gain(self, **given: Any) -> Self:
        """More of such values, for an error that nobody else has seen yet."""
        self._given.update(given)
        if _BASES.isdisjoint(given):
            self.__dict__.update(given)
        else:
            self._settle(self._info)
        return self

    def _settle(self, info: Code | None) -> None:
        """Make attributes of what was given, and forget what followed from what was given before."""
        held, given = self.__dict__, self._given
        held["_info"] = info
        if len(held) > _BARE:
            for name in held.keys() & _READ:
                del held[name]
        held.update(given)
        if not _BENT.isdisjoint(given):
            # Nobody waits for a call that may have been done already, or is told to make it again.
            for name in _BENT:
                if name not in _DELAYS or not self.may_repeat:
                    held.pop(name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _READ_ONLY:
            raise AttributeError(f"{name} of {type(self).__name__} follows from the rest, and cannot be set")
        if name in _NORMAL:
            self._give(name, value)
        else:
            super().__setattr__(name, value)

    @classmethod
    def _coded(cls, info: Code, message: object, fields: Fields) -> ToolError:
        kind = Kind.of(fields.get("kind")) or info.kind
        self = KIND_CLASSES[kind]._blank({})
        self.__init__(message, **{**fields, "code": info.name})  # type: ignore[misc]
        self._settle(info)
        return self

    @classmethod
    def _normalise(cls, fields: dict[str, Any]) -> dict[str, Any]:
        clean = {}
        for name, value in fields.items():
            if name not in _NORMAL:
                known = ", ".join(["message", *Fields.__annotations__])
                raise TypeError(f"{cls.__name__} has no field {name!r}; it has: {known}")
            if value is not None and (normal := normalised(name, value)) is not None:
                clean[name] = normal
        return clean

    def _give(self, name: str, value: object) -> None:
        given = self._given
        given.pop(name, None)
        given.update(self._normalise({name: value}))
        self._settle(find(given.get("code")) if name == "code" else self._info)

    @Follows
    def kind(self) -> Kind:
        """One of six; decides what an agent does."""
        # Of an error of no class of its own: the others have theirs by their classes.
        given: Kind | None = self._given.get("kind")
        return given or (self._info.kind if self._info else Kind.INTERNAL)

    @property
    def type(self) -> str:
        """The kind as contract 000 spells it."""
        return TYPE_OF_KIND[self.kind]

    @property
    def info(self) -> Code | None:
        """What the catalogues know about the code."""
        return self._info

    @Follows
    def retryable(self) -> bool:
        """Whether the same call may succeed later: the catalogue's word, never the caller's, and false for a call that
        may have been done already."""
        return self.passes and self.may_repeat

    @Follows
    def passes(self) -> bool:
        """Whether the code says that it passes, whatever the call may have done."""
        if self._info is not None:
            return self._info.retryable
        flag = self._given.get("wire_retryable")
        return self.kind is _TRANSIENT if flag is None else cast(bool, flag)

    @Follows
    def may_repeat(self) -> bool:
        """Whether the same call can be thought of at all: not where it may have been done already.

        A code that is partial and retryable in one, such as contract 003's `thread_partial_failure`, means the rest.
        """
        effect, info = self.effect, self._info
        if effect not in IN_DOUBT:
            return True
        return effect is Effect.PARTIAL and info is not None and info.effect is Effect.PARTIAL and info.retryable

    @Follows
    def is_declined(self) -> bool:
        """Whether a peer says that the same call is in vain, although its code says that it passes: the catalogue says
        what a code means, but a peer that says no, and names no time, knows more about this call."""
        is_refused = self._info is not None and self._info.retryable and self._given.get("wire_retryable") is False
        return is_refused and self.retry_after is None and self.reset_at is None

    @Follows
    def is_error(self) -> bool:
        """What `isError` says in an MCP result."""
        return self.severity is not _WARNING

    @property
    def cause(self) -> BaseException | None:
        """The exception this error was made from; for logs only."""
        return self.__cause__

    def given(self, field: str) -> bool:
        """Whether `field` was stated, rather than following from the code or the kind."""
        return field in self._given

    def suggest(self, suggestion: str) -> Self:
        """Say what to do next; the last suggestion stands."""
        self.suggestion = suggestion
        return self

    def step(self, *steps: str) -> Self:
        """Add next steps."""
        self.next_steps = (*self.next_steps, *steps)
        return self

    def try_(self, tool: str, description: str | None = None, **arguments: Any) -> Self:
        """Add a call that helps."""
        self.actions = (*self.actions, Action(tool, description, arguments or None))
        return self

    def wait(self, delay: float | timedelta) -> Self:
        """Say when the same call may be made again."""
        self.retry_after = delay
        return self

    def with_details(self, details: Mapping[str, Any] | None = None, /, **more: Any) -> Self:
        """Add to the details."""
        self.details = {**self.details, **plain_map(details), **more}
        return self

    def only_details(self, details: Mapping[str, Any] | None = None, /, **more: Any) -> Self:
        """Replace the details."""
        self.details = {**plain_map(details), **more}
        return self

    def warning(self) -> Self:
        """Make it an advisory: the call worked, and there is something to know."""
        self.severity = Severity.WARNING
        return self

    def critical(self) -> Self:
        """Make it a failure that somebody has to look at."""
        self.severity = Severity.CRITICAL
        return self

    def note(self, note: str) -> Self:
        """Record something that did not fit while the error was read."""
        self.notes = (*self.notes, note)
        return self

    def fixed(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as they should have been, as far as the patch knows."""
        return apply_patch(arguments, self.patch)

    def replace(self, **changes: Any) -> ToolError:
        """A copy with some fields changed; None takes one away."""
        kind = (Kind.of(changes.pop("kind")) if "kind" in changes else None) or self._kind
        cause = changes.pop("cause", self.__cause__)
        given, changed = _own(self._given), self._normalise(changes)
        for name in changes:
            given.pop(name, None)
        given.update(changed)
        if kind is self._kind and _BASES.isdisjoint(changes):
            return self._beside(given, changes.keys() - changed.keys(), changed, cause)
        info = find(given.get("code")) if "code" in changes else self._info
        cls = type(self) if kind is self._kind else KIND_CLASSES[cast(Kind, kind)]
        new: ToolError = cls._new(cls, given.get("message", ""))
        held = new.__dict__
        if not _HELD.issuperset(self.__dict__):
            # What whoever raised it has put on it stays there.
            held.update((name, value) for name, value in self.__dict__.items() if name not in _HELD)
        held["_given"] = given
        new._settle(info)
        if isinstance(cause, BaseException):
            new.__cause__ = cause
        return new

    def _beside(
        self, given: dict[str, Any], gone: Iterable[str], changed: dict[str, Any], cause: BaseException | None
    ) -> ToolError:
        """A copy that differs in nothing from which anything else follows: what is known of this one holds of it."""
        cls = type(self)
        new: ToolError = cls._new(cls, given.get("message", ""))
        held = new.__dict__
        held.update(self.__dict__)
        held["_given"] = given
        for name in _MAPS:
            if name in given:
                held[name] = given[name]
        for name in gone:
            held.pop(name, None)
        held.update(changed)
        if isinstance(cause, BaseException):
            new.__cause__ = cause
        return new

    def to_dict(self, *, provenance: bool = True) -> dict[str, Json]:
        """The canonical JSON object: everything the error says, without what is for logs only."""
        given = self._given
        info = self._info
        data: dict[str, Json] = {"failwell": CANONICAL_VERSION}
        if "code" in given:
            data["code"] = given["code"]
        # Not `value`, which takes as long as all the rest.
        data["kind"] = self.kind._value_
        data["message"] = self.message
        if info is not None or "title" in given:
            data["title"] = self.title
        if "severity" in given:
            data["severity"] = given["severity"]._value_
        data["retryable"] = self.retryable
        data["recoverable"] = self.recoverable
        data["strategy"] = self.strategy._value_
        if (delay := self.retry_after) is not None:
            data["retry_after"] = delay
        for name in _PLAIN_FIELDS:
            if name in given:
                data[name] = given[name]
        if (moment := self.reset_at) is not None:
            data["reset_at"] = rfc3339(moment)
        if (effect := self.effect) is not None:
            data["effect"] = effect.value
        for name in _PART_FIELDS:
            if name in given:
                data[name] = [part.to_dict() for part in given[name]]
        if "verify" in given:
            data["verify"] = given["verify"].to_dict()
        if "next_steps" in given:
            data["next_steps"] = list(given["next_steps"])
        if given.get("standing") == "quoted":
            # Not provenance: whoever passes the error on must not make more of it than it was.
            data["standing"] = "quoted"
        if provenance:
            for name in PROVENANCE:
                if name in given:
                    data[name] = list(given[name]) if name == "notes" else given[name]
        return data

    def _says(self) -> dict[str, Json]:
        """What the error says, given or not. The title comes last, as it mostly follows from the rest."""
        data = self.to_dict(provenance=False)
        data.pop("title", None)
        return data | {"severity": self.severity.value, "title": self.title}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolError):
            return NotImplemented
        if self is other:
            return True
        # How it was said is not what it says.
        return self._says() | _UNCOMPARED == other._says() | _UNCOMPARED

    def __hash__(self) -> int:
        return hash(self.message)

    def __copy__(self) -> ToolError:
        return self.replace()

    def __deepcopy__(self, memo: object) -> ToolError:
        new = self.replace()
        new.__dict__["_given"] = deepcopy(self._given)
        new._settle(self._info)
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (type(self), self.__dict__))

    def __str__(self) -> str:
        return f"[{self.type}] {self.message}"

    def __repr__(self) -> str:
        hidden = {"message", *UNWRITTEN, *PROVENANCE} - {"debug"}
        if self.severity is Severity.ERROR:
            hidden.add("severity")
        shown = (f"{name}={value!r}" for name, value in self._given.items() if name not in hidden)
        return f"{type(self).__name__}({', '.join([repr(self.message), *shown])})"


def _restore(cls: type[ToolError], state: dict[str, Any]) -> ToolError:
    self = cls._blank({})
    self.__dict__.update(state)
    self.args = (self.message,)
    return self


_NORMAL: Final[dict[str, Callable[[Any], Any]]] = {name: field.normal for name, field in ToolError._table.items()}
_READ_ONLY: Final = frozenset(ToolError._following)
_DELAYS: Final = frozenset(name for name, field in ToolError._table.items() if isinstance(field, Delay))
_BENT: Final = _DELAYS | {"recoverable", "strategy"}
# Not fields of the table: the kind is the class wherever the class has one, and only a reader may say what the wire
# said about retrying.
_NORMAL.update({"kind": Kind.of, "wire_retryable": flag})
# From these others follow.
_BASES: Final = frozenset(
    {"kind", "code", "effect", "standing", "verify", "wire_retryable", "title", "severity", *_BENT}
)
# What an error holds as attributes: what can be read, and what that is made of.
_READ: Final = _READ_ONLY.union(_NORMAL)
_HELD: Final = _READ | {"_given", "_info"}
_BARE: Final = len(("_given", "_info"))

UNWRITTEN: Final = ("debug", "cause", "sent", "authored", "crashed", "logged")
"""What an error knows for the process that it is in: no format writes it."""
PROVENANCE: Final = ("origin", "standing", "delivery", "format", "confidence", "legacy", "notes")
_PLAIN_FIELDS: Final = (
    "suggestion",
    "details",
    "http_status",
    "policy_decision",
    "tool",
    "action",
    "tier",
    "correlation_id",
    "meta",
)
_COLLECTIONS: Final = (tuple, dict)
_MAPS: Final = frozenset({"details", "meta", "debug"})
_UNCOMPARED: Final[dict[str, Json]] = {"standing": None}
_PART_FIELDS: Final = ("actions", "fields", "patch", "conflicts")


def _own(given: dict[str, Any]) -> dict[str, Any]:
    """A copy whose maps belong to nobody else."""
    own = given.copy()
    if not _MAPS.isdisjoint(own):
        for name in _MAPS:
            if type(held := own.get(name)) is dict:
                own[name] = held.copy()
    return own


def normalised(name: str, value: object) -> Any:
    """`value` as the field keeps it; None when there is nothing in it."""
    try:
        normal = _NORMAL[name](value)
    except Exception:
        # Something that breaks when it is looked at is as good as nothing.
        return None
    return None if type(normal) in _COLLECTIONS and not normal else normal


class NotFound(ToolError, LookupError, kind=Kind.NOT_FOUND, code="NOT_FOUND"):
    """It does not exist: skip it, or look for another."""


class Conflict(ToolError, kind=Kind.CONFLICT, code="CONFLICT"):
    """Someone holds it, it exists already, or it changed: negotiate, wait, or look again."""


class Invalid(ToolError, ValueError, kind=Kind.VALIDATION, code="VALIDATION_ERROR"):
    """The arguments are wrong: fix them, and call once more."""


class Denied(ToolError, PermissionError, kind=Kind.PERMISSION, code="FORBIDDEN"):
    """The caller may not: ask the user."""


class Transient(ToolError, kind=Kind.TRANSIENT, code="UNAVAILABLE"):
    """It may work later: wait, then make the same call."""


class Internal(ToolError, kind=Kind.INTERNAL, code="INTERNAL_ERROR"):
    """The tool broke: give up and say so."""


KIND_CLASSES: Final[dict[Kind, type[ToolError]]] = {
    Kind.NOT_FOUND: NotFound,
    Kind.CONFLICT: Conflict,
    Kind.VALIDATION: Invalid,
    Kind.PERMISSION: Denied,
    Kind.TRANSIENT: Transient,
    Kind.INTERNAL: Internal,
}
DEFAULT_CODES: Final[dict[Kind, str]] = {kind: cls._defaults["code"] for kind, cls in KIND_CLASSES.items()}


def error(message: object, code: str | None = None) -> ToolError:
    """Contract 002's `error()`: a message, perhaps a code, and no word about severity.

    >>> error("Project \\"p_1\\" not found").code is None
    True
    """
    return ToolError(message, code=code, severity=None)


def required(field: str) -> ToolError:
    """Contract 002's `required()`: which argument is missing, and what to do about it.

    >>> required("workspace_id").suggestion
    'Provide the "workspace_id" parameter and retry.'
    """
    name = text(field)
    return ToolError(
        f'Required field "{name}" is missing.',
        code="MISSING_REQUIRED_FIELD",
        severity=None,
        suggestion=f'Provide the "{name}" parameter and retry.',
        fields=[FieldError(name, "Required", rule="required")],
    )
