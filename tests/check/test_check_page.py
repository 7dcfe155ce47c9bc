"""The page that `failwell check --html` writes, in a real browser at two widths."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from failwell.check import CheckOptions, CheckReport, CheckTarget, Waits, check, reports

ROUGH = Path(__file__).with_name("rough.py")
CHROMIUM = shutil.which("chromium")
# A frame of each width, opened wide, measured from outside.
_OUTSIDE = """<!doctype html><body><script>
const told = {};
for (const width of [1280, 390]) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "900px"; frame.src = "page.html";
  frame.onload = () => {
    const page = frame.contentDocument;
    page.querySelectorAll("details").forEach(each => each.open = true);
    told[width] = {
      hidden: page.documentElement.scrollWidth - page.documentElement.clientWidth, score: page.querySelector(".dial b").textContent,
      findings: page.querySelectorAll("details").length,
      ring: getComputedStyle(page.querySelector(".dial")).backgroundImage.startsWith("conic-gradient"),
      loads: frame.contentWindow.performance.getEntriesByType("resource").length,
    };
    if (Object.keys(told).length == 2) document.body.dataset.told = JSON.stringify(told);
  };
  document.body.append(frame);
}
</script></body>"""


@pytest.fixture(scope="module")
def report() -> CheckReport:
    target = CheckTarget([sys.executable, str(ROUGH), "noise"])
    return check(target, CheckOptions(waits=Waits(start=60, call=20)))


def test_the_page_needs_nothing_but_itself(report: CheckReport) -> None:
    page = reports.FORMATS["html"](report, None)
    assert re.findall(r"(?:src|href)=[\"']?[^#\"']", page) == []
    assert "<script" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_what_a_server_says_is_no_markup(report: CheckReport) -> None:
    assert html.escape("'Starting up!'") in reports.FORMATS["html"](report, None)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed; make browser does it")
def test_a_browser_shows_it_at_two_widths_and_nothing_is_cut_off(report: CheckReport, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(reports.FORMATS["html"](report, None), "utf-8")
    (tmp_path / "outside.html").write_text(_OUTSIDE, "utf-8")
    command: list[Any] = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1400,1000", "--virtual-time-budget=10000"]
    done = subprocess.run(
        [*command, "--dump-dom", f"file://{tmp_path / 'outside.html'}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'data-told="([^"]*)"', done.stdout)
    assert found is not None, done.stdout[-2_000:]
    told = json.loads(html.unescape(found[1]))
    same = {"score": str(report.score), "findings": len(report.findings), "ring": True, "loads": 0}
    assert told == {
        "1280": {**same, "hidden": 0},
        "390": {**same, "hidden": 0},
    }
