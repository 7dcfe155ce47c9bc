"""The figures about the pages: what counts as a sentence, and limits that only fall."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import prose

PAGE = """\
# For whom

For server authors: one line. It has `a b c` and [a link](there.md).

- an item without a stop
- another

```sh
this is no prose at all
```

| head | other |
|---|---|
| one cell of a table. With two sentences | `x` |
"""


def test_sentences_are_those_that_a_reader_reads() -> None:
    running, cells = prose.sentences(PAGE)
    assert [len(each) for each in running] == [5, 6, 5, 1]
    assert [len(each) for each in cells] == [1, 1, 5, 3, 1]


def test_a_page_is_measured() -> None:
    found = prose.measure(PAGE)
    assert (found.words, found.longest, found.median, found.addressed) == (len(PAGE.split()), 6, 5, True)
    assert not prose.measure("# Title\n\nText for nobody.\n").addressed


def test_a_page_over_its_limit_is_named() -> None:
    long = prose.measure("# Title\n\n" + "word " * 40 + ".\n")
    told = prose.problems({"docs/a.md": long}, {"docs": {"words": 10}})
    assert [line.partition(":")[0] for line in told] == ["docs/a.md", "docs/a.md", "docs/a.md", "docs"]
    assert prose.problems({"docs/a.md": prose.measure(PAGE)}, {"docs": {"words": 100}}) == []


def test_limits_only_fall() -> None:
    page = {"docs/a.md": prose.measure("# Title\n\n" + "word " * 40 + ".\n")}
    over = {"docs": {"words": 50}, "docs/a.md": {"longest": 60, "median": 39, "addressed": 0}, "docs/gone.md": {}}
    text = prose.lowered(page, over)
    assert prose.tomllib.loads(text) == {
        "docs": {"words": 43},
        "docs/a.md": {"longest": 40, "median": 39, "addressed": 0},
    }
