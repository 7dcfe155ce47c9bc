"""An upstream that fails as it is told, on loopback: at a base URL, as an HTTP proxy, and inside TLS where openssl can
make the certificates. It reaches the error paths of a server that no argument reaches.
"""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple

WAIT: Final = 7
"""The seconds of every Retry-After."""
_LOGIN: Final = (
    "<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in</h1><form action='/login' method='post'>"
    "<input name='user'><input name='password' type='password'></form></body></html>"
)


class UpstreamFault(NamedTuple):
    """One way in which an upstream fails, and what a good answer says of it."""

    name: str
    status: int
    retry_after: bool = False
    how: str = "answer"


FAULTS: Final[Mapping[str, UpstreamFault]] = {
    fault.name: fault
    for fault in (
        UpstreamFault("404", 404),
        UpstreamFault("401", 401),
        UpstreamFault("403", 403),
        UpstreamFault("409", 409),
        UpstreamFault("422", 422),
        UpstreamFault("429", 429, retry_after=True),
        UpstreamFault("500", 500),
        UpstreamFault("503", 503, retry_after=True),
        UpstreamFault("cut", 0, how="cut"),
        UpstreamFault("login", 200, how="login"),
        UpstreamFault("garbage", 200, how="garbage"),
        UpstreamFault("slow", 0, how="slow"),
        UpstreamFault("refused", 0, how="refused"),
    )
}
"""By name; the first one shows whether a tool has an upstream at all. With the last nobody listens any more."""


class Upstream:
    """Listens for as long as it is entered."""

    def __init__(self) -> None:
        self.fault = FAULTS["404"]
        self.reached = 0
        """How many requests have come."""
        self.over = threading.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="failwell-upstream-")
        self._authority = _Authority(Path(self._folder.name))
        upstream = self

        class Handler(_Handler):
            served = upstream

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> Upstream:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.leave()
        self._folder.cleanup()

    def leave(self) -> None:
        """Listen no more: whoever calls is refused before anything was sent."""
        self._server.shutdown()
        self._server.server_close()

    def environment(self, base_urls: Sequence[str]) -> dict[str, str]:
        """What a server must be given to come here."""
        here = f"http://127.0.0.1:{self.port}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
        found = dict.fromkeys(names, here) | {"NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}
        if self._authority.file is not None:
            trust = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
            found |= dict.fromkeys(trust, str(self._authority.file))
        return found | dict.fromkeys(base_urls, here)

    def context(self, host: str) -> ssl.SSLContext | None:
        return self._authority.context(host)


class _Handler(BaseHTTPRequestHandler):
    served: Upstream
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""

    def __getattr__(self, name: str) -> Any:
        # Whatever the method, the answer is the same.
        if name.startswith("do_"):
            return self._fail
        raise AttributeError(name)

    def do_CONNECT(self) -> None:
        context = self.served.context(self.path.rpartition(":")[0])
        if context is None:
            self._fail()
            return
        self.send_response(200, "Connection Established")
        self.end_headers()
        with suppress(OSError, ssl.SSLError):
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.rfile, self.wfile = self.connection.makefile("rb", -1), self.connection.makefile("wb", 0)
            self.close_connection = False
            return
        self.close_connection = True

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        if isinstance(self.connection, ssl.SSLSocket):
            # The server closes the socket that it knows; this one took its place.
            self.connection.close()

    def _fail(self) -> None:
        self.served.reached += 1
        with suppress(OSError, ValueError):
            self.rfile.read(min(int(self.headers.get("content-length") or 0), 1_000_000))
        fault = self.served.fault
        self.close_connection = True
        if fault.how == "slow":
            self.served.over.wait(120)
        if fault.how in ("cut", "slow"):
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        kind, body = _body(fault)
        with suppress(OSError):
            self.send_response(fault.status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.send_header("connection", "close")
            if fault.retry_after:
                self.send_header("retry-after", str(WAIT))
            self.end_headers()
            self.wfile.write(body)


def _body(fault: UpstreamFault) -> tuple[str, bytes]:
    if fault.how == "login":
        return "text/html; charset=utf-8", _LOGIN.encode()
    if fault.how == "garbage":
        return "application/json", b'{"items": [1, 2, \x00\xff'
    told = {"message": _MESSAGES.get(fault.name, "Failed."), "status": fault.status, "request": "req_8f1c"}
    # What a careless upstream tells is not for the model.
    return "application/json", json.dumps({**told, "debug": "Authorization: Bearer fwup_9c1f27d40b6e83a5"}).encode()


_MESSAGES: Final = {
    "401": "The token is not valid.",
    "403": "You may not do that.",
    "404": "There is no such thing.",
    "409": "It was changed by somebody else.",
    "422": "The value is not allowed.",
    "429": "Too many requests.",
    "500": "Something broke.",
    "503": "Down for maintenance.",
}


class _Authority:
    """Certificates for any host, made by openssl where it is installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._openssl = shutil.which("openssl")
        self._known: dict[str, ssl.SSLContext | None] = {}
        self._lock = threading.Lock()
        self.file: Path | None = None
        made = folder / "authority.pem"
        if self._openssl is not None and self._make(made, "failwell check", ()):
            self.file = made

    def context(self, host: str) -> ssl.SSLContext | None:
        if self.file is None:
            return None
        with self._lock:
            if host not in self._known:
                self._known[host] = self._made(host)
            return self._known[host]

    def _made(self, host: str) -> ssl.SSLContext | None:
        leaf = self._folder / f"{len(self._known)}.pem"
        kind = "IP" if host.replace(".", "").isdigit() or ":" in host else "DNS"
        named = f"subjectAltName={kind}:{host.strip('[]')}"
        signed = ("-CA", str(self.file), "-CAkey", f"{self.file}.key", "-addext", named)
        if not self._make(leaf, host[:60], signed):
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(leaf, f"{leaf}.key")
        return context

    def _make(self, place: Path, name: str, more: Sequence[str]) -> bool:
        command = [
            *(
                str(self._openssl),
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-days", "2", "-subj", f"/CN={name}", "-keyout", f"{place}.key", "-out", str(place), *more),
        ]
        try:
            return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


@contextmanager
def upstream() -> Iterator[Upstream]:
    with Upstream() as listening:
        yield listening
