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
CHOSEN = ("marked-in-json", "second-oops", "foreign-code", "one-of-two", "empty-shelf", "uncoded", "ghost-next")


def test_defects_in_other_words_are_found_and_not_on_their_twins() -> None:
    pairs = [pair for pair in PAIRS if pair.name in CHOSEN]

    def said(one: tuple[HeldPair, bool]) -> set[tuple[str, str | None, str]]:
        pair, bad = one
        return {(each.rule, each.tool, each.message) for each in looked_at(pair, bad, LEGACY).findings}

    with ThreadPoolExecutor(8) as pool:
        bad = list(pool.map(said, ((pair, True) for pair in pairs)))
        good = list(pool.map(said, ((pair, False) for pair in pairs)))
    missed = {
        pair.name: rule
        for pair, worse, better in zip(pairs, bad, good, strict=True)
        for rule in pair.rules
        if rule not in {found for found, _, _ in worse - better}
    }
    assert missed == {}


def test_each_rule_has_a_pair() -> None:
    known = json.loads(Path(__file__).with_name("twins.json").read_text())
    about = {rule for rules in known.values() for rule in rules} | {rule for pair in PAIRS for rule in pair.rules}
    # The others are seen with a ladder of servers, and with servers that are built for it.
    assert set(RULES) - about == {
        *("answer.fault", "answer.next-call", "calls.annotations", "calls.required"),
        *("advice.write", "advice.same-call", "protocol.survives"),
    }
