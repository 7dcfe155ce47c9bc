"""Each class that a row names is one that its package has, under that very name."""

from __future__ import annotations

import importlib
import warnings

import pytest

from failwell.readers.exceptions import web
from failwell.readers.exceptions.exception_table import SHIPPED

SHIPPED.packages()  # loads the rows
KNOWN = {name for known in (SHIPPED._rows, web._WHAT, web._WHEN) for name in known if isinstance(name, str)}
# The server's own rows, which it adds where it was imported, name two generations of each framework.
NAMES = sorted(name for name in KNOWN if not name.startswith(("mcp.", "fastmcp.")))


@pytest.mark.parametrize("name", NAMES)
def test_the_class_exists_and_calls_itself_so(name: str) -> None:
    module, _, qualname = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = getattr(importlib.import_module(module), qualname)
    assert issubclass(found, BaseException)
    assert f"{found.__module__}.{found.__qualname__}" == name
