"""Published servers of other people over streamable HTTP: alone, behind `failwell wrap URL`, and behind `--listen`.

The same questions as in `field_relay.py`, twice alone and once through each relay. What is no failed call must be the
same, byte for byte. The exit code is 1 when a message differs. `--write` puts the table into docs/wrap.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2

from field_relay import PAGE, PATIENCE, WRAP, Conversation, Gone, asked_of, differing
from field_servers import SERVERS, NotInstalled, Server

# How each is started so that it listens; `{port}` is where.
LISTENING = {
    "everything": (("streamableHttp",), {"PORT": "{port}"}),
    "motherduck": (
        ("--db-path", ":memory:", "--read-write", "--transport", "http", "--port", "{port}", "--host", "127.0.0.1"),
        {},
    ),
    "dbhub": (("--transport", "http", "--port", "{port}", "--dsn", "sqlite://{here}/t.db"), {}),
    "toolbox": (("--prebuilt", "sqlite", "--port", "{port}"), {"SQLITE_DATABASE": "{here}/t.db"}),
    "kubernetes": (("--kubeconfig", "{here}/kubeconfig.yaml", "--port", "{port}"), {}),
}
LANES = ("alone", "alone again", "wrap URL", "wrap --listen URL")
# Failed calls are told anew, and everything else must be as it was.
QUIET = [*WRAP, "--validate", "off"]


class HttpConversation:
    """A server over HTTP, and what it was asked."""

    def __init__(self, url: str) -> None:
        self._http = httpx2.Client(timeout=PATIENCE)
        self._url, self._id = url, 0
        self._headers = {"accept": "application/json, text/event-stream"}
        self.answers: dict[str, bytes] = {}
        info = {"name": "field", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.ask("initialize", hello)
        self._headers["mcp-protocol-version"] = json.loads(self.answers["initialize"])["result"]["protocolVersion"]
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> HttpConversation:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(httpx2.RequestError):
            self._http.delete(self._url, headers=self._headers)
        self._http.close()

    def _post(self, message: dict[str, Any]) -> list[bytes]:
        """The messages of the answer."""
        try:
            response = self._http.post(self._url, json=message, headers=self._headers)
        except httpx2.RequestError:
            raise Gone from None
        session = response.headers.get("mcp-session-id")
        if session is not None:
            self._headers["mcp-session-id"] = session
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            return [response.content]
        lines = response.content.replace(b"\r\n", b"\n").split(b"\n")
        return [line.partition(b":")[2].strip() for line in lines if line.startswith(b"data:")]

    def ask(self, method: str, params: dict[str, Any] | None = None, *, label: str = "") -> Any:
        self._id += 1
        for said in self._post({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}}):
            with suppress(ValueError):
                answer = json.loads(said)
                if isinstance(answer, dict) and answer.get("id") == self._id and "method" not in answer:
                    self.answers[label or method] = said.strip()
                    return answer
        # Some refuse what they do not know in words of their own, which is no message.
        return {}


class _Address(Server):
    """A server that is there already: what a relay is given is its address."""

    def command_line(self, here: Path) -> list[str]:
        return list(self.needs)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _running(command: list[str], port: int, **given: Any) -> Iterator[str]:
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, **given,
    )  # fmt: skip
    try:
        until = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < until:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                yield f"http://127.0.0.1:{port}/mcp"
                return
            time.sleep(0.1)
        raise Gone("it does not listen")
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _served(server: Server) -> Iterator[str]:
    """A server of its own for each lane: what one of them changes is nobody else's."""
    port = _free_port()
    folder = Path(tempfile.gettempdir()) / f"field-http-{server.name}" / "here"
    shutil.rmtree(folder.parent, ignore_errors=True)
    for place in (folder, folder.parent / "home"):
        place.mkdir(parents=True)
    server.prepare(folder)
    arguments, env = LISTENING[server.name]
    listening = replace(
        server,
        arguments=tuple(each.replace("{port}", str(port)) for each in arguments),
        env={**server.env, **{name: value.replace("{port}", str(port)) for name, value in env.items()}},
    )
    given = {"cwd": folder, "env": {**listening.environment(folder), "PYTHONHASHSEED": "0"}}
    with _running(listening.command_line(folder), port, **given) as url:
        yield url
    shutil.rmtree(folder.parent, ignore_errors=True)


def _answers(server: Server, lane: str) -> dict[str, bytes]:
    with _served(server) as url:
        if lane == "wrap URL":
            with Conversation(_Address(server.name, (url,), ""), QUIET) as talk:
                return asked_of(talk)
        if lane == "wrap --listen URL":
            port = _free_port()
            with (
                _running([*QUIET, "--listen", f"127.0.0.1:{port}", url], port) as front,
                HttpConversation(front) as one,
            ):
                return asked_of(one)
        with HttpConversation(url) as plain:
            return asked_of(plain)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these servers")
    parser.add_argument("--write", action="store_true", help="put the table into docs/wrap.md")
    asked = parser.parse_args()
    lines = [
        "| server over HTTP | messages compared | differ behind `wrap URL` | behind `wrap --listen URL` |",
        "|---|---|---|---|",
    ]
    differs = 0
    for server in SERVERS:
        if server.name not in LISTENING or (asked.names and server.name not in asked.names):
            continue
        try:
            direct, again, *through = (_answers(server, lane) for lane in LANES)
        except (NotInstalled, Gone, OSError) as problem:
            print(f"{server.name}: not tried: {type(problem).__name__} {problem}", flush=True)
            continue
        found = [differing(direct, again, each) for each in through]
        lines.append(f"| {server.package} | {len(direct)} | {len(found[0])} | {len(found[1])} |")
        differs += sum(map(len, found))
        print(lines[-1], *(f"  {each}" for lane in found for each in lane), sep="\n", flush=True)
    table = "\n".join(lines)
    print(table)
    if asked.write:
        page = PAGE.read_text("utf-8")
        begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
        PAGE.write_text(f"{page[:begin]}\n{table}\n{page[end:]}", "utf-8")
    return bool(differs)


_BEGIN = "<!-- the last run of tools/field_http.py -->\n"
_END = "<!-- the end of that run -->"

if __name__ == "__main__":
    sys.exit(main())
