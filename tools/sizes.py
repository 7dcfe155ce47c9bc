"""The size of each package: its budget, and the same figures for the peers that are installed.

    python tools/sizes.py            tables in Markdown
    python tools/sizes.py --check    exit 1 if a package has more lines or modules than tools/budgets.toml allows
    python tools/sizes.py --lower    write the present figures into tools/budgets.toml, where they are lower
    python tools/sizes.py --docs     write the table of peers into docs/architecture.md

Budgets only fall. `design` is the size that a package is on its way to.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import tomllib
from collections import Counter
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "failwell"
BUDGETS = ROOT / "tools" / "budgets.toml"
PAGE = ROOT / "docs" / "architecture.md"
MARKS = "<!-- python tools/sizes.py --docs -->\n", "<!-- end -->\n"
PEERS = ("stamina", "structlog", "httpx", "mcp", "fastmcp")
TOP = "(top level)"


class Size(NamedTuple):
    lines: int
    modules: int


def sizes() -> dict[str, Size]:
    found: dict[str, Size] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        parts = file.relative_to(SOURCE).parts
        package = parts[0] if len(parts) > 1 else TOP
        lines, modules = found.get(package, Size(0, 0))
        found[package] = Size(lines + len(file.read_bytes().splitlines()), modules + 1)
    return found


def budgets() -> dict[str, dict[str, int]]:
    return tomllib.loads(BUDGETS.read_text("utf-8"))


def over_budget() -> list[str]:
    allowed, found = budgets(), sizes()
    problems = [f"{name} has no budget in {BUDGETS.name}" for name in found.keys() - allowed.keys()]
    for name, size in found.items():
        for what, number in size._asdict().items():
            limit = allowed.get(name, {}).get(what, number)
            if number > limit:
                problems.append(f"{name} has {number:,} {what}, and its budget is {limit:,}")
    return problems


def lower() -> None:
    allowed = budgets()
    text = [
        "# Lines and modules that each package may have; `design` is where it is going.",
        "# `tools/sizes.py --lower` lowers them to what there is.",
    ]
    for name, size in sorted(sizes().items(), key=lambda item: (item[0] == TOP, item[0])):
        old = allowed.get(name, {})
        text += ["", f'["{name}"]' if name == TOP else f"[{name}]"]
        text += [f"{what} = {min(number, old.get(what, number))}" for what, number in size._asdict().items()]
        text += [f"design = {old['design']}"] if "design" in old else []
    BUDGETS.write_text("\n".join(text) + "\n", "utf-8")


class Shape(NamedTuple):
    """How code is cut into files and functions."""

    lines: int
    files: list[int]
    functions: list[int]
    comments: int
    private: int
    called_once: int


def shape(folder: Path) -> Shape:
    files, functions, comments = [], [], 0
    defined = once = 0
    for file in folder.rglob("*.py"):
        text = file.read_text("utf-8")
        private: Counter[str] = Counter()
        uses: Counter[str] = Counter()
        files.append(len(text.splitlines()))
        comments += sum(line.lstrip().startswith("#") for line in text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append((node.end_lineno or node.lineno) - node.lineno + 1)
                if node.name.startswith("_") and not node.name.startswith("__"):
                    private[node.name] += 1
            elif isinstance(node, ast.Name):
                uses[node.id] += 1
            elif isinstance(node, ast.Attribute):
                uses[node.attr] += 1
        defined += sum(private.values())
        once += sum(number for name, number in private.items() if uses[name] <= number)
    return Shape(sum(files), files, functions, comments, defined, once)


def print_tables() -> None:
    allowed, found = budgets(), sizes()
    print("| package | lines | modules | design |\n|---|--:|--:|--:|")
    for name, size in found.items():
        print(f"| {name} | {size.lines:,} | {size.modules} | {allowed.get(name, {}).get('design', 0):,} |")
    goal = sum(package.get("design", 0) for package in allowed.values())
    total = Size(*map(sum, zip(*found.values(), strict=True)))
    print(f"| **all** | {total.lines:,} | {total.modules} | {goal:,} |\n")
    print("\n".join(peers("failwell", *PEERS)))


def peers(*names: str) -> list[str]:
    """The table of those packages that are installed."""
    heads = ("", "lines", "files", "file median / p90", "function median / p90", "comments in 100 lines")
    rows = [f"| {' | '.join((*heads, 'private, called once'))} |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name in names:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            continue
        it = shape(Path(spec.submodule_search_locations[0]))
        cells: list[Any] = [f"{it.lines:,}", len(it.files), spread(it.files), spread(it.functions)]
        cells += [f"{100 * it.comments / it.lines:.1f}", f"{100 * it.called_once / max(it.private, 1):.0f} %"]
        rows.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return rows


def write_page() -> None:
    before, _, rest = PAGE.read_text("utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    table = "".join(f"{row}\n" for row in peers("failwell", "httpx", "stamina"))
    PAGE.write_text(f"{before}{MARKS[0]}{table}{MARKS[1]}{after}", "utf-8")


def spread(values: list[int]) -> str:
    return f"{median(values):.0f} / {quantiles(values, n=10)[-1]:.0f}"


def main() -> int:
    if "--lower" in sys.argv:
        lower()
    elif "--docs" in sys.argv:
        write_page()
    elif "--check" in sys.argv:
        problems = over_budget()
        print("\n".join(problems), end="\n" if problems else "")
        return bool(problems)
    else:
        print_tables()
    return 0


if __name__ == "__main__":
    sys.exit(main())
