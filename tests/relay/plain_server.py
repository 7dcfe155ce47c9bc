"""A small stdio server that needs nothing but Python, starts at once, and does what its tools are called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

TEXT = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TOOLS = [
    {"name": "pay_invoice", "inputSchema": TEXT, "annotations": {"destructiveHint": True}},
    {"name": "get_invoice", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "say", "inputSchema": {"type": "object"}},
]


def send(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def done(id: str) -> None:
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(id + "\n")


def call(id: object, name: str, given: dict[str, Any]) -> None:
    what = str(given.get("id", ""))
    if name == "pay_invoice":
        if what.startswith("before"):
            os._exit(7)
        done(what)
        if what.startswith("after"):
            print("Error: the bank is closed", file=sys.stderr, flush=True)
            os._exit(7)
        if what.startswith("cut"):
            sys.stdout.write('{"jsonrpc":"2.0","id":' + json.dumps(id) + ',"result":{"con')
            sys.stdout.flush()
            os._exit(7)
        if what.startswith("hang"):
            return
        if what.startswith(("refuse", "quote")):
            # The last word of an argument with blanks.
            quoted = "".join(word.split()[-1] for word in sys.argv[1:] if " " in word)
            said = "503 Service Unavailable" if what.startswith("refuse") else f"bad value {quoted} here"
            fail = [{"type": "text", "text": f"Error: {said}"}]
            send({"jsonrpc": "2.0", "id": id, "result": {"content": fail, "isError": True}})
            return
    if name == "get_invoice":
        with open(os.environ["LEDGER"], encoding="utf-8") as ledger:
            what = str(ledger.read().split().count(what))
    if name == "say":
        what = say(given)
    send({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": what}]}})


def say(given: dict[str, Any]) -> str:
    if "child" in given:
        # One that leaves the group, as daemons do.
        child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=given["child"]
        )
        return str(child.pid)
    if "bare" in given:
        # In our group, and without our environment.
        return str(subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], env={}).pid)
    if "start" in given:
        # Somebody who waits for what we say, in a session of its own.
        return str(subprocess.Popen(given["start"], stdin=subprocess.PIPE, start_new_session=True).pid)
    if "hidden" in given:
        # A daemon: neither in our group nor in our session, without our environment, and nobody's child.
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if (pid := os.fork()) == 0:
                for pipe in (0, 1, 2, reading, writing):
                    os.close(pipe)
                os.execve(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(600)"], {})
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.wait()
        return os.read(reading, 20).decode()
    if "noise" in given:
        print("listening on stdio", flush=True)
    if "flood" in given:
        sys.stderr.write("flood " * given["flood"])
        sys.stderr.flush()
    if "last" in given:
        # Whole, but for the end of the line.
        content = [{"type": "text", "text": "the last word"}]
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": given["last"], "result": {"content": content}}))
        sys.stdout.flush()
        os._exit(0)
    if "begun" in given:
        done(given["begun"])
    if "sleep" in given:
        time.sleep(given["sleep"])
    if "env" in given:
        return str(os.environ.get(given["env"]))
    for step in range(given.get("progress", 0)):
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "p", "progress": step}})
    if "large" in given:
        return "x" * int(given["large"])
    return str(os.getpid())


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        id, params = message.get("id"), message.get("params") or {}
        method = message.get("method")
        if method == "initialize":
            welcome = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "plain"}}
            send({"jsonrpc": "2.0", "id": id, "result": welcome})
        elif method == "tools/list":
            send({"jsonrpc": "2.0", "id": id, "result": {"tools": TOOLS}})
        elif method == "tools/call":
            call(id, params["name"], params.get("arguments") or {})
        elif id is not None and method:
            send({"jsonrpc": "2.0", "id": id, "result": {"echo": message}})


if __name__ == "__main__":
    main()
