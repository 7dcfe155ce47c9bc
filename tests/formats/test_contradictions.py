"""Whatever else stands in an answer, a word that the call may have been done counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

import failwell as fw
from failwell.model import Effect


def stated(data: object, text: str | None = None, **more: Any) -> dict[str, Any]:
    block = text if text is not None else data if isinstance(data, str) else json.dumps(data)
    return {"content": [{"type": "text", "text": block}], "isError": True, **more}


V1 = {"kind": "toolError:v1", "errorCode": "RATE_LIMITED", "message": "m", "retryable": True}
TYPED = {"type": "TRANSIENT", "message": "m", "recoverable": True}
CANONICAL = {"failwell": 1, "code": "RATE_LIMITED", "kind": "transient", "message": "m", "retryable": True}
ENVELOPE = {"success": False, "data": None, "error": {"code": "x_rate_limited", "message": "m", "retryable": True}}


@pytest.mark.parametrize(
    "result",
    [
        stated({**V1, "effect": "unknown"}),
        stated({**V1, "details": {"effect": "done"}}),
        stated({**V1, "details": {"failwell": {"effect": "done"}}}),
        stated({**CANONICAL, "effect": "maybe"}),
        stated({**CANONICAL, "effect": ["unknown"]}),
        stated({**TYPED, "effect": "done"}),
        stated({**TYPED, "data": {"effect": "partial"}}),
        stated({**ENVELOPE, "effect": "unknown"}),
        stated({**ENVELOPE, "error": {**ENVELOPE["error"], "effect": "unknown"}}),  # type: ignore[dict-item]
        stated(
            '<tool_error code="RATE_LIMITED"><message>m</message><details><detail key="effect">done</detail></details></tool_error>'
        ),
    ],
)
def test_a_stated_permission_gives_way_to_a_word_of_doubt(result: dict[str, Any]) -> None:
    error = fw.read(result)
    assert isinstance(error, fw.ToolError)
    assert error.effect in (Effect.UNKNOWN, Effect.PARTIAL, Effect.DONE)
    assert not error.retryable
    assert not fw.decide(error).repeats


@pytest.mark.parametrize("data", [V1, TYPED, CANONICAL, ENVELOPE])
def test_without_it_the_permission_stands(data: dict[str, Any]) -> None:
    error = fw.read(stated(data))
    assert isinstance(error, fw.ToolError)
    assert fw.decide(error).repeats


PAID = {"paid": True}
XML = '<tool_error code="RATE_LIMITED" severity="error"><message>m</message></tool_error>'


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(stated("", "Paid, mail failed.", structuredContent={**PAID, "error": TYPED}), id="inside data"),
        pytest.param(stated({**PAID, "error": TYPED}), id="inside a text of data"),
        pytest.param(stated(V1, structuredContent=PAID), id="beside data"),
        pytest.param(stated({**ENVELOPE, "data": PAID}), id="an envelope with data"),
        pytest.param(stated({**CANONICAL, "effect": "done"}, structuredContent=V1), id="a careful text"),
        pytest.param(
            stated("", json.dumps(V1)[:-1] + ', "effect": "done", "effect": "none"}'), id="a key that stands twice"
        ),
        pytest.param(
            stated({**ENVELOPE, "error": {**ENVELOPE["error"], "details": {"effect": "done"}}}),  # type: ignore[dict-item]
            id="in its details",
        ),
        pytest.param(stated(XML + XML.replace("RATE_LIMITED", "PARTIAL_FAILURE")), id="two elements"),
        pytest.param(stated(f"<!-- paid -->{XML}"), id="words before the element"),
        pytest.param(stated(XML.replace("</message>", "</message><effect>done</effect>")), id="an unknown element"),
        pytest.param(
            {"content": [{"type": "text", "text": text} for text in ("Paid, but:", json.dumps(V1))], "isError": True},
            id="words in a block before it",
        ),
    ],
)
def test_an_object_that_is_not_the_whole_answer_permits_nothing(result: dict[str, Any]) -> None:
    error = fw.read(result)
    assert isinstance(error, fw.ToolError)
    decision = fw.decide(error)
    assert not decision.repeats
    assert decision.doubtful or decision.unproven


def test_what_stands_around_an_object_is_told_with_it() -> None:
    busy = json.dumps({**V1, "message": "Busy."})
    blocks = [{"type": "text", "text": text} for text in ("Paid, but the mail failed:", busy)]
    error = fw.read({"content": blocks, "isError": True})
    assert isinstance(error, fw.ToolError)
    assert (error.message, error.standing) == ("Paid, but the mail failed. Busy.", "quoted")


def test_structured_content_that_is_the_text_once_more_takes_nothing_away() -> None:
    text = json.dumps(V1)
    error = fw.read(stated("", text, structuredContent={"result": text}))
    assert isinstance(error, fw.ToolError)
    assert fw.decide(error).repeats
