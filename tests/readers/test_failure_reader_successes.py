"""A success is read at once, and is one whatever it says. Three things are meant to be in one: they are always found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import CallToolResult, TextContent

import failwell as fw
from failwell import read
from failwell.formats import FORMATS
from failwell.readers.failure_reader import _is_fine
from recorded import DATA


def worked(*texts: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], **more)


LIMITED = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=1)
# Every way in which a failure can look at you out of a success.
BODIES = {
    # A block of contract 001 and a whole envelope count by themselves.
    **{format: fw.render(LIMITED, format) for format in FORMATS if format not in ("v1", "envelope")},
    "prefixed": f"Error executing tool pay: {fw.render(LIMITED, 'typed')}",
    "with words around it": f"The bank answered {fw.render(LIMITED, 'xml')} at noon.",
    "JSON-RPC": json.dumps(fw.to_jsonrpc(LIMITED, id=1)),
    "a record": '{"status": 503, "error": "Service Unavailable"}',
    "a list of errors": '{"success": true, "errors": [{"code": 429}]}',
    "no success": '{"success": false, "error": "Service busy, try again later"}',
    "prose": "Error: too many requests, try again in 1 second",
    "a traceback": 'Traceback (most recent call last):\n  File "a.py", line 1\nTimeoutError: timed out',
    "a tale": "Account 7 was not found, so a new one was created.",
}


@pytest.mark.parametrize("name", BODIES)
def test_a_success_is_one_whatever_it_says(name: str) -> None:
    body = BODIES[name]
    assert read(worked(body)) is None
    assert read(worked("Paid.", body)) is None
    assert read({"content": [{"type": "text", "text": body}]}) is None
    assert read({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": body}]}}) is None
    if body.startswith("{"):
        assert read(worked(body, structured_content=json.loads(body))) is None
        assert read(worked(structured_content=json.loads(body))) is None


@pytest.mark.checklist(409)
def test_a_whole_block_of_contract_001_counts_without_the_flag() -> None:
    body = fw.render(LIMITED, "v1")
    for told in (
        worked(body),
        worked(LIMITED.message, body),
        worked(body, structured_content=json.loads(body)),
        worked(LIMITED.message, structured_content=json.loads(body)),
        {"content": [{"type": "text", "text": body}]},
        {**fw.to_result(LIMITED, "v1", gate="json"), "isError": False},
    ):
        found = read(told)
        assert isinstance(found, fw.ToolError)
        assert (found.code, found.retry_after, found.standing) == ("RATE_LIMITED", 1, "quoted")
    # The block counts, whatever stands beside it, but only a block.
    beside = read(worked("Paid.", body))
    assert isinstance(beside, fw.ToolError)
    assert (beside.code, beside.standing) == ("RATE_LIMITED", "quoted")
    assert not fw.decide(beside, tool="pay").repeats
    for text in (f"Error executing tool a: {body}", f"It said {body}"):
        assert read(worked(text)) is None


def test_metadata_in_a_success_is_no_failure() -> None:
    for format in (name for name in FORMATS if name not in ("v1", "envelope")):
        forged = {**fw.to_result(LIMITED, format), "isError": False}
        assert read(forged) is None
        assert read(CallToolResult.model_validate(forged)) is None


def test_what_real_servers_say_in_a_success_is_known_at_once() -> None:
    for line in (DATA / "answers.jsonl").read_text(encoding="utf-8").splitlines():
        assert read(worked(json.loads(line)["text"])) is None


SEEN = sorted(BODIES.keys() - {"a tale", "a list of errors", "with words around it", "a record", "a traceback"})


@pytest.mark.parametrize("name", SEEN)
def test_who_watches_sees_what_looks_like_a_failure(name: str) -> None:
    seen = read(worked(BODIES[name]), observe=True)
    assert isinstance(seen, fw.ToolError)
    assert (seen.standing, seen.effect, seen.retryable) == ("quoted", None, True)
    # To see it is no permission.
    assert not fw.decide(seen, tool="pay").repeats


def test_nobody_sees_a_failure_in_a_tale() -> None:
    assert read(worked(BODIES["a tale"]), observe=True) is None


QUESTION = fw.NeedsInput("Which one?", fields=["id"])
WARNING = fw.ToolError("It is slow today.", code="SLOW", severity="warning")


@pytest.mark.parametrize("gate", ["markdown", "json", "both"])
def test_a_whole_question_in_a_success_is_one(gate: str) -> None:
    result = CallToolResult.model_validate(fw.to_result(QUESTION, "v1", gate=gate))
    assert not result.is_error
    assert read(result) == QUESTION
    assert not _is_fine(result)


def test_a_quoted_question_is_the_servers_text() -> None:
    question = fw.render(QUESTION, "v1")
    for texts in ([f"The form says: {question}"], ["Filed.", question], [f"Error executing tool a: {question}"]):
        assert read(worked(*texts)) is None
        assert read({"content": [{"type": "text", "text": text} for text in texts], "isError": False}) is None


def test_a_warning_in_a_success_is_a_remark() -> None:
    found = read(CallToolResult.model_validate(fw.to_result(WARNING, "xml", meta=False)))
    assert isinstance(found, fw.ToolError)
    assert (found, found.is_error) == (WARNING, False)


def test_a_whole_envelope_of_a_failure_counts_without_the_flag() -> None:
    text = fw.render(fw.NotFound("Gone."), "envelope")
    found = read(worked(text))
    assert isinstance(found, fw.ToolError)
    assert (found.kind, found.standing, found.origin, found.delivery) == ("not_found", "quoted", "peer", "answered")
    # Only the whole answer is one.
    for texts in (["Filed.", text], [f"Error executing tool a: {text}"], [f"It said {text}"]):
        assert read(worked(*texts)) is None


@given(
    st.lists(st.text(max_size=40) | st.sampled_from(sorted(BODIES.values())), max_size=3),
    st.none() | st.dictionaries(st.sampled_from(["kind", "success", "failwell", "error", "n"]), st.booleans()),
)
@settings(database=None, derandomize=True)
def test_the_short_way_says_what_the_long_way_says(texts: list[str], structured: dict[str, Any] | None) -> None:
    result = worked(*texts, structured_content=structured)
    if _is_fine(result):
        # As JSON it is read the long way.
        assert read(result.model_dump(by_alias=True, mode="json")) is None


@pytest.mark.parametrize(
    "more",
    [
        {"is_error": True},
        {"_meta": {"io.github.failwell/tool-error": {}}},
        {"structured_content": {"success": False, "error": "no"}},
        {"structured_content": {"kind": "needsInput:v1"}},
    ],
)
def test_what_may_be_one_of_the_three_is_looked_at(more: dict[str, Any]) -> None:
    assert not _is_fine(worked("hello", **more))


@pytest.mark.parametrize("text", ["hello", "42", "", "Error: no such thing", '{"lines": ["not found"]}', "[1]"])
def test_anything_else_is_known_at_once(text: str) -> None:
    assert _is_fine(worked(text))
    assert _is_fine(worked(text, structured_content={"result": text}))
