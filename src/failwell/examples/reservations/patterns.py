"""File patterns such as `src/**/*.py`: whether one is well-formed, and whether two can name the same file."""

from __future__ import annotations

from functools import cache

import failwell as fw

LONGEST = 200


def checked(pattern: str) -> str:
    """The pattern, if it can name files in the workspace."""
    parts = pattern.split("/")
    if not pattern or len(pattern) > LONGEST or any(part in ("", ".", "..") for part in parts) or "\\" in pattern:
        raise fw.Invalid(
            f"{pattern!r} is not a pattern of files in the workspace.",
            fields=[
                {
                    "path": "pattern",
                    "message": "Invalid pattern",
                    "sent": pattern,
                    "expected": "a relative path such as 'src/app.py' or 'src/**/*.py'",
                }
            ],
        )
    return pattern


def overlap(one: str, other: str) -> bool:
    """Whether a file can have a name that fits both.

    >>> overlap("src/*.py", "src/app.*"), overlap("src/**", "src/db/x.sql"), overlap("src/*", "docs/*")
    (True, True, False)
    """
    return _paths(tuple(one.split("/")), tuple(other.split("/")))


@cache
def _paths(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    if not one or not other:
        return all(part == "**" for part in one + other)
    if one[0] == "**":
        return _paths(one[1:], other) or _paths(one, other[1:])
    if other[0] == "**":
        return _paths(other, one)
    return _names(one[0], other[0]) and _paths(one[1:], other[1:])


@cache
def _names(one: str, other: str) -> bool:
    """The same within one part of a path, where `*` stands for any characters and `?` for one."""
    if not one or not other:
        return set(one + other) <= {"*"}
    if one[0] == "*":
        return _names(one[1:], other) or _names(one, other[1:])
    if other[0] == "*":
        return _names(other, one)
    return (one[0] == other[0] or "?" in (one[0], other[0])) and _names(one[1:], other[1:])
