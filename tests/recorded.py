"""The contracts' own examples and real outputs, by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"


def vectors(name: str) -> list[dict[str, Any]]:
    """The vectors of one file in `tests/data`."""
    found: list[dict[str, Any]] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def one(name: str, id: str) -> dict[str, Any]:
    """One vector by its id."""
    return next(vector for vector in vectors(name) if vector["id"] == id)


def cases(name: str, prefix: str = "") -> Any:
    """The vectors whose id begins with `prefix`, as test parameters named after them."""
    return [pytest.param(vector, id=vector["id"]) for vector in vectors(name) if vector["id"].startswith(prefix)]
