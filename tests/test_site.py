"""The documentation as a reader sees it: in a real browser, on a screen that is 1280 pixels wide."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
CHROMIUM = shutil.which("chromium")
# The pages with the widest tables and the longest names, and the one that everybody sees.
PAGES = ["index.html", *(f"{name}/index.html" for name in ("codes", "contracts", "cli", "formats", "guard", "check"))]
# Each page in a frame: what is wider than the screen, what a table hides, heads that say nothing, codes on two lines.
_OUTSIDE = """<!doctype html><body><script>
const told = {}, pages = PAGES;
const words = found => [...found].map(each => each.textContent.trim().slice(0, 80));
function next() {
  if (!pages.length) { document.body.dataset.told = JSON.stringify(told); return; }
  const name = pages.shift(), frame = document.createElement("iframe");
  frame.style.width = "1280px"; frame.style.height = "900px"; frame.src = "site/" + name;
  frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    const inside = [...page.querySelectorAll(".md-content table")];
    told[name] = {
      title: page.querySelector("h1") !== null,
      hidden: root.scrollWidth - root.clientWidth,
      clipped: words(inside.filter(each => each.scrollWidth > each.clientWidth + 1)),
      heads: inside.filter(each => {
        const heads = [...each.querySelectorAll("thead th")];
        return heads.length && heads.every(head => !head.textContent.trim());
      }).length,
      broken: words([...page.querySelectorAll(".md-content table code")].filter(
        each => /^[A-Z][A-Z_]+$/.test(each.textContent) && each.getClientRects().length > 1)),
    };
    frame.remove(); next();
  };
  document.body.append(frame);
}
next();
</script></body>"""


pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None or not os.environ.get("FAILWELL_BROWSER"), reason="the whole site is built: make browser"
    ),
]
FINE = {"title": True, "hidden": 0, "clipped": [], "heads": 0, "broken": []}


def seen(site: Path, pages: list[str]) -> dict[str, Any]:
    """What a browser shows of each page, without the scripts, which wait for a server."""
    for page in pages:
        file = site / page
        file.write_text(re.sub(r"<script.*?</script>", "", file.read_text("utf-8"), flags=re.DOTALL), "utf-8")
    outside = site.parent / "outside.html"
    outside.write_text(_OUTSIDE.replace("PAGES", json.dumps(pages)), "utf-8")
    command: list[Any] = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += [f"--user-data-dir={site.parent / 'profile'}", "--window-size=1400,1000", "--virtual-time-budget=10000"]
    done = subprocess.run(
        [*command, "--dump-dom", f"file://{outside}"], capture_output=True, text=True, timeout=300, check=True
    )
    found = re.search(r'data-told="([^"]*)"', done.stdout)
    assert found is not None, done.stdout[-2_000:]
    told: dict[str, Any] = json.loads(html.unescape(found[1]))
    return told


def test_nothing_on_the_site_is_clipped_or_broken(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)]
    subprocess.run(build, cwd=ROOT, check=True, timeout=900)
    assert seen(site, PAGES) == dict.fromkeys(PAGES, FINE)


def test_what_is_clipped_or_broken_is_seen(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    code = "<code>VALIDATION_ERROR</code>"
    (site / "index.html").write_text(
        "<!doctype html><h1>x</h1><p style='width:2000px'>wide</p><div class=md-content>"
        f"<table style='display:block;width:90px;overflow:auto'><thead><tr><th></th></tr></thead><tr><td>{'w' * 99}</td></tr>"
        f"</table><table style='width:50px'><tr><td style='word-break:break-all;width:50px'>{code}</td></tr></table></div>"
    )
    told = seen(site, ["index.html"])["index.html"]
    assert told["hidden"] > 0
    assert (told["clipped"], told["heads"], told["broken"]) == (["w" * 80], 1, ["VALIDATION_ERROR"])
