"""Texts that are written from a pattern match it, and no pattern breaks the writer."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.check.pattern_text import NotWritten, matching


@pytest.mark.parametrize(
    "pattern",
    [
        r"^bk_[0-9]{1,6}$",
        r"^(GB|FR)\d{2}[^a-w]?$",
        r"(?:a|b)+\.txt",
        r"^[^\s@]+@[^\s@]+\.[a-z]{2,}$",
        r"^(\w+)-\1$",
        r"^#[A-Fa-f0-9]{6}$",
        r"(?i)abc",
        r"^/[a-z]+(/[a-z]+)*$",
    ],
)
def test_the_text_matches_the_pattern(pattern: str) -> None:
    assert re.search(pattern, matching(pattern))


def test_groups_are_named_as_in_javascript() -> None:
    assert matching(r"^(?<year>\d{4})-(?<month>\d\d)$") == "7777-77"


@pytest.mark.parametrize(
    "pattern", ["(" * 5000, "a{99999999999}", "(x{64}){64}{64}", r"\p{L}", "[^\0-\U0010ffff]", "a**"]
)
def test_what_cannot_be_written_says_so(pattern: str) -> None:
    with pytest.raises(NotWritten):
        matching(pattern)


@given(st.text("ab(|)[^-]{1,}*+?.\\dwS$", max_size=20))
def test_no_pattern_breaks_the_writer(pattern: str) -> None:
    with suppress(NotWritten):
        assert isinstance(matching(pattern), str)
