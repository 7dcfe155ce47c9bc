"""The dashboard over a real socket: every view, and what nobody may do with it."""

from __future__ import annotations

import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from served_page import MARKUP, SECRET, hostile, served

from failwell.observe import store

VIEWS = ("/", "/failures", "/tools", "/codes", "/sessions", "/unknown", "/drift")


class Elements(HTMLParser):
    """The names of the elements of a page, and all attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def links(page: httpx.Client) -> list[str]:
    """Every view, and the pages that one comes to from there."""
    further = [
        re.search(pattern, page.get(view).text)
        for view, pattern in (("/failures", r"/failures/\d+"), ("/sessions", r"/sessions/[0-9a-f]+"))
    ]
    return [*VIEWS, *(found[0] for found in further if found), "/sessions/%22%3E%3Cb%3E"]


def test_every_view_is_there_and_holds_nothing_foreign(page: httpx.Client) -> None:
    for path in links(page):
        answer = page.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert answer.headers["cache-control"] == "no-store"
        found = Elements(answer.text)
        assert "img" not in found.names
        assert not [name for name, _ in found.attributes if name.startswith("on") or name == "style"], path
        addresses = {value for name, value in found.attributes if name in ("src", "href", "action")}
        assert all(value.startswith(("/", "#")) and not value.startswith("//") for value in addresses), path
        assert answer.text.count("<script") == 1
        assert SECRET not in answer.text


def test_markup_in_names_is_shown_as_text(page: httpx.Client) -> None:
    shown = page.get("/failures").text
    assert "&lt;script&gt;document.body.dataset.broken=1" in shown
    assert "<script>document" not in shown
    assert page.get("/tools", params={"tool": MARKUP}).text.count("<script") == 1


def test_nothing_can_be_changed_and_nobody_else_can_ask(page: httpx.Client) -> None:
    assert [page.request(method, "/").status_code for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")] == [
        405
    ] * 5
    assert page.get("/", headers={"host": "rebound.example"}).status_code == 421
    assert page.get("/failures/999999").status_code == 404
    assert page.get("/sessions/nobody").status_code == 404
    assert page.get("/assets/app.py").status_code == 404
    assert page.get(f"/failures/{10**30}").status_code == 404
    assert page.get("/sessions/%00?tool=%00").status_code == 404
    wrong = page.get("/?since=<b>soon</b>")
    assert wrong.status_code == 400
    assert "&lt;b&gt;soon&lt;/b&gt;" in wrong.text


def test_head_says_what_get_says_without_a_body(page: httpx.Client) -> None:
    for path in (*links(page), "/assets/page.css", "/login", "/nowhere", "/failures/999999"):
        whole, head = page.get(path), page.head(path)
        assert (head.status_code, head.content) == (whole.status_code, b""), path
        same = [name for name in whole.headers if name not in ("date", "content-length")]
        assert [head.headers.get(name) for name in same] == [whole.headers[name] for name in same], path
    live = page.head("/live")
    assert (live.status_code, live.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


def test_a_token_is_asked_for_and_never_in_an_address(filled: str) -> None:
    token = "a-token-of-some-length"
    with served(filled, token) as page:
        assert page.get("/failures").status_code == 401
        assert page.get("/failures", headers={"authorization": "Bearer wrong"}).status_code == 401
        assert page.get(f"/failures?token={token}").status_code == 401
        assert page.get("/failures", headers={"authorization": f"Bearer {token}"}).status_code == 200
        asked = page.get("/", headers={"accept": "text/html"})
        assert (asked.status_code, asked.headers["location"]) == (303, "/login")
        assert 'method="post"' in page.get("/login").text
        assert page.post("/login", data={"token": "wrong"}).status_code == 403
        let_in = page.post("/login", data={"token": token})
        assert (let_in.status_code, let_in.headers["location"]) == (303, "/")
        cookie = let_in.headers["set-cookie"]
        assert token not in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert page.get("/failures").status_code == 200


def test_it_is_told_when_calls_come_in(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    kept = store(url)
    for event in hostile():
        kept(event)
    assert kept.flush(30)
    with served(url) as page, page.stream("GET", "/live") as news:
        lines = news.iter_lines()
        assert next(lines) == "retry: 2000"
        told = ""
        while not told:
            # Until it has looked once, what comes is not new.
            kept(hostile()[2])
            assert kept.flush(30)
            told = next((line for line in (next(lines), next(lines)) if line.startswith("event:")), "")
        assert told == "event: calls"
    kept.close()


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'events.db'}"
    store(url).close()
    with served(url) as page:
        answer = page.get("/")
        assert answer.status_code == 200
        assert f"failwell wrap --events {url} -- CMD…" in answer.text


def test_a_store_that_is_gone_or_of_another_version_is_a_clear_page(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with served(f"sqlite:///{path}") as page:
        assert page.get("/").status_code == 503
        assert f"there is no store at {path}" in page.get("/").text
        store(f"sqlite:///{path}").close()
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 7")
        assert "is a store of version 7, and this is version 1" in page.get("/").text


@pytest.mark.parametrize("width", [1, 3, 48])
def test_the_parts_of_a_time_are_whole_hours(page: httpx.Client, width: int) -> None:
    answer = page.get("/", params={"since": f"{width}h"})
    assert answer.status_code == 200
    assert 1 <= answer.text.count('class="hit"') <= width + 1
