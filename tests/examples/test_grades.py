"""Each example gets the best grade, as anybody would ask for it on the command line."""

from __future__ import annotations

import json
import socket
import subprocess
import time

import pytest

import commands
from failwell.examples import EXAMPLES

# The tools of a group both read and write, so that none is called with valid arguments unless that is allowed.
ALLOWED = {"workspace": ["--allow-writes"]}


def grade(*target: str) -> str:
    done = subprocess.run(
        commands.failwell("check", "--output", "json=-", *target),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: str = json.loads(done.stdout)["grade"]
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("name", EXAMPLES)
def test_on_stdio(name: str) -> None:
    assert grade(*ALLOWED.get(name, []), "--", *commands.failwell("example", name)) == "A+"


@pytest.mark.thorough
@pytest.mark.parametrize("name", EXAMPLES)
def test_over_http(name: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        commands.failwell("example", name, "--http", str(port)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(300):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        assert grade(*ALLOWED.get(name, []), f"http://127.0.0.1:{port}/mcp") == "A+"
    finally:
        server.kill()
        server.wait()
