"""What every test shares: the contracts' own examples and real outputs, and how hard the laws are tried."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

DATA = Path(__file__).parent / "data"

settings.register_profile(
    "failwell",
    max_examples=int(os.environ.get("FAILWELL_EXAMPLES", "200")),
    deadline=None,
    derandomize="FAILWELL_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("failwell")


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
