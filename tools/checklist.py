"""Writes docs/contracts.md: each line of the contracts' checklist with the tests that prove it.

Exits 1 when a line has no test; with `--check` writes nothing, and exits 1 also when the page differs.
"""

from __future__ import annotations

import argparse
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "contracts.md"
HEAD = """\
# The contracts, line by line

Five public contracts describe how tools fail. This page lists what they ask for, in our own words, with the tests that
prove it here. `make checklist` writes it.
"""


class Collected:
    """Asks pytest which tests carry the marker, without running them."""

    def __init__(self) -> None:
        self.tests: dict[int, list[str]] = {}

    def pytest_collection_modifyitems(self, items: list[object]) -> None:
        for item in items:
            name = item.nodeid.partition("[")[0]  # type: ignore[attr-defined]
            for mark in item.iter_markers("checklist"):  # type: ignore[attr-defined]
                for line in mark.args:
                    known = self.tests.setdefault(line, [])
                    if name not in known:
                        known.append(name)


def collect() -> dict[int, list[str]]:
    """The tests by checklist line."""
    import pytest

    # The others are hundreds of files and seconds of imports.
    files = sorted(file for file in (ROOT / "tests").rglob("test_*.py") if "mark.checklist(" in file.read_text("utf-8"))
    found = Collected()
    code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", *map(str, files)], plugins=[found])
    if code not in (0, 5):
        raise SystemExit("checklist: pytest could not collect the tests; run make unit to see why")
    return found.tests


def page(contracts: dict[str, dict[str, dict[str, str]]], tests: dict[int, list[str]]) -> tuple[str, list[int]]:
    """The page, and the lines without a test."""
    parts, missing = [HEAD], []
    for number, contract in contracts.items():
        title = contract["title"]
        heading = title if number == "all" else f"Contract {number}: {title}"
        parts.append(f"\n## {heading}\n\n| line | what holds | proven by |\n|---|---|---|\n")
        for key, text in contract["lines"].items():
            proofs = tests.get(int(key), [])
            later = contract.get("delivered_later", {}).get(key)
            if not proofs and later is None:
                missing.append(int(key))
            told = ", ".join(f"`{_short(test)}`" for test in proofs) or (f"comes with: {later}" if later else "NO TEST")
            parts.append(f"| {key} | {text.replace('|', chr(92) + '|')} | {told} |\n")
    return "".join(parts), missing


def _short(test: str) -> str:
    file, _, name = test.partition("::")
    return f"{file.removeprefix('tests/')}::{name}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page differs")
    options = parser.parse_args()
    with redirect_stdout(StringIO()):
        tests = collect()
    contracts = tomllib.loads((ROOT / "tests" / "checklist.toml").read_text(encoding="utf-8"))
    text, missing = page(contracts, tests)
    lines = sum(len(contract["lines"]) for contract in contracts.values())
    print(f"{lines} lines, {len(missing)} without a test{': ' if missing else ''}{', '.join(map(str, missing))}")
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE.relative_to(ROOT)} is out of date; run: make checklist")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
