"""How long the pages are, and how long their sentences.

    python tools/prose.py            a table of every page
    python tools/prose.py --check    exit 1 where a page is over its limit
    python tools/prose.py --lower    write the present figures into tools/prose.toml, where they are lower

A page says in its first line for whom it is ("For server authors: ..."). No sentence has more than 35 words, and the
median of running text is at most 15. A page over these limits has its own in tools/prose.toml, which only fall.
Words are what `wc -w` counts. In a sentence, code counts as one word. A list item and a table cell end a sentence.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIMITS = ROOT / "tools" / "prose.toml"
LONGEST, MEDIAN = 35, 15
# Tables that tools write: their words are counted for no reader.
GENERATED = ("docs/contracts.md", "docs/field.md")
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(r"^(?:#.*|:::.*|!\[.*|\s*\|[\s:|-]+\|)$|<!--(?:.|\n)*?-->", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ", re.MULTILINE)
_ROW = re.compile(r"^\s*\|.*\|$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"``.+?``|`[^`]+`", re.DOTALL)
_END = re.compile(r"[.!?][\"”’)*]*(?=\s)|\n\s*\n")
_VOWELS = re.compile(r"[aeiouy]+")


class Prose(NamedTuple):
    words: int
    longest: int
    median: float
    ease: int  # Flesch: 60 is plain English, 30 is hard
    addressed: bool


def measure(text: str) -> Prose:
    running, cells = sentences(text)
    words = sum(map(len, running)) or 1
    syllables = sum(_syllables(word) for each in running for word in each)
    ease = 206.835 - 1.015 * words / (len(running) or 1) - 84.6 * syllables / words
    longest = max(map(len, [*running, *cells]), default=0)
    first = re.search(r"\A# .+\n\n(.+)", text)
    addressed = first is not None and first[1].startswith("For ")
    return Prose(len(text.split()), longest, median(map(len, running or [[]])), round(ease), addressed)


def sentences(text: str) -> tuple[list[list[str]], list[list[str]]]:
    """The words of each sentence, in running text and in the cells of tables, without headings and code."""
    prose = _CODE.sub("code", _LINK.sub(r"\1", _NOT_PROSE.sub("\n\n", _FENCE.sub("\n\n", text))))
    cells = "\n\n".join(cell for row in _ROW.findall(prose) for cell in row.split("|"))
    return _split(_ITEM.sub("\n\n", _ROW.sub("\n\n", prose))), _split(cells)


def _split(text: str) -> list[list[str]]:
    split = (re.findall(r"\S*\w\S*", part) for part in _END.split(text + "\n"))
    return [words for words in split if words]


def _syllables(word: str) -> int:
    return max(1, len(_VOWELS.findall(word.lower().removesuffix("e"))))


def pages() -> dict[str, Prose]:
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {file.relative_to(ROOT).as_posix(): measure(file.read_text("utf-8")) for file in files}


def limits() -> dict[str, dict[str, float]]:
    return tomllib.loads(LIMITS.read_text("utf-8"))


def problems(found: dict[str, Prose], allowed: dict[str, dict[str, float]]) -> list[str]:
    told = []
    for name, page in found.items():
        limit = allowed.get(name, {})
        for what, most in (("longest", limit.get("longest", LONGEST)), ("median", limit.get("median", MEDIAN))):
            if getattr(page, what) > most:
                told.append(f"{name}: {what} sentence {getattr(page, what):g} words, the limit is {most:g}")
        if page.words > limit.get("words", page.words):
            told.append(f"{name}: {page.words:,} words, the limit is {limit['words']:,}")
        if name.startswith("docs/") and not page.addressed and limit.get("addressed", 1):
            told.append(f'{name}: the first line does not say for whom the page is ("For server authors: ...")')
    if (total := _total(found)) > allowed["docs"]["words"]:
        told.append(f"docs: {total:,} words, the limit is {allowed['docs']['words']:,}")
    return told


def lowered(found: dict[str, Prose], allowed: dict[str, dict[str, float]]) -> str:
    """The table with what is lower by now; what keeps the general limits has no row."""
    lines = ["# Pages that are over the limits of tools/prose.py. These figures only fall: tools/prose.py --lower", ""]
    lines += ["[docs]", f"words = {min(_total(found), allowed['docs']['words'])}"]
    for name, row in allowed.items():
        if name not in found:
            continue
        kept = {
            what: min(most, _number(getattr(found[name], what))) for what, most in row.items() if what != "addressed"
        }
        general = {"longest": LONGEST, "median": MEDIAN}
        kept = {what: most for what, most in kept.items() if most > general.get(what, 0)}
        if "addressed" in row and not found[name].addressed:
            kept["addressed"] = 0
        lines += ["", f'["{name}"]', *(f"{what} = {most:g}" for what, most in kept.items())] if kept else []
    return "\n".join(lines) + "\n"


def _total(found: dict[str, Prose]) -> int:
    return sum(page.words for name, page in found.items() if name.startswith("docs/") and name not in GENERATED)


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    found = pages()
    if options.lower:
        LIMITS.write_text(lowered(found, limits()), "utf-8")
    if options.check:
        told = problems(found, limits())
        print("\n".join(told) or f"docs: {_total(found):,} words")
        return 1 if told else 0
    print("| page | words | longest sentence | median | reading ease | says for whom |\n|---|--:|--:|--:|--:|---|")
    for name, page in found.items():
        whom = "yes" if page.addressed else ""
        print(f"| {name} | {page.words:,} | {page.longest} | {page.median:g} | {page.ease} | {whom} |")
    print(f"| docs | {_total(found):,} | | | | |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
