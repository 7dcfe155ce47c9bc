"""Runs the steps of the container file in docs/wrap.md in a folder of its own, where there is no engine for containers.

    python tools/container.py

What is installed is the wheel of this tree. The image is a fresh virtual environment; an account is not made, and the
port is one that is free. What is started is asked as a client would: with its token, without one, and by the health
check of the file. The exit code is 1 when something is not as the page says.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import httpx2

from bench_relay import SERVER

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "wrap.md"
TOKEN = "a-token-of-the-steps"
PATIENCE = 60.0
_FILE = re.compile(r"```dockerfile\n(.*?)```", re.DOTALL)
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "steps", "version": "1"}},
}


class Stumble(Exception):
    """Something that is not as the page says."""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="failwell-container-") as folder:
        try:
            walk(Path(folder))
        except Stumble as stumble:
            print(f"stumbled: {stumble}", file=sys.stderr)
            return 1
    return 0


def steps_of(page: str) -> dict[str, str]:
    """The steps of the only container file on a page, by their names; each stands there once."""
    [file] = _FILE.findall(page)
    rows = [line.partition(" ") for line in file.splitlines() if line]
    return {name: rest for name, _, rest in rows}


def walk(folder: Path) -> None:
    steps = steps_of(PAGE.read_text("utf-8"))
    if list(steps) != ["FROM", "RUN", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"]:
        raise Stumble(f"the steps are others: {list(steps)}")
    wheel = built(folder)
    image = folder / "image"
    done("FROM " + steps["FROM"], [sys.executable, "-m", "venv", str(image)], {})
    env = {"PATH": f"{image / 'bin'}:{os.defpath}", "HOME": str(folder), "LANG": "C.UTF-8"}
    account = image / "bin" / "useradd"
    account.write_text(f'#!/bin/sh\n[ "$*" = "--system {steps["USER"]}" ]\n', "utf-8")
    account.chmod(0o755)
    run = steps["RUN"].replace("'failwell[http]'", shlex.quote(f"{wheel}[http]"))
    done("RUN " + steps["RUN"], ["sh", "-c", run], env)
    port, there = free_port(), free_port()
    started = json.loads(steps["ENTRYPOINT"].replace(steps["EXPOSE"], str(port)))
    check = json.loads(steps["HEALTHCHECK"].removeprefix("CMD ").replace(steps["EXPOSE"], str(port)))
    target = [f"http://127.0.0.1:{there}/mcp" for _ in json.loads(steps["CMD"])]
    refused = subprocess.run([*started, *target], env=env, cwd=folder, capture_output=True, text=True, check=False)
    said = refused.stderr.splitlines()
    if refused.returncode != 2 or len(said) != 1 or "FAILWELL_TOKEN" not in said[0]:
        raise Stumble(f"without a token: exit {refused.returncode}, {refused.stderr}")
    print(f"without a token: {said[0]}")
    script = folder / "server.py"
    script.write_text(SERVER, "utf-8")
    server = subprocess.Popen([sys.executable, str(script), str(there)], stderr=subprocess.DEVNULL)
    await_port(there)
    relay = subprocess.Popen([*started, *target], env={**env, "FAILWELL_TOKEN": TOKEN}, cwd=folder)
    try:
        await_port(port)
        done("HEALTHCHECK", check, env)
        asked(f"http://127.0.0.1:{port}/mcp")
        server.send_signal(signal.SIGKILL)
        server.wait()
        if subprocess.run(check, env=env, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            raise Stumble("the health check does not see that the server is gone")
        print("HEALTHCHECK: it sees that the server is gone")
        relay.terminate()
        if (code := relay.wait(PATIENCE)) != 0:
            raise Stumble(f"it ended with {code}")
    finally:
        for process in (relay, server):
            process.kill()
            process.wait()
    print("all of the steps do what the page says")


def asked(url: str) -> None:
    headers = {"accept": "application/json, text/event-stream"}
    stranger = httpx2.post(url, json=_HELLO, headers=headers, timeout=PATIENCE)
    known = httpx2.post(url, json=_HELLO, headers={**headers, "authorization": f"Bearer {TOKEN}"}, timeout=PATIENCE)
    if (stranger.status_code, known.status_code) != (401, 200) or "bench" not in known.text:
        raise Stumble(f"asked without a token: {stranger.status_code}; with one: {known.status_code}, {known.text}")
    print("asked without a token: 401; with one: 200")


def built(folder: Path) -> Path:
    from newcomer import UV

    done("the wheel", [UV, "build", "--quiet", "--wheel", "--out-dir", str(folder / "wheel"), str(ROOT)], os.environ)
    [wheel] = (folder / "wheel").glob("*.whl")
    return wheel


def done(name: str, command: list[str], env: object) -> None:
    ran = subprocess.run(command, env=env or None, capture_output=True, text=True, check=False)  # type: ignore[call-overload]
    if ran.returncode:
        raise Stumble(f"{name}: exit {ran.returncode}: {ran.stderr[-500:]}")
    print(name, flush=True)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def await_port(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.1)
    raise Stumble(f"nobody listens on {port}")


if __name__ == "__main__":
    sys.exit(main())
