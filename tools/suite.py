"""The official conformance suite on one server: alone, with `install`, and behind `failwell wrap --listen`; and on one
client, alone and inside `Recovering`.

The suite is npm's `@modelcontextprotocol/conformance`, installed into .field; it needs nothing but loopback. What holds
for the server or the client alone has to hold for all others: the exit code is 1 where one of them fails in a check in
which it does not fail, or was not looked at in one.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACE = ROOT / ".field" / "conformance"
PACKAGE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INDEX = PLACE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
ERAS = ("2025-11-25", "2026-07-28")
SERVER = [sys.executable, str(ROOT / "tools" / "suite_server.py")]
WRAP = [sys.executable, "-m", "failwell", "wrap", "--listen"]
PATIENCE = 120.0
LONGEST = 900.0
# How the suite words what it could not look at, or would only like to see.
FAILED = frozenset({"FAILURE"})

CLIENT = f"{sys.executable} {ROOT / 'tools' / 'suite_client.py'}"
# Those about logging in are the SDK's alone: `Recovering` stands behind them.
SCENARIOS = {
    ERAS[0]: (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    ERAS[1]: (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
    ),
}
# The worst of what a check said, where it was made more than once.
ORDER = ("INFO", "SKIPPED", "SUCCESS", "WARNING", "FAILURE")

Checks = dict[str, str]


def installed(env: dict[str, str]) -> None:
    if INDEX.exists():
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(PLACE), PACKAGE]
    subprocess.run(command, check=True, env=env)


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def running(command: list[str], port: int) -> Iterator[str]:
    """A process that listens on a port, for as long as it is wanted."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > until or process.poll() is not None:
                    raise SystemExit(f"{' '.join(command)} does not listen") from None
                time.sleep(0.05)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def checked(url: str, era: str, env: dict[str, str]) -> Checks:
    """What became of each check of a server."""
    return asked("server", "--url", url, "--suite", "all", "--spec-version", era, env=env)


def checked_client(more: str, era: str, env: dict[str, str]) -> Checks:
    """The same of a client, with these options."""
    options = f"{CLIENT} {more} {'--legacy' if era == ERAS[0] else ''}"
    given = [("client", "--command", options, "--timeout", "60000", "--spec-version", era, "--scenario", scenario)
             for scenario in SCENARIOS[era]]  # fmt: skip
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda each: asked(*each, env=env), given))
    return {name: status for checks in found for name, status in checks.items()}


def asked(*command: str, env: dict[str, str]) -> Checks:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["node", str(INDEX), *command, "-o", folder], env=env, capture_output=True, timeout=LONGEST, check=False
        )
        found: Checks = {}
        for file in sorted(Path(folder).glob("**/checks.json")):
            scenario = file.parent.name.rsplit("-", 6)[0]
            for check in json.loads(file.read_text("utf-8")):
                name = f"{scenario}: {check['id']}"
                found[name] = max(found.get(name, "INFO"), check["status"], key=_badness)
        return found


def _badness(status: str) -> int:
    return ORDER.index(status) if status in ORDER else 0


def told(name: str, era: str, usual: Checks, found: Checks) -> bool:
    """Print how it went; whether it is worse than what it is held against."""
    failed = {check for check, status in found.items() if status in FAILED}
    new = [check for check in sorted(failed) if usual.get(check) not in FAILED]
    missing = [
        f"{check} (not looked at)" for check, status in usual.items() if status == "SUCCESS" and check not in found
    ]
    passed = sum(status == "SUCCESS" for status in found.values())
    print(f"{era}  {name:<22} {passed:>4} passed {len(failed):>3} failed", *new, *missing, sep="\n    ", flush=True)
    return bool(new or missing)


def main() -> int:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    installed(env)
    worse = False
    with ExitStack() as stack:
        ports = [free() for _ in range(4)]
        alone = stack.enter_context(running([*SERVER, "--port", str(ports[0])], ports[0]))
        lanes = {
            "the server alone": alone,
            "with install": stack.enter_context(running([*SERVER, "--install", "--port", str(ports[1])], ports[1])),
            "wrap --listen -- CMD": stack.enter_context(
                running([*WRAP, f"127.0.0.1:{ports[2]}", "--", *SERVER], ports[2])
            ),
            "wrap --listen URL": stack.enter_context(running([*WRAP, f"127.0.0.1:{ports[3]}", alone], ports[3])),
        }
        for era in ERAS:
            usual = checked(alone, era, env)
            if not usual:
                raise SystemExit("the suite said nothing")
            for name, url in lanes.items():
                found = usual if url == alone else checked(url, era, env)
                worse = told(name, era, usual, found) or worse
    for era in ERAS:
        usual = checked_client("", era, env)
        if not usual:
            raise SystemExit("the suite said nothing about the client")
        for name, more in (("the client alone", ""), ("inside Recovering", "--recovering")):
            worse = told(name, era, usual, checked_client(more, era, env) if more else usual) or worse
    return int(worse)


if __name__ == "__main__":
    raise SystemExit(main())
