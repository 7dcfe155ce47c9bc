"""Published servers of other people, alone and behind `failwell wrap`: every message held against the other one.

Asked are the handshake, all lists, a method that nobody knows, each tool without arguments, and a tool that does not
exist. What is no failed call must be the same, byte for byte. Of failed calls it is counted how many name the next
step. The exit code is 1 when a message differs.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from failwell.model import is_named_read
from field_servers import SERVERS, NotInstalled, Server

CANONICAL = "io.github.failwell/tool-error"
NEXT = (
    "Next:",
    "Call ",
    "call ",
    "Wait ",
    "Ask ",
    "ask ",
    "Did you mean",
    "Tell ",
    "Correct ",
    "Look ",
    "Fix ",
    "Use ",
)


# What a relay starts knows by one variable that it was started by it.
_SHOWS_ITS_ENVIRONMENT = ("tools/call get-env",)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="only these servers")
    asked = parser.parse_args()
    differs = 0
    for server in SERVERS:
        if asked.names and server.name not in asked.names:
            continue
        try:
            line, found = _tried(server)
        except (NotInstalled, AssertionError, OSError) as problem:
            print(f"{server.name}: not tried: {problem}", flush=True)
            continue
        print(line, flush=True)
        for each in found:
            print(f"  {each}", flush=True)
        differs += len(found)
    return bool(differs)


def _tried(server: Server) -> tuple[str, list[str]]:
    said = []
    # Alone twice: what differs there, such as a time, is the server's own doing.
    for wrapped in (False, False, True):
        with tempfile.TemporaryDirectory() as folder:
            here = Path("/tmp") / f"field-relay-{server.name}"
            here.mkdir(exist_ok=True)
            server.prepare(here)
            command = server.command_line(here)
            relay = [sys.executable, "-m", "failwell", "wrap", "--validate", "off", "--"] if wrapped else []
            # Some list things in the order of a set.
            env = {**os.environ, **server.environment(here), "PYTHONHASHSEED": "0"}
            said.append(_conversation([*relay, *command], env, folder))
    direct, again, through = said
    found, failed, named = [], 0, 0
    for question, one in direct.items():
        other = through.get(question, b"")
        if again.get(question) != one or question in _SHOWS_ITS_ENVIRONMENT:
            continue
        message = json.loads(one)
        result = message.get("result")
        is_call = question.startswith("tools/call")
        if is_call and ("error" in message or (isinstance(result, dict) and result.get("isError"))):
            failed += 1
            told = json.loads(other or b"{}").get("result", {}).get("content") or [{}]
            named += any(word in str(told[0].get("text")) for word in NEXT)
        elif one != other and not (is_call and CANONICAL.encode() in other):
            found.append(f"{question}: {one[:150]!r} became {other[:150]!r}")
    return f"{server.name}: {len(direct)} messages, {failed} failed calls, {named} name the next step", found


def _conversation(command: list[str], env: dict[str, str], folder: str) -> dict[str, bytes]:
    """All answers of a server, by what was asked."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        cwd=folder,
        bufsize=0,
    )
    answers: dict[str, bytes] = {}
    rest = b""

    def ask(id: int, method: str, params: dict[str, Any] | None = None, label: str = "") -> Any:
        nonlocal rest
        assert process.stdin is not None
        assert process.stdout is not None
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        until = time.monotonic() + 40
        while True:
            while b"\n" not in rest:
                assert select.select([process.stdout], [], [], max(0, until - time.monotonic()))[0], f"{method} hangs"
                data = os.read(process.stdout.fileno(), 1 << 16)
                assert data, f"it ended at {method}"
                rest += data
            line, _, rest = rest.partition(b"\n")
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if answer.get("id") == id and "method" not in answer:
                answers[label or method] = line
                return answer.get("result") or {}

    try:
        info = {"name": "field", "version": "1"}
        ask(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        assert process.stdin is not None
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        tools = ask(1, "tools/list").get("tools", [])
        for number, method in enumerate(("resources/list", "prompts/list", "ping", "vendor/nothing"), 2):
            ask(number, method)
        calls = [
            tool["name"] for tool in tools if tool.get("inputSchema", {}).get("required") or is_named_read(tool["name"])
        ]
        for number, name in enumerate([*calls[:8], "no_such_tool_at_all"], 20):
            ask(number, "tools/call", {"name": name, "arguments": {}}, f"tools/call {name}")
    finally:
        process.kill()
        process.communicate()
    return answers


if __name__ == "__main__":
    sys.exit(main())
