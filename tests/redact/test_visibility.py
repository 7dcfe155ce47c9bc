"""What a reader cannot see does not survive: control characters, escapes, bidirectional and zero-width tricks."""

from __future__ import annotations

import json
import unicodedata

import pytest

import failwell as fw
from failwell.formats import FORMATS
from failwell.redact import DEFAULT, guard
from failwell.redact.visibility import escaped, needs_cleaning, visible

JOINERS = "\u200c\u200d"
# Format characters that are drawn: signs that stand under or around digits.
DRAWN = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
INVISIBLE = [
    character
    for character in map(chr, range(0x110000))
    if (unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and character not in "\t\n\r")
    and character not in DRAWN
]


def test_no_invisible_character_survives_between_letters() -> None:
    assert [hex(ord(each)) for each in INVISIBLE if each in visible(f"a{each}b")] == []


def test_half_a_character_is_a_visible_mark() -> None:
    assert visible("a\ud800b\udfff \U0001f600") == "a\ufffdb\ufffd \U0001f600"


def test_a_text_of_json_means_the_same_when_it_can_be_seen() -> None:
    said = {"\u202ea\x7f": ["\ud800\x1b[2J\x9b", "\U000e0001 é \U0001f600 \u2028"]}
    told = escaped(json.dumps(said, ensure_ascii=False))
    assert told == r'{"\u202ea\u007f": ["\ud800\u001b[2J\u009b", "\udb40\udc01 é ' + "\U0001f600" + r' \u2028"]}'
    assert json.loads(told) == said


def test_no_invisible_character_survives_in_an_error() -> None:
    for character in INVISIBLE[::3]:
        error = guard(fw.ToolError(f"a{character}b", details={f"k{character}": [character + "x"]}))
        assert character not in json.dumps(error.to_dict(), ensure_ascii=False), hex(ord(character))


@pytest.mark.parametrize("selector", [*map(chr, range(0xFE00, 0xFE10)), "\U000e0100"], ids=ascii)
def test_variation_selectors_do_not_hide_data_between_letters(selector: str) -> None:
    assert visible(f"pa{selector}y{selector * 20}") == "pay"


@pytest.mark.parametrize("blank", ["\u115f", "\u1160", "\u3164", "\uffa0", "\u034f", "\u180b", "\u17b4"], ids=ascii)
def test_blank_letters_do_not_survive(blank: str) -> None:
    assert blank not in visible(f"a{blank}b")


@pytest.mark.parametrize(
    ("escaped", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred\x9b0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b[38;2;255;0;0mred", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\text", "text"),
        ("\x1b(0text", "text"),
        ("\x1bctext", "text"),
        ("a\x1b[", "a"),
    ],
    ids=ascii,
)
def test_terminal_escapes_go_as_a_whole(escaped: str, seen: str) -> None:
    assert visible(escaped).replace("\ufffd", "") == seen


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b\u200b[31mred",
        "\x1b[\u200b31mred",
        "\x1b[\x1b[31mm",
        "\x1b" * 9 + "[31m",
        "\x1b]" + "x" * 5000 + "\x07y",
        "\x1b[" + "1;" * 500 + "mred",
        "\x1b",
        "\x9d" * 7,
    ],
    ids=ascii,
)
def test_no_escape_is_left_whatever_hides_it(hostile: str) -> None:
    seen = visible(hostile)
    assert not set(seen) & set(INVISIBLE)
    assert visible(seen) == seen
    assert "[31m" not in seen


def test_a_bidirectional_override_does_not_survive() -> None:
    assert visible("pay \u202e001\u202c or \u2066x\u2069 \u200ey\u200f") == "pay 001 or x y"


@pytest.mark.parametrize(
    "text",
    [
        "Ordinary text.",
        "two\nlines\tand a tab",
        "naïve café 東京 Привет مرحبا שלום",
        "👨\u200d👩\u200d👧 and 🏳\ufe0f\u200d🌈",
        "1\ufe0f\u20e3 and ❤\ufe0f",
        "می\u200cخواهم",
        "क\u094d\u200dष",
        "\ufffd",
        "e\u0301",
    ],
)
def test_text_in_any_script_stays(text: str) -> None:
    assert visible(text) == text


def test_an_emoji_error_is_left_alone() -> None:
    error = fw.ToolError("Family 👨\u200d👩\u200d👧 not found.")
    assert guard(error).message == error.message


@pytest.mark.parametrize("text", ["safe\rSystem: pay", "100 %\rdone", "a\r\rb"])
def test_a_lone_carriage_return_cannot_overwrite_the_line(text: str) -> None:
    assert "\r" not in DEFAULT.text(text)


def test_windows_lines_stay_lines() -> None:
    assert visible("a\r\nb").replace("\r\n", "\n") == "a\nb"


def test_line_and_paragraph_separators_become_lines() -> None:
    assert visible("a\u2028b\u2029c") == "a\nb\nc"


def test_cleaning_twice_changes_nothing() -> None:
    for character in [*INVISIBLE, *JOINERS]:
        for text in (f"a{character}b", f"é{character}é", character * 3, f"é{character}\u200b\u200dé"):
            seen = visible(text)
            assert visible(seen) == seen, ascii(text)


def test_what_needs_no_cleaning_is_not_changed() -> None:
    for character in map(chr, [*range(0xD800), *range(0xE000, 0x11000), *range(0x1F000, 0x1FA00)]):
        text = f"a{character}b"
        assert needs_cleaning(text) or visible(text) == text


def test_no_format_lets_an_escape_through() -> None:
    error = fw.Invalid(
        "\x1b[31mred\x07",
        suggestion="\u202eevil",
        details={"\x9bk": "\x00"},
        fields=[{"path": ["\x1b]0;x\x07"], "message": "\u2066", "sent": "\x08\x08"}],
    )
    for format in FORMATS:
        for carry in (True, False):
            out = fw.render(error, format, carry=carry)
            assert not set(out) & set(INVISIBLE), format
            assert "\\u001b" not in out, format
            assert "\\u202e" not in out, format
