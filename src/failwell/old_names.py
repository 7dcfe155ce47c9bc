"""Names that were public once. They work for one more version, and say so."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any


def old_name(module: str, name: str, home: str, new: str | None = None) -> Any:
    """What `module.name` stood for: what is at `home` now. `new` is what users write instead, if there is something."""
    _warn(module, name, new)
    return _found(home)


def house_name(module: str, name: str, home: str, new: str | None = None) -> Any:
    """The same for what the other rooms still use: they are not told, since it is not them who have to change."""
    if not _asker().startswith("failwell."):
        _warn(module, name, new)
    return _found(home)


def _warn(module: str, name: str, new: str | None) -> None:
    advice = f"use {new}" if new else "nothing takes its place"
    warnings.warn(f"{module}.{name} goes with the next version: {advice}.", DeprecationWarning, stacklevel=4)


def _asker() -> str:
    """The module that asks for a name of another one, which has its `__getattr__` ask here."""
    frame = sys._getframe(3)
    # `from package import name` looks whether it is there before it takes it.
    while frame.f_globals["__name__"].startswith("importlib.") and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


def _found(home: str) -> Any:
    place, _, name = home.rpartition(".")
    return getattr(import_module(place), name)
