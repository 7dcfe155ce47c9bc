"""Each line of the contracts' checklist with the tests that prove it, and those without one.

Exits 1 when a line that should have a test has none.
"""

from __future__ import annotations

import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent


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

    found = Collected()
    code = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", str(ROOT / "tests")], plugins=[found])
    if code not in (0, 5):
        raise SystemExit("checklist: pytest could not collect the tests; run make unit to see why")
    return found.tests


def main() -> int:
    with redirect_stdout(StringIO()):
        tests = collect()
    contracts = tomllib.loads((ROOT / "tests" / "checklist.toml").read_text(encoding="utf-8"))
    proven = later = 0
    missing: list[int] = []
    for number, contract in contracts.items():
        print(f"\n{number}  {contract['title']}")
        for key, text in contract["lines"].items():
            line = int(key)
            area = contract.get("delivered_later", {}).get(key)
            if line in tests:
                proven += 1
                print(f"  {line:>3}  {text}\n       {', '.join(tests[line])}")
            elif area:
                later += 1
                print(f"  {line:>3}  {text}\n       comes with: {area}")
            else:
                missing.append(line)
                print(f"  {line:>3}  {text}\n       NO TEST")
    print(f"\n{proven} proven, {later} come later, {len(missing)} without a test: {missing}")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
