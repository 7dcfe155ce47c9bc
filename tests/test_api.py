"""The page of the API and the modules name the same: what is public is documented, and nothing else is."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
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


OLD = {
    "failwell": "Conflicting Effect FORMATS FieldError Kind Next Option Patch Severity Strategy Template Traits UNSET "
    "apply_patch from_error",
    "failwell.classify": "Row classify code_for from_error from_text is_order partial_failure retry_after wrap",
    "failwell.server": "Target untouched",
    "failwell.client": "Attempt IDEMPOTENCY_KEY Report read",
    "failwell.observe": "Period Reading Stats ToolStats emit log_failure",
    "failwell.manifest": "load markdown problems",
    "failwell.check": "CheckOptions CheckReport CheckTarget Waits",
    "failwell.testing": "Effect",
}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in OLD for name in OLD[module].split()])
def test_a_name_that_was_public_works_for_one_more_version_and_says_so(module: str, name: str) -> None:
    assert name not in import_module(module).__all__
    with pytest.warns(DeprecationWarning, match=rf"{re.escape(module)}\.{name} goes with the next version: ") as told:
        assert getattr(import_module(module), name) is not None
    # At the place that has to change.
    assert told[0].filename == __file__


# In a fresh process: what was imported before is not asked for again.
_STRICTLY = "import warnings; warnings.filterwarnings('error', 'failwell', DeprecationWarning); "


def test_the_rooms_are_not_told_of_what_they_use_of_each_other() -> None:
    rooms = ("server.boundary", "client.recovering", "dashboard.views", "relay.web.metrics", "check", "cli.check")
    imports = "; ".join(f"import failwell.{room}" for room in rooms)
    subprocess.run([sys.executable, "-c", _STRICTLY + imports], check=True)


def test_others_are_told_of_what_only_the_rooms_may_use() -> None:
    code = _STRICTLY + "from failwell.observe import log_failure"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "failwell.observe.log_failure goes with the next version: use failwell.observe.logged." in asked.stderr


def test_the_package_that_became_guards_says_so_in_one_line_and_the_function_stays() -> None:
    import failwell

    with pytest.raises(ImportError, match=r"^failwell\.guard is a function; the package is failwell\.guards[^\n]*$"):
        import_module("failwell.guard")
    assert failwell.guard(failwell.NotFound("No.")).message == "No."


def test_no_package_has_the_name_of_a_public_function() -> None:
    import failwell

    rooms = {path.parent.name for path in Path(failwell.__file__).parent.glob("*/__init__.py")}
    assert rooms.isdisjoint(failwell.__all__)
