"""The page of the API and the modules name the same: what is public is documented, and nothing else is."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text("utf-8")
NAMES = re.findall(r"^::: ([\w.]+)$", PAGE, re.MULTILINE)
MODULES = re.findall(r"^##+ (failwell[\w.]*)$", PAGE, re.MULTILINE)
# Modules with a page of their own, and a text.
ELSEWHERE = {"failwell.classify", "failwell.catalogs", "failwell.__version__"}


@pytest.mark.parametrize("module", MODULES)
def test_the_page_has_every_public_name_and_no_other(module: str) -> None:
    public = {f"{module}.{name}" for name in import_module(module).__all__} - ELSEWHERE
    assert {name for name in NAMES if name.rpartition(".")[0] == module} == public


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is(name: str) -> None:
    module, _, last = name.rpartition(".")
    found = getattr(import_module(module), last)
    if inspect.isclass(found) or inspect.isroutine(found):
        assert (found.__doc__ or "").strip()


def test_no_package_has_the_name_of_a_public_function() -> None:
    import failwell

    rooms = {path.parent.name for path in Path(failwell.__file__).parent.glob("*/__init__.py")}
    assert rooms.isdisjoint(failwell.__all__)
