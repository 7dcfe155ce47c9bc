"""Codes, the closed sets that they choose from, and the catalogues they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final, Self, Unpack

if TYPE_CHECKING:
    from .fields import Fields
    from .tool_error import ToolError


class _Choice(StrEnum):
    @classmethod
    def of(cls, value: object) -> Self | None:
        """The member named by `value`, in any case; None for anything else."""
        if type(value) is not str:
            if isinstance(value, cls):
                return value
            if not isinstance(value, str):
                return None
        members = cls._value2member_map_
        return members.get(value) or members.get(value.lower())  # type: ignore[return-value]


class Kind(_Choice):
    """What an agent does next depends on this, and on nothing finer."""

    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    VALIDATION = "validation"
    PERMISSION = "permission"
    TRANSIENT = "transient"
    INTERNAL = "internal"


class Severity(_Choice):
    """How bad it is. Only a `warning` is sent as a success (`isError: false`)."""

    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


class Strategy(_Choice):
    """How the failure is meant to be overcome."""

    RETRY = "retry_with_backoff"
    FIX = "fix_and_retry"
    USER_ACTION = "user_action_required"
    ABORT = "report_and_abort"


class Effect(_Choice):
    """Whether the failed call may have changed something."""

    NONE = "none"
    UNKNOWN = "unknown"
    PARTIAL = "partial"
    DONE = "done"


# What follows from the kind alone, where neither the code nor the author says otherwise.
STRATEGY_OF_KIND: dict[Kind, Strategy] = {
    Kind.NOT_FOUND: Strategy.FIX,
    Kind.CONFLICT: Strategy.FIX,
    Kind.VALIDATION: Strategy.FIX,
    Kind.PERMISSION: Strategy.USER_ACTION,
    Kind.TRANSIENT: Strategy.RETRY,
    Kind.INTERNAL: Strategy.ABORT,
}

# These kinds say that the call was turned down before it did anything. The others say nothing.
EFFECT_OF_KIND: dict[Kind, Effect] = {
    Kind.NOT_FOUND: Effect.NONE,
    Kind.CONFLICT: Effect.NONE,
    Kind.VALIDATION: Effect.NONE,
    Kind.PERMISSION: Effect.NONE,
}

# After these the same call must not be made again by anybody who only knows this: it may have been done.
IN_DOUBT: frozenset[Effect] = frozenset({Effect.UNKNOWN, Effect.PARTIAL, Effect.DONE})


_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s\-_.]+")
_ACRONYMS = {
    word.lower(): word for word in ("API", "DB", "HTTP", "ID", "IP", "JSON", "LLM", "OAuth", "TLS", "URL", "X")
}
# Longer texts that somebody sent as a code are not cached.
_LONGEST_KEPT: Final = 80


def snake(name: str) -> str:
    """`InvoiceAlreadyPaid` and `invoice-already-paid` as `invoice_already_paid`."""
    return "_".join(word for word in _WORD_START.split(name) if word).lower()


def upper_snake(name: str) -> str:
    """The same as `INVOICE_ALREADY_PAID`."""
    return snake(name).upper()


def humanize(name: str) -> str:
    """`InvoiceAlreadyPaid` and `INVOICE_ALREADY_PAID` as `Invoice Already Paid`."""
    return _humanized(name) if len(name) <= _LONGEST_KEPT else _humanized.__wrapped__(name)


@lru_cache(maxsize=2048)
def _humanized(name: str) -> str:
    words = (word.lower() for word in _WORD_START.split(name) if word)
    return " ".join(_ACRONYMS.get(word, word.capitalize()) for word in words)


@dataclass(frozen=True, slots=True, init=False)
class Code:
    """What one error code means. Call it to build the error: `raise Billing.INVOICE_PAID("…")`.

    Only the kind is needed; the rest follows from it. In a catalogue the name is the attribute's, unless given.
    """

    name: str
    kind: Kind
    title: str
    description: str
    category: str | None
    retryable: bool
    strategy: Strategy
    effect: Effect | None
    http_status: int | None
    number: int | None
    catalog: str

    def __init__(
        self,
        kind: Kind | str,
        description: str = "",
        *,
        name: str = "",
        title: str = "",
        category: str | None = None,
        retryable: bool | None = None,
        strategy: Strategy | str | None = None,
        effect: Effect | str | None = None,
        http_status: int | None = None,
        number: int | None = None,
        catalog: str = "",
    ) -> None:
        for field, choices, word in (
            ("kind", Kind, kind),
            ("strategy", Strategy, strategy),
            ("effect", Effect, effect),
        ):
            if choices.of(word) is None and (word is not None or choices is Kind):
                raise ValueError(f"{word!r} is not a valid {field}; use one of: {', '.join(choices)}")
        known = Kind(kind)
        known_effect = Effect.of(effect) or EFFECT_OF_KIND.get(known)
        if retryable is None:
            # One whose effect is in doubt is retryable only if its author says so: then the rest of the work is meant.
            retryable = known is Kind.TRANSIENT and known_effect not in IN_DOUBT
        given = (
            *(name, known, title or humanize(name), description, category, retryable),
            *(Strategy.of(strategy) or STRATEGY_OF_KIND[known], known_effect, http_status, number, catalog),
        )
        for attribute, value in zip(self.__slots__, given, strict=True):
            object.__setattr__(self, attribute, value)

    def __call__(self, message: object = "", **fields: Unpack[Fields]) -> ToolError:
        """The error with this code: an instance of its kind's class."""
        from .tool_error import ToolError

        return ToolError._coded(self, message, fields)

    def __str__(self) -> str:
        return self.name


class _Codes(type):
    """Makes a catalogue iterable: `for code in Billing`, `Billing["INVOICE_PAID"]`."""

    codes: dict[str, Code]

    def __iter__(cls) -> Iterator[Code]:
        return iter(cls.codes.values())

    def __len__(cls) -> int:
        return len(cls.codes)

    def __contains__(cls, code: object) -> bool:
        return (code.name if isinstance(code, Code) else code) in cls.codes

    def __getitem__(cls, name: str) -> Code:
        return cls.codes[name]


class Catalog(metaclass=_Codes):
    """A set of codes, declared as a class with one line per code.

    >>> class Billing(Catalog):
    ...     INVOICE_PAID = Code("conflict", "The invoice has been paid already.", http_status=409)
    >>> str(Billing.INVOICE_PAID("Invoice inv_1 was paid on 3 May."))
    '[CONFLICT] Invoice inv_1 was paid on 3 May.'

    A declared catalogue is looked up before the shipped ones wherever a code arrives as a text.
    """

    codes: ClassVar[dict[str, Code]] = {}
    catalog: ClassVar[str] = ""

    def __init_subclass__(cls, *, name: str = "", register: bool = True) -> None:
        super().__init_subclass__()
        cls.catalog = name or snake(cls.__name__)
        own: dict[str, Code] = {}
        for attribute, code in [*vars(cls).items()]:
            if isinstance(code, Code):
                called = code.name or attribute
                if called in own:
                    raise ValueError(f"The catalogue {cls.__name__} has two codes called {called!r}; rename one.")
                title = code.title or humanize(called)
                own[called] = replace(code, name=called, title=title, catalog=cls.catalog)
                setattr(cls, attribute, own[called])
        inherited = (each.codes for each in cls.__bases__ if issubclass(each, Catalog))
        cls.codes = {key: code for codes in (*inherited, own) for key, code in codes.items()}
        if register:
            # By where it was declared, so that running a notebook cell again replaces what it declared before.
            _declared[f"{cls.__module__}.{cls.__qualname__}"] = cls
            _find.cache_clear()


_declared: dict[str, type[Catalog]] = {}
_shipped: dict[str, Code] = {}
_shipped_by_shape: dict[str, Code] = {}


def ship(*catalogs: type[Catalog]) -> None:
    """Make the codes of `catalogs` known; where two have the same name, the earlier catalogue wins."""
    for catalog in catalogs:
        for code in catalog:
            _shipped.setdefault(code.name, code)
            _shipped_by_shape.setdefault(upper_snake(code.name), code)
    _find.cache_clear()


def find(name: str | None, *, exact: bool = False) -> Code | None:
    """The code called `name`: in the declared catalogues, then `core`, then the contracts'.

    Unless `exact`, other spellings of a shipped code count as well: `NotFound`, `not-found`, `not_found`.
    """
    if not name or not isinstance(name, str):
        return None
    return _find(name, exact) if len(name) <= _LONGEST_KEPT else _find.__wrapped__(name, True)


@lru_cache(maxsize=2048)
def _find(name: str, exact: bool) -> Code | None:
    for catalog in _declared.values():
        if name in catalog.codes:
            return catalog.codes[name]
    if not _shipped:
        # Most programs that import this package never look a code up.
        from . import catalogs  # noqa: F401 - it ships its codes
    code = _shipped.get(name)
    return code if code is not None or exact else _shipped_by_shape.get(upper_snake(name))
