"""Secrets in everything that can fail, and nowhere else: not in an answer, a log line, a span or a metric.

Every call of `leaks.calls` has a secret of its own, so that one that turns up says where it came from.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from http.client import HTTPResponse
from pathlib import Path
from typing import IO, Any, cast

import mcp
import pytest
from leaks import ELSEWHERE, Case, calls, fail, login
from mcp.server import MCPServer
from planted import SHAPES, Canary, canary, found
from wire import ERAS, LEGACY, PATIENCE, SERVERS, TRANSPORTS, Http, Process, Stdio

import failwell.server
from failwell.dashboard import Query, report_data, report_document
from failwell.dashboard.markup import names, page
from failwell.dashboard.pages import PAGES, failure, session
from failwell.formats import FORMATS
from failwell.observe.stores import Reading

APP = Path(__file__).with_name("leaks.py")


class Tapped:
    """What a process writes, line by line, with a copy kept."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.kept: list[bytes] = []

    def readline(self) -> bytes:
        self.kept.append(self._stream.readline())
        return self.kept[-1]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def close(self) -> None:
        self._stream.close()


class Leaky(Process):
    """A server of `leaks.py`."""

    def __init__(self, folder: Path, *arguments: str, boxes: bool = False) -> None:
        self.errors, self.record = folder / "stderr", folder / "record.json"
        environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
        # FastMCP takes its time to draw a box around every traceback, so it does so where that is looked at.
        environment["FASTMCP_ENABLE_RICH_TRACEBACKS"] = str(boxes).lower()
        command = [sys.executable, str(APP), *arguments[:2], str(self.record), *arguments[2:]]
        with self.errors.open("wb") as file:
            self._child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, env=environment
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self.writer = self._child.stdin
        self.tapped = Tapped(self._child.stdout)
        self.reader = cast("IO[bytes]", self.tapped)

    def end(self) -> None:
        with suppress(OSError):
            self.writer.close()
        try:
            # It has something to write down first.
            self._child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


class TappedHttp(Http):
    """Keeps the whole of every response."""

    def __init__(self, process: Process, era: str) -> None:
        super().__init__(process, era)
        self.kept: list[str] = []

    def _post(self, frame: dict[str, Any], text: str) -> tuple[HTTPResponse, str]:
        response, body = super()._post(frame, text)
        self.kept.append(f"{response.status} {response.reason}\n{response.headers}\n{body}")
        return response, body


Channels = dict[str, str]


def channels(
    folder: Path, framework: str, transport: str, era: str, asked: list[Case], *more: str, boxes: bool = False
) -> Channels:
    """Everything that leaves a server which is asked all this, by the way it leaves."""
    process = Leaky(folder, framework, transport, *more, boxes=boxes)
    client: Stdio | TappedHttp | None = None
    try:
        client = (Stdio if transport == "stdio" else TappedHttp)(process, era)
        client.open()
        for number, (_, _, method, params) in enumerate(asked):
            client.ask(method, params, id=f"n{number}")
    finally:
        (client or process).close()
    written = b"".join(process.tapped.kept).decode()
    record = json.loads(process.record.read_text(encoding="utf-8"))
    return {
        "answer": "\n".join(client.kept) if isinstance(client, TappedHttp) else written,
        "stderr": process.errors.read_text(encoding="utf-8", errors="replace"),
        **{name: "\n".join(kept) for name, kept in record.items()},
    }


@cache
def secrets(framework: str) -> list[Canary]:
    return [canary(case, shape) for case, shape, _, _ in calls(framework)]


# Both transports and both eras: what is written there does not depend on the pair.
WAYS = list(zip(TRANSPORTS, ERAS, strict=True))


def share(framework: str, turn: int) -> list[Case]:
    """A part of all calls: every case, with some of the shapes; all shapes are in the parts together."""
    seen: dict[str, int] = {}
    chosen = []
    for call in calls(framework):
        # Not the same shapes for all cases.
        number = seen[call[0]] = seen.get(call[0], len(seen) - 1) + 1
        if number % len(WAYS) == turn:
            chosen.append(call)
    return chosen


# What the frameworks write before, or without, anything of ours being asked. A span is named after what the client asked
# for, and has it among its attributes; one that is malformed is described by what is wrong with it. FastMCP serialises a
# result before it looks whether it fits, and pydantic warns about that on standard error.
THEIRS = {
    "spans": ("asked/tool", "asked/prompt", "asked/uri", "asked/malformed_"),
    "stderr": ("typed/broken_result",),
}


def leaks(ways: Channels, framework: str, *, theirs: bool = False) -> list[str]:
    """What got out, and where; only what the frameworks are known to write, or all but that."""
    return [
        f"{way}: {case} [{shape}]: {context!r}"
        for way, text in ways.items()
        for (case, shape), context in found(text, secrets(framework)).items()
        if case.startswith(THEIRS.get(way, ("nothing",))) == theirs
    ]


def pages(url: str) -> str:
    """Every page, report and table of the dashboard, one after the other."""
    query = Query.of({})
    reading = Reading.of(url)
    views = [make(reading, query) for make in PAGES.values()]
    for each in reading.failures(query.selection, most=20):
        one = {name: each[name] for name in ("server", "tool", "kind", "code")}
        views.append(failure(reading, Query.of(one)))
    views += [session(reading, query, each["name"]) for each in reading.sessions(query.selection)]
    shown = [page(view, query, url, names(reading)) for view in views if view is not None]
    shown += [report_document(reading, query), json.dumps(report_data(reading, query))]
    assert any(row["message"] for row in reading.after(0))
    reading.close()
    return "\n".join(shown)


@pytest.mark.checklist(107, 153, 293)
# Each call is seen in a store and on every page, too, which takes long: make thorough tries every one in every way.
@pytest.mark.parametrize(
    ("framework", "transport", "era", "step"),
    [
        *((framework, *way, 2) for framework, way in zip(SERVERS, (*WAYS, WAYS[0]), strict=True)),
        *(pytest.param(each, *way, 1, marks=pytest.mark.thorough) for each in SERVERS for way in WAYS),
    ],
)
def test_no_secret_leaves(tmp_path: Path, framework: str, transport: str, era: str, step: int) -> None:
    asked = share(framework, WAYS.index((transport, era)))[::step]
    url = f"sqlite:///{tmp_path / 'events.db'}"
    ways = channels(tmp_path, framework, transport, era, asked, "--options", json.dumps({"hooks": [url]}))
    ways |= {"store": (tmp_path / "events.db").read_bytes().decode("latin-1"), "pages": pages(url)}
    # What is not there cannot leak: all of it has been answered, logged, traced, stored and shown.
    sizes = {way: len(text) for way, text in ways.items()}
    assert all(sizes[way] > 100 * len(asked) for way in ("answer", "stderr", "records", "spans", "store", "pages")), (
        sizes
    )
    told = leaks(ways, framework)
    assert not told, f"{len(told)} leaks\n" + "\n".join(told)


def test_no_secret_leaves_in_the_boxes_that_fastmcp_draws(tmp_path: Path) -> None:
    # Some cases, each once: how a traceback is drawn does not depend on the shape of the secret.
    asked = list({call[0]: call for call in share("fastmcp", 0)}.values())[::3]
    ways = channels(tmp_path, "fastmcp", "stdio", LEGACY, asked, boxes=True)
    assert ways["stderr"].count("Traceback (most recent call last)") > len(asked) / 4
    told = leaks(ways, "fastmcp")
    assert not told, f"{len(told)} leaks\n" + "\n".join(told)


@pytest.mark.parametrize("framework", SERVERS)
def test_without_failwell_they_leave_by_every_way(tmp_path: Path, framework: str) -> None:
    """The control: the same calls, and the search does find."""
    # Some are enough.
    asked = [call for call in share(framework, 0) if "system_exit" not in call[0]][::5]
    ways = channels(tmp_path, framework, "stdio", LEGACY, asked, "--bare")
    told = leaks(ways, framework)
    for way in ("answer", "stderr", "records", "spans"):
        assert sum(line.startswith(f"{way}: ") for line in told) > 20, way
    for shape in SHAPES:
        assert any(f"[{shape}]" in line for line in told), shape
    # What is put down to the frameworks is really theirs.
    assert leaks(ways, framework, theirs=True)


@pytest.mark.parametrize(
    ("framework", "told"),
    [
        ("mcpserver", {"asked/uri", "asked/uri_query"}),
        ("lowlevel", set()),
        ("fastmcp", {"argument/format_password", "argument/secret_str", "argument/write_only"}),
    ],
)
def test_what_the_frameworks_print_at_debug(tmp_path: Path, framework: str, told: set[str]) -> None:
    """A limit: at DEBUG they print arguments and URIs as they come, where only shape and name tell what is secret.

    What only the schema calls a secret is printed by FastMCP, and a secret in a URI by MCPServer.
    """
    wanted = {*told, "argument/too_short", "argument/nested", "argument/unknown_name", "argument/right_beside_wrong"}
    asked = [call for call in calls(framework) if call[0] in wanted]
    ways = channels(tmp_path, framework, "stdio", LEGACY, asked, "--level", "DEBUG")
    leaked = {line.split()[1] for line in leaks(ways, framework)}
    assert leaked <= told
    # When this fails the limit is gone, and the documentation can say so.
    assert bool(leaked) == bool(told)


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_shows_one_even_when_texts_are_shown(format: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "failwell")
    server = MCPServer("leaks", log_level="CRITICAL")
    server.add_tool(fail)
    server.add_tool(login)
    failwell.server.install(server, format=format, show_text=True, wire={"carry": True})
    asked = [
        call
        for call in calls("lowlevel")
        if (call[0].partition("/")[2] in ELSEWHERE and call[3].get("name") == "fail") or call[0] == "argument/too_short"
    ]

    async def main() -> list[str]:
        answers = []
        async with mcp.Client(server) as client:
            for _, _, _, params in asked:
                try:
                    result = await client.call_tool(params["name"], params["arguments"])
                    answers.append(result.model_dump_json(by_alias=True))
                except mcp.MCPError as exc:
                    answers.append(exc.error.model_dump_json(by_alias=True))
        return answers

    answers = asyncio.run(main())
    assert len(answers) == len(asked) > 100
    told = leaks({"answer": "\n".join(answers), "log": caplog.text}, "lowlevel")
    assert not told, f"{len(told)} leaks\n" + "\n".join(told)
