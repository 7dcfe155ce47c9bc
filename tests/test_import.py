"""`import failwell` must cost nothing that the user did not ask for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import failwell as fw


def test_import_loads_only_the_standard_library() -> None:
    program = "import sys; before = set(sys.modules); import failwell; print(*(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    roots = {name.partition(".")[0] for name in out.split()}
    assert roots - set(sys.stdlib_module_names) == {"failwell"}
    # A relay starts its server before it loads anything.
    assert [name for name in out.split() if name.startswith("failwell")] == ["failwell"]


def test_a_name_of_another_package_says_where_it_is() -> None:
    with pytest.raises(AttributeError, match=r"install is in failwell\.server; import failwell\.server$"):
        fw.install  # noqa: B018
