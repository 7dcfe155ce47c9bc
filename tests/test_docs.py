"""The examples in the README and the documentation do what they say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

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
