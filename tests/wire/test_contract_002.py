"""Contract 002 as its author meets it, over a real wire: what tools return, warnings, what is refused, own XML."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp
import pytest
from contract_server import HAND_XML
from contract_wire import ERAS, FRAMEWORKS, Contracts, Servers
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from shop_wire import Json

import commands
import failwell as fw
from failwell.client import Recovering

XML: Json = {"format": "xml"}
RAISING = ("mcpserver", "fastmcp")


@pytest.fixture(params=[(kind, era) for kind in FRAMEWORKS for era in ERAS], ids=" ".join)
def server(request: pytest.FixtureRequest, servers: Servers) -> Contracts:
    kind, era = request.param
    return servers.get(kind, XML, era)


@pytest.fixture(params=RAISING)
def typed(request: pytest.FixtureRequest, servers: Servers) -> Contracts:
    """A server that makes output schemas of annotations."""
    return servers.get(request.param, XML)


def untitled(schema: Any) -> Any:
    """A schema without the names that a framework takes from the function."""
    if isinstance(schema, dict):
        return {name: untitled(value) for name, value in schema.items() if name != "title"}
    return [untitled(value) for value in schema] if isinstance(schema, list) else schema


SAME = {
    "result_text": "plain_text",
    "result_model": "plain_user",
    "result_list": "plain_list",
    "either_text": "plain_text",
    "either_model": "plain_model",
    "either_map": "plain_map",
}


@pytest.mark.checklist(420)
@pytest.mark.parametrize("tool", SAME)
def test_a_tool_that_may_return_a_failure_is_the_tool_of_its_data(typed: Contracts, tool: str) -> None:
    tools = typed.listed()
    assert untitled(tools[tool].get("outputSchema")) == untitled(tools[SAME[tool]].get("outputSchema"))
    worked, plain = typed.call(tool, id="u_1"), typed.call(SAME[tool], id="u_1")
    assert {**worked.result, "_meta": None} == {**plain.result, "_meta": None}


@pytest.mark.checklist(164, 420)
@pytest.mark.parametrize("tool", SAME)
def test_a_failure_that_a_tool_returns_leaves_as_one(server: Contracts, tool: str) -> None:
    answer = server.call(tool, id="x")
    assert answer.failed
    assert answer.text.startswith("<tool_error")
    assert "x" in answer.error["message"]


@pytest.mark.checklist(421)
def test_a_failed_step_is_returned_by_its_response(server: Contracts) -> None:
    assert server.call("use_response", id="x").text == (
        '<tool_error>\n  <message>User "x" not found</message>\n</tool_error>'
    )
    assert 'User "u_1" cannot delete' in server.call("use_response", id="u_1").text


WARNING = """\
<tool_error code="DEPRECATED" severity="warning">
  <message>Use invoices_v2 instead.</message>
  <available_actions>
    <action>invoices_v2</action>
  </available_actions>
</tool_error>"""


@pytest.mark.checklist(124, 422)
@pytest.mark.parametrize("tool", ["warn_text", "warn_list", "warn_map", "warn_optional"])
def test_a_warning_is_no_error_whatever_the_type(server: Contracts, tool: str) -> None:
    answer = server.call(tool)
    assert (answer.failed, answer.text) == (False, WARNING)
    assert answer.error["severity"] == "warning"


@pytest.mark.checklist(422)
def test_a_warning_where_a_model_is_promised_stays_a_warning(typed: Contracts) -> None:
    """An answer without the promised data would not reach the agent: clients throw. So the flag alone differs."""
    answer = typed.call("warn_model")
    assert (answer.failed, answer.text) == (True, WARNING)
    assert fw.decide(fw.read(answer.result)).next == "proceed"  # type: ignore[arg-type]


@pytest.mark.checklist(422)
@pytest.mark.parametrize("kind", ["mcpserver-flat", "lowlevel"])
def test_without_an_output_schema_every_warning_is_no_error(servers: Servers, kind: str) -> None:
    assert not servers.get(kind, XML).call("warn_model").failed


@pytest.mark.checklist(423)
@pytest.mark.parametrize("kind", FRAMEWORKS)
def test_a_critical_failure_is_called_once_and_told_to_the_user(servers: Servers, kind: str) -> None:
    server = servers.get(kind, XML)
    told: list[fw.ToolError] = []
    command = commands.in_parts(Contracts.command(kind, XML, "stdio", server.ledger))

    async def call() -> Any:
        client = mcp.Client(stdio_client(StdioServerParameters(**command)))
        async with Recovering(client, notify_user=told.append) as agent:
            return await agent.call_tool("get_critical", {"times": kind})

    asyncio.run(call())
    assert server.ledger.read_text("utf-8").splitlines().count(f"ran {kind}") == 1
    assert [(each.severity, each.message) for each in told] == [("critical", "The ledger is corrupt.")]


@pytest.mark.checklist(424)
def test_a_dotted_tool_is_named_as_the_contract_names_it(typed: Contracts) -> None:
    assert typed.call("users.create", email="bad-email", role="superadmin").text == (
        '<validation_error action="users/create">\n'
        "  <field name=\"email\">Invalid email. You sent: 'bad-email'. "
        "Expected: a valid email address (e.g. user@example.com).</field>\n"
        "  <field name=\"role\">Invalid enum value. Expected 'admin' | 'user', received 'superadmin'. "
        "You sent: 'superadmin'. Valid options: 'admin', 'user'.</field>\n"
        "  <recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>\n"
        "</validation_error>"
    )


@pytest.mark.checklist(150, 425)
def test_an_argument_that_a_tool_does_not_have_is_refused(server: Contracts) -> None:
    """On a read, too, whose framework would ignore it."""
    answer = server.call("projects.get", id="p_1", hallucinated_param=1)
    assert answer.failed
    assert answer.text == (
        '<validation_error action="projects/get">\n'
        "  <field name=\"(root)\">Unrecognized key(s) in object: 'hallucinated_param'. Remove or correct unrecognized "
        "fields: 'hallucinated_param'. Check for typos.</field>\n"
        "  <recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>\n"
        "</validation_error>"
    )


@pytest.mark.checklist(426)
@pytest.mark.parametrize("kind", FRAMEWORKS)
@pytest.mark.parametrize("options", [{}, XML], ids=["text", "xml"])
def test_xml_that_a_tool_has_built_itself_keeps_its_bytes(servers: Servers, kind: str, options: Json) -> None:
    server = servers.get(kind, options)
    bare = servers.get(kind, None)
    answer = server.call("by_hand", how="error")
    assert answer.result["content"] == bare.call("by_hand", how="error").result["content"]
    assert (answer.failed, answer.text) == (True, HAND_XML)
    assert answer.error["code"] == "ProjectNotFound"
    assert answer.error["actions"] == [{"tool": "projects.list"}]
    assert len(server.logged("by_hand")) == 1
    for how in ("warning", "success"):
        assert server.call("by_hand", how=how).result == bare.call("by_hand", how=how).result


@pytest.mark.checklist(427)
@pytest.mark.parametrize("era", ERAS)
def test_the_relay_passes_on_xml_of_a_server_that_speaks_it(era: str) -> None:
    """What a server says in the contract is not cited."""
    relay = Contracts("mcpserver", XML, wrap=["--format", "xml"], era=era)
    try:
        for tool, arguments in (("by_hand", {"how": "error"}), ("either_text", {"id": "x"}), ("users.create", {})):
            told = relay.session.call(tool, arguments=arguments)
            assert "It said" not in told.text, told.text
            if tool == "by_hand":
                assert told.text == HAND_XML
        # What the relay adds is a next step, which has its place in the contract.
        again = relay.call("by_hand", how="error").text
        assert "The same call has now failed twice in the same way." in again.partition("</recovery>")[0]
    finally:
        relay.close()
