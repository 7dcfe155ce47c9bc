"""What is said in one line of servers that cannot be graded as they are, over real pipes and sockets."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from failwell.check import CheckOptions, CheckReport, CheckTarget, check
from failwell.check.conversation import Conversation, DoesNotStart, Endurance, Waits
from failwell.check.http_wire import VERSION, HttpTransport
from failwell.check.listing import broken_schema, named_tools
from failwell.cli import main

NASTY = Path(__file__).with_name("nasty.py")
ERA = "2025-11-25"


def checked(name: str, **options: Any) -> CheckReport:
    return check(CheckTarget([sys.executable, str(NASTY), name]), CheckOptions(era=ERA, **options))


def test_a_server_without_tools_has_no_grade(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--min-score", "1", "--", sys.executable, str(NASTY), "notools"]) == 1
    said = capsys.readouterr()
    assert said.err == "failwell: there was nothing to grade, below 1\n"
    assert said.out.splitlines()[0].startswith(" not graded ")
    assert "There is nothing to grade: the server lists no tools, or none that was asked for." in said.out


def test_a_server_that_wants_credentials_first_is_not_graded_by_its_arguments() -> None:
    report = checked("unauthorized")
    assert report.examined.notes == [
        "No valid call was seen to work: the grade is based on refusals only. Try --examples, --reads, --env."
    ]
    assert (report.grade, report.to_dict()["basis"]) == ("D", "refusals only")


def test_a_list_without_an_end() -> None:
    report = checked("endless")
    assert report.examined.notes == [
        "The list of tools has no end: the page 'more' comes again and again. What had come by then was looked at."
    ]
    assert report.graded["tools"] == 1


def test_entries_that_are_no_tools_are_told() -> None:
    entries = [{"name": "a"}, {"name": 7}, {"name": ""}, "text", {"name": "a"}, {"name": "a", "title": "A"}]
    tools, odd = named_tools(entries)
    assert tools == [{"name": "a"}]
    assert odd == [
        "number 2 has a number for a name",
        "number 3 has no name",
        "number 4 is a text",
        "a stands there twice",
        "a stands there twice, with different words",
    ]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, None),
        (None, "it has none"),
        ("object", "it is no object"),
        ({"type": "objekt"}, "there is no type 'objekt'"),
        ({"properties": {"n": {"minimum": 9, "maximum": 1}}}, "minimum 9 is above maximum 1"),
        ({"properties": {"a": {"pattern": "(["}}}, '"([" is not a "regex"'),
        ({"properties": ["a"]}, '["a"] is not of type "object"'),
    ],
)
def test_a_schema_that_nobody_can_use_is_told_by_its_reason(schema: Any, why: str | None) -> None:
    assert broken_schema(schema) == why


def test_two_silences_make_every_later_wait_short_and_a_minute_of_them_is_enough() -> None:
    patience = Endurance(Waits(call=10))
    assert (patience.call, patience.alive, patience.is_over) == (10, 10, False)
    patience.lost(12)
    patience.lost(12)
    assert (patience.call, patience.alive, patience.is_over) == (3, 3, False)
    patience.lost(40)
    assert patience.is_over


def test_what_a_server_leaves_behind_is_ended_wherever_it_went(tmp_path: Path) -> None:
    place = tmp_path / "pid"
    command = [sys.executable, "-m", "failwell", "check"]
    command += ["--max-time", "30", "--env", f"NASTY_CHILD={place}", "--", sys.executable, str(NASTY), "detaches"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="there a process cannot be held")
def test_a_check_in_the_tests_of_a_server_leaves_nothing_behind_either(tmp_path: Path) -> None:
    # Whoever calls `check` from Python does not become the parent of what is left.
    place = tmp_path / "pid"
    target = CheckTarget([sys.executable, str(NASTY), "detaches"], env={"NASTY_CHILD": str(place)})
    check(target, CheckOptions(era=ERA))
    # The system's first process may take a moment to see that it has ended.
    assert any(_is_gone(int(place.read_text())) for _ in range(100))


def _is_gone(pid: int) -> bool:
    time.sleep(0.1)
    return not Path(f"/proc/{pid}").exists()


class Front(BaseHTTPRequestHandler):
    """What stands before a server, and answers in its place."""

    headers_seen: dict[str, str | None] = {}  # noqa: RUF012

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.headers_seen.update({name: self.headers.get(name) for name in ("x-team", VERSION)})
        status, kind, body, more = ANSWERS[self.path]
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


Answer = tuple[int, str, bytes, dict[str, str]]
ANSWERS: dict[str, Answer] = {
    "/page": (200, "text/html", b"<!DOCTYPE html><html><form>Sign in</form></html>", {}),
    "/empty": (200, "application/json", b"", {}),
    "/garbage": (200, "application/json", b"{]", {}),
    "/403": (403, "application/json", b'{"error": "forbidden"}', {}),
    "/401": (401, "text/plain", b"Unauthorized", {}),
    "/429": (429, "text/plain", b"Slow down", {"retry-after": "30"}),
    "/500": (500, "text/plain", b"Oops", {}),
    "/moved": (307, "text/plain", b"", {"location": "/page"}),
    "/cut": (200, "application/json", b"{}", {"content-length": "900"}),
}
REASONS = {
    "/page": "it answered initialize with a web page (text/html), such as a login page: is the address right, and are "
    "credentials missing?",
    "/empty": "it answered initialize with nothing: the body is empty (HTTP status 200)",
    "/garbage": "it answered initialize with what is no JSON-RPC message (application/json): '{]'",
    "/403": "it answered initialize with HTTP status 403; it wants other credentials: give them with --header",
    "/401": "it answered initialize with HTTP status 401; it wants credentials: give them with --header",
    "/429": "it answered initialize with HTTP status 429; it asks to wait 30 seconds",
    "/500": "it answered initialize with HTTP status 500: 'Oops'",
    "/moved": "it answered initialize with HTTP status 307, a redirection to /page: name that address if you trust it",
    "/cut": "it did not answer initialize: it cut the connection in the middle of its answer",
}


@pytest.fixture(scope="module")
def front() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_what_comes_over_http_in_place_of_a_server_is_told_in_words(front: str) -> None:
    told = {path: check(CheckTarget(url=front + path), CheckOptions(era=ERA)).examined.reason for path in ANSWERS}
    assert told == REASONS


def test_headers_are_sent_with_every_request(front: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{front}/500", "--header", "X-Team: blue"]) == 2
    assert Front.headers_seen["x-team"] == "blue"
    assert "blue" not in capsys.readouterr().out


def test_the_header_names_the_version_that_the_request_names(front: str) -> None:
    transport = HttpTransport(f"{front}/500", {})
    talk = Conversation(transport, "2026-07-28", Waits())
    with pytest.raises(DoesNotStart):
        talk.open()
    assert Front.headers_seen[VERSION] == "2026-07-28"
    request = talk.request("tools/list", {})
    request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1999-01-01"
    talk.send(request)
    assert Front.headers_seen[VERSION] == "1999-01-01"
