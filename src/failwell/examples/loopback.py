"""An HTTP service on loopback, for the examples that stand in front of one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Request(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes


Answer = tuple[int, bytes | str, Mapping[str, str]]
JSON: Mapping[str, str] = {"content-type": "application/json"}


class Loopback:
    """Answers in threads of its own until the process ends, or `close` is called, which sets `ended`."""

    def __init__(self, port: int = 0) -> None:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                answer = service.answer(Request(self.command, url.path, dict(parse_qsl(url.query)), headers, body))
                if answer is None:
                    return
                self.send_response(answer[0])
                for name, value in answer[2].items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer[1].encode() if isinstance(answer[1], str) else answer[1])

            do_POST = do_PUT = do_DELETE = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Standard output belongs to the protocol, and standard error to the server."""

        self.ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: Request) -> Answer | None:
        """Status, body and headers; None hangs up."""
        raise NotImplementedError
