"""Of a stack trace only its words are told."""

from __future__ import annotations

import pytest

from failwell.readers import from_text, trace_line, without_frames

GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "/srv/app.py", line 1, in <module>
  |     asyncio.run(main_private())
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/y.py", line 3, in main_private
    |     charge(card_private)
    | KeyError: 'card'
    +---------------- 2 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/srv/y.py", line 4, in other_private
    |     charge(card_private)
    | ExceptionGroup: more (1 sub-exception)
    +-+---------------- 1 ----------------
      | Traceback (most recent call last):
      |   File "/srv/y.py", line 5, in third_private
      | RuntimeError: no such card
      +------------------------------------
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GROUP, "RuntimeError: no such card"),
        (f"Error: {GROUP}", "RuntimeError: no such card"),
        (" ".join(GROUP.split()), "RuntimeError: no such card"),
        (
            'Error: Traceback (most recent call last): File "/srv/a.py", line 1, in f private(KeyError) '
            'File "/srv/b.py", line 2, in g raise private.KeyError("x") shop.LedgerGone: it is gone',
            "shop.LedgerGone: it is gone",
        ),
        ('Traceback (most recent call last): File "/srv/a.py", line 1, in f private', "The tool crashed."),
        (
            "TypeError: x is not a function at private (/srv/a.js:10:5) at Object.<anonymous> (/srv/b.js:1:1)",
            "TypeError: x is not a function",
        ),
        ("Error: gone at a.private (b.js:1:2) at async Promise.all (index 0) Call list.", "Error: gone Call list."),
        ("java.lang.Oops: gone at com.private.A.b(C.java:3) at com.private.D.e(F.java:4)", "java.lang.Oops: gone"),
        ("\x1b[31mError: gone\x1b[0m\n\x1b[90m    at private (/srv/a.js:1:2)\x1b[39m", "Error: gone"),
        ('Traceback (most recent call last):<br>  File "/srv/a.py", line 1, in private<br>KeyError: 3', "KeyError: 3"),
        ("terminate\n#0  0x00007f in private () from /srv/a.so\n#1  main () at /srv/private.cpp:3", "terminate"),
        ("abort\n/srv/private(run+0x1b) [0x55d0]\n/srv/private(+0x12) [0x55d1]", "abort"),
        (
            "Fatal error: Index out of range: file /srv/app.swift, line 3\n0 libswift 0x00007fff private + 16",
            "Fatal error: Index out of range",
        ),
    ],
)
def test_of_a_trace_in_any_form_only_its_words_are_told(text: str, words: str) -> None:
    assert trace_line(text) == words
    assert "private" not in without_frames(f"built\n{text}\n2 of 3 failed").lower()
    assert "2 of 3 failed" in without_frames(f"built\n{text}\n2 of 3 failed")


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected token at src/app.js:10:5",
        "no such step at 3 (plan.yaml:10:5)",
        "Invalid value at Config (app.js:1:2)",
        "The train at 10:30:15 (on time) is late",
        "| a table |\n| of errors |",
        "Issue #3 0x12 is closed",
    ],
)
def test_what_speaks_of_a_place_is_no_trace(text: str) -> None:
    assert trace_line(text) is None


def test_the_message_of_a_trace_is_its_last_line() -> None:
    text = 'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in f\n    g()\nValueError: too big'
    assert (found := from_text(text, is_error=True)) is not None
    assert found.message == "ValueError: too big"


def test_exceptions_that_were_raised_at_once_are_a_crash() -> None:
    found = from_text(
        GROUP.replace("RuntimeError: no such card", "AttributeError: 'NoneType' object has no attribute 'x'"),
        is_error=True,
    )
    assert found is not None
    assert (found.code, found.message) == ("INTERNAL_ERROR", "AttributeError: 'NoneType' object has no attribute 'x'")


def test_a_trace_in_what_is_left_of_json_is_no_part_of_the_message() -> None:
    cut = '…(9 characters cut)… was not found\\n    at async stat (node:fs:1:2)\\n    at x (/srv/x.js:3:4)",\n  "name": "Error"\n}'
    error = from_text(cut, is_error=True)
    assert error is not None
    assert error.message == "…(9 characters cut)… was not found"
