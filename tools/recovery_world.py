"""The world that the servers of the recovery table work in: a service behind them, a warehouse, a database, one clock.

All of it is real: HTTP on a loopback port, a port that refuses, a lock on a file. Only the time is not. The agents
sleep on the clock that the service reads, so a wait costs nothing, and a call that comes too early is still too early.
"""

from __future__ import annotations

import heapq
import json
import math
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from failwell.testing import FakeClock


class WorldClock(FakeClock):
    """A clock that things happen by: what is due is done while it moves on."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, moment: float, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._due, (moment, self._count, action))

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        while self._due and self._due[0][0] <= self.monotonic():
            heapq.heappop(self._due)[2]()


@dataclass
class Trouble:
    """What the service does about one subject, until its time is over."""

    kind: str
    until: float = math.inf
    text: str = ""
    once: bool = False


@dataclass
class Request:
    method: str
    thing: str
    subject: str
    data: dict[str, Any]


class World:
    """One of each, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.clock = WorldClock()
        self.folder = folder
        self.notes = folder / "notes.db"
        self.pid = folder / "server.pid"
        self.troubles: dict[str, Trouble] = {}
        self.records: dict[str, dict[str, Any]] = {}
        self._ledger = folder / "ledger.db"
        self._writing = threading.Lock()
        self._closing = threading.Event()
        for path, table in ((self._ledger, "effects"), (self._ledger, "reads"), (self.notes, "notes")):
            self._run(path, f"CREATE TABLE {table} (subject TEXT, what TEXT)")
        self.service = _Server(self._answer)
        self.warehouse = _Server(self._answer)

    def close(self) -> None:
        self._closing.set()
        self.service.down()
        self.warehouse.down()

    def effects(self, subject: str) -> list[dict[str, Any]]:
        """What was really done to a subject, in order."""
        return self._written("effects", subject) + self._written("notes", subject)

    def reads(self, subject: str) -> list[dict[str, Any]]:
        return self._written("reads", subject)

    def lock(self, seconds: float) -> None:
        """Hold the server's database for a while."""
        held = sqlite3.connect(self.notes, timeout=5, isolation_level=None)
        held.execute("BEGIN EXCLUSIVE")
        self.clock.at(self.clock.monotonic() + seconds, held.close)

    def refuse(self, seconds: float) -> None:
        """Let the warehouse refuse connections for a while."""
        self.warehouse.down()
        self.clock.at(self.clock.monotonic() + seconds, self.warehouse.up)

    def trouble(self, subject: str, kind: str, seconds: float = math.inf, text: str = "", once: bool = False) -> None:
        self.troubles[subject] = Trouble(kind, self.clock.monotonic() + seconds, text, once)

    def _run(self, path: Path, statement: str, *values: Any) -> list[Any]:
        with self._writing, closing(sqlite3.connect(path, timeout=5)) as database, database:
            return database.execute(statement, values).fetchall()

    def _written(self, table: str, subject: str) -> list[dict[str, Any]]:
        path = self.notes if table == "notes" else self._ledger
        return [json.loads(row[0]) for row in self._run(path, f"SELECT what FROM {table} WHERE subject = ?", subject)]

    def _write(self, table: str, subject: str, what: dict[str, Any]) -> None:
        self._run(self._ledger, f"INSERT INTO {table} VALUES (?, ?)", subject, json.dumps(what))

    # The service

    def _answer(self, asked: Request) -> Answer | None:
        trouble = self.troubles.get(asked.subject)
        if trouble is not None and self.clock.monotonic() < trouble.until and asked.method != "GET":
            if trouble.once:
                del self.troubles[asked.subject]
            return _TROUBLES[trouble.kind](self, asked, trouble)
        return self._work(asked)

    def _work(self, asked: Request) -> Answer:
        record = self.records.get(asked.subject)
        if asked.method == "GET":
            self._write("reads", asked.subject, asked.data)
            if record is None:
                return Answer(404, {"detail": f"There is no {asked.thing} {asked.subject}."})
            done = {"done": bool(self._written("effects", asked.subject))}
            return Answer(200, {**record, **done})
        if record is not None and "version" in record:
            sent = asked.data.pop("version", None)
            if sent != record["version"]:
                return Answer(409, {"detail": f"{asked.subject} is at version {record['version']}, not {sent}."})
            record["version"] += 1
        self._write("effects", asked.subject, asked.data)
        return Answer(200, {"done": True, "id": asked.subject})

    def _limited(self, asked: Request, trouble: Trouble) -> Answer:
        return Answer(429, {"detail": "Too many requests."}, self._wait(trouble))

    def _held(self, asked: Request, trouble: Trouble) -> Answer:
        return Answer(409, {"detail": f"{asked.subject} is being changed by somebody else."}, self._wait(trouble))

    def _forbidden(self, asked: Request, trouble: Trouble) -> Answer:
        return Answer(403, {"detail": trouble.text})

    def _worded(self, asked: Request, trouble: Trouble) -> Answer:
        """A failure that looks like a success."""
        wait = self._wait(trouble)["Retry-After"]
        return Answer(200, trouble.text.replace("{wait}", wait))

    def _lost_before(self, asked: Request, trouble: Trouble) -> None:
        """Nothing is done, and nobody says so."""

    def _lost_after(self, asked: Request, trouble: Trouble) -> None:
        self._work(asked)

    def _silent(self, asked: Request, trouble: Trouble) -> None:
        self._work(asked)
        self._closing.wait(10)

    def _killed(self, asked: Request, trouble: Trouble) -> None:
        """It is done, and whoever asked for it is killed before it hears so."""
        self._work(asked)
        os.kill(int(self.pid.read_text()), signal.SIGKILL)

    def _wait(self, trouble: Trouble) -> dict[str, str]:
        return {"Retry-After": str(math.ceil(trouble.until - self.clock.monotonic()))}


@dataclass
class Answer:
    status: int
    body: Any
    headers: dict[str, str] | None = None


_TROUBLES: dict[str, Callable[[World, Request, Trouble], Answer | None]] = {
    "limited": World._limited,
    "held": World._held,
    "forbidden": World._forbidden,
    "worded": World._worded,
    "lost before": World._lost_before,
    "lost after": World._lost_after,
    "silent": World._silent,
    "killed": World._killed,
}


class _Server:
    """An HTTP server that can be down: its port then refuses, and is the same when it is up again."""

    def __init__(self, answer: Callable[[Request], Answer | None]) -> None:
        self._answer = answer
        self._running: ThreadingHTTPServer | None = None
        self._port = 0
        self.up()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def up(self) -> None:
        if self._running is None:
            self._running = _Quiet(("127.0.0.1", self._port), _handler(self._answer))
            self._port = self._running.server_port
            threading.Thread(target=self._running.serve_forever, args=(0.05,), daemon=True).start()

    def down(self) -> None:
        if self._running is not None:
            self._running.shutdown()
            self._running.server_close()
            self._running = None


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that has gone is part of the game."""


def _handler(answer: Callable[[Request], Answer | None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            _, thing, subject = parts.path.split("/", 2)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            data = json.loads(body) if body else dict(parse_qsl(parts.query))
            given = answer(Request(self.command, thing, subject, data))
            if given is None:
                # No answer at all: the connection just ends.
                self.close_connection = True
                return
            written = (given.body if isinstance(given.body, str) else json.dumps(given.body)).encode()
            with suppress(OSError):
                self.send_response(given.status)
                kind = "text/plain" if isinstance(given.body, str) else "application/json"
                about = {"Content-Type": kind, "Content-Length": str(len(written)), **(given.headers or {})}
                for name, value in about.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(written)

        do_POST = do_PUT = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    return Handler
