"""Processes that are started by one that has imported everything: they end, and are ended, as any other."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

import commands


def ended(*arguments: object, told: str = "") -> tuple[int, str, str]:
    done = subprocess.run(commands.python(*arguments), input=told, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_program_has_its_arguments_its_streams_and_its_folder(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(__name__, sys.argv[1:], sys.path[0], sys.stdin.read())\nsys.exit(3)")
    assert ended(program, "a", 7, told="hello") == (3, f"__main__ ['a', '7'] {tmp_path} hello\n", "")


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("print('done')", (0, "done\n", "")),
        ("raise SystemExit('no licence')", (1, "", "no licence\n")),
        ("import os; os._exit(5)", (5, "", "")),
        ("import os; os.kill(os.getpid(), 9)", (-9, "", "")),
    ],
)
def test_it_ends_as_it_would(code: str, outcome: tuple[int, str, str]) -> None:
    assert ended("-c", code) == outcome


def test_an_exception_is_told() -> None:
    code, _, errors = ended("-c", "raise ValueError('x')")
    assert (code, errors.splitlines()[-1]) == (1, "ValueError: x")


def test_a_signal_reaches_it() -> None:
    code = "import signal, sys; signal.signal(15, lambda *_: sys.exit(7)); print('ready', flush=True); signal.pause()"
    with subprocess.Popen(commands.python("-c", code), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.wait() == 7


def test_whoever_is_killed_takes_it_along_with_what_it_started() -> None:
    stopped = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    code = f"import os\nif os.fork() == 0:\n    {stopped}\nprint('ready', flush=True)\n{stopped}"
    with subprocess.Popen(commands.python("-c", code), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, signal.SIGKILL)
        # Both hold it, so that it ends with the last of them.
        assert process.stdout.read() == b""
