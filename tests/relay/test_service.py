"""The service of systemd that the page shows, read by systemd itself, where it is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "wrap.md"


def unit() -> str:
    [found] = re.findall(r"```ini\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return str(found)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not there")
def test_systemd_finds_nothing_wrong_with_the_service(tmp_path: Path) -> None:
    file = tmp_path / "failwell.service"
    # It asks whether the program is there, which is in another place here.
    program = Path(sys.executable).with_name("failwell")
    file.write_text(unit().replace("/usr/local/bin/failwell", str(program)), "utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    file.write_text(unit().replace("Restart=on-failure", "Restart=whenever"), "utf-8")
    broken = subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False)
    assert "whenever" in broken.stderr
