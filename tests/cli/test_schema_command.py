"""`failwell schema`, as people and scripts run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import commands
from failwell.formats.table import SCHEMAS, schema


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return commands.run("schema", *arguments, environment={**os.environ, **environment})


def test_without_a_name_it_lists_the_schemas() -> None:
    done = run()
    rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
    assert (done.returncode, done.stderr) == (0, b"")
    assert [row[0] for row in rows] == [*SCHEMAS, "manifest", "check"]
    assert rows[0] == ["typed", "JSON Schema", "000, six error types"]
    assert rows[2] == ["xml", "RELAX NG", "002, self-healing XML"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_with_a_name_it_prints_the_schema_and_nothing_else(name: str) -> None:
    done = run(name)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().replace("\r\n", "\n") == schema(name)


def test_it_prints_on_a_terminal_that_knows_only_ascii() -> None:
    done = run("canonical", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert json.loads(done.stdout)["$id"] == "urn:failwell:schema:canonical:1"


@pytest.mark.parametrize("name", ["nope", "../typed", "typed.json", "TYPED", ""])
def test_an_unknown_name_is_bad_usage_in_one_line(name: str) -> None:
    done = run(name)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines() == [
        f"failwell: there is no schema {name!r}; use one of: {', '.join((*SCHEMAS, 'manifest', 'check'))}"
    ]


def test_too_many_names_are_bad_usage_in_one_line() -> None:
    done = run("typed", "v1")
    assert done.returncode == 2
    assert len(done.stderr.decode().splitlines()) == 1


def test_help_shows_how_to_use_it() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert b"failwell schema envelope" in done.stdout


def test_a_reader_that_has_seen_enough_ends_it_quietly() -> None:
    command = [sys.executable, "-m", "failwell", "schema", "canonical"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
