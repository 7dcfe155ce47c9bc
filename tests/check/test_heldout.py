"""Some of the pairs that the rules were not written with; `make twins` has all of them."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from failwell.check import RULES

sys.path.insert(0, str(Path(__file__).with_name("heldout")))

from held import looked_at
from held_pairs import PAIRS, HeldPair
from raw import LEGACY

# Failures that are told as successes in words of their own, and the rules that no other pair is about.
CHOSEN = (
    "not-marked",
    "marked-in-json",
    "second-oops",
    "later",
    "foreign-code",
    "one-of-two",
    "empty-shelf",
    "undeclared",
)


def test_defects_in_other_words_are_found_and_not_on_their_twins() -> None:
    pairs = [pair for pair in PAIRS if pair.name in CHOSEN]

    def found(one: tuple[HeldPair, bool]) -> list[str]:
        pair, bad = one
        rules = {finding.rule for finding in looked_at(pair, bad, LEGACY).findings}
        return [rule for rule in pair.rules if rule in rules]

    with ThreadPoolExecutor(8) as pool:
        bad = list(pool.map(found, ((pair, True) for pair in pairs)))
        good = list(pool.map(found, ((pair, False) for pair in pairs)))
    assert [(pair.name, rules) for pair, rules in zip(pairs, bad, strict=True)] == [
        (pair.name, list(pair.rules)) for pair in pairs
    ]
    assert [pair.name for pair, rules in zip(pairs, good, strict=True) if rules] == []


def test_each_rule_has_a_pair() -> None:
    known = json.loads(Path(__file__).with_name("twins.json").read_text())
    about = {rule for rules in known.values() for rule in rules} | {rule for pair in PAIRS for rule in pair.rules}
    assert set(RULES) - about == set()
