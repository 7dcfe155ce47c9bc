"""What a server's list tells about a refusal: by itself, and on real servers that know nothing of it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Literal

import jsonschema
import mcp_types as types
import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server import MCPServer, Server
from mcp.server.mcpserver.exceptions import ToolError as FrameworkError
from pydantic import BaseModel

import failwell as fw
from failwell import read
from failwell.client import Recovering, patched
from failwell.model import Kind, Traits
from failwell.recovery import explain_failure as explained_as
from failwell.recovery import find_misspelling

SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "command": {"type": "array", "items": {"type": "string"}},
        "sort": {"enum": ["name", "date"]},
    },
    "required": ["query"],
}


def listed(schema: Any = SEARCH, name: str = "search") -> dict[str, types.Tool]:
    return {name: types.Tool.model_construct(name=name, input_schema=schema)}


def explain_failure(error: fw.ToolError, tool: str, arguments: Any, tools: Any) -> fw.ToolError:
    return explained_as(error, tool, arguments, tools, Traits(tool))


def refused(text: str) -> fw.ToolError:
    error = read({"content": [{"type": "text", "text": text}], "isError": True})
    assert isinstance(error, fw.ToolError)
    return error


@pytest.mark.parametrize(
    ("text", "arguments", "names", "patch"),
    [
        (
            "Input validation error: 'ls' is not of type 'array'",
            {"query": "a", "command": "ls"},
            ["command"],
            {"query": "a", "command": ["ls"]},
        ),
        ("Invalid arguments", {"query": "a", "limit": 0}, ["limit"], None),
        ("Invalid arguments", {"query": "a", "limit": "3"}, ["limit"], {"query": "a", "limit": 3}),
        ("Invalid arguments", {"qery": "a"}, ["query", "(root)"], {"query": "a"}),
        ("Invalid arguments", {"query": "a", "sort": "Date"}, ["sort"], {"query": "a", "sort": "date"}),
    ],
)
def test_the_wrong_argument_is_named(text: str, arguments: Any, names: list[str], patch: Any) -> None:
    error = explain_failure(refused(text), "search", arguments, listed())
    assert [problem.name for problem in error.fields] == names
    assert patched(error, arguments) == patch


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        # The arguments are as the list wants them, so it is about something else.
        ("Invalid date: it is in the past", {"query": "a"}),
        # A name that the tool ignores is not what it complains of.
        ("Invalid date: it is in the past", {"query": "a", "extra": 1}),
    ],
)
def test_what_the_list_knows_nothing_of_stays_as_it_is(text: str, arguments: Any) -> None:
    error = refused(text)
    assert explain_failure(error, "search", arguments, listed()) is error


@pytest.mark.parametrize(
    "text",
    [
        "Input validation error: data/pet must match a schema in anyOf",
        "Error: {'kind': 'dog'} is not valid under any of the given schemas\n\nOn instance['pet']:\n    {'kind': 'dog'}",
    ],
)
def test_of_a_union_that_is_refused_as_a_whole_the_part_that_is_wrong_is_named(text: str) -> None:
    dog = {"type": "object", "properties": {"kind": {"const": "dog"}}, "required": ["kind", "tricks"]}
    schema = {"type": "object", "properties": {"pet": {"anyOf": [dog, {"type": "integer"}]}}}
    error = explain_failure(refused(text), "walk", {"pet": {"kind": "dog"}}, listed(schema, "walk"))
    assert [problem.name for problem in error.fields] == ["pet.tricks"]


def test_what_the_server_proposes_itself_stays() -> None:
    for given_ in ({"suggestion": "Ask."}, {"patch": [{"op": "set", "path": ["limit"], "value": 1}]}):
        error = fw.Invalid("Wrong.", origin="peer", **given_)
        assert explain_failure(error, "search", {"limit": 0}, listed()) is error
    other = fw.Invalid("Wrong.", origin="peer", fields=[{"path": ["elsewhere"], "message": "no"}])
    assert explain_failure(other, "search", {"limit": 0}, listed()) is other
    # After a part of the work, a correction of ours would do that part again.
    for effect in ("partial", "unknown", "done"):
        begun = fw.Invalid("Wrong.", origin="peer", effect=effect)
        assert explain_failure(begun, "search", {"qery": "a", "limit": "3"}, listed()) is begun
    ours = fw.Invalid("It cannot be sent.", origin="local")
    assert explain_failure(ours, "search", {"limit": 0}, listed()) is ours


@pytest.mark.parametrize(
    "text", ["Unknown tool: serch", "Error: Missing arguments", "Invalid arguments", "Es gibt keine."]
)
def test_a_tool_that_is_not_listed_is_told_by_the_one_that_was_meant(text: str) -> None:
    error = explain_failure(refused(text), "serch", {}, listed())
    assert (error.kind, error.code, error.suggestion) == ("not_found", "UNKNOWN_TOOL", "Did you mean 'search'?")
    # Where nothing is listed, nothing is known.
    assert explain_failure(refused(text), "serch", {}, {}).suggestion != "Did you mean 'search'?"


@pytest.mark.parametrize(
    ("arguments", "is_sent"),
    [
        ({"query": "a"}, True),
        ({}, True),
        ({"qery": "a"}, False),
        ({"query": "a", "lmit": 3}, False),
        # It may be ignored, and nothing is missing.
        ({"query": "a", "colour": "red"}, True),
        ({"query": "a", "qery": "b"}, True),
        # What is wrong in another way is the server's to say.
        ({"query": 1, "limit": -1}, True),
    ],
)
def test_a_misspelt_argument_is_not_sent(arguments: dict[str, Any], is_sent: bool) -> None:
    problem = find_misspelling("search", arguments, listed())
    assert (problem is None) == is_sent
    if problem is not None:
        assert (problem.kind, problem.effect, problem.delivery) == ("validation", "none", "never_sent")
        assert find_misspelling("search", patched(problem, arguments) or {}, listed()) is None
    # A schema that takes any name takes this one, and so does a tool that nobody knows.
    assert find_misspelling("search", arguments, listed({**SEARCH, "additionalProperties": True})) is None
    assert find_misspelling("other", arguments, listed()) is None


def test_a_payment_is_not_made_without_what_was_misspelt() -> None:
    server = MCPServer("bank", log_level="CRITICAL")
    paid: list[tuple[str, str]] = []

    @server.tool()
    def pay(invoice: str, currency: str = "EUR") -> str:
        paid.append((invoice, currency))
        return "paid"

    async def main() -> None:
        async with Recovering(Client(server)) as agent:
            report = await agent.call("pay", {"invoice": "1", "curency": "USD"})
            assert report.failure is not None
            assert (report.calls, report.failure.effect, paid) == (0, "none", [])
            assert report.result.content[0].text == (
                'There is no argument curency. Next: call pay with {"invoice": "1", "currency": "USD"}.'
            )
        async with Recovering(Client(server), fix=patched) as agent:
            report = await agent.call("pay", {"invoice": "1", "curency": "USD"})
            assert (report.ok, report.calls, paid) == (True, 1, [("1", "USD")])

    asyncio.run(main())


def test_no_pattern_of_the_server_holds_up_the_client() -> None:
    for_ever = {"type": "string", "pattern": "^(a+)+$"}
    arguments = {"text": "a" * 40 + "b", "limit": 0}
    limit = {"type": "integer", "minimum": 1}
    schema = {"type": "object", "properties": {"text": for_ever, "limit": limit}}
    error = explain_failure(refused("Invalid arguments"), "search", arguments, listed(schema))
    assert [problem.name for problem in error.fields] == ["text", "limit"]
    for deeper in ({"patternProperties": {"^(a+)+$": {}}}, {"allOf": [{"patternProperties": {"^(a+)+$": {}}}]}):
        found = explain_failure(
            refused("Invalid arguments"), "search", {"a" * 40 + "b": 1}, listed({**schema, **deeper})
        )
        assert found.fields == ()


def test_nothing_is_fetched_that_a_schema_points_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        elsewhere = {"$ref": f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"}
        schema = {"type": "object", "properties": {"a": elsewhere}}
        assert explain_failure(refused("Invalid arguments"), "search", {"a": 1}, listed(schema)).fields == ()
        with pytest.raises(BlockingIOError):
            listener.accept()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
words = st.sampled_from(
    ["type", "properties", "required", "items", "enum", "$ref", "allOf", "minimum", "query", "object"]
)
schemas = st.recursive(
    json_values | words,
    lambda inner: st.dictionaries(words, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8) | words, json_values, max_size=3), schemas | json_values)
def test_no_schema_and_no_arguments_make_it_raise(arguments: dict[str, Any], schema: Any) -> None:
    for text in ("Invalid arguments", "Unknown tool: x"):
        for tool in ("search", "other"):
            assert isinstance(explain_failure(refused(text), tool, arguments, listed(schema)), fw.ToolError)
    assert isinstance(find_misspelling("search", arguments, listed(schema)), fw.ToolError | None)


def plain() -> MCPServer:
    server = MCPServer("plain", log_level="CRITICAL")

    @server.tool()
    def search(query: str, limit: int = 2) -> dict[str, list[str]]:
        return {"found": [query] * limit}

    return server


def masked() -> Server[Any]:
    """Says of everything only that it is wrong."""

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="search", input_schema=SEARCH)])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        right = isinstance(params.arguments.get("query"), str) and isinstance(params.arguments.get("limit", 1), int)
        text = "found" if right and params.name == "search" else "Invalid arguments"
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=text != "found")

    return Server("masked", on_list_tools=list_tools, on_call_tool=call_tool)


@pytest.mark.parametrize(("server", "calls"), [(plain, 1), (masked, 2)])
def test_a_server_that_knows_nothing_of_it_is_called_right_in_the_end(server: Any, calls: int) -> None:
    async def main() -> None:
        async with Recovering(Client(server()), fix=patched, reads=["search"]) as agent:
            # MCPServer reads the number out of the text by itself.
            report = await agent.call("search", {"query": "tea", "limit": "3"})
            assert (report.ok, report.calls) == (True, calls), str(report)
            result = await agent.call_tool("serch", {"query": "tea"})
            assert "Did you mean 'search'?" in result.content[0].text

    asyncio.run(main())


PAY: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "currency": {"enum": ["USD", "EUR"]}},
    "required": ["id", "currency"],
}
_ISSUES = """[
  {
    "code": "invalid_value",
    "values": ["USD", "EUR"],
    "path": ["currency"],
    "message": "Invalid option: expected one of \\"USD\\"|\\"EUR\\""
  }
]"""
_PYDANTIC = (
    "currency\n  Input should be 'USD' or 'EUR' [type=literal_error, input_value='usd', input_type=str]\n"
    "    For further information visit https://errors.pydantic.dev/2.14/v/literal_error"
)
# As the validators of the SDKs write it, before they call the tool, and in the words of whoever else may have written it.
REFUSALS = {
    "MCPServer": f"Error executing tool pay: 1 validation error for payArguments\n{_PYDANTIC}",
    "FastMCP": f"1 validation error for call[pay]\n{_PYDANTIC}",
    "FastMCP, prefixed": f"Error calling tool 'pay': 1 validation error for call[pay]\n{_PYDANTIC}",
    "TypeScript": f"MCP error -32602: Invalid arguments for tool pay: {_ISSUES}",
    "TypeScript, twice": f"MCP error -32602: MCP error -32602: Invalid arguments for tool pay: {_ISSUES}",
    "TypeScript, in words": "MCP error -32602: Input validation error: Invalid arguments for tool pay: "
    'Invalid option: expected one of "USD"|"EUR" at currency',
    "low-level, which names no tool": "Input validation error: 'usd' is not one of ['USD', 'EUR']",
    "of another tool": f"Error executing tool refund: 1 validation error for refundArguments\n{_PYDANTIC}",
    "of a model inside the tool": f"Error executing tool pay: 1 validation error for Receipt\n{_PYDANTIC}",
    "after other words": f"Paid. Then: 1 validation error for payArguments\n{_PYDANTIC}",
    "another tool, TypeScript": f"MCP error -32602: Invalid arguments for tool payment: {_ISSUES}",
    "no place named": "MCP error -32602: Invalid arguments for tool pay: wrong",
    "prose": "Invalid currency: usd",
}


def saying(text: str, calls: list[Any]) -> Server[Any]:
    """A server whose tool is refused in these words unless the currency is right."""

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="pay", input_schema=PAY)])

    async def call_tool(ctx: Any, params: Any) -> types.CallToolResult:
        calls.append(dict(params.arguments))
        right = params.arguments["currency"] == "USD"
        said = types.TextContent(type="text", text="paid" if right else text)
        return types.CallToolResult(content=[said], is_error=not right)

    return Server("saying", on_list_tools=list_tools, on_call_tool=call_tool)


WRONG = {"id": "1", "currency": "usd"}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_write_is_told_with_the_corrected_call_and_made_again_by_no_program(name: str) -> None:
    error = explain_failure(refused(REFUSALS[name]), "pay", WRONG, listed(PAY, "pay"))
    assert (error.delivery, error.effect, patched(error, WRONG)) == ("answered", None, {**WRONG, "currency": "USD"})
    calls: list[Any] = []

    async def main() -> None:
        async with Recovering(Client(saying(REFUSALS[name], calls)), fix=patched) as agent:
            report = await agent.call("pay", WRONG)
            assert (report.ok, report.calls) == (False, 1), str(report)

    asyncio.run(main())
    assert calls == [WRONG]


@pytest.mark.parametrize("name", REFUSALS)
def test_after_words_about_arguments_that_fit_no_fix_calls_a_write_again(name: str) -> None:
    calls: list[Any] = []
    right = {"id": "1", "currency": "EUR"}
    error = refused(REFUSALS[name])
    assert explain_failure(error, "pay", right, listed(PAY, "pay")) is error

    async def main() -> None:
        fix = {"id": "1", "currency": "USD"}
        async with Recovering(Client(saying(REFUSALS[name], calls)), fix=lambda error, given: fix) as agent:
            report = await agent.call("pay", right)
            assert (report.ok, report.calls) == (False, 1), str(report)

    asyncio.run(main())
    assert calls == [right]


_PARSING = (
    "amount\n  Input should be a valid integer, unable to parse string as an integer "
    "[type=int_parsing, input_value='5', input_type=str]"
)
OWN_WORDS = {
    MCPServer: f"1 validation error for payArguments\n{_PARSING}",
    FastMCP: f"1 validation error for call[pay]\n{_PARSING}",
}


@pytest.mark.parametrize("framework", OWN_WORDS)
def test_the_validators_words_from_a_tool_that_was_called_have_no_write_made_again(framework: Any) -> None:
    server = framework("bank")
    paid: list[int] = []

    @server.tool()
    def pay(amount: int) -> str:
        paid.append(amount)
        raise (FrameworkError if framework is MCPServer else ValueError)(OWN_WORDS[framework])

    client: Any = Client(server) if framework is MCPServer else FastMCPClient(server)

    async def main() -> None:
        async with Recovering(client, fix=patched) as agent:
            report = await agent.call("pay", {"amount": "5"})
            assert report.failure is not None
            assert (report.calls, report.failure.delivery, report.failure.effect) == (1, "answered", None), str(report)

    asyncio.run(main())
    assert paid == [5]


@pytest.mark.parametrize(
    ("kind", "sent", "is_proof"),
    [
        ({"type": "integer"}, "5", False),
        ({"type": "integer"}, " 5.0", False),
        ({"type": "integer"}, True, False),
        ({"type": "integer"}, "much", True),
        ({"type": "integer"}, "5.5", False),
        ({"type": "integer"}, 5.5, True),
        ({"type": "integer"}, {"value": 5}, True),
        ({"type": "integer"}, None, False),
        ({"type": "integer", "minimum": 10}, "5", False),
        ({"type": "integer", "minimum": 10}, 5, False),
        ({"type": "integer", "enum": [1, 2]}, "1", False),
        ({"type": "number"}, "1e2", False),
        ({"type": "boolean"}, "true", False),
        ({"type": "boolean"}, "maybe", True),
        ({"type": "boolean"}, 1, False),
        ({"type": "string"}, 5, False),
        ({"type": "string"}, {}, True),
        ({"enum": ["a", "b"]}, "c", True),
        ({"type": "string", "format": "date-time"}, 1_700_000_000, False),
        ({"type": "array", "items": {"type": "integer"}}, ["5"], False),
        ({"type": "array", "items": {"type": "integer"}}, "[5]", False),
        ({"type": "array", "items": {"type": "integer"}}, "5, 6", False),
        ({"type": "array", "items": {"type": "integer"}}, 5, True),
        ({"type": "array", "uniqueItems": True}, [1, 1], False),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", False),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "much", True),
    ],
)
def test_what_a_lax_validator_would_have_taken_is_no_proof(kind: dict[str, Any], sent: Any, is_proof: bool) -> None:
    schema = {"type": "object", "properties": {"amount": kind}, "required": ["amount"]}
    error = explain_failure(refused("It is wrong."), "pay", {"amount": sent}, listed(schema, "pay"))
    assert (error.delivery, error.effect, bool(error.fields)) == ("answered", None, is_proof)


def test_a_missing_argument_is_proof_beside_one_that_would_have_been_read() -> None:
    kinds = {"id": {"type": "string"}, "amount": {"type": "integer"}}
    schema = {"type": "object", "properties": kinds, "required": ["id", "amount"]}
    error = explain_failure(refused("It is wrong."), "pay", {"amount": "5"}, listed(schema, "pay"))
    assert "id" in [problem.name for problem in error.fields]


@pytest.mark.parametrize("framework", [MCPServer, FastMCP])
def test_a_payment_that_a_real_validator_refused_is_told_with_the_corrected_call(framework: Any) -> None:
    server = framework("bank")
    paid: list[tuple[str, str]] = []

    @server.tool()
    def pay(id: str, currency: Literal["USD", "EUR"]) -> str:
        paid.append((id, currency))
        return "paid"

    client: Any = Client(server) if framework is MCPServer else FastMCPClient(server)

    async def main() -> None:
        async with Recovering(client, fix=patched) as agent:
            report = await agent.call("pay", WRONG)
            assert (report.ok, report.calls) == (False, 1), str(report)
            text = "\n".join(block.text for block in report.result.content)
            assert text.endswith('Next: call pay with {"id": "1", "currency": "USD"}.'), text

    asyncio.run(main())
    assert paid == []


@pytest.mark.parametrize("text", ["KeyError: 'query'", "Cannot read properties of undefined (reading 'query')"])
def test_a_crash_for_want_of_a_required_argument_is_the_callers_mistake(text: str) -> None:
    error = explain_failure(refused(text), "search", {"limit": 1}, listed())
    assert (error.kind, error.code, [each.name for each in error.fields]) == (
        Kind.VALIDATION,
        "VALIDATION_ERROR",
        ["query"],
    )
    # It was sent, so it is about something else.
    assert explain_failure(refused(text), "search", {"query": "a"}, listed()) == refused(text)


@pytest.mark.parametrize(
    "raised",
    [
        "Answer.model_validate({'id': 'x1'})",
        "Settings.model_validate({})",
        "jsonschema.validate({'a': 1}, {'required': ['receipt']})",
        "await server.call_tool('search', {'qury': 'a'})",
        "await server.call_tool('pay', {})",
        "await server.call_tool('pay', {'token': 't', 'amount': 'x'})",
        "int('12 EUR')",
        "float('12,50')",
        "b'\\xff'.decode()",
    ],
)
@pytest.mark.parametrize("kind", [MCPServer, FastMCP])
def test_a_validator_that_speaks_of_something_else_than_the_call_is_no_refusal_of_it(kind: Any, raised: str) -> None:
    """The tool has paid, and meets a validator in the answer of its bank, its settings, or a call of its own."""
    made: list[str] = []
    server = kind("shop")

    class Answer(BaseModel):
        id: int

    class Settings(BaseModel):
        smtp_host: str

    @server.tool()
    def search(query: str) -> str:
        return query

    async def fails() -> None:
        scope = {"server": server, "jsonschema": jsonschema, "Answer": Answer, "Settings": Settings}
        found = eval(raised.removeprefix("await "), scope)
        await found

    @server.tool()
    async def pay(token: str, amount: int = 1) -> str:
        if not made:
            made.append(token)
            try:
                await fails()
            except Exception as exc:
                # As a framework that shows the text of crashes sends it.
                raise FrameworkError(str(exc)) from exc
        return "paid"

    async def told() -> Any:
        async with Recovering((Client if kind is MCPServer else FastMCPClient)(server), fix=patched) as agent:
            return await agent.call("pay", {"token": "t"})

    report = asyncio.run(told())
    assert (report.calls, made, report.failure.effect) == (1, ["t"], None)
    assert "Next: call pay" not in report.result.content[0].text


@pytest.mark.parametrize("kind", [MCPServer, FastMCP])
def test_what_was_sent_for_a_secret_argument_is_passed_on_nowhere(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A server without Failwell quotes it; the model, programs, the log and the reports see none of it."""
    secret = "Zq8vT3xK9mWp2Lr"
    server = kind("shop")

    @server.tool()
    def login(password: str, how: str) -> types.CallToolResult:
        said = {
            "key": f"KeyError: '{password}'",
            "value": f"password {password} is too short",
            "pin": f"after {password}",
        }
        content = [types.TextContent(text=said[how]), types.TextContent(text=f"It was {password}.")]
        return types.CallToolResult(content=content, structured_content={"it": [password]}, is_error=True)

    async def told() -> list[Any]:
        async with Recovering((Client if kind is MCPServer else FastMCPClient)(server)) as agent:
            reports = [await agent.call("login", {"password": secret, "how": how}) for how in ("key", "value", "pin")]
            return [*(part for report in reports for part in (report.result, report.error)), *agent.reports]

    with caplog.at_level("DEBUG", "failwell"):
        parts = [str(part).replace(f"'password': '{secret}'", "what was sent") for part in asyncio.run(told())]
    assert [part for part in parts if secret in part] == []
    assert [
        record for record in caplog.records if record.name.startswith("failwell") and secret in str(vars(record))
    ] == []
    assert sum("[redacted]" in part for part in parts) >= 6
