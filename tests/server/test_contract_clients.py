"""The contracts over a real wire, read as their documents say, by the clients that people use."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TextIO

import fastmcp
import mcp
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from contract_app import SAID
from fastmcp.client.transports import StdioTransport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation

import failwell as fw
from failwell.client import Recovering
from failwell.formats import META_KEY
from failwell.model import FieldError
from failwell.recovery import Report

APP: Final = str(Path(__file__).with_name("contract_app.py"))
WARNING: Final = (
    '<tool_error code="DEPRECATED" severity="warning">\n'
    f"  <message>{SAID}</message>\n"
    "  <available_actions>\n    <action>billing.invoices_v2</action>\n  </available_actions>\n"
    "</tool_error>"
)


def connect(kind: str, framework: str, format: str, name: str, errors: TextIO) -> Any:
    """A client of one kind, by its SDK's name or another, for a server of its own."""
    arguments = [APP, framework, format]
    info = Implementation(name=name, version="1") if name else None
    if kind == "fastmcp":
        return fastmcp.Client(StdioTransport(sys.executable, arguments, log_file=errors), client_info=info)
    server = StdioServerParameters(command=sys.executable, args=arguments)
    return mcp.Client(stdio_client(server, errlog=errors), client_info=info)


class Wire:
    """A client that stays connected, for tests that do not wait themselves."""

    def __init__(self, portal: BlockingPortal, agent: Recovering, errors: Path) -> None:
        self._portal, self._agent, self._errors = portal, agent, errors

    @property
    def log(self) -> str:
        """What the server has written to its standard error."""
        return self._errors.read_text()

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result as the client's SDK gives it."""
        client = self._agent.client
        made = client.call_tool_mcp if isinstance(client, fastmcp.Client) else client.call_tool
        return self._portal.call(made, tool, arguments)

    def recover(self, tool: str, **arguments: Any) -> Report:
        """What `Recovering` reports of the call, around the same client."""
        return self._portal.call(self._agent.call, tool, arguments)


@pytest.fixture(scope="module")
def wires(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Wire]]:
    opened: dict[tuple[str, ...], Wire] = {}
    folder = tmp_path_factory.mktemp("contracts")
    with ExitStack() as held:
        portal = held.enter_context(start_blocking_portal())

        def wire(*key: str) -> Wire:
            if key not in opened:
                errors = folder / "-".join(key)
                file = held.enter_context(errors.open("w"))
                agent = Recovering(connect(*key, file))
                held.enter_context(portal.wrap_async_context_manager(agent))
                portal.call(agent.list_tools)
                opened[key] = Wire(portal, agent, errors)
            return opened[key]

        def open_(kind: str, framework: str, format: str = "xml", name: str = "") -> Wire:
            return wire(kind, framework, format, name)

        yield open_


EVERYBODY: Final = [(kind, framework) for kind in ("mcp", "fastmcp") for framework in ("mcpserver", "fastmcp")]
everybody: Final = pytest.mark.parametrize(("kind", "framework"), EVERYBODY, ids="-".join)


def block_of(content: list[Any]) -> str | None:
    """Contract 001's own parser: the first block that is JSON of the kind that it looks for."""
    for block in content:
        try:
            parsed = json.loads(getattr(block, "text", "") or "")
        except ValueError:
            continue
        if isinstance(parsed, dict) and parsed.get("kind") == "toolError:v1":
            text: str = block.text
            return text
    return None


@pytest.mark.checklist(77, 82, 84, 85, 87)
@everybody
def test_both_is_two_blocks_for_everybody_who_asks(wires: Callable[..., Wire], kind: str, framework: str) -> None:
    wire = wires(kind, framework)
    failed = wire.call("search_patterns", query="network", format="both")
    found = block_of(failed.content)
    assert found is not None
    assert json.loads(found) == {
        "kind": "toolError:v1",
        "code": "NETWORK_ERROR",
        "message": "Network error: Request timeout",
        "retryable": True,
    }
    people, programs = (block.text for block in failed.content)
    assert people.removeprefix("Error: ").startswith("Network error: Request timeout")
    assert (programs, failed.is_error) == (found, True)
    worked = wire.call("search_patterns", query="retry", format="both")
    people, programs = (block.text for block in worked.content)
    assert (people, json.loads(programs)) == ("1 pattern", {"kind": "patternSearchResults:v1", "count": 1})
    # In markdown there is nothing for the parser, which is what the document says.
    assert block_of(wire.call("search_patterns", query="network").content) is None
    assert len(wire.call("search_patterns", query="network", format="json").content) == 1


@pytest.mark.checklist(81, 88)
@everybody
def test_the_same_object_is_the_structured_content_for_who_asks(
    wires: Callable[..., Wire], kind: str, framework: str
) -> None:
    wire = wires(kind, framework)
    held = [wire.call("search_patterns", query="network", format=gate) for gate in ("json", "both")]
    blocks = [block_of(result.content) for result in held]
    assert None not in blocks
    assert [result.structured_content for result in held] == [json.loads(block or "") for block in blocks]
    # Both clients connect by a name that stands for some that show this instead of the text, which is what was asked for.
    assert wire.call("search_patterns", query="network", format="markdown").structured_content is None


@pytest.mark.checklist(81, 88)
def test_others_find_it_whatever_the_format(wires: Callable[..., Wire]) -> None:
    wire = wires("mcp", "mcpserver", "xml", "reader")
    held = [wire.call("search_patterns", query="network", format=gate) for gate in ("markdown", "json", "both")]
    wanted = {
        "kind": "toolError:v1",
        "code": "NETWORK_ERROR",
        "message": "Network error: Request timeout",
        "retryable": True,
    }
    assert [(result.structured_content, result.is_error) for result in held] == [(wanted, True)] * 3


@pytest.mark.checklist(108)
@everybody
def test_a_result_above_the_limit_follows_its_format(wires: Callable[..., Wire], kind: str, framework: str) -> None:
    wire = wires(kind, framework)
    for gate, kept in (("markdown", ["y"]), ("json", ["{"]), ("both", ["y", "{"])):
        worked = wire.call("search_patterns", query="long", format=gate)
        *texts, remark = (block.text for block in worked.content)
        assert [text[0] for text in texts] == kept
        assert sum(map(len, texts)) < 2000
        assert "OUTPUT_CUT" in remark
        for text in texts:
            assert text[0] == "y" or json.loads(text)["text"].startswith("xx")
        failed = wire.call("search_patterns", query="too long", format=gate)
        assert len(failed.content) == len(kept)
        assert sum(len(block.text) for block in failed.content) < 40_000
        found = block_of(failed.content)
        assert (found is None) is (gate == "markdown")
        if found is not None:
            read = json.loads(found)
            assert (read["code"], read["retryable"], failed.is_error) == ("SERVER_ERROR", True, True)


@pytest.mark.checklist(65)
def test_what_nobody_could_tell_is_in_the_log_as_it_is_shown_by_default(wires: Callable[..., Wire]) -> None:
    wire = wires("mcp", "mcpserver")
    wire.call("search_patterns", query="unknown", format="json")
    assert "WARNING failwell.server tool_error search_patterns: UNKNOWN_ERROR: Unknown error occurred" in wire.log


@pytest.mark.checklist(124)
@everybody
@pytest.mark.parametrize(
    ("tool", "content"),
    [("old_text", {"result": WARNING}), ("old_dict", {"result": WARNING}), ("old_maybe", {"result": None})],
)
def test_a_warning_of_a_tool_with_an_output_type_is_no_error(
    wires: Callable[..., Wire], kind: str, framework: str, tool: str, content: dict[str, Any]
) -> None:
    result = wires(kind, framework).call(tool)
    assert (result.is_error, [block.text for block in result.content]) == (False, [WARNING])
    assert result.structured_content == content
    read = fw.read(result)
    assert isinstance(read, fw.ToolError)
    assert (read.code, read.is_error, read.actions[0].tool) == ("DEPRECATED", False, "billing.invoices_v2")


@pytest.mark.checklist(124, 126)
@everybody
def test_a_warning_stays_one_whatever_the_type_of_the_result(
    wires: Callable[..., Wire], kind: str, framework: str
) -> None:
    wire = wires(kind, framework)
    promised = wire.call("old_model")
    assert (promised.is_error, promised.structured_content) == (True, None)
    assert promised.content[0].text == WARNING
    odd = wire.call("odd_severity")
    text = '<tool_error code="X" severity="error">\n  <message>Too hot.</message>\n</tool_error>'
    assert (odd.is_error, odd.content[0].text) == (True, text)


@pytest.mark.checklist(171, 172)
@everybody
def test_the_flagship_error_leads_to_what_it_names(wires: Callable[..., Wire], kind: str, framework: str) -> None:
    wire = wires(kind, framework)
    for tool in ("projects.get", "projects.sync"):
        report = wire.recover(tool, project_id="proj_xyz")
        [attempt] = report.attempts
        assert report.calls == 1
        assert (attempt.error.code, attempt.error.kind) == ("ProjectNotFound", "internal")
        assert (attempt.decision.next, [call.tool for call in attempt.decision.calls]) == (
            "alternative",
            ["projects.list"],
        )
        # The words that a model reads are the server's own, and they name the call.
        assert report.result.content[0].text == (
            '<tool_error code="ProjectNotFound" severity="error">\n'
            "  <message>Project 'proj_xyz' does not exist.</message>\n"
            "  <recovery>Call projects.list first to get valid IDs, then retry.</recovery>\n"
            "  <available_actions>\n    <action>projects.list</action>\n  </available_actions>\n"
            "</tool_error>"
        )
        plain = fw.parse(report.result.content[0].text)
        assert fw.render(plain, "text") == (
            "Project 'proj_xyz' does not exist. Call projects.list first to get valid IDs, then retry."
        )


@pytest.mark.checklist(113, 171)
def test_a_missing_field_is_read_with_its_name(wires: Callable[..., Wire]) -> None:
    result = wires("mcp", "mcpserver").call("create_project")
    error = fw.read({"content": [{"type": "text", "text": result.content[0].text}], "isError": True})
    assert isinstance(error, fw.ToolError)
    assert error.code == "MISSING_REQUIRED_FIELD"
    assert error.fields == (FieldError("workspace_id", "Required", rule="required"),)
    assert fw.decide(error).next == "fix"


@pytest.mark.checklist(2, 15, 18)
def test_a_message_leaves_as_its_author_wrote_it(wires: Callable[..., Wire]) -> None:
    wire = wires("mcp", "mcpserver", "typed")
    result = wire.call("reserve", pattern="*")
    assert json.loads(result.content[0].text) == {
        "type": "TRANSIENT",
        "message": "rate limited",
        "recoverable": True,
        # In the contract's own place, where the error has no value of its own.
        "data": {"retry_after": 30, "conflicts": "none"},
    }
    # In `_meta`, too.
    assert result.meta[META_KEY]["retry_after"] == 30
    assert result.meta[META_KEY]["details"] == {"failwell": "mine", "conflicts": "none"}
    held = json.loads(wire.call("held", pattern="*").content[0].text)
    assert (held["message"], held["data"]) == ("2 conflicts", {"conflicts": [{"held_by": "a2"}]})
    # What a call may have done is said, whatever was written; a delay is only a fact.
    lost = json.loads(wire.call("lost", pattern="*").content[0].text)
    assert (lost["type"], lost["recoverable"], lost["data"]) == ("TRANSIENT", False, {"retry_after": 30})
    assert "so it may have been done already" in lost["message"]
    for line in (
        "reserve: typed has no place for the details failwell; wire={'carry': True} sends them too.",
        "held: typed has no place for the details conflicts; wire={'carry': True} sends them too.",
    ):
        assert wire.log.count(f"WARNING failwell.server {line}") == 1


@pytest.mark.checklist(39, 40, 42, 47)
def test_the_client_logs_what_the_document_has_it_log(
    wires: Callable[..., Wire], caplog: pytest.LogCaptureFixture
) -> None:
    wire = wires("mcp", "mcpserver", "typed")
    with caplog.at_level(logging.WARNING, "failwell.client"):
        read = wire.recover("legacy").failure
        wire.recover("create_project")
        wire.recover("broken", password="hunter2secret")
    assert (read.kind, read.legacy) == ("internal", True)
    lines = [record.getMessage() for record in caplog.records if record.name == "failwell.client"]
    # One line for each failure.
    assert [line.split(" (")[0] for line in lines] == [
        "tool_error legacy: INTERNAL_ERROR: unstructured error: check conflicts: intermute 500: internal error",
        'tool_error create_project: MISSING_REQUIRED_FIELD: bad input: Required field "workspace_id" is missing.',
        "tool_error broken: INTERNAL_ERROR: internal error: the index is corrupt: password=[redacted]",
    ]
