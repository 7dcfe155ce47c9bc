"""Many clients of `failwell wrap --listen URL`, in both eras, while the server behind it is killed and started again.

Each answer is held against what the server wrote down. The exit code is 1 if a call was lost, done twice, answered with
another's answer, or told wrongly, or if a process is left over.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from relay_ledger import CANONICAL, _left

SERVER = """
import json, os, random, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
TOOLS = [
    {"name": "pay_invoice", "inputSchema": ID, "annotations": {"destructiveHint": True}},
    {"name": "get_invoice", "inputSchema": ID, "annotations": {"readOnlyHint": True}},
]
sessions = set()

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *given):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        sessions.discard(self.headers.get("mcp-session-id"))
        self.answer(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session, method, more = self.headers.get("mcp-session-id"), message.get("method"), {}
        if session is not None and session not in sessions:
            return self.answer(404, b"Session not found")
        if "id" not in message:
            return self.answer(202)
        if method == "initialize":
            more = {"mcp-session-id": os.urandom(8).hex()}
            sessions.add(more["mcp-session-id"])
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "ledger"}}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        else:
            name, id = message["params"]["name"], message["params"]["arguments"]["id"]
            os.write(ledger, f"{name} {id}\\n".encode())
            fault = random.random()
            if fault < 0.02:
                return self.answer(502, b"upstream connect error")
            if fault < 0.04:
                self.close_connection = True
                return None
            time.sleep(random.random() * 0.02)
            result = {"content": [{"type": "text", "text": id}]}
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode(), **more)

class Server(ThreadingHTTPServer):
    request_queue_size = 500
    allow_reuse_address = True

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
_ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_CLIENT = {"name": "soak", "version": "1"}
_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Soak:
    """All clients, and what came of their calls."""

    def __init__(self, url: str, chance: random.Random, until: float) -> None:
        self.url, self.chance, self.until = url, chance, until
        self.answers: dict[str, tuple[str, dict[str, Any] | None]] = {}
        self.crossed = 0

    async def client(self, number: int) -> None:
        """One client, of the older or of the newer era; those of the newer era share a login, and use the same ids."""
        is_modern = number % 2 == 1
        async with httpx2.AsyncClient(headers=_ACCEPT, timeout=90) as http:
            headers: dict[str, str] = {"authorization": f"Bearer of-{number % 10}"}
            if not is_modern:
                hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}
                while "mcp-session-id" not in headers and time.monotonic() < self.until:
                    answer = await self._post(http, headers, 0, "initialize", hello)
                    if answer.headers.get("mcp-session-id"):
                        headers["mcp-session-id"] = answer.headers["mcp-session-id"]
                headers["mcp-protocol-version"] = "2025-11-25"
                await http.post(
                    self.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers
                )
            count = 0
            while time.monotonic() < self.until:
                count += 1
                name, tool = f"c{number}-{count}", self.chance.choice(("pay_invoice", "get_invoice"))
                params: dict[str, Any] = {"name": tool, "arguments": {"id": name}}
                if is_modern:
                    params["_meta"] = _MODERN
                    headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
                self.answers[name] = tool, None
                with suppress(httpx2.RequestError):
                    response = await self._post(http, headers, count, "tools/call", params)
                    # After some seconds of silence it is a stream, with the answer last.
                    answer = json.loads(response.text.strip().rpartition("data: ")[2])
                    self.crossed += answer["id"] != count
                    self.answers[name] = tool, answer

    async def _post(
        self, http: httpx2.AsyncClient, headers: dict[str, str], id: int, method: str, params: dict[str, Any]
    ) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        return await http.post(self.url, json=message, headers=headers)

    def wrong(self, done: Counter[str]) -> list[str]:
        """What is wrong with the answers, by what was really done."""
        found = [f"{self.crossed} answers to another request"] if self.crossed else []
        for name, (tool, answer) in self.answers.items():
            times = done[f"{tool} {name}"]
            if tool == "pay_invoice" and times > 1:
                found.append(f"{name} was done {times} times")
            result = (answer or {}).get("result")
            if result is None:
                found.append(f"{name} was lost: {answer}")
                continue
            effect = result.get("_meta", {}).get(CANONICAL, {}).get("effect")
            if not result.get("isError") and (not times or result["content"][0]["text"] != name):
                found.append(f"{name} was done {times} times, and told as {result}")
            if effect == "none" and times and tool == "pay_invoice":
                found.append(f"{name} was done, and told as not done")
        return found


async def soak(url: str, start: Any, clients: int, seconds: float, seed: int) -> Soak:
    """Run all clients while the server is killed every so often."""
    chance = random.Random(seed)
    made = Soak(url, chance, time.monotonic() + seconds)
    running = [asyncio.create_task(made.client(number)) for number in range(clients)]
    server, kills = start(), 0
    try:
        while not all(task.done() for task in running):
            await asyncio.sleep(1.5 + 2 * chance.random())
            if time.monotonic() < made.until:
                server.kill()
                server.wait()
                await asyncio.sleep(chance.random() * 0.3)
                server, kills = start(), kills + 1
        await asyncio.gather(*running)
    finally:
        server.kill()
        server.wait()
    print(f"{clients} clients, {len(made.answers)} calls, the server was killed {kills} times")
    return made


def is_free(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        script, ledger = Path(folder) / "server.py", Path(folder) / "ledger"
        # Not one that the system gives to outgoing connections: one of these would keep the server from coming back.
        port = next(port for port in range(20_000 + asked.seed % 10_000, 32_000) if is_free(port))
        script.write_text(SERVER, "utf-8")
        ledger.touch()
        upstream = f"http://127.0.0.1:{port}/mcp"
        env = {**os.environ, "LEDGER": str(ledger), "SOAK": folder}

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen([sys.executable, "-S", str(script), str(port)], env=env, stderr=subprocess.DEVNULL)

        command = [sys.executable, "-m", "failwell", "wrap", "--listen", "127.0.0.1:0", "--timeout", "20"]
        given = [*command, "--trust-annotations", "yes", upstream]
        relay = subprocess.Popen(given, env=env, stderr=subprocess.PIPE, text=True)
        assert relay.stderr is not None
        line = next(line for line in relay.stderr if "listening on" in line)
        with subprocess.Popen(["cat"], stdin=relay.stderr, stdout=subprocess.DEVNULL):
            try:
                made = asyncio.run(soak(line.split()[-1], start, asked.clients, asked.seconds, asked.seed))
            finally:
                relay.send_signal(signal.SIGTERM)
                code = relay.wait(60)
        relay.stderr.close()
        wrong, left = made.wrong(Counter(ledger.read_text("utf-8").split("\n"))), len(_left(folder))
    effects = Counter(
        "worked" if not result.get("isError") else result.get("_meta", {}).get(CANONICAL, {}).get("effect", "unsaid")
        for result in ((answer or {}).get("result") or {} for _, answer in made.answers.values())
    )
    print(", ".join(f"{count} {name}" for name, count in effects.most_common()))
    print("\n".join(wrong[:20]) or "nothing lost, nothing done twice, nothing crossed, every answer true")
    print(f"{left} processes left over, the relay ended with {code}")
    return bool(wrong or left or code)


if __name__ == "__main__":
    sys.exit(main())
