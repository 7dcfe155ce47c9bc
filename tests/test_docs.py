"""The examples in the README and the documentation do what they say."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp_types import Implementation

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
