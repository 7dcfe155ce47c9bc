"""The library as a service: HTTP on loopback, an API key, and faults that can be switched on."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from .store import Store


class Refusal(NamedTuple):
    """An answer that is no success."""

    status: int
    error: str
    headers: Mapping[str, str] = {}


class Service:
    """Runs in a thread of its own until the process ends, or `close` is called.

    `fault` is what happens to every request instead of its answer: another one, none at all before `resume` is set
    ("silence"), none ever ("hang up"), or one that is no JSON ("garbage").
    """

    def __init__(self, store: Store, api_key: str, port: int = 0) -> None:
        self.store = store
        self.api_key = api_key
        self.fault: Refusal | Literal["silence", "hang up", "garbage"] | None = None
        self.resume = threading.Event()
        service = self

        class Handler(_Handler):
            def do_GET(self) -> None:
                self.answer(service)

            do_POST = do_GET

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.resume.set()
        self._server.shutdown()
        self._server.server_close()

    def read(self, path: str, query: Mapping[str, str], body: Any) -> Any:
        """What a request is answered with."""
        match [unquote(part) for part in path.removeprefix("/").split("/")]:
            case ["api", "patterns"]:
                return self._search(**query)
            case ["api", "patterns", id] if pattern := self.store.pattern(id):
                return pattern
            case ["api", "suggestions", id]:
                return self.store.similar(id, 5)
            case ["api", "rule-sets", name, *action] if rules := self.store.rules(name):
                if action == ["analyses"]:
                    return self.store.findings(name, body["code"])
                return rules
        return Refusal(404, f"Resource not found: {path}")

    def _search(self, query: str = "", category: str | None = None, limit: str = "10") -> Any:
        if category is not None and category not in (known := self.store.categories()):
            return Refusal(400, f"Invalid request: category must be one of {', '.join(known)}")
        if not limit.isdecimal() or not 1 <= int(limit) <= 100:
            return Refusal(400, "Invalid request: limit must be between 1 and 100")
        return self.store.search(query, category, int(limit))


class _Handler(BaseHTTPRequestHandler):
    def answer(self, service: Service) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        said: Any = service.fault
        if said == "silence":
            service.resume.wait()
        if said is None:
            said = self._read(service, sent)
        if isinstance(said, Refusal):
            self._send(said.status, json.dumps({"error": said.error}), said.headers)
        elif said == "garbage":
            self._send(200, "<html>Please log in to the guest network.</html>", {})
        elif said not in ("silence", "hang up"):
            self._send(200, json.dumps(said), {})

    def _read(self, service: Service, sent: bytes) -> Any:
        if self.headers.get("x-api-key") != service.api_key:
            return Refusal(401, "Authentication required: Missing or invalid API key")
        url = urlsplit(self.path)
        try:
            return service.read(url.path, dict(parse_qsl(url.query)), json.loads(sent or b"null"))
        except sqlite3.Error:
            return Refusal(500, "Internal server error: Database connection failed")

    def _send(self, status: int, body: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: standard error is the server's."""
