"""The tests on every Python that Failwell promises, as far as one is found: `make pythons`.

    python tools/pythons.py [3.12 …] [--all] [PATH …]

Interpreters are looked for on the path, among those of pyenv and of uv; nothing is downloaded. Each gets an environment
in .pythons with the locked packages. By default the part of the tests is run that starts few processes, and of each
seat one file over real wires; `--all` runs all of them, which takes as long as `make test` for each.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
HOME: Final = ROOT / ".pythons"
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
ALONE: Final = (
    *("tests/model", "tests/formats", "tests/guard", "tests/recovery", "tests/observe", "tests/manifest"),
    *("tests/test_api.py", "tests/test_import.py", "tests/test_packages.py", "tests/test_elsewhere.py"),
    *("tests/server/test_decorator.py", "tests/server/test_problems.py"),
    *(
        f"tests/relay/test_protocol_{part}.py"
        for part in ("dying", "failing", "marking", "preventing", "repeating", "secrets")
    ),
)
# Processes, and scripted servers, which fork.
WIRES: Final = (
    *("tests/server/test_effects.py", "tests/client/test_bridge_langchain.py", "tests/client/test_connection.py"),
    *("tests/client/test_session.py", "tests/relay/test_wrap.py", "tests/check/test_check_command.py"),
)
PART: Final = ALONE if sys.platform == "win32" else (*ALONE, *WIRES)


def candidates(version: str) -> Iterator[str]:
    names = [f"python{version}"] + (["python3", "python"] if os.name == "nt" else [])
    yield from filter(None, map(shutil.which, names))
    roots = (Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions", Path(uv_home()))
    for root in roots:
        for found in sorted(root.glob(f"*{version}*"), reverse=True):
            yield str(found / ("python.exe" if os.name == "nt" else "bin/python3"))


def uv_home() -> str:
    done = subprocess.run([uv(), "python", "dir"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "."


def uv() -> str:
    return shutil.which("uv") or str(ROOT / ".uv/bin/uv")


def interpreter(version: str) -> str | None:
    """One that really is of this version: what is on the path may be a shim for one that is not there."""
    asks = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    for found in candidates(version):
        try:
            done = subprocess.run([found, "-c", asks], capture_output=True, text=True, check=False, timeout=60)
        except OSError:
            continue
        if done.stdout.strip() == version:
            return found
    return None


def ready(version: str, python: str) -> str:
    """The interpreter of an environment with everything in it."""
    home = HOME / version
    env = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(home), "UV_PYTHON_DOWNLOADS": "never"}
    subprocess.run(
        [uv(), "sync", "--quiet", "--frozen", "--all-extras", "--python", python], cwd=ROOT, env=env, check=True
    )
    return str(home / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("given", nargs="*", metavar="VERSION or PATH")
    parser.add_argument("--all", action="store_true", help="all the tests")
    chosen = parser.parse_args()
    versions = [each for each in chosen.given if each in VERSIONS] or VERSIONS
    paths = [each for each in chosen.given if each not in VERSIONS]
    tests = paths or (["tests"] if chosen.all else [*PART])
    told: dict[str, str] = {}
    for version in versions:
        if (python := interpreter(version)) is None:
            told[version] = "not found"
            continue
        done = subprocess.run([ready(version, python), "-m", "pytest", "-q", *tests], cwd=ROOT, check=False)
        told[version] = "passed" if done.returncode == 0 else f"failed ({done.returncode})"
    for version, how in told.items():
        print(f"Python {version}: {how}")
    return int(any(how.startswith("failed") for how in told.values()))


if __name__ == "__main__":
    sys.exit(main())
