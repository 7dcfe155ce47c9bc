"""Each class that a row names is one that its package has, under that very name."""

from __future__ import annotations

import importlib
import warnings

import pytest

from failwell.readers.exceptions import web
from failwell.readers.exceptions.exception_table import SHIPPED, ByName

# Whole rooms of names that are looked up but are no rows.
SHIPPED.rows(Exception)  # loads them
LOOKED_UP: list[ByName[object]] = [web._WHAT, web._WHEN]
NAMES = sorted(
    {name for name in SHIPPED._rows if isinstance(name, str)} | {name for known in LOOKED_UP for name in known._known}
)


@pytest.mark.parametrize("name", NAMES)
def test_the_class_exists_and_calls_itself_so(name: str) -> None:
    module, _, qualname = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = getattr(importlib.import_module(module), qualname)
    assert issubclass(found, BaseException)
    assert f"{found.__module__}.{found.__qualname__}" == name
