"""`install`: what it accepts, what it leaves alone, and whom it keeps raising for. The wire is `test_matrix`'s."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import Any

import anyio
import fastmcp
import mcp
import mcp_types
import pytest
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.error_handling import RetryMiddleware
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.server.mcpserver.exceptions import ToolError as DeliberateError
from mcp.server.mcpserver.exceptions import UnexpectedToolError

import failwell as fw
import failwell.server
from failwell.model import Effect, Marks, Source, marking
from failwell.server.exception_reader import Effects
from failwell.server.served_call import ToolInfo

META = "io.github.failwell/tool-error"
Made = Callable[..., Any]


def lowlevel() -> Server[Any]:
    async def on_list_tools(ctx: Any, params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[])

    async def on_call_tool(ctx: Any, params: Any) -> Any:
        raise KeyError(params.name)

    return Server("low", on_list_tools=on_list_tools, on_call_tool=on_call_tool)


MAKERS: dict[str, Made] = {
    "mcpserver": lambda: MCPServer("test", log_level="CRITICAL"),
    "lowlevel": lowlevel,
    "fastmcp": lambda: fastmcp.FastMCP("test"),
}
FRAMEWORKS: dict[str, Made] = {name: MAKERS[name] for name in ("mcpserver", "fastmcp")}


@pytest.fixture(params=MAKERS)
def server(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]()


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> Any:
    return FRAMEWORKS[request.param]()


def call(server: Any, name: str, arguments: dict[str, Any] | None = None) -> Any:
    async def main() -> Any:
        async with mcp.Client(server._mcp_server if isinstance(server, fastmcp.FastMCP) else server) as client:
            return await client.call_tool(name, arguments or {})

    return asyncio.run(main())


def canonical(result: Any) -> dict[str, Any]:
    return result.meta[META]


def test_gives_the_server_back(server: Any) -> None:
    assert failwell.server.install(server) is server


def test_refuses_to_be_installed_twice(server: Any) -> None:
    failwell.server.install(server)
    with pytest.raises(RuntimeError, match="installed on this server already"):
        failwell.server.install(server)


@pytest.mark.parametrize("is_lower_first", [True, False])
@pytest.mark.parametrize("make", [MCPServer, fastmcp.FastMCP])
def test_a_server_and_the_one_below_it_are_installed_on_once(make: Made, is_lower_first: bool) -> None:
    """What is put on one is on both, and would undo itself."""
    server = make("test")
    lower = getattr(server, "_lowlevel_server", None) or server._mcp_server
    first, second = (lower, server) if is_lower_first else (server, lower)
    failwell.server.install(first)
    with pytest.raises(RuntimeError, match="installed on this server already"):
        failwell.server.install(second)


def test_a_refused_install_can_be_mended(server: Any) -> None:
    with pytest.raises(ValueError, match="no format 'yaml'"):
        failwell.server.install(server, format="yaml")
    assert failwell.server.install(server, format="xml") is server


@pytest.mark.parametrize("thing", [object(), "server", None], ids=["object", "text", "none"])
def test_says_what_it_takes(thing: object) -> None:
    with pytest.raises(TypeError, match="takes an MCPServer, a low-level mcp Server or a FastMCP"):
        failwell.server.install(thing)


@pytest.mark.parametrize("kind", [MCPServer, fastmcp.FastMCP], ids=["mcpserver", "fastmcp"])
def test_a_class_is_no_server(kind: type) -> None:
    with pytest.raises(TypeError) as caught:
        failwell.server.install(kind)
    assert str(caught.value) == (
        "install() takes an MCPServer, a low-level mcp Server or a FastMCP, not the class "
        f"{kind.__name__}; make a server of it first."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": []}, "table is a table, such as failwell.classify.table(), not list."),
        ({"guard": print}, "guard is a failwell.redact.Guard, not builtin_function_or_method."),
        ({"validate": "no"}, "There is no validate 'no'; use one of: True, False, reject."),
        ({"questions": "x"}, "There is no questions 'x'; use one of: ask, missing, result."),
        ({"wire": {"protocol": "NOT_FOUND"}}, "wire: protocol is 'all', or a collection of codes"),
        ({"wire": {"protocol": [404]}}, "wire: protocol is 'all', or a collection of codes, such as "),
        ({"wire": {"client": 5}}, "wire: client is 'auto', a name such as 'claude-code/2.1', or None, not 5."),
        ({"wire": {"max_output": "9"}}, "wire: max_output is a number of characters, at least 200, not '9'."),
        ({"wire": "carry"}, "wire is options by name, such as {'carry': True}, not 'carry'."),
        ({"reads": None}, "reads is a collection of names, such as ['search'], not NoneType."),
        (
            {"hooks": print},
            "hooks is a list of functions of one argument, the event, or of addresses such as 'sqlite:///events.db', "
            "not builtin_function_or_method.",
        ),
        ({"logger": "failwell"}, "logger is a logger of logging or structlog, not 'failwell'."),
        ({"format": []}, "There is no format []; use one of: "),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, dict) else "",
)
def test_bad_options_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        failwell.server.install(MCPServer("test", log_level="CRITICAL"), **options)


def test_a_code_that_nobody_knows_yet_may_leave_as_a_protocol_error() -> None:
    assert failwell.server.Options(wire={"protocol": ["DECLARED_LATER"]}).wire


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_before_or_after_the_tools(framework: Any, after: bool) -> None:
    if not after:
        failwell.server.install(framework)

    @framework.tool()
    def broken() -> str:
        return {}["x"]

    if after:
        failwell.server.install(framework)
    result = call(framework, "broken")
    assert result.is_error
    assert canonical(result)["code"] == "INTERNAL_ERROR"


@pytest.mark.checklist(49, 50)
def test_a_crash_tells_what_the_framework_alone_would_and_no_secret(framework: Any) -> None:
    @framework.tool()
    def broken() -> str:
        raise RuntimeError("the password is hunter2")

    is_shown = isinstance(framework, fastmcp.FastMCP)
    words = "the password is [redacted]" if is_shown else "[broken] The tool failed unexpectedly"
    result = call(failwell.server.install(framework), "broken")
    assert result.content[0].text == (
        f"Error: {words}. Next: end the task and report the failure. Do not call it again."
    )


def test_the_text_is_shown_to_those_who_ask(framework: Any) -> None:
    @framework.tool()
    def broken() -> str:
        raise RuntimeError("no such column: prise")

    result = call(failwell.server.install(framework, show_text=True), "broken")
    assert "no such column: prise" in result.content[0].text


def test_rows_of_one_server(framework: Any) -> None:
    class OutOfStock(Exception): ...

    table = fw.classify.table()

    @table.maps(OutOfStock)
    def out_of_stock(exc: OutOfStock) -> fw.ToolError:
        return fw.Conflict("It is out of stock.", code="OUT_OF_STOCK")

    @framework.tool()
    def buy() -> str:
        raise OutOfStock

    assert canonical(call(failwell.server.install(framework, table=table), "buy"))["code"] == "OUT_OF_STOCK"
    assert fw.wrap(OutOfStock()).code == "INTERNAL_ERROR"


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (ConnectionResetError(), "Network error: Connection lost"),
        # The row leaves it to the shipped ones, whose words are made for no format in particular.
        (
            ConnectionRefusedError(),
            "A service the tool needs cannot be reached: the connection was refused. "
            "Wait 1 second, then make the same call again.",
        ),
    ],
)
def test_the_words_of_a_row_of_ones_own_stay_as_they_are(framework: Any, raised: Exception, message: str) -> None:
    table = fw.classify.table()

    @table.maps(ConnectionError)
    def lost(exc: ConnectionError) -> fw.ToolError | None:
        known = isinstance(exc, ConnectionResetError)
        return fw.ToolError("Network error: Connection lost", code="NETWORK_ERROR") if known else None

    @framework.tool()
    def look() -> mcp_types.CallToolResult:
        raise raised

    server = failwell.server.install(framework, table=table, format="v1", wire={"client": None})
    assert call(server, "look").content[0].text == message


def test_cancellation_is_never_swallowed(framework: Any) -> None:
    seen: list[str] = []
    began: list[str] = []

    @framework.tool()
    async def endless() -> str:
        began.append("began")
        try:
            await anyio.sleep_forever()
        finally:
            seen.append("left")

    failwell.server.install(framework)

    async def main() -> None:
        server = framework._mcp_server if isinstance(framework, fastmcp.FastMCP) else framework
        async with mcp.Client(server) as client:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "endless", {})
                    while not began:
                        await anyio.sleep(0)
                    scope.cancel()
            assert scope.cancelled_caught
            while not seen:
                await anyio.sleep(0)

    asyncio.run(main())
    assert seen == ["left"]


def test_python_callers_keep_the_exceptions_of_mcpserver() -> None:
    server: MCPServer[Any] = failwell.server.install(MCPServer("test", log_level="CRITICAL"))

    @server.tool()
    def broken() -> str:
        raise KeyError("x")

    with pytest.raises(UnexpectedToolError):
        asyncio.run(server.call_tool("broken", {}))


def test_a_tool_that_calls_a_tool_keeps_the_exceptions_of_mcpserver() -> None:
    server: MCPServer[Any] = failwell.server.install(MCPServer("test", log_level="CRITICAL"))
    seen: list[BaseException] = []

    @server.tool()
    def inner() -> str:
        raise DeliberateError("not today")

    @server.tool()
    async def outer() -> str:
        try:
            await server.call_tool("inner", {})
        except DeliberateError as exc:
            seen.append(exc)
        return "saved"

    assert call(server, "outer").content[0].text == "saved"
    assert len(seen) == 1


def failing_fastmcp() -> fastmcp.FastMCP[Any]:
    server = fastmcp.FastMCP("test")

    @server.tool()
    def broken(count: int = 1) -> str:
        raise KeyError("count")

    @server.resource("vault://room")
    def room() -> str:
        raise KeyError("room")

    @server.resource("vault://{door}/key")
    def key(door: str) -> str:
        raise KeyError(door)

    @server.prompt()
    def enter() -> str:
        raise KeyError("enter")

    return server


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda server: server.call_tool("broken", {}), id="crash"),
        pytest.param(lambda server: server.call_tool("broken", {"count": "many"}), id="wrong argument"),
        pytest.param(lambda server: server.call_tool("broken", {"much": 1}), id="unknown argument"),
        pytest.param(lambda server: server.call_tool("whole", {}), id="unknown tool"),
        pytest.param(lambda server: server.read_resource("vault://room"), id="resource"),
        pytest.param(lambda server: server.read_resource("vault://a/key"), id="template"),
        pytest.param(lambda server: server.render_prompt("enter"), id="prompt"),
    ],
)
def test_python_callers_keep_the_exceptions_of_fastmcp(use: Callable[[Any], Any]) -> None:
    told = []
    for server in (failing_fastmcp(), failwell.server.install(failing_fastmcp())):
        with pytest.raises(Exception) as caught:
            asyncio.run(use(server))
        told.append((type(caught.value), str(caught.value), type(caught.value.__cause__)))
    assert told[0] == told[1]


def test_middleware_that_retries_still_does() -> None:
    server = fastmcp.FastMCP("test")
    server.add_middleware(RetryMiddleware(max_retries=3, base_delay=0.001, max_delay=0.01))
    failwell.server.install(server)
    tries: list[int] = []

    @server.tool()
    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionResetError
        return "at last"

    assert call(server, "flaky").content[0].text == "at last"


def test_the_errors_of_other_middleware_are_answered() -> None:
    class Closed(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise fw.Transient("Closed for the night.", retry_after=3600)

    server = fastmcp.FastMCP("test", middleware=[Closed()])

    @server.tool()
    def buy() -> str:
        return "ok"

    result = call(failwell.server.install(server), "buy")
    assert canonical(result)["retry_after"] == 3600


def test_a_mounted_server_is_behind_the_boundary_too(caplog: pytest.LogCaptureFixture) -> None:
    child, parent = fastmcp.FastMCP("child"), fastmcp.FastMCP("parent")

    @child.tool()
    def broken() -> str:
        raise RuntimeError("who-reads-this")

    parent.mount(child, namespace="c")
    logging.getLogger("fastmcp").addHandler(caplog.handler)
    try:
        result = call(failwell.server.install(parent), "c_broken")
    finally:
        logging.getLogger("fastmcp").removeHandler(caplog.handler)
    assert canonical(result)["code"] == "INTERNAL_ERROR"
    theirs = [record for record in caplog.records if record.name.startswith("fastmcp")]
    assert all("who-reads-this" not in f"{record.getMessage()}{record.exc_info}" for record in theirs)


def test_annotations_decide_about_the_effect(framework: Any) -> None:
    def late() -> str:
        raise TimeoutError

    for name, hints in {
        "write": None,
        "read": mcp_types.ToolAnnotations(read_only_hint=True),
        "put": mcp_types.ToolAnnotations(idempotent_hint=True),
    }.items():
        framework.tool(name=name, annotations=hints)(late)
    failwell.server.install(framework)
    effects = {name: canonical(call(framework, name)).get("effect") for name in ("write", "read", "put")}
    assert effects == {"write": "unknown", "read": "none", "put": None}


@pytest.mark.checklist(168)
def test_something_else_that_was_cancelled_does_not_end_the_call(framework: Any) -> None:
    @framework.tool()
    async def create_another() -> str:
        other = asyncio.ensure_future(anyio.sleep(60))
        await anyio.sleep(0)
        other.cancel()
        await other
        return "never"

    result = call(failwell.server.install(framework), "create_another")
    assert canonical(result)["message"] == "[create_another] A part of the tool's work was cancelled."
    assert canonical(result)["effect"] == "unknown"


def test_what_was_sent_as_a_secret_is_one_wherever_it_turns_up(framework: Any) -> None:
    @framework.tool()
    def login(user: str, password: str) -> str:
        raise ValueError(f"{user} cannot sign in with {password}")

    result = call(failwell.server.install(framework), "login", {"user": "ann", "password": "correct horse"})
    assert canonical(result)["message"] == "ann cannot sign in with [redacted]"


def test_protocol_errors_hold_no_secret(framework: Any) -> None:
    @framework.tool()
    def refuses() -> str:
        raise mcp.MCPError(-32022, "no session for Bearer abcDEF1234567890abcDEF1234567890", {"kept": 1})

    async def main() -> mcp.MCPError:
        server = failwell.server.install(framework)
        async with mcp.Client(server._mcp_server if isinstance(server, fastmcp.FastMCP) else server) as client:
            try:
                await client.call_tool("refuses", {})
            except mcp.MCPError as exc:
                return exc
        raise AssertionError("the call should have been refused")

    refused = asyncio.run(main())
    assert refused.message == "no session for Bearer [redacted]"
    assert (refused.code, refused.data) == (-32022, {"kept": 1})


def test_an_option_that_does_not_exist_is_told_by_its_nearest() -> None:
    with pytest.raises(TypeError, match=r"install\(\) has no option 'formt'; did you mean 'format'\?"):
        failwell.server.install(MCPServer("test", log_level="CRITICAL"), formt="xml")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"wire": {"nope": 1}}, "The format 'text' has no option 'nope'."),
        (
            {"format": "xml", "wire": {"carry": True, "nope": 1}},
            "The format 'xml' has no option 'nope'; it has layout.",
        ),
        ({"wire": {"gate": "html"}}, "There is no gate 'html'; use 'markdown', 'json' or 'both'."),
        ({"format": "jsonrpc", "wire": {"era": "2026-07-28"}}, "wire has no option 'era': that is found out"),
        ({"wire": {5: 1}}, "wire is options by name, such as {'carry': True}, not dict."),
        ({"wire": {"prefix": 5}}, "wire has a value that the format 'text' cannot use: "),
    ],
)
def test_options_of_the_wire_that_would_break_every_failure_are_refused(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        failwell.server.install(MCPServer("test", log_level="CRITICAL"), **options)


def test_options_of_the_wire_are_tried_with_those_of_the_envelope() -> None:
    modes: list[str] = []
    envelope = failwell.server.Envelope(profile="workflow", mode=modes.pop, approval_mode=True)
    failwell.server.install(
        MCPServer("test", log_level="CRITICAL"), format=envelope, wire={"carry": True, "meta": False}
    )


def test_editors_are_told_the_same_options() -> None:
    from dataclasses import fields

    from failwell.server.options import Given, Options

    told = {name: hint.__forward_arg__ for name, hint in Given.__annotations__.items()}
    assert told == {field.name: field.type for field in fields(Options)}


INNER = 'x must be an integer. Next: call inner with {"x": "<integer>"}.'


@pytest.mark.parametrize("error", [DeliberateError, fastmcp.exceptions.ToolError])
@pytest.mark.parametrize("words", [INNER, f"The inner tool said: {INNER}"])
def test_a_step_that_stands_in_the_authors_words_is_said_once(error: type[Exception], words: str) -> None:
    server = MCPServer("test", log_level="CRITICAL") if error is DeliberateError else fastmcp.FastMCP("test")

    @server.tool()
    def outer() -> str:
        raise error(words)

    async def main() -> Any:
        client: Any = mcp.Client(server) if error is DeliberateError else fastmcp.Client(server)
        async with client:
            return await (client.call_tool if error is DeliberateError else client.call_tool_mcp)("outer", {})

    failwell.server.install(server)
    assert asyncio.run(main()).content[0].text.removeprefix("Error: ") == words


@pytest.mark.parametrize(("name", "effect"), [("frobnicate", None), ("create_it", Effect.UNKNOWN)])
def test_what_fails_around_a_tool_that_has_run_proves_nothing_by_its_code(name: str, effect: Effect | None) -> None:
    """A rate limit says that nothing was done; but of what came before the tool alone."""
    with marking(made := Marks()):
        made.has_run = True
        error = fw.Transient("The audit is busy.", code="RATE_LIMITED")
        assert error.effect is Effect.NONE
        changes = Effects().of(error, ToolInfo(name), source=Source.STATED, exc=error)
    assert error.replace(**changes).effect is effect
