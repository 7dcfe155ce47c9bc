"""Patterns of your own: what is no pattern, or matches nothing or the mask, is refused when it is added."""

from __future__ import annotations

import re

import pytest

import failwell as fw
from failwell.formats import FORMATS
from failwell.redact import MASK, Guard
from failwell.redact.redactor import redactor


@pytest.mark.parametrize("pattern", ["(", "[", "*", "(?P<a>x)(?P<a>y)", "a{5,2}", r"\g", "(?<=a{1,2})b"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="not a regular expression"):
        redactor([pattern])


@pytest.mark.parametrize("pattern", ["", "a?", "x{0,5}", "^", "$", r"\b", "(?=a)", "(?<=a)", "(?!a)", "(?m)^", "a|"])
def test_a_pattern_that_matches_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError):
        redactor([pattern])


@pytest.mark.parametrize("odd", [re.compile(b"abc"), b"abc", 5, None], ids=str)
def test_what_is_not_even_text_is_refused_clearly(odd: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        redactor([odd])  # type: ignore[arg-type]


FINE = {
    r"corp-[0-9]{6}": "corp-123456",
    r"(?i)EMP[0-9]{4,8}": "emp12345",
    r"\b[A-Z]{2}[0-9]{6}[A-Z]\b": "AB123456C",
    r"(?:alpha|beta)-[a-f0-9]{8,64}": "beta-0a1b2c3d4e",
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}": "123-45-6789",
    r"(?<![0-9])[0-9]{10}(?![0-9])": "1234567890",
    r"inv_[A-Za-z0-9]{1,1000}": "inv_abc",
}


@pytest.mark.parametrize("pattern", FINE)
def test_a_bounded_pattern_is_accepted_and_masks(pattern: str) -> None:
    for form in (pattern, re.compile(pattern)):
        guard = Guard.make(patterns=[form])
        error = fw.ToolError(f"Bad {FINE[pattern]} here.", details={"a": [FINE[pattern]], FINE[pattern]: 1})
        for format in FORMATS:
            assert FINE[pattern] not in fw.render(error, format, carry=True, guard=guard)
        assert guard(error).message == f"Bad {MASK} here."


def test_flags_of_a_compiled_pattern_count() -> None:
    guard = Guard.make(patterns=[re.compile(r"corp - [0-9]{6}", re.IGNORECASE | re.VERBOSE)])
    assert guard.text("CORP-123456") == MASK


def test_the_group_keep_stays() -> None:
    assert Guard.make(patterns=[r"(?P<keep>emp=)[0-9]{4}"]).text("emp=1234") == f"emp={MASK}"


def test_a_group_keep_that_did_not_take_part_does_no_harm() -> None:
    guard = Guard.make(patterns=[r"(?P<keep>id=)?corp-[0-9]{6}"])
    assert guard.text("id=corp-123456 corp-654321") == f"id={MASK} {MASK}"
    assert guard(fw.ToolError("corp-654321")).message == MASK


@pytest.mark.parametrize("pattern", [r"[a-z]{8}", r"\[[a-z]{8}", r"red"])
def test_a_pattern_that_matches_the_mask_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError):
        Guard.make(patterns=[pattern])
