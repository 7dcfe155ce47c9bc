"""Servers that no checker may stumble over: hand-written JSON-RPC, each with one thing that servers are known to do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar, Final

Json = dict[str, Any]
_TEXT: Final = {"type": "object", "properties": {"text": {"type": "string", "examples": ["a"]}}, "required": ["text"]}
_READ: Final = {"readOnlyHint": True}
_VERSIONS: Final = ("2025-11-25", "2026-07-28")


def tool(name: str, schema: Any = _TEXT, **more: Any) -> Json:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, "annotations": _READ, **more}


class Plain:
    """A server of both eras, by hand, with nothing wrong: a failure is a sentence."""

    tools: ClassVar[list[Json]] = [tool("echo")]

    def start(self) -> None:
        pass

    def run(self) -> None:
        self.start()
        while line := sys.stdin.buffer.readline():
            try:
                frame = json.loads(line)
            except ValueError:
                self.junk(line)
                continue
            self.frame(frame)

    def junk(self, line: bytes) -> None:
        self.send({"id": None, "error": {"code": -32700, "message": "Parse error: send one JSON object a line."}})

    def frame(self, frame: Any) -> None:
        fits = isinstance(frame, dict) and frame.get("jsonrpc") == "2.0" and isinstance(frame.get("method"), str)
        if not fits or not isinstance(frame.get("id", 0), (int, str)):
            self.send(
                {"id": None, "error": {"code": -32600, "message": "Invalid request: send a JSON-RPC 2.0 object."}}
            )
        elif "id" in frame:
            self.answer(frame["id"], self.reply(frame["method"], frame.get("params", {})))

    def answer(self, number: Any, reply: Json) -> None:
        self.send({"id": number, **reply})

    def send(self, frame: Json) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    def write(self, line: bytes) -> None:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

    def reply(self, method: str, params: Any) -> Json:
        named = {"name": "nasty", "version": "1"}
        if not isinstance(params, dict) or not isinstance(params.get("arguments", {}), dict):
            return {"error": {"code": -32602, "message": "Invalid params: params and arguments must be objects."}}
        meta = params.get("_meta")
        version = meta.get("io.modelcontextprotocol/protocolVersion") if isinstance(meta, dict) else None
        if version not in (None, *_VERSIONS):
            told = {"supported": list(_VERSIONS), "requested": version}
            return {"error": {"code": -32022, "message": "Unsupported protocol version.", "data": told}}
        if method == "initialize":
            return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": named}}
        if method == "server/discover":
            stamp = {"io.modelcontextprotocol/serverInfo": named}
            return {"result": {"supportedVersions": list(_VERSIONS), "capabilities": {"tools": {}}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": stamp}}  # fmt: skip
        if method == "ping":
            return {"result": {}}
        if method == "tools/list":
            return {"result": self.listed(params)}
        if method == "tools/call":
            return {"result": {"resultType": "complete", **self.called(params)}}
        return {"error": {"code": -32601, "message": f"There is no method {method[:40]!r}."}}

    def listed(self, params: Json) -> Json:
        return {"tools": self.tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    def called(self, params: Json) -> Json:
        names = [tool["name"] for tool in self.tools]
        arguments = params.get("arguments", {})
        if params.get("name") not in names:
            return self.refused(f"There is no such tool. Call one of {', '.join(map(str, names[:5]))} instead.")
        if other := next((name for name in arguments if name != "text"), None):
            return self.refused(f"There is no argument {other[:30]!r}: send text alone. Nothing was done.")
        if not isinstance(arguments.get("text"), str):
            return self.refused(
                'The argument text must be a string such as "a". Call again with one. Nothing was done.'
            )
        return {"content": [{"type": "text", "text": arguments["text"][:100]}], "isError": False}

    def refused(self, words: str) -> Json:
        return {"content": [{"type": "text", "text": words}], "isError": True}


class Prints(Plain):
    """Logs to stdout, before and between its answers."""

    def start(self) -> None:
        self.write(b"nasty 1.0\n\n[info] listening\n{not json}\n[1, 2]\n")

    def answer(self, number: Any, reply: Json) -> None:
        self.write(b"DEBUG answering\n")
        super().answer(number, reply)


class Mute(Plain):
    """Never answers anything."""

    def send(self, frame: Json) -> None:
        pass


class MuteInCalls(Plain):
    """Lists its tools and never answers a call."""

    def answer(self, number: Any, reply: Json) -> None:
        if "content" not in reply.get("result", {}):
            super().answer(number, reply)


class Double(Plain):
    """Answers everything twice, the handshake too."""

    def send(self, frame: Json) -> None:
        super().send(frame)
        super().send(frame)


class Disorder(Plain):
    """Keeps each answer to a call until another request has been answered, or its input rests."""

    held: ClassVar[list[tuple[Any, Json]]] = []

    def answer(self, number: Any, reply: Json) -> None:
        if "content" in reply.get("result", {}) and not self.held:
            self.held.append((number, reply))
            signal.signal(signal.SIGALRM, lambda *_: self.release())
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            return
        super().answer(number, reply)
        self.release()

    def release(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        while self.held:
            super().answer(*self.held.pop())


class NoToken(Plain):
    """Does not start without credentials."""

    def start(self) -> None:
        if "NASTY_TOKEN" not in os.environ:
            sys.exit("Error: NASTY_TOKEN is not set. Create a token at https://nasty.example/tokens and set it.")


class Unauthorized(Plain):
    """Starts, and refuses every call for want of credentials."""

    def called(self, params: Json) -> Json:
        return self.refused(
            "401: not signed in. Ask the user to set NASTY_TOKEN for this server; calling again will not help."
        )


class Crowd(Plain):
    """Has two thousand tools."""

    tools = [tool(f"echo_{number}") for number in range(2_000)]  # noqa: RUF012


class Recursive(Plain):
    """Has schemas that hold themselves."""

    tools = [  # noqa: RUF012
        tool("tree", {"type": "object", "properties": {"text": {"type": "string"}, "node": {"$ref": "#/$defs/n"}}, "required": ["text"], "$defs": {"n": {"type": "object", "properties": {"child": {"$ref": "#/$defs/n"}}, "required": ["child"]}}}),
        tool("ring", {"$ref": "#"}),
        tool("pair", {"type": "object", "properties": {"text": {"$ref": "#/$defs/a"}}, "required": ["text"], "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        tool("rows", {"type": "object", "properties": {"text": {"type": "array", "items": {"$ref": "#"}}}, "required": ["text"]}),
    ]  # fmt: skip


class Invalid(Plain):
    """Has schemas that are none, and tools that are hardly tools."""

    tools = [  # noqa: RUF012
        tool("typo", {"type": "objekt", "properties": {"text": {"type": "strin"}}, "required": ["text"]}),
        tool("lists", {"type": "object", "properties": ["text"], "required": "text"}),
        tool("nothing", None),
        tool("word", "object"),
        tool("regex", {"type": "object", "properties": {"text": {"type": "string", "pattern": "(["}}, "required": ["text"]}),
        tool("bounds", {"type": "object", "properties": {"text": {"type": "integer", "minimum": 9, "maximum": 1}}, "required": ["text"]}),
        tool("away", {"type": "object", "properties": {"text": {"$ref": "https://nasty.example/schema.json"}}, "required": ["text"]}),
        tool("lost", {"type": "object", "properties": {"text": {"$ref": "#/$defs/gone"}}, "required": ["text"]}),
        tool("ghost", {"type": "object", "required": ["text"]}),
        tool("never", {"type": "object", "properties": {"text": False}, "required": ["text"]}),
        tool("slow", {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$", "minLength": 60}}, "required": ["text"]}),
        {"name": "bare"},
        {"name": 7, "inputSchema": _TEXT},
        tool(""),
        tool("same"),
        tool("same"),
        tool("naïve tool 🙂"),
        "not a tool",
    ]  # fmt: skip

    def called(self, params: Json) -> Json:
        return self.refused("The argument text is needed, a string. Nothing was done.")


class Endless(Plain):
    """Its list has always one more page."""

    def listed(self, params: Json) -> Json:
        return {**super().listed(params), "nextCursor": "more"}


class NoList(Plain):
    """Says that it has tools, and cannot list them."""

    def reply(self, method: str, params: Json) -> Json:
        if method == "tools/list":
            return {"error": {"code": -32603, "message": "database is locked"}}
        return super().reply(method, params)


class NoTools(Plain):
    """Has none."""

    tools = []  # noqa: RUF012


class Fragile(Plain):
    """Ends at a frame that it cannot read."""

    def junk(self, line: bytes) -> None:
        sys.exit(1)

    def frame(self, frame: Any) -> None:
        if not isinstance(frame, dict) or frame.get("jsonrpc") != "2.0":
            sys.exit(1)
        super().frame(frame)


class Flood(Plain):
    """Answers a wrong call with a line of forty megabytes."""

    def refused(self, words: str) -> Json:
        return super().refused("x" * 40_000_000)


class Torrent(Plain):
    """Writes without end after a wrong call."""

    def refused(self, words: str) -> Json:
        while True:
            self.write(b"x" * 65_536)


class Drip(Plain):
    """Writes a line a moment, for ever, instead of an answer to a wrong call."""

    def refused(self, words: str) -> Json:
        while True:
            self.send({"method": "notifications/message", "params": {"level": "info", "data": "working"}})
            time.sleep(0.05)


class NoUtf8(Plain):
    """Answers a wrong call with bytes that are no text."""

    def refused(self, words: str) -> Json:
        self.write(
            b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "\xff\xfe"}}\n'
        )
        return super().refused(words)


class Shapes(Plain):
    """Answers a wrong call with results of every shape but the right one."""

    shapes: ClassVar[list[Any]] = [
        None,
        "ok",
        7,
        [],
        {},
        {"content": "text"},
        {"content": [7]},
        {"content": None, "isError": "yes"},
        {"isError": True},
    ]
    count = 0

    def answer(self, number: Any, reply: Json) -> None:
        if reply.get("result", {}).get("isError"):
            self.count += 1
            reply = {"result": self.shapes[self.count % len(self.shapes)]}
        super().answer(number, reply)


class Errors(Plain):
    """Answers a wrong call with protocol errors of every shape but the right one."""

    shapes: ClassVar[list[Any]] = [
        None,
        "no",
        {},
        {"code": "E_NO"},
        {"code": -32603},
        {"code": 1.5, "message": 7},
        {"message": "no"},
        [],
    ]
    count = 0

    def answer(self, number: Any, reply: Json) -> None:
        if reply.get("result", {}).get("isError"):
            self.count += 1
            reply = {"error": self.shapes[self.count % len(self.shapes)]}
        super().answer(number, reply)


class Deep(Plain):
    """Answers a wrong call with a hundred thousand brackets."""

    def answer(self, number: Any, reply: Json) -> None:
        if reply.get("result", {}).get("isError"):
            deep = b"[" * 100_000 + b"]" * 100_000
            self.write(
                b'{"jsonrpc": "2.0", "id": '
                + json.dumps(number).encode()
                + b', "result": {"content": '
                + deep
                + b"}}\n"
            )
            return
        super().answer(number, reply)


class Asks(Plain):
    """Sends requests of its own in the middle of a call, with ids that the client uses too."""

    def answer(self, number: Any, reply: Json) -> None:
        if "content" in reply.get("result", {}):
            self.send({"id": number, "method": "ping"})
            self.send({"id": "s1", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
            self.send({"id": "s2", "method": "roots/list"})
        super().answer(number, reply)


class Complains(Plain):
    """Writes ten megabytes to stderr before it answers."""

    def start(self) -> None:
        for _ in range(1_000):
            sys.stderr.write("warning: " + "w" * 10_000 + "\n")


class Late(Plain):
    """Takes four seconds to start."""

    def start(self) -> None:
        time.sleep(4)


class Clings(Plain):
    """Does not end when it is told to, and leaves a child behind."""

    def start(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
        Path(os.environ.get("NASTY_CHILD", "child.pid")).write_text(str(child.pid), encoding="utf-8")

    def run(self) -> None:
        super().run()
        time.sleep(600)


class Detaches(Plain):
    """Leaves a child behind that has a session of its own and nothing in its environment."""

    def start(self) -> None:
        child = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"],
            stdin=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )
        Path(os.environ.get("NASTY_CHILD", "child.pid")).write_text(str(child.pid), encoding="utf-8")


class Deaf(Plain):
    """Closes its output and stays."""

    def refused(self, words: str) -> Json:
        os.close(1)
        time.sleep(600)
        return super().refused(words)


class Exits(Plain):
    """Is no server at all: prints help, and ends well."""

    def start(self) -> None:
        print("usage: nasty [--help]")
        sys.exit(0)


class Scribbler(Plain):
    """Writes down every call of a tool, whatever was sent, and says that it went well."""

    file = Path("scribbled.txt")
    tools = [  # noqa: RUF012
        {"name": "save", "description": "Saves a text.", "inputSchema": _TEXT},
        {"name": "get_note", "description": "Gets a note.", "inputSchema": _TEXT},
        {"name": "wipe", "description": "Wipes everything.", "inputSchema": {"type": "object"}},
        {
            "name": "reset",
            "description": "Resets.",
            "inputSchema": {"type": "object", "properties": {"hard": {"type": "boolean"}}},
        },
        tool("store", annotations={"readOnlyHint": False}),
        tool("purge", {"type": "object"}, annotations={"readOnlyHint": False, "destructiveHint": True}),
        tool("both", annotations={"readOnlyHint": True, "destructiveHint": True}),
        tool("show", annotations={"readOnlyHint": True}),
    ]

    def called(self, params: Json) -> Json:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([params.get("name"), params.get("arguments")]) + "\n")
        return {"content": [{"type": "text", "text": "Done."}], "isError": False}


NASTY: Final[dict[str, type[Plain]]] = {
    kind.__name__.lower(): kind
    for kind in (
        Plain, Prints, Mute, MuteInCalls, Double, Disorder, NoToken, Unauthorized, Crowd, Recursive, Invalid, Endless, NoList,
        NoTools, Fragile, Flood, Torrent, Drip, NoUtf8, Shapes, Errors, Deep, Asks, Complains, Late, Clings, Detaches, Deaf, Exits, Scribbler,
    )
}  # fmt: skip

if __name__ == "__main__":
    made = NASTY[sys.argv[1]]()
    if len(sys.argv) > 2:
        Scribbler.file = Path(sys.argv[2])
    made.run()
