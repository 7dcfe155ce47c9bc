"""What successful calls answer: not too long, with progress on the way, and as contract 004 puts results together."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
import pytest
from fastmcp import FastMCP
from hypothesis import given
from hypothesis import strategies as st
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from pydantic import BaseModel

import failwell.server
from failwell.formats import META_KEY
from failwell.server.replies import truncate_data
from failwell.server.served_call import ServedCall, current

READER = types.Implementation(name="reader", version="1")


@pytest.fixture(params=["mcpserver", "fastmcp"])
def framework(request: pytest.FixtureRequest) -> Any:
    return MCPServer("long", log_level="ERROR") if request.param == "mcpserver" else FastMCP("long")


def call(server: Any, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
    async def ask() -> Any:
        async with Client(getattr(server, "_mcp_server", server), client_info=READER) as client:
            return await client.call_tool(tool, arguments or {}, **more)

    return anyio.run(ask)


class Report(BaseModel):
    text: str


@pytest.mark.checklist(169)
def test_a_long_text_is_cut_and_says_how_to_get_less(framework: Any) -> None:
    @framework.tool()
    def read(limit: int = 10) -> types.CallToolResult:
        """Read."""
        return failwell.server.tool_result("é" * 5_000)

    result = call(failwell.server.install(framework, wire={"max_output": 1_000}), "read")
    text, remark = (block.text for block in result.content)
    assert len(text) <= 1_000
    assert set(text) >= {"é"}
    assert remark == "The output had 5000 characters and was cut to about 1000. To see the rest, use limit."
    assert result.is_error is False
    assert result.meta[META_KEY]["details"] == {"characters": 5000, "max_output": 1000}


@pytest.mark.checklist(169)
def test_long_json_stays_json(framework: Any) -> None:
    rows = [{"id": number, "note": "n" * 300} for number in range(400)]

    @framework.tool()
    def rows_of() -> types.CallToolResult:
        """Rows."""
        return failwell.server.reply({"rows": rows}, gate="json")

    result = call(failwell.server.install(framework, wire={"max_output": 2_000}), "rows_of")
    text = result.content[0].text
    assert len(text) <= 3_000
    kept = json.loads(text)["rows"]
    assert kept[0]["id"] == 0
    assert kept[-1].endswith("more)")
    assert len(json.dumps(result.structured_content)) <= 2_000
    assert "ask for a part of it" in result.content[1].text


def test_what_fits_is_untouched_and_what_a_schema_promises_is_not_cut(framework: Any) -> None:
    @framework.tool()
    def short() -> types.CallToolResult:
        """Short."""
        return failwell.server.tool_result("fits")

    @framework.tool()
    def promised() -> Report:
        """Promised."""
        return Report(text="x" * 5_000)

    server = failwell.server.install(framework, wire={"max_output": 1_000})
    assert [block.text for block in call(server, "short").content] == ["fits"]
    result = call(server, "promised")
    assert result.structured_content == {"text": "x" * 5_000}
    assert len(json.loads(result.content[0].text)["text"]) <= 1_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_truncated_data_is_data(value: Any) -> None:
    cut = truncate_data(value, 200)
    assert json.loads(json.dumps(cut)) == cut
    assert type(cut) is type(value)


@pytest.mark.parametrize("wrong", [0, 199, -1, 1.5, "many"], ids=repr)
def test_a_budget_is_a_number_of_characters(wrong: Any) -> None:
    with pytest.raises(ValueError, match="at least 200"):
        failwell.server.Options(wire={"max_output": wrong})


@pytest.mark.checklist(285)
def test_a_result_is_made_of_a_text_a_block_or_several() -> None:
    image = types.ImageContent(type="image", data="aGk=", mime_type="image/png")
    made = [
        failwell.server.tool_result("done"),
        failwell.server.tool_result(image),
        failwell.server.tool_result({"type": "text", "text": "as a dictionary"}),
        failwell.server.tool_result(["one", image], is_error=True, meta={"device_id": "dev-lab-01"}),
    ]
    told = {"by_alias": True, "exclude_none": True, "mode": "json", "exclude": {"result_type"}}
    assert [each.model_dump(**told) for each in made] == [
        {"content": [{"type": "text", "text": "done"}], "isError": False},
        {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}], "isError": False},
        {"content": [{"type": "text", "text": "as a dictionary"}], "isError": False},
        {
            "content": [{"type": "text", "text": "one"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
            "isError": True,
            "_meta": {"device_id": "dev-lab-01"},
        },
    ]


def progressed(message: str, asked: object = True, **about: Any) -> Any:
    """What `progress` tells the caller of a tool who asked for it so."""

    async def report_progress(*told: Any) -> None: ...

    session = SimpleNamespace(report_progress=report_progress)
    request = SimpleNamespace(protocol_version="2026-07-28", session=session)

    async def tell() -> Any:
        current.set(ServedCall("apply", {} if asked is ... else {"stream_progress": asked}, request))
        return await failwell.server.progress(message, **about)

    return asyncio.run(tell())


@pytest.mark.checklist(286)
def test_progress_is_the_contracts_object() -> None:
    assert progressed("Half way", percent=50, data={"device": "d1"}) == {
        "type": "progress",
        "message": "Half way",
        "percent": 50,
        "data": {"device": "d1"},
    }
    assert progressed("?", percent=math.nan) == {"type": "progress", "message": "?"}
    assert [progressed("", percent=value)["percent"] for value in (-1, math.inf)] == [0, 100]


@pytest.mark.checklist(286)
@pytest.mark.parametrize("value", [1, "true", "True", [True], None, False, ...], ids=repr)
def test_only_true_asks_for_progress(value: object) -> None:
    assert progressed("Half way", value) is None


@pytest.mark.checklist(286)
def test_progress_reaches_the_client(framework: Any) -> None:
    @framework.tool()
    async def apply(stream_progress: bool = False) -> types.CallToolResult:
        """Apply."""
        told = [await failwell.server.progress(f"Step {step}", percent=step * 50) for step in (1, 2)]
        return failwell.server.tool_result(json.dumps(told))

    failwell.server.install(framework)
    seen: list[tuple[float, float | None, str | None]] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    quiet = call(framework, "apply", progress_callback=on_progress)
    assert json.loads(quiet.content[0].text) == [None, None]
    assert seen == []
    told = call(framework, "apply", {"stream_progress": True}, progress_callback=on_progress)
    assert json.loads(told.content[0].text)[1] == {"type": "progress", "message": "Step 2", "percent": 100}
    assert seen == [(50, 100, "Step 1"), (100, 100, "Step 2")]
    assert anyio.run(lambda: failwell.server.progress("to nobody")) is None


BROKEN = "caf\udce9.txt"
MENDED = "caf\ufffd.txt"


def test_half_a_character_in_a_result_is_replaced_in_text_and_data(framework: Any) -> None:
    @framework.tool()
    def names() -> str:
        """File names."""
        return BROKEN

    @framework.tool()
    def refused() -> types.CallToolResult:
        """An error of the tool's own."""
        return types.CallToolResult(content=[types.TextContent(text=BROKEN)], is_error=True)

    server = failwell.server.install(framework)
    result = call(server, "names")
    assert (result.content[0].text, result.structured_content) == (MENDED, {"result": MENDED})
    assert MENDED in call(server, "refused").content[0].text


def test_half_a_character_in_data_beside_its_escape_is_replaced() -> None:
    async def on_list(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="names", input_schema={"type": "object"})])

    async def on_call(ctx: Any, params: Any) -> types.CallToolResult:
        data = {"names": [BROKEN, "\\ud is a word"]}
        return types.CallToolResult(content=[types.TextContent(text=json.dumps(data))], structured_content=data)

    server = failwell.server.install(Server("low", on_list_tools=on_list, on_call_tool=on_call))
    assert call(server, "names").structured_content == {"names": [MENDED, "\\ud is a word"]}


SERVING = f"""
from mcp.server import MCPServer
import failwell.server
server = MCPServer("names", log_level="CRITICAL")
@server.tool()
def names() -> str:
    return {BROKEN!a}
failwell.server.install(server)
server.run()
"""


def test_a_server_on_pipes_survives_half_a_character() -> None:
    """Without `install` the SDK's writer ends at it, and every later call waits for ever."""

    async def ask() -> list[str]:
        async with Client(StdioServerParameters(command=sys.executable, args=["-c", SERVING])) as client:
            return [(await client.call_tool("names", {})).content[0].text for _ in range(2)]  # type: ignore[union-attr]

    assert anyio.run(ask) == [MENDED, MENDED]
