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

from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self, Unpack, cast

from .codes import EFFECT_OF_KIND, IN_DOUBT, STRATEGY_OF_KIND, Code, Effect, Kind, Severity, Strategy, find, humanize
from .fields import NORMAL, Delivery, Fields, Standing
from .json_values import Json, label, rfc3339, text
from .no_data import NoData
from .parts import Action, Conflicting, FieldError, Patch
from .tool import SentArguments

_EMPTY: Final[Mapping[str, Json]] = MappingProxyType({})
_AGAIN: Final = frozenset({Strategy.RETRY, Strategy.FIX})

CANONICAL_VERSION: Final = 1


class ToolError(Exception, NoData):
    """A failed tool call.

    >>> error = ToolError("Invoice inv_1 is paid.", code="InvoiceAlreadyPaid", kind="conflict")
    >>> str(error), error.retryable, type(error).__name__
    ('[CONFLICT] Invoice inv_1 is paid.', False, 'Conflict')
    """

    _kind: ClassVar[Kind | None] = None
    _defaults: ClassVar[dict[str, Any]] = {}
    # The constructor of the built-in base, found once: a subclass may have another one than Exception's.
    _new: ClassVar[Callable[..., Any]] = Exception.__new__
    _given: dict[str, Any]
    """What was given, by the names of the fields. Each is an attribute as well (`_refresh`), and the default is one of
    the class: fields are read a hundred times for one failure, and no function is called for it."""
    _info: Code | None

    message: str = ""
    code: str | None = None
    severity: Severity = Severity.ERROR
    suggestion: str | None = None
    next_steps: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()
    fields: tuple[FieldError, ...] = ()
    patch: tuple[Patch, ...] = ()
    conflicts: tuple[Conflicting, ...] = ()
    verify: Action | None = None
    details: Mapping[str, Json] = _EMPTY
    http_status: int | None = None
    policy_decision: str | None = None
    tool: str | None = None
    action: str | None = None
    tier: str | None = None
    correlation_id: str | None = None
    meta: Mapping[str, Json] = _EMPTY

    origin: Literal["peer", "local"] | None = None
    standing: Standing | None = None
    delivery: Delivery | None = None
    format: str | None = None
    confidence: float | None = None
    legacy: bool = False
    notes: tuple[str, ...] = ()
    debug: Json = None
    # The rest is for the process that the error is in, and no format writes it. With what the call was made:
    sent: SentArguments | None = None
    # Whether its words were chosen for the caller, so that they stand as they are: by a row of somebody's own table, or
    # by whoever raised a framework's own error.
    authored: bool = False
    # Whether it was made of an exception that nobody meant for the caller, which is its cause; and whether it stands in
    # the log already.
    crashed: bool = False
    logged: bool = False

    def __init_subclass__(cls, **defaults: Unpack[Fields]) -> None:
        """Fields given in a class statement, or in its body, are the defaults of its instances.

        >>> class InvoicePaid(Conflict, code="InvoiceAlreadyPaid"): ...
        >>> InvoicePaid("Invoice inv_1 is paid.").code
        'InvoiceAlreadyPaid'
        """
        super().__init_subclass__()
        cls._new = super().__new__
        for name in NORMAL.keys() & vars(cls).keys():
            if not hasattr(type(value := vars(cls)[name]), "__get__"):
                defaults.setdefault(name, value)  # type: ignore[misc]
                delattr(cls, name)
        info = find(label(defaults.get("code")))
        cls._kind = Kind.of(defaults.pop("kind", None)) or cls._kind or (info.kind if info else None)
        cls._defaults = {**cls._defaults, **cls._normalize({**defaults})}
        if cls._kind is not None:
            cls.kind = cls._kind  # type: ignore[assignment]

    def __new__(cls, message: object = "", *rest: object, **fields: Unpack[Fields]) -> Self:
        # The rest belongs to the constructors of subclasses.
        if cls is not ToolError:
            return cls._blank(_copy(cls._defaults))
        info = find(label(fields.get("code")))
        kind = Kind.of(fields.get("kind")) or (info.kind if info else None)
        # Made by its kind or code, not by the class, so the class's own default code does not apply.
        return cast(Self, (KIND_CLASSES[kind] if kind else cls)._blank({}))

    def __init__(self, message: object = "", **fields: Unpack[Fields]) -> None:
        super().__init__(message)
        cause = fields.pop("cause", None)
        # Stated unless the author says None: contract 002 tells the two apart.
        if "severity" not in self._given:
            fields.setdefault("severity", Severity.ERROR)
        if self._kind is not None:
            fields.pop("kind", None)
        self._given.update(self._normalize({"message": message, **fields}))
        self._refresh(find(self._given.get("code")))
        self.args = (self.message,)
        if isinstance(cause, BaseException):
            self.__cause__ = cause

    @classmethod
    def _blank(cls, given: dict[str, Any], info: Code | None = None) -> Self:
        self: Self = cls._new(cls, given.get("message", ""))
        self.__dict__["_given"] = given
        self._refresh(info)
        return self

    @classmethod
    def _coded(cls, info: Code, message: object, fields: Fields) -> ToolError:
        self = KIND_CLASSES[Kind.of(fields.get("kind")) or info.kind]._blank({})
        self.__init__(message, **{**fields, "code": info.name})  # type: ignore[misc]
        self._refresh(info)
        return self

    @classmethod
    def _normalize(cls, fields: dict[str, Any]) -> dict[str, Any]:
        clean = {}
        for name, value in fields.items():
            if name not in NORMAL:
                known = ", ".join(["message", *Fields.__annotations__])
                raise TypeError(f"{cls.__name__} has no field {name!r}; it has: {known}")
            try:
                kept = None if value is None else NORMAL[name](value)
            except Exception:
                continue
            if kept is not None and kept != () and kept != {}:
                clean[name] = kept
        return clean

    def _refresh(self, info: Code | None) -> None:
        """Make attributes of what was given, and forget what followed from what was given before."""
        held = self.__dict__
        held["_info"] = info
        for name in _READ.intersection(held):
            del held[name]
        held.update(self._given)
        for name in _DERIVED.intersection(held):
            del held[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FOLLOWING:
            raise AttributeError(f"{name} of {type(self).__name__} follows from the rest, and cannot be set")
        if name not in NORMAL:
            super().__setattr__(name, value)
            return
        self._given.pop(name, None)
        self._given.update(self._normalize({name: value}))
        self._refresh(find(self._given.get("code")) if name == "code" else self._info)

    @cached_property
    def kind(self) -> Kind:
        """One of six; decides what an agent does."""
        # Of an error of no class of its own: the others have theirs by their classes.
        given: Kind | None = self._given.get("kind")
        return given or (self._info.kind if self._info else Kind.INTERNAL)

    @property
    def type(self) -> str:
        """The kind as contract 000 spells it."""
        return self.kind.name

    @property
    def info(self) -> Code | None:
        """What the catalogues know about the code."""
        return self._info

    @property
    def cause(self) -> BaseException | None:
        """The exception this error was made from; for logs only."""
        return self.__cause__

    def default(self, field: str) -> Any:
        """What follows from the code and the kind for `title`, `strategy`, `recoverable` and `effect`.

        An error filed under another kind than its code's was turned into something else by its author.
        """
        info, kind = self._info, self.kind
        own = info if info is not None and info.kind is kind else None
        if field == "title":
            return info.title if info else humanize(self.code or "") or humanize(kind.value)
        if field == "strategy":
            strategy = own.strategy if own else STRATEGY_OF_KIND[kind]
            if strategy is Strategy.RETRY and self.is_declined:
                strategy = Strategy.ABORT
            return strategy if strategy not in _AGAIN or self.may_repeat else Strategy.USER_ACTION
        if field == "recoverable":
            return kind is Kind.TRANSIENT and self.may_repeat and not self.is_declined
        known = own.effect if own else EFFECT_OF_KIND.get(kind)
        if known is Effect.NONE and self.standing == "quoted":
            # That a kind is a refusal counts where somebody refused. What is only quoted proves nothing.
            known = None
        # Whoever names a call that tells whether something happened does not know it.
        return Effect.UNKNOWN if known is None and self.verify else known

    @cached_property
    def title(self) -> str:
        """A short label of the code."""
        return cast(str, self._given.get("title") or self.default("title"))

    @cached_property
    def effect(self) -> Effect | None:
        """What the failed call may have changed; None where nobody says."""
        return cast("Effect | None", self._given.get("effect") or self.default("effect"))

    @cached_property
    def strategy(self) -> Strategy:
        """How to overcome it: not by the same call where that may have been done already."""
        strategy = cast(Strategy, self._given.get("strategy") or self.default("strategy"))
        return Strategy.USER_ACTION if strategy in _AGAIN and not self.may_repeat else strategy

    @cached_property
    def recoverable(self) -> bool:
        """Whether it may succeed if it is tried again: never where the call may have been done already."""
        given: bool | None = self._given.get("recoverable")
        return cast(bool, self.default("recoverable")) if given is None else given and self.may_repeat

    @cached_property
    def retry_after(self) -> float | int | None:
        """Seconds until the same call may be made again: none where it may have been done already, or is in vain."""
        return self._given.get("retry_after") if self.may_repeat and not self.is_declined else None

    @cached_property
    def reset_at(self) -> datetime | None:
        """The moment from which the same call may be made again: none where it may have been done already, or is in
        vain."""
        return self._given.get("reset_at") if self.may_repeat and not self.is_declined else None

    @cached_property
    def retryable(self) -> bool:
        """Whether the same call may succeed later: the catalogue's word, never the caller's, and false for a call that
        may have been done already."""
        return self.passes and self.may_repeat

    @cached_property
    def passes(self) -> bool:
        """Whether the code says that it passes, and no peer denies it, whatever the call may have done."""
        if self._info is not None:
            return self._info.retryable and not self.is_declined
        stated: bool | None = self._given.get("wire_retryable")
        return self.kind is Kind.TRANSIENT if stated is None else stated

    @cached_property
    def may_repeat(self) -> bool:
        """Whether the same call can be thought of at all: not where it may have been done already.

        A code that is partial and retryable in one, such as contract 003's `thread_partial_failure`, means the rest.
        """
        effect, info = self.effect, self._info
        if effect not in IN_DOUBT:
            return True
        return effect is Effect.PARTIAL and info is not None and info.effect is Effect.PARTIAL and info.retryable

    @cached_property
    def is_declined(self) -> bool:
        """Whether a peer says that the same call is in vain, although its code says that it passes: the catalogue says
        what a code means, but a peer that forbids knows more about this call."""
        is_refused = self._info is not None and self._info.retryable and self._given.get("wire_retryable") is False
        # Of a call that may have been done the flag says nothing else.
        return is_refused and self.may_repeat

    @cached_property
    def is_error(self) -> bool:
        """What `isError` says in an MCP result."""
        return self.severity is not Severity.WARNING

    def given(self, field: str) -> bool:
        """Whether `field` was stated, rather than following from the code or the kind."""
        return field in self._given

    def note(self, note: str) -> Self:
        """Record something that did not fit while the error was read."""
        self.notes = (*self.notes, note)
        return self

    def replace(self, **changes: Any) -> ToolError:
        """A copy with some fields changed; None takes one away."""
        kind = Kind.of(changes.pop("kind", None)) or self._kind
        cause = changes.pop("cause", self.__cause__)
        given = {name: value for name, value in _copy(self._given).items() if name not in changes}
        given.update(self._normalize(changes))
        cls = type(self) if kind is self._kind else KIND_CLASSES[cast(Kind, kind)]
        new: ToolError = cls._blank(given, find(given.get("code")) if "code" in changes else self._info)
        # What whoever raised it has put on it stays there.
        new.__dict__.update((name, value) for name, value in self.__dict__.items() if name not in _HELD)
        if isinstance(cause, BaseException):
            new.__cause__ = cause
        return new

    def to_dict(self, *, provenance: bool = True) -> dict[str, Json]:
        """The canonical JSON object: everything the error says, without what is for logs only."""
        given = self._given
        data: dict[str, Json] = {"failwell": CANONICAL_VERSION}
        if "code" in given:
            data["code"] = given["code"]
        data |= {"kind": self.kind.value, "message": self.message}
        if self._info is not None or "title" in given:
            data["title"] = self.title
        if "severity" in given:
            data["severity"] = given["severity"].value
        data |= {"retryable": self.retryable, "recoverable": self.recoverable, "strategy": self.strategy.value}
        # Of a call that may have been done these are facts that invite nobody.
        data |= {name: given[name] for name in _PLAIN_FIELDS if name in given}
        if "reset_at" in given:
            data["reset_at"] = rfc3339(given["reset_at"])
        if self.effect is not None:
            data["effect"] = self.effect.value
        data.update((name, [part.to_dict() for part in given[name]]) for name in _PART_FIELDS if name in given)
        if "verify" in given:
            data["verify"] = given["verify"].to_dict()
        if "next_steps" in given:
            data["next_steps"] = list(given["next_steps"])
        # How it was said is not provenance: whoever passes a quoted error on must not make more of it than it was.
        if given.get("standing") == "quoted":
            data["standing"] = "quoted"
        for name in PROVENANCE if provenance else ():
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
        # How it was said is not what it says.
        return self is other or self._says() | {"standing": None} == other._says() | {"standing": None}

    def __hash__(self) -> int:
        return hash(self.message)

    def __copy__(self) -> ToolError:
        return self.replace()

    def __deepcopy__(self, memo: object) -> ToolError:
        new = self.replace()
        new.__dict__["_given"] = deepcopy(self._given)
        new._refresh(self._info)
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


def _copy(given: dict[str, Any]) -> dict[str, Any]:
    """A copy whose maps belong to nobody else."""
    return {name: value.copy() if type(value) is dict else value for name, value in given.items()}


# Read from the other fields: those that may be given as well, and those that only follow.
_CACHED: Final = frozenset(name for name, value in vars(ToolError).items() if isinstance(value, cached_property))
_DERIVED: Final = _CACHED & NORMAL.keys()
_FOLLOWING: Final = (_CACHED - NORMAL.keys()) | {"kind"}
# What an error holds as attributes: what can be read, and what that is made of.
_READ: Final = _CACHED.union(NORMAL)
_HELD: Final = _READ | {"_given", "_info"}

UNWRITTEN: Final = ("debug", "cause", "sent", "authored", "crashed", "logged")
"""What an error knows for the process that it is in: no format writes it."""
PROVENANCE: Final = ("origin", "standing", "delivery", "format", "confidence", "legacy", "notes")
_PLAIN_FIELDS: Final = tuple(
    "retry_after suggestion details http_status policy_decision tool action tier correlation_id meta".split()
)
_PART_FIELDS: Final = ("actions", "fields", "patch", "conflicts")


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
        fields=[FieldError((name,), "Required", rule="required")],
    )
