"""The rules of a tool: limits, rates and deprecation, as decorators and around a call."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp import Client as FastClient
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

import failwell as fw
from failwell.model import Effect
from failwell.server import tool_rules
from failwell.server.served_call import ServedCall, current
from failwell.server.tool_rules import Rule, deprecated, limit, rate

# Only against what never ends; nothing is waited for so long.
PATIENCE = 300


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


class Seen(Rule):
    """Remembers what it was asked, and refuses what it is told to."""

    def __init__(self, name: str = "", log: list[Any] | None = None, refuse: bool = False) -> None:
        self.name = name
        self.log: list[Any] = [] if log is None else log
        self.refuse = refuse

    def admit(self, arguments: Mapping[str, Any]) -> None:
        self.log.append((self.name, dict(arguments)) if self.name else dict(arguments))
        if self.refuse:
            raise fw.ToolError("No.", code="FORBIDDEN")


def refused(function: Callable[[], Any]) -> fw.ToolError:
    with pytest.raises(fw.ToolError) as caught:
        function()
    return caught.value


def wire(error: fw.ToolError, **options: Any) -> dict[str, Any]:
    return fw.to_jsonrpc(error, era="2025-11-25", **options)["error"]


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.001)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


# Rules on functions


def test_the_arguments_have_their_names_however_they_were_passed() -> None:
    seen = Seen()

    @seen
    def tool(first: int, second: str = "b", *rest: int, third: bool = False, **more: Any) -> tuple[Any, ...]:
        return first, second, rest, third, more

    assert tool(1) == (1, "b", (), False, {})
    assert tool(second="x", first=2) == (2, "x", (), False, {})
    assert tool(1, "y", 5, 6, third=True, other=7) == (1, "y", (5, 6), True, {"other": 7})
    assert seen.log == [
        {"first": 1, "second": "b", "rest": (), "third": False},
        {"first": 2, "second": "x", "rest": (), "third": False},
        {"first": 1, "second": "y", "rest": (5, 6), "third": True, "other": 7},
    ]


def test_a_positional_only_argument_is_not_another_of_the_same_name() -> None:
    seen = Seen()

    @seen
    def tool(device: str, /, **more: str) -> str:
        return device

    assert tool("real", device="other") == "real"
    assert seen.log == [{"device": "real"}]


def test_a_call_that_does_not_fit_is_pythons_own_error() -> None:
    @Seen()
    def tool(first: int) -> int:
        return first

    with pytest.raises(TypeError, match=r"tool\(\) missing 1 required positional argument: 'first'"):
        tool()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        tool(1, 2)  # type: ignore[call-arg]


def test_async_functions_stay_async() -> None:
    seen = Seen()

    @seen
    async def tool(name: str) -> str:
        await asyncio.sleep(0)
        return name

    assert inspect.iscoroutinefunction(tool)
    assert asyncio.run(tool("a")) == "a"
    assert seen.log == [{"name": "a"}]


def test_a_refused_function_does_not_run() -> None:
    ran: list[str] = []

    @Seen(refuse=True)
    def tool() -> None:
        ran.append("sync")

    @Seen(refuse=True)
    async def later() -> None:
        ran.append("async")

    assert refused(tool).code == "FORBIDDEN"
    assert refused(lambda: asyncio.run(later())).code == "FORBIDDEN"
    assert ran == []


def test_methods_and_static_methods() -> None:
    seen = Seen()

    class Shop:
        @seen
        def order(self, item: str) -> str:
            return item

        @staticmethod
        @seen
        def close(now: bool) -> bool:
            return now

        @classmethod
        @seen
        def named(cls, name: str) -> str:
            return f"{cls.__name__} {name}"

    shop = Shop()
    assert (shop.order("tea"), shop.close(True), shop.named("x")) == ("tea", True, "Shop x")
    assert [each.get("item", each.get("now", each.get("name"))) for each in seen.log] == ["tea", True, "x"]


def test_rules_stack_from_the_outside_in() -> None:
    log: list[Any] = []

    @Seen("outer", log)
    @Seen("inner", log)
    def tool(a: int) -> int:
        log.append("ran")
        return a

    assert tool(1) == 1
    assert log == [("outer", {"a": 1}), ("inner", {"a": 1}), "ran"]
    assert str(inspect.signature(tool)) == "(a: 'int') -> 'int'"


def test_a_refusal_inside_gives_back_what_the_outside_took() -> None:
    one = limit(1)

    @one
    @Seen(refuse=True)
    def tool() -> None: ...

    for _ in range(3):
        assert refused(tool).code == "FORBIDDEN"


def test_a_rule_shared_by_tools_is_one_budget() -> None:
    budget = rate(2, clock=Clock())

    @budget
    def a() -> str:
        return "a"

    @budget
    def b() -> str:
        return "b"

    assert (a(), b()) == ("a", "b")
    assert refused(a).code == refused(b).code == "RATE_LIMITED"


def test_a_hidden_async_function_is_held_until_it_is_done() -> None:
    one = limit(1)

    async def work(go: asyncio.Event) -> str:
        await go.wait()
        return "done"

    @one
    def hidden(go: asyncio.Event) -> Any:
        return work(go)

    async def main() -> None:
        go = asyncio.Event()
        first = asyncio.ensure_future(hidden(go))
        await settle()
        with pytest.raises(fw.ToolError, match="All places are taken"):
            hidden(go)
        go.set()
        assert await first == "done"
        assert await hidden(go) == "done"

    asyncio.run(main())


class Greeter:
    """Greets."""

    async def __call__(self, name: str, loud: bool = False) -> str:
        return name.upper() if loud else name


def test_callable_objects_and_partial_functions_get_a_name_and_their_hints() -> None:
    def greet(greeting: str, name: str) -> str:
        """Say it."""
        return f"{greeting} {name}"

    greeter: Any = Seen()(Greeter())
    hello: Any = Seen()(functools.partial(greet, greeting="Hello"))
    assert inspect.iscoroutinefunction(greeter)
    assert asyncio.run(greeter("ann", loud=True)) == "ANN"
    assert (greeter.__name__, greeter.__doc__, greeter.__annotations__) == (
        "Greeter",
        "Greets.",
        {"name": str, "loud": bool, "return": str},
    )
    assert hello(name="Ann") == "Hello Ann"
    assert (hello.__name__, hello.__doc__) == ("greet", "Say it.")
    assert list(inspect.signature(hello).parameters) == ["greeting", "name"]


@pytest.mark.parametrize("thing", [None, "tool", 3, classmethod(print)], ids=["none", "text", "number", "classmethod"])
def test_a_rule_stands_on_a_function(thing: Any) -> None:
    with pytest.raises(TypeError, match=f"A rule stands on a function.*not on {type(thing).__name__}") as caught:
        limit()(thing)
    assert "\n" not in str(caught.value)


def test_a_rule_without_admit_is_not_silently_off() -> None:
    class Forgotten(Rule): ...

    with pytest.raises(NotImplementedError, match=r"Forgotten has no admit\(\)"):
        Forgotten()(lambda: None)()


def test_around_a_call_without_a_function() -> None:
    seen = Seen()

    async def main() -> str:
        async with seen.held({"a": 1}):
            return "ran"

    assert asyncio.run(main()) == "ran"
    with seen.held_sync({"a": 2}):
        pass
    assert seen.log == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("stop", [StopIteration, KeyError, KeyboardInterrupt, asyncio.CancelledError])
def test_what_the_tool_raises_leaves_as_it_is(stop: type[BaseException]) -> None:
    exc = stop("x")

    @limit(1)
    @Seen()
    def tool() -> None:
        raise exc

    for _ in range(2):
        with pytest.raises(stop) as caught:
            tool()
        assert caught.value is exc


# What the frameworks read


def forecast(city: str, days: int = 3, units: str | None = None) -> dict[str, int]:
    """Tell the weather.

    Args:
        city: Where.
    """
    return {city: days}


async def forecast_later(city: str, days: int = 3, units: str | None = None) -> dict[str, int]:
    """Tell the weather."""
    return {city: days}


async def with_context(city: str, ctx: Context) -> str:
    return f"{city} {type(ctx).__name__}"


def with_fast_context(city: str, ctx: FastContext) -> str:
    return f"{city} {type(ctx).__name__}"


RULES = [limit(), rate(100), Seen(), deprecated("Old.")]


def under_all(function: Any) -> Any:
    for rule in RULES:
        function = rule(function)
    return function


@pytest.mark.parametrize("function", [forecast, forecast_later], ids=["sync", "async"])
@pytest.mark.parametrize("framework", [MCPServer, FastMCP], ids=["mcpserver", "fastmcp"])
def test_the_schemas_are_the_same_with_and_without(framework: Any, function: Any) -> None:
    def listed(function: Any) -> Any:
        server = framework("shop")
        server.tool()(function)
        return asyncio.run(server.list_tools())[0]

    bare, ruled = listed(function), listed(under_all(function))
    assert inspect.signature(under_all(function)) == inspect.signature(function)
    names = ["name", "description", "input_schema", "output_schema"]
    if framework is FastMCP:
        names[2] = "parameters"
    assert [getattr(ruled, name) for name in names] == [getattr(bare, name) for name in names]
    assert ruled.name == function.__name__


@pytest.mark.parametrize("function", [forecast, forecast_later], ids=["sync", "async"])
@pytest.mark.parametrize("framework", [MCPServer, FastMCP], ids=["mcpserver", "fastmcp"])
def test_the_arguments_reach_the_rule_through_a_server(framework: Any, function: Any) -> None:
    seen = Seen()
    server = framework("shop")
    server.tool()(seen(function))

    async def main() -> Any:
        async with (Client if framework is MCPServer else FastClient)(server) as client:
            return await client.call_tool(function.__name__, {"city": "Bonn"})

    assert asyncio.run(main()).structured_content == {"Bonn": 3}
    assert seen.log == [{"city": "Bonn", "days": 3, "units": None}]


def test_the_context_is_still_injected() -> None:
    plain = MCPServer("shop")
    plain.tool()(under_all(with_context))
    fast = FastMCP("shop")
    fast.tool()(under_all(with_fast_context))

    async def main() -> list[Any]:
        async with Client(plain) as client, FastClient(fast) as other:
            return [
                await client.call_tool("with_context", {"city": "Bonn"}),
                await other.call_tool("with_fast_context", {"city": "Bonn"}),
            ]

    assert [each.content[0].text for each in asyncio.run(main())] == ["Bonn Context", "Bonn Context"]


# At most so many at a time


def holder(rule: Rule) -> tuple[Any, list[int], list[int]]:
    """A tool that runs until it is let go, with the order of the starts, and how many run."""
    started: list[int] = []
    peak = [0, 0]

    @rule
    async def tool(number: int, go: asyncio.Event) -> int:
        started.append(number)
        peak[0] += 1
        peak[1] = max(peak)
        try:
            await go.wait()
        finally:
            peak[0] -= 1
        return number

    return tool, started, peak


@pytest.mark.checklist(166)
def test_with_all_places_and_the_queue_full_it_is_busy() -> None:
    clock = Clock()
    tool, started, _ = holder(limit(2, queue=3, clock=clock))

    async def main() -> None:
        go = asyncio.Event()
        tasks = [asyncio.create_task(tool(number, go)) for number in range(5)]
        await settle()
        with pytest.raises(fw.ToolError) as caught:
            await tool(5, go)
        go.set()
        assert await asyncio.gather(*tasks) == [0, 1, 2, 3, 4]
        assert caught.value.to_dict() == {
            "failwell": 1,
            "code": "SERVER_BUSY",
            "kind": "transient",
            "message": "All places are taken: running 2, waiting 3.",
            "title": "Server Busy",
            "severity": "error",
            "retryable": True,
            "recoverable": True,
            "strategy": "retry_with_backoff",
            "retry_after": 1,
            "effect": "none",
            "details": {"concurrency": 2, "queue": 3},
        }

    asyncio.run(main())
    assert started == [0, 1, 2, 3, 4]


@pytest.mark.checklist(166)
def test_retry_after_comes_from_how_long_calls_take() -> None:
    clock = Clock()
    rule = limit(2, queue=1, clock=clock)

    def full() -> int | float | None:
        async def main() -> int | float | None:
            async with rule.held({}), rule.held({}):
                waiter = asyncio.create_task(rule.held({}).__aenter__())
                await settle()
                try:
                    return refused_retry()
                finally:
                    waiter.cancel()
                    await asyncio.wait([waiter])

        def refused_retry() -> int | float | None:
            return refused(lambda: rule.held_sync({}).__enter__()).retry_after

        return asyncio.run(main())

    def took(seconds: float) -> None:
        with rule.held_sync({}):
            clock.pass_(seconds)

    assert full() == 1
    took(7.5)
    # The one that waits and this one, two places: 7.5 seconds, rounded up.
    assert full() == 8
    for _ in range(60):
        took(30)
    assert full() == 30


def test_one_slow_call_does_not_hide_behind_fast_ones() -> None:
    clock = Clock()
    rule = limit(1, clock=clock)
    for _ in range(5):
        with rule.held_sync({}):
            clock.pass_(0.1)
    with rule.held_sync({}):
        clock.pass_(40)
        assert refused(lambda: rule.held_sync({}).__enter__()).retry_after == 40


def test_the_queue_is_fair() -> None:
    tool, started, peak = holder(limit(1, queue=20))

    async def main() -> None:
        gates = [asyncio.Event() for _ in range(10)]
        tasks = []
        for number, gate in enumerate(gates):
            tasks.append(asyncio.create_task(tool(number, gate)))
            await settle()
        for number, gate in enumerate(gates):
            assert started == list(range(number + 1))
            gate.set()
            await tasks[number]
            await settle()

    asyncio.run(main())
    assert (started, peak) == (list(range(10)), [0, 1])


def test_a_newcomer_does_not_overtake() -> None:
    tool, started, _ = holder(limit(1, queue=2))

    async def main() -> None:
        first, rest = asyncio.Event(), asyncio.Event()
        rest.set()
        tasks = [asyncio.create_task(tool(0, first)), asyncio.create_task(tool(1, rest))]
        await settle()
        first.set()
        await tasks[0]
        # The place is free, but it is handed on already.
        await asyncio.gather(tool(2, rest), tasks[1])

    asyncio.run(main())
    assert started == [0, 1, 2]


def test_who_is_cancelled_while_waiting_leaves_the_queue() -> None:
    rule = limit(1, queue=1)
    tool, started, _ = holder(rule)

    async def main() -> None:
        go = asyncio.Event()
        first = asyncio.create_task(tool(0, go))
        second = asyncio.create_task(tool(1, go))
        await settle()
        with pytest.raises(fw.ToolError, match="running 1, waiting 1"):
            await tool(2, go)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        third = asyncio.create_task(tool(3, go))
        await settle()
        go.set()
        assert await asyncio.gather(first, third) == [0, 3]

    asyncio.run(main())
    assert started == [0, 3]


def test_who_is_cancelled_when_its_turn_comes_hands_the_place_on() -> None:
    rule: Any = limit(1, queue=2)
    tool, started, peak = holder(rule)

    async def main() -> None:
        go = asyncio.Event()
        go.set()
        async with rule.held({}):
            tasks = [asyncio.create_task(tool(number, go)) for number in range(2)]
            await settle()
            granted = next(iter(rule._waiting))
        assert granted.done()
        tasks[0].cancel()
        assert await tasks[1] == 1
        assert tasks[0].cancelled()

    asyncio.run(main())
    assert (started, peak, rule._running) == ([1], [0, 1], {})


@pytest.mark.parametrize(
    "exc", [ValueError("x"), asyncio.CancelledError(), SystemExit(3)], ids=lambda exc: type(exc).__name__
)
def test_a_tool_that_fails_frees_its_place(exc: BaseException) -> None:
    @limit(1)
    async def later() -> None:
        raise exc

    @limit(1)
    def tool() -> None:
        raise exc

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(type(exc)):
                async with limit(1).held({}):
                    raise exc
            with pytest.raises(type(exc)):
                await later()
            with pytest.raises(type(exc)):
                tool()

    asyncio.run(main())


def test_fifty_tasks_never_exceed_the_limit_and_none_is_lost() -> None:
    running = peak = 0

    @limit(3, queue=50)
    async def tool(number: int) -> int:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.001 * (number % 3))
        running -= 1
        return number

    async def main() -> list[int]:
        return await asyncio.gather(*(tool(number) for number in range(50)))

    assert asyncio.run(main()) == list(range(50))
    assert (running, peak) == (0, 3)


def test_threads_and_loops_share_one_line() -> None:
    lock = threading.Lock()
    running = peak = 0
    rule = limit(2, queue=100)

    def enter(by: int) -> None:
        nonlocal running, peak
        with lock:
            running += by
            peak = max(peak, running)

    @rule
    def sync(number: int) -> int:
        enter(1)
        time.sleep(0.001)
        enter(-1)
        return number

    @rule
    async def later(number: int) -> int:
        enter(1)
        await asyncio.sleep(0.001)
        enter(-1)
        return number

    async def some(numbers: range) -> list[int]:
        return await asyncio.gather(*(later(number) for number in numbers))

    with ThreadPoolExecutor(8) as pool:
        threads = [pool.submit(lambda: [sync(number) for number in range(10)]) for _ in range(5)]
        loops = [pool.submit(lambda: asyncio.run(some(range(10)))) for _ in range(3)]
        assert [each.result(PATIENCE) for each in [*threads, *loops]] == [list(range(10))] * 8
    assert (running, peak) == (0, 2)
    assert not rule._running  # type: ignore[attr-defined]
    assert not rule._waiting  # type: ignore[attr-defined]


def test_cancellations_at_any_moment_lose_no_place() -> None:
    rule = limit(2, queue=100)

    @rule
    async def tool() -> None:
        await asyncio.sleep(0.0005)

    async def main() -> None:
        for moment in range(40):
            tasks = [asyncio.create_task(tool()) for _ in range(10)]
            for _ in range(moment % 8):
                await asyncio.sleep(0.0002)
            for task in tasks[moment % 3 :: 2]:
                task.cancel()
            await asyncio.wait(tasks, timeout=PATIENCE)
            assert all(task.done() for task in tasks)

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(asyncio.run, main()) for _ in range(2)]:
            each.result(PATIENCE)
    assert not rule._running  # type: ignore[attr-defined]
    assert not rule._waiting  # type: ignore[attr-defined]


def test_a_call_on_a_loop_that_died_gives_its_place_back() -> None:
    rule = limit(1)

    @rule
    async def tool() -> None:
        await asyncio.get_running_loop().create_future()

    call = tool()
    loop = asyncio.new_event_loop()
    try:
        loop.call_soon(lambda: None)
        asyncio.events._set_running_loop(loop)
        call.send(None)
    finally:
        asyncio.events._set_running_loop(None)
        loop.close()
    assert refused(lambda: rule.held_sync({}).__enter__()).code == "SERVER_BUSY"
    del call
    gc.collect()
    with rule.held_sync({}):
        pass


def test_a_sync_tool_waits_in_its_thread() -> None:
    rule = limit(1, queue=1)

    @rule
    def tool() -> str:
        return "ran"

    with ThreadPoolExecutor(1) as pool:
        with rule.held_sync({}):
            waiting = pool.submit(tool)
            wait_until(lambda: len(rule._waiting) == 1)  # type: ignore[attr-defined]
            assert not waiting.done()
        assert waiting.result(PATIENCE) == "ran"


def test_a_sync_tool_on_the_loop_is_busy_rather_than_stopping_it() -> None:
    rule = limit(1, queue=5)

    @rule
    def tool() -> str:
        return "ran"

    async def main() -> None:
        async with rule.held({}):
            with pytest.raises(fw.ToolError, match="All places are taken"):
                tool()
            waiting = asyncio.create_task(asyncio.to_thread(tool))
            await asyncio.to_thread(wait_until, lambda: len(rule._waiting) == 1)  # type: ignore[attr-defined]
        assert await waiting == "ran"
        assert tool() == "ran"

    asyncio.run(main())


# At most so many in a while


@pytest.mark.checklist(167)
def test_over_the_rate() -> None:
    clock = Clock()

    @rate(3, clock=clock)
    def tool() -> str:
        return "ran"

    for _ in range(3):
        assert tool() == "ran"
        clock.pass_(10.25)
    error = refused(tool)
    assert wire(error) == {
        "code": -32006,
        "message": "Rate Limited",
        "data": {
            "mcp_error_code": "RATE_LIMITED",
            "details": "Too many calls: at most 3 in 60 seconds.",
            "limit": "3 calls in 60 seconds",
            "current_count": 4,
            # 29.25, rounded up.
            "retry_after": 30,
        },
    }
    assert (error.kind.value, error.retryable, error.effect) == ("transient", True, Effect.NONE)


@pytest.mark.checklist(167)
def test_after_the_wait_the_next_call_is_let_through() -> None:
    clock = Clock()

    @rate(2, seconds=7.3, clock=clock)
    async def tool() -> str:
        return "ran"

    async def main() -> None:
        waits = []
        for step in range(40):
            try:
                await tool()
            except fw.ToolError as error:
                waits.append(error.retry_after)
                clock.pass_(error.retry_after or 0)
                assert await tool() == "ran"
            clock.pass_(0.37 * (step % 5))
        assert len(waits) > 10
        assert {type(wait) for wait in waits} == {int}

    asyncio.run(main())


def test_the_wait_is_not_longer_than_it_must_be() -> None:
    clock = Clock()
    rule = rate(1, seconds=10, clock=clock)
    rule.admit({})
    error = refused(lambda: rule.admit({}))
    assert error.retry_after == 10
    clock.pass_(9)
    assert refused(lambda: rule.admit({})).retry_after == 1
    clock.pass_(1)
    rule.admit({})


def test_one_is_singular() -> None:
    rule = rate(1, seconds=1, clock=Clock())
    rule.admit({})
    error = refused(lambda: rule.admit({}))
    assert (error.message, error.details["limit"]) == ("Too many calls: at most 1 in 1 second.", "1 call in 1 second")


@given(
    calls=st.integers(1, 6),
    seconds=st.floats(0.5, 100),
    steps=st.lists(st.floats(0, 40), max_size=60),
)
def test_never_more_than_allowed_in_any_window(calls: int, seconds: float, steps: list[float]) -> None:
    clock = Clock()
    rule = rate(calls, seconds, clock=clock)
    passed: list[float] = []
    for step in steps:
        clock.pass_(step)
        try:
            rule.admit({})
        except fw.ToolError as error:
            clock.pass_(int(error.retry_after or 0))
            rule.admit({})
        passed.append(clock.now)
    for first, beyond in zip(passed, passed[calls:], strict=False):
        assert beyond - first >= seconds - 2e-6


@given(steps=st.lists(st.integers(0, 30), max_size=60))
def test_nothing_is_refused_that_fits(steps: list[int]) -> None:
    clock = Clock()
    rule = rate(3, 60, clock=clock)
    passed: list[float] = []
    for step in steps:
        clock.pass_(step)
        fits = sum(1 for moment in passed if clock.now - moment < 60) < 3
        try:
            rule.admit({})
            passed.append(clock.now)
        except fw.ToolError:
            assert not fits
        else:
            assert fits


def test_each_key_has_its_own_budget() -> None:
    clock = Clock()

    @rate(1, key=lambda arguments: arguments["device"], clock=clock)
    def tool(device: str, force: bool = False) -> str:
        return device

    assert (tool("a"), tool(device="b")) == ("a", "b")
    assert refused(lambda: tool("a")).code == refused(lambda: tool("b", force=True)).code == "RATE_LIMITED"
    clock.pass_(60)
    assert tool("a") == "a"


def test_a_refusal_can_name_what_its_budget_is_for() -> None:
    message = "Too many requests to device '{device_id}' of {owner}, { } {device_id"

    @rate(1, key=lambda arguments: arguments["device_id"], message=message, clock=Clock())
    def tool(device_id: str, force: bool = False) -> str:
        return device_id

    tool("{force}")
    error = refused(lambda: tool("{force}"))
    assert error.message == "Too many requests to device '{force}' of (unknown), { } {device_id"
    assert error.details == {"device_id": "{force}", "limit": "1 call in 60 seconds", "current_count": 2}
    assert error.retry_after == 60


def test_a_key_that_breaks_lets_nothing_through() -> None:
    rule = rate(1, key=lambda arguments: arguments["device"])
    with pytest.raises(KeyError):
        rule.admit({})
    with pytest.raises(TypeError, match="unhashable"):
        rule.admit({"device": []})


def test_old_keys_are_forgotten() -> None:
    clock = Clock()
    rule: Any = rate(2, key=lambda arguments: arguments["device"], clock=clock)
    for device in range(100):
        rule.admit({"device": device})
    clock.pass_(61)
    rule.admit({"device": "new"})
    assert list(rule._calls) == ["new"]


def test_the_number_of_keys_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_rules, "_MOST_KEYS", 50)
    clock = Clock()
    rule: Any = rate(2, key=lambda arguments: arguments["device"], clock=clock)
    for device in range(500):
        rule.admit({"device": device})
        rule.admit({"device": device})
    assert list(rule._calls) == list(range(450, 500))
    assert refused(lambda: rule.admit({"device": 499})).code == "RATE_LIMITED"


def test_a_key_in_use_is_not_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_rules, "_MOST_KEYS", 2)
    rule: Any = rate(5, key=lambda arguments: arguments["device"], clock=Clock())
    for device in "abac":
        rule.admit({"device": device})
    assert list(rule._calls) == ["a", "c"]


def test_less_than_a_microsecond_is_not_waited_for() -> None:
    clock = Clock()
    rule = rate(1, seconds=2.0000004, clock=clock)
    rule.admit({})
    assert refused(lambda: rule.admit({})).retry_after == 2
    clock.pass_(2)
    rule.admit({})


def test_the_rate_holds_for_threads() -> None:
    rule = rate(100, clock=Clock())

    def some() -> int:
        passed = 0
        for _ in range(50):
            try:
                rule.admit({})
                passed += 1
            except fw.ToolError:
                pass
        return passed

    with ThreadPoolExecutor(8) as pool:
        assert sum(each.result(PATIENCE) for each in [pool.submit(some) for _ in range(8)]) == 100


WRONG_COUNTS = [0, -1, True, 1.5, float("nan"), "3", None]
WRONG_SECONDS = [0, -1, True, float("nan"), float("inf"), "60"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *((lambda value=value: limit(value), "concurrency is a whole number of at least 1, not ") for value in WRONG_COUNTS),
        *((lambda value=value: limit(1, value), "queue is a whole number of at least 0, not ") for value in WRONG_COUNTS[1:]),
        *((lambda value=value: rate(value), "calls is a whole number of at least 1, not ") for value in WRONG_COUNTS),
        *((lambda value=value: rate(1, value), "seconds is a number of seconds above zero, not ") for value in WRONG_SECONDS),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_in_one_line(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rate(1, key="device"), "key is a function, not str."),  # type: ignore[arg-type]
    ],
)
def test_wrong_kinds_of_options_are_refused_in_one_line(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value) == message


# On its way out


def test_a_deprecated_tool_works_and_leaves_a_remark() -> None:
    @deprecated("Use find instead.", actions=["find"], since="2.1")
    def search(query: str) -> str:
        return query

    @deprecated("Gone soon.")
    async def later() -> str:
        return "ran"

    call = ServedCall("search", {}, SimpleNamespace(protocol_version="2026-07-28"))
    token = current.set(call)
    try:
        assert search("tea") == "tea"
        assert asyncio.run(later()) == "ran"
    finally:
        current.reset(token)
    assert [remark.to_dict() for remark in call.remarks] == [
        {
            "failwell": 1,
            "code": "DEPRECATED",
            "kind": "validation",
            "message": "Use find instead.",
            "title": "Deprecated",
            "severity": "warning",
            "retryable": False,
            "recoverable": False,
            "strategy": "fix_and_retry",
            "effect": "none",
            "actions": [{"tool": "find"}],
            "details": {"since": "2.1"},
        },
        {
            "failwell": 1,
            "code": "DEPRECATED",
            "kind": "validation",
            "message": "Gone soon.",
            "title": "Deprecated",
            "severity": "warning",
            "retryable": False,
            "recoverable": False,
            "strategy": "fix_and_retry",
            "effect": "none",
        },
    ]


def test_remarks_of_two_calls_are_not_the_same_object() -> None:
    rule = deprecated("Old.")
    call = ServedCall("search", {}, SimpleNamespace(protocol_version="2026-07-28"))
    token = current.set(call)
    try:
        rule.admit({})
        rule.admit({})
    finally:
        current.reset(token)
    assert all(first is not second and first == second for first, second in pairwise(call.remarks))


def test_outside_of_a_call_nobody_is_told() -> None:
    assert deprecated("Old.")(lambda: "ran")() == "ran"
