"""Published servers of other people, alone and behind `failwell wrap`, met by a client that knows nothing but lines.

Fidelity: the handshake, all lists, a method that nobody knows, and calls, twice alone and once wrapped. What is no
failed call must be the same, byte for byte. The exit code is 1 when a message differs.

Recovery: the calls of the field trial, and a server that is killed before a call and under one. Counted are the
failures whose text names the next step, and the calls that should work and did. `--write` puts the table into
docs/wrap.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failwell.model import nature_of_name
from field_cases import CASES, WORKS, Case
from field_client import web
from field_servers import ROOT, SERVERS, NotInstalled, Server

PAGE = ROOT / "docs" / "wrap.md"
CANONICAL = "io.github.failwell/tool-error"
WRAP = [sys.executable, "-m", "failwell", "wrap"]
# What tells a model what to do, in anybody's words.
NEXT = re.compile(
    r"\bnext: |\b(?:call|use|try|wait|ask|tell|correct|change|fix|look|do something else|did you mean|check|please"
    r"|one of)\b",
    re.IGNORECASE,
)
PATIENCE = 40.0
# What a relay starts knows by one variable that it was started by it.
_SHOWS_ITS_ENVIRONMENT = ("tools/call get-env",)


class Gone(Exception):
    """Nobody answers any more."""


class Conversation:
    """A server while it runs, and what it was asked."""

    def __init__(self, server: Server, relay: list[str]) -> None:
        self.folder = Path(tempfile.gettempdir()) / f"field-relay-{server.name}" / "here"
        shutil.rmtree(self.folder.parent, ignore_errors=True)
        for place in (self.folder, self.folder.parent / "home"):
            place.mkdir(parents=True)
        server.prepare(self.folder)
        self._is_wrapped = bool(relay)
        self.process = subprocess.Popen(
            [*relay, *server.command_line(self.folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, cwd=self.folder,
            # Some list things in the order of a set.
            env={**server.environment(self.folder), "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        self._rest, self._id = b"", 0
        self.answers: dict[str, bytes] = {}
        info = {"name": "field", "version": "1"}
        try:
            self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
            self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except Gone:
            self.__exit__()
            raise

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            for pid in _below(self.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        except OSError:
            raise Gone from None

    def ask(self, method: str, params: dict[str, Any] | None = None, *, label: str = "", then: Any = None) -> Any:
        """What is answered; it raises `Gone`."""
        self._id += 1
        self._write({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params or {}})
        if then is not None:
            then()
        assert self.process.stdout is not None
        until = time.monotonic() + PATIENCE
        while True:
            while b"\n" not in self._rest:
                if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                    raise Gone
                data = os.read(self.process.stdout.fileno(), 1 << 16)
                if not data:
                    raise Gone
                self._rest += data
            line, _, self._rest = self._rest.partition(b"\n")
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict) and answer.get("id") == self._id and "method" not in answer:
                self.answers[label or method] = line
                return answer

    def signal(self, *numbers: int) -> None:
        """To the server itself, wherever it is."""
        # Of a relay's two, the other one watches over it, and is older. Node may be a child of what starts it.
        pids = _below(max(_children(self.process.pid)) if self._is_wrapped else self.process.pid)
        for number in numbers:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        if signal.SIGKILL in numbers and not self._is_wrapped:
            self.process.wait(10)


def _children(pid: int) -> list[int]:
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split())]


def _below(pid: int) -> list[int]:
    return [pid, *(each for child in _children(pid) for each in _below(child))]


# Fidelity


def compared(server: Server) -> tuple[int, list[str]]:
    """How many messages there were, and which of them differ."""
    # Alone twice: what differs there, such as a time, is the server's own doing.
    direct, again, through = (_asked(server, relay) for relay in ([], [], [*WRAP, "--validate", "off", "--"]))
    return len(direct), differing(direct, again, through)


def differing(direct: dict[str, bytes], again: dict[str, bytes], through: dict[str, bytes]) -> list[str]:
    """The messages of a server that are others behind a relay, and should not be."""
    found = []
    for question, one in direct.items():
        other = through.get(question, b"")
        if again.get(question) != one or question in _SHOWS_ITS_ENVIRONMENT:
            continue
        message = json.loads(one)
        is_call = question.startswith("tools/call")
        is_failed = is_call and ("error" in message or message["result"].get("isError"))
        if not is_failed and one != other and not (is_call and CANONICAL.encode() in other):
            found.append(f"{question}: {one[:150]!r} became {other[:150]!r}")
    return found


def _asked(server: Server, relay: list[str]) -> dict[str, bytes]:
    with Conversation(server, relay) as talk:
        return asked_of(talk)


def asked_of(talk: Any) -> dict[str, bytes]:
    """What a server says to a handshake, all lists, a method that nobody knows, and calls."""
    tools = talk.ask("tools/list").get("result", {}).get("tools", [])
    for method in ("resources/list", "prompts/list", "ping", "vendor/nothing"):
        talk.ask(method)
    names = [each["name"] for each in tools if each.get("inputSchema", {}).get("required")]
    names += [each["name"] for each in tools if each["name"] not in names and nature_of_name(each["name"]) == "read"]
    for name in [*names[:8], "no_such_tool_at_all"]:
        talk.ask("tools/call", {"name": name, "arguments": {}}, label=f"tools/call {name}")
    answers: dict[str, bytes] = talk.answers
    return answers


# Recovery


@dataclass
class Tally:
    """What became of the calls of one lane."""

    failures: int = 0
    named: int = 0
    wanted: int = 0
    worked: int = 0

    def add(self, answer: Any, *, wanted: bool) -> None:
        text = _failure(answer)
        self.wanted += wanted
        self.worked += wanted and text is None
        self.failures += text is not None
        self.named += text is not None and NEXT.search(text) is not None


def _failure(answer: Any) -> str | None:
    """What a model reads of a failure; None of a success, nothing where nobody answers."""
    if answer is None:
        return ""
    if "error" in answer:
        return str(answer["error"].get("message"))
    result = answer.get("result", {})
    if not result.get("isError"):
        return None
    return " ".join(str(block.get("text", "")) for block in result.get("content", [])[:1])


def tried(server: Server, relay: list[str], address: str) -> Tally:
    tally = Tally()
    cases = CASES[server.name]
    fine = [case for case in cases if case.expected == WORKS]
    working = next((case for case in fine if nature_of_name(case.tool) == "read"), (fine or cases)[-1])
    with Conversation(server, relay) as talk:

        def call(case: Case, *, wanted: bool, then: Any = None) -> None:
            given = json.loads(
                json.dumps(dict(case.arguments)).replace("{here}", str(talk.folder)).replace("{web}", address)
            )
            try:
                answer = talk.ask("tools/call", {"name": case.tool, "arguments": given}, then=then)
            except Gone:
                answer = None
            tally.add(answer, wanted=wanted)
            said = _failure(answer)
            if relay and said is not None and (wanted or not NEXT.search(said)):
                print(f"  {server.name}: {case.what}, {case.tool}: {said}", flush=True)

        talk.ask("tools/list")
        for case in cases:
            call(case, wanted=case.expected == WORKS)
        talk.signal(signal.SIGKILL)
        with suppress(Gone):
            # Whoever stands between has seen it by then.
            talk.ask("ping")
        call(working, wanted=bool(fine))
        call(working, wanted=bool(fine))
        if talk.process.poll() is None:
            # It has read the call, or will never: stopped, it cannot be known.
            talk.signal(signal.SIGSTOP)
            call(working, wanted=False, then=lambda: talk.signal(signal.SIGKILL))
        else:
            call(working, wanted=False)
        call(working, wanted=bool(fine))
    return tally


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="only these servers")
    parser.add_argument("--write", action="store_true", help="put the table into docs/wrap.md")
    asked = parser.parse_args()
    rows: list[tuple[str, int, list[Tally]]] = []
    differs = 0
    with web() as address:
        for server in SERVERS:
            if asked.names and server.name not in asked.names:
                continue
            try:
                messages, found = compared(server)
                tallies = [tried(server, relay, address) for relay in ([], [*WRAP, "--"])]
            except (NotInstalled, Gone, OSError) as problem:
                print(f"{server.name}: not tried: {type(problem).__name__} {problem}", flush=True)
                continue
            rows.append((server.package, messages, tallies))
            print(_row(*rows[-1]), *(f"  {each}" for each in found), sep="\n", flush=True)
            differs += len(found)
    table = _table(rows, differs)
    print(table)
    if asked.write:
        page = PAGE.read_text("utf-8")
        begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
        PAGE.write_text(f"{page[:begin]}\n{table}\n{page[end:]}", "utf-8")
    return bool(differs)


_BEGIN = "<!-- the last run of tools/field_relay.py -->\n"
_END = "<!-- its end -->"


def _row(name: str, messages: int, tallies: list[Tally]) -> str:
    alone, wrapped = tallies
    named = " | ".join(f"{each.named} of {each.failures}" for each in tallies)
    return (
        f"| {name} | {messages} | {named} | {alone.worked} of {alone.wanted} | {wrapped.worked} of {wrapped.wanted} |"
    )


def _table(rows: list[tuple[str, int, list[Tally]]], differs: int) -> str:
    sums = [
        Tally(*(sum(getattr(row[2][lane], name) for row in rows) for name in ("failures", "named", "wanted", "worked")))
        for lane in (0, 1)
    ]
    head = "| server | messages compared | next step named, alone | wrapped | calls that got through, alone | wrapped |"
    lines = [head, "|---|---|---|---|---|---|", *(_row(*row) for row in rows)]
    lines.append(_row(f"all {len(rows)}", sum(row[1] for row in rows), sums))
    return "\n".join([*lines, "", f"{differs} of the messages that are no failed call differ."])


if __name__ == "__main__":
    sys.exit(main())
