"""The transcript in the README is what `failwell check` really prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_transcript_is_true(tmp_path: Path) -> None:
    page = README.read_text("utf-8")
    section = page[page.index("## If you review servers") :]
    found = re.search(r"```sh\n(.*?)```\s*```text\n(.*?)```", section, re.DOTALL)
    assert found is not None
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path}
    running = [
        subprocess.Popen(line.split(), cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in found[1].splitlines()
    ]
    said = [each.communicate() for each in running]
    assert "\n".join(out.splitlines()[0] for out, _ in said) == found[2].rstrip("\n")
    assert [each.returncode for each in running] == [0, 0]
