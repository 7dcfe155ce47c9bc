"""Pages as HTML, by Jinja2: every value is escaped, and nothing is loaded from anywhere else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from failwell.packages import needed

try:
    import jinja2
    from markupsafe import Markup
except ImportError as problem:
    raise needed("failwell dashboard", "dashboard", problem) from None

from failwell.observe import Reading

from .pages import NAVIGATION, Page
from .query import SPANS, Query
from .sheets import cell

_OPTIONS: Final = ("server", "client")


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset(name, "templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.globals |= {"navigation": NAVIGATION, "spans": SPANS, "cell": cell, "css": lambda: Markup(asset("page.css"))}
    # A name is broken where its words end.
    made.filters["breakable"] = lambda text: Markup("_<wbr>").join(str(text).split("_"))
    return made


@cache
def asset(name: str, folder: str = "static") -> str:
    """A file that goes with the pages."""
    return files(__package__).joinpath(folder, name).read_text(encoding="utf-8")


def names(reading: Reading) -> dict[str, list[str]]:
    """What the filters offer."""
    return {each: reading.names(each) for each in _OPTIONS}


def page(page: Page, query: Query, store: str, offered: dict[str, list[str]]) -> str:
    """A page of the dashboard."""
    return _render("page.html", page=page, query=query, store=store, offered=offered)


def body(page: Page, query: Query, offered: dict[str, list[str]]) -> str:
    """What is renewed while one looks."""
    return _render("body.html", page=page, query=query, offered=offered)


def document(pages: Sequence[Page], query: Query, lead: str) -> str:
    """One file that holds everything and needs nothing."""
    return _render("document.html", pages=pages, query=query, lead=lead)


def login(problem: str = "") -> str:
    """The page that asks for the token."""
    return _render("login.html", problem=problem)


def message(title: str, text: str, code: str = "", *, is_waiting: bool = False) -> str:
    """A page that says one thing; is_waiting: and looks again by itself."""
    return _render("message.html", title=title, text=text, code=code, is_waiting=is_waiting)


def _render(name: str, **given: Any) -> str:
    return _environment().get_template(name).render(**given)
