"""Contracts 000 and 001 as their authors have them: statuses, flags, gates, questions and results built by hand, over
real wires on each framework, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from shop_wire import CANONICAL, LEGACY, MODERN, Answer, Json, Session, Shop, Shops

import commands
import failwell as fw
from failwell.client import Recovering
from failwell.formats import CLIENTS
from failwell.recovery import Report

SERVER: Final = Path(__file__).with_name("typed_v1_server.py")
KINDS: Final = ("mcpserver", "fastmcp", "lowlevel")
ERAS: Final = (LEGACY, MODERN)


class Author(Shop):
    """The server of an author, and the ledger that it keeps."""

    @staticmethod
    def command(kind: str, options: Json | None, transport: str, ledger: Path) -> list[str]:
        how = "--bare" if options is None else json.dumps(options)
        return commands.python(SERVER, kind, transport, ledger, how)

    def lines(self) -> list[str]:
        return self.ledger.read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def authors() -> Iterator[Shops]:
    made = Shops(Author)
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def typed(answer: Answer) -> Json:
    """The object of contract 000: the one text there is."""
    assert answer.failed
    [block] = answer.result["content"]
    stated: Json = json.loads(block["text"])
    assert stated.keys() <= {"type", "message", "recoverable", "data"}
    # What the text says, `_meta` does not deny.
    assert (stated["type"].lower(), stated["recoverable"]) == (answer.error["kind"], answer.error["recoverable"])
    return stated


# Contract 000's two tables, and what it says of connections.
TYPES: Final = {
    **dict.fromkeys(("http:400", "http:422"), "VALIDATION"),
    **dict.fromkeys(("http:401", "http:403"), "PERMISSION"),
    "http:404": "NOT_FOUND",
    "http:409": "CONFLICT",
    **dict.fromkeys(("http:429", "http:500", "http:502", "http:503", "http:599", "http:408"), "TRANSIENT"),
    "http:418": "VALIDATION",
    **dict.fromkeys(("refused", "timeout", "dns", "own:500", "own:x"), "TRANSIENT"),
    "own:404": "NOT_FOUND",
    "crash": "INTERNAL",
}


class TestContract000:
    @pytest.mark.checklist(29, 30, 31, 32, 33, 34, 37, 401, 402)
    @pytest.mark.parametrize("tool", ["handle", "list_items", "pay_item"])
    def test_a_status_has_its_type_on_every_tool(self, authors: Shops, kind: str, tool: str) -> None:
        shop = authors.get(kind, {"format": "typed", "table": True, "hold": 0})
        for cause, type in TYPES.items():
            stated = typed(shop.session.call(tool, cause))
            assert stated["type"] == type, cause
            # Only of a write is it in doubt what it did; what a row of the author's own says stands.
            in_doubt = tool == "pay_item" and not cause.startswith("own")
            assert stated["recoverable"] is (type == "TRANSIENT" and not in_doubt), cause

    @pytest.mark.checklist(38, 401)
    def test_the_wait_stays(self, authors: Shops, kind: str) -> None:
        shop = authors.get(kind, {"format": "typed", "table": True, "hold": 0})
        for cause in ("wait:429", "wait:503", "status:429", "own:500"):
            assert typed(shop.session.call("handle", cause))["data"]["retry_after"] == 30

    @pytest.mark.checklist(405)
    def test_the_names_of_other_standards_are_known(self, authors: Shops, kind: str) -> None:
        shop = authors.get(kind, {"format": "typed", "table": True, "hold": 0})
        for code in fw.catalogs.Standard:
            answer = shop.session.call("handle", f"code:{code}")
            assert typed(answer)["type"] == code.kind.upper()
            assert answer.error["code"] == str(code)
        assert fw.catalogs.Standard["SERVICE_UNAVAILABLE"].retryable

    @pytest.mark.checklist(406)
    @pytest.mark.parametrize("era", ERAS)
    def test_a_message_is_the_authors_to_the_byte_where_they_want_it(self, authors: Shops, kind: str, era: str) -> None:
        wire = {"type": "CONFLICT", "message": "reservation conflict: 1 conflict", "recoverable": True}
        held = [{"agent_id": "agent-2", "pattern": "src/*.go", "held_by": "agent-2"}]
        for as_written, more in ((True, ""), (False, ". It is held by agent-2; ask for it to be released.")):
            shop = authors.get(kind, {"format": "typed", "wire": {"as_written": as_written}}, era=era)
            answer = shop.session.call("handle", "conflict")
            assert typed(answer) == {**wire, "message": wire["message"] + more, "data": {"conflicts": held}}

    @pytest.mark.checklist(407)
    def test_a_name_that_only_sounds_secret_can_pass(self, authors: Shops, kind: str) -> None:
        masked = typed(authors.get(kind, {"format": "typed"}).session.call("handle", "token"))
        assert masked["data"] == {"reservation_token": "[redacted]", "password": "[redacted]"}
        shop = authors.get(kind, {"format": "typed", "show": ["reservation_token"]})
        answer = shop.session.call("handle", "token")
        assert typed(answer)["data"] == {"reservation_token": "tok-4711-abc", "password": "[redacted]"}
        assert answer.error["details"] == typed(answer)["data"]

    @pytest.mark.checklist(41, 403, 404)
    @pytest.mark.parametrize("tool", ["handle", "list_items", "pay_item"])
    def test_an_authors_transient_is_tried_three_times(self, kind: str, tool: str, tmp_path: Path) -> None:
        ledger = tmp_path / "ledger"
        started = StdioServerParameters(
            command=sys.executable, args=[str(SERVER), kind, "stdio", str(ledger), '{"format": "typed"}']
        )
        clock = Waiting()

        async def call() -> Report:
            async with Recovering(mcp.Client(stdio_client(started)), clock=clock, jitter=lambda: 0.5) as agent:
                return await agent.call(tool, {"id": "transient"})

        report = asyncio.run(call())
        assert report.calls == 3
        assert ledger.read_text("utf-8").count(f"ran {tool} transient") == 3
        # The default backoff, since the error names no wait.
        assert len(clock.waits) == 2
        assert 0 < clock.waits[0] < clock.waits[1]
        # The text is the server's own, and parses; what was tried is said beside it.
        [block] = report.result.content
        assert json.loads(block.text) == {"type": "TRANSIENT", "message": "service down", "recoverable": True}
        assert "It was tried 3 times." in report.result.meta[CANONICAL]["next_steps"]


class Waiting:
    """A clock whose time passes by waiting."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return sum(self.waits)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


# Contract 001: by the name of the tool, how its `format` is declared, and what it is when nobody sends it.
GATED: Final = {
    "by_literal": "markdown",
    "by_enum": "markdown",
    "by_optional": "markdown",
    "by_text": "markdown",
    "by_more": "markdown",
    "by_default": "json",
    "by_enum_default": "both",
}


def gate_of(answer: Answer) -> str:
    """Which blocks there are."""
    blocks = ["json" if block["text"].startswith("{") else "markdown" for block in answer.result["content"]]
    return "both" if blocks == ["markdown", "json"] else "".join(blocks)


def v1(answer: Answer) -> Json:
    """The object of contract 001 in the block that is JSON, as the contract's own client looks for it."""
    for block in answer.result["content"]:
        try:
            stated = json.loads(block["text"])
        except ValueError:
            continue
        if isinstance(stated, dict) and stated.get("kind") in ("toolError:v1", "needsInput:v1"):
            return stated
    raise AssertionError(answer.result)


class TestContract001:
    @pytest.mark.checklist(74, 75, 76, 77, 84, 85, 410)
    @pytest.mark.parametrize("era", ERAS)
    def test_the_gate_is_the_arguments_value_however_it_is_declared(self, authors: Shops, kind: str, era: str) -> None:
        session = authors.get(kind, {"format": "v1"}, era=era).session
        tools = {**GATED, **({"by_alias": "markdown"} if kind == "fastmcp" else {})}
        for tool, default in tools.items():
            for sent in ({}, {"format": "markdown"}, {"format": "json"}, {"format": "both"}):
                wanted = sent.get("format", default)
                for cause, failed in (("ok", False), ("refused", True)):
                    answer = session.call(tool, arguments={"id": cause, **sent})
                    assert (answer.failed, gate_of(answer)) == (failed, wanted), (tool, sent)
        answer = session.call("by_optional", arguments={"id": "refused", "format": None})
        assert gate_of(answer) == "markdown"

    @pytest.mark.checklist(83, 86, 410)
    def test_what_is_no_gate_is_none(self, authors: Shops, kind: str) -> None:
        session = authors.get(kind, {"format": "v1"}).session
        for tool in ("by_literal", "by_enum", "by_more"):
            answer = session.call(tool, arguments={"id": "ok", "format": "html"})
            assert (answer.error["kind"], gate_of(answer)) == ("validation", "markdown")
        # One more value is the author's own.
        assert gate_of(session.call("by_more", arguments={"id": "refused", "format": "compact"})) == "markdown"
        assert gate_of(session.call("handle", "refused")) == "markdown"
        # Elsewhere another `format` is not the contract's, and its failures have the server's form.
        other = authors.get(kind, {"format": "text"}).session
        assert gate_of(other.call("by_list", arguments={"id": "refused", "format": "json"})) == "markdown"
        assert v1(other.call("by_literal", arguments={"id": "refused", "format": "json"}))["kind"] == "toolError:v1"

    @pytest.mark.checklist(78, 412)
    def test_the_block_for_people_is_the_message_for_every_client(self, authors: Shops, kind: str) -> None:
        shop = authors.get(kind, {"format": "v1"}, transport="http")
        for name in {client.name for client in CLIENTS} | {"nobody-knows"}:
            session = shop.begin(name=name)
            both = session.call("by_literal", arguments={"id": "transient", "format": "both"})
            assert both.result["content"][0]["text"] == v1(both)["message"] == "service down"
            assert session.call("by_literal", arguments={"id": "transient"}).text == "service down"
        chosen = authors.get(kind, {"format": "v1", "wire": {"client": "crewai/1"}}).session
        assert chosen.call("by_literal", arguments={"id": "transient"}).text.startswith("Error: service down. Wait 1 s")
        prefixed = authors.get(kind, {"format": "v1", "wire": {"prefix": "**Error:** "}}).session
        assert prefixed.call("by_literal", arguments={"id": "transient"}).text == "**Error:** service down"

    @pytest.mark.checklist(66, 67, 68, 69, 70, 71, 411)
    @pytest.mark.parametrize("tool", ["handle", "list_items", "pay_item"])
    def test_strict_is_the_contracts_table_and_invites_nobody_to_pay_twice(
        self, authors: Shops, kind: str, tool: str
    ) -> None:
        session = authors.get(kind, {"format": "v1", "hold": 0, "wire": {"strict": True, "gate": "json"}}).session
        for cause, code, retryable in (
            ("http:500", "SERVER_ERROR", True),
            ("http:503", "SERVER_ERROR", True),
            ("timeout", "NETWORK_ERROR", True),
            ("refused", "NETWORK_ERROR", True),
            ("http:401", "AUTHENTICATION_ERROR", False),
            ("http:403", "AUTHENTICATION_ERROR", False),
            ("http:404", "NOT_FOUND", False),
            ("http:400", "CLIENT_ERROR", False),
            ("http:429", "CLIENT_ERROR", False),
            ("crash", "UNKNOWN_ERROR", False),
        ):
            answer = session.call(tool, cause)
            stated = v1(answer)
            assert (stated["code"], stated["retryable"]) == (code, retryable and tool != "pay_item"), cause
            said = "may have been done" in stated["message"]
            assert said is (answer.error.get("effect") in ("unknown", "partial", "done")), cause

    @pytest.mark.checklist(73, 413)
    def test_no_null_leaves(self, authors: Shops, kind: str) -> None:
        session = authors.get(kind, {"format": "v1", "wire": {"gate": "json"}}).session
        stated = v1(session.call("handle", "null"))
        assert stated == {
            "kind": "toolError:v1",
            "code": "NETWORK_ERROR",
            "message": "It failed.",
            "retryable": True,
            "details": {"n": 1},
        }

    @pytest.mark.checklist(95, 98, 414)
    @pytest.mark.parametrize("era", ERAS)
    def test_a_question_is_the_result_for_everybody_where_the_author_wants_it(
        self, authors: Shops, kind: str, era: str
    ) -> None:
        options = {"format": "v1", "questions": "result", "wire": {"gate": "json"}}
        session: Session = authors.get(kind, options, era=era, capabilities={"elicitation": {}}).session
        answer = session.call("handle", "asks")
        assert not answer.failed
        assert v1(answer) == {
            "kind": "needsInput:v1",
            "type": "elicitation",
            "message": "Which pattern?",
            "needsInput": {"fields": ["id"], "reason": "A pattern is read by its id."},
        }
        missing = session.call("handle", arguments={})
        assert (missing.failed, v1(missing)["needsInput"]["fields"]) == (False, ["id"])
        assert session.questions == []


class TestBuiltByHand:
    """What authors have today, pasted unchanged: it keeps its bytes, is written down, and gains `_meta`."""

    CALLS: Final = (
        ("own_typed", {}, "TRANSIENT"),
        ("own_v1", {}, "NETWORK_ERROR"),
        ("own_v1", {"format": "json"}, "NETWORK_ERROR"),
        ("own_v1", {"format": "both"}, "NETWORK_ERROR"),
    )

    @pytest.mark.checklist(408)
    @pytest.mark.parametrize("era", ERAS)
    @pytest.mark.parametrize("form", ["typed", "v1", "text"])
    def test_it_keeps_its_bytes(self, authors: Shops, kind: str, form: str, era: str) -> None:
        bare, shop = authors.get(kind, None, era=era), authors.get(kind, {"format": form}, era=era)
        for tool, more, code in self.CALLS:
            arguments = {"id": "a", **more}
            own = bare.session.call(tool, arguments=arguments).result
            now = shop.session.call(tool, arguments=arguments)
            error = now.error
            assert (error["code"], error["tool"], error["retryable"]) == (code, tool, True)
            meta = {name: value for name, value in now.result.pop("_meta").items() if name != CANONICAL}
            own_meta = own.pop("_meta", {})
            assert (json.dumps(now.result), meta) == (json.dumps(own), own_meta)
            assert f"event {tool} {code}" in shop.lines()
            assert f"tool_error {tool}: {code}: " in " ".join(shop.complaint().split())

    @pytest.mark.checklist(408)
    def test_what_is_not_said_to_have_failed_is_left_alone(self, authors: Shops, kind: str) -> None:
        bare, shop = authors.get(kind, None), authors.get(kind, {"format": "v1"})
        own = bare.session.call("own_v1_unmarked", "a")
        assert shop.session.call("own_v1_unmarked", "a") == own
        # Whoever reads it knows that it failed; no program repeats a write because of it.
        error = fw.read(own.result)
        assert isinstance(error, fw.ToolError)
        assert (error.code, error.standing) == ("NETWORK_ERROR", "quoted")
