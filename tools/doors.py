"""Whether every import from one room to another goes through the room's door, its `__init__`, and whether the name of a
class, or of a module, stands for one thing.

    python tools/doors.py

What is not at the door is private: it can be changed without looking at the rest of the house. The layers themselves
are import-linter's job.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def main() -> int:
    found = (*past_the_doors(), *named_twice(), *modules_named_twice(), *hidden())
    passed = [f"{file.relative_to(SOURCE)}:{line}: {what}" for file, line, what in found]
    print("\n".join(passed) or f"{len(rooms())} rooms, every import between them through the door")
    return bool(passed)


@cache
def rooms() -> frozenset[str]:
    # The examples are programs of their own.
    return frozenset(file.parent.name for file in SOURCE.glob("failwell/*/__init__.py")) - {"examples"}


@cache
def offered(room: str) -> frozenset[str]:
    """What stands at a room's door: for everybody in `__all__`, for the other rooms alone in `_HOUSE`."""
    tree = ast.parse((SOURCE / "failwell" / room / "__init__.py").read_text("utf-8"))
    named: set[str] = set()
    for node in tree.body:
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign)
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        if isinstance(target, ast.Name) and target.id in ("__all__", "_HOUSE"):
            named |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return frozenset(map(str, named))


def hidden() -> Iterator[tuple[Path, int, str]]:
    """What stands at a door and has the name of a module behind it: who imports that gets the module from then on."""
    for room in sorted(rooms()):
        for name in sorted(offered(room)):
            file = SOURCE / "failwell" / room / f"{name}.py"
            if file.exists() and any(is_defined(node, name) for node in ast.parse(file.read_text("utf-8")).body):
                yield file, 0, f"{name} is offered by {room}, and is the name of a module of it"


def is_defined(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name


def past_the_doors() -> Iterator[tuple[Path, int, str]]:
    for file in sorted(SOURCE.rglob("*.py")):
        own = room_of(module_of(file))
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            for module, name in imported(node, file):
                room = room_of(module)
                if room in ("", own) or (module == f"failwell.{room}" and (name is None or name in offered(room))):
                    continue
                yield file, getattr(node, "lineno", 0), f"{module} {name or ''} is no part of the door of {room}"


def named_twice() -> Iterator[tuple[Path, int, str]]:
    """Classes with the name of one before. What is private to a module is searched for nowhere else, and each example
    is a program of its own."""
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


def modules_named_twice() -> Iterator[tuple[Path, int, str]]:
    """Modules with the name of one before. A command has its own name, and a framework's files have that of the
    framework in each of the places that have one for each."""
    seen: dict[str, Path] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        if file.name.startswith("__") or {"examples", "cli", "groups"} & {*file.parts}:
            continue
        if file.name in seen:
            yield file, 0, f"a module {file.stem} is in {seen[file.name].parent.relative_to(SOURCE)} already"
        seen[file.name] = file


def imported(node: ast.AST, file: Path) -> Iterator[tuple[str, str | None]]:
    """The modules that an import names, by their full names, and what it takes of each."""
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


def room_of(module: str) -> str:
    """The room of a module; none for what stands beside them, and for everybody else's."""
    parts = module.split(".")
    return parts[1] if parts[0] == "failwell" and len(parts) > 1 and parts[1] in rooms() else ""


if __name__ == "__main__":
    sys.exit(main())
