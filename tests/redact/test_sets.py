"""What is kept back of secrets that others planted, and how many ordinary texts are touched, set by set."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import secrets_kept
from failwell.redact import DEFAULT

HERE = Path(__file__).parent
SETS = sorted({path.name.rpartition("_")[0] for path in HERE.glob("*_secrets.jsonl")})
# What is measured without being learnt from: nobody looks at which of them come out.
UNSEEN = {
    "secrets": "9b9a3c7dc5122c53d5c37b839cf86b39133b5f151eed0645b42549bd90df7f74",
    "ordinary": "33e851f55e601e597646dbfb142ab93566766426cdd1899b03fbd4e82384d8fe",
}


@pytest.mark.parametrize("name", UNSEEN)
def test_the_unseen_set_is_as_it_was_written(name: str) -> None:
    assert hashlib.sha256((HERE / f"incidents_{name}.jsonl").read_bytes()).hexdigest() == UNSEEN[name]


# At least this share of the secrets stays in, and at most 1.5 % of the ordinary texts are touched.
KEPT = {
    "held_out": 0.97,
    "incidents": 0.98,
    "later": 0.90,
    "learnt": 0.93,
    "printed": 0.89,
    "reports": 0.85,
    "tools": 0.94,
}


@pytest.mark.parametrize("set_of", SETS)
def test_enough_is_kept_back_of_each_set(set_of: str) -> None:
    # Compared as numbers, so that a failure shows none of the texts.
    secrets, ordinary = len(secrets_kept.rows(set_of, "secrets")), len(secrets_kept.rows(set_of, "ordinary"))
    kept = 1 - len(secrets_kept.missed(set_of)) / secrets
    touched = len(secrets_kept.touched(set_of)) / ordinary
    assert (kept >= KEPT[set_of], touched <= 0.015) == (True, True), (kept, touched)


@pytest.mark.parametrize("set_of", SETS)
def test_a_text_is_the_same_the_second_time(set_of: str) -> None:
    changed = 0
    for row in secrets_kept.rows(set_of, "secrets"):
        once = DEFAULT.text(row["text"])
        changed += DEFAULT.text(once) != once
    assert changed == 0
