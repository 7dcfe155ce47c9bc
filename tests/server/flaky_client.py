"""`Recovering` around the clients of whichever generation is installed, on flaky_app.py: what was tried, as JSON.

python flaky_client.py
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import failwell as fw
from failwell.client import Recovering
from failwell.sdk import GENERATION

APP = str(Path(__file__).with_name("flaky_app.py"))
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("busy", {"city": "Oslo"}),
    ("pay", {"invoice": "inv_1", "amount": 5}),
    ("get_payment", {"invoice": "inv_1"}),
    ("get_payment", {"invoce": "inv_1"}),
    ("get_paymnet", {"invoice": "inv_1"}),
)


@contextmanager
def listening(folder: str) -> Iterator[str]:
    """The address of a server; 1.9 mounts its application, and redirects whoever leaves out the last slash."""
    command = [sys.executable, APP, "http", "0", folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        finally:
            server.kill()


def session_over_pipes(folder: str) -> Callable[[], Any]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        params = StdioServerParameters(command=sys.executable, args=[APP, "stdio", folder])
        async with stdio_client(params) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session

    return opened


def session_over_http(url: str) -> Callable[[], Any]:
    from mcp import ClientSession
    from mcp.client import streamable_http

    connect = getattr(streamable_http, "streamable_http_client", None) or streamable_http.streamablehttp_client

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        async with connect(url) as streams, ClientSession(*streams[:2]) as session:
            yield session

    return opened


def told(report: Any) -> dict[str, Any]:
    error = report.error
    block = next((block for block in report.result.content if block.type == "text"), None)
    return {
        "tool": report.tool,
        "attempts": [str(each.decision.next) for each in report.attempts],
        "code": error.code if isinstance(error, fw.ToolError) else None,
        "effect": None if not isinstance(error, fw.ToolError) or error.effect is None else str(error.effect),
        "text": None if block is None else block.text,
    }


async def tried(client: Any, calls: tuple[tuple[str, dict[str, Any]], ...]) -> list[dict[str, Any]]:
    policy = fw.Policy(base_delay=0.01, timeout=20)
    async with Recovering(client, policy=policy) as agent:
        return [told(await agent.call(name, arguments)) for name, arguments in calls]


async def main() -> dict[str, Any]:
    found: dict[str, Any] = {}
    dies = (("dies", {"city": "Oslo"}),)

    async def over(name: str, make: Callable[[str], Any], calls: Any = CALLS) -> None:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = await tried(make(folder), calls)
            if (paid := Path(folder) / "payments").exists():
                found[name].append({"payments": len(paid.read_text())})

    async def over_http(name: str, make: Callable[[str], Any]) -> None:
        with tempfile.TemporaryDirectory() as folder, listening(folder) as url:
            found[name] = await tried(make(url), CALLS)
            found[name].append({"payments": len((Path(folder) / "payments").read_text())})

    try:
        import fastmcp
    except ImportError:
        await over("session-stdio", session_over_pipes, (*CALLS, *dies))
        await over_http("session-http", session_over_http)
        if GENERATION == 2:
            import mcp

            await over_http("client-http", mcp.Client)
        return found

    from fastmcp.client.transports import StdioTransport

    def process(folder: str) -> Any:
        return fastmcp.Client(StdioTransport(sys.executable, [APP, "stdio", folder]))

    await over("client-stdio", process, (*CALLS, *dies))
    await over_http("client-http", fastmcp.Client)
    return found


if __name__ == "__main__":
    logging.disable()
    print(json.dumps(asyncio.run(main()), indent=1))
