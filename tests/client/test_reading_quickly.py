"""The short way to know that a call worked never hides an error that the long way would find."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import CallToolResult, TextContent

import failwell as fw
import failwell.classify.prose as prose
from failwell.classify.prose import objects
from failwell.client import read
from failwell.client.reading import _TELLING, _is_fine
from failwell.model.lazily import _Pattern
from recorded import DATA


def worked(text: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], **more)


def expressions(value: object) -> Iterator[_Pattern]:
    if isinstance(value, _Pattern):
        yield value
    elif isinstance(value, tuple):
        for inner in value:
            yield from expressions(inner)


def patterns() -> dict[str, re.Pattern[str]]:
    """Every expression by which foreign texts are read, wherever it stands."""
    modules = [
        importlib.import_module(f"{prose.__name__}.{found.name}") for found in pkgutil.iter_modules(prose.__path__)
    ]
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}.{number}": re.compile(*expression._made_from)
        for module in modules
        for name, value in vars(module).items()
        for number, expression in enumerate(expressions(value))
    }


PATTERNS = patterns()


def agrees(text: str) -> None:
    assert not (_is_fine(worked(text)) and prose.from_text(text) is not None), text


@pytest.mark.parametrize("name", PATTERNS)
def test_what_any_expression_takes_for_an_error_is_looked_at(name: str) -> None:
    @given(st.from_regex(PATTERNS[name]))
    @settings(max_examples=15, database=None, derandomize=True)
    def holds(text: str) -> None:
        agrees(text)
        agrees(f"{text.strip()}: it is so")

    holds()


def test_what_real_servers_say_is_looked_at() -> None:
    for line in (DATA / "answers.jsonl").read_text(encoding="utf-8").splitlines():
        agrees(json.loads(line)["text"])


KEYS = sorted({key for name, value in vars(objects).items() if name.endswith("_KEYS") for key in value} | _TELLING)
VALUES = st.sampled_from(
    ["Error: no", "error", "failed", "NOT_FOUND", 404, False, True, None, {"code": 404, "message": "no"}, ["no"],
     [{"loc": ["a"], "msg": "no", "type": "missing"}], [{"path": ["a"], "code": "custom", "message": "no"}]]
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([*KEYS, "lines", "message"]), VALUES, max_size=3))
@settings(database=None, derandomize=True)
def test_an_object_that_tells_of_an_error_is_looked_at(data: dict[str, Any]) -> None:
    text = json.dumps(data)
    if _is_fine(worked(text, structured_content=data)):
        assert prose.from_text(text) is None
        assert fw.parse(data) is None
        assert fw.parse(text) is None


def test_an_object_is_known_at_once_where_text_and_data_say_the_same() -> None:
    data = {"lines": ["an error", "not found"]}
    assert _is_fine(worked(json.dumps(data, indent=2), structured_content=data))
    assert not _is_fine(worked("Error: no such thing", structured_content=data))
    assert not _is_fine(worked('{"lines": []}', structured_content=data))


@pytest.mark.parametrize("text", ["hello", "42", "", "Sunny, 21 degrees in Oslo."])
def test_a_short_answer_is_known_at_once(text: str) -> None:
    assert _is_fine(worked(text))
    assert _is_fine(worked(text, structured_content={"result": text}))
    assert read(worked(text)) is None


@pytest.mark.parametrize(
    "more",
    [
        {"is_error": True},
        {"_meta": {"io.github.failwell/tool-error": {}}},
        {"structured_content": {"success": False, "error": "no"}},
    ],
)
def test_what_says_that_it_failed_is_looked_at(more: dict[str, Any]) -> None:
    assert not _is_fine(worked("hello", **more))
