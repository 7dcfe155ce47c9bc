"""What a model has to be told about each tool of `bridge_app.py`, whatever the framework between them."""

from __future__ import annotations

import base64
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic.version import version_short

import commands
import failwell as fw

APP: Final = Path(__file__).with_name("bridge_app.py")
STYLES: Final = ("plain", "failwell")


LOST: Final = "The answer was lost, so die may have been done already. Next: ask the user."


class Case(NamedTuple):
    """One call: `fix` says that the model can correct it, `calls` how often the server is asked."""

    tool: str
    arguments: dict[str, Any]
    plain: str
    failwell: str
    error: bool = True
    fix: bool = False
    calls: int | None = None

    def text(self, style: str) -> str:
        return self.plain if style == "plain" else self.failwell


_NO_FILE: Final = "There is no such file."
_LIMITED: Final = "Error: 429 Too Many Requests. Retry after 0.01 seconds."
_END: Final = "Next: end the task and report the failure. Do not call it again."
_GUARDED: Final = "It broke at postgres://admin:[redacted]@db.internal/prod."
CASES: Final = {
    "success": Case("add", {"count": 1}, "The sum is 2.", "The sum is 2.", error=False),
    "validation": Case(
        "add",
        {"count": "many"},
        # A server's own words are told as they are, with the call that its list proves.
        "1 validation error for addArguments\ncount\n  Input should be a valid integer, unable to parse string as an "
        "integer [type=int_parsing, input_value='many', input_type=str]\n    For further information visit "
        f"https://errors.pydantic.dev/{version_short()}/v/int_parsing. "
        'Next: call add with {"count": "<integer>"}.',
        'count must be an integer. Next: call add with {"count": "<integer>"}.',
        fix=True,
    ),
    "not found": Case(
        "find_user",
        {"id": 7},
        "User 7 not found",
        "User 7 does not exist. Call list_users.",
    ),
    "rate limit that passes": Case("quota", {}, "It took 2 calls.", "It took 2 calls.", error=False),
    "rate limit that stays": Case(
        "busy",
        {},
        "429 Too Many Requests. Retry after 0.01 seconds. It was tried 3 times. Wait 0.1 seconds, then make the same call "
        "again.",
        "Too many requests. It was tried 3 times. Wait 0.1 seconds, then make the same call again.",
        calls=3,
    ),
    "write of unknown outcome": Case(
        "pay",
        {"amount": 5},
        "503 Service Unavailable",
        "pay failed part-way (The bank is busy), so it may have been done already. Next: call called to see whether it was.",
        calls=1,
    ),
    "named like a write": Case(
        "transfer",
        {"amount": 5},
        "503 Service Unavailable",
        "transfer failed part-way (The operation took too long), so it may have been done already. Next: ask the user.",
        calls=1,
    ),
    "named like a read": Case(
        "get_weather",
        {},
        "503 Service Unavailable. It was tried 3 times. Wait 1 second, then make the same call again.",
        "The operation took too long. It was tried 3 times. Wait 1 second, then make the same call again.",
        calls=3,
    ),
    "unmarked": Case(
        "frobnicate",
        {},
        "503 Service Unavailable",
        "The operation took too long. Wait 1 second, then make the same call again.",
        calls=1,
    ),
    "write that worked, and looks as if it had not": Case(
        "mirror", {"amount": 5}, _LIMITED, _LIMITED, error=False, calls=1
    ),
    "crash": Case(
        "crash",
        {},
        "The tool failed and gave no reason.",
        f"[crash] The tool failed unexpectedly. {_END}",
    ),
    "secret": Case("leak", {}, _GUARDED, f"{_GUARDED} {_END}"),
    # Contract 003's envelope says by itself that the call failed.
    "error as success": Case("pretend", {}, _NO_FILE, _NO_FILE),
    "permission": Case(
        "delete_user",
        {"id": 7},
        "403 Forbidden: only admins may delete users",
        "Only admins may delete users. Ask the user: something has to be changed first.",
    ),
}


class Restraint(NamedTuple):
    """A call that a model makes again and again: how often, how often the server is asked, and how what the model reads last begins."""

    policy: fw.Policy
    tool: str
    arguments: dict[str, Any]
    times: int
    calls: int
    last: str


RESTRAINTS: Final = {
    "loop guard": Restraint(
        fw.Policy(),
        "find_user",
        {"id": 7},
        4,
        2,
        "Not called: the same call failed twice in the same way. User 7 not found. Use another one, or look for it first.",
    ),
    "hold": Restraint(
        fw.Policy(),
        "cancel_order",
        {"id": 7},
        3,
        1,
        "cancel_order was not run again: the call before may have been done already. Next: call get_order with "
        '{"id":7} to see whether it was.',
    ),
}


async def check_restraint(
    ask: Callable[[Restraint], Awaitable[list[str]]], count: Callable[[str], Awaitable[object]]
) -> None:
    """`ask` makes the call of a row as often as it says, through a bridge with its policy, and gives what was read."""
    for name, row in RESTRAINTS.items():
        before = await count(row.tool)
        texts = await ask(row)
        made = int(str(await count(row.tool))) - int(str(before))
        assert made == row.calls, (name, made, texts)
        assert texts[-1].startswith(row.last), (name, texts)


# What `scan` fails with: the text that is told, and what else the server sends, with its secrets masked.
SCAN: Final = "No page 7."
SCAN_LOG: Final = "Log: read 6 pages from postgres://admin:[redacted]@db.internal/prod"
_IMAGE: Final = {"type": "image", "data": base64.b64encode(b"pixel").decode(), "mimeType": "image/png"}
_PAGE: Final = {"type": "resource", "resource": {"uri": "file:///6.txt", "text": "Page 6"}}
SCAN_REST: Final[list[dict[str, Any]]] = [_IMAGE, {"type": "text", "text": SCAN_LOG}, _PAGE]
SCAN_ORIGINAL: Final[list[dict[str, Any]]] = [
    _IMAGE,
    {"type": "text", "text": "Error executing tool scan: Page 7 not found"},
    {"type": "text", "text": SCAN_LOG},
    {"type": "text", "text": '{"success": false, "error": {"code": "NOT_FOUND", "message": "No page 7."}}'},
    _PAGE,
]
SCAN_STRUCTURED: Final = {"pages": 6, "source": "postgres://admin:[redacted]@db.internal/prod"}


def command(style: str) -> list[str]:
    return commands.python(APP, style)


@contextmanager
def serving(style: str) -> Iterator[str]:
    """The address of a server in a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    child = subprocess.Popen([*command(style), str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        child.kill()
        child.wait()
