"""The dashboard over a real socket: every view, and what nobody may do with it."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from served_page import FORMULA, MARKUP, SECRET, hostile, served

from failwell.dashboard.pages import NAVIGATION
from failwell.observe import store

VIEWS = tuple(f"/{name}" for name in NAVIGATION)


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
    """Every page, and those that one comes to from there."""
    further = [
        re.search(pattern, page.get(view).text)
        for view, pattern in (("/failures", r"/failure\?[^\"]+"), ("/sessions", r"/sessions/[0-9a-f]+"))
    ]
    return [*VIEWS, *(unescape(found[0]) for found in further if found), "/sessions/%22%3E%3Cb%3E"]


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
    assert page.get("/tools", params={"tool": MARKUP, "q": MARKUP}).text.count("<script") == 1


def test_nothing_can_be_changed_and_nobody_else_can_ask(page: httpx.Client) -> None:
    assert [page.request(method, "/").status_code for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")] == [
        405
    ] * 5
    assert page.get("/", headers={"host": "rebound.example"}).status_code == 421
    assert page.get("/failure?tool=nobody&code=NONE").status_code == 404
    assert page.get("/failure").status_code == 404
    assert page.get("/sessions/nobody").status_code == 404
    assert page.get("/assets/app.py").status_code == 404
    assert page.get(f"/failure?tool=pay&code=OUTCOME_UNKNOWN&at={10**30}").status_code == 200
    assert page.get("/sessions/%00?tool=%00").status_code == 404
    wrong = page.get("/?since=<b>soon</b>")
    assert wrong.status_code == 400
    assert "&lt;b&gt;soon&lt;/b&gt;" in wrong.text


def test_head_says_what_get_says_without_a_body(page: httpx.Client) -> None:
    for path in (*links(page), "/assets/page.css", "/login", "/nowhere", "/failure"):
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
            connection.execute("UPDATE meta SET value = '7' WHERE name = 'version'")
        assert "is a store of version 7, and this is version 2" in page.get("/").text


@pytest.mark.parametrize(("since", "parts"), [("1h", 60), ("3h", 36), ("48h", 48), ("7d", 28), ("30d", 30)])
def test_a_time_has_parts_that_can_be_told_apart(page: httpx.Client, since: str, parts: int) -> None:
    answer = page.get("/", params={"since": since})
    assert answer.status_code == 200
    assert parts <= answer.text.count('class="hit"') <= parts + 1


def rows(page: httpx.Client, path: str, **params: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.get(f"{path}.json", params=params).json()
    return found


def test_every_table_is_there_for_programs_and_spreadsheets(page: httpx.Client) -> None:
    for name in (name for name in NAVIGATION if name):
        found = rows(page, f"/{name}")
        answer = page.get(f"/{name}.csv")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        table = list(csv.DictReader(io.StringIO(answer.text)))
        assert (len(table), list(table[0])) == (len(found), list(found[0])), name
        assert SECRET not in answer.text
    assert [row["code"] for row in csv.DictReader(io.StringIO(page.get("/codes.csv?q=HYPER").text))] == [f"'{FORMULA}"]
    assert page.get("/calls.json?since=soon").status_code == 400


def test_rows_come_in_the_order_that_is_asked_for_and_of_what_is_asked_for(page: httpx.Client) -> None:
    for path, column in (("/tools", "failed"), ("/calls", "seconds"), ("/sessions", "calls"), ("/codes", "code")):
        rising = [row[column] for row in rows(page, path, sort=column)]
        falling = [row[column] for row in rows(page, path, sort=f"-{column}")]
        assert rising == sorted(rising), path
        assert falling == sorted(falling, reverse=True), path
    assert {row["tool"] for row in rows(page, "/calls", q="invoic")} == {"get_invoice"}
    assert {(row["server"], row["client"]) for row in rows(page, "/calls", server="shop", client="my-agent/0.4")} == {
        ("shop", "my-agent/0.4")
    }
    assert {row["outcome"] for row in rows(page, "/calls", outcome="lost")} == {"lost"}


def test_two_servers_with_a_tool_of_one_name_are_two_rows(page: httpx.Client) -> None:
    found = [row["server"] for row in rows(page, "/tools") if row["tool"] == "pay"]
    assert sorted(found) == ["files", "shop"]


def test_each_number_leads_to_as_many_calls(page: httpx.Client) -> None:
    (tool,) = [row for row in rows(page, "/tools", server="shop", since="24h") if row["tool"] == "pay"]
    for outcome in ("failed", "recovered", "lost", "unknown"):
        found = rows(page, "/calls", tool="pay", server="shop", since="24h", outcome=outcome)
        # By whole hours, and to the second.
        assert abs(len(found) - tool[outcome]) <= 2, outcome


def test_a_failure_shows_its_words_and_what_stood_around_it(page: httpx.Client) -> None:
    shown = page.get("/failure?server=shop&tool=pay&kind=internal&code=OUTCOME_UNKNOWN").text
    assert "What the model read" in shown
    assert "Next: call get_invoice with {&#34;id&#34;:7} to see whether it was." in shown
    assert shown.count("<tr") >= 20
    assert 'class="this"' in shown


def test_a_link_keeps_its_filter(page: httpx.Client) -> None:
    shown = unescape(page.get("/tools?since=24h&server=shop&q=pay").text)
    links = re.findall(r'href="(/(?:failures|calls|codes)\?[^"]*)"', shown)
    assert links
    assert all("since=24h" in link and "server=shop" in link and "q=pay" in link for link in links)
