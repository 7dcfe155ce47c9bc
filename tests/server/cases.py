"""What is asked of every server: one table of requests that work, fail, or are malformed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from wire import ERAS, LEGACY, SERVERS


@dataclass(frozen=True)
class Case:
    """A request.

    `code` is that of the failure it must lead to everywhere, and `effect` what that must say was done. `untouched` names the servers whose answer must be the one
    they give without Failwell, to the byte.
    """

    id: str
    method: str
    params: dict[str, Any] | None
    code: str | None = None
    effect: str | None = None
    untouched: Collection[str] = ()
    servers: Collection[str] = SERVERS
    eras: Collection[str] = ERAS


def call(id: str, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Case:
    return Case(id, "tools/call", {"name": name, "arguments": arguments or {}}, **more)


def completing(id: str, value: str, **more: Any) -> Case:
    ref = {"type": "ref/prompt", "name": "hello"}
    return Case(id, "completion/complete", {"ref": ref, "argument": {"name": "name", "value": value}}, **more)


SUCCESS: Final = call("success", "echo", {"text": "hi"}, untouched=SERVERS)

WORKING: Final = (
    SUCCESS,
    call("success async", "echo_async", {"text": "hi"}, untouched=SERVERS),
    call("success with an output schema for text", "greet", {"name": "Ann"}, untouched=SERVERS),
    call("success with an output schema", "weather", {"city": "Oslo"}, untouched=SERVERS),
    call("success with blocks and _meta", "blocks", untouched=SERVERS),
    call("success with all arguments", "convert", {"count": 5, "unit": "celsius", "note": None}, untouched=SERVERS),
    call(
        "success with nested arguments",
        "order",
        {"items": [{"sku": "a", "quantity": 1}], "customer_id": "c_1"},
        untouched=SERVERS,
    ),
    Case("tools/list", "tools/list", {}, untouched=SERVERS),
    Case("resources/list", "resources/list", {}, untouched=SERVERS),
    Case("resources/templates/list", "resources/templates/list", {}, untouched=SERVERS),
    Case("prompts/list", "prompts/list", {}, untouched=SERVERS),
    Case("ping", "ping", {}, untouched=SERVERS, eras=(LEGACY,)),
    Case("resource", "resources/read", {"uri": "shop://motd"}, untouched=SERVERS),
    Case("resource from a template", "resources/read", {"uri": "shop://books/1"}, untouched=SERVERS),
    Case("prompt", "prompts/get", {"name": "hello", "arguments": {"name": "Ann"}}, untouched=SERVERS),
    completing("completion", "an", untouched=SERVERS),
)
"""Nothing fails here, so nothing may change. Listings are not in the snapshots."""

LISTINGS: Final = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})

PROTOCOL: Final = (
    Case("arguments are a list", "tools/call", {"name": "echo", "arguments": [1]}, code="INVALID_PARAMS"),
    Case("name is missing", "tools/call", {"arguments": {}}, code="INVALID_PARAMS"),
    Case("name is a number", "tools/call", {"name": 5}, code="INVALID_PARAMS", eras=(LEGACY,)),
    Case("uri is missing", "resources/read", {}, code="INVALID_PARAMS"),
    Case("prompt name is missing", "prompts/get", {}, code="INVALID_PARAMS"),
    Case("unknown method", "tools/cull", {}, code="METHOD_NOT_FOUND"),
)
"""Between client and server: the SDK's own answers, with the data of contract 004."""

OWN: Final = (
    call("own not found", "not_found", code="NOT_FOUND"),
    call("own rate limited", "rate_limited", code="RATE_LIMITED"),
    call("own conflict", "conflict", code="CONFLICT"),
    call("own denied", "denied", code="FORBIDDEN"),
    call("own invalid", "invalid", code="VALIDATION_ERROR"),
    call("own warning", "warning", code="STALE"),
    call("own warning with an output schema", "warning_with_schema", code="STALE"),
    call("own verify", "verify_first", code="TIMEOUT"),
    call("own raised from a cause", "raised_from_cause", code="FORBIDDEN"),
    call("own is the cause of a crash", "own_as_cause", code="NOT_FOUND"),
    call("returned error", "returned_error", code="NOT_FOUND"),
    call("returned Err", "returned_err", code="BILL_SETTLED"),
    call("returned Ok", "returned_ok"),
    call("question raised", "asks"),
    call("question returned", "returned_question"),
    call("question with an output schema", "asks_with_schema"),
)

FRAMEWORK: Final = (
    call("ToolError of the SDK", "sdk_error"),
    call("ToolError of the SDK with a cause", "sdk_error_caused"),
    call("ToolError of the SDK with advice", "sdk_error_with_advice"),
    call("ToolError of FastMCP", "fastmcp_error_raised"),
    call("ToolError of FastMCP with a cause", "fastmcp_error_caused"),
    call("MCPError -32010 with retryAfter", "mcp_error"),
    call("MCPError -32602", "mcp_invalid_params", code="INVALID_PARAMS"),
    call("MCPError -32000", "mcp_bare_number"),
    call("MCPError -32042", "url_elicitation", untouched=("mcpserver", "lowlevel"), eras=("2025-11-25",)),
    # The newer specification forbids the number.
    call("MCPError -32042 of old", "url_elicitation", code="UNAUTHORIZED", eras=("2026-07-28",)),
    call("author's own isError", "author_error", untouched=SERVERS),
    call("author's own isError with an output schema", "author_error_with_schema", untouched=SERVERS),
    call("author's own isError by ToolResult", "fastmcp_author_error", untouched=SERVERS, servers=("fastmcp",)),
)

UNPLANNED: Final = (
    call("ValueError", "value_error", code="VALIDATION_ERROR"),
    call("ValueError with a secret", "value_error_secret", code="VALIDATION_ERROR"),
    call("KeyError with a secret", "key_error", code="NOT_FOUND"),
    call("async crash", "crash_async", code="INTERNAL_ERROR"),
    call("crash with an output schema", "crash_with_schema", code="INTERNAL_ERROR"),
    call("crash with an output schema for text", "crash_text_schema", code="INTERNAL_ERROR"),
    call("crash of a read-only tool", "crash_read_only", code="INTERNAL_ERROR"),
    call("StopIteration", "stop_iteration", code="INTERNAL_ERROR"),
    call("RecursionError", "recursion", code="INTERNAL_ERROR"),
    call("TimeoutError", "timeout", code="TIMEOUT"),
    call("asyncio.timeout", "asyncio_timeout", code="TIMEOUT"),
    call("timeout of the tool", "tool_timeout", servers=("fastmcp",), code="TIMEOUT"),
    call("timeout of a read-only tool", "timeout_read_only", code="TIMEOUT"),
    call("timeout of an idempotent tool", "timeout_idempotent", code="TIMEOUT"),
    call("SystemExit", "exits", code="INTERNAL_ERROR"),
    call("success after SystemExit", "echo", {"text": "still here"}),
    call("SystemExit async", "exits_async", code="INTERNAL_ERROR"),
    call("success after SystemExit async", "echo", {"text": "still here"}),
    call("ExceptionGroup", "group", code="NETWORK_ERROR"),
    call("ExceptionGroup with our own inside", "group_of_own", code="NOT_FOUND"),
    call("FileNotFoundError", "file_not_found", code="NOT_FOUND"),
    call("HTTP 429 with Retry-After", "http_429", code="RATE_LIMITED"),
    call("HTTP 404 with a body", "http_404", code="NOT_FOUND"),
    call("HTTP read timeout", "http_read_timeout", code="TIMEOUT"),
    call("HTTP connect error", "http_connect_error", code="NETWORK_ERROR"),
    call("validation of other data in the body", "body_validation", code="INTERNAL_ERROR"),
    call("validation of an argument in the body", "body_validation_of_argument", {"place": {"city": "Oslo"}}),
    call("result breaks the output schema", "broken_result", code="INTERNAL_ERROR"),
    call("built result breaks the output schema", "broken_result_built", code="INTERNAL_ERROR"),
)

ARGUMENTS: Final = (
    call("argument missing", "convert", code="VALIDATION_ERROR"),
    Case("arguments missing", "tools/call", {"name": "convert"}, code="VALIDATION_ERROR"),
    call("argument of a wrong type", "convert", {"count": "abc"}, code="VALIDATION_ERROR"),
    call("argument of a type that can be read", "convert", {"count": "5"}, untouched=("mcpserver", "fastmcp")),
    call("argument null", "convert", {"count": None}, code="VALIDATION_ERROR"),
    call("option that does not exist", "convert", {"count": 1, "unit": "kelvin"}, code="VALIDATION_ERROR"),
    call("option with a typo", "convert", {"count": 1, "unit": "celcius"}, code="VALIDATION_ERROR"),
    call("unknown argument with a near name", "convert", {"count": 1, "units": "celsius"}, code="VALIDATION_ERROR"),
    call("unknown argument far from any", "convert", {"count": 1, "zzz": True}),
    call("missing argument under a near name", "convert", {"cuont": 1}, code="VALIDATION_ERROR"),
    call("several problems", "convert", {"count": "abc", "unit": "kelvin", "zzz": 1}, code="VALIDATION_ERROR"),
    call(
        "nested problems",
        "order",
        {"items": [{"sku": "a", "quantity": 1}, {"sku": 5, "quantity": 0}, {}], "customer_id": "c_1"},
        code="VALIDATION_ERROR",
    ),
    call(
        "nested object where a list belongs",
        "order",
        {"items": {"sku": "a"}, "customer_id": "c_1"},
        code="VALIDATION_ERROR",
    ),
    call("list as a text", "order", {"items": '[{"sku": "a", "quantity": 1}]', "customer_id": "c_1"}),
    call("case of an argument's name", "order", {"items": [], "customerId": "c_1"}, code="VALIDATION_ERROR"),
    call(
        "secret argument rejected",
        "login",
        {"user": "ann", "password": "hunter2", "pin": "hunter2"},
        code="VALIDATION_ERROR",
    ),
    call("unknown tool with a near name", "ecko", {"text": "hi"}, code="UNKNOWN_TOOL"),
    call("unknown tool far from any", "zzzzzz", code="UNKNOWN_TOOL"),
    call("arguments for a tool without any", "blocks", {"verbose": True}),
)

MIDDLEWARE: Final = (
    call("middleware with its own exception", "limited_custom", code="INTERNAL_ERROR"),
    call("middleware with MCPError -32000", "limited_number"),
    call("middleware with our own", "limited_own", code="RATE_LIMITED"),
    call("middleware that limits rates", "limited_rate", servers=("fastmcp",), code="RATE_LIMITED"),
)

_FRAMEWORKS: Final = ("mcpserver", "fastmcp")
AUDITED: Final = (
    call("middleware with its own exception after the tool", "audited_crash", code="INTERNAL_ERROR", effect="unknown"),
    call("middleware with MCPError -32602 after the tool", "audited_number", effect="unknown"),
    call("middleware with our own after the tool", "audited_own", code="RATE_LIMITED", effect="unknown"),
    call("middleware with another tool after the tool", "audited_call", effect="unknown", servers=_FRAMEWORKS),
)
"""Somebody around the tool fails once it has run."""

NESTED: Final = (
    call("inner tool that says it did nothing", "calls_sold_out", effect="unknown", servers=_FRAMEWORKS),
    call("inner tool that asks for a wait", "calls_limited", effect="unknown", servers=_FRAMEWORKS),
    call("inner tool that refuses", "calls_refusing", effect="unknown", servers=_FRAMEWORKS),
    call("inner tool before its marks", "calls_unreached", effect="unknown", servers=_FRAMEWORKS),
    call("inner tool that only reads", "calls_reading", effect="unknown", servers=_FRAMEWORKS),
    call("inner tool with a wrong argument", "calls_wrongly", effect="unknown", servers=_FRAMEWORKS),
    call("inner tool that does not exist", "calls_nobody", effect="unknown", servers=_FRAMEWORKS),
    call("inner tool run by hand that says it did nothing", "runs_sold_out", effect="unknown", servers=("fastmcp",)),
    call("inner tool run by hand that refuses", "runs_refusing", effect="unknown", servers=("fastmcp",)),
    call("inner tool run by hand with a wrong argument", "runs_wrongly", effect="unknown", servers=("fastmcp",)),
    call("inner tool with a ToolError of the SDK", "calls_raising", effect="unknown", servers=_FRAMEWORKS),
)
"""A tool has done something, and then calls another one of its server, which fails and says that nothing was done."""

WRITTEN: Final = (
    call("result that cannot be written", "unwritable", code="INTERNAL_ERROR", effect="done", servers=_FRAMEWORKS),
    call("result of no kind", "no_result", code="INTERNAL_ERROR", effect="done", servers=("lowlevel",)),
    Case("what was really done", "resources/read", {"uri": "shop://ledger"}),
)

REQUESTS: Final = (
    Case("resource unknown", "resources/read", {"uri": "shop://nothing"}, code="NOT_FOUND"),
    Case("resource of another scheme", "resources/read", {"uri": "file:///etc/passwd"}, code="NOT_FOUND"),
    Case("resource crash", "resources/read", {"uri": "shop://crash"}, code="INTERNAL_ERROR"),
    Case("resource deliberate", "resources/read", {"uri": "shop://deliberate"}),
    Case("resource own", "resources/read", {"uri": "shop://own"}, code="UNAVAILABLE"),
    Case("template crash", "resources/read", {"uri": "shop://books/2"}, code="INTERNAL_ERROR"),
    Case("template timeout", "resources/read", {"uri": "shop://books/3"}, code="TIMEOUT"),
    Case("template own", "resources/read", {"uri": "shop://books/4"}, code="NOT_FOUND"),
    Case("template ValueError", "resources/read", {"uri": "shop://books/5"}, code="VALIDATION_ERROR"),
    Case("prompt unknown", "prompts/get", {"name": "helo"}),
    Case("prompt argument missing", "prompts/get", {"name": "hello"}),
    Case("prompt crash", "prompts/get", {"name": "broken_prompt"}),
    Case("prompt own", "prompts/get", {"name": "own_prompt"}, code="FORBIDDEN"),
    Case("prompt ValueError", "prompts/get", {"name": "rejecting_prompt", "arguments": {"name": ""}}),
    completing("completion crash", "crash"),
    completing("completion own", "own", code="UNAVAILABLE"),
    call("success after everything", "echo", {"text": "hi"}, untouched=SERVERS),
)

ALL: Final = (
    *WORKING,
    *PROTOCOL,
    *OWN,
    *FRAMEWORK,
    *UNPLANNED,
    *ARGUMENTS,
    *MIDDLEWARE,
    *AUDITED,
    *NESTED,
    *WRITTEN,
    *REQUESTS,
)


def applicable(cases: Collection[Case], server: str, era: str) -> list[Case]:
    return [each for each in cases if server in each.servers and era in each.eras]


@dataclass(frozen=True)
class Variant:
    """Options, and the cases they matter to."""

    id: str
    options: dict[str, Any]
    cases: tuple[str, ...]
    servers: Collection[str] = SERVERS
    transport: str = "stdio"


_SAMPLE: Final = (
    "own not found",
    "own rate limited",
    "own conflict",
    "own invalid",
    "own warning",
    "own verify",
    "question raised",
    "ToolError of the SDK",
    "KeyError with a secret",
    "crash with an output schema",
    "TimeoutError",
    "HTTP 429 with Retry-After",
    "several problems",
    "unknown tool with a near name",
    "middleware with its own exception",
    "success",
)

VARIANTS: Final = (
    *(
        Variant(f"format-{format}", {"format": format}, _SAMPLE, servers=("mcpserver",))
        for format in ("typed", "v1", "xml", "envelope", "jsonrpc", "problem", "canonical")
    ),
    Variant(
        "v1-both",
        {"format": "v1", "wire": {"gate": "both"}},
        ("KeyError with a secret", "question raised"),
        ("mcpserver",),
    ),
    Variant(
        "unknown-tool-protocol",
        {"wire": {"protocol": ["UNKNOWN_TOOL"]}},
        ("unknown tool with a near name", "unknown tool far from any", "KeyError with a secret", "success"),
    ),
    Variant(
        "protocol-internal",
        {"wire": {"protocol": ["INTERNAL_ERROR"]}},
        ("KeyError with a secret", "crash with an output schema", "SystemExit", "own not found", "success"),
    ),
    Variant(
        "show-text",
        {"show_text": True},
        ("KeyError with a secret", "async crash", "RecursionError", "HTTP 429 with Retry-After", "success"),
    ),
    Variant(
        "no-validation",
        {"validate": False},
        (
            "argument of a wrong type",
            "built result breaks the output schema",
            "unknown argument far from any",
            "success",
        ),
    ),
)
