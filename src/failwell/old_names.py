"""Names that were public once. They work for one more version, and say so."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any


def old_name(module: str, name: str, home: str, new: str | None = None) -> Any:
    """What `module.name` stood for: what is at `home` now. `new` is what users write instead, if there is something."""
    advice = f"use {new}" if new else "nothing takes its place"
    warnings.warn(f"{module}.{name} goes with the next version: {advice}.", DeprecationWarning, stacklevel=3)
    place, _, found = home.rpartition(".")
    return getattr(import_module(place), found)
