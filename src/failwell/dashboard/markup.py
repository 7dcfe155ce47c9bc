"""Views as HTML: every value is escaped, and nothing is loaded from anywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

from .drawings import sparkline
from .query import SPANS, Query
from .view import Block, Card, Cards, Cell, Column, Drawing, Paragraph, Sheet, View

NAVIGATION: Final = {
    "": "Overview",
    "failures": "Failures",
    "tools": "Tools",
    "codes": "Codes",
    "sessions": "Sessions",
    "unknown": "Unknown",
    "drift": "Drift",
}
_LONGEST_NAME: Final = 26
_LONGEST_CODE: Final = 52
_LONGEST_TEXT: Final = 140
_CURRENT: Final = ' aria-current="true"'
_LOGO: Final = (
    '<svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 7a8.5 8.5 0 1 1-.6 8"/><path d="M4 2v5h5"/>'
    '<path d="m8.5 12.5 2.5 2.5 5-6"/></svg>'
)


@cache
def asset(name: str) -> str:
    """A file that goes with the pages."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def page(view: View, query: Query, store: str) -> str:
    """A page of the dashboard."""
    return (
        f'{_head(view.title)}<link rel="stylesheet" href="/assets/page.css">'
        f'<script src="/assets/page.js" defer></script></head>'
        f"<body>{_top(view, query)}"
        f'<main id="main" data-store="{escape(store)}">{body(view, query)}</main>'
        f'<footer><span>{escape(store)}</span><span id="live" class="live" role="status">live</span>'
        "<span>Times are in UTC.</span><span><kbd>1</kbd>–<kbd>7</kbd> views, <kbd>/</kbd> filter, <kbd>t</kbd> theme, "
        "<kbd>j</kbd> <kbd>k</kbd> rows</span></footer></body></html>\n"
    )


def document(views: Sequence[View], query: Query, title: str, lead: str) -> str:
    """One file that holds everything and needs nothing."""
    parts = "".join(
        f'<section class="part" id="{escape(view.name) or "overview"}"><h1>{escape(view.title)}</h1>'
        f"<p class=lead>{escape(view.lead)}</p>{''.join(map(_block, view.blocks))}</section>"
        for view in views
    )
    return (
        f'{_head(title)}<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'unsafe-inline'\"><style>{asset('page.css')}</style></head>"
        f'<body class="document"><main><p class=lead>{escape(lead)}</p>{parts}</main></body></html>\n'
    )


def login(problem: str = "") -> str:
    """The page that asks for the token."""
    said = f'<p class="note poor">{escape(problem)}</p>' if problem else ""
    return (
        f'{_head("Token")}<link rel="stylesheet" href="/assets/page.css"></head><body class="alone"><main>'
        f'<form method="post" action="/login" class="login"><h1>{_LOGO} Failwell</h1>{said}'
        '<label for="token">The token that the command printed</label>'
        '<input id="token" name="token" type="password" autocomplete="current-password" autofocus required>'
        "<button>Open</button></form></main></body></html>\n"
    )


def message(title: str, text: str, code: str = "", *, is_waiting: bool = False) -> str:
    """A page that says one thing; is_waiting: and looks again by itself."""
    shown = f"<pre>{escape(code)}</pre>" if code else ""
    again = '<meta http-equiv="refresh" content="3">' if is_waiting else ""
    return (
        f'{_head(title)}{again}<link rel="stylesheet" href="/assets/page.css"></head><body class="alone"><main>'
        f'<h1>{escape(title)}</h1><p>{escape(text)}</p>{shown}<p><a href="/">Overview</a></p></main></body></html>\n'
    )


def _head(title: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta name="referrer" content="no-referrer"><title>{escape(title)} · Failwell</title>'
    )


def _top(view: View, query: Query) -> str:
    first = view.name.partition("/")[0]
    links = "".join(
        f'<a href="{escape(query.address(f"/{name}", failed=""))}"'
        f"{_CURRENT if name == first else ''}>{escape(label)}</a>"
        for name, label in NAVIGATION.items()
    )
    spans = "".join(
        f'<a href="{escape(query.address(f"/{view.name}", since=span, until=""))}" title="the last {label}"'
        f"{_CURRENT if span == query.since else ''}>{span}</a>"
        for span, label in SPANS.items()
    )
    return (
        '<a class="skip" href="#main">To the content</a>'
        f'<header class="top"><a class="brand" href="/">{_LOGO}<b>Failwell</b></a><nav aria-label="Views">{links}</nav>'
        f'<div class="spans" role="group" aria-label="Time">{spans}</div>'
        '<button id="theme" type="button" title="Dark or light (t)" aria-label="Dark or light">◐</button></header>'
    )


def body(view: View, query: Query) -> str:
    """What is renewed while one looks."""
    own = f"/{view.name}"
    return (
        f'<div class="title"><div><h1>{escape(view.title)}</h1><p class="lead">{escape(view.lead)}</p></div>'
        f"{_filter(view, query, own)}</div>{''.join(map(_block, view.blocks))}"
    )


def _filter(view: View, query: Query, own: str) -> str:
    if "/" in view.name:
        # One failure, one session: there is nothing to choose from.
        return ""
    chips = "".join(
        f'<a class="chip" href="{escape(query.address(own, **{name: ""}))}" title="without this">'
        f"{name} <code>{escape(value)}</code> ×</a>"
        for name in ("server", "tool", "code")
        if (value := getattr(query, name))
    )
    hidden = "".join(
        f'<input type="hidden" name="{name}" value="{escape(value)}">'
        for name in ("server", "code", "until")
        if (value := getattr(query, name))
    )
    if view.name == "sessions":
        # A session has calls of many tools.
        is_failed = bool(query.failed)
        return (
            f'<a class="chip" id="filter" href="{escape(query.address(own, failed="" if is_failed else "1"))}">'
            f"{'all sessions' if is_failed else 'with failures only'}</a>"
        )
    return (
        f'<form class="filter" action="{escape(own)}">{chips}{hidden}'
        f'<input id="filter" name="tool" value="{escape(query.tool)}" placeholder="name of a tool" aria-label="Tool" '
        f'autocomplete="off"><input type="hidden" name="since" value="{escape(query.since)}">'
        "<button>Show</button></form>"
    )


def _block(block: Block) -> str:
    if isinstance(block, Sheet):
        return _sheet(block)
    if isinstance(block, Cards):
        return f'<section class="cards">{"".join(map(_card, block.cards))}</section>'
    if isinstance(block, Drawing):
        legend = "".join(f'<span><i class="{tone}"></i>{escape(text)}</span>' for tone, text in block.legend)
        ends = (
            f'<p class="ends">{"".join(f"<span>{escape(each)}</span>" for each in block.ends)}</p>'
            if block.ends
            else ""
        )
        return (
            f'<section class="panel"><div class="head"><h2>{escape(block.title)}</h2>'
            f'<p class="legend">{legend}</p></div>'
            f'<div class="scroll">{block.svg}</div>{ends}</section>'
        )
    return _note(block)


def _note(block: Paragraph) -> str:
    shown = f"<pre>{escape(block.code)}</pre>" if block.code else ""
    return f'<p class="note {block.tone}">{escape(block.text)}</p>{shown}'


def _card(card: Card) -> str:
    said, tone = card.moved
    moved = f'<p class="moved {tone}">{escape(said)}</p>' if said else ""
    inner = (
        f'<h3>{escape(card.title)}</h3><p class="value {card.tone}">{escape(card.value)}</p>'
        f'{moved}<p class="soft">{escape(card.note)}</p>{sparkline(card.series)}'
    )
    title = f' title="{escape(card.means)}"' if card.means else ""
    if card.href is None:
        return f'<div class="card"{title}>{inner}</div>'
    return f'<a class="card" href="{escape(card.href)}"{title}>{inner}</a>'


def _sheet(sheet: Sheet) -> str:
    title = f'<div class="head"><h2>{escape(sheet.title)}</h2>'
    note = f'<p class="soft">{escape(sheet.note)}</p>' if sheet.note else ""
    if not sheet.rows:
        return f'<section class="panel">{title}</div>{note}<p class="empty">{escape(sheet.empty)}</p></section>'
    heads = "".join(map(_column, sheet.columns))
    rows = "".join(f"<tr>{''.join(_cells(sheet.columns, row))}</tr>" for row in sheet.rows)
    return (
        f'<section class="panel">{title}</div>{note}<div class="scroll"><table id="{escape(sheet.id)}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _column(column: Column) -> str:
    title = f' title="{escape(column.title)}"' if column.title else ""
    return f'<th scope="col" class="{_classes(column)}"{title}>{escape(column.name)}</th>'


def _cells(columns: Sequence[Column], row: Sequence[Cell]) -> Iterator[str]:
    for column, cell in zip(columns, row, strict=True):
        short = _cut(cell.text, _LONGEST_CODE if cell.is_code else _LONGEST_TEXT)
        text = escape(short)
        if cell.is_code:
            # A name is broken where its words end, and one that somebody has made up wherever there is room.
            length = "name" if len(cell.text) <= _LONGEST_NAME else "long"
            text = f'<code class="{length}">{text.replace("_", "_<wbr>")}</code>'
        if cell.href is not None:
            text = f'<a href="{escape(cell.href)}">{text}</a>'
        if cell.under:
            text += f'<span class="under">{escape(_cut(cell.under, _LONGEST_NAME))}</span>'
        if cell.bar is not None:
            # An attribute of a meter is no style, which the policy of the page forbids.
            part = min(1.0, max(0.0, cell.bar))
            text += (
                '<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
                f'<rect width="100" height="4"/><rect class="now" width="{part * 100:.1f}" height="4"/></svg>'
            )
        tone = f" {cell.tone}" if cell.tone else ""
        plain = cell.text if cell.whole is None else cell.whole
        whole = f' title="{escape(plain)}"' if plain != short else ""
        yield f'<td class="{_classes(column)}{tone}"{whole}>{text}</td>'


def _cut(text: str, most: int) -> str:
    """As much of a text as a table has room for; the whole of it is told to who points at it."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _classes(column: Column) -> str:
    return " ".join(name for name, has in (("number", column.is_number), ("minor", column.is_minor)) if has)
