"""Raw JSON-RPC to a shop in a process of its own, directly or through the relay: no SDK in between."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any, Final

import commands

Json = dict[str, Any]
SERVER: Final = Path(__file__).with_name("shop_server.py")
CANONICAL: Final = "io.github.failwell/tool-error"
KEY: Final = "io.github.failwell/idempotency-key"
LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
_numbers = count()


def fresh(cause: str) -> str:
    """An id that meets this cause, and that no other call has."""
    return f"{cause}-{next(_numbers)}"


@dataclass(frozen=True)
class Answer:
    """What came back to a call."""

    result: Json

    @property
    def failed(self) -> bool:
        return bool(self.result.get("isError"))

    @property
    def text(self) -> str:
        return "\n".join(block["text"] for block in self.result["content"] if block["type"] == "text")

    @property
    def error(self) -> Json:
        """The canonical object."""
        stated: Json = self.result["_meta"][CANONICAL]
        return stated

    @property
    def effect(self) -> str | None:
        effect: str | None = self.error.get("effect")
        return effect

    @property
    def flags(self) -> tuple[bool, bool]:
        return self.error["retryable"], self.error["recoverable"]

    @property
    def held(self) -> bool:
        return "was not run again: the call before may have been done already." in self.text


class Session:
    """One client's session."""

    user: Callable[[Json], Json] | None = None
    capabilities: Json
    name = "table"

    def __init__(self, era: str = LEGACY, capabilities: Mapping[str, Any] | None = None) -> None:
        self.era = era
        self.capabilities = dict(capabilities or {})
        self.questions: list[Json] = []

    def open(self) -> None:
        if self.era == LEGACY:
            client = {"name": self.name, "version": "1"}
            self.ask(
                "initialize",
                {"protocolVersion": LEGACY, "capabilities": self.capabilities, "clientInfo": client},
            )
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            self.ask("server/discover", {})

    def call(self, tool: str, id: str = "", *, meta: Json | None = None, arguments: Json | None = None) -> Answer:
        params: Json = {"name": tool, "arguments": {"id": id} if arguments is None else arguments}
        if meta is not None:
            params["_meta"] = meta
        message = self.ask("tools/call", params)
        assert "result" in message, message
        return Answer(message["result"])

    def ask(self, method: str, params: Json) -> Json:
        id = next(_numbers)
        if self.era == MODERN:
            envelope = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": {"name": self.name, "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            }
            params = {**params, "_meta": {**params.get("_meta", {}), **envelope}}
        for message in self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params}):
            if message.get("id") == id and "method" not in message:
                return message
        raise AssertionError(f"No answer to {method}.")

    def send(self, frame: Json) -> Any:
        """The messages that come back, as they come."""
        raise NotImplementedError

    def answered(self, asked: Json) -> Json:
        self.questions.append(asked["params"])
        assert self.user is not None, asked
        return {"jsonrpc": "2.0", "id": asked["id"], "result": self.user(asked["params"])}


class Shop:
    """A shop, what it wrote down, and the sessions with it."""

    def __init__(
        self,
        kind: str,
        options: Json | None,
        *,
        transport: str = "stdio",
        wrap: Sequence[str] | None = None,
        era: str = LEGACY,
        capabilities: Json | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.kind, self.transport = kind, transport
        self.ledger = Path(self._folder.name, "ledger")
        self.ledger.touch()
        self._errors = Path(self._folder.name, "errors")
        command = self.command(kind, options, transport, self.ledger)
        if wrap is not None:
            command = commands.failwell("wrap", *wrap, "--", *command)
        with self._errors.open("wb") as errors:
            self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self.port = 0
        try:
            if transport == "http":
                assert self._child.stdout is not None
                line = self._child.stdout.readline()
                assert line, self.complaint()
                self.port = int(line)
            self.session = self.begin(era, capabilities)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def command(kind: str, options: Json | None, transport: str, ledger: Path) -> list[str]:
        """How a shop is started; without options it knows nothing of Failwell."""
        how = "--bare" if options is None else json.dumps(options)
        return commands.python(SERVER, kind, transport, ledger, how)

    def begin(self, era: str = LEGACY, capabilities: Json | None = None, name: str = "table") -> Session:
        session = (
            Http(self, era, capabilities) if self.transport == "http" else Stdio(self, self._child, era, capabilities)
        )
        session.name = name
        session.open()
        return session

    def ran(self, tool: str, id: str) -> int:
        """How often a tool has begun this."""
        return Counter(self.ledger.read_text("utf-8").splitlines())[f"ran {tool} {id}"]

    def did(self, tool: str, id: str) -> int:
        """How often a tool has written this."""
        return Counter(self.ledger.read_text("utf-8").splitlines())[f"did {tool} {id}"]

    def complaint(self) -> str:
        return self._errors.read_text("utf-8", "replace")[-2_000:]

    def close(self) -> None:
        for stream in (self._child.stdin, self._child.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._folder.cleanup()


class Stdio(Session):
    def __init__(self, shop: Shop, child: subprocess.Popen[bytes], era: str, capabilities: Json | None) -> None:
        super().__init__(era, capabilities)
        self._shop, self._child = shop, child

    def send(self, frame: Json) -> Any:
        self._write(frame)
        return self._messages() if "id" in frame else ()

    def _write(self, frame: Json) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(frame).encode() + b"\n")
            self._child.stdin.flush()
        except OSError:
            raise AssertionError(f"The shop is gone.\n{self._shop.complaint()}") from None

    def _messages(self) -> Any:
        assert self._child.stdout is not None
        while line := self._child.stdout.readline():
            message = json.loads(line)
            if message.get("method") == "elicitation/create":
                self._write(self.answered(message))
            else:
                yield message
        raise AssertionError(f"The shop is gone.\n{self._shop.complaint()}")


class Http(Session):
    def __init__(self, shop: Shop, era: str, capabilities: Json | None) -> None:
        super().__init__(era, capabilities)
        self._shop = shop
        self._session = ""

    def send(self, frame: Json) -> Any:
        connection = HTTPConnection("127.0.0.1", self._shop.port, timeout=60)
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": self.era,
        }
        if self.era == MODERN:
            headers["mcp-method"] = frame["method"]
            if frame["method"] == "tools/call":
                headers["mcp-name"] = frame["params"]["name"]
        elif self._session:
            headers["mcp-session-id"] = self._session
        connection.request("POST", "/mcp", json.dumps(frame).encode(), headers)
        response = connection.getresponse()
        self._session = response.headers.get("mcp-session-id", self._session)
        body = response.read().decode()
        connection.close()
        lines = body.splitlines()
        if response.headers.get_content_type() == "text/event-stream":
            lines = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
        return [json.loads(line) for line in lines if line]


@dataclass
class Shops:
    """Shops by how they were asked for, one process for each."""

    make: type[Shop] = Shop
    _open: dict[str, Shop] = field(default_factory=dict)

    def get(self, kind: str, options: Json | None = None, **more: Any) -> Shop:
        name = repr((kind, options, more))
        if name not in self._open:
            self._open[name] = self.make(kind, options, **more)
        return self._open[name]

    def close(self) -> None:
        for shop in self._open.values():
            shop.close()
