"""A server that cannot be started or reached as it is written down: one line that says why, and 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from failwell.cli import main

ENTRIES: dict[str, tuple[dict[str, Any], str]] = {
    "nul": ({"command": "x\0y"}, "its command has a character that no program can be given"),
    "arguments in one text": ({"command": "x", "args": "-y z"}, "cannot be started: its args are no list of texts"),
    "arguments that are none": ({"command": "x", "args": ["-p", 1, None]}, "its args are no list of texts"),
    "a number for a command": ({"command": 5}, "cannot be started: its command is no text"),
    "nothing for a command": ({"command": ""}, "cannot be started: its command is empty"),
    "a variable that is empty": ({"command": "${NO_SUCH_VARIABLE}"}, "cannot be started: its command is empty"),
    "nothing at all": ({}, "names no server: shop has neither a command nor a url"),
    "nul in an argument": ({"command": "x", "args": ["\0"]}, "its command has a character"),
    "half a character": ({"command": "\ud800"}, "its command has a character"),
    "a name with =": ({"command": "cat", "env": {"A=B": "x"}}, "its env has a name that is none"),
    "no name": ({"command": "cat", "env": {"": "x"}}, "its env has a name that is none"),
    "a list of variables": ({"command": "cat", "env": ["x"]}, "cannot be started: its env is no object with a text"),
    "variables in one text": ({"command": "cat", "env": "A=x"}, "its env is no object with a text for each name"),
    "a list in a variable": ({"command": "cat", "env": {"A": ["x"]}}, "its env is no object with a text for each name"),
    "a list of headers": ({"url": "http://h/", "headers": ["A: x"]}, "has headers that are no object with a text"),
    "nul in a value": ({"command": "cat", "env": {"A": "x\0"}}, "its env has a character"),
    "half a character in a value": ({"command": "cat", "env": {"A": "\udfff"}}, "its env has a character"),
    "nul in the folder": ({"command": "cat", "cwd": "\0"}, "its cwd has a character"),
    "nul in the address": ({"url": "http://127.0.0.1:1/\0"}, "there is a space in it, or what cannot be seen"),
    "two lines in a header": ({"url": "http://h/", "headers": {"A": "x\ny"}}, "has a header 'A' that cannot be sent"),
    "letters in a header": ({"url": "http://h/", "headers": {"A": "é"}}, "has a header 'A' that cannot be sent"),
    "no name of a header": ({"url": "http://h/", "headers": {"A b": "x"}}, "has a header 'A b' that cannot be sent"),
}


@pytest.mark.parametrize("command", ["wrap", "check"])
@pytest.mark.parametrize("case", ENTRIES)
def test_a_file_names_a_server_that_cannot_be(
    command: str, case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry, why = ENTRIES[case]
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"shop": entry}}))
    assert main([command, "--config", str(file)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert why in said.err


@pytest.mark.parametrize("command", ["wrap", "check"])
@pytest.mark.parametrize(
    "url", ["http://exa mple/", "http://example/a b", "http://a..b/", f"http://{'a' * 70}/", "http://example/\x1b[2J"]
)
def test_an_address_is_none(command: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, url]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), "\x1b" in said.err) == ("", 1, False)
    assert "is no address of a server" in said.err


def test_a_command_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wrap", "--", ""]) == 2
    assert capsys.readouterr().err.startswith("failwell: the command after -- is empty; name one")


@pytest.mark.parametrize("header", ["A b: x", "A: é", "A: x\ny", "A"])
def test_a_header_is_none(header: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--header", header, "http://127.0.0.1:1/"]) == 2
    assert "a header is written as 'Name: value', on one line, in ASCII" in capsys.readouterr().err


def test_settings_name_a_command_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.failwell.check]\ncommand = ["x\\u0000y"]\n')
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 2
    assert "It does not start: embedded null byte" in capsys.readouterr().out
