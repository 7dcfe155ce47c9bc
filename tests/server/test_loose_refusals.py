"""What is told of a plain exception that an author raises: after the payment, nobody is told to make it again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError as FrameworkError
from mcp import Client
from mcp.server import MCPServer, Server

import failwell as fw
from failwell.formats import FORMATS, META_KEY
from failwell.server import install

READS = types.ToolAnnotations(read_only_hint=True)
WRITES = types.ToolAnnotations(destructive_hint=True)
TWICE_IS_ONCE = types.ToolAnnotations(idempotent_hint=True)
SENT = {"invoice_id": "inv_1", "amount": 500, "currency": "EUR"}
FIX = "Correct the arguments, then call again."
ANOTHER = "Look for another one; the same call will fail again."
OPEN = "What it did before that is not known: find that out first, or ask the user."
LOOK = 'Next: call get_invoice with {"invoice_id":"inv_1"} to see what came of it.'
INVITING = ("Correct the arguments", "Look for another", "call again", "same call")


def raising(exc: Exception) -> Callable[..., str]:
    def pay(invoice_id: str, amount: int = 1, currency: str = "EUR") -> str:
        raise exc

    return pay


def get_invoice(invoice_id: str) -> str:
    return invoice_id


def lowlevel(pay: Callable[..., str], annotations: Any, *, looks: bool) -> Any:
    names = {"invoice_id": {"type": "string"}, "amount": {"type": "integer"}, "currency": {"type": "string"}}
    tools = [types.Tool(name="pay", input_schema={"type": "object", "properties": names}, annotations=annotations)]
    if looks:
        one = {"type": "object", "properties": {"invoice_id": {"type": "string"}}, "required": ["invoice_id"]}
        tools.append(types.Tool(name="get_invoice", input_schema=one, annotations=READS))

    async def listed(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def called(ctx: Any, params: Any) -> types.CallToolResult:
        pay(**params.arguments)
        return types.CallToolResult(content=[])

    return Server("shop", on_list_tools=listed, on_call_tool=called)


def decorated(framework: Any) -> Callable[..., Any]:
    def made(pay: Callable[..., str], annotations: Any, *, looks: bool) -> Any:
        server = framework("shop")
        server.tool(annotations=annotations)(pay)
        if looks:
            server.tool(annotations=READS)(get_invoice)
        return server

    return made


FRAMEWORKS = {"mcpserver": decorated(MCPServer), "fastmcp": decorated(FastMCP), "lowlevel": lowlevel}


def answer(
    exc: Exception,
    framework: str = "mcpserver",
    annotations: Any = None,
    *,
    looks: bool = False,
    sent: dict[str, Any] = SENT,
    **options: Any,
) -> Any:
    server = install(FRAMEWORKS[framework](raising(exc), annotations, looks=looks), **{"client": None, **options})

    async def called() -> Any:
        if framework == "fastmcp":
            async with FastMCPClient(server) as client:
                return await client.call_tool_mcp("pay", sent)
        async with Client(server) as client:
            return await client.call_tool("pay", sent)

    return asyncio.run(called())


def words(*given: Any, **options: Any) -> str:
    text: str = answer(*given, **options).content[0].text
    return text


AFTER_THE_WRITE = [
    (ValueError("could not parse the bank's answer"), "could not parse the bank's answer.", ""),
    (ValueError("EUR rate not found"), "EUR rate not found.", ""),
    (LookupError("Receipt for inv_1 not found"), "Receipt for inv_1 not found.", OPEN),
    (KeyError("mailserver"), "It does not exist.", OPEN),
    (FileNotFoundError("template receipt.html not found"), "template receipt.html not found.", OPEN),
]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("annotations", [None, WRITES], ids=["unmarked", "write"])
@pytest.mark.parametrize(("exc", "said", "step"), AFTER_THE_WRITE, ids=lambda each: str(each)[:20])
def test_what_was_met_in_the_middle_of_the_work_invites_nobody(
    framework: str, annotations: Any, exc: Exception, said: str, step: str
) -> None:
    result = answer(exc, framework, annotations)
    told = result.meta[META_KEY]
    assert result.content[0].text == f"{said} {step}".strip()
    assert (told["code"], told.get("effect")) == ("NOT_FOUND" if step else "VALIDATION_ERROR", None)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_call_that_tells_is_named_where_there_is_one(framework: str) -> None:
    result = answer(LookupError("Receipt for inv_1 not found"), framework, looks=True)
    assert result.content[0].text == f"Receipt for inv_1 not found. {LOOK}"
    assert "effect" not in result.meta[META_KEY]
    assert words(ValueError("EUR rate not found"), framework, looks=True) == "EUR rate not found."


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("exc", [exc for exc, _, _ in AFTER_THE_WRITE], ids=lambda each: str(each)[:20])
def test_no_format_invites_either(format: str, exc: Exception) -> None:
    written = json.dumps(answer(exc, format=format).model_dump(mode="json", by_alias=True))
    assert not [each for each in INVITING if each in written]


@pytest.mark.parametrize(
    "said",
    [
        "amount must be positive",
        "The amount exceeds your limit",
        "Amounts above 1000 need approval",
        "invalid invoice_id",
        "The invoice id is malformed",
        "This invoice was paid already",
        "'EUR' is not supported",
        "unsupported: EUR",
        "inv_1 isn't open",
    ],
)
def test_what_speaks_of_an_argument_is_to_be_corrected(said: str) -> None:
    assert words(ValueError(said), "fastmcp", WRITES) == f"{said}. {FIX}"


@pytest.mark.parametrize(
    "said",
    [
        "The invoice template is broken",
        "Receipt for invoice inv_1 could not be printed",
        "EUR rate could not be loaded",
        "The invoice's receipt cannot be written",
        "the bank answered 500",
        "the mail was returned",
        "too late",
    ],
)
def test_what_speaks_of_something_else_is_not(said: str) -> None:
    assert words(ValueError(said), "fastmcp", WRITES) == f"{said}."


def test_names_inside_of_what_was_sent_are_names_of_arguments() -> None:
    sent = {"invoice_id": "inv_1", "lines": [{"quantity": -1}]}

    def order(invoice_id: str, lines: list[dict[str, int]]) -> str:
        raise ValueError("quantity must be positive")

    server = install(FRAMEWORKS["mcpserver"](order, WRITES, looks=False), client=None)

    async def called() -> Any:
        async with Client(server) as client:
            return await client.call_tool("order", sent)

    assert asyncio.run(called()).content[0].text == f"quantity must be positive. {FIX}"


@pytest.mark.parametrize("exc", [LookupError("Invoice inv_1 not found"), KeyError("inv_1")], ids=["worded", "bare"])
def test_what_was_sent_and_is_missing_is_to_be_replaced(exc: Exception) -> None:
    assert words(exc, looks=True).endswith(ANOTHER)


def test_advice_of_the_authors_own_stands_alone() -> None:
    said = "There is no such template. Call list_templates first."
    assert words(LookupError(said), looks=True) == said


@pytest.mark.parametrize("annotations", [READS, TWICE_IS_ONCE], ids=["read", "idempotent"])
def test_what_may_be_called_twice_is_told_as_before(annotations: Any) -> None:
    assert words(ValueError("EUR rate not found"), annotations=annotations) == f"EUR rate not found. {FIX}"
    assert words(KeyError("mailserver"), annotations=annotations) == f"It does not exist. {ANOTHER}"


def test_an_error_of_the_authors_own_is_their_word() -> None:
    assert words(fw.Invalid("EUR rate not found")) == f"EUR rate not found. {FIX}"
    assert words(fw.NotFound("Receipt for inv_1 not found")) == f"Receipt for inv_1 not found. {ANOTHER}"
    assert words(FrameworkError("Receipt for inv_1 not found"), "fastmcp") == "Receipt for inv_1 not found."


def test_before_its_marks_a_tool_has_done_nothing() -> None:
    def pay(invoice_id: str) -> str:
        if invoice_id:
            raise LookupError("No account is open")
        with fw.effects():
            return "paid"

    server = install(FRAMEWORKS["mcpserver"](pay, WRITES, looks=True), client=None)

    async def called() -> Any:
        async with Client(server) as client:
            return await client.call_tool("pay", {"invoice_id": "inv_1"})

    result = asyncio.run(called())
    assert (result.content[0].text, result.meta[META_KEY]["effect"]) == (f"No account is open. {ANOTHER}", "none")


def test_a_server_that_masks_its_exceptions_says_no_more() -> None:
    server = FastMCP("shop", mask_error_details=True)
    server.tool(raising(ValueError("could not parse the bank's answer")))

    async def called() -> Any:
        async with FastMCPClient(install(server, client=None)) as client:
            return await client.call_tool_mcp("pay", SENT)

    assert asyncio.run(called()).content[0].text == "An argument was rejected."
