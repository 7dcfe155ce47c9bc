"""A client that knows nothing but lines of JSON, to see what a server really answers before anybody grades it."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from twins import Seen, Twin

HERE: Final = Path(__file__).parent
LEGACY: Final = "2025-11-25"
PATIENCE: Final = 20.0
"""For a server that lives; one that hangs on purpose is not waited for so long."""
_WEDGED: Final = 2.0
_FAULTS: Final[dict[str, tuple[int, dict[str, str], str]]] = {
    "": (200, {}, '{"price": 3}'),
    "403": (403, {}, '{"error": "forbidden"}'),
    "429": (429, {"Retry-After": "7"}, '{"error": "slow down"}'),
    "404": (404, {}, '{"error": "none"}'),
    "500": (500, {}, '{"error": "oops"}'),
    "503": (503, {}, '{"error": "overloaded"}'),
    "login": (200, {"Content-Type": "text/html"}, "<!DOCTYPE html><html><body><form>Sign in</form></body></html>"),
}


class Talk:
    """A conversation with one server process, in lines."""

    def __init__(self, command: list[str], env: dict[str, str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=env,
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with suppress(ValueError):
            for line in self.process.stdout:
                self._lines.put(line.decode("utf-8", "replace").strip())
        self._lines.put(None)

    def send(self, frame: dict[str, Any] | str) -> None:
        assert self.process.stdin is not None
        text = frame if isinstance(frame, str) else json.dumps({"jsonrpc": "2.0", **frame})
        with suppress(OSError):
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()

    def until(self, number: str, patience: float = PATIENCE) -> tuple[list[str], bool]:
        """All lines until the answer with this id, and whether it came."""
        lines: list[str] = []
        end = time.monotonic() + patience
        while True:
            try:
                line = self._lines.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                return lines, False
            if line is None:
                self._lines.put(None)
                return lines, False
            if f'"{number}"' in line and json.loads(line).get("id") == number:
                return lines, True
            lines.append(line)

    def request(self, number: str, method: str, params: dict[str, Any] | None = None) -> tuple[list[str], bool]:
        self.send({"id": number, "method": method, "params": params or {}})
        return self.until(number)

    def open(self) -> tuple[list[str], bool]:
        client = {"name": "raw", "version": "1"}
        lines, opened = self.request(
            "open", "initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}
        )
        self.send({"method": "notifications/initialized"})
        return lines, opened

    def see(self, ask: tuple[str, dict[str, Any]] | str, patience: float = PATIENCE, handshake: bool = True) -> Seen:
        """What comes of a call or of a line, until two requests after it have been answered."""
        early, alive = self.open() if handshake else ([], True)
        self.send(
            ask
            if isinstance(ask, str)
            else {"id": 7, "method": "tools/call", "params": {"name": ask[0], "arguments": ask[1]}}
        )
        lines: list[str] = []
        for number in ("after", "end"):
            self.send({"id": number, "method": "tools/list", "params": {}})
            more, answered = self.until(number, patience)
            lines += more
            alive = alive and answered
        return Seen((*early, *lines), 7, alive)

    def close(self) -> None:
        # With the children that it left, which hold its pipes open.
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()


@contextmanager
def shop(fault: str) -> Iterator[str]:
    """An upstream that answers everything in one way."""
    status, headers, body = _FAULTS[fault]

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = answer

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def observed(twin: Twin, command: list[str], bad: bool) -> Seen:
    """What one of the pair answers to the call that shows its defect."""
    with tempfile.TemporaryDirectory() as folder, shop(twin.fault) as url:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": folder, "BOOKS_URL": url}
        talk = Talk(command, env, Path(folder))
        try:
            return talk.see(twin.ask, _WEDGED if bad and twin.name == "wedged" else PATIENCE, twin.era == LEGACY)
        finally:
            talk.close()


def command_of(name: str, bad: bool, door: Path, on: str | None = None) -> list[str]:
    """How a server of a pair is started, by knocking at the nursery; on its own framework unless another is named."""
    framework = ["--on", on] if on else []
    return [sys.executable, "-I", str(HERE / "nursery.py"), str(door), name, "--bad" if bad else "--good", *framework]


@contextmanager
def nursery(folder: Path) -> Iterator[Path]:
    """Where servers are started without importing everything anew."""
    door = folder / "door"
    parent = subprocess.Popen(
        [sys.executable, str(HERE / "nursery.py"), str(door)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        yield door
    finally:
        parent.communicate()
