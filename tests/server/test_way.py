"""The way of a failure from the exception to the answer: guarded once, put into words once, and short."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from failwell.formats import FORMATS

sys.path.append(str(Path(__file__).parents[2] / "tools"))

from way import Way

TOOLS = Path(__file__).parents[2] / "tools"
GUARD = ("redact/error_guard.py", "Guard.__call__")
WORDS = ("formats/text.py", "dump")
READER = ("readers/exceptions/refusal.py", "refusal")
"""The tool refuses by an exception, which its author's code raises: nobody else has to read it."""
TABLE = ("readers/exceptions/exception_table.py", "classify")
"""Asked first where somebody has rows of their own."""


# What is walked today. These numbers only fall; the goal is 16 modules.
LIMITS = {"mcpserver": (31, 200), "lowlevel": (31, 198), "fastmcp": (33, 220)}
"""For each framework: how many modules a failure passes, and how many calls of ours that takes."""
OTHERS = [name for name in FORMATS if name != "text"]
WALKED = [*((framework, "text") for framework in LIMITS), *(("mcpserver", format) for format in OTHERS)]
WALK = """
import json, sys
from way import walk

print(json.dumps([walk(*each).calls for each in json.loads(sys.argv[1])]))
"""


@pytest.fixture(scope="module")
def ways() -> dict[tuple[str, str], Way]:
    """Walked in a process of their own: the rows, hooks and loggers of other tests would lengthen them."""
    command = [sys.executable, "-c", WALK, json.dumps(WALKED)]
    done = subprocess.run(command, cwd=TOOLS, stdout=subprocess.PIPE, check=True, timeout=300)
    calls = json.loads(done.stdout)
    return {
        each: Way(tuple((module, name) for module, name in found)) for each, found in zip(WALKED, calls, strict=True)
    }


@pytest.mark.parametrize("framework", LIMITS)
def test_the_way_does_not_grow(framework: str, ways: dict[tuple[str, str], Way]) -> None:
    way = ways[framework, "text"]
    modules, calls = LIMITS[framework]
    assert [way.times(*step) for step in (READER, GUARD, WORDS, TABLE)] == [1, 1, 1, 0]
    assert len(way.modules) <= modules, way.modules
    assert len(way.calls) <= calls, way.modules


@pytest.mark.parametrize("format", OTHERS)
def test_in_every_format_a_failure_is_read_guarded_and_put_into_words_once(
    format: str, ways: dict[tuple[str, str], Way]
) -> None:
    way = ways["mcpserver", format]
    assert [way.times(*step) for step in (READER, GUARD, WORDS, TABLE)] == [1, 1, 1, 0]
