"""Ways in which a tool that had paid was once said to be free to pay again: each was found by somebody who attacked it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import fastmcp
import fastmcp.server.middleware
import httpx2
import mcp
import pytest
from fastmcp.dependencies import Depends
from fastmcp.tools import Tool as FastMCPTool
from fastmcp.tools import ToolResult as FastMCPResult
from fastmcp.tools.tool_transform import ArgTransform, forward
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError as FrameworkError
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel

import failwell as fw
import failwell.server
from failwell.client import Recovering, patched
from failwell.formats import META_KEY
from failwell.model import Effect
from failwell.recovery import IDEMPOTENCY_KEY

WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)


async def answered(server: Any, tool: str = "pay", **arguments: Any) -> CallToolResult:
    if isinstance(server, fastmcp.FastMCP):
        async with fastmcp.Client(server) as caller:
            return await caller.call_tool_mcp(tool, arguments)
    async with mcp.Client(server) as client:
        return await client.call_tool(tool, arguments)


def failing(raises: Any, **options: Any) -> dict[str, Any]:
    """The canonical error of a write that paid, and then did this."""
    server: Any = MCPServer("shop", log_level="CRITICAL")

    @server.tool(annotations=WRITES)
    def pay() -> str:
        raises()
        return "paid"

    failwell.server.install(server, wire={"client": None}, **options)
    result = asyncio.run(answered(server))
    assert result.meta is not None
    return {**result.meta[META_KEY], "text": result.content[0].text}  # type: ignore[union-attr]


def no_setting() -> None:
    os.environ["A_SETTING_THAT_NOBODY_HAS"]


def no_path() -> None:
    os.path.relpath("")


def wrapped() -> None:
    try:
        raise httpx2.ConnectError("refused")
    except httpx2.HTTPError as error:
        raise ValueError(f"webhook failed: {error}") from error


def handled() -> None:
    try:
        raise httpx2.ConnectError("refused")
    except httpx2.HTTPError:
        raise ValueError("The webhook cannot be reached.")  # noqa: B904


def hidden() -> None:
    try:
        raise httpx2.ReadTimeout("timed out")
    except httpx2.HTTPError:
        raise ValueError("The payment failed.") from None


def another_server() -> None:
    async def inner() -> None:
        rates: Any = fastmcp.FastMCP("rates")

        @rates.tool
        def get_rate() -> str:
            raise fastmcp.exceptions.ToolError("Too many requests. Wait 1 second, then make the same call again.")

        async with fastmcp.Client(rates) as client:
            await client.call_tool("get_rate", {})

    asyncio.run(inner())


@pytest.mark.parametrize("raises", [no_setting, no_path, wrapped, handled, hidden])
def test_what_no_argument_would_mend_is_no_refusal(raises: Any) -> None:
    told = failing(raises)
    assert (told["effect"], told["retryable"], told["recoverable"]) == ("unknown", False, False)
    assert "pay failed part-way" in told["text"]
    assert "again" not in told["text"]


def test_what_another_server_said_of_its_own_call_is_no_word_about_this_one() -> None:
    server: Any = fastmcp.FastMCP("shop")

    @server.tool(annotations={"readOnlyHint": False})
    async def pay() -> str:
        await asyncio.to_thread(another_server)
        return "paid"

    failwell.server.install(server, wire={"client": None})
    result = asyncio.run(answered(server))
    assert result.content[0].text == (  # type: ignore[union-attr]
        "pay failed part-way (Another server failed: Too many requests. Wait 1 second, then make the same call "
        "again), so it may have been done already. Next: ask the user."
    )


def test_a_refusal_with_an_ordinary_cause_is_one() -> None:
    def refuses() -> None:
        try:
            {}["EUR"]
        except KeyError as error:
            raise ValueError("There is no currency EUR.") from error

    told = failing(refuses)
    assert (told["code"], "effect" in told) == ("VALIDATION_ERROR", False)
    assert told["text"].startswith("There is no currency EUR.")


@pytest.mark.parametrize(
    ("format", "says"),
    [
        ("typed", '"type":"INTERNAL","message":"Paid. Receipt mail: 429 Too Many Requests","recoverable":false'),
        ("envelope", '"retryable": false'),
        ("xml", '<tool_error severity="error">'),
        ("jsonrpc", '"mcp_error_code":"INTERNAL_ERROR"'),
    ],
)
def test_words_of_a_framework_error_are_no_statement_of_a_contract(format: str, says: str) -> None:
    def paid() -> None:
        raise FrameworkError("Paid. Receipt mail: 429 Too Many Requests")

    told = failing(paid, format=format)
    assert says in told["text"]
    assert ("code" in told, told["standing"]) == (False, "quoted")


@pytest.mark.parametrize("keyed", [False, True])
def test_a_result_passed_on_from_another_tool_frees_nothing(keyed: bool) -> None:
    paid: list[int] = []
    server: Any = MCPServer("shop", log_level="CRITICAL")
    busy = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=0.01, effect="none", tool="get_rate")

    @server.tool()
    def pay() -> CallToolResult:
        paid.append(1)
        return CallToolResult.model_validate(fw.to_result(busy))

    failwell.server.install(server, idempotency=keyed)

    async def main() -> Any:
        async with Recovering(mcp.Client(server), policy=fw.Policy(base_delay=0.01)) as agent:
            return await agent.call("pay", {})

    report = asyncio.run(main())
    assert (len(paid), report.failure.effect) == (1, Effect.UNKNOWN)


def test_a_server_without_failwell_that_passes_it_on_is_not_called_again() -> None:
    paid: list[int] = []
    busy = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=0.01, effect="none", tool="get_rate")

    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="pay", input_schema={"type": "object"})])

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        paid.append(1)
        return CallToolResult.model_validate(fw.to_result(busy))

    async def main() -> Any:
        server = Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)
        async with Recovering(mcp.Client(server), policy=fw.Policy(base_delay=0.01)) as agent:
            return await agent.call("pay", {})

    report = asyncio.run(main())
    assert (len(paid), report.failure.effect) == (1, None)


def test_a_validator_that_misses_what_was_sent_speaks_of_another_call() -> None:
    paid: list[Any] = []
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    words = "1 validation error for payArguments\nid\n  Field required [type=missing, input_value={}, input_type=dict]"

    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="pay", input_schema=schema)])

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        paid.append(params.arguments)
        return CallToolResult(content=[TextContent(type="text", text=words)], is_error=True)

    async def main() -> Any:
        server = Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)
        async with Recovering(mcp.Client(server), fix=patched) as agent:
            return await agent.call("pay", {"id": 7})

    asyncio.run(main())
    assert paid == [{"id": 7}]


def test_a_result_that_fastmcp_cannot_send_was_done() -> None:
    server: Any = fastmcp.FastMCP("shop")

    @server.tool(annotations={"readOnlyHint": False})
    def pay() -> dict[str, Any]:
        return {"nope": object()}

    failwell.server.install(server)
    result = asyncio.run(answered(server))
    assert result.meta is not None
    assert result.meta[META_KEY]["effect"] == "done"


def test_a_code_by_which_its_author_says_that_the_same_call_may_work_has_a_write_made_again() -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")

    @server.tool(annotations=WRITES)
    def pay() -> str:
        raise fw.Transient("The bank did not answer in time.", code="TIMEOUT")

    failwell.server.install(server)

    async def main() -> Any:
        async with Recovering(mcp.Client(server), policy=fw.Policy(base_delay=0.01)) as agent:
            return await agent.call("pay", {})

    report = asyncio.run(main())
    assert (report.calls, report.failure.code, report.failure.effect) == (3, "TIMEOUT", None)


@pytest.mark.parametrize("name", ["checkout", "charge"])
def test_a_tool_that_calls_one_of_a_mounted_server_is_told_of_its_failure_by_an_exception(name: str) -> None:
    """Only the child has `install`, and its answer is for the client, not for a tool of its parent."""
    shipped: list[str] = []
    child: Any = fastmcp.FastMCP("bank")

    @child.tool
    def charge(token: str) -> str:
        raise ConnectionRefusedError(111, "refused")

    failwell.server.install(child, wire={"client": None})
    parent: Any = fastmcp.FastMCP("shop")
    parent.mount(child, namespace="bank")

    @parent.tool(name=name)
    async def checkout(token: str, ctx: fastmcp.Context) -> str:
        await ctx.fastmcp.call_tool("bank_charge", {"token": f"{token}'s"})
        shipped.append(token)
        return "shipped"

    assert (asyncio.run(answered(parent, name, token="t")).is_error, shipped) == (True, [])
    told = asyncio.run(answered(parent, "bank_charge", token="t"))
    assert told.meta is not None
    assert told.meta[META_KEY]["effect"] == "unknown", "whoever calls it from outside gets all of it"


def test_a_tool_that_calls_one_of_another_server_is_told_of_its_failure_by_an_exception() -> None:
    bank: Any = MCPServer("bank", log_level="CRITICAL")

    @bank.tool()
    def charge() -> str:
        raise ConnectionRefusedError(111, "refused")

    failwell.server.install(bank, wire={"client": None})
    shop: Any = MCPServer("shop", log_level="CRITICAL")

    @shop.tool()
    async def checkout(ctx: Context) -> str:  # type: ignore[type-arg]
        await bank.call_tool("charge", {}, ctx)
        return "shipped"

    assert asyncio.run(answered(shop, "checkout")).is_error


def test_what_was_wrong_with_a_call_that_the_tool_made_is_nothing_for_its_own_caller_to_correct() -> None:
    asked: Any = MCPServer("log", log_level="CRITICAL")

    @asked.tool()
    def log_it(entry: str) -> str:
        return entry

    failwell.server.install(asked, wire={"client": None})
    refused = asyncio.run(answered(asked, "log_it", enty="paid"))

    def fails() -> None:
        found = fw.read(refused)
        assert isinstance(found, fw.ToolError)
        raise found

    told = failing(fails)
    assert (told["tool"], told["code"], told["effect"]) == ("pay", "UPSTREAM_ERROR", "unknown")
    assert told["text"] == (
        "pay failed part-way (Invalid arguments for log_it: entry, enty), so it may have been done already. "
        "Next: ask the user."
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_a_rule_on_what_a_tool_calls_is_no_word_that_the_tool_did_nothing(is_async: bool) -> None:
    made: list[int] = []
    server: Any = MCPServer("issues", log_level="CRITICAL")

    @failwell.server.rate(2, seconds=60)
    def create(number: int) -> None:
        made.append(number)

    @failwell.server.rate(2, seconds=60)
    async def create_later(number: int) -> None:
        made.append(number)

    @server.tool()
    async def create_issues() -> str:
        for number in range(3):
            await create_later(number) if is_async else create(number)
        return "ok"

    async def told() -> Any:
        async with Recovering(mcp.Client(server)) as agent:
            return await agent.call("create_issues", {})

    failwell.server.install(server, wire={"client": None})
    report = asyncio.run(told())
    assert (made, report.calls, report.failure.effect) == ([0, 1], 1, Effect.UNKNOWN)


def test_what_a_tool_hands_on_to_the_tool_it_was_made_of_is_not_what_it_was_sent() -> None:
    paid: list[str] = []
    server: Any = fastmcp.FastMCP("shop")

    @server.tool
    def base_pay(amount: int) -> str:
        return f"{amount}"

    async def reserve(amount: str) -> Any:
        paid.append(amount)
        return await forward(amount="12.50")

    made = FastMCPTool.from_tool(
        base_pay_of(server), name="pay", transform_fn=reserve, transform_args={"amount": ANY_TEXT}
    )
    server.add_tool(made)
    failwell.server.install(server, wire={"client": None})
    told = asyncio.run(answered(server, "pay", amount="12,50"))
    assert told.meta is not None
    assert (paid, told.meta[META_KEY]["effect"]) == (["12,50"], "unknown")
    assert "again" not in told.content[0].text  # type: ignore[union-attr]


ANY_TEXT = ArgTransform(type=str)


def base_pay_of(server: Any) -> Any:
    return asyncio.run(server.get_tool("base_pay"))


def test_a_question_in_the_middle_of_a_tool_says_that_it_was_at_work() -> None:
    """A server without Failwell, and a client that nobody can be asked through."""
    paid: list[str] = []
    server: Any = MCPServer("shop", log_level="CRITICAL")

    class Sure(BaseModel):
        sure: bool

    @server.tool()
    async def pay(ctx: Context) -> str:  # type: ignore[type-arg]
        paid.append("paid")
        await ctx.elicit("Sure?", Sure)
        return "paid"

    async def told(mode: str) -> Any:
        async with Recovering(mcp.Client(server, mode=mode)) as agent:
            return await agent.call("pay", {})

    for mode in ("auto", "legacy"):
        report = asyncio.run(told(mode))
        assert (report.calls, report.failure.effect) == (1, Effect.UNKNOWN)
    assert paid == ["paid", "paid"]


@pytest.mark.parametrize("kind", [MCPServer, fastmcp.FastMCP])
def test_what_a_tool_asks_of_another_server_through_a_client_gets_a_whole_answer(kind: Any) -> None:
    bank: Any = MCPServer("bank", log_level="CRITICAL")

    @bank.tool()
    def find(account: str) -> str:
        raise fw.NotFound("Account 7 does not exist.", suggestion="Call list_accounts.")

    failwell.server.install(bank, wire={"client": None})
    outer = kind("agent")

    @outer.tool()
    async def ask() -> str:
        result = await answered(bank, "find", account="7")
        assert result.meta is not None
        return str(result.meta[META_KEY]["code"])

    failwell.server.install(outer, wire={"client": None})
    assert asyncio.run(answered(outer, "ask")).content[0].text == "NOT_FOUND"  # type: ignore[union-attr]


class Audit(fastmcp.server.middleware.Middleware):
    """Does something of its own once the tool has run."""

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        result = await call_next(context)
        if context.message.name == "pay":
            await context.fastmcp_context.fastmcp.call_tool(
                context.message.arguments["then"], context.message.arguments, run_middleware=False
            )
        return result


@pytest.mark.parametrize("then", ["audit", "write_audit", "limited"])
def test_middleware_that_fails_after_the_tool_has_run_says_that_it_may_have_been_done(then: str) -> None:
    server: Any = fastmcp.FastMCP("shop", middleware=[Audit()])
    paid: list[str] = []

    @server.tool
    def pay(then: str) -> str:
        paid.append(then)
        return "paid"

    @server.tool
    def audit(then: int) -> str:
        return "noted"

    @server.tool
    def limited(then: str) -> str:
        raise fw.Transient("Too many notes.", code="RATE_LIMITED", retry_after=0.01)

    failwell.server.install(server)

    async def call() -> Any:
        async with Recovering(fastmcp.Client(server), fix=patched) as agent:
            return (await agent.call("pay", {"then": then})).error

    error = asyncio.run(call())
    assert (len(paid), error.effect.value, error.retryable) == (1, "unknown", False)


@pytest.mark.parametrize(
    "problem",
    [
        mcp.MCPError(code=-32602, message="Audit: invalid params"),
        mcp.MCPError(code=-32601, message="Method not found"),
        fw.Transient("The audit is busy.", code="RATE_LIMITED", retry_after=0.01),
        ValueError("The audit does not take that."),
    ],
    ids=str,
)
def test_middleware_of_the_sdk_that_fails_after_the_tool_has_run_says_that_it_may_have_been_done(
    problem: Exception,
) -> None:
    async def audit(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method == "tools/call":
            raise problem
        return result

    server: Any = MCPServer("shop", log_level="CRITICAL", middleware=[audit])
    paid: list[int] = []

    @server.tool()
    def pay() -> str:
        paid.append(1)
        return "paid"

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def look() -> str:
        return "seen"

    failwell.server.install(server)

    async def call(tool: str) -> Any:
        async with Recovering(mcp.Client(server)) as agent:
            return (await agent.call(tool)).error

    error = asyncio.run(call("pay"))
    assert (len(paid), error.effect.value, error.retryable) == (1, "unknown", False)
    # What only looks has done nothing, whoever failed around it.
    assert asyncio.run(call("look")).effect in (None, "none")


def test_middleware_that_fails_after_the_tool_names_the_call_that_tells() -> None:
    async def commit(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method == "tools/call":
            raise TimeoutError("The commit took too long.")
        return result

    server: Any = MCPServer("shop", log_level="CRITICAL", middleware=[commit])

    @server.tool()
    def pay_invoice(invoice_id: str) -> str:
        return "paid"

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def get_invoice(invoice_id: str) -> str:
        return "open"

    failwell.server.install(server)
    result = asyncio.run(answered(server, "pay_invoice", invoice_id="inv_1"))
    assert result.content[0].text.startswith("Error: pay_invoice failed part-way (")  # type: ignore[union-attr]
    assert result.meta is not None
    error = result.meta[META_KEY]
    assert (error["effect"], error["verify"]["tool"]) == ("unknown", "get_invoice")


def rated() -> str:
    raise fw.Transient("Busy.", code="RATE_LIMITED", retry_after=0.01)


def refusing() -> str:
    raise ValueError("There is no such receipt.")


def marking() -> str:
    if os.environ:
        raise ConnectionRefusedError(111, "refused")
    with fw.effects():
        return "sent"


@pytest.mark.parametrize("inner", [rated, refusing, marking])
def test_what_another_tool_says_of_itself_is_no_word_about_the_one_that_called_it(inner: Any) -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")
    server.tool()(inner)

    @server.tool()
    async def pay() -> str:
        await server.call_tool(inner.__name__, {})
        return "paid"

    failwell.server.install(server)
    result = asyncio.run(answered(server))
    assert result.meta is not None
    error = result.meta[META_KEY]
    assert (error["effect"], error["retryable"]) == ("unknown", False)


def test_an_exception_that_is_raised_again_and_again_says_the_same_each_time() -> None:
    """It keeps the frames of the calls before, in which a framework ran the tool."""
    server: Any = fastmcp.FastMCP("shop")
    sold = fw.Conflict("The last one is sold.", effect="none")

    @server.tool
    def pay() -> str:
        raise sold

    failwell.server.install(server)
    told = [asyncio.run(answered(server)) for _ in range(3)]
    assert [each.meta[META_KEY]["effect"] for each in told if each.meta is not None] == ["none"] * 3


def test_a_mark_in_a_decorator_is_no_word_about_the_function_in_it() -> None:
    def audited(function: Any) -> Any:
        @functools.wraps(function)
        def around(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            with fw.effects():
                return result

        return around

    server: Any = MCPServer("shop", log_level="CRITICAL")

    @server.tool()
    @audited
    def pay() -> str:
        raise ConnectionRefusedError(111, "refused")

    failwell.server.install(server)
    result = asyncio.run(answered(server))
    assert result.meta is not None
    assert result.meta[META_KEY]["effect"] == "unknown"


def test_a_question_that_the_framework_cannot_ask_says_that_the_tool_was_at_work() -> None:
    server: Any = fastmcp.FastMCP("shop")

    @server.tool
    async def pay(ctx: fastmcp.Context) -> str:
        await ctx.elicit("Where to?", response_type=str)
        return "paid"

    failwell.server.install(server)

    result = asyncio.run(answered(server))
    assert result.meta is not None
    error = result.meta[META_KEY]
    assert (error["effect"], error["retryable"]) == ("unknown", False)


def bank(name: str) -> Any:
    """Another server, whose tool says that nothing was done."""
    server: Any = MCPServer("bank", log_level="CRITICAL")

    @server.tool(name=name)
    def charge() -> str:
        raise fw.Transient("Too many payments.", code="RATE_LIMITED", retry_after=0.1)

    failwell.server.install(server)
    return server


async def charged(name: str) -> CallToolResult:
    async with mcp.Client(bank(name)) as client:
        return await client.call_tool(name, {})


@pytest.mark.parametrize(("outer", "inner"), [("pay", "pay"), ("shop_pay", "pay"), ("pay", "charge")])
@pytest.mark.parametrize("marked", [False, True])
def test_another_servers_answer_is_no_word_about_this_tool_whatever_their_names(
    outer: str, inner: str, marked: bool
) -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")

    @server.tool(name=outer)
    async def pay() -> CallToolResult:
        if marked:
            with fw.effects():
                """The goods are sent."""
        return await charged(inner)

    failwell.server.install(server)
    told = asyncio.run(answered(server, outer)).meta
    assert told is not None
    assert told[META_KEY]["effect"] == ("done" if marked else "unknown")


def test_another_servers_answer_is_no_word_about_a_tool_of_fastmcp() -> None:
    server: Any = fastmcp.FastMCP("shop")

    @server.tool
    async def pay() -> Any:
        result = await charged("pay")
        return FastMCPResult(content=result.content, meta=result.meta, is_error=True)

    failwell.server.install(server)
    told = asyncio.run(answered(server)).meta
    assert told is not None
    assert told[META_KEY]["effect"] == "unknown"


def test_an_error_that_is_returned_does_not_say_less_than_the_marks() -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")

    @server.tool()
    def pay() -> CallToolResult:
        with fw.effects():
            """It is paid."""
        return CallToolResult.model_validate(fw.to_result(fw.NotFound("No such receipt.", effect="none"), "text"))

    failwell.server.install(server)
    told = asyncio.run(answered(server)).meta
    assert told is not None
    assert told[META_KEY]["effect"] == "done"


def test_what_a_recovering_client_raises_is_another_servers_word() -> None:
    server, rates = fastmcp.FastMCP("shop"), fastmcp.FastMCP("rates")

    @rates.tool
    def get_rate() -> str:
        raise fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=60)

    @server.tool
    async def pay() -> str:
        async with Recovering(fastmcp.Client(rates), policy=fw.Policy(max_attempts=1)) as client:
            return str(await client.call_tool("get_rate", {}))

    failwell.server.install(rates)
    failwell.server.install(server)
    result = asyncio.run(answered(server))
    assert result.meta is not None
    assert result.meta[META_KEY]["effect"] == "unknown"


@pytest.mark.parametrize("how", ["pool", "thread", "shared"])
def test_a_mark_that_is_passed_in_a_thread_is_not_overlooked(how: str) -> None:
    server: Any = MCPServer("shop", log_level="CRITICAL")
    work = fw.effects()

    def charge() -> None:
        with work if how == "shared" else fw.effects():
            """It is paid."""

    @server.tool(annotations=WRITES)
    def pay() -> str:
        if how == "pool":
            with ThreadPoolExecutor(1) as pool:
                pool.submit(charge).result()
        elif how == "thread":
            thread = threading.Thread(target=charge)
            thread.start()
            thread.join()
        else:
            charge()
        raise fw.Transient("Too many payments.", code="RATE_LIMITED", retry_after=0.1)

    failwell.server.install(server)
    told = asyncio.run(answered(server)).meta
    assert told is not None
    assert told[META_KEY]["effect"] == ("done" if how == "shared" else "unknown")


@pytest.mark.parametrize("last", [fw.Transient("Too many.", code="RATE_LIMITED"), fw.Denied("Daily limit reached.")])
def test_what_an_earlier_run_in_the_same_call_may_have_done_is_told(last: fw.ToolError) -> None:
    server: Any = fastmcp.FastMCP("shop")
    paid: list[str] = []

    class Again(fastmcp.server.middleware.Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            try:
                return await call_next(context)
            except Exception:
                return await call_next(context)

    @server.tool
    def pay() -> str:
        if paid:
            raise last
        paid.append("paid")
        raise ConnectionError("The answer was lost.")

    server.add_middleware(Again())
    failwell.server.install(server)
    result = asyncio.run(answered(server))
    assert result.meta is not None
    assert (paid, result.meta[META_KEY]["effect"]) == (["paid"], "unknown")
    assert "may have been done" in result.content[0].text  # type: ignore[union-attr]


def test_a_service_that_a_tool_of_an_api_cannot_reach_is_no_wrong_argument() -> None:
    spec = {
        "openapi": "3.1.0",
        "info": {"title": "shop", "version": "1"},
        "paths": {"/pay": {"post": {"operationId": "pay", "responses": {"200": {"description": "paid"}}}}},
    }

    def late(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("timed out", request=request)

    service = httpx2.AsyncClient(base_url="http://shop.example", transport=httpx2.MockTransport(late))
    server = fastmcp.FastMCP.from_openapi(spec, client=service)
    failwell.server.install(server)
    told = asyncio.run(answered(server)).meta
    assert told is not None
    assert (told[META_KEY]["code"], told[META_KEY]["effect"]) == ("TIMEOUT", "unknown")


def test_what_middleware_does_not_find_is_not_the_tool() -> None:
    server: Any = fastmcp.FastMCP("shop")

    class Tenants(fastmcp.server.middleware.Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise fastmcp.exceptions.NotFoundError("There is no tenant 7.")

    @server.tool
    def pay() -> str:
        return "paid"

    server.add_middleware(Tenants())
    failwell.server.install(server)
    text = asyncio.run(answered(server)).content[0].text  # type: ignore[union-attr]
    assert "no tool" not in text
    assert "tenant 7" in text


def served(kind: str, pay: Any, middleware: Any) -> Any:
    """A server of the SDK with one tool that nobody marked, and middleware around it."""
    if kind == "MCPServer":
        server: Any = MCPServer("shop", log_level="CRITICAL")
        server.tool(name="pay")(pay)
    elif kind == "FastMCP":
        server = fastmcp.FastMCP("shop")
        server.tool(name="pay")(pay)
        server._mcp_server.middleware.append(middleware)
    else:

        async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
            return ListToolsResult(tools=[Tool(name="pay", input_schema={"type": "object"})])

        async def call_tool(ctx: Any, params: Any) -> CallToolResult:
            found = await pay()
            return (
                found
                if isinstance(found, CallToolResult)
                else CallToolResult(content=[TextContent(type="text", text=found)])
            )

        server = Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)
    if kind != "FastMCP":
        server.middleware.append(middleware)
    failwell.server.install(server, wire={"client": None})
    return server


def error_of(kind: str, text: str) -> Any:
    """An error as a tool returns it."""
    made: Any = FastMCPResult if kind == "FastMCP" else CallToolResult
    return made(content=[TextContent(type="text", text=text)], is_error=True)


async def run_again(ctx: Any, call_next: Any) -> Any:
    """Middleware that gives a call a second chance when it failed, or took too long."""
    if ctx.method != "tools/call":
        return await call_next(ctx)
    with anyio.move_on_after(0.2):
        result = await call_next(ctx)
        if not result.get("isError"):
            raise fw.Transient("The audit is busy.", code="RATE_LIMITED", retry_after=0.01)
    return await call_next(ctx)


@pytest.mark.parametrize("kind", ["MCPServer", "Server", "FastMCP"])
@pytest.mark.parametrize("first", ["raises", "returns", "hangs"])
@pytest.mark.parametrize("last", [fw.Transient("Too many.", code="RATE_LIMITED"), fw.Denied("Daily limit reached.")])
def test_what_an_earlier_run_may_have_done_is_told_whoever_had_it_run(
    kind: str, first: str, last: fw.ToolError
) -> None:
    paid: list[str] = []

    async def pay() -> Any:
        if paid:
            raise last
        paid.append("paid")
        if first == "hangs":
            await anyio.sleep_forever()
        if first == "returns":
            return error_of(kind, "The answer was lost.")
        raise ConnectionError("The answer was lost.")

    result = asyncio.run(answered(served(kind, pay, run_again)))
    assert result.meta is not None
    assert (paid, result.meta[META_KEY]["effect"]) == (["paid"], "unknown")
    assert "may have been done" in result.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["MCPServer", "Server"])
def test_runs_that_all_say_that_nothing_was_done_have_done_nothing(kind: str) -> None:
    async def pay() -> Any:
        raise fw.Transient("Too many.", code="RATE_LIMITED")

    result = asyncio.run(answered(served(kind, pay, run_again)))
    assert result.meta is not None
    assert result.meta[META_KEY]["effect"] == "none"


@pytest.mark.parametrize("kind", ["MCPServer", "Server"])
def test_a_run_that_worked_may_have_been_done_though_a_later_one_in_the_same_call_was_refused(kind: str) -> None:
    paid: list[str] = []

    async def twice(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        return await call_next(ctx) if ctx.method == "tools/call" else result

    async def pay() -> Any:
        if paid:
            raise fw.Transient("Too many.", code="RATE_LIMITED")
        paid.append("paid")
        return "paid"

    result = asyncio.run(answered(served(kind, pay, twice)))
    assert result.meta is not None
    assert (paid, result.meta[META_KEY]["effect"]) == (["paid"], "unknown")


@pytest.mark.parametrize("kind", ["MCPServer", "Server"])
def test_middleware_that_gives_up_after_a_run_that_failed_does_not_say_that_nothing_was_done(kind: str) -> None:
    async def gives_up(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method == "tools/call":
            raise fw.Transient("Too many.", code="RATE_LIMITED")
        return result

    async def pay() -> Any:
        raise ConnectionError("The answer was lost.")

    result = asyncio.run(answered(served(kind, pay, gives_up)))
    assert result.meta is not None
    assert result.meta[META_KEY]["effect"] == "unknown"


class Metrics(fastmcp.server.middleware.Middleware):
    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        await call_next(context)
        raise ConnectionError("The metrics are down.")


@pytest.mark.parametrize("kind", ["MCPServer", "Server", "FastMCP"])
def test_an_error_that_a_tool_returned_is_not_told_as_done_when_somebody_around_it_fails(kind: str) -> None:
    async def metrics(ctx: Any, call_next: Any) -> Any:
        result = await call_next(ctx)
        if ctx.method == "tools/call" and kind != "FastMCP":
            raise ConnectionError("The metrics are down.")
        return result

    async def pay() -> Any:
        return error_of(kind, "Insufficient funds.")

    server = served(kind, pay, metrics)
    if kind == "FastMCP":
        server.add_middleware(Metrics())
    result = asyncio.run(answered(server))
    assert result.meta is not None
    assert result.meta[META_KEY]["effect"] == "unknown"
    text = result.content[0].text  # type: ignore[union-attr]
    assert text.startswith("pay failed part-way (A service the tool needs cannot be reached: the connection broke: ")
    assert text.endswith("Insufficient funds), so it may have been done already. Next: ask the user.")


def test_a_run_of_fastmcp_that_was_cut_off_may_have_been_done() -> None:
    server: Any = fastmcp.FastMCP("shop")
    paid: list[str] = []

    class Again(fastmcp.server.middleware.Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            with anyio.move_on_after(0.2):
                return await call_next(context)
            return await call_next(context)

    @server.tool
    async def pay() -> str:
        if paid:
            raise fw.Transient("Too many.", code="RATE_LIMITED")
        paid.append("paid")
        await anyio.sleep_forever()
        return "paid"

    server.add_middleware(Again())
    failwell.server.install(server)
    result = asyncio.run(answered(server))
    assert result.meta is not None
    assert (paid, result.meta[META_KEY]["effect"]) == (["paid"], "unknown")


@pytest.mark.parametrize(
    "problem",
    [
        fw.Transient("The pool is busy.", code="RATE_LIMITED", retry_after=0.01),
        fw.NotFound("The session is gone."),
        ValueError("The pool was closed twice."),
        fastmcp.exceptions.ValidationError("The pool takes no such thing."),
        FrameworkError("The pool is gone."),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_async", [False, True])
def test_what_fails_when_a_dependency_is_closed_may_come_after_the_work(problem: Exception, is_async: bool) -> None:
    server: Any = fastmcp.FastMCP("shop")
    paid: list[str] = []

    @contextlib.asynccontextmanager
    async def pool() -> Any:
        yield "a pool"
        raise problem

    opened = Depends(pool)

    async def pay_later(pool: Any = opened) -> str:
        paid.append("paid")
        return "paid"

    def pay_now(pool: Any = opened) -> str:
        paid.append("paid")
        return "paid"

    server.tool(pay_later if is_async else pay_now, name="pay")
    server.tool(pay_later, name="look", annotations={"readOnlyHint": True})
    failwell.server.install(server, wire={"client": None})

    async def call(tool: str) -> Any:
        async with Recovering(fastmcp.Client(server), policy=fw.Policy(base_delay=0.01)) as agent:
            return await agent.call(tool)

    report = asyncio.run(call("pay"))
    assert (len(paid), report.failure.effect) == (1, Effect.UNKNOWN)
    assert "may have been done already" in report.result.content[0].text
    assert asyncio.run(call("look")).failure.effect in (None, Effect.NONE), "what only looks has done nothing"


def test_a_dependency_that_says_at_its_end_that_nothing_was_done_is_believed() -> None:
    server: Any = fastmcp.FastMCP("shop")

    @contextlib.asynccontextmanager
    async def transaction() -> Any:
        yield "a transaction"
        raise fw.Conflict("Somebody else was faster.", effect="none")

    begun = Depends(transaction)

    @server.tool
    async def pay(transaction: Any = begun) -> str:
        return "paid"

    failwell.server.install(server, wire={"client": None})
    result = asyncio.run(answered(server))
    assert result.meta is not None
    assert result.meta[META_KEY]["effect"] == "none"


class Receipt(BaseModel):
    number: int


@pytest.mark.parametrize(
    "returned", [{"error": "Insufficient funds."}, {"success": False, "error": "Insufficient funds."}]
)
@pytest.mark.parametrize("kind", ["MCPServer", "Server", "FastMCP"])
def test_an_error_in_place_of_what_was_promised_is_not_told_as_done(kind: str, returned: Any) -> None:
    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        tool = Tool(name="pay", input_schema={"type": "object"}, output_schema=Receipt.model_json_schema())
        return ListToolsResult(tools=[tool])

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[], structured_content=returned)

    def pay() -> Receipt:
        return returned  # type: ignore[no-any-return]

    server: Any
    if kind == "Server":
        server = Server("shop", on_list_tools=list_tools, on_call_tool=call_tool)
    else:
        server = MCPServer("shop", log_level="CRITICAL") if kind == "MCPServer" else fastmcp.FastMCP("shop")
        server.tool()(pay)
    failwell.server.install(server, wire={"client": None})
    result = asyncio.run(answered(server))
    assert result.meta is not None
    assert result.meta[META_KEY]["effect"] == "unknown"
    assert result.content[0].text == (  # type: ignore[union-attr]
        "pay failed part-way (The tool's result does not have the form that the tool promises: "
        "Insufficient funds), so it may have been done already. Next: ask the user."
    )


def test_servers_that_wait_for_each_other_with_one_store_of_keys_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("failwell.server.idempotent_calls._PATIENCE", 0.5, raising=False)
    paid: list[str] = []
    backend: Any = fastmcp.FastMCP("backend")

    @backend.tool
    def pay() -> str:
        paid.append("paid")
        return "paid"

    failwell.server.install(
        backend, wire={"client": None}, idempotency=failwell.server.open_store(str(tmp_path / "keys.db"))
    )
    front = fastmcp.server.create_proxy(backend, name="front")
    failwell.server.install(
        front, wire={"client": None}, idempotency=failwell.server.open_store(str(tmp_path / "keys.db"))
    )

    async def called() -> Any:
        async with fastmcp.Client(front) as client:
            with anyio.fail_after(60):
                return await client.call_tool_mcp("pay", {}, meta={IDEMPOTENCY_KEY: "k"})

    result = asyncio.run(called())
    assert (paid, result.is_error) == ([], True)
    assert "each needs a store of keys of its own" in result.content[0].text
    assert result.meta[META_KEY]["effect"] == "unknown"
