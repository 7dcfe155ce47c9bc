"""What differs between the value that was expected and the one that came, in lines that can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import ndiff
from typing import Any

from failwell.model import Json

_LONGEST = 160
_ABSENT = object()


def differences(expected: Json, got: Json) -> list[str]:
    """One line for each place where `got` is not `expected`; none when they are the same JSON value."""
    return list(_walk(expected, got, ""))


def _walk(expected: Any, got: Any, path: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(got, dict):
        for name in [*expected, *(name for name in got if name not in expected)]:
            inner = f"{path}.{name}" if path else name
            yield from _walk(expected.get(name, _ABSENT), got.get(name, _ABSENT), inner)
    elif isinstance(expected, list) and isinstance(got, list):
        for index in range(max(len(expected), len(got))):
            wanted, came = (items[index] if index < len(items) else _ABSENT for items in (expected, got))
            yield from _walk(wanted, came, f"{path}[{index}]")
    elif not _same(expected, got):
        where = f"{path}: " if path else ""
        if isinstance(expected, str) and isinstance(got, str) and "\n" in expected + got:
            yield f"{where}the texts differ (- expected, + got)"
            compared = ndiff(expected.split("\n"), got.split("\n"))
            yield from (f"  {_short(line)}" for line in compared if not line.startswith(("  ", "? ")))
        else:
            yield f"{where}expected {_shown(expected)}, got {_shown(got)}"


def _same(expected: Any, got: Any) -> bool:
    # Python says that True equals 1; JSON does not. It does say that 1 and 1.0 are the same number.
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    return bool(expected == got)


def _shown(value: Any) -> str:
    return "nothing" if value is _ABSENT else _short(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
