"""The way of a failure from the exception to the answer: guarded once, put into words once, and short."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from failwell.formats import FORMATS

sys.path.append(str(Path(__file__).parents[2] / "tools"))

from way import walk

GUARD = ("redact/error_guard.py", "Guard.__call__")
WORDS = ("formats/text.py", "dump")
READER = ("readers/exceptions/refusal.py", "refusal")
"""The tool refuses by an exception, which its author's code raises: nobody else has to read it."""
TABLE = ("readers/exceptions/exception_table.py", "classify")
"""Asked first where somebody has rows of their own, as other tests in the process may have."""


# What is walked today. These numbers only fall; the goal is 16 modules.
LIMITS = {"mcpserver": (31, 203), "lowlevel": (31, 201), "fastmcp": (33, 224)}
"""For each framework: how many modules a failure passes, and how many calls of ours that takes."""


@pytest.mark.parametrize("framework", LIMITS)
def test_the_way_does_not_grow(framework: str) -> None:
    way = walk(framework)
    modules, calls = LIMITS[framework]
    assert [way.times(*step) for step in (READER, GUARD, WORDS)] == [1, 1, 1]
    assert way.times(*TABLE) <= 1
    assert len(way.modules) <= modules, way.modules
    assert len(way.calls) <= calls, way.modules


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "text"])
def test_in_every_format_a_failure_is_read_guarded_and_put_into_words_once(format: str) -> None:
    way = walk("mcpserver", format)
    assert [way.times(*step) for step in (READER, GUARD, WORDS)] == [1, 1, 1]
    assert way.times(*TABLE) <= 1
