"""What authors of the five contracts met who had nothing but the documents, over a real wire: what their own words, their
framework's exceptions and their envelopes become."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import mcp
import pytest
from author_server import HELD
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from shop_wire import CANONICAL, LEGACY, MODERN, Answer, Json, Shop, Shops

import commands
import failwell as fw
from failwell.client import Recovering
from failwell.recovery import Report

SERVER: Final = Path(__file__).with_name("author_server.py")
ENVELOPE: Final[Json] = {"envelope": {}}


class Author(Shop):
    @staticmethod
    def command(kind: str, options: Json | None, transport: str, ledger: Path) -> list[str]:
        return commands.python(SERVER, kind, transport, ledger, *Shop.command("", options, "", ledger)[-1:])

    def call(self, tool: str, case: str) -> Answer:
        return self.session.call(tool, arguments={"case": case})


@pytest.fixture(scope="module")
def authors() -> Iterator[Shops]:
    made = Shops(make=Author)
    yield made
    made.close()


@pytest.fixture(params=["mcpserver", "fastmcp"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def repeat(kind: str, options: Json | None, tool: str, case: str, ledger: Path) -> tuple[Report, int]:
    """What `Recovering` makes of a call, and how often its tool ran."""

    async def call() -> Report:
        command = commands.in_parts(Author.command(kind, options, "stdio", ledger))
        client = mcp.Client(stdio_client(StdioServerParameters(**command)))
        async with Recovering(client, policy=fw.Policy(base_delay=0, max_delay=0)) as agent:
            return await agent.call(tool, {"case": case})

    return asyncio.run(call()), ledger.read_text("utf-8").splitlines().count(f"ran {tool} {case}")


class TestContract000:
    def test_details_by_its_names_are_its_fields_in_every_carrier(self, authors: Shops, kind: str) -> None:
        server: Any = authors.get(kind, {"format": "typed", "wire": {"as_written": True}, "hold": 0})
        answer = server.call("get_it", "details")
        wire = json.loads(answer.text)
        assert wire == answer.result["structuredContent"]
        assert wire["data"] == {"conflicts": HELD[:1], "retry_after": 30, "note": "x"}
        assert (answer.error["conflicts"], answer.error["retry_after"]) == (HELD[:1], 30)
        assert answer.error["details"] == {"note": "x"}
        assert fw.decide(fw.read(answer.result)).next is fw.decide(fw.parse(answer.text)).next

    @pytest.mark.parametrize("case", ["many", "many details"])
    def test_many_conflicts_stay_objects(self, authors: Shops, kind: str, case: str) -> None:
        server: Any = authors.get(kind, {"format": "typed", "wire": {"as_written": True}, "hold": 0})
        data = json.loads(server.call("get_it", case).text)["data"]
        assert len(data["conflicts"]) >= 50
        assert data["conflicts"] == HELD[: len(data["conflicts"])]
        assert data["cut"] == f"{200 - len(data['conflicts'])} of 200 conflicts"

    @pytest.mark.parametrize(("format", "room", "name"), [
        ("typed", "data", "retry_after"), ("v1", "details", "retryAfter"), ("jsonrpc", "data", "retry_after"),
    ])  # fmt: skip
    def test_a_delay_stays_as_a_fact_where_the_effect_is_in_doubt(
        self, authors: Shops, kind: str, format: str, room: str, name: str
    ) -> None:
        server: Any = authors.get(kind, {"format": format, "hold": 0})
        answer = server.call("pay_it", "doubt")
        assert answer.result["structuredContent"][room][name] == 30
        assert (answer.error["retry_after"], answer.flags) == (30, (False, False))

    def test_an_http_error_is_told_once(self, authors: Shops, kind: str) -> None:
        server: Any = authors.get(kind, {"hold": 0})
        for tool in ("get_it", "pay_it"):
            text = server.call(tool, "http 404").text
            assert text.startswith(
                ("The upstream service answered 404 Not Found.", "store.example answered 404 Not Found.")
            )
            assert "It said" not in text
            assert text.count("404") == 1


class TestContract001:
    def test_a_flag_that_forbids_is_believed(self, kind: str, tmp_path: Path) -> None:
        (tmp_path / "ledger").touch()
        for options in (None, {"format": "v1", "hold": 0}):
            report, ran = repeat(kind, options, "get_it", "v1", tmp_path / "ledger")
            assert report.error is not None
            assert (report.error.retryable, report.calls) == (False, 1)
            assert not fw.parse(fw.render(report.error, "v1")).retryable
        assert ran == 2

    def test_a_block_counts_whatever_stands_beside_it(self, authors: Shops, kind: str) -> None:
        error = fw.read(authors.get(kind, None).call("get_it", "v1 beside").result)  # type: ignore[attr-defined]
        assert isinstance(error, fw.ToolError)
        assert (error.code, error.retryable) == ("SERVER_ERROR", False)

    def test_a_question_of_a_tool_with_an_output_type_is_no_error(self, authors: Shops, kind: str) -> None:
        server: Any = authors.get(kind, {"format": "v1", "questions": "result"})
        answer = server.call("get_text", "asks")
        assert (answer.result["isError"], answer.result["structuredContent"]) == (False, {"result": answer.text})
        assert answer.error["outcome"] == "needs_input"


class TestContract002:
    def test_what_names_a_way_out_is_made_once(self, kind: str, tmp_path: Path) -> None:
        (tmp_path / "ledger").touch()
        report, ran = repeat(kind, None, "pay_it", "xml", tmp_path / "ledger")
        assert (report.calls, ran) == (1, 1)
        assert report.error is not None
        assert fw.decide(report.error).next == "alternative"
        custom = fw.ToolError("It is paid.", code="InvoiceAlreadyPaid", suggestion="Refund it.")
        assert fw.decide(fw.parse(fw.render(custom, "xml"))).next == "alternative"

    def test_what_a_schema_offers_is_public(self, authors: Shops, kind: str) -> None:
        server: Any = authors.get(kind, {"format": "xml"})
        text = server.session.call("open_box", arguments={"api_key": "hunter2secret"}).text
        assert "Valid options: 'gold', 'silver'." in text
        assert "hunter2secret" not in text

    def test_next_steps_stand_in_the_recovery(self, authors: Shops, kind: str) -> None:
        text = authors.get(kind, {"format": "xml"}).call("get_it", "steps").text  # type: ignore[attr-defined]
        assert "<recovery>List them. Check the id. Add it.</recovery>" in text


class TestContract003:
    def test_a_whole_envelope_of_a_failure_is_one_without_the_flag(self, kind: str, tmp_path: Path) -> None:
        (tmp_path / "ledger").touch()
        report, ran = repeat(kind, None, "pay_it", "envelope", tmp_path / "ledger")
        assert (report.ok, report.calls, ran) == (False, 1, 1)
        assert report.error is not None
        assert report.error.code == "x_api_error"

    def test_the_text_beside_the_data_stays(self, authors: Shops, kind: str) -> None:
        answer = authors.get(kind, ENVELOPE).call("get_it", "summary")  # type: ignore[attr-defined]
        first, second = answer.result["content"]
        assert (json.loads(first["text"])["data"], second["text"]) == ({"posts": [1, 2]}, "Two posts.")

    def test_one_model_and_a_list_are_written_alike(self, authors: Shops, kind: str) -> None:
        server: Any = authors.get(kind, ENVELOPE)
        one, many = (json.loads(server.call("get_it", case).text)["data"] for case in ("item", "items"))
        assert many == [one]
        for case in ("item nan", "items nan"):
            assert server.call("get_it", case).error["code"] == "serialization_error"

    @pytest.mark.parametrize("tool", ["get_it", "pay_it"])
    def test_errors_that_an_author_builds_leave_in_it(self, authors: Shops, kind: str, tool: str) -> None:
        server: Any = authors.get(kind, {**ENVELOPE, "hold": 0})
        answer = server.call(tool, "own")
        wire = json.loads(answer.text)
        assert (answer.failed, wire["success"], wire["data"]) == (True, False, None)
        assert wire["error"]["message"] == "The store is closed."
        assert json.loads(server.call(tool, "v1").text)["error"]["code"] == "server_error"


class TestContract004:
    @pytest.mark.parametrize("format", ["jsonrpc", "text"])
    @pytest.mark.parametrize("era", [LEGACY, MODERN])
    def test_an_error_of_a_resource_or_prompt_keeps_number_and_data(
        self, authors: Shops, kind: str, era: str, format: str
    ) -> None:
        server: Any = authors.get(kind, {"format": format}, era=era)
        for method, params in (
            ("resources/read", {"uri": "store://shelf"}),
            ("prompts/get", {"name": "greet", "arguments": {}}),
        ):
            error = server.session.ask(method, params)["error"]
            assert (error["code"], error["message"]) == (-31004 if era == MODERN else -32004, "Conflict")
            data = error["data"]
            assert data.pop(CANONICAL)["code"] == "CONFLICT"
            place = {name: value for name, value in params.items() if name in ("uri", "name")}
            assert data == {"mcp_error_code": "CONFLICT", "details": "It exists.", "device_id": "dev-1", **place}

    def test_on_its_own_servers_it_is_the_authors_word(self, authors: Shops, kind: str) -> None:
        ours: Any = authors.get(kind, {"format": "jsonrpc"})
        answer = ours.call("pay_it", "mcp data")
        assert (answer.effect, "standing" in answer.error) == ("none", False)
        assert not ours.call("pay_it", "mcp data").held
        other: Any = authors.get(kind, {"format": "typed"})
        answer = other.call("pay_it", "mcp data")
        assert (answer.error["code"], answer.error["details"]) == ("CONFLICT", {"device_id": "dev-1"})
        assert (answer.effect, json.loads(answer.text)["message"]) == (None, "It exists.")
        assert other.call("pay_it", "mcp data").held

    @pytest.mark.parametrize("format", ["jsonrpc", "text"])
    def test_a_value_error_of_a_write_is_to_be_fixed(self, authors: Shops, kind: str, format: str) -> None:
        server: Any = authors.get(kind, {"format": format, "hold": 0})
        answer = server.call("pay_it", "value")
        assert (answer.error["strategy"], answer.effect) == ("fix_and_retry", None)
        if format == "jsonrpc":
            assert json.loads(answer.text)["data"]["recovery_strategy"] == "fix_and_retry"
