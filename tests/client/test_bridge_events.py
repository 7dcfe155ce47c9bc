"""What a bridge tells of its calls, with all the attempts at them."""

from __future__ import annotations

import asyncio

import failwell as fw
from failwell.client.bridge import Bridge, RenderedFailure
from failwell.observe import CallEvent
from failwell.testing import FakeClock

READ = {"name": "search", "annotations": {"readOnlyHint": True}}


def test_each_call_is_told_with_its_attempts() -> None:
    told: list[CallEvent] = []
    clock = FakeClock()
    bridge = Bridge(events=told.append, clock=clock)
    busy = fw.Transient("Busy.", code="RATE_LIMITED", retry_after=2)
    outcomes: list[Exception | None] = [busy, None, fw.NotFound("There is none.", code="ORDER_MISSING")]

    async def call() -> str:
        if (outcome := outcomes.pop(0)) is not None:
            raise outcome
        return "found"

    async def both() -> list[object]:
        return [await bridge.call(READ, {"q": q}).attempt(call, clock=clock) for q in ("a", "b")]

    found = asyncio.run(both())
    assert found[0] == "found"
    assert isinstance(found[1], RenderedFailure)
    first, second = told
    assert (first.tool, first.ok, first.attempts, first.seat, first.error) == ("search", True, 2, "client", None)
    assert [(each.decision, each.asked, each.made) for each in first.tried] == [("retry", 2, True)]
    assert first.tried[0].waited is not None
    assert 2 <= first.tried[0].waited <= 2.2
    assert second.error is not None
    assert (second.ok, second.attempts, second.tried, second.error.code) == (False, 1, (), "ORDER_MISSING")
    assert first.session == second.session
    assert first.fingerprint != second.fingerprint
    assert (first.tried[0].call_id, first.call_id) == (f"{first.session}/1/1", f"{first.session}/1/2")
