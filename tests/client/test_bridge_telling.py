"""What the bridges share: the waits between attempts, and texts that invite nothing that the decision forbids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell import read
from failwell.client.bridge import Bridge, RenderedFailure
from failwell.redact import MASK

READS = {"name": "find", "annotations": {"readOnlyHint": True}}
KEEPS = {"name": "put", "annotations": {"idempotentHint": True}}


class Watch:
    """A clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def monotonic(self) -> float:
        return sum(self.waits)

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def sleep(self, seconds: float, /) -> None:
        self.waits.append(seconds)


def failing(*errors: Exception) -> tuple[Callable[[], Any], list[Exception]]:
    left = list(errors)

    async def call() -> str:
        if left:
            raise left.pop(0)
        return "worked"

    return call, left


def tried(*errors: Exception, tool: object = None, policy: fw.Policy | None = None) -> tuple[Any, Watch, int]:
    """What came of it, the waits, and how many of the failures were never met."""
    call, left = failing(*errors)
    clock = Watch()

    async def main() -> Any:
        return await Bridge(policy, clock=clock).call(tool).attempt(call, clock=clock)

    return anyio.run(main), clock, len(left)


BUSY = fw.Transient("Busy.", code="RATE_LIMITED", retry_after=30)
LOST = fw.Transient("Lost.", code="TIMEOUT", effect="unknown")


def test_it_waits_at_least_as_long_as_the_server_says() -> None:
    result, clock, _ = tried(BUSY, BUSY)
    assert result == "worked"
    assert [30 <= wait <= 33 for wait in clock.waits] == [True, True]


def test_a_write_that_may_have_happened_is_made_once() -> None:
    result, clock, left = tried(LOST, LOST)
    assert (result.text, clock.waits, left) == (
        "The call failed part-way (Lost), so it may have been done already. Next: ask the user.",
        [],
        1,
    )


def test_what_only_reads_is_tried_and_then_told_without_a_warning() -> None:
    result, clock, left = tried(LOST, LOST, LOST, tool=READS)
    assert (result.text, len(clock.waits), left) == (
        "Lost. It was tried 3 times. Wait 1 second, then make the same call again.",
        2,
        0,
    )


def test_what_an_earlier_attempt_may_have_done_is_not_denied() -> None:
    result, _, _ = tried(LOST, fw.NotFound("Gone."), tool=KEEPS)
    assert (result.text, result.outcome.effect) == (
        "Gone. It was tried twice. Look for another one; the same call will fail again.",
        None,
    )
    alone, _, _ = tried(fw.NotFound("Gone."), tool=KEEPS)
    assert alone.outcome.effect == "none"


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    result, clock, _ = tried(BUSY, BUSY, policy=fw.Policy(deadline=40))
    assert (result.text, len(clock.waits)) == (
        "Busy. It was tried twice. Wait 30 seconds, then make the same call again.",
        1,
    )


def test_a_wait_that_is_too_long_is_left_to_others() -> None:
    result, clock, _ = tried(fw.Transient("Closed.", code="RATE_LIMITED", retry_after=3600))
    assert (result.text, clock.waits) == ("Closed. Wait 3600 seconds, then make the same call again.", [])


def test_what_the_author_proposes_is_kept_when_the_attempts_are_spent() -> None:
    busy = fw.Transient("Busy.", code="RATE_LIMITED", retry_after=1, actions=["search_cached"])
    result, _, _ = tried(busy, busy, busy)
    assert (
        result.text == "Busy. It was tried 3 times. Wait 1 second, then make the same call again. Call search_cached."
    )


def test_a_servers_words_are_told_as_they_are_and_the_wait_only_after_those_of_a_read() -> None:
    error = read({"content": [{"type": "text", "text": "503 Service Unavailable"}], "isError": True})
    assert isinstance(error, fw.ToolError)
    assert fw.render(error, "text") == "503 Service Unavailable. Wait 1 second, then make the same call again."
    assert [Bridge().settle(error, tool).text for tool in ("pay", "get_rate", READS)] == [
        "503 Service Unavailable",
        "503 Service Unavailable. Wait 1 second, then make the same call again.",
        "503 Service Unavailable. Wait 1 second, then make the same call again.",
    ]


@pytest.mark.parametrize("tool", ["pay", "frobnicate", None])
def test_an_exception_that_says_that_nothing_was_sent_is_no_proof_out_of_a_function(tool: str | None) -> None:
    result, clock, left = tried(ConnectionRefusedError(), ConnectionRefusedError(), tool=tool)
    assert (result.outcome.delivery, clock.waits, left) == (None, [], 1)


def test_blocking_calls_are_attempted_the_same_way() -> None:
    left: list[Exception] = [fw.Transient("Busy.", code="RATE_LIMITED", retry_after=0.01)]

    def call() -> str:
        if left:
            raise left.pop()
        return "worked"

    assert Bridge().call(None).attempt_sync(call) == "worked"


def test_a_text_is_guarded() -> None:
    leak = Bridge().settle(fw.Internal("It broke at postgres://admin:Tr0ub4dor-and-3@db/prod."))
    assert isinstance(leak, RenderedFailure)
    assert "Tr0ub4dor" not in leak.text


def test_what_is_no_failure_passes() -> None:
    async def call() -> None:
        raise LookupError("mine")

    async def main() -> None:
        await Bridge().call(None).attempt(call, passes=lambda exc: isinstance(exc, LookupError))

    with pytest.raises(LookupError, match="mine"):
        anyio.run(main)


def test_what_is_told_beside_the_text_holds_no_form_of_a_secret_and_keeps_longer_words() -> None:
    said = "orange, orangeade, b3Jhbmdl, Basic Ym9iOnRlYSBwb3QvNDI= of tea%20pot%2f42"
    refused = replace(Bridge().settle(fw.Denied("Refused.")), secrets=("orange", "tea pot/42"))
    (block,) = refused.other_blocks([{"type": "image", "alt": said}]).blocks
    assert block["alt"].startswith(f"{MASK}, orangeade, {MASK}, Basic ")
    assert block["alt"].endswith(f" of {MASK}")
    assert "RlYSBwb3QvNDI" not in block["alt"]
