"""Which packages an extra of ours brings along, and what to say when one is not there or too old."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Final


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
    if isinstance(problem, MissingPackage):
        return problem
    lacking, absent = missing(what, extra), (problem.name or "").partition(".")[0]
    if lacking is None and absent in _OF_THE_NEWEST:
        lacking = missing(what, extra, newest=True) or _in_part(what, extra, problem)
    elif lacking is None and absent in _OF_THE_OLDER:
        lacking = _in_part(what, extra, problem)
    return lacking or problem


def lacks(what: str, package: str, problem: ImportError) -> ImportError:
    """The same for a package that no extra of ours brings along, since it chooses its own version of the SDK."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(package)
    except PackageNotFoundError:
        return MissingPackage(f"{what} needs {package} (not installed): pip install {package}")
    return MissingPackage(f"{what} cannot use {package} {found} ({problem}): pip install --upgrade {package}")


def _in_part(what: str, extra: str, problem: ImportError) -> MissingPackage:
    """For packages whose versions will do, and that cannot be imported: two were installed over each other."""
    named = "fastmcp" if extra == "fastmcp" else "mcp"
    return MissingPackage(
        f"{what} cannot use {named}, which is installed in part ({problem}): pip install --force-reinstall {named}"
    )


# What the extras take is older than what some parts are written for.
_NEWEST: Final = {"mcp": ">=2.3", "fastmcp": ">=4.1"}
_OF_THE_NEWEST: Final = frozenset({*_NEWEST, "mcp_types", "httpx2"})
# What 1.x cannot be imported without, and 2.x does not bring along.
_OF_THE_OLDER: Final = frozenset({"httpx", "httpx_sse", "pydantic_settings"})


def missing(what: str, extra: str, *, newest: bool = False) -> MissingPackage | None:
    """What to install for an extra; None if everything is there. `newest` is for what needs the newest generation."""
    lacking = [*_lacking(extra, newest)]
    if not lacking:
        return None
    # An extra leaves alone what is installed and will do for most of us.
    more = (f"{name}{bound}" for name, bound in _NEWEST.items() if newest and lacking[0].startswith(f"{name}>"))
    wanted = " ".join(f"'{each}'" for each in (f"failwell[{extra}]", *more))
    return MissingPackage(f"{what} needs {', '.join(lacking)}: pip install {wanted}")


def unfit(what: str, extra: str, package: str) -> MissingPackage | None:
    """What to install in place of a package that is there, in a version that the extra does not take; None if it will
    do. The rest of the extra is not asked for."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(package)
    except PackageNotFoundError:
        # It was imported, so only its metadata are not there.
        return None
    found = next((each for each in _lacking(extra) if re.match(rf"{re.escape(package)}(?![\w-])", each)), None)
    return MissingPackage(f"{what} needs {found}: pip install 'failwell[{extra}]'") if found else None


def generation(what: str, extra: str, adapters: Mapping[int, str]) -> str:
    """What stands for the generation of a package that is installed; `extra` has the name of the package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(extra)
    except PackageNotFoundError:
        # Without its metadata only the import tells.
        found = str(max(adapters))
    if (problem := missing(what, extra)) is not None:
        raise problem
    chosen = adapters.get(_release(found)[0])
    if chosen is None:
        known = " or ".join(f"{each}.x" for each in sorted(adapters))
        raise MissingPackage(f"{what} takes this kind of server from {extra} {known}; {found} is installed.")
    return chosen


def _lacking(extra: str, newest: bool = False) -> Iterator[str]:
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
        asked = [bound for bound in bounds.split(",") if bound]
        if newest and name in _NEWEST:
            asked = [_NEWEST[name], *(bound for bound in asked if bound.startswith("<"))]
        shown = name + ",".join(sorted((bound for bound in asked if bound[0] != "!"), reverse=True))
        try:
            found = version(name)
        except PackageNotFoundError:
            yield f"{shown} (not installed)"
        else:
            gaps = [bound for bound in asked if bound[0] == "!"]
            if not all(_holds(found, gap) for gap in gaps):
                yield f"{shown}, and not {_run(gaps)} ({found} is installed)"
            elif not all(_holds(found, bound) for bound in asked):
                yield f"{shown} ({found} is installed)"


def _run(gaps: list[str]) -> str:
    """The versions that are left out, which follow one another: 2.0 to 2.2."""
    ends = sorted({min(gaps, key=_release), max(gaps, key=_release)}, key=_release)
    return " to ".join(end.removeprefix("!=").removesuffix(".*") for end in ends)


def _holds(found: str, bound: str) -> bool:
    if bound.startswith("!="):
        # Always of the form "!=2.1.*".
        kept = _release(bound)
        return _release(found)[: len(kept)] != kept
    below = bound.startswith("<")
    is_below = _release(found) < _release(bound)
    return is_below if below else not is_below


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
