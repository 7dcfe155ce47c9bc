"""The examples in the README and the documentation do what they say."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp_types import Implementation

import failwell as fw

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"```python\n(.*?)```(?:\s*```(?:text|xml|json)\n(.*?)```)?", re.DOTALL)


def examples() -> list[object]:
    return [
        pytest.param(code, output, id=f"{page.name}-{number}")
        for page in PAGES
        for number, (code, output) in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8")), 1)
    ]


@pytest.mark.parametrize(("code", "output"), examples())
def test_example_prints_what_the_page_says(code: str, output: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example", "exec"), {"__name__": "example"})
    assert printed.getvalue().strip() == output.strip()


def test_the_server_answers_what_the_page_says() -> None:
    page = (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
    code, _ = _BLOCK.findall(page)[0]
    scope: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "example", "exec"), scope)

    async def ask() -> str:
        # By a name that nobody knows, as most clients have.
        async with mcp.Client(scope["server"], client_info=Implementation(name="reader", version="1")) as client:
            return (await client.call_tool("search", {"qeury": "tea"})).content[0].text  # type: ignore[union-attr]

    assert asyncio.run(ask()) in " ".join(page.split())


def test_the_server_of_the_readme_runs_as_it_stands(tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    code, _ = _BLOCK.findall(page[page.index("## If you write a server") :])[0]
    (tmp_path / "shop.py").write_text(code, encoding="utf-8")
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "reader", "version": "1"}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
    ran = subprocess.run(
        [sys.executable, "shop.py"], cwd=tmp_path, input=f"{asked}\n", capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout)["result"]["serverInfo"]["name"] == "shop"


@pytest.mark.parametrize(
    ("error", "effect"),
    [
        *((kind("x"), "none") for kind in (fw.NotFound, fw.Invalid, fw.Conflict, fw.Denied)),
        *((fw.ToolError("x", code=code), "none") for code in ("RATE_LIMITED", "SERVER_BUSY", "x_rate_limited")),
        *((fw.ToolError("x", code=code), "partial") for code in ("PARTIAL_FAILURE", "thread_partial_failure")),
        *((fw.ToolError("x", code=code), "unknown") for code in ("OUTCOME_UNKNOWN", "IDEMPOTENCY_UNFINISHED")),
        *(
            (fw.ToolError("x", code=code), None)
            for code in ("TIMEOUT", "NETWORK_ERROR", "UNAVAILABLE", "UPSTREAM_ERROR", "INTERNAL_ERROR")
        ),
        *((kind("x"), None) for kind in (fw.ToolError, fw.Transient, fw.Internal)),
    ],
)
def test_what_a_code_says_of_the_effect_is_what_the_page_says(error: fw.ToolError, effect: str | None) -> None:
    assert error.effect == effect
    page = (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
    assert f"`{type(error).__name__}`" in page
    assert error.code is None or f"`{error.code}`" in page


def test_the_links_of_the_readme_lead_somewhere() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line.lower()).replace(" ", "-")
        for line in re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    }
    for link in re.findall(r"\]\(([^)]+)\)", page):
        file, _, anchor = link.partition("#")
        assert (ROOT / file).exists(), link
        assert file or anchor in headings, link


def test_the_architecture_names_what_is_there() -> None:
    """A path in the page that describes the project is one in it."""
    root = Path(__file__).parents[1]
    page = (root / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.py)?)`", page))
    assert len(named) > 20
    assert [
        each for each in sorted(named) if not any((top / each).exists() for top in (root, root / "src/failwell"))
    ] == []
