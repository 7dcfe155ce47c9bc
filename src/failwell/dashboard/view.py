"""What a view shows, before it is a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table, and what it looks like."""

    text: str
    whole: str | None = None
    """What it says to who points at it, where the text is shorter."""
    href: str | None = None
    tone: str = ""
    bar: float | None = None
    """A share, drawn behind it."""
    is_code: bool = False
    under: str = ""
    """What stands below it where the column that has it is left out."""


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column."""

    name: str
    title: str = ""
    """What it means, in a sentence."""
    is_number: bool = False
    is_minor: bool = False
    """Whether a phone can do without it."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table."""

    id: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    empty: str = "Nothing."
    note: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One number, large."""

    title: str
    value: str
    note: str = ""
    tone: str = ""
    href: str | None = None
    series: Sequence[float | None] = ()
    means: str = ""
    moved: tuple[str, str] = ("", "")
    """How it has changed, and the tone of that."""


@dataclass(frozen=True, slots=True)
class Cards:
    """Several of them."""

    cards: Sequence[Card]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture, as SVG that was made here, with what it shows in words."""

    title: str
    svg: str
    legend: Sequence[tuple[str, str]] = ()
    """A class of colour, and what it stands for."""
    ends: Sequence[str] = ()
    """What stands below it, from left to right."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    text: str
    tone: str = ""
    code: str = ""


Block = Cards | Sheet | Drawing | Paragraph


@dataclass(slots=True)
class View:
    """One page."""

    name: str
    title: str
    lead: str = ""
    blocks: list[Block] = field(default_factory=list)
