"""Codes and the catalogues they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack

from .kinds import EFFECT_OF_KIND, IN_DOUBT, STRATEGY_OF_KIND, Effect, Kind, Strategy

if TYPE_CHECKING:
    from .fields import Fields
    from .tool_error import ToolError


_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\s\-_.]+")
_ACRONYMS = {
    word.lower(): word for word in ("API", "DB", "HTTP", "ID", "IP", "JSON", "LLM", "OAuth", "TLS", "URL", "X")
}


def upper_snake(name: str) -> str:
    """`InvoiceAlreadyPaid` and `invoice-already-paid` as `INVOICE_ALREADY_PAID`."""
    return snake(name).upper()


def snake(name: str) -> str:
    """The same as `invoice_already_paid`."""
    return "_".join(word for word in _WORD_START.split(name) if word).lower()


_LONGEST_KEPT: Final = 80


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
        known = Kind.of(kind)
        if known is None:
            raise ValueError(f"{kind!r} is not a kind of failure; use one of: {', '.join(Kind)}")
        for wrong, member, given in (("strategy", Strategy, strategy), ("effect", Effect, effect)):
            if given is not None and member.of(given) is None:
                raise ValueError(f"{given!r} is not a {wrong}; use one of: {', '.join(member)}")
        known_effect = Effect.of(effect) or EFFECT_OF_KIND.get(known)
        # What may have been done passes only if its author says so: then the rest of it is meant.
        passes = known is Kind.TRANSIENT and known_effect not in IN_DOUBT
        for attribute, value in {
            "name": name,
            "kind": known,
            "title": title or humanize(name),
            "description": description,
            "category": category,
            "retryable": passes if retryable is None else retryable,
            "strategy": Strategy.of(strategy) or STRATEGY_OF_KIND[known],
            "effect": known_effect,
            "http_status": http_status,
            "number": number,
            "catalog": catalog,
        }.items():
            object.__setattr__(self, attribute, value)

    def __call__(self, message: object = "", **fields: Unpack[Fields]) -> ToolError:
        """The error with this code: an instance of its kind's class."""
        from .tool_error import ToolError

        return ToolError._coded(self, message, fields)

    def __str__(self) -> str:
        return self.name


class CatalogType(type):
    """Makes a catalogue behave like the collection of its codes."""

    codes: dict[str, Code]
    catalog: str

    def __new__(mcs, title: str, bases: tuple[type, ...], body: dict[str, Any], /, **options: Any) -> CatalogType:
        cls = super().__new__(mcs, title, bases, body)
        inherited = [code for base in bases if isinstance(base, CatalogType) for code in base]
        cls.catalog = options.get("name") or humanize(title).replace(" ", "_").lower()
        cls.codes = {code.name: code for code in inherited}
        mine: list[Code] = []
        for attribute, code in body.items():
            if isinstance(code, Code):
                named = replace(
                    code,
                    name=code.name or attribute,
                    title=code.title or humanize(code.name or attribute),
                    catalog=cls.catalog,
                )
                if any(named.name == other.name for other in mine):
                    raise ValueError(f"The catalogue {title} has two codes called {named.name!r}; rename one.")
                mine.append(named)
                setattr(cls, attribute, named)
                cls.codes[named.name] = named
        if bases and options.get("register", True):
            _register(cls)
        return cls

    def __init__(cls, title: str, bases: tuple[type, ...], body: dict[str, Any], /, **options: Any) -> None:
        super().__init__(title, bases, body)

    def __iter__(cls) -> Iterator[Code]:
        return iter(cls.codes.values())

    def __len__(cls) -> int:
        return len(cls.codes)

    def __contains__(cls, code: object) -> bool:
        return (code.name if isinstance(code, Code) else code) in cls.codes

    def __getitem__(cls, name: str) -> Code:
        return cls.codes[name]


class Catalog(metaclass=CatalogType):
    """A set of codes, declared as a class with one line per code.

    >>> class Billing(Catalog):
    ...     INVOICE_PAID = Code("conflict", "The invoice has been paid already.", http_status=409)
    >>> str(Billing.INVOICE_PAID("Invoice inv_1 was paid on 3 May."))
    '[CONFLICT] Invoice inv_1 was paid on 3 May.'

    A declared catalogue is looked up before the shipped ones wherever a code arrives as a text.
    """

    codes: ClassVar[dict[str, Code]]
    catalog: ClassVar[str]


_declared: dict[str, CatalogType] = {}
_shipped: dict[str, Code] = {}
_shipped_by_shape: dict[str, Code] = {}


def _register(catalog: CatalogType) -> None:
    # By where it was declared, so that running a notebook cell again replaces what it declared before.
    _declared[f"{catalog.__module__}.{catalog.__qualname__}"] = catalog
    _find.cache_clear()


def ship(*catalogs: CatalogType) -> None:
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
    # A text of any length that somebody sent as a code is not kept.
    return _find(name, exact) if len(name) <= _LONGEST_KEPT else _find.__wrapped__(name, exact)


@lru_cache(maxsize=2048)
def _find(name: str, exact: bool) -> Code | None:
    for catalog in _declared.values():
        if name in catalog.codes:
            return catalog.codes[name]
    if not _shipped:
        # Most programs that import this package never look a code up.
        from . import catalogs  # noqa: F401 - it ships its codes
    code = _shipped.get(name)
    if code is None and not exact and len(name) <= 80:
        code = _shipped_by_shape.get(upper_snake(name))
    return code
