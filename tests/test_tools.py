"""The programs in tools/ that no other test runs: each can at least be started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Each as if it were the only one: what one of them puts on the path must not help the next.
LOADING = """
import runpy, sys
from pathlib import Path
path = [*sys.path]
for tool in sorted(Path("tools").glob("*.py")):
    sys.path[:] = [str(tool.parent), *path]
    try:
        runpy.run_path(str(tool), run_name="loaded")
    except BaseException as problem:
        # The fuzzer installs itself where it is wanted.
        if getattr(problem, "name", "") != "atheris":
            print(f"{tool.name}: {type(problem).__name__}: {problem}")
    for name, module in [*sys.modules.items()]:
        file = Path(getattr(module, "__file__", None) or "").resolve()
        if any(file.is_relative_to(Path(each).resolve()) for each in ("tests", "tools")):
            del sys.modules[name]
"""


def test_every_tool_can_be_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADING], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""
