"""What leaves in a report: nothing that the server was given as a secret, and nothing that a terminal acts on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

QUOTING = Path(__file__).with_name("quoting.py")
REPORTS = ("sarif", "junit", "html", "badge", "json")
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def written(folder: Path, *given: str, **env: str) -> dict[str, str]:
    """One check in every form, by name; `shown` is what people see."""
    check = [sys.executable, "-m", "failwell", "check"]
    run = {"capture_output": True, "cwd": folder, "env": {**os.environ, **env}, "timeout": 120}
    options = [part for name in REPORTS for part in ("--output", f"{name}={name}")]
    done = subprocess.run([*check, *options, *given], **run)  # type: ignore[call-overload]
    shown = subprocess.run([*check, *given], **run)  # type: ignore[call-overload]
    assert (done.returncode, done.stderr) == (shown.returncode, shown.stderr)
    assert (done.returncode in (0, 2), done.stderr) == (True, b"")
    found = {name: (folder / name).read_text("utf-8") for name in REPORTS}
    return {**found, "shown": shown.stdout.decode()}


def judged(told: dict[str, str], secret: str) -> None:
    assert [name for name, text in told.items() if secret in text] == []
    report = json.loads(told["json"])
    assert (report["grade"], "harm.secret" in report["lost"]) == ("F", True)
    finding = next(each for each in report["findings"] if each["rule"] == "harm.secret" and each["tool"])
    assert "[redacted]" in finding["message"]
    assert "[redacted]" in json.dumps(finding["answer"])
    assert "get_x harm.secret: " in told["shown"]


@pytest.mark.parametrize("secret", ["Zk48842qqw", "Qx_77-kd-013", "envtokplain"])
def test_what_a_server_was_given_in_a_variable_is_found_and_not_told(tmp_path: Path, secret: str) -> None:
    judged(written(tmp_path, "--env", "MY_API_TOKEN", "--", sys.executable, str(QUOTING), MY_API_TOKEN=secret), secret)


def test_what_a_server_was_given_on_its_command_line_is_found_and_not_told(tmp_path: Path) -> None:
    judged(written(tmp_path, "--", sys.executable, str(QUOTING), "--password", "plainword", "-pplainword"), "plainword")


def test_a_server_that_does_not_start_does_not_tell_what_it_was_given(tmp_path: Path) -> None:
    server = ["--env", "MY_API_TOKEN=envtokplain", "--", sys.executable, str(QUOTING), "mute"]
    told = written(tmp_path, *server)
    assert "started [redacted]" in told["shown"]
    assert [name for name, text in told.items() if "envtokplain" in text] == []


def test_a_frame_that_is_sent_alone_is_answered_without_it() -> None:
    frame = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_x", "arguments": {}}}
    )
    command = [sys.executable, "-m", "failwell", "check", "--env", "MY_API_TOKEN=envtokplain", "--send", frame]
    done = subprocess.run([*command, "--", sys.executable, str(QUOTING)], capture_output=True, text=True, timeout=60)
    said = json.loads(done.stdout)["result"]["content"][0]["text"]
    assert said.startswith("cannot reach the shop with [redacted] of")


class Quoting(BaseHTTPRequestHandler):
    """A server over HTTP that quotes its headers."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        id, method = (message.get("id"), message.get("method")) if isinstance(message, dict) else (1, "")
        said = f"boom with {self.headers['x-shop']} at {self.path}"
        tool = {"name": "get_x", "inputSchema": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}
        told: dict[str, Any] = {"result": {"content": [{"type": "text", "text": said}], "isError": True}}
        if method == "initialize":
            told = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}}
        elif method == "tools/list":
            told = {"result": {"tools": [{**tool, "annotations": {"readOnlyHint": True}}]}}
        body = json.dumps({"jsonrpc": "2.0", "id": id, **told}).encode()
        self.send_response(200 if id is not None else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle_error(self, *_: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Quoting)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/s/9f8a7b6c5d4e3f2a1b0c/mcp"
    server.shutdown()
    server.server_close()


def test_what_a_server_was_sent_in_a_header_or_its_path_is_found_and_not_told(tmp_path: Path, address: str) -> None:
    told = written(tmp_path, "--header", "X-Shop: daisyword", address)
    judged(told, "daisyword")
    judged(told, "9f8a7b6c5d4e3f2a1b0c")


@pytest.mark.parametrize("place", ["name", "words"])
def test_no_name_and_no_words_of_a_server_reach_a_terminal_raw(tmp_path: Path, place: str) -> None:
    told = written(tmp_path, "--", sys.executable, str(QUOTING), place)
    assert {name: sorted(set(UNSEEN.findall(text))) for name, text in told.items()} == {name: [] for name in told}
    assert [name for name, text in told.items() if re.search(r"(?m)^\s*(?:::error|##vso)", text)] == []
    assert ElementTree.fromstring(told["junit"]).findall(".//failure")
    assert json.loads(told["sarif"])["runs"][0]["results"]
    if place == "name":
        (tool,) = json.loads(told["json"])["tools"]
        assert tool["name"] == "get_\ufffd ::error::pwned ##vso[task.setvariable variable=a]b \ufffd"
        assert f"{tool['name']} " in told["shown"]
