"""`make soak` for three seconds: that it passes, and that it would notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parent.parent.parent / "tools" / "soak.py"


def soak(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(SOAK), "--seconds", "3", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)


@pytest.mark.checklist(52)
@pytest.mark.parametrize(
    ("server", "transport"),
    [
        ("mcpserver", "stdio"),
        pytest.param("fastmcp", "http", marks=pytest.mark.thorough),
        pytest.param("mcpserver", "http", marks=pytest.mark.thorough),
        pytest.param("fastmcp", "stdio", marks=pytest.mark.thorough),
    ],
)
def test_a_hundred_at_a_time(server: str, transport: str) -> None:
    done = soak("--server", server, "--transport", transport)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "FAILED" not in done.stdout


@pytest.mark.thorough
def test_a_leak_is_noticed() -> None:
    done = soak("--server", "mcpserver", "--transport", "stdio", "--leak", "200000")
    assert done.returncode == 1
    assert "FAILED mcpserver stdio: grew by" in done.stdout
