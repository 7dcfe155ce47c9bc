"""An expression that is run only where a piece of it stands finds all that it would find anywhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from failwell.readers.prose import hosts, words
from failwell.readers.prose.stems import WordRules, alternatives, stems

HERE = Path(__file__).parent
TEXTS = [
    json.loads(line)["text"].lower()[:3_000]
    for file in (HERE / "hosts.jsonl", HERE / "texts_unseen.jsonl")
    for line in file.read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("rows", [words._ROWS, hosts._ROWS], ids=["words", "hosts"])
def test_the_rules_find_what_their_expressions_find(rows: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    rules, plain = WordRules(rows), [(code, re.compile("|".join(sources))) for code, sources in rows]
    found = {text: rules.code_of(text) for text in TEXTS}
    assert found == {text: next((code for code, rule in plain if rule.search(text)), None) for text in TEXTS}
    assert len(set(found.values())) > 5


def test_a_long_text_is_read_like_a_short_one() -> None:
    assert WordRules(words._ROWS).code_of("x" * 1_000 + " was not found") == "NOT_FOUND"


@pytest.mark.parametrize("rows", [words._ROWS, hosts._ROWS], ids=["words", "hosts"])
def test_every_expression_has_stems(rows: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    bare = [each for _, sources in rows for source in sources for each in alternatives(source) if not stems(each)]
    assert bare == []


def test_an_escaped_bar_is_no_choice() -> None:
    assert list(alternatives(r"a\|b|[\]|]|(c|d)|e\\|f")) == [r"a\|b", r"[\]|]", "(c|d)", r"e\\", "f"]


@pytest.mark.parametrize(
    ("source", "certain"),
    [
        ("known tool", ("known tool",)),
        ("(?:a|bcd)e?", ()),
        ("(?i)known", ()),
        ("(?i:known) tool", (" tool",)),
        ("abc(?:de)?fgh", ("abc",)),
        ("ab(?:cd)?ef", ()),
        ("x?", ()),
        ("[ab]cd+", ()),
        (r"(?:no|not) \w{1,20} \bfound", (" found",)),
        ("(?!abc)defg", ("defg",)),
    ],
)
def test_only_what_every_match_holds_is_a_stem(source: str, certain: tuple[str, ...]) -> None:
    assert stems(source) == certain
