"""What `failwell wrap --listen` costs on a call: before HTTP against the server alone, before stdio against others.

Real processes, and a client that writes HTTP to sockets by itself. Each block of a relay is held against the block of
the lane that it is compared with just before it. The peers are installed under .field; one that cannot be had is left
out. `SESSIONS` are held at once, and with `MANY` so many calls more are made for the sake of the memory. The exit
code is 1 when a bar is missed.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import Report
from bench_relay import SERVER
from field_servers import NotInstalled, Server

DEEP_BAR = 1 / 0.6
BAR = 2.0
CALLS = int(os.environ.get("CALLS", "1000"))
SESSIONS = int(os.environ.get("SESSIONS", "900"))
MANY = int(os.environ.get("MANY", "0"))
BLOCK = 100
DEPTH = 16
PIPE = "a blind TCP relay"
OVER_HTTP = "failwell wrap --listen URL"
OVER_STDIO = "failwell wrap --listen -- CMD"
BLIND = """
import asyncio, sys

async def pump(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()

async def main():
    async def served(reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
        await asyncio.gather(pump(reader, back), pump(there, writer))
    async with await asyncio.start_server(served, "127.0.0.1", int(sys.argv[1])) as server:
        await server.serve_forever()

asyncio.run(main())
"""
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Connection:
    """HTTP on one socket."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port or 80), 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = (
            f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\naccept: application/json, text/event-stream\r\n"
            "content-type: application/json\r\n"
        )
        self._rest = b""

    def send(self, message: dict[str, Any], session: str) -> None:
        body = json.dumps(message, separators=(",", ":"))
        more = f"mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n" if session else ""
        self.socket.sendall(f"{self._head}{more}content-length: {len(body)}\r\n\r\n{body}".encode())

    def read(self) -> tuple[bytes, bytes]:
        """The head and the body of an answer."""
        while b"\r\n\r\n" not in self._rest:
            self._more()
        head, _, rest = self._rest.partition(b"\r\n\r\n")
        lower = head.lower()
        if b"content-length:" in lower:
            size = int(lower.partition(b"content-length:")[2].partition(b"\r\n")[0])
            while len(rest) < size:
                rest = self._more(rest)
            self._rest = rest[size:]
            return head, rest[:size]
        if b"transfer-encoding: chunked" not in lower:
            self._rest = rest
            return head, b""
        while not rest.endswith(b"0\r\n\r\n"):
            rest = self._more(rest)
        self._rest = b""
        return head, rest

    def _more(self, rest: bytes | None = None) -> bytes:
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the other side hung up")
        self._rest = data if rest is not None else self._rest + data
        return self._rest if rest is None else rest + data


class Client:
    """A session, and as many connections as it needs."""

    def __init__(self, url: str) -> None:
        self._url, self._id = url, 0
        self.connections = [Connection(url)]
        self.session = ""
        head, _ = self._ask("initialize", _HELLO)
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"mcp-session-id:"):
                self.session = line.partition(b":")[2].strip().decode()
        self.connections[0].send({"jsonrpc": "2.0", "method": "notifications/initialized"}, self.session)
        self.connections[0].read()

    def _ask(self, method: str, params: dict[str, Any]) -> tuple[bytes, bytes]:
        self._send(self.connections[0], method, params)
        return self.connections[0].read()

    def _send(self, connection: Connection, method: str, params: dict[str, Any]) -> None:
        self._id += 1
        connection.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}, self.session)

    def call(self, connection: Connection) -> None:
        self._send(connection, "tools/call", {"name": "echo", "arguments": {"text": f"text {self._id}"}})

    def _fresh(self, count: int) -> None:
        """Connections that nobody has closed meanwhile, since they were not used for long."""
        self.close()
        self.connections = [Connection(self._url) for _ in range(count)]

    def block(self, calls: int) -> list[float]:
        self._fresh(1)
        times = []
        for _ in range(calls):
            began = time.perf_counter()
            self.call(self.connections[0])
            head, body = self.connections[0].read()
            times.append(time.perf_counter() - began)
            assert (b" 200 " in head, b"text " in body) == (True, True), (head, body)
        return times

    def deep(self, calls: int) -> float:
        """How long a call took, with several under way."""
        self._fresh(DEPTH)
        began = time.perf_counter()
        with selectors.DefaultSelector() as waiting:
            for connection in self.connections:
                waiting.register(connection.socket, selectors.EVENT_READ, connection)
                self.call(connection)
            answered = 0
            while answered < calls:
                for key, _ in waiting.select(60):
                    key.data.read()
                    answered += 1
                    if answered <= calls - DEPTH:
                        self.call(key.data)
        return (time.perf_counter() - began) / calls

    def close(self) -> None:
        for connection in self.connections:
            connection.socket.close()


def started(command: list[str], port: int, running: ExitStack) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    running.callback(_ended, process)
    until = time.monotonic() + 90
    while time.monotonic() < until:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise NotInstalled(f"{command[0]} does not listen")


def _ended(process: subprocess.Popen[bytes]) -> None:
    """End it with all that it started: not every relay does that by itself."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def memory_of(process: subprocess.Popen[bytes]) -> float:
    """Megabytes in use, where the system tells."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def wrapped(port: int, *target: str) -> list[str]:
    listen = ["--listen", f"127.0.0.1:{port}"]
    return [sys.executable, "-m", "failwell", "wrap", *listen, *target]


def compared(report: Report, title: str, lanes: dict[str, Client], bars: dict[str, tuple[float, float]]) -> None:
    """Blocks in turns; each against the first lane's block just before it."""
    first = next(iter(lanes))
    middle: dict[str, list[float]] = {name: [] for name in lanes}
    one: dict[str, list[float]] = {name: [] for name in lanes}
    many: dict[str, list[float]] = {name: [] for name in lanes}
    for client in lanes.values():
        client.block(BLOCK)
        client.deep(BLOCK)
    for _ in range(max(1, CALLS // BLOCK)):
        for name, client in lanes.items():
            alone = statistics.median(lanes[first].block(BLOCK)), lanes[first].deep(BLOCK)
            times = statistics.median(client.block(BLOCK))
            middle[name].append(times)
            one[name].append(times / alone[0])
            many[name].append(client.deep(BLOCK) / alone[1])
    rows = []
    for name in lanes:
        most, deepest = bars.get(name, (1e9, 1e9))
        rows.append(
            [
                name,
                f"{statistics.median(middle[name]) * 1000:.3f}",
                report.bar(f"{name}: times of {first}", statistics.median(one[name]), most),
                report.bar(f"{name}: times of {first}, {DEPTH} under way", statistics.median(many[name]), deepest),
            ]
        )
    report.table(title, ["echo", "ms, the middle call", f"times of {first}", f"with {DEPTH} under way"], rows)


def in_front_of_http(report: Report, script: list[str], folder: Path) -> None:
    with ExitStack() as running:
        there, port, blind = free_port(), free_port(), free_port()
        upstream = f"http://127.0.0.1:{there}/mcp"
        started([*script, str(there)], there, running)
        relay = started(wrapped(port, upstream), port, running)
        pump = folder / "blind.py"
        pump.write_text(BLIND, "utf-8")
        started([sys.executable, str(pump), str(blind), str(there)], blind, running)
        urls = {"direct": there, PIPE: blind, OVER_HTTP: port}
        lanes = {name: Client(f"http://127.0.0.1:{at}/mcp") for name, at in urls.items()}
        compared(report, f"{CALLS} calls, HTTP in front of HTTP", lanes, {OVER_HTTP: (BAR, DEEP_BAR)})
        held(report, relay, f"http://127.0.0.1:{port}/mcp", lanes[OVER_HTTP])
        for client in lanes.values():
            client.close()


def held(report: Report, relay: subprocess.Popen[bytes], url: str, busy: Client) -> None:
    """As many sessions as it takes, and what each of them takes; then many calls, which take nothing."""
    before = memory_of(relay)
    sessions = []
    for _ in range(SESSIONS):
        client = Client(url)
        client.block(1)
        client.close()
        sessions.append(client)
    after = memory_of(relay)
    rows = [[f"with {SESSIONS} sessions", f"{after:.1f}", f"{(after - before) * 1000 / max(1, SESSIONS):.1f} kB each"]]
    if MANY:
        for _ in range(MANY // 10 // BLOCK):
            busy.deep(BLOCK)
        warm = memory_of(relay)
        for _ in range(MANY // BLOCK):
            busy.deep(BLOCK)
        grown = report.bar("megabytes that it grew by", memory_of(relay) - warm, 5.0)
        rows.append([f"after {MANY} calls more", f"{memory_of(relay):.1f}", f"{grown} MB more"])
    report.table("Memory of the relay", ["", "MB", ""], [["before", f"{before:.1f}", ""], *rows])


def in_front_of_stdio(report: Report, script: list[str], folder: Path) -> None:
    with ExitStack() as running:
        port = free_port()
        started(wrapped(port, "--", *script), port, running)
        lanes = {OVER_STDIO: Client(f"http://127.0.0.1:{port}/mcp")}
        for name, package, arguments in (
            ("mcp-proxy (npm)", "mcp-proxy@6.7.19", ["--port", "{port}", "--server", "stream", "--"]),
            (
                "supergateway (npm)",
                "supergateway@4.0.0",
                [
                    "--port",
                    "{port}",
                    "--outputTransport",
                    "streamableHttp",
                    "--stateful",
                    "--logLevel",
                    "none",
                    "--stdio",
                ],
            ),
        ):
            program = package.partition("@")[0]
            try:
                peer = Server(f"bench-{program}", (package,), program, "TypeScript").command_line(folder)
                port = free_port()
                given = [argument.format(port=port) for argument in arguments]
                target = [" ".join(script)] if "--stdio" in given else script
                started([*peer, *given, *target], port, running)
                lanes[name] = Client(f"http://127.0.0.1:{port}/mcp")
            except (NotInstalled, ConnectionError) as problem:
                print(f"{name} is left out: {problem}")
        compared(report, f"{CALLS} calls, HTTP in front of stdio", lanes, {})
        for client in lanes.values():
            client.close()


def main() -> int:
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        server = Path(folder) / "server.py"
        server.write_text(SERVER, "utf-8")
        script = [sys.executable, str(server)]
        in_front_of_http(report, script, Path(folder))
        in_front_of_stdio(report, script, Path(folder))
    print(f"load: {', '.join(f'{each:.1f}' for each in os.getloadavg())} on {os.cpu_count()} cores")
    for line in report.missed:
        print(f"missed: {line}")
    return bool(report.missed)


if __name__ == "__main__":
    sys.exit(main())
