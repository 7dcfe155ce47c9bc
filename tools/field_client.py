"""A field trial: `Recovering` around two clients, on servers that others have published and that know no contract.

Each server is installed from its registry, called rightly and wrongly, killed and stopped. Every failure is read, and
held against what a reasonable person would make of it. The exit code is 1 when anything does not agree. A server that
cannot be installed is named as not tried, and counts for nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from field_run import CLIENTS, Row, run
from field_servers import ROOT, SERVERS, NotInstalled, Server

_PAGE: Final = ROOT / "docs" / "field.md"
_MARK: Final = "## The last run\n"
_SECONDS: Final = re.compile(r", \d+ s$")
_HEADINGS: Final = ("what", "tool", "on the wire", "read as", "decided", "verdict")


class _Web(BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def do_GET(self) -> None:
        name = self.path.strip("/")
        if name == "reset":
            self.connection.close()
            return
        body = b"User-agent: *\nDisallow: /private\n" if name == "robots.txt" else b"tea"
        self.send_response(int(name) if name.isdigit() else 200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def web() -> Iterator[str]:
    """The address of a web server of our own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Web)
    # A connection that is closed on purpose is no news.
    server.handle_error = lambda request, address: None  # type: ignore[method-assign, assignment]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


async def _try_all(servers: list[Server], address: str, at_a_time: int) -> dict[str, dict[str, list[Row]] | str]:
    gate = asyncio.Semaphore(at_a_time)

    async def one(server: Server) -> dict[str, list[Row]] | str:
        async with gate:
            try:
                # Before the trials: those of one server would install it twice.
                await asyncio.to_thread(server.command_line, Path())
            except NotInstalled as exc:
                return str(exc)
            found = {}
            for kind in CLIENTS:
                found[kind] = await asyncio.create_task(run(server, kind, address))
            print(f"{server.name}: {sum(bool(row.wrong) for rows in found.values() for row in rows)} wrong", flush=True)
            return found

    results = await asyncio.gather(*(one(server) for server in servers))
    return {server.name: result for server, result in zip(servers, results, strict=True)}


def _merged(found: dict[str, list[Row]]) -> list[list[str]]:
    """The rows of both clients: one where they agree, and otherwise one for each."""
    lines: list[list[str]] = []
    one, other = (found[kind] for kind in CLIENTS)
    for place in range(max(len(one), len(other))):
        rows = {kind: found[kind][place] for kind in CLIENTS if place < len(found[kind])}
        if len({_timeless(row) for row in rows.values()}) == 1 and len(rows) == len(CLIENTS):
            lines.append(_cells(next(iter(rows.values()))))
        else:
            lines += [_cells(row, f" ({kind})") for kind, row in rows.items()]
    return lines


def _timeless(row: Row) -> Row:
    """A row without its seconds."""
    return replace(row, reading=_SECONDS.sub("", row.reading))


def _cells(row: Row, kind: str = "") -> list[str]:
    wire = row.wire.replace("|", "¦").replace("`", "'")
    told = f"**{row.wrong}**" if row.wrong else "agreed"
    return [row.what + kind, row.tool, f"`{wire}`" if wire else "", row.reading, row.decision, told]


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [list(_HEADINGS), *rows]]
    return "\n".join([lines[0], "|---" * len(_HEADINGS) + "|", *lines[1:]])


def _told(servers: list[Server], found: dict[str, dict[str, list[Row]] | str], seconds: float) -> tuple[str, int]:
    """The page, and how many rows a reasonable person does not agree with."""
    parts: list[str] = []
    count = wrong = 0
    skipped = []
    for server in servers:
        result = found[server.name]
        if isinstance(result, str):
            skipped.append(f"{server.package}: not tried ({result}).")
            continue
        parts.append(f"### {server.package}, {server.language}\n\n{_table(_merged(result))}\n")
        rows = [row for each in result.values() for row in each]
        count += len(rows)
        wrong += sum(bool(row.wrong) for row in rows)
    tried = len(servers) - len(skipped)
    head = f"{tried} servers, {count} lines of both clients, {wrong} not agreed, in {seconds:.0f} seconds."
    return "\n".join([head, *(["", *skipped] if skipped else []), "", *parts]), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="*", help=f"of {', '.join(server.name for server in SERVERS)}; all by default")
    parser.add_argument("--at-a-time", type=int, default=2, help="how many servers are tried at once (default: 2)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/field.md")
    asked = parser.parse_args()
    if unknown := [name for name in asked.servers if name not in {server.name for server in SERVERS}]:
        parser.error(f"there is no server {unknown[0]!r}; there are {', '.join(server.name for server in SERVERS)}")
    servers = [server for server in SERVERS if not asked.servers or server.name in asked.servers]
    # What the SDKs say about a server that is killed is not what this is about.
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    with web() as address:
        found = asyncio.run(_try_all(servers, address, asked.at_a_time))
    told, wrong = _told(servers, found, time.monotonic() - began)
    print(told)
    if asked.write:
        page = _PAGE.read_text(encoding="utf-8")
        _PAGE.write_text(page[: page.index(_MARK)] + _MARK + "\n" + told.rstrip() + "\n", encoding="utf-8")
    # Where nothing could be tried, nothing was shown.
    return 1 if wrong or all(isinstance(result, str) for result in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
