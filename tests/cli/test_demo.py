"""`failwell demo`, as people run it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import commands


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    return commands.run("demo", *arguments, environment={**plain, "PYTHONIOENCODING": "utf-8", **environment})


@pytest.fixture(scope="module")
def shown() -> str:
    done = run()
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_an_agent_gets_through_with_failwell_and_not_without(shown: str) -> None:
    why, honest, starting, *cases, counts, last = shown.split("\n\n")
    assert "failwell.server.install(server)" in why
    assert "The agent is a script, not a model" in " ".join(honest.split())
    assert starting == "Starting the servers takes some seconds ..."
    assert cases[::3] == [
        "1. A payment whose answer gets lost",
        "2. An argument with a typo",
        "3. A step that was left out",
        "4. A database that is busy",
        "5. A server that dies in the middle of a call",
    ]
    for plain, ours in zip(cases[1:12:3], cases[2:12:3], strict=True):
        assert plain.startswith("   without Failwell, the agent reads\n")
        assert "once more, and reads\n      the same\n   and gives up." in plain
        assert ours.startswith("   with Failwell, the agent reads\n")
        assert ours.count("the agent reads") == 1
    assert counts == (
        "without Failwell: 0 of 4 got through, the payment was made twice\n"
        "with Failwell: 4 of 4 got through, nothing was made twice"
    )
    assert last.startswith("Next: ")


def test_the_payment_is_told_whole(shown: str) -> None:
    assert shown.split("\n\n")[4:6] == [
        """\
   without Failwell, the agent reads
      Error executing tool pay_invoice
   and calls pay_invoice {"id": "inv_1"} once more, and reads
      the same
   and gives up.
   In the shop's books: 2 payments.""",
        """\
   with Failwell, the agent reads
      pay_invoice failed part-way (The operation took too long), so it may have
      been done already. Next: call get_invoice with {"id":"inv_1"} to see
      whether it was.
   and calls get_invoice {"id": "inv_1"}, reads 'inv_1: paid', and knows.
   In the shop's books: 1 payment.""",
    ]


def test_a_server_that_dies_is_shown_as_it_is_and_wrapped(shown: str) -> None:
    assert shown.split("\n\n")[16:18] == [
        """\
   without Failwell, the agent reads
      Connection closed
   and calls send_reminder {"customer": "ada"} once more, and reads
      the same
   and gives up.
   In the shop's books: 1 reminder.""",
        """\
   behind failwell wrap, the agent reads
      send_reminder failed part-way (the server stopped with exit code 137:
      Error: out of memory; what it had open, such as a login or a browser, is
      gone), so it may have been done already. Next: call list_reminders with
      {"customer":"ada"} to see whether it was.
   and calls list_reminders {"customer": "ada"}, reads 'reminders sent to ada:
   1', and knows.
   In the shop's books: 1 reminder.""",
    ]


def test_nothing_is_cut_at_80_columns(shown: str) -> None:
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert "recoverable" not in shown


WITHOUT_SDK = """\
import sys
import failwell.packages
failwell.packages._lacking = lambda extra, newest: iter(["mcp>=2.3,<3 (1.30.0 is installed)"])
sys.modules["mcp"] = None
from failwell.cli import main
sys.exit(main(["demo"]))
"""


def test_without_the_sdk_it_says_what_to_install() -> None:
    command = [sys.executable, "-c", WITHOUT_SDK]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60, text=True)
    needs = "the demo needs mcp>=2.3,<3 (1.30.0 is installed): pip install 'failwell[mcp]' 'mcp>=2.3'"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"failwell: {needs}\n")


def test_it_needs_no_utf_8() -> None:
    done = run(PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("ascii").endswith("error means that you paste.\n")


def test_it_takes_no_arguments() -> None:
    done = run("more")
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1
