"""Every form in which a name and its secret stand together, and the ordinary texts that look like them."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from forms import DRAWN, FORMS, NUMBERS, PLAIN
from told import SAID, TOLD, TOLD_KEYS
from variants import NEAR, VARIANTS

import failwell as fw
from failwell.redact import DEFAULT, MASK, Guard

PASSWORDS = ("Kx7pQ2mZ9v", "hunter2")
KEYS = ("Gg5IsB1M" * 4, "90e34eb79d878bdb" * 2)
HERE = Path(__file__).parent
# What still comes out, and what is touched without need, of texts that others wrote before.
COLOURS = re.compile("\x1b\\[[0-9;]*[A-Za-z]")


def out(text: str) -> str:
    return fw.guard(fw.ToolError(text)).message


def leaks(forms: list[str], secret: str) -> list[str]:
    return [form for form in forms if secret in out(form.replace("§", secret))]


@pytest.mark.parametrize("kind", FORMS)
def test_no_secret_comes_out_of_any_form(kind: str) -> None:
    assert [form for password in PASSWORDS for form in leaks(FORMS[kind], password)] == []


def test_what_looks_drawn_comes_out_of_no_form() -> None:
    assert leaks([*DRAWN, *TOLD], PASSWORDS[0]) == []


def test_no_key_comes_out_of_what_is_told() -> None:
    assert [leaks(TOLD_KEYS, key) for key in KEYS] == [[], []]


def test_no_number_comes_out_of_any_form() -> None:
    assert leaks(NUMBERS, "482913") == []


@pytest.mark.parametrize("kind", VARIANTS)
def test_no_secret_comes_out_of_other_texts_of_a_kind(kind: str) -> None:
    assert [
        text
        for text in VARIANTS[kind]
        if any(secret in out(text.replace("§", "")) for secret in re.findall("§([^§]+)§", text))
    ] == []


def test_every_text_of_a_kind_holds_a_secret() -> None:
    assert [text for texts in VARIANTS.values() for text in texts if text.count("§") not in (2, 4)] == []
    assert {kind for kind, texts in VARIANTS.items() if len(texts) < 10} == set()


def test_a_text_of_a_kind_is_the_same_the_second_time() -> None:
    for text in (text.replace("§", "") for texts in VARIANTS.values() for text in texts):
        assert DEFAULT.text(DEFAULT.text(text)) == DEFAULT.text(text)


def test_a_form_is_the_same_the_second_time() -> None:
    for form in (*DRAWN, *TOLD, *NUMBERS, *(form for forms in FORMS.values() for form in forms)):
        once = DEFAULT.text(form.replace("§", PASSWORDS[0]))
        assert DEFAULT.text(once) == once


def test_ordinary_texts_stay() -> None:
    assert [text for text in (*PLAIN, *SAID, *NEAR) if out(text) != text] == []


def rows_of(set_of: str, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / f"{set_of}_{name}.jsonl").read_text().splitlines()]


# The sets from which the guard has learnt, and what it still misses in them: passwords in a row of words without any name,
# before a host without a scheme, one that is spelled like the name of another, one that another command prints, and a key
# that may be the hash of one.
LEARNT = {
    "held_out": set[str](),
    "learnt": {"r002", "r049", "t132"},
    "later": {"x004"},
    "printed": {"y221", "y375", "y478", "y496", "y501", "y543"},
    "tools": set[str](),
    "reports": set[str](),
}
# What is touched without need: a word with a number where a password would stand.
TOUCHED = {"printed": ["z340", "z382"]}


@pytest.mark.parametrize("set_of", LEARNT)
def test_the_held_out_secrets_stay_in(set_of: str) -> None:
    missed = set()
    for row in rows_of(set_of, "secrets"):
        said = out(row["text"])
        if any(secret in said for secret in ([row["secret"]] if isinstance(row["secret"], str) else row["secret"])):
            missed.add(row["id"])
    assert missed == LEARNT[set_of]


@pytest.mark.parametrize("set_of", LEARNT)
def test_the_held_out_ordinary_texts_stay(set_of: str) -> None:
    rows = rows_of(set_of, "ordinary")
    assert [row["id"] for row in rows if DEFAULT.plain(row["text"]) != COLOURS.sub("", row["text"])] == TOUCHED.get(
        set_of, []
    )


# What is measured without being learnt from: nobody looks at which of them come out.
UNSEEN = {
    "secrets": "9b9a3c7dc5122c53d5c37b839cf86b39133b5f151eed0645b42549bd90df7f74",
    "ordinary": "33e851f55e601e597646dbfb142ab93566766426cdd1899b03fbd4e82384d8fe",
}


@pytest.mark.parametrize("name", UNSEEN)
def test_the_unseen_set_is_as_it_was_written(name: str) -> None:
    assert hashlib.sha256((HERE / f"incidents_{name}.jsonl").read_bytes()).hexdigest() == UNSEEN[name]


def test_of_the_unseen_set_no_less_is_kept_back_than_the_page_says() -> None:
    # Compared as numbers, so that a failure shows none of the texts.
    said = [(row["secret"], out(row["text"])) for row in rows_of("incidents", "secrets")]
    kept = sum(
        not any(secret in shown for secret in ([secrets] if isinstance(secrets, str) else secrets))
        for secrets, shown in said
    )
    touched = sum(
        DEFAULT.plain(row["text"]) != COLOURS.sub("", row["text"]) for row in rows_of("incidents", "ordinary")
    )
    enough = (kept >= 198, touched <= 2)
    assert enough == (True, True), (kept, touched)


BEFORE_NAMES = ("\x1b ", "\x1b[", "\x1b", "\x1b(", "\x9b", "\x1b[31m", "\x1b]0;t\x07", "\x1bc", "\x1b#", "\x1b%")


@pytest.mark.parametrize("escape", BEFORE_NAMES, ids=ascii)
def test_an_escape_takes_no_letter_of_a_name(escape: str) -> None:
    for name in ("password", "secret", "token", "api_key", "MY_TOKEN", "passwd"):
        assert "hunter2" not in out(f"{escape}{name}='hunter2'")


def test_a_value_is_masked_wherever_it_is_told_again() -> None:
    assert out("'hunter2' is too short: password='hunter2'") == f"'{MASK}' is too short: password='{MASK}'"
    assert out("password='swordfish': 'swordfish' is known") == f"password='{MASK}': '{MASK}' is known"
    # A word that others may use stays where nobody quotes it.
    assert out("password='fisherman', user fisherman") == f"password='{MASK}', user fisherman"


@pytest.mark.thorough
def test_work_on_one_error_has_an_end() -> None:
    steps_of = {size: _looked_through(size) for size in (20, 2_000)}
    assert steps_of[2_000] <= 6 * steps_of[20]


def _looked_through(size: int) -> int:
    from growth import steps

    error = fw.ToolError("m", details={str(n): "the password=hunter2xY of the user " * 400 for n in range(size)})
    return steps(lambda: Guard()(error))
