"""For a server's own tests: `assert_fails_well(server)`."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final, Unpack

from .check_options import CheckChoices
from .checking import check
from .report_data import CheckReport
from .target import CheckTarget

__all__ = ["assert_fails_well"]
_PATH: Final = "/mcp"


def assert_fails_well(server: Any, *, min_score: int = 90, **options: Unpack[CheckChoices]) -> CheckReport:
    """Fail the test unless the server fails well enough; the report says how it does.

    `server` is a command as a list, an address, an `MCPServer`, a low-level `mcp` Server or a FastMCP. A server object
    is served over HTTP on loopback for as long as the check takes. `options` are those of `check`.
    The report has `score`, `grade`, `findings` and `to_dict()`.
    """
    __tracebackhide__ = True
    with _reached(server) as target:
        report = check(target, **options)
    if report.score < min_score:
        raise AssertionError(_told(report, min_score))
    return report


def _told(report: CheckReport, least: int) -> str:
    if report.examined.reason is not None:
        return f"The server does not start: {report.examined.reason}"
    lines = [f"The server fails with {report.score} of 100 ({report.grade}); wanted are {least}. Fix first:"]
    for rule, _, findings in report.first_to_fix():
        where = ", ".join(sorted({finding.tool or "the server" for finding in findings})[:3])
        lines += [f"- {rule} on {where}: {findings[0].message}", f"  {findings[0].fix}"]
    return "\n".join(lines)


@contextlib.contextmanager
def _reached(server: Any) -> Iterator[CheckTarget]:
    if isinstance(server, CheckTarget):
        yield server
    elif isinstance(server, str):
        yield CheckTarget(url=server)
    elif isinstance(server, Sequence):
        yield CheckTarget([str(part) for part in server])
    else:
        with _served(server) as port:
            yield CheckTarget(url=f"http://127.0.0.1:{port}{_PATH}")


@contextlib.contextmanager
def _served(server: Any) -> Iterator[int]:
    """A server object on loopback, in a thread of its own."""
    import uvicorn

    app = server.http_app(path=_PATH) if hasattr(server, "http_app") else server.streamable_http_app()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        running = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            # What comes before it runs waits in the socket's queue.
            yield listening.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join(5)
