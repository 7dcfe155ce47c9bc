"""What the SDK itself fails in, and what stands around a tool; `make matrix` asks the same of each generation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_what_is_said_is_what_was_done() -> None:
    command = [sys.executable, str(Path(__file__).with_name("around.py"))]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(told.stdout) == []
