"""What the command line refuses, and the events of calls."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from playbook import Table, result

from failwell.cli import main
from failwell.observe import CallEvent


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["--header", "A: b"], "--header is for a server behind an address"),
        (["--token", "s3cret-of-ann"], "--token is for --listen"),
        (["--allow-host", "relay.example"], "--allow-host is for --listen"),
        (["--reads", ""], "--reads names no tool"),
    ],
)
def test_what_would_be_of_no_effect_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], given: list[str], line: str
) -> None:
    assert main(["wrap", *given, "--", "true"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said


@pytest.mark.parametrize(
    "given", [["--max-tools", "-1"], ["--max-tools", "0"], ["--min-score", "500"], ["--env", "=x"]]
)
def test_a_check_is_not_made_with_what_means_nothing(capsys: pytest.CaptureFixture[str], given: list[str]) -> None:
    try:
        code = main(["check", *given, "--", "true"])
    except SystemExit as end:
        code = int(str(end.code))
    assert code == 2
    assert given[0] in capsys.readouterr().err


def test_each_call_that_ends_is_an_event() -> None:
    events: list[CallEvent] = []
    table = Table(hooks=(events.append,))
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "Error: 503 Service Unavailable", is_error=True))
    table.passes(30)
    table.server(result(table.heard()[-1]["id"], "paid"))
    table.call(2, "pay_invoice", {"invoice_id": "i"})
    table.server(result(2, "Error: 503 Service Unavailable", is_error=True))
    assert [(each.tool, each.ok, each.attempts, each.client) for each in events] == [
        ("get_invoice", True, 2, "claude-code/2"),
        ("pay_invoice", False, 1, "claude-code/2"),
    ]


def test_a_call_that_is_held_is_an_event_that_says_so() -> None:
    events: list[CallEvent] = []
    table = Table(hooks=(events.append,))
    for id in (1, 2):
        table.call(id, "pay_invoice", {"invoice_id": "i"})
        table.server(result(1, "boom", is_error=True))
    assert [(each.error and each.error.code, each.prevented, each.made) for each in events] == [
        (None, False, True),
        ("CALL_IN_DOUBT", True, False),
    ]


def test_the_relay_imports_no_sdk_and_nothing_that_draws() -> None:
    code = (
        "import sys; import failwell.cli.wrap, failwell.relay.relay_protocol, failwell.relay.stdio; print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ))
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert loaded.isdisjoint({"mcp", "mcp_types", "rich", "pydantic", "fastmcp", "anyio", "jsonschema"})
