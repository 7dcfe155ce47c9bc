"""The same bytes mean the same through every door: `fw.read`, `failwell explain`, and `Recovering`."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp_types import CallToolResult

import failwell as fw
from failwell.cli import build_parser
from failwell.cli.io import Stop
from failwell.client import Recovering
from failwell.formats import FORMATS
from failwell.model import Effect
from failwell.recovery.retry_limits import Limits, RetryLimits
from failwell.testing import Fault, Script, Tool, scripted
from recorded import DATA

TESTS = Path(__file__).parents[1]
VECTORS = Path(fw.__file__).parent / "conformance" / "vectors"
RUNS = ("typed-as-run", "v1-as-run", "xml-as-run", "envelope-as-run", "jsonrpc-as-run", "contracts-verbatim")
TEXTS = ("readers/hosts", "readers/successes", "readers/texts_unseen", "data/answers")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TESTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def result(text: str, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def response(number: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": text}}


def of_texts(name: str, *, whole: bool) -> Iterator[Any]:
    """Each text as it was pasted, and as a server answers with it or JSON-RPC says it: in turn, or in every way."""
    for number, row in enumerate(rows(name)):
        text = row["text"]
        others = (result(text, True), result(text, False), response(row.get("number", -32603), text))
        yield text
        yield from others if whole else (others[number % len(others)],)


def of_objects(values: list[Any]) -> Iterator[Any]:
    """Each text or object as it is, and as the answer of a tool."""
    for value in values:
        if isinstance(value, (str, dict)):
            yield value
            yield result(value if isinstance(value, str) else json.dumps(value), True)


def of_run(name: str) -> Iterator[Any]:
    found = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return of_objects([row[part] for row in found for part in ("input", "output")])


def of_vectors(name: str) -> Iterator[Any]:
    found = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    return of_objects([row[part] for row in found for part in ("input", "expect") if part in row])


def said(outcome: Any) -> Any:
    return None if outcome is None else outcome.to_dict()


OPTIONS = build_parser().parse_args(["explain", "--json", "-"])


def explained(wire: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the command prints of a text that is piped into it."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(wire.encode())))
    out = io.StringIO()
    try:
        with redirect_stdout(out):
            OPTIONS.run(OPTIONS)
    except Stop:
        return None
    return json.loads(out.getvalue())["outcome"]


def check(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = value if isinstance(value, str) else json.dumps(value)
    # A lone half of a character is in no file.
    wire = wire.encode("utf-8", "replace").decode()
    outcome = fw.read(wire)
    assert said(fw.read(wire.encode())) == said(outcome)
    if not isinstance(value, str):
        assert said(fw.read(value)) == said(outcome), wire
    # What is printed has passed the guard.
    assert explained(wire, monkeypatch) == (outcome and said(fw.Guard()(outcome))), wire


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_real_servers(name: str, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in of_texts(name, whole=whole):
        check(value, monkeypatch)


@pytest.mark.parametrize("name", RUNS)
def test_what_real_implementations_wrote(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in of_run(name):
        check(value, monkeypatch)


@pytest.mark.parametrize("name", sorted(file.stem for file in VECTORS.glob("*.json")))
def test_the_vectors_of_the_conformance_suite(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in of_vectors(name):
        check(value, monkeypatch)


SAMPLE = [
    *(result(row["text"], True) for row in rows("data/answers")[::120]),
    *(result(row["text"], True) for row in rows("readers/texts_unseen")[::120]),
    # The SDK's own words about its side, and those about sessions, say more to a client that has the connection.
    *(response(-32050, row["text"]) for row in rows("readers/hosts")[::50] if "session" not in row["text"]),
    *(result(fw.render(fw.NotFound("No user 7."), format), True) for format in FORMATS),
    response(-32603, "User 7 not found"),
    response(-32602, "Unknown tool: foo"),
    fw.to_jsonrpc(fw.Conflict("It is held.", details={"by": "a2"}), id=1),
    fw.to_jsonrpc(fw.Denied("No."), id=1, carry=True),
]
MEANING = ("code", "kind", "message", "retry_after", "http_status", "fields", "details", "standing", "legacy")


def test_what_a_client_that_recovers_reports_is_what_is_read() -> None:
    names = [f"tool_{number}" for number in range(len(SAMPLE))]
    frames = [{"error": value["error"]} if "error" in value else value for value in SAMPLE]
    tools = (Tool(name, effect=True, faults=[Fault.raw(frame)]) for name, frame in zip(names, frames, strict=True))

    async def reports() -> list[Any]:
        async with (
            scripted(Script(*tools)) as server,
            Recovering(Client(server.target), policy=fw.Policy(max_attempts=1)) as agent,
        ):
            return [(await agent.call(name, {})).error for name in names]

    for error, value in zip(anyio.run(reports), SAMPLE, strict=True):
        read = fw.read(value)
        assert [getattr(error, name) for name in MEANING] == [getattr(read, name) for name in MEANING], value


def answers() -> Iterator[Any]:
    """All of the corpus and all vectors, each as a server says it: what tells of work that was done, as a success."""
    for name in TEXTS:
        yield from (result(row["text"], name != "readers/successes") for row in rows(name))
    for found in (*map(of_run, RUNS), *(of_vectors(file.stem) for file in sorted(VECTORS.glob("*.json")))):
        yield from (value for value in found if isinstance(value, dict) and "content" in value)


@pytest.mark.parametrize("each", [4, pytest.param(1, marks=pytest.mark.thorough)])
def test_all_of_the_corpus_means_the_same_in_the_report_of_a_client_that_recovers(
    each: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Over one connection, of which only the sending is played: what comes back is what an SDK would hand over."""

    async def reported() -> list[tuple[Any, Any, Any]]:
        found = []
        async with Recovering(Client(MCPServer("corpus")), policy=fw.Policy(max_attempts=1, hold=0)) as agent:
            for value in islice(answers(), 0, None, each):
                # Nothing is remembered of the call before: no breaker, no loop guard.
                agent._engine.limits = RetryLimits(agent.policy, Limits())
                agent._driver.send = partial(_sent, value)
                # An answer about another tool would only be quoted.
                read = fw.read(value)
                report = await agent.call(getattr(read, "tool", None) or "pay", {})
                # What was read of the attempt; in the end it also counts that the tool may have done it.
                found.append((value, read, report.attempts[0].error if report.attempts else report.error))
        return found

    # Nobody listens, so that nothing is put into words for the log.
    caplog.set_level(logging.CRITICAL, "failwell")
    for value, read, error in anyio.run(reported):
        if isinstance(read, fw.ToolError) and not read.is_error:
            # A warning is a success to whoever called.
            read = None
        if not isinstance(read, fw.ToolError):
            assert error == read, value
            continue
        assert [getattr(error, name) for name in MEANING] == [getattr(read, name) for name in MEANING], value


async def _sent(value: dict[str, Any], *_: Any) -> CallToolResult:
    return CallToolResult.model_validate(value)


PASTED = {
    "Request failed with status code 429, retry after 7 seconds": ("RATE_LIMITED", 7, 0.85),
    "User 7 not found": ("NOT_FOUND", None, 0.65),
    "Transport closed": ("NETWORK_ERROR", None, 0.65),
    "Error: something broke": (None, None, 0.2),
}


@pytest.mark.parametrize("text", PASTED)
def test_what_was_pasted_is_a_failure_in_words(text: str) -> None:
    error = fw.read(text)
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.retry_after, error.confidence) == PASTED[text]
    assert (error.standing, error.legacy) == ("quoted", True)
    assert not fw.decide(error, tool="pay").repeats


@pytest.mark.parametrize("text", ["", " ", "all is well", "3 files were written.", "No matches found", "{}", "[]", "{"])
def test_what_tells_of_no_failure_is_none(text: str) -> None:
    assert fw.read(text) is None


def test_few_reports_of_work_that_was_done_are_taken_for_failures() -> None:
    told = [row["text"] for row in rows("readers/successes") if not row["error"]]
    taken = [text for text in told if fw.read(text) is not None]
    assert len(taken) < 0.3 * len(told), taken


BODY = json.dumps(response(-32603, "User 7 not found")).encode()


class Urllib:
    """As `http.client.HTTPResponse` looks: the body would have to be read."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.headers = {"Retry-After": "7"}

    def read(self) -> bytes:
        raise AssertionError("nobody reads what has not been read")


def answer(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> list[Any]:
    kinds = (httpx, httpx2)
    requests = [kind.Request("POST", "https://a.example/mcp") for kind in kinds]
    return [
        kind.Response(status, content=body, headers=headers, request=request)
        for kind, request in zip(kinds, requests, strict=True)
    ]


def test_an_http_answer_is_read_from_whatever_client_received_it() -> None:
    for found in (*answer(429, b"slow down", {"Retry-After": "7"}), Urllib(429)):
        error = fw.read(found)
        assert isinstance(error, fw.ToolError)
        assert (error.code, error.http_status, error.retry_after) == ("RATE_LIMITED", 429, 7)
        assert (error.standing, error.origin, error.delivery) == ("quoted", "peer", "answered")
    for broken in answer(500):
        error = fw.read(broken)
        assert isinstance(error, fw.ToolError)
        assert error.effect is Effect.UNKNOWN


def test_an_http_answer_that_worked_holds_a_failure_only_as_a_response_or_a_result() -> None:
    for found in (*answer(200, BODY), *answer(200, json.dumps(result("User 7 not found", True)).encode())):
        error = fw.read(found)
        assert isinstance(error, fw.ToolError)
        assert error.code == "NOT_FOUND"
    for body in (b"", b"Error: timed out", b'{"error": "not found"}', json.dumps(result("no", False)).encode()):
        assert [fw.read(found) for found in answer(200, body)] == [None, None]
    assert fw.read(Urllib(204)) is None
