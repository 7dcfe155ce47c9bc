"""The dashboard in a real browser: every view, at two widths, dark and light, while calls come in."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from served_page import hostile

import failwell as fw
from failwell.dashboard import application
from failwell.dashboard.pages import NAVIGATION
from failwell.observe import CallEvent, Store, store

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from store_world import Truth, events

CHROMIUM = shutil.which("chromium")
FAILURE = "/failure?tool=pay&kind=internal&code=OUTCOME_UNKNOWN"
VIEWS = (*(f"/{name}" for name in NAVIGATION), FAILURE, "/tools?q=pay&since=24h", "/calls?since=1h&outcome=failed")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None or not os.environ.get("FAILWELL_BROWSER"), reason="fifteen starts of chromium: make browser"
    ),
]
ARRIVED = "arrived_while_one_looked"
# Measured in the page itself, since nothing may frame it.
MEASURE = """
addEventListener("load", async () => {
  const wait = async (holds) => { for (let i = 0; i < 200 && !holds(); i++) await new Promise(r => setTimeout(r, 50)); };
  const first = document.querySelector("main").textContent;
  const told = {
    hidden: document.documentElement.scrollWidth - document.documentElement.clientWidth, title: document.querySelector("h1").textContent,
    panels: document.querySelectorAll(".panel, .card").length > 0, broken: document.body.dataset.broken ?? null,
    columns: getComputedStyle(document.querySelector(".cards") ?? document.body).gridTemplateColumns.split(" ").length,
    dark: getComputedStyle(document.body).backgroundColor === "rgb(18, 21, 24)",
    foreign: performance.getEntriesByType("resource").filter(each => !each.name.startsWith(location.origin)).length,
  };
  const press = key => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("j");
  told.row = document.querySelectorAll("tr.now").length;
  press("t");
  told.turned = getComputedStyle(document.body).backgroundColor === "rgb(18, 21, 24)";
  press("t");
  press("/");
  told.filter = document.activeElement.id;
  document.activeElement.blur();
  if (LIVE) { await wait(() => document.getElementById("live").classList.contains("on"));
    told.early = first.includes(ARRIVED);
    await fetch("/told/more"); await wait(() => document.querySelector("main").textContent.includes(ARRIVED));
    told.arrived = document.querySelector("main").textContent.includes(ARRIVED);
    told.live = document.getElementById("live").textContent; }
  await fetch("/told/" + encodeURIComponent(JSON.stringify(told)));
});
"""


class Browsed:
    """The dashboard with a script of ours in its pages, and what that tells."""

    def __init__(self, url: str, kept: Store) -> None:
        self.told: list[dict[str, Any]] = []
        self.heard = threading.Event()
        self._kept = kept
        self.is_live = False
        self.asked = threading.Event()
        """Whether a page was asked for."""
        self._app = application(url, hosts=frozenset({"127.0.0.1"}), store=url)

    def tell(self) -> None:
        """A failure comes in that nobody has seen before."""
        error = fw.Transient("It is busy.", code="BUSY")
        about: dict[str, Any] = {"seat": "server", "session": "now", "seconds": 0.1, "at": datetime.now(UTC)}
        self._kept(CallEvent(tool=ARRIVED, ok=False, error=error, fingerprint="f", **about))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if path.startswith("/told/"):
            if path == "/told/more":
                self.tell()
            else:
                self.told.append(json.loads(path.removeprefix("/told/")))
                self.heard.set()
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return

        async def sent(message: Any) -> None:
            if path == "/assets/page.js" and message["type"] == "http.response.start":
                headers = [(n, v) for n, v in message["headers"] if n != b"content-length"]
                message = {**message, "headers": headers}
            elif path == "/assets/page.js" and message["type"] == "http.response.body":
                live = "true" if self.is_live else "false"
                message = {
                    **message,
                    "body": message["body"]
                    + MEASURE.replace("LIVE", live).replace("ARRIVED", json.dumps(ARRIVED)).encode(),
                }
            await send(message)

        if path == "/":
            self.asked.set()
        if scope["type"] == "http":
            scope = {**scope, "headers": [(n, b"127.0.0.1" if n == b"host" else v) for n, v in scope["headers"]]}
        await self._app(scope, receive, sent)


@pytest.fixture(scope="module")
def browsed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browsed, str]]:
    url = f"sqlite:///{tmp_path_factory.mktemp('store') / 'events.db'}"
    kept: Store = store(url)
    for event in (*events(int(os.environ.get("FAILWELL_EVENTS_SHOWN", "100000")), Truth(), key=kept.key), *hostile()):
        kept(event)
    assert kept.flush(600)
    with browsing(url, kept) as found:
        yield found


@contextmanager
def browsing(url: str, kept: Store) -> Iterator[tuple[Browsed, str]]:
    app = Browsed(url, kept)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", port=0, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield app, f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
    kept.close()


def shown(
    browsed: tuple[Browsed, str], path: str, tmp_path: Path, *, width: int, dark: bool = False, live: bool = False
) -> Any:
    app, origin = browsed
    app.is_live, count = live, len(app.told)
    app.heard.clear()
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / f'p{count}'}"]
    options += [f"--window-size={width},900", f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    browser = subprocess.Popen(
        [str(CHROMIUM), *options, "--remote-debugging-port=0", origin + path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert app.heard.wait(60), path
    finally:
        browser.kill()
        browser.wait()
    return app.told[count]


@pytest.mark.parametrize("path", VIEWS)
def test_every_view_is_whole(browsed: tuple[Browsed, str], path: str, tmp_path: Path) -> None:
    told = shown(browsed, path, tmp_path, width=1280)
    same = {
        "hidden": 0,
        "panels": True,
        "broken": None,
        "dark": False,
        "foreign": 0,
        "turned": True,
        # Of one failure there is nothing to choose.
        "filter": "" if path == FAILURE else "filter",
    }
    assert {name: told[name] for name in same} == same
    assert told["row"] == 1
    title = re.search(r"<h1>(.*?)</h1>", httpx.get(browsed[1] + path).text)
    assert title is not None
    assert told["title"] == html.unescape(title[1])


@pytest.mark.parametrize("path", ["/", "/failures", "/calls", "/sessions", "/doubt", FAILURE])
def test_a_phone_shows_it_and_nothing_is_cut_off(browsed: tuple[Browsed, str], path: str, tmp_path: Path) -> None:
    told = shown(browsed, path, tmp_path, width=500, dark=True)
    assert (told["hidden"], told["broken"], told["dark"], told["turned"]) == (0, None, True, False)
    assert path != "/" or told["columns"] == 2


def test_calls_that_come_in_while_one_looks_are_shown(browsed: tuple[Browsed, str], tmp_path: Path) -> None:
    told = shown(browsed, "/failures", tmp_path, width=1280, live=True)
    assert (told["early"], told["arrived"]) == (False, True)
    assert re.fullmatch(r"live, [1-9]\d* calls", told["live"])


def test_an_empty_store_is_shown_as_soon_as_something_is_in_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    kept: Store = store(url)
    with browsing(url, kept) as (app, origin):
        threading.Thread(target=lambda: app.asked.wait(60) and app.tell()).start()
        assert shown((app, origin), "/", tmp_path, width=1280)["title"] == "Overview"
