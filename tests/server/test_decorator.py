"""`tool_errors`: the mapping of contract 004, for functions of any framework."""

from __future__ import annotations

import asyncio
import logging
import re
from base64 import b64encode
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import fastmcp
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations

import failwell as fw
from failwell.observe import logged
from failwell.server import install, tool_errors


def raising(exc: BaseException, **options: Any) -> fw.ToolError:
    @tool_errors(tool_name="system/get-overview", tier="fundamental", **options)
    def sync() -> None:
        raise exc

    @tool_errors(tool_name="system/get-overview", tier="fundamental", **options)
    async def later() -> None:
        raise exc

    with pytest.raises(fw.ToolError) as first:
        sync()
    with pytest.raises(fw.ToolError) as second:
        asyncio.run(later())
    assert first.value == second.value
    return first.value


def data(error: fw.ToolError) -> dict[str, Any]:
    wire: Any = fw.to_jsonrpc(error)["error"]
    return {"code": wire["code"], **wire["data"]}


@pytest.mark.checklist(269)
def test_a_value_error_is_the_authors_word_to_the_caller() -> None:
    assert data(raising(ValueError("device_id must start with dev-"))) == {
        "code": -32005,
        "mcp_error_code": "VALIDATION_ERROR",
        "details": "device_id must start with dev-",
        "recovery_strategy": "fix_and_retry",
        "suggestion": fw.to_jsonrpc(raising(ValueError("x")))["error"]["data"]["suggestion"],  # type: ignore[index,call-overload]
        "tool_name": "system/get-overview",
        "tool_tier": "fundamental",
    }


@pytest.mark.checklist(270)
def test_a_permission_error_is_for_the_user() -> None:
    found = data(raising(PermissionError("/etc/shadow")))
    assert (found["code"], found["mcp_error_code"], found["recovery_strategy"]) == (
        -32002,
        "FORBIDDEN",
        "user_action_required",
    )
    assert "/etc/shadow" not in str(found)


@pytest.mark.checklist(271)
def test_a_timeout_is_tried_again_after_a_minute() -> None:
    found = data(raising(TimeoutError()))
    assert (found["code"], found["mcp_error_code"], found["recovery_strategy"], found["retry_after"]) == (
        -32007,
        "TIMEOUT",
        "retry_with_backoff",
        60,
    )


@pytest.mark.checklist(272)
def test_anything_else_is_told_by_its_class_alone() -> None:
    found = data(raising(RuntimeError("sk-hidden")))
    assert (found["code"], found["mcp_error_code"], found["recovery_strategy"]) == (
        -32000,
        "INTERNAL_ERROR",
        "report_and_abort",
    )
    assert found["details"] == "Unexpected error: RuntimeError"
    assert found["error_type"] == "RuntimeError"


@pytest.mark.checklist(273)
def test_what_is_structured_already_passes_unchanged() -> None:
    mine = fw.NotFound("No p_1.", suggestion="Call projects.list.")
    assert raising(mine) is mine


def test_returned_failures_are_raised() -> None:
    mine = fw.NotFound("No p_1.")
    for returned in (mine, fw.Err(mine)):
        with pytest.raises(fw.NotFound) as caught:
            tool_errors(lambda returned=returned: returned)()
        assert caught.value is mine
    assert tool_errors(lambda: fw.Ok(5))() == 5


def test_an_answer_can_be_returned_instead() -> None:
    @tool_errors(answer=fw.render)
    def broken() -> str:
        raise ValueError("limit must be below 100")

    assert broken().startswith("limit must be below 100.")


@pytest.mark.parametrize("order", [KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
@pytest.mark.checklist(27)
def test_orders_to_stop_are_passed_on(order: type[BaseException]) -> None:
    @tool_errors
    def stopped() -> None:
        raise order

    with pytest.raises(order):
        stopped()


def test_the_function_stays_itself() -> None:
    @tool_errors
    def documented(a: int) -> int:
        """What it does."""
        return a + 1

    assert (documented.__name__, documented.__doc__, documented(1)) == ("documented", "What it does.", 2)


def _records(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str | None, bool]]:
    return [
        (record.levelname, record.__dict__["tool_name"], record.__dict__["mcp_error_code"], bool(record.exc_text))
        for record in caplog.records
        if record.msg.startswith("tool_error")
    ]


@pytest.mark.checklist(277)
def test_what_leaves_the_decorator_alone_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    raising(ValueError("device_id must start with dev-"))
    raising(ZeroDivisionError("stock"))
    raising(fw.NotFound("No such device."))
    name = "system/get-overview"
    assert _records(caplog) == [
        *[("WARNING", name, "VALIDATION_ERROR", False)] * 2,
        *[("ERROR", name, "INTERNAL_ERROR", True)] * 2,
        *[("WARNING", name, "NOT_FOUND", False)] * 2,
    ]


@pytest.mark.checklist(277)
def test_inside_a_server_the_decorator_leaves_the_line_to_it_and_a_crash_is_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = MCPServer("shop")

    @server.tool()
    @tool_errors(tool_name="stock")
    def stock() -> str:
        return str({}["stock"])

    @server.tool()
    @tool_errors(tool_name="order")
    def order() -> str:
        raise logged(fw.NotFound("No such order."), tool="order", request_id=7)

    install(server)

    async def called() -> None:
        async with Client(server) as client:
            await client.call_tool("stock", {})
            await client.call_tool("order", {})

    with caplog.at_level(logging.INFO):
        asyncio.run(called())
    assert _records(caplog) == [("ERROR", "stock", "INTERNAL_ERROR", True), ("WARNING", "order", "NOT_FOUND", False)]


KEY = "Tr0ub4dorX"


def _refuse(api_key: str) -> Any:
    raise PermissionError(f"{api_key} was refused")


@tool_errors
def login(api_key: str) -> Any:
    return _refuse(api_key)


@tool_errors
async def login_later(api_key: str) -> Any:
    return _refuse(api_key)


@tool_errors
def login_with_own_words(api_key: str) -> Any:
    raise fw.Denied(f"{api_key} was refused", details={"tried": [api_key]})


@tool_errors
def login_asking(api_key: str) -> Any:
    raise fw.NeedsInput(f"{api_key} was refused. Which one?", fields={"api_key": {"type": "string"}})


class Portal:
    @tool_errors
    def login(self, api_key: str) -> Any:
        return _refuse(api_key)

    @tool_errors
    @classmethod
    def login_of_class(cls, api_key: str) -> Any:
        return _refuse(api_key)

    @tool_errors
    @staticmethod
    def login_of_none(*, api_key: str) -> Any:
        return _refuse(api_key)


LOGINS = {
    "by position": lambda: login(KEY),
    "by name": lambda: login(api_key=KEY),
    "async": lambda: asyncio.run(login_later(KEY)),
    "own words": lambda: login_with_own_words(KEY),
    "method": lambda: Portal().login(KEY),
    "class method": lambda: Portal.login_of_class(KEY),
    "static method": lambda: Portal.login_of_none(api_key=KEY),
    "partial": lambda: tool_errors(partial(_refuse, KEY))(),
    "partial by name": lambda: tool_errors(partial(_refuse, api_key=KEY))(),
    "inside an argument": lambda: tool_errors(lambda login: _refuse(login["api_key"]))({"api_key": KEY}),
    "more by name": lambda: tool_errors(lambda **sent: _refuse(sent["api_key"]))(api_key=KEY),
    "awaited": lambda: asyncio.run(tool_errors(lambda api_key: login_later(api_key))(KEY)),
}


@pytest.mark.parametrize("called", LOGINS.values(), ids=LOGINS)
def test_what_was_passed_as_a_secret_leaves_neither_in_the_error_nor_in_the_log(
    called: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(fw.ToolError) as caught:
        called()
    assert "was refused" in str(caught.value)
    written = [repr(record.__dict__) + record.getMessage() for record in caplog.records]
    assert written
    for told in (str(caught.value), repr(caught.value), repr(fw.to_result(caught.value, "v1")), *written):
        assert KEY not in told


@pytest.mark.parametrize("write", [quote, quote_plus, escape, lambda key: b64encode(key.encode()).decode()])
def test_what_was_passed_as_a_secret_is_masked_however_it_is_written(
    write: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    @tool_errors(answer=fw.render)
    def login(password: str) -> None:
        raise ValueError(f"The bank refused /login/{write(password)}.")

    told = f"{login('blue kettle & tea')} {[vars(record) for record in caplog.records]}"
    assert "The bank refused /login/[redacted]" in told
    assert write("blue kettle & tea") not in told


def test_a_question_and_an_answer_hold_no_secret_that_was_passed() -> None:
    with pytest.raises(fw.NeedsInput) as caught:
        login_asking(KEY)
    assert KEY not in str(caught.value)
    assert tool_errors(answer=str)(_refuse)(KEY) == "[PERMISSION] [redacted] was refused"


def test_an_error_stays_the_same_object_where_no_secret_of_the_call_is_in_it() -> None:
    mine = fw.Denied("Not today.")

    @tool_errors
    def refuses(api_key: str) -> None:
        raise mine

    with pytest.raises(fw.Denied) as caught:
        refuses(KEY)
    assert caught.value is mine


class Later:
    async def __call__(self, size: int) -> None:
        raise ValueError(f"{size} is too many")


async def _too_many(size: int) -> None:
    raise ValueError(f"{size} is too many")


HIDDEN = {
    "async object": lambda: asyncio.run(tool_errors(Later())(5)),
    "partial of an async object": lambda: asyncio.run(tool_errors(partial(Later(), 5))()),
    "a coroutine returned": lambda: asyncio.run(tool_errors(lambda size: _too_many(size))(5)),
}


@pytest.mark.parametrize("called", HIDDEN.values(), ids=HIDDEN)
def test_what_is_raised_later_than_by_the_call_is_read_too(called: Any) -> None:
    with pytest.raises(fw.ToolError, match="5 is too many"):
        called()


def _steps() -> Iterator[int]:
    yield 1


def test_what_can_be_awaited_and_more_stays_what_it_is() -> None:
    class Query:
        def __await__(self) -> Generator[Any, Any, int]:
            yield from ()
            return 5

    query = Query()
    assert tool_errors(lambda: query)() is query


def test_methods_of_the_class_and_of_none_stay_what_they_are() -> None:
    class Shop:
        @tool_errors
        @classmethod
        def named(cls, item: str) -> str:
            return f"{cls.__name__} {item}"

        @tool_errors
        @staticmethod
        def alone(item: str) -> str:
            return item

    assert (Shop.named("tea"), Shop().named("tea"), Shop.alone("tea"), Shop().alone("tea")) == (
        *("Shop tea", "Shop tea"),
        *("tea", "tea"),
    )


def test_what_has_no_name_of_its_own_gets_that_of_what_it_calls() -> None:
    for made, name in (
        (partial(_too_many, 5), "_too_many"),
        (partial(partial(Later()), 5), "Later"),
        (Later(), "Later"),
    ):
        watched: Any = tool_errors(made)
        assert watched.__name__ == name
        with pytest.raises(fw.ToolError) as caught:
            asyncio.run(watched(5) if made.__class__ is Later else watched())
        assert caught.value.tool == name


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: tool_errors(5), "tool_errors() takes a function, not int."),  # type: ignore[arg-type]
        (lambda: tool_errors([]), "tool_errors() takes a function, not list."),  # type: ignore[arg-type]
        (lambda: tool_errors(tool_name="x")(5), "tool_errors() takes a function, not int."),  # type: ignore[arg-type]
        (lambda: tool_errors(property(len)), "tool_errors() takes a function, not property; put it below @property."),  # type: ignore[arg-type]
        (
            lambda: tool_errors("pay"),  # type: ignore[arg-type]
            "tool_errors() takes a function, not 'pay'; a name is given as tool_name='pay'.",
        ),
        (lambda: tool_errors(Portal), "tool_errors() takes a function, not the class Portal; decorate its methods."),
        (lambda: tool_errors(_steps), "tool_errors() takes a function that returns its result, not a generator."),
        (lambda: tool_errors(answer=5), "answer is a function, such as failwell.render, not 5."),  # type: ignore[arg-type]
        (lambda: tool_errors(logger=5), "logger is a logger of logging or structlog, not 5."),
        (lambda: tool_errors(table={}), "table is a table, such as failwell.classify.table()"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_decorated_is_refused_in_one_line(made: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        made()
    assert str(caught.value).startswith(words)


def test_inside_a_server_the_tool_that_failed_is_the_one_that_was_called() -> None:
    server = MCPServer("shop", log_level="CRITICAL")

    @tool_errors
    def connects() -> str:
        raise ConnectionResetError("gone")

    @server.tool()
    def order() -> str:
        return connects()

    install(server)

    async def called() -> Any:
        async with Client(server) as client:
            return await client.call_tool("order", {})

    result = asyncio.run(called())
    assert "connects" not in repr(result)
    with pytest.raises(fw.ToolError) as caught:
        connects()
    assert caught.value.tool == "connects"


RAISED: Mapping[str, Callable[[], BaseException]] = {
    "timeout": lambda: TimeoutError("the device did not answer"),
    "value": lambda: ValueError("amount must be positive"),
    "permission": lambda: PermissionError("not yours"),
    "key": lambda: KeyError("stock"),
    "crash": lambda: ZeroDivisionError("division by zero"),
    "secret": lambda: ConnectionError("refused for s3cr3t-k3y-of-mine"),
    "stated": lambda: fw.Transient("Busy.", code="RATE_LIMITED", retry_after=3, effect="none"),
    "kind": lambda: fw.NotFound("No such order."),
    "question": lambda: fw.NeedsInput("Which?", fields=["id"]),
    "group": lambda: ExceptionGroup("tasks", [fw.Conflict("Taken."), OSError("disk")]),
}
HINTS = {
    "none": None,
    "read": ToolAnnotations(read_only_hint=True),
    "write": ToolAnnotations(read_only_hint=False),
    "again": ToolAnnotations(idempotent_hint=True),
}


def _failing(raised: Callable[[], BaseException], how: str) -> Callable[..., Any]:
    def plain(amount: int, api_key: str) -> str:
        raise raised()

    async def later(amount: int, api_key: str) -> str:
        raise raised()

    def marked(amount: int, api_key: str) -> str:
        if amount > 1:
            raise raised()
        with fw.effects():
            return "paid"

    return {"plain": plain, "later": later, "marked": marked}[how]


@pytest.mark.parametrize("kind", ["mcp", "fastmcp"])
@pytest.mark.parametrize("options", [None, {}, {"tool_name": "shop/pay", "tier": "fundamental"}], ids=str)
def test_on_an_installed_server_the_decorator_changes_nothing(kind: str, options: dict[str, Any] | None) -> None:
    def answers(decorate: Callable[[Any], Any], format: str) -> dict[str, str]:
        server: Any = MCPServer("shop", log_level="CRITICAL") if kind == "mcp" else fastmcp.FastMCP("shop")
        names = [f"{error}-{hint}-{how}" for error in RAISED for hint in HINTS for how in ("plain", "later", "marked")]
        for name in names:
            error, hint, how = name.split("-")
            server.tool(name=name, annotations=HINTS[hint])(decorate(_failing(RAISED[error], how)))
        install(server, format=format, wire={"client": None})

        async def called() -> dict[str, str]:
            async with fastmcp.Client(server) if kind == "fastmcp" else Client(server) as client:
                sent = {"amount": 2, "api_key": "s3cr3t-k3y-of-mine"}
                found = {}
                for name in names:
                    try:
                        result = await client.session.call_tool(name, sent)
                    except MCPError as exc:
                        found[name] = repr(exc.error)
                    else:
                        found[name] = result.model_dump_json(by_alias=True)
                return {name: re.sub(r"(correlation_id\W+)\w+", r"\1", said) for name, said in found.items()}

        return asyncio.run(called())

    decorate = tool_errors if options is None else tool_errors(**options)
    # In contract 004 the tier stands in the data.
    for format in ("typed", "text", *([] if options and "tier" in options else ["jsonrpc"])):
        bare = answers(lambda function: function, format)
        found = answers(decorate, format)
        assert [(name, bare[name], found[name]) for name in bare if bare[name] != found[name]] == []
        assert "s3cr3t" not in str(bare)
