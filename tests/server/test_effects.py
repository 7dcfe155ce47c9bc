"""What a failed call says of what it did: tools that really write, and then really raise."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any

import mcp
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as FrameworkError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent, ToolAnnotations

import failwell as fw
import failwell.server
from failwell.client import Recovering
from failwell.client.anthropic import tool_result_block
from failwell.client.bridge import Bridge, RenderedFailure
from failwell.model import Effect
from failwell.model.tool import Traits as ToolTraits

READS = ToolAnnotations(read_only_hint=True)
AGAIN = ToolAnnotations(idempotent_hint=True)
WRITES = ToolAnnotations(read_only_hint=False)
TORN = ToolAnnotations(read_only_hint=True, destructive_hint=True)


class Ledger(list[str]):
    """What was really done."""

    def pay(self) -> None:
        self.append("paid")


def called(tool: Callable[[], Any], name: str, annotations: Any = None, **options: Any) -> tuple[Any, str]:
    """The report of one call by an agent, and what its model reads."""
    server: Any = MCPServer("shop", log_level="CRITICAL")
    server.tool(name=name, annotations=annotations)(tool)
    ask = options.pop("ask", None)
    failwell.server.install(server, wire={"client": None}, **options)

    async def main() -> Any:
        policy = fw.Policy(base_delay=0.01)
        async with Recovering(mcp.Client(server), policy=policy, ask=ask) as agent:
            return await agent.call(name, {})

    report = asyncio.run(main())
    return report, report.result.content[0].text


def refused(ledger: Ledger) -> Callable[[], str]:
    def tool() -> str:
        ledger.pay()
        raise ConnectionRefusedError(111, "refused")

    return tool


@pytest.mark.parametrize(
    ("name", "annotations", "options", "effect", "calls"),
    [
        ("pay", None, {}, "unknown", 1),
        ("pay", WRITES, {}, "unknown", 1),
        ("pay", TORN, {}, "unknown", 1),
        ("pay", None, {"idempotency": True}, "unknown", 1),
        ("get_weather", None, {}, None, 3),
        ("frobnicate", None, {}, None, 1),
        ("frobnicate", None, {"unmarked": "write"}, "unknown", 1),
        ("set_price", AGAIN, {}, None, 3),
        ("look", READS, {}, "none", 3),
        ("look", None, {"reads": ["lo*"]}, "none", 3),
        ("get_rid", ToolAnnotations(destructive_hint=True), {"reads": ["get_*"]}, "unknown", 1),
    ],
)
def test_an_exception_says_what_the_nature_of_its_tool_leaves_open(
    name: str, annotations: Any, options: Any, effect: str | None, calls: int
) -> None:
    ledger = Ledger()
    report, text = called(refused(ledger), name, annotations, **options)
    assert (report.failure.effect, report.calls, len(ledger)) == (effect and Effect(effect), calls, calls)
    assert ("may have been done already" in text) is (effect == "unknown")
    assert ("again" in text) is (effect != "unknown")


def marked(at: str, ledger: Ledger) -> Callable[[], str]:
    def tool() -> str:
        if at == "before":
            raise TimeoutError
        with fw.effects() as work:
            if at == "inside":
                ledger.pay()
                raise TimeoutError
            if at == "part":
                ledger.pay()
                work.part()
                raise TimeoutError
            ledger.pay()
            if at == "refusing inside":
                raise fw.Transient("Busy.", code="RATE_LIMITED", retry_after=0.01)
        if at == "refusing after":
            raise fw.NotFound("No address.")
        if at == "asking after":
            raise fw.NeedsInput("Which account?", fields=["account"])
        raise TimeoutError

    return tool


@pytest.mark.parametrize(
    ("at", "effect"),
    [
        ("before", "none"),
        ("inside", "unknown"),
        ("part", "partial"),
        ("refusing inside", "unknown"),
        ("refusing after", "done"),
        ("asking after", "done"),
        ("after", "done"),
    ],
)
@pytest.mark.parametrize("idempotency", [False, True], ids=["plain", "keyed"])
def test_the_place_that_the_author_marked_says_it_exactly(at: str, effect: str, idempotency: bool) -> None:
    ledger = Ledger()
    report, _ = called(marked(at, ledger), "pay", idempotency=idempotency, ask=lambda question: {"account": "a"})
    assert report.failure.effect is Effect(effect)
    assert len(ledger) == (0 if at == "before" else 1)


def _undone(how: str, raised: Callable[[], Exception], ledger: Ledger) -> Callable[[], str]:
    """Tools that take back what they marked, and fail."""

    def inside() -> str:
        with fw.effects() as work:
            try:
                raise ConnectionRefusedError
            except ConnectionRefusedError:
                work.undone()
                raise raised() from None

    def after_the_block() -> str:
        try:
            with fw.effects() as work:
                raise ConnectionRefusedError
        except ConnectionRefusedError:
            work.undone()
            raise raised() from None

    def taken_back() -> str:
        with fw.effects() as work:
            ledger.pay()
            work.part()
        ledger.pop()
        work.undone()
        raise raised()

    def second_of_two() -> str:
        with fw.effects():
            ledger.pay()
        with fw.effects() as work:
            work.undone()
        raise raised()

    def second_try() -> str:
        with fw.effects() as work:
            work.undone()
        with fw.effects():
            ledger.pay()
        raise raised()

    def helper() -> str:
        def writes() -> None:
            ledger.pay()
            inside()

        writes()
        return ""

    tools = {each.__name__: each for each in (inside, after_the_block, taken_back, second_of_two, second_try, helper)}
    return tools[how]


@pytest.mark.parametrize(
    ("how", "effect", "done"),
    [
        ("inside", Effect.NONE, 0),
        ("after_the_block", Effect.NONE, 0),
        ("taken_back", Effect.NONE, 0),
        ("second_of_two", Effect.PARTIAL, 1),
        ("second_try", Effect.DONE, 1),
        ("helper", Effect.UNKNOWN, 1),
    ],
)
@pytest.mark.parametrize("raised", [ConnectionRefusedError, Exception, TimeoutError, fw.Internal])
def test_work_that_was_undone_counts_for_any_exception(
    how: str, effect: Effect, done: int, raised: Callable[[], Exception]
) -> None:
    made = functools.partial(raised, *["It broke."] * (raised is fw.Internal))
    # An author's own error out of a helper says nothing of what its caller did before.
    told = None if (how, raised) == ("helper", fw.Internal) else effect
    for call in (failed_once, failed_alone):
        ledger = Ledger()
        found = call(_undone(how, made, ledger))
        assert (found.effect, ledger.count("paid")) == (told, done)


def failed_once(tool: Callable[[], str], annotations: Any = WRITES) -> Any:
    """What leaves an installed server for one call."""
    server: Any = MCPServer("shop", log_level="CRITICAL")
    server.tool(name="pay", annotations=annotations)(tool)
    failwell.server.install(server, wire={"client": None})

    async def main() -> Any:
        async with mcp.Client(server) as client:
            return fw.read(await client.call_tool("pay", {}))

    return asyncio.run(main())


def failed_alone(tool: Callable[[], str]) -> fw.ToolError:
    with pytest.raises(fw.ToolError) as failed:
        failwell.server.tool_errors(tool_name="pay")(tool)()
    return failed.value


STATED = [Effect.NONE, Effect.UNKNOWN, Effect.PARTIAL, Effect.DONE]


@pytest.mark.parametrize("stated", STATED)
@pytest.mark.parametrize("annotations", [None, READS, WRITES, AGAIN], ids=["none", "read", "write", "again"])
@pytest.mark.parametrize("at", ["unmarked", "before", "inside", "part", "after", "undone"])
def test_what_an_author_states_of_the_effect_stands_unless_marks_prove_it_false(
    at: str, annotations: Any, stated: Effect
) -> None:
    def unmarked() -> str:
        raise fw.Transient("Busy.", effect=stated)

    def tool() -> str:
        if at == "before":
            unmarked()
        with fw.effects() as work:
            if at == "part":
                work.part()
            if at == "undone":
                work.undone()
            if at != "after":
                unmarked()
        return unmarked()

    failed = failed_once(unmarked if at == "unmarked" else tool, annotations)
    proven = {"part": Effect.PARTIAL, "after": Effect.DONE} if stated is Effect.NONE else {}
    assert failed.effect is proven.get(at, stated)


def test_marks_are_believed_before_a_tool_that_calls_itself_read_only() -> None:
    ledger = Ledger()
    _, text = called(marked("inside", ledger), "look", READS)
    assert "may have been done already" in text


def test_outside_a_server_marks_do_nothing() -> None:
    with fw.effects() as work:
        work.part()
        work.undone()


def raising(exc: Exception) -> Callable[[], str]:
    def tool() -> str:
        raise exc

    return tool


@pytest.mark.parametrize(
    ("exc", "code", "text"),
    [
        (ValueError("limit"), "VALIDATION_ERROR", "limit"),
        (LookupError("No order o_9."), "NOT_FOUND", "No order o_9."),
        (KeyError("postgres://u:p@h/db"), "NOT_FOUND", "It does not exist."),
        (FrameworkError("Rate limit exceeded, try again in 1 second"), None, "Rate limit exceeded, try again in 1 second"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)  # fmt: skip
def test_what_an_author_says_to_the_caller_stands(exc: Exception, code: str | None, text: str) -> None:
    report, told = called(raising(exc), "pay")
    assert (report.failure.code, report.failure.effect, report.calls, told) == (code, None, 1, text)


def test_the_same_out_of_a_library_is_no_refusal() -> None:
    report, text = called(lambda: int("12,50"), "pay")
    assert report.failure.effect is Effect.UNKNOWN
    assert "may have been done already" in text


def stripped() -> None:
    try:
        int("12,50")
    except ValueError as exc:
        raise exc.with_traceback(None)  # noqa: B904


def stripped_in_lines() -> None:
    try:
        int("12,50")
    except ValueError as exc:
        raise (  # noqa: B904
            exc
            # So that nobody sees where it comes from.
            .with_traceback(None)
        )


@pytest.mark.parametrize("tool", [stripped, stripped_in_lines], ids=lambda each: each.__name__)
def test_what_a_library_said_is_no_refusal_in_whosever_hands_it_is(tool: Callable[[], Any]) -> None:
    report, text = called(tool, "pay")
    assert report.failure.effect is Effect.UNKNOWN
    assert "may have been done already" in text


def test_an_author_who_sets_tracebacks_elsewhere_can_still_refuse() -> None:
    def tool() -> None:
        known = KeyError("x").with_traceback(None)
        raise ValueError(f"limit: {known}")

    assert called(tool, "pay")[0].failure.effect is None


def test_a_cause_lends_nothing_to_what_an_author_says() -> None:
    def tool() -> str:
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError as cause:
            raise FrameworkError("Paid. But the receipt could not be mailed.") from cause

    assert called(tool, "pay")[1] == "Paid. But the receipt could not be mailed."


def test_the_tools_that_nobody_has_marked_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    for name in ("pay", "get_weather", "frobnicate"):
        called(lambda: "ok", name)
    said = [record.getMessage() for record in caplog.records if "Neither annotations" in record.getMessage()]
    assert len(said) == 1
    assert ": frobnicate. Say it by annotations" in said[0]


def test_an_error_that_a_tool_returns_says_what_its_marks_say() -> None:
    ledger = Ledger()

    def pay() -> CallToolResult:
        with fw.effects():
            ledger.pay()
        return CallToolResult(
            content=[TextContent(type="text", text="The receipt could not be mailed.")], is_error=True
        )

    report, text = called(pay, "pay")
    assert (report.failure.effect, report.calls, ledger) == (Effect.DONE, 1, ["paid"])
    assert text.startswith("pay was done, and failed after that (The receipt could not be mailed).")


def test_an_error_that_a_tool_returns_is_left_alone_where_nothing_was_marked() -> None:
    said = CallToolResult(content=[TextContent(type="text", text="No such invoice.")], is_error=True)
    report, text = called(lambda: said, "pay")
    assert report.calls == 1
    assert text.startswith("No such invoice.")


def _slips(ledger: Ledger) -> dict[str, Callable[[], Any]]:
    """Tools that return what they do not promise, from different places."""

    def at_once() -> str:
        return None  # type: ignore[return-value]

    def before_the_mark() -> str:
        if not ledger:
            return None  # type: ignore[return-value]
        with fw.effects():
            ledger.pay()
        return "paid"

    def taken_back() -> str:
        with fw.effects() as work:
            work.undone()
        return None  # type: ignore[return-value]

    def after_the_mark() -> str:
        with fw.effects():
            ledger.pay()
        return None  # type: ignore[return-value]

    def at_its_end() -> int:
        ledger.pay()
        return "a receipt"  # type: ignore[return-value]

    return {each.__name__: each for each in (at_once, before_the_mark, taken_back, after_the_mark, at_its_end)}


@pytest.mark.parametrize(
    ("tool", "effect", "done"),
    [
        ("at_once", Effect.UNKNOWN, 0),
        ("before_the_mark", Effect.NONE, 0),
        ("taken_back", Effect.NONE, 0),
        ("after_the_mark", Effect.DONE, 1),
        ("at_its_end", Effect.DONE, 1),
    ],
)
def test_a_result_that_breaks_its_promise_says_no_more_than_is_known(tool: str, effect: Effect, done: int) -> None:
    ledger = Ledger()
    report, _ = called(_slips(ledger)[tool], tool, WRITES)
    assert (report.failure.effect, len(ledger), report.calls) == (effect, done, 1)


def test_a_refusal_in_another_round_of_a_loop_says_that_a_part_was_done() -> None:
    ledger = Ledger()

    def pay_all() -> str:
        for number in range(3):
            if number == 1:
                raise fw.Denied("The second one is not yours.")
            with fw.effects():
                ledger.pay()
        return "paid"

    report, _ = called(pay_all, "pay_all")
    assert (report.failure.effect, ledger) == (Effect.PARTIAL, ["paid"])


def test_tool_errors_and_the_bridges_know_the_marks() -> None:
    ledger = Ledger()

    def pay() -> str:
        with fw.effects():
            ledger.pay()
        raise ConnectionRefusedError(111, "refused")

    with pytest.raises(fw.ToolError) as failed:
        failwell.server.tool_errors(pay)()
    assert failed.value.effect is Effect.DONE
    told = Bridge(fw.Policy(base_delay=0.01)).call(ToolTraits("pay")).attempt_sync(pay)
    assert isinstance(told, RenderedFailure)
    assert isinstance(told.outcome, fw.ToolError)
    assert told.outcome.effect is Effect.DONE
    assert told.text.startswith("pay was done, and failed after that")
    assert ledger == ["paid", "paid"]


def test_before_its_marks_a_function_of_a_bridge_has_done_nothing() -> None:
    calls: list[int] = []

    def pay() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise ConnectionRefusedError(111, "refused")
        with fw.effects():
            return "paid"

    assert Bridge(fw.Policy(base_delay=0.001)).call(ToolTraits("pay")).attempt_sync(pay) == "paid"


def test_marks_of_a_helper_say_nothing_of_what_its_caller_did_before() -> None:
    ledger = Ledger()

    def helper() -> None:
        if ledger:
            raise ConnectionRefusedError(111, "refused")
        with fw.effects():
            ledger.pay()

    def checkout() -> str:
        ledger.pay()
        helper()
        return "done"

    report, text = called(checkout, "checkout")
    assert (report.failure.effect, report.calls, ledger) == (Effect.UNKNOWN, 1, ["paid"])
    assert "may have been done already" in text


def test_a_wrapper_of_the_authors_own_may_have_done_something_before_the_marks() -> None:
    ledger = Ledger()

    def booked(tool: Callable[[], str]) -> Callable[[], str]:
        @functools.wraps(tool)
        def wrapper() -> str:
            ledger.pay()
            return tool()

        return wrapper

    @booked
    def pay() -> str:
        if ledger:
            raise ConnectionRefusedError(111, "refused")
        with fw.effects():
            return "paid"

    report, _ = called(pay, "pay")
    assert (report.failure.effect, report.calls, ledger) == (Effect.UNKNOWN, 1, ["paid"])


def test_what_has_passed_its_marks_was_done_whatever_is_raised() -> None:
    ledger = Ledger()

    def pay() -> str:
        with fw.effects():
            ledger.pay()
        raise fw.Transient("The mail server is busy.", effect="none")

    report, _ = called(pay, "pay")
    assert (report.failure.effect, report.calls, ledger) == (Effect.DONE, 1, ["paid"])
    assert failed_alone(pay).effect is Effect.DONE
    told = Bridge(fw.Policy(base_delay=0.01)).call(ToolTraits("pay")).attempt_sync(pay)
    assert isinstance(told, RenderedFailure)
    assert told.outcome.effect is Effect.DONE  # type: ignore[union-attr]
    assert len(ledger) == 3


def test_one_of_a_group_says_nothing_of_the_whole_call() -> None:
    def pay() -> str:
        raise ExceptionGroup("tasks", [fw.Transient("Busy.", effect="none"), OSError("disk")])

    with pytest.raises(fw.ToolError) as failed:
        failwell.server.tool_errors(pay)()
    assert failed.value.effect is Effect.UNKNOWN
    assert not failed.value.retryable


def test_no_text_of_a_call_in_doubt_names_the_call_itself_or_has_it_made_again() -> None:
    error = fw.Transient("Half of it.", effect="unknown", actions=["pay"], tool="pay")
    assert fw.render(error, "text") == (
        "pay failed part-way (Half of it), so it may have been done already. Next: ask the user."
    )
    assert fw.decide(error.replace(effect="partial")).calls == ()


@pytest.mark.parametrize(
    ("exc", "text"),
    [
        (ExceptionGroup("tasks", [fw.Transient("Busy.", effect="none"), OSError("disk")]), "pay failed part-way"),
        # What another server states stands as it is, and says nothing of the effect.
        (MCPError(-31003, "Rate Limited", {"mcp_error_code": "RATE_LIMITED", "details": "m", "retry_after": 1}), "m"),
    ],
    ids=["group", "another server"],
)
def test_what_a_function_of_a_bridge_raises_says_nothing_of_the_whole_call(exc: Exception, text: str) -> None:
    ledger = Ledger()

    def pay() -> str:
        ledger.pay()
        raise exc

    told = Bridge(fw.Policy(base_delay=0.01)).call(ToolTraits("pay")).attempt_sync(pay)
    assert isinstance(told, RenderedFailure)
    assert ledger == ["paid"]
    assert told.decision.doubtful
    assert told.text.startswith(text)
    assert "again" not in told.text


@pytest.mark.parametrize("where", ["thread", "worker of an earlier call"])
def test_a_mark_that_is_passed_where_nobody_knows_the_call_takes_away_that_nothing_was_done(where: str) -> None:
    """A thread of a pool, and a worker that an earlier call has started, know nothing of the call they work for."""
    ledger = Ledger()

    def charge() -> None:
        with fw.effects():
            ledger.pay()

    def earlier() -> None:
        context.append(contextvars.copy_context())

    def pay() -> str:
        if where == "thread":
            thread = threading.Thread(target=charge)
            thread.start()
            thread.join()
        else:
            context[0].run(charge)
        if ledger:
            raise ConnectionRefusedError(111, "refused")
        with fw.effects():
            return "mailed"

    context: list[contextvars.Context] = []
    failwell.server.tool_errors(earlier)()
    with pytest.raises(fw.ToolError) as failed:
        failwell.server.tool_errors(pay)()
    assert (failed.value.effect, ledger) == (Effect.UNKNOWN, ["paid"])
    report, text = called(pay, "pay")
    assert (report.failure.effect, report.calls) == (Effect.UNKNOWN, 1)
    assert "again" not in text


def test_a_mark_that_nobody_kept_is_found_by_where_the_exception_came_from() -> None:
    """An exception that a loop of the user's own hands over, or a web framework, comes from a call nobody stood around."""

    def pay(fails: int) -> None:
        if fails == 1:
            raise fw.Transient("busy", retry_after=1)
        with fw.effects():
            pass
        raise fw.Transient("mail busy", retry_after=1)

    def told(fails: int) -> Any:
        with pytest.raises(fw.ToolError) as failed:
            pay(fails)
        return tool_result_block("t", failed.value, tool="pay")["content"][0]["text"]  # type: ignore[index, call-overload]

    assert told(1) == "busy. Wait 1 second, then make the same call again."
    assert told(2) == "pay failed part-way (mail busy), so it may have been done already. Next: ask the user."


@pytest.mark.parametrize(("method", "effect"), [("post", "unknown"), ("get", None)])
def test_a_tool_made_from_a_route_that_posts_is_no_read_whatever_it_is_called(method: str, effect: str | None) -> None:
    fastmcp, httpx = pytest.importorskip("fastmcp"), pytest.importorskip("httpx2")
    route = {"operationId": "get_report", "responses": {"200": {"description": "ok"}}}
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/report": {method: route}}}

    def dies(request: Any) -> Any:
        raise httpx.ReadTimeout("gone", request=request)

    behind = httpx.AsyncClient(transport=httpx.MockTransport(dies), base_url="http://x")
    server = fastmcp.FastMCP.from_openapi(document, behind)
    failwell.server.install(server)

    async def main() -> Any:
        async with Recovering(fastmcp.Client(server), policy=fw.Policy(base_delay=0.01)) as agent:
            return await agent.call("get_report", {})

    report = asyncio.run(main())
    assert fw.read(report.result).effect == effect  # type: ignore[union-attr]
    assert ("may have been done already" in report.result.content[0].text) is (effect == "unknown")
