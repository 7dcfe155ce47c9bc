"""Checks that a package imports only what the `__init__` of another one exports, and that names are unique.

    python tools/check_exports.py

What a package does not export is private to it. The order of the layers is checked by import-linter.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def main() -> int:
    found = (*private_imports(), *duplicate_classes(), *duplicate_modules(), *hidden_modules())
    problems = [f"{file.relative_to(SOURCE)}:{line}: {what}" for file, line, what in found]
    print("\n".join(problems) or f"{len(packages())} packages, every import between them by an exported name")
    return bool(problems)


@cache
def packages() -> frozenset[str]:
    # The examples are programs of their own.
    return frozenset(file.parent.name for file in SOURCE.glob("failwell/*/__init__.py")) - {"examples"}


@cache
def exports(package: str) -> frozenset[str]:
    """The exported names: `__all__` for everybody, `_INTERNAL` for the other packages of Failwell."""
    tree = ast.parse((SOURCE / "failwell" / package / "__init__.py").read_text("utf-8"))
    named: set[str] = set()
    for node in tree.body:
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign)
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        if isinstance(target, ast.Name) and target.id in ("__all__", "_INTERNAL"):
            named |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return frozenset(map(str, named))


def hidden_modules() -> Iterator[tuple[Path, int, str]]:
    """Exports with the name of a module of the same package: importing the module replaces the export."""
    for package in sorted(packages()):
        for name in sorted(exports(package)):
            file = SOURCE / "failwell" / package / f"{name}.py"
            if file.exists() and any(is_defined(node, name) for node in ast.parse(file.read_text("utf-8")).body):
                yield file, 0, f"{package} exports {name}, and has a module of that name"


def is_defined(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name


def private_imports() -> Iterator[tuple[Path, int, str]]:
    for file in sorted(SOURCE.rglob("*.py")):
        own = package_of(module_of(file))
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            for module, name in imported(node, file):
                package = package_of(module)
                if package in ("", own):
                    continue
                if module != f"failwell.{package}" or (name is not None and name not in exports(package)):
                    yield file, getattr(node, "lineno", 0), f"{module} {name or ''} is not exported by {package}"


def duplicate_classes() -> Iterator[tuple[Path, int, str]]:
    """Public classes of the same name. Each example is a program of its own."""
    seen: dict[str, Path] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        if "examples" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            if node.name in seen:
                yield file, node.lineno, f"class {node.name} is in {seen[node.name].relative_to(SOURCE)} already"
            seen[node.name] = file


def duplicate_modules() -> Iterator[tuple[Path, int, str]]:
    """Modules of the same name. Commands are named after what they run, and groups after their contract."""
    seen: dict[str, Path] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        if file.name.startswith("__") or {"examples", "cli", "groups"} & {*file.parts}:
            continue
        if file.name in seen:
            yield file, 0, f"a module {file.stem} is in {seen[file.name].parent.relative_to(SOURCE)} already"
        seen[file.name] = file


def imported(node: ast.AST, file: Path) -> Iterator[tuple[str, str | None]]:
    """The modules that an import names, by their full names, and the name imported from each."""
    if isinstance(node, ast.Import):
        yield from ((each.name, None) for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = module_of(file).split(".") if node.level else []
        if node.level:
            # A package is its own base, a module its package's.
            base = base[: len(base) - node.level + (file.name == "__init__.py")]
        module = ".".join([*base, *([node.module] if node.module else [])])
        yield from ((module, each.name) for each in node.names)


def module_of(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str:
    """The package of a module of Failwell; empty for top-level modules and for other distributions."""
    parts = module.split(".")
    return parts[1] if parts[0] == "failwell" and len(parts) > 1 and parts[1] in packages() else ""


if __name__ == "__main__":
    sys.exit(main())
