"""Every message that comes through the relay is the one that comes without it, byte for byte, in both eras."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playbook import MODERN

APP = str(Path(__file__).with_name("fidelity_app.py"))
WRAP = [sys.executable, "-m", "failwell", "wrap", "--"]
LEGACY: list[tuple[str, Any]] = [
    ("tools/list", None),
    ("tools/call", {"name": "echo", "arguments": {"text": "hi — «there»", "number": 2}}),
    ("tools/call", {"name": "table", "arguments": {"rows": 300}}),
    ("tools/call", {"name": "slow", "arguments": {}, "_meta": {"progressToken": "p"}}),
    ("resources/list", None),
    ("resources/read", {"uri": "data://thing"}),
    ("resources/read", {"uri": "data://none"}),
    ("prompts/get", {"name": "ask", "arguments": {"name": "you"}}),
    ("prompts/get", {"name": "ask", "arguments": {}}),
    ("resources/templates/list", None),
    ("ping", None),
    ("vendor/thing", {"x": [1, None, 1.50]}),
    ("tools/call", {"arguments": {}}),
    ("logging/setLevel", {"level": "debug"}),
    # The server asks back before it answers.
    ("tools/call", {"name": "ask_user", "arguments": {}}),
]
CALLS = [number for number, (method, asked) in enumerate(LEGACY, 1) if method == "tools/call" and "name" in asked]
# The same server behind an address.
REMOTE = [("mcpserver", False, "url"), ("mcpserver", True, "url")]
LANES = [("mcpserver", False), ("fastmcp", False), ("lowlevel", False), ("mcpserver", True)]


def conversation(process: subprocess.Popen[bytes], modern: bool) -> list[bytes]:
    """All that a server says, in answer to the same messages."""
    heard: list[bytes] = []
    rest = b""

    def ask(id: int, method: str, params: Any) -> None:
        nonlocal rest
        given = {**(params or {})}
        if modern:
            given["_meta"] = {**MODERN, **given.get("_meta", {})}
        message = {"jsonrpc": "2.0", "id": id, "method": method, **({"params": given} if given else {})}
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(message).encode() + b"\n")
        while True:
            while b"\n" not in rest:
                assert select.select([process.stdout], [], [], 60)[0], f"no answer to {method}"
                rest += os.read(process.stdout.fileno(), 1 << 16)
            line, _, rest = rest.partition(b"\n")
            heard.append(line)
            told = json.loads(line)
            if told.get("id") == id and "method" not in told:
                return
            if "id" in told and "method" in told:
                said = {"action": "accept", "content": {"name": "Ann — «she»"}}
                reply = {"jsonrpc": "2.0", "id": told["id"], "result": said}
                process.stdin.write(json.dumps(reply).encode() + b"\n")

    if modern:
        ask(0, "server/discover", None)
    else:
        info = {"name": "fidelity", "version": "1"}
        ask(
            0,
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}, "elicitation": {}}, "clientInfo": info},
        )
        assert process.stdin is not None
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    for number, (method, params) in enumerate(LEGACY, 1):
        ask(number, method, params)
    process.communicate(timeout=60)
    return heard


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, APP, "mcpserver", str(port)], stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def said(address: str) -> dict[tuple[str, bool, bool | str], list[bytes]]:
    # All at once: what takes the time is that they start.
    lanes = [(framework, modern, wrapped) for framework, modern in LANES for wrapped in (False, True)]
    running = {
        lane: subprocess.Popen(
            [*(WRAP if lane[2] else ()), sys.executable, APP, lane[0]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        )
        for lane in lanes
    }  # fmt: skip
    found: dict[tuple[str, bool, bool | str], list[bytes]] = {
        lane: conversation(process, lane[1]) for lane, process in running.items()
    }
    # By now that server has started, too.
    for remote in REMOTE:
        process = subprocess.Popen(
            [*WRAP[:-1], address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        found[remote] = conversation(process, remote[1])
    return found


@pytest.mark.parametrize(("framework", "modern"), LANES)
def test_the_same_bytes_come_with_the_relay_and_without(
    said: dict[tuple[str, bool, bool | str], list[bytes]], framework: str, modern: bool
) -> None:
    direct, wrapped = said[framework, modern, False], said[framework, modern, True]
    failed = [number for number, line in enumerate(direct) if b'"isError":true' in line]
    assert len(direct) == len(wrapped)
    for number, (one, other) in enumerate(zip(direct, wrapped, strict=True)):
        message = json.loads(one)
        is_call = message.get("id") in CALLS
        if number in failed or (is_call and "error" in message):
            # A failed call is what the relay is for.
            assert json.loads(other)["result"]["isError"] is True
        else:
            assert other == one


@pytest.mark.parametrize(("framework", "modern", "where"), REMOTE)
def test_the_same_messages_come_from_behind_an_address(
    said: dict[tuple[str, bool, bool | str], list[bytes]], framework: str, modern: bool, where: str
) -> None:
    direct, wrapped = said[framework, modern, False], said[framework, modern, where]
    assert [_compared(line) for line in wrapped] == [_compared(line) for line in direct]


def _compared(line: bytes) -> Any:
    """A message, of a failed call only that it is one: that is what the relay is for."""
    message = json.loads(line)
    if "method" in message:
        return {**message, "id": None}
    if message.get("id") in CALLS and ("error" in message or message["result"].get("isError")):
        return message["id"], "failed"
    return message
