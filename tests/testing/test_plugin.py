"""The pytest plugin as its users have it: installed, in a pytest of their own; and the assertions it goes with."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

import failwell as fw
from failwell.model import Kind
from failwell.testing import Call, Fault, RecordedEffect, assert_effects, assert_error

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(
    ("module", "kept_out"),
    [
        ("failwell.testing", "mcp mcp_types pydantic fastmcp anyio uvicorn pytest"),
        ("failwell.testing.plugin", "mcp mcp_types pydantic fastmcp anyio uvicorn failwell.client"),
    ],
)
def test_importing_it_imports_no_framework(module: str, kept_out: str) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not set(kept_out.split()) & set(out.split())


def test_the_fixtures_are_there_without_asking(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import anyio
        import pytest
        from failwell.testing import Fault, Tool, assert_effects

        def test_clock(fake_clock):
            anyio.run(fake_clock.sleep, 3600)
            assert fake_clock.slept == [3600]

        @pytest.mark.parametrize("transport", ["stdio", "http"])
        def test_agent(scripted_server, transport):
            async def agent():
                pay = Tool("pay", effect=True, key="id", faults=[Fault.text("busy"), Fault.text("late", at="after")])
                async with scripted_server(pay, transport=transport) as server, server.mcp() as client:
                    for _ in range(3):
                        await client.call_tool("pay", {"id": "inv_1"})
                return server

            assert_effects(anyio.run(agent), "pay", at_most_once_by="id")
        """
    )
    result = pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider", timeout=120)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E * pay took effect twice for id='inv_1'",
            "E *call 1: met text before the effect, had no effect at *",
            "E *call 2: met text after the effect, had the effect at *",
            "E *call 3: worked, had the effect at *",
        ]
    )
    # Of the assertion's own code nothing is shown.
    result.stdout.no_fnmatch_line("*asserting.py*")


# assert_error


def result(text: str, *, is_error: bool = True) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


BUSY = fw.to_result(fw.Transient("Busy.", code="RATE_LIMITED", retry_after=7))


def test_an_error_that_is_as_expected_comes_back() -> None:
    error = assert_error(
        BUSY,
        code="RATE_LIMITED",
        kind="transient",
        retryable=True,
        strategy="retry_with_backoff",
        delivery="answered",
        retry_after=7,
        says="Busy",
        names_next_action=True,
    )
    assert error.message == "Busy."
    assert_error(BUSY, kind=Kind.TRANSIENT)
    assert_error(fw.Internal("x"), names_next_action=False)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_error(BUSY, code="NOT_FOUND", kind="not_found", retryable=False, says="invoice", names_next_action=False)
    assert str(raised.value).splitlines() == [
        "the error is not as expected:",
        "  code: expected 'NOT_FOUND', got 'RATE_LIMITED'",
        "  kind: expected 'not_found', got 'transient'",
        "  retryable: expected False, got True",
        "  message: expected it to say 'invoice'",
        "  next action: expected none, got wait 7 s",
        "  it is: RATE_LIMITED (transient): Busy.",
    ]


def test_an_error_that_leaves_the_model_alone_is_told_apart() -> None:
    with pytest.raises(AssertionError, match="next action: expected one, but there is no suggestion"):
        assert_error(fw.to_result(fw.Internal("Broken.", code="x_broken")), names_next_action=True)
    for error in (
        fw.NotFound("x", suggestion="Call list_invoices."),
        fw.NotFound("x", actions=["list_invoices"]),
        fw.Internal("x", next_steps=["Ask the user."]),
        fw.Invalid("x", patch=[{"op": "set", "path": ["limit"], "value": 10}]),
        fw.Invalid("x", fields=[{"path": ["unit"], "message": "no such unit", "options": ["kg", "lb"]}]),
    ):
        assert_error(error, names_next_action=True)


def test_what_is_no_error_is_shown() -> None:
    with pytest.raises(AssertionError, match=r"expected an error, got a call that worked: .*all is well"):
        assert_error(result("all is well", is_error=False))
    with pytest.raises(AssertionError, match="got a question to the user"):
        assert_error(fw.NeedsInput("Which one?"))


# assert_effects


class Server:
    """What happened at a server, written down by hand."""

    def __init__(self, *happened: tuple[str, Fault | None, bool | None]) -> None:
        moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
        counts: dict[str, int] = {}
        self.calls: list[Call] = []
        self.effects: list[RecordedEffect] = []
        for number, (id, fault, part) in enumerate(happened):
            counts[id] = counts.get(id, 0) + 1
            call = Call(str(number), "pay", {"id": id}, id, counts[id], fault, moment)
            self.calls.append(call)
            if part is not None:
                self.effects.append(RecordedEffect(call, part, moment))


def test_effects_that_are_as_expected_come_back() -> None:
    server = Server(("a", Fault.crash(), None), ("a", None, False), ("b", None, False))
    assert len(assert_effects(server, "pay", times=2, at_most_once_by="id", once_for={"id": ["a", "b"]})) == 2
    assert assert_effects(server, "refund", times=0) == []


def test_a_double_payment_is_told_call_by_call() -> None:
    server = Server(("a", Fault.crash(at="during"), True), ("b", None, False), ("a", None, False))
    with pytest.raises(AssertionError) as raised:
        assert_effects(server, "pay", times=2, at_most_once_by="id")
    assert str(raised.value).splitlines() == [
        "pay took effect 3 times, not twice",
        "pay took effect twice for id='a'",
        "  call 1: met crash during the effect, had a part of the effect at 12:00:00.000000",
        "  call 2: worked, had the effect at 12:00:00.000000",
    ]


def test_effects_that_are_missing_or_unasked_are_named() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_effects(Server(("a", None, False), ("x", None, False)), "pay", once_for={"id": ["a", "b"]})
    assert str(raised.value).splitlines() == ["pay never took effect for id='b'", "pay took effect for id='x', unasked"]
