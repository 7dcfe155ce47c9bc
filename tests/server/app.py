"""One table of tools, resources and prompts that work and fail, served by each framework over each transport.

    python app.py {mcpserver|lowlevel|fastmcp} {stdio|http PORT} [--bare] [--options JSON]
                  [--features] [--setting NAME] [--notes PATH]
    python app.py nursery PATH

`--bare` leaves Failwell out. `--features` serves the tools of features.py instead, `--setting` names options that are no
JSON, which stand there too, and `--notes` is a file for what happens. With port 0 the system chooses one; the port is the first line printed. The HTTP server
ends when its standard input does, so that it never outlives the test that started it.

A nursery has imported everything, and forks a server for each connection to its socket: the connection becomes the
server's standard input and output. That takes a tenth of the time.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import inspect
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, get_type_hints

from pydantic import BaseModel, Field, TypeAdapter, field_serializer
from sdk_names import GENERATION, UrlElicitationRequiredError, httpx, page_to_visit
from sdk_names import ResourceError as SdkResourceError
from sdk_names import ResourceNotFoundError as SdkResourceNotFoundError
from sdk_names import ToolError as SdkToolError
from transports import run_http, run_stdio

import failwell as fw
from failwell.model import Action
from failwell.sdk import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from failwell.sdk import protocol_error as MCPError
from failwell.sdk import result as result_with

NAME = "shop"
VERSION = "1.0"
# Would be seen at once if an exception's text got out.
SECRET = "postgres://app:hunter2secret@db.internal:5432/prod"


class Weather(BaseModel):
    city: str
    degrees: int


class Item(BaseModel):
    sku: str
    quantity: int = Field(ge=1)


class Overloaded(Exception):
    """A middleware's own exception."""


class Unsayable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("there are no words for it")

    __repr__ = __str__


class Misread(Exception):
    """One whose mapping raises."""


def fastmcp_error(message: str) -> Exception:
    # FastMCP takes a while to import, and only its own users raise this.
    from fastmcp.exceptions import ToolError

    return ToolError(message)


@dataclass(frozen=True)
class Tool:
    fn: Callable[..., Any]
    annotations: ToolAnnotations | None = None
    timeout: float | None = None
    only: str | None = None

    @property
    def name(self) -> str:
        return self.fn.__name__


TOOLS: dict[str, Tool] = {}
WRITES = ToolAnnotations.model_validate({"readOnlyHint": False})


def tool(**facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn.__doc__ = fn.__doc__ or f"The tool {fn.__name__}."
        TOOLS[fn.__name__] = Tool(fn, **facts)
        return fn

    return register


@tool()
def echo(text: str):
    return text


@tool()
async def echo_async(text: str):
    return text


@tool()
def greet(name: str) -> str:
    return f"Hello, {name}."


@tool()
def weather(city: str) -> Weather:
    return Weather(city=city, degrees=7)


@tool()
def blocks():
    return result_with(
        [TextContent(type="text", text="one"), TextContent(type="text", text="two")], meta={"com.example/trace": "t_1"}
    )


@tool()
def returned_ok():
    return fw.Ok("five")


# Failures in our own words.


@tool()
def not_found(project: str = "p_1"):
    raise fw.NotFound(
        f"Project {project!r} does not exist.", suggestion="Call list_projects first.", actions=["list_projects"]
    )


@tool()
def rate_limited():
    raise fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=30)


@tool()
def conflict():
    raise fw.Conflict(
        "The file is being edited.", conflicts=[{"agent_id": "a_2", "pattern": "src/*.py", "held_by": "a_1"}]
    )


@tool()
def denied():
    raise fw.Denied("You may not delete invoices.")


@tool()
def invalid(start: str = "2026-05-03", end: str = "2026-05-01"):
    raise fw.Invalid("The period ends before it begins.", fields={"end": "Must not be before start"})


@tool()
def warning():
    raise fw.ToolError("The report is from yesterday.", code="STALE", kind="transient", severity="warning")


@tool()
def warning_with_schema() -> Weather:
    raise fw.ToolError("The report is from yesterday.", code="STALE", kind="transient", severity="warning")


@tool()
def asks_with_schema() -> Weather:
    raise fw.NeedsInput("Which city?", fields=["city"])


@tool()
def verify_first():
    raise fw.Transient(
        "The bank did not answer in time.",
        code="TIMEOUT",
        verify=Action("get_invoice", arguments={"id": "inv_1"}),
    )


@tool()
def raised_from_cause():
    try:
        raise KeyError(SECRET)
    except KeyError as exc:
        raise fw.Denied("You may not see this customer.") from exc


@tool()
def own_as_cause():
    try:
        raise fw.NotFound("Customer c_1 does not exist.")
    except fw.NotFound as exc:
        raise RuntimeError(SECRET) from exc


@tool()
def returned_error():
    return fw.NotFound("Invoice inv_9 does not exist.")


@tool()
def returned_err():
    return fw.Err(fw.ToolError("Invoice inv_1 is paid.", code="BILL_SETTLED", kind="conflict"))


@tool()
def asks():
    raise fw.NeedsInput("Which pattern?", fields=["id"], suggestions={"id": ["retry", "stream"]})


@tool()
def returned_question():
    return fw.NeedsInput("Which pattern?", fields=["id"], suggestions={"id": ["retry", "stream"]})


# Failures in the frameworks' words.


@tool()
def sdk_error():
    raise SdkToolError("The disk is full")


@tool()
def sdk_error_caused():
    try:
        raise ConnectionRefusedError(SECRET)
    except OSError as exc:
        raise SdkToolError("The warehouse does not answer") from exc


@tool()
def sdk_error_with_advice():
    raise SdkToolError("There is no city 'Pariss'. Try 'Paris', or call list_cities.")


@tool()
def fastmcp_error_raised():
    raise fastmcp_error("The disk is full")


@tool()
def fastmcp_error_caused():
    try:
        raise ConnectionRefusedError(SECRET)
    except OSError as exc:
        raise fastmcp_error("The warehouse does not answer") from exc


@tool()
def mcp_error():
    raise MCPError(-32010, "quota exhausted", {"retryAfter": 7})


@tool()
def mcp_invalid_params():
    raise MCPError(-32602, "The cursor is too old", {"cursor": "c_1"})


@tool()
def mcp_bare_number():
    raise MCPError(-32000, "Something is off")


@tool()
def url_elicitation():
    raise UrlElicitationRequiredError([page_to_visit("Sign in first", "https://example.com/sign-in", "e_1")])


@tool()
def author_error():
    return result_with(
        [TextContent(type="text", text="My own words.")],
        structured_content={"mine": True, "nothing": None},
        is_error=True,
        meta={"com.example/mine": 1},
    )


@tool()
def author_error_with_schema() -> Annotated[CallToolResult, Weather]:
    return result_with(
        [TextContent(type="text", text="My own words.")], structured_content={"mine": True}, is_error=True
    )


@tool(only="fastmcp")
def fastmcp_author_error():
    from fastmcp.tools.base import ToolResult

    return ToolResult(content="My own words.", structured_content={"mine": True}, is_error=True)


# Failures nobody planned.


@tool()
def value_error(amount: int = -1):
    raise ValueError("amount must be positive")


@tool()
def value_error_secret():
    raise ValueError(f"cannot connect to {SECRET}")


@tool()
def key_error():
    raise KeyError(SECRET)


@tool()
async def crash_async():
    raise RuntimeError(f"cannot connect to {SECRET}")


@tool()
def crash_with_schema() -> Weather:
    raise RuntimeError(f"cannot connect to {SECRET}")


@tool()
def crash_text_schema() -> str:
    raise RuntimeError(f"cannot connect to {SECRET}")


@tool()
def stop_iteration():
    return next(iter(()))


@tool()
def timeout():
    raise TimeoutError(SECRET)


@tool()
async def asyncio_timeout():
    async with asyncio.timeout(0.02):
        await asyncio.sleep(60)


@tool(only="fastmcp", timeout=0.05)
async def tool_timeout():
    await asyncio.sleep(60)


@tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def timeout_read_only():
    raise TimeoutError(SECRET)


@tool(annotations=ToolAnnotations.model_validate({"idempotentHint": True}))
def timeout_idempotent():
    raise TimeoutError(SECRET)


@tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def crash_read_only():
    raise RuntimeError(SECRET)


@tool()
def exits():
    sys.exit(f"bye {SECRET}")


@tool()
async def exits_async():
    sys.exit(3)


@tool()
def group():
    raise ExceptionGroup("two went wrong", [KeyError(SECRET), ConnectionRefusedError(SECRET)])


@tool()
def group_of_own():
    raise ExceptionGroup("one went wrong", [ValueError(SECRET), fw.NotFound("Customer c_1 does not exist.")])


@tool()
def file_not_found():
    raise FileNotFoundError(2, "No such file or directory", "/srv/secret/customers.csv")


@tool()
def http_429():
    request = httpx.Request("GET", f"https://api.example.com/v1?key={SECRET}")
    response = httpx.Response(429, headers={"Retry-After": "7"}, request=request, text=SECRET)
    raise httpx.HTTPStatusError(SECRET, request=request, response=response)


@tool()
def http_404():
    request = httpx.Request("GET", "https://api.example.com/v1/things/9")
    response = httpx.Response(404, request=request, json={"message": "thing 9 is unknown"})
    raise httpx.HTTPStatusError("404", request=request, response=response)


@tool()
def http_read_timeout():
    raise httpx.ReadTimeout(SECRET, request=httpx.Request("POST", "https://api.example.com/v1"))


@tool()
def http_connect_error():
    raise httpx.ConnectError(SECRET, request=httpx.Request("GET", "https://api.example.com/v1"))


@tool()
def body_validation():
    Weather.model_validate({"city": SECRET, "degrees": SECRET})


@tool()
def body_validation_of_argument(place: dict):
    Weather.model_validate(place)


@tool()
def broken_result() -> Weather:
    return {"city": SECRET}  # type: ignore[return-value]


@tool()
def broken_result_built() -> Annotated[CallToolResult, Weather]:
    return result_with([TextContent(type="text", text="ok")], structured_content={"city": SECRET})


# Arguments.


@tool()
def convert(count: int, unit: Literal["celsius", "fahrenheit"] = "celsius", note: str | None = None):
    return f"{count} {unit}"


@tool()
def order(items: list[Item], customer_id: str, express: bool = False):
    return f"{len(items)} for {customer_id}"


@tool()
def login(user: str, password: Annotated[str, Field(min_length=8)], pin: int = 0):
    return "welcome"


# Stopped by middleware before they run.


@tool()
def limited_custom():
    return "never"


@tool()
def limited_number():
    return "never"


@tool()
def limited_own():
    return "never"


@tool()
def limited_endless():
    return "never"


@tool(only="fastmcp")
def limited_rate():
    return "never"


def limit(name: str) -> None:
    """What a middleware that limits some tools does."""
    if name == "limited_custom":
        raise Overloaded(f"over the limit of {SECRET}")
    if name == "limited_number":
        raise MCPError(-32000, "Rate limit exceeded")
    if name == "limited_own":
        raise fw.Transient("Too many calls today.", code="RATE_LIMITED", retry_after=60)
    if name == "limited_endless":
        raise Wordless
    if name == "limited_rate":
        from fastmcp.server.middleware.rate_limiting import RateLimitError

        raise RateLimitError


# Failed around once they had run.

LEDGER: list[str] = []
"""What tools have really done, which nobody may hear was not."""


class Receipt(BaseModel):
    number: int

    @field_serializer("number")
    def written(self, number: int) -> int:
        raise RuntimeError(f"cannot connect to {SECRET}")


class Nothing:
    """No result of any kind."""


@tool(annotations=WRITES)
def audited_crash():
    LEDGER.append("audited_crash")
    return "paid"


@tool(annotations=WRITES)
def audited_number():
    LEDGER.append("audited_number")
    return "paid"


@tool(annotations=WRITES)
def audited_own():
    LEDGER.append("audited_own")
    return "paid"


@tool(annotations=WRITES)
def audited_call():
    LEDGER.append("audited_call")
    return "paid"


@tool(annotations=WRITES)
def unwritable():
    LEDGER.append("unwritable")
    return Receipt(number=7)


@tool(only="lowlevel", annotations=WRITES)
def no_result():
    LEDGER.append("no_result")
    return Nothing()


async def audit(name: str) -> None:
    """What a middleware that writes down some calls does once they were made."""
    if name == "audited_crash":
        raise Overloaded(f"cannot connect to {SECRET}")
    if name == "audited_number":
        raise MCPError(-32602, "The audit takes no such thing")
    if name == "audited_own":
        raise fw.Transient("The audit is busy.", code="RATE_LIMITED", retry_after=60)
    if name == "audited_call":
        await call_another("sold_out", {})


# One inside another.


Calls = Callable[[str, dict[str, Any]], Awaitable[Any]]
call_another: Calls
run_another: Calls
"""How a tool of the server that is served calls another of its tools; each framework has its own ways."""


@tool()
def sold_out():
    raise fw.Conflict("The last one is sold.", effect="none")


@tool()
def unreached():
    if LEDGER:
        raise ConnectionRefusedError(111, "refused")
    with fw.effects():
        return "reached"


@tool(annotations=WRITES)
async def calls_sold_out():
    LEDGER.append("calls_sold_out")
    await call_another("sold_out", {})


@tool(annotations=WRITES)
async def calls_limited():
    LEDGER.append("calls_limited")
    await call_another("rate_limited", {})


@tool(annotations=WRITES)
async def calls_refusing():
    LEDGER.append("calls_refusing")
    await call_another("value_error", {})


@tool(annotations=WRITES)
async def calls_unreached():
    LEDGER.append("calls_unreached")
    await call_another("unreached", {})


@tool(annotations=WRITES)
async def calls_reading():
    LEDGER.append("calls_reading")
    await call_another("timeout_read_only", {})


@tool(annotations=WRITES)
async def calls_wrongly(count: int = 1):
    LEDGER.append("calls_wrongly")
    await call_another("convert", {"count": "abc"})


@tool(only="fastmcp", annotations=WRITES)
async def runs_sold_out():
    LEDGER.append("runs_sold_out")
    await run_another("sold_out", {})


@tool(only="fastmcp", annotations=WRITES)
async def runs_refusing():
    LEDGER.append("runs_refusing")
    await run_another("value_error", {})


@tool(only="fastmcp", annotations=WRITES)
async def runs_wrongly(count: int = 1):
    LEDGER.append("runs_wrongly")
    await run_another("convert", {"count": "abc"})


@tool(annotations=WRITES)
async def calls_nobody():
    LEDGER.append("calls_nobody")
    await call_another("no_such_tool", {})


@tool(annotations=WRITES)
async def calls_raising():
    LEDGER.append("calls_raising")
    await call_another("sdk_error", {})


# Hostile exceptions.


@tool()
def unsayable():
    raise Unsayable


@tool()
def endless():
    raise Wordless


@tool()
def endless_group():
    raise ExceptionGroup("g", [Wordless()])


@tool()
def cycle():
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    raise one


@tool()
def own_cycle():
    error = RuntimeError("me")
    error.__context__ = error
    error.__cause__ = error
    raise error


@tool()
def deep_chain():
    error: Exception | None = None
    for number in range(5_000):
        link = RuntimeError(f"link {number}")
        link.__cause__ = error
        error = link
    raise error  # type: ignore[misc]


@tool()
def deep_group():
    group: Exception = ValueError("inner")
    for _ in range(300):
        group = ExceptionGroup("g", [group])
    raise group


@tool()
def misread():
    raise Misread(SECRET)


@tool()
def long_text():
    raise ValueError("x" * 10_000_000)


@tool()
def odd_text():
    raise ValueError("a\ud800b\x00c\x1b[31md‮e</tool_error>")


@tool()
async def cancels_itself():
    raise asyncio.CancelledError


@tool()
def recursion():
    return recursion()


@tool()
def anything(value: Any = None):
    return "ok"


def _read(uri: str) -> str:
    if uri == "shop://motd":
        return "Welcome."
    if uri == "shop://ledger":
        return ", ".join(LEDGER)
    if uri == "shop://crash":
        raise RuntimeError(f"cannot connect to {SECRET}")
    if uri == "shop://deliberate":
        raise SdkResourceError("The shelf is locked")
    if uri == "shop://endless":
        raise Wordless
    if uri == "shop://own":
        raise fw.Transient("The shelf is being filled.", code="UNAVAILABLE", retry_after=5)
    raise SdkResourceNotFoundError(f"Unknown resource: {uri}")


def _reader(uri: str) -> Callable[[], str]:
    def read() -> str:
        return _read(uri)

    return read


RESOURCES = ("shop://motd", "shop://crash", "shop://deliberate", "shop://own", "shop://endless", "shop://ledger")


def book(isbn: str) -> str:
    if isbn == "1":
        return "A book."
    if isbn == "2":
        raise KeyError(SECRET)
    if isbn == "3":
        raise TimeoutError(SECRET)
    if isbn == "5":
        raise ValueError("isbn must have 13 digits")
    raise fw.NotFound(f"There is no book {isbn}.", suggestion="Look into shop://motd.")


TEMPLATE = "shop://books/{isbn}"


def hello(name: str) -> str:
    return f"Say hello to {name}."


def broken_prompt() -> str:
    raise RuntimeError(f"cannot connect to {SECRET}")


def own_prompt() -> str:
    raise fw.Denied("You may not use this prompt.")


def rejecting_prompt(name: str) -> str:
    raise ValueError("name must not be empty")


def endless_prompt() -> str:
    raise Wordless


PROMPTS = (hello, broken_prompt, own_prompt, rejecting_prompt, endless_prompt)


def complete(value: str) -> list[str]:
    if value == "crash":
        raise RuntimeError(f"cannot connect to {SECRET}")
    if value == "endless":
        raise Wordless
    if value == "own":
        raise fw.Transient("The index is being built.", code="UNAVAILABLE", retry_after=5)
    return ["ann", "anton"]


def tools_for(framework: str) -> list[Tool]:
    return [each for each in TOOLS.values() if each.only in (None, framework)]


async def around(ctx: Any, call_next: Any) -> Any:
    name = str((ctx.params or {}).get("name", "")) if ctx.method == "tools/call" else ""
    limit(name)
    result = await call_next(ctx)
    await audit(name)
    return result


def calls_by(call: Calls, run: Calls | None = None) -> None:
    """Say how the tools of the server that is made now call each other."""
    global call_another, run_another
    call_another, run_another = call, run or call


def by_hand(server: Any) -> Calls:
    async def run(name: str, arguments: dict[str, Any]) -> Any:
        return await (await server.get_tool(name)).run(arguments)

    return run


def mcpserver() -> Any:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.prompts.base import Prompt
    from mcp_types import Completion

    server = MCPServer(NAME, version=VERSION, middleware=[around])
    # Looked up when it is called, as a tool would: `install` may have changed it by then.
    calls_by(lambda name, arguments: server.call_tool(name, arguments))
    for each in tools_for("mcpserver"):
        server.add_tool(each.fn, annotations=each.annotations)
    for uri in RESOURCES:
        server.resource(uri, name=uri.rpartition("/")[2])(_reader(uri))
    server.resource(TEMPLATE)(book)
    for fn in PROMPTS:
        server.add_prompt(Prompt.from_function(fn))

    @server.completion()
    async def completion(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=complete(argument.value))

    return server


def fastmcp() -> Any:
    from fastmcp import FastMCP
    from fastmcp.server.middleware import Middleware

    class Around(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            limit(context.message.name)
            result = await call_next(context)
            await audit(context.message.name)
            return result

    server = FastMCP(NAME, version=VERSION, middleware=[Around()])
    calls_by(lambda name, arguments: server.call_tool(name, arguments), by_hand(server))
    for each in tools_for("fastmcp"):
        server.tool(each.fn, annotations=each.annotations, timeout=each.timeout)
    for uri in RESOURCES:
        server.resource(uri, name=uri.rpartition("/")[2])(_reader(uri))
    server.resource(TEMPLATE)(book)
    for fn in PROMPTS:
        server.prompt(fn)

    @server.completion
    async def completion(ref: Any, argument: Any, context: Any) -> list[str]:
        return complete(argument.value)

    return server


def lowlevel() -> Any:
    import mcp_types as types
    from mcp.server.lowlevel import Server

    tools = {each.name: each for each in tools_for("lowlevel")}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=each.name,
                    description=each.fn.__doc__,
                    input_schema=_input_schema(each.fn),
                    output_schema=_output_schema(each.fn),
                    annotations=each.annotations,
                )
                for each in tools.values()
            ]
        )

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
        if params.name not in tools:
            raise ValueError(f"Unknown tool: {params.name}")
        fn = tools[params.name].fn
        known = inspect.signature(fn).parameters
        value = fn(**{name: given for name, given in (params.arguments or {}).items() if name in known})
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, fw.Ok):
            return fw.Ok(_result(value.value))
        return value if isinstance(value, (fw.ToolError, fw.NeedsInput, fw.Err)) else _result(value)

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[types.Resource(uri=uri, name=uri.rpartition("/")[2]) for uri in RESOURCES]
        )

    async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(uri_template=TEMPLATE, name="book")
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(ctx: Any, params: Any) -> types.ReadResourceResult:
        uri = str(params.uri)
        start, _, isbn = uri.rpartition("/")
        found = book(isbn) if start == "shop://books" else _read(uri)
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=found)])

    async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name=fn.__name__) for fn in PROMPTS])

    async def get_prompt(ctx: Any, params: Any) -> types.GetPromptResult:
        fn = {fn.__name__: fn for fn in PROMPTS}.get(params.name)
        if fn is None:
            raise ValueError(f"Unknown prompt: {params.name}")
        content = TextContent(type="text", text=fn(**(params.arguments or {})))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def completion(ctx: Any, params: Any) -> types.CompleteResult:
        return types.CompleteResult(completion=types.Completion(values=complete(params.argument.value)))

    server = Server(
        NAME,
        version=VERSION,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=completion,
    )
    server.middleware.append(around)
    return server


@functools.cache
def _input_schema(fn: Callable[..., Any]) -> dict[str, Any]:
    schema = TypeAdapter(fn).json_schema()
    # Schemas written by hand rarely say it.
    schema.pop("additionalProperties", None)
    return {"properties": {}, **schema}


@functools.cache
def _output_schema(fn: Callable[..., Any]) -> dict[str, Any] | None:
    promised = get_type_hints(fn, include_extras=True).get("return")
    for each in (promised, *getattr(promised, "__metadata__", ())):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each.model_json_schema()
    return None


def _result(value: Any) -> CallToolResult | InputRequiredResult:
    if isinstance(value, (CallToolResult, InputRequiredResult, Nothing)):
        return value
    if value is None:
        return CallToolResult(content=[])
    structured = value.model_dump() if isinstance(value, BaseModel) else value if isinstance(value, dict) else None
    shown = value if isinstance(value, str) else json.dumps(structured if structured is not None else value)
    return result_with([TextContent(type="text", text=shown)], structured_content=structured)


SERVERS: dict[str, Callable[[], Any]] = {"mcpserver": mcpserver, "lowlevel": lowlevel, "fastmcp": fastmcp}
if GENERATION == 1:
    # The servers of the older SDK need none of the above but its tools, and have this module in another name.
    sys.modules.setdefault("app", sys.modules[__name__])
    import app_sdk1

    SERVERS = app_sdk1.SERVERS


def serve(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("framework", choices=sorted(SERVERS))
    parser.add_argument("transport", choices=["stdio", "http"])
    parser.add_argument("port", type=int, nargs="?", default=0)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--options", type=json.loads, default={})
    parser.add_argument("--features", action="store_true")
    parser.add_argument("--setting", default="none")
    parser.add_argument("--notes")
    chosen = parser.parse_args(arguments)
    more: dict[str, Any] = {}
    if chosen.features:
        import features

        TOOLS.clear()
        TOOLS.update({fn.__name__: Tool(fn) for fn in features.TOOLS})
        more = features.SETTINGS[chosen.setting](chosen.notes)
    server = SERVERS[chosen.framework]()
    if chosen.features:
        features.started(server)
    if not chosen.bare:
        import failwell.server

        @fw.classify.maps(Misread)
        def misreading(exc: Misread) -> fw.ToolError:
            raise LookupError(f"no reading of {exc}")

        failwell.server.install(server, **chosen.options, **more)
    if chosen.transport == "stdio":
        asyncio.run(run_stdio(chosen.framework, server))
    else:
        # A client that thinks for long keeps its connection.
        config = {"log_level": "warning", "ws": "none", "timeout_keep_alive": 600, "timeout_graceful_shutdown": 1}
        run_http(chosen.framework, server, chosen.port, **config)


def nurse(path: str) -> None:
    import uvicorn.lifespan.on
    import uvicorn.protocols.http.h11_impl  # noqa: F401

    for make in SERVERS.values():
        # They import more while they are made.
        make()

    # Nobody waits for the children.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    door = socket.socket(socket.AF_UNIX)
    door.bind(path)
    door.listen(64)
    print("ready", flush=True)
    while True:
        readable, _, _ = select.select([door, 0], [], [])
        if 0 in readable:
            # Whoever started the nursery has gone.
            return
        connection, _ = door.accept()
        wish = b""
        while not wish.endswith(b"\n"):
            wish += connection.recv(1)
        if os.fork() == 0:
            door.close()
            be_born(connection, **json.loads(wish))
        connection.close()


def be_born(connection: socket.socket, arguments: list[str], errors: str) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(errors, os.O_WRONLY), 2)
    os.dup2(connection.fileno(), 0)
    os.dup2(connection.fileno(), 1)
    connection.close()
    status = 1
    try:
        print(os.getpid(), flush=True)
        serve(arguments)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    if sys.argv[1] == "nursery":
        nurse(sys.argv[2])
    else:
        serve(sys.argv[1:])
