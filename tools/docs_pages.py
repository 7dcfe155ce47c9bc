"""The pages of the documentation that are made: one for each code, their index, the changelog."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import failwell as fw
from docs_rules import rule_pages
from failwell.model.catalogs import CATALOGS
from failwell.model.codes import Code
from failwell.relay.states import REQUEST, SERVER

sys.path.insert(0, str(Path(__file__).parent))


_SHOWN = ("text", "typed", "v1", "xml", "envelope", "jsonrpc", "canonical")
_LANGUAGE = {"xml": "xml", "text": "text"}


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Called by mkdocs: adds the generated pages to the written ones."""
    for path, content in pages().items():
        files.append(File.generated(config, path, content=content))
    return files


def pages() -> dict[str, str]:
    """The generated pages by their path."""
    made = {"codes/index.md": _index(), "changelog.md": _changelog(), "relay-states.md": _states(), **rule_pages()}
    for catalog in CATALOGS.values():
        for code in catalog:
            made[f"codes/{catalog.catalog}/{code.name}.md"] = _page(code)
    return made


def on_page_content(html: str, *, page: Page, **given: Any) -> str:
    """Called by mkdocs: the names of tests may be broken where a reader would break them."""
    if page.file.src_uri != "contracts.md":
        return html
    return re.sub(r"<code>[^<]+::[^<]+</code>", lambda name: re.sub(r"(::|_|/(?!c))", r"\1<wbr>", name[0]), html)


def _states() -> str:
    """The tables that the relay runs by, as diagrams and as tables."""
    lines = [
        "# The relay's states",
        "",
        "Made from `failwell/relay/states.py`. An event that a table does not have for a state cannot happen there.",
        "",
        "## A request",
        "",
        *_diagram({state: {event: step.to for event, step in row.items()} for state, row in REQUEST.items()}),
        "The effect is what the transport knows where nobody says more.",
        "",
        "| state | event | next | effect |",
        "|---|---|---|---|",
    ]
    for state, row in REQUEST.items():
        lines += [f"| {state} | {event} | {step.to} | {step.effect or ''} |" for event, step in row.items()]
    lines += ["", "## The server", "", *_diagram(SERVER)]
    return "\n".join(lines) + "\n"


def _diagram(table: Mapping[Any, Mapping[Any, Any]]) -> list[str]:
    arrows: dict[tuple[Any, Any], list[str]] = {}
    for state, row in table.items():
        for event, to in row.items():
            arrows.setdefault((state, to), []).append(str(event))
    drawn = [f"    {state} --> {to}: {', '.join(events)}" for (state, to), events in arrows.items()]
    return ["```mermaid", "stateDiagram-v2", *drawn, "```", ""]


def _changelog() -> str:
    """The changelog, whose links lead from the folder above the pages."""
    text = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    return text.replace("](docs/", "](")


def _index() -> str:
    lines = [
        "# Codes",
        "",
        "Every code Failwell ships, made from the same tables as `failwell codes`. A code your own catalogue declares "
        "is looked up first, then `core`, then the contracts'.",
    ]
    for catalog in CATALOGS.values():
        lines += ["", f"## {catalog.catalog}", "", (catalog.__doc__ or "").strip(), ""]
        lines += ["| code | kind | retry | recovery | meaning |", "|---|---|---|---|---|"]
        lines += [
            f"| [`{code.name}`]({catalog.catalog}/{code.name}.md) | {code.kind} | {'yes' if code.retryable else 'no'} "
            f"| {code.strategy} | {code.description} |"
            for code in catalog
        ]
    return "\n".join(lines) + "\n"


def _page(code: Code) -> str:
    error = code(code.description if code.description.endswith(".") else f"{code.description}.")
    decision = fw.decide(error)
    rows: list[tuple[str, Any]] = [
        ("catalogue", code.catalog),
        ("category", code.category),
        ("title", code.title),
        ("kind", code.kind.value),
        ("the same call may work later", "yes" if code.retryable else "no"),
        ("recovery", code.strategy.value),
        ("effect of the failed call", code.effect.value if code.effect else "not known"),
        ("HTTP status", code.http_status),
        ("JSON-RPC number", code.number),
        ("what an agent does", decision.reason),
    ]
    lines = [f"# {code.name}", "", code.description, "", "| property | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in rows if value is not None]
    lines += ["", "## Raise it", "", "```python", "import failwell as fw", ""]
    lines += [f'raise fw.ToolError("{error.message}", code="{code.name}")', "```", "", "## On the wire", ""]
    for name in _SHOWN:
        wire = fw.render(error, name)
        lines += [f"`{name}`", "", f"```{_LANGUAGE.get(name, 'json')}", wire, "```", ""]
    return "\n".join(lines)
