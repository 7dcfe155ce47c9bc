"""The Anthropic API: the blocks that answer a tool use, checked against the SDK's own types."""

from __future__ import annotations

import base64
import re
from typing import Any

import anyio
import pytest
from anthropic.types import ToolResultBlockParam
from bridge_cases import CASES, RESTRAINTS, SCAN, SCAN_LOG, STYLES, command
from fastmcp.client.client import CallToolResult as FastMCPResult
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import ConfigDict, TypeAdapter, with_config

import failwell as fw
from failwell.client import Recovering
from failwell.client.anthropic import tool_result_block

PARAM: TypeAdapter[Any] = TypeAdapter(with_config(ConfigDict(extra="forbid"))(ToolResultBlockParam))


def block_for(outcome: object, **options: Any) -> Any:
    block = tool_result_block("toolu_1", outcome, **options)
    checked = PARAM.validate_python(block, strict=True)
    assert {**checked, "content": list(checked["content"])} == block
    return block


def text(*texts: str, error: bool = False) -> dict[str, Any]:
    content = [{"type": "text", "text": each} for each in texts]
    marked = {"is_error": True} if error else {}
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **marked}


@pytest.mark.parametrize("style", STYLES)
def test_the_model_sees_each_outcome_once_and_marked(style: str) -> None:
    python, *args = command(style)

    async def main() -> None:
        async with Client(StdioServerParameters(command=python, args=args)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            for name, case in CASES.items():
                if name.startswith("rate limit") or name == "named like a read":
                    continue  # the block waits for nobody
                outcome = await client.call_tool(case.tool, case.arguments)
                block = block_for(outcome, tool=tools[case.tool], arguments=case.arguments)
                assert (name, block) == (name, text(case.text(style), error=case.error))

    anyio.run(main)


def test_what_else_a_server_sends_with_a_failure_stays_as_text() -> None:
    """The API refuses an error that has anything but texts."""
    python, *args = command("plain")

    async def main() -> object:
        async with Client(StdioServerParameters(command=python, args=args)) as client:
            return await client.call_tool("scan", {})

    image = "(The server also sent: image, not shown.)"
    assert block_for(anyio.run(main)) == text(SCAN, image, SCAN_LOG, "Page 6", error=True)


def test_with_a_recovering_client_the_waits_are_over() -> None:
    python, *args = command("failwell")

    async def main() -> None:
        async with Recovering(Client(StdioServerParameters(command=python, args=args))) as agent:
            assert block_for(await agent.call_tool("quota", {})) == text("It took 2 calls.")
            assert block_for(await agent.call_tool("find_user", {"id": 7})) == text(
                CASES["not found"].failwell, error=True
            )

    anyio.run(main)


PIXEL = base64.b64encode(b"pixel").decode()
NOTE = base64.b64encode("naïve".encode()).decode()


def result(*content: Any, **more: Any) -> CallToolResult:
    return CallToolResult(content=list(content), **more)


def test_what_worked_becomes_content() -> None:
    worked = result(
        TextContent(type="text", text="Here:"),
        TextContent(type="text", text=""),
        ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///a.txt", text="a")),
        EmbeddedResource(
            type="resource", resource=BlobResourceContents(uri="file:///b.pdf", blob=PIXEL, mime_type="application/pdf")
        ),
        EmbeddedResource(
            type="resource", resource=BlobResourceContents(uri="file:///c.png", blob=PIXEL, mime_type="image/webp")
        ),
        EmbeddedResource(
            type="resource", resource=BlobResourceContents(uri="file:///d.csv", blob=NOTE, mime_type="text/csv")
        ),
        ImageContent(type="image", data=PIXEL, mime_type="image/tiff"),
        AudioContent(type="audio", data=PIXEL, mime_type="audio/wav"),
        ResourceLink(type="resource_link", name="d", uri="file:///d.bin"),
    )
    source = {"type": "base64", "data": PIXEL}
    assert block_for(worked) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [
            {"type": "text", "text": "Here:"},
            {"type": "image", "source": {**source, "media_type": "image/png"}},
            {"type": "text", "text": "a"},
            {"type": "document", "source": {**source, "media_type": "application/pdf"}},
            {"type": "image", "source": {**source, "media_type": "image/webp"}},
            {"type": "text", "text": "naïve"},
            {"type": "text", "text": f'{{"type": "image", "data": "{PIXEL}", "mimeType": "image/tiff"}}'},
            {"type": "text", "text": f'{{"type": "audio", "data": "{PIXEL}", "mimeType": "audio/wav"}}'},
            {"type": "text", "text": '{"name": "d", "uri": "file:///d.bin", "type": "resource_link"}'},
        ],
    }


BLOCKS = [TextContent(type="text", text="fine")]
FINE = [
    (result(*BLOCKS), ["fine"]),
    (FastMCPResult(content=BLOCKS, structured_content=None, meta=None), ["fine"]),
    ({"content": [{"type": "text", "text": "fine"}]}, ["fine"]),
    ({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "fine"}]}}, ["fine"]),
    (result(structured_content={"n": 1}), ['{"n": 1}']),
    (result(), []),
    ("fine", ["fine"]),
    ({"n": 1}, ['{"n": 1}']),
    ("Error: User 7 not found", ["Error: User 7 not found"]),
    ({"success": False, "error": "no"}, ['{"success": false, "error": "no"}']),
    ([1, 2], ["[1, 2]"]),
    (None, []),
]


@pytest.mark.parametrize(("outcome", "texts"), FINE)
def test_any_success_has_its_content(outcome: object, texts: list[str]) -> None:
    assert block_for(outcome) == text(*texts)


FAILED = [
    (fw.NotFound("Gone.", suggestion="Look elsewhere."), "Gone. Look elsewhere."),
    (
        TimeoutError(),
        "The answer was lost, so the call may have been done already. Next: ask the user.",
    ),
    (
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "limit must be at most 100"}},
        "limit must be at most 100",
    ),
]


@pytest.mark.parametrize(("outcome", "told"), FAILED, ids=str)
def test_any_failure_is_one_marked_text(outcome: object, told: str) -> None:
    assert block_for(outcome) == text(told, error=True)


def test_a_tool_that_only_reads_may_be_called_again() -> None:
    lost = fw.Transient("The database is down.", effect="unknown", code="UNAVAILABLE")
    reads = {"name": "find", "annotations": {"readOnlyHint": True}}
    assert [block_for(lost), block_for(lost, tool=reads)] == [
        text(
            "The call failed part-way (The database is down), so it may have been done already. Next: ask the user.",
            error=True,
        ),
        text("The database is down. Wait 1 second, then make the same call again.", error=True),
    ]


def test_a_question_and_a_remark_are_no_errors() -> None:
    asked = block_for(fw.NeedsInput("Which one?", fields=["id"]))
    assert asked == text("Which one? Ask the user for id, then call again with the answer.")
    remark = fw.to_result(fw.ToolError("It is slow today.", severity="warning"))
    assert block_for(remark) == text("It is slow today.")


def test_with_the_servers_list_the_block_names_the_call_that_tells() -> None:
    python, *args = command("failwell")
    given = {"id": 7}

    async def main() -> tuple[object, list[Any]]:
        async with Client(StdioServerParameters(command=python, args=args)) as client:
            return await client.call_tool("cancel_order", given), (await client.list_tools()).tools

    outcome, listed = anyio.run(main)
    block = block_for(outcome, tool="cancel_order", arguments=given, tools=listed)
    assert block == text(
        'cancel_order failed part-way (The operation took too long), so it may have been done already. Next: call get_order with {"id":7} to see whether it was.',
        error=True,
    )


def unmarked(text: str) -> str:
    return re.sub(r"It said: |[\"“”.]", "", text)


def test_through_a_recovering_client_a_server_is_spared_and_a_model_is_kept_from_loops() -> None:
    python, *args = command("plain")

    async def main() -> None:
        for name, row in RESTRAINTS.items():
            async with Recovering(Client(StdioServerParameters(command=python, args=args)), policy=row.policy) as agent:
                blocks = [
                    block_for(await agent.call_tool(row.tool, row.arguments), tool=row.tool) for _ in range(row.times)
                ]
                made = (await agent.call_tool("called", {"name": row.tool})).structured_content
            assert (name, made, blocks[-1]["is_error"]) == (name, {"result": row.calls}, True)
            told = blocks[-1]["content"][0]["text"]
            # What the client itself says, another one cannot tell from what a server says.
            assert unmarked(told).startswith(unmarked(row.last)), (name, told)

    anyio.run(main)
