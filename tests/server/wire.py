"""Raw JSON-RPC to a server process, over both transports and in both protocol eras: no SDK in between."""

from __future__ import annotations

import base64
import json
import os
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

APP: Final = Path(__file__).with_name("app.py")
SERVERS: Final = ("mcpserver", "lowlevel", "fastmcp")
TRANSPORTS: Final = ("stdio", "http")
LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
ERAS: Final = (LEGACY, MODERN)
# Only against what never ends; nothing is waited for so long.
PATIENCE: Final = 300.0
CLIENT: Final = {"name": "matrix", "version": "1"}
# The parameter that modern HTTP repeats in a header.
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Answer(NamedTuple):
    """What came back: its bytes as text, and the value without its id."""

    raw: str
    value: dict[str, Any]
    status: int = 200


_ID: Final = re.compile(r"(correlation_?[iI]d\\*\":\s*\\*\"|Reference: )[0-9a-f]{12}")
_TIME: Final = re.compile(r"(elapsed_ms\\*\":\s*)\d+")


def settled(line: str) -> str:
    """An answer with what differs each time made the same: the id by which the log knows a failure, and the time."""
    return _TIME.sub(r"\g<1>0", _ID.sub(r"\g<1>000000000000", line))


class NoAnswer(Exception):
    """The server is gone, or said nothing in time."""


class Process:
    """A server of `app.py`: what it reads, what it writes, and what it complains about."""

    reader: IO[bytes]
    writer: IO[bytes]
    errors: Path
    _port = 0

    @property
    def port(self) -> int:
        """Where it listens: the first line it prints."""
        if not self._port:
            line = self.reader.readline().strip()
            if not line:
                raise NoAnswer(f"The server did not start.\n{self.complaint()}")
            self._port = int(line)
        return self._port

    def complaint(self) -> str:
        return self.errors.read_text(errors="replace")[-3_000:]

    def end(self) -> None:
        """Its input ends, and so does it; if it does not, it is made to."""
        raise NotImplementedError

    def close(self) -> None:
        self.end()
        self.reader.close()


class Fresh(Process):
    """A Python process of its own."""

    def __init__(self, errors: Path, *arguments: str, python: str = sys.executable) -> None:
        self.errors = errors
        with errors.open("wb") as file:
            self._child = subprocess.Popen(
                [python, str(APP), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file
            )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self.reader, self.writer = self._child.stdout, self._child.stdin

    def end(self) -> None:
        with suppress(OSError):
            self.writer.close()
        try:
            self._child.wait(1)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


class Forked(Process):
    """A child of the nursery, which has imported everything already."""

    def __init__(self, door: Path, errors: Path, *arguments: str) -> None:
        self.errors = errors
        errors.touch()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(door))
        self.reader, self.writer = self._socket.makefile("rb"), self._socket.makefile("wb")
        self.writer.write(json.dumps({"arguments": arguments, "errors": str(errors)}).encode() + b"\n")
        self.writer.flush()
        self._pid = int(self.reader.readline())

    def end(self) -> None:
        if self._socket.fileno() < 0:
            return
        with suppress(OSError):
            self.writer.close()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        readable, _, _ = select.select([self._socket], [], [], 1)
        if not readable or self._socket.recv(1, socket.MSG_PEEK):
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        super().close()
        self._socket.close()


class Nursery:
    """Starts servers, and ends with the one who made it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._parent: subprocess.Popen[bytes] | None = None
        self.kept: dict[str, tuple[ExitStack, list[Client]]] = {}

    def start(self, *arguments: str, fresh: bool = False) -> Process:
        self._count += 1
        errors = self._folder / f"{self._count}.log"
        if fresh:
            return Fresh(errors, *arguments)
        door = self._folder / "door"
        if self._parent is None:
            command = [sys.executable, str(APP), "nursery", str(door)]
            self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self._parent.stdout is not None
            assert self._parent.stdout.readline() == b"ready\n"
        return Forked(door, errors, *arguments)

    def close(self) -> None:
        for stack, _ in self.kept.values():
            stack.close()
        if self._parent is not None:
            self._parent.communicate()


Json = dict[str, Any]
User = Callable[[Json], Json]
"""Answers a question: from its parameters to the result of `elicitation/create`."""


def nobody(question: Json) -> Json:
    raise AssertionError(f"Nobody expected to be asked: {question}")


class Client:
    """Speaks one era. `ask` gives the answer to a request; the handshake has been made.

    `user` answers the questions that come up in a call, which are kept as they came.
    """

    opening: Answer

    def __init__(
        self,
        process: Process,
        era: str,
        info: Json | None = None,
        capabilities: Json | None = None,
        user: User = nobody,
    ) -> None:
        self.process = process
        self.era = era
        self.info = info or CLIENT
        self.capabilities = capabilities or {}
        self.user = user
        self.questions: list[Json] = []
        self.settled: Callable[[str], str] = settled

    def open(self) -> None:
        if self.era == LEGACY:
            params = {"protocolVersion": LEGACY, "capabilities": self.capabilities, "clientInfo": self.info}
            self.opening = self.ask("initialize", params, id="opening")
            self.notify("notifications/initialized")
        else:
            self.opening = self.ask("server/discover", {}, id="opening")

    def reopen(self, *, info: Json | None = None, capabilities: Json | None = None) -> None:
        """Connect again as somebody else."""
        self.info, self.capabilities = info or CLIENT, capabilities or {}
        self.open()

    def ask(self, method: str, params: dict[str, Any] | None, *, id: str, patience: float = PATIENCE) -> Answer:
        return self.exchange(json.dumps(self.request(method, params, id)), id, patience=patience)

    def request(self, method: str, params: dict[str, Any] | None, id: str) -> dict[str, Any]:
        frame: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if self.era == MODERN:
            envelope = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": self.info,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            }
            params = {**(params or {}), "_meta": {**(params or {}).get("_meta", {}), **envelope}}
        if params is not None:
            frame["params"] = params
        return frame

    def call(self, name: str, arguments: Json | None = None, *, meta: Json | None = None, id: str = "call") -> Answer:
        """The answer to a call, after all questions have been answered."""
        params: Json = {"name": name, "arguments": arguments or {}}
        if meta is not None:
            params["_meta"] = meta
        while True:
            answer = self.ask("tools/call", params, id=id)
            result = answer.value.get("result", {})
            if result.get("resultType") != "input_required":
                return answer
            self.questions.append(result)
            answered = {key: self.user(asked["params"]) for key, asked in result.get("inputRequests", {}).items()}
            params = {**params, "inputResponses": answered}
            if "requestState" in result:
                params["requestState"] = result["requestState"]

    def answered(self, asked: Json) -> str:
        """The frame that answers a question which came in the middle of a call."""
        self.questions.append({name: value for name, value in asked.items() if name != "id"})
        return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": self.user(asked["params"])})

    def notify(self, method: str) -> None:
        raise NotImplementedError

    def exchange(self, text: str, id: str, *, patience: float = PATIENCE) -> Answer:
        """The answer with this id to a frame that is sent as it is."""
        raise NotImplementedError

    def close(self) -> None:
        self.process.close()


class Stdio(Client):
    def __init__(self, process: Process, era: str, *more: Any) -> None:
        super().__init__(process, era, *more)
        self.passed: list[dict[str, Any]] = []
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):
            for line in self.process.reader:
                self._lines.put(line)
        self._lines.put(None)

    def send(self, text: str) -> None:
        try:
            self.process.writer.write(text.encode() + b"\n")
            self.process.writer.flush()
        except OSError as exc:
            raise NoAnswer(f"The server is gone.\n{self.process.complaint()}") from exc

    def notify(self, method: str) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method}))

    def exchange(self, text: str, id: str, *, patience: float = PATIENCE) -> Answer:
        self.send(text)
        while True:
            try:
                line = self._lines.get(timeout=patience)
            except queue.Empty as exc:
                raise NoAnswer(f"No answer to {id!r}.\n{self.process.complaint()}") from exc
            if line is None:
                self._lines.put(None)
                raise NoAnswer(f"The server ended at {id!r}.\n{self.process.complaint()}")
            told = self.settled(line.decode().strip())
            value = json.loads(told)
            if value.get("id") == id and "method" not in value:
                del value["id"]
                return Answer(told, value)
            if value.get("method") == "elicitation/create":
                self.send(self.answered(value))
                continue
            # A notification, or the late answer to a request that was given up.
            self.passed.append(value)

    def close(self) -> None:
        self.process.end()
        self._reader.join()
        super().close()


class Http(Client):
    def __init__(self, process: Process, era: str, *more: Any) -> None:
        super().__init__(process, era, *more)
        self._connection = HTTPConnection("127.0.0.1", process.port, timeout=PATIENCE)
        self._session: str | None = None
        self._path = "/mcp"
        self._spoken = era

    def open(self) -> None:
        self._session, self._spoken = None, self.era
        super().open()

    def notify(self, method: str) -> None:
        if self.era == LEGACY:
            # An older server has answered with the version that it speaks.
            self._spoken = self.opening.value.get("result", {}).get("protocolVersion", LEGACY)
        self._post({"method": method}, json.dumps({"jsonrpc": "2.0", "method": method}))

    def exchange(self, text: str, id: str, *, patience: float = PATIENCE) -> Answer:
        response, body = self._post(json.loads(text), text)
        lines = body.splitlines()
        if response.headers.get_content_type() == "text/event-stream":
            lines = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
        for line in lines:
            told = self.settled(line)
            value = json.loads(told) if told else {}
            if value.get("id") == id and "method" not in value:
                del value["id"]
                return Answer(told, value, response.status)
        raise NoAnswer(f"No answer to {id!r}: {response.status} {body[:500]}\n{self.process.complaint()}")

    def _post(self, frame: dict[str, Any], text: str) -> tuple[HTTPResponse, str]:
        try:
            self._connection.request("POST", self._path, text.encode(), self._headers(frame))
            response = self._connection.getresponse()
            if response.status == 307:
                # Servers of long ago are mounted, and want to be asked with a slash at the end.
                response.read()
                self._path = "/mcp/"
                return self._post(frame, text)
            self._session = response.headers.get("mcp-session-id", self._session)
            body = ""
            for line in response:
                body += line.decode()
                if b'"elicitation/create"' in line and self.era == LEGACY:
                    self._reply(self.answered(json.loads(line.removeprefix(b"data:"))))
            # The end of it, without which the connection takes no other request.
            body += response.read().decode()
            return response, body
        except OSError as exc:
            raise NoAnswer(f"{exc!r}\n{self.process.complaint()}") from exc

    def _reply(self, text: str) -> None:
        """Beside the stream on which the question came, which is still open."""
        connection = HTTPConnection("127.0.0.1", self.process.port, timeout=PATIENCE)
        connection.request("POST", self._path, text.encode(), self._headers({}))
        connection.getresponse().read()
        connection.close()

    def _headers(self, frame: dict[str, Any]) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": self._spoken,
        }
        if self.era == MODERN:
            headers["mcp-method"] = frame["method"]
            name = frame["params"].get(_NAMED_BY.get(frame["method"], ""))
            if isinstance(name, str):
                headers["mcp-name"] = _header(name)
        elif self._session:
            headers["mcp-session-id"] = self._session
        return headers

    def close(self) -> None:
        self._connection.close()
        super().close()


def _header(value: str) -> str:
    plain = value.isascii() and value.isprintable() and value == value.strip()
    return value if plain else f"=?base64?{base64.b64encode(value.encode()).decode()}?="


class Wanted(NamedTuple):
    """A server to talk to, and how. With a `setting` it serves the tools of features.py, with that setting there."""

    server: str
    transport: str
    era: str
    bare: bool = False
    options: dict[str, Any] | None = None
    setting: str | None = None
    notes: Path | None = None
    info: dict[str, Any] | None = None
    capabilities: dict[str, Any] | None = None
    user: User = nobody


def started(nursery: Nursery, wanted: Wanted, *, fresh: bool = False) -> Process:
    more = ["0"] if wanted.transport == "http" else []
    more += ["--bare"] if wanted.bare else ["--options", json.dumps(wanted.options or {})]
    more += ["--features", "--setting", wanted.setting] if wanted.setting is not None else []
    more += ["--notes", str(wanted.notes)] if wanted.notes is not None else []
    return nursery.start(wanted.server, wanted.transport, *more, fresh=fresh)


def client_of(process: Process, wanted: Wanted) -> Client:
    """A client that has made its handshake. A server that listens may have many."""
    kind = Stdio if wanted.transport == "stdio" else Http
    client = kind(process, wanted.era, wanted.info, wanted.capabilities, wanted.user)
    client.open()
    return client


@contextmanager
def pooled(nursery: Nursery, *wanted: Wanted) -> Iterator[list[Client]]:
    """Clients of servers that remember nothing, so that the next who wants the same ones has them.

    One that listens has the clients of both eras. Those of the two last wishes are kept.
    """
    key = repr([each._replace(info=None, capabilities=None, user=nobody) for each in wanted])
    kept = nursery.kept
    if key in kept:
        # The one that was wanted last is the last to go.
        kept[key] = kept.pop(key)
    else:
        while len(kept) > 1:
            kept.pop(next(iter(kept)))[0].close()
        stack = ExitStack()
        kept[key] = (stack, stack.enter_context(connected(nursery, *wanted, both_eras=True)))
    clients = kept[key][1]
    for client, each in zip(clients, wanted, strict=True):
        client.user, client.settled = each.user, settled
        client.questions.clear()
        if (client.info, client.capabilities) != (each.info or CLIENT, each.capabilities or {}):
            client.reopen(info=each.info, capabilities=each.capabilities)
    try:
        yield clients
    except BaseException:
        # Nobody knows what they are up to.
        kept.pop(key)[0].close()
        raise


@contextmanager
def connected(
    nursery: Nursery, *wanted: Wanted, fresh: bool = False, both_eras: bool = False
) -> Iterator[list[Client]]:
    """Clients of servers that are started together; one that listens may be for both eras, if it remembers nothing."""
    with ExitStack() as stack:
        processes = []
        listening: dict[str, Process] = {}
        for each in wanted:
            name = repr(each._replace(era="", info=None, capabilities=None, user=nobody))
            process = listening.get(name)
            if process is None:
                process = started(nursery, each, fresh=fresh)
                stack.callback(process.close)
                if each.transport == "http" and both_eras:
                    listening[name] = process
            processes.append(process)
        clients = []
        for each, process in zip(wanted, processes, strict=True):
            client = client_of(process, each)
            stack.callback(client.close)
            clients.append(client)
        yield clients
