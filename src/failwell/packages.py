"""Which packages an extra of ours brings along, and what to say when one is not there or too old."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType


class MissingPackage(ImportError):
    """A package is not installed, or in a version that Failwell does not know; the message says what to install."""


def bring(module: str, package: str, extra: str) -> ModuleType:
    """Import a module of ours that uses the packages of an extra."""
    try:
        return import_module(module, package)
    except ImportError as problem:
        raise needed(package, extra, problem) from None


def needed(what: str, extra: str, problem: ImportError) -> ImportError:
    """What to raise for an import that failed: what to install, or the problem itself if everything is there."""
    return problem if isinstance(problem, MissingPackage) else missing(what, extra) or problem


def missing(what: str, extra: str) -> MissingPackage | None:
    """What to install for an extra; None if everything is there."""
    lacking = [*_lacking(extra)]
    return MissingPackage(f"{what} needs {', '.join(lacking)}: pip install 'failwell[{extra}]'") if lacking else None


def _lacking(extra: str) -> Iterator[str]:
    # Looked up only when something is wrong, so that nobody else pays for it.
    from importlib.metadata import PackageNotFoundError, requires, version

    try:
        wanted = requires("failwell") or []
    except PackageNotFoundError:
        return
    for line in wanted:
        requirement, _, marker = line.partition(";")
        if not re.search(rf"""extra == ['"]{re.escape(extra)}['"]""", marker):
            continue
        name, bounds = re.fullmatch(r"\s*([\w.-]+)(?:\[[^]]*\])?\s*(.*?)\s*", requirement).groups()  # type: ignore[union-attr]
        shown = name + ",".join(sorted(bounds.split(","), reverse=True))
        try:
            found = version(name)
        except PackageNotFoundError:
            yield f"{shown} (not installed)"
        else:
            if not all(_holds(found, bound) for bound in bounds.split(",") if bound):
                yield f"{shown} ({found} is installed)"


def _holds(found: str, bound: str) -> bool:
    below = bound.startswith("<")
    is_below = _release(found) < _release(bound)
    return is_below if below else not is_below


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
