"""`failwell demo`, as people run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import commands

FAILWELL = Path(sys.executable).with_name("failwell")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    return commands.run("demo", *arguments, environment={**plain, "PYTHONIOENCODING": "utf-8", **environment})


WITHOUT_SDK = "import sys; sys.modules['mcp'] = None; from failwell.cli import main; sys.exit(main(['demo']))"


def without_sdk() -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_SDK],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
        check=False,
        timeout=60,
    )


def test_an_agent_gets_through_with_failwell_and_not_without() -> None:
    done = run()
    assert (done.returncode, done.stderr) == (0, b"")
    first, *obstacles, counts, last = done.stdout.decode().split("\n\n")
    assert first == "One agent, one server, twice: as the plain SDK runs it, and with one line of Failwell."
    assert counts == "plain: 0 of 4 got through\nwith Failwell: 4 of 4 got through"
    assert last.startswith("Next: failwell example")
    titles, texts = zip(*(obstacle.split("\n", 1) for obstacle in obstacles), strict=True)
    assert titles == (
        "1. An argument with a typo",
        "2. A step that was left out",
        "3. Somebody else holds the file",
        "4. A database that is busy",
    )
    for text in texts:
        plain, ours = text.split("   with Failwell\n")
        assert "agent: It is unstructured, so nothing tells how to go on" in plain
        assert "reserved" not in plain
        assert ours.endswith('agent: reserve(agent_id="bob", pattern="src/app.py"): reserved')
    assert "agent: Ask ada to release it." in texts[2]


def test_on_a_terminal_they_stand_side_by_side() -> None:
    done = run(TTY_COMPATIBLE="1", FORCE_COLOR="1", COLUMNS="140")
    assert done.returncode == 0
    assert any("plain" in line and "with Failwell" in line for line in done.stdout.decode().splitlines()[2:])


def test_without_the_sdk_it_shows_the_same_failures_before_and_after() -> None:
    done = without_sdk()
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split("\n\n") == [
        "What a model is told when a tool fails, today and with Failwell.",
        """\
1. A record that does not exist
   today
     Error executing tool get_project
     agent: It is unstructured, so nothing tells how to go on: Error executing tool get_project
   with Failwell (xml)
     <tool_error code="NOT_FOUND" severity="error">
       <message>Project 'p_1' does not exist.</message>
       <recovery>Call projects.list first to get valid ids, then retry.</recovery>
       <available_actions>
         <action>projects.list</action>
       </available_actions>
     </tool_error>
     agent: It does not exist; try projects.list.""",
        """\
2. An argument with a typo
   today
     1 validation error for searchArguments
     limt
       Unexpected keyword argument [type=unexpected_keyword_argument, input_value=5, input_type=int]
     agent: It is unstructured, so nothing tells how to go on: 1 validation error for searchArguments limt \
Unexpected keyword argument [type=unexpected_keyword_argument, input_value=5, input_type=int]
   with Failwell (text)
     There is no argument limt. Next: call search with {"limit": 5}.
     agent: The arguments are wrong; the patch says how.""",
        """\
3. A rate limit
   today
     Error calling tool 'post': 429
     agent: It is unstructured, so nothing tells how to go on: Error calling tool 'post': 429
   with Failwell (typed)
     {"type":"TRANSIENT","message":"Too many requests.","recoverable":true,"data":{"retry_after":30}}
     agent: Rate Limited: the same call may work in 30 seconds.""",
        """\
4. Somebody else holds it
   today
     Error executing tool reserve
     agent: It is unstructured, so nothing tells how to go on: Error executing tool reserve
   with Failwell (typed)
     {"type":"CONFLICT","message":"src/*.py is reserved.","recoverable":true,"data":{"conflicts":\
[{"agent_id":"agent-2","pattern":"src/*.py","held_by":"agent-2"}]}}
     agent: Ask agent-2 to release it.""",
        """\
5. A payment that may have gone through
   today
     Error executing tool pay_invoice
     agent: It is unstructured, so nothing tells how to go on: Error executing tool pay_invoice
   with Failwell (text)
     The call failed part-way (The bank did not answer in time), so it may have been done already. \
Next: call get_invoice with {"id":"inv_1"} to see whether it was.
     agent: The server cannot tell whether the call took effect; get_invoice tells.""",
        "Next, on a real server: pip install 'failwell[mcp]', then failwell demo\n",
    ]


def test_it_needs_no_utf_8() -> None:
    done = run(PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("ascii").endswith("failwell explain --help\n")


def test_it_takes_no_arguments() -> None:
    done = run("more")
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1
