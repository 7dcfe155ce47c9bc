"""Servers whose every failure holds a secret, in each framework and over each transport.

    python leaks.py {mcpserver|lowlevel|fastmcp} {stdio|http} RECORD [--bare] [--options JSON] [--level LEVEL]

Writes to standard error what such a server logs, and at the end to RECORD, as JSON, what handlers of the root logger saw
and what an OpenTelemetry exporter, a metric reader and the counters of Failwell were given.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import linecache
import logging
import os
import sqlite3
import subprocess
import sys
import traceback
import urllib.error
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from email.message import Message
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Completion, TextContent
from planted import SHAPED, SHAPES, Canary, as_named, canary
from pydantic import BaseModel, Field, SecretStr, TypeAdapter
from transports import run_http, run_stdio

import failwell as fw
import failwell.server
from failwell.model import Action
from failwell.observe import store

SOURCES: dict[str, Callable[[Canary], Any]] = {}
# Sources that hold the value without its name or place, where only what is recognisable by itself can be recognised.
NAMELESS: set[str] = set()


def source(fn: Callable[[Canary], Any]) -> Callable[[Canary], Any]:
    SOURCES[fn.__name__] = fn
    return fn


def nameless(fn: Callable[[Canary], Any]) -> Callable[[Canary], Any]:
    NAMELESS.add(fn.__name__)
    return source(fn)


@source
def runtime_error(it: Canary) -> None:
    raise RuntimeError(it.text)


@source
def value_error(it: Canary) -> None:
    raise ValueError(it.text)


@source
def key_error(it: Canary) -> None:
    raise KeyError(it.text)


@nameless
def key_error_bare(it: Canary) -> None:
    dict[str, str]()[it.value]


@nameless
def int_of_it(it: Canary) -> None:
    int(it.value)


@source
def assertion(it: Canary) -> None:
    raise AssertionError(it.text)


@source
def timeout_error(it: Canary) -> None:
    raise TimeoutError(it.text)


@source
def refused(it: Canary) -> None:
    raise ConnectionRefusedError(111, it.text)


@source
def permission(it: Canary) -> None:
    raise PermissionError(13, "Permission denied", it.text)


@source
def no_file(it: Canary) -> None:
    raise FileNotFoundError(2, "No such file or directory", it.text)


@source
def system_exit(it: Canary) -> None:
    sys.exit(it.text)


@source
def caused(it: Canary) -> None:
    try:
        raise OSError(it.text)
    except OSError as exc:
        raise RuntimeError("cannot log in") from exc


@source
def value_error_caused(it: Canary) -> None:
    try:
        raise KeyError(it.text)
    except KeyError as exc:
        raise ValueError(f"cannot log in: {exc}") from exc


@source
def in_context(it: Canary) -> None:
    try:
        raise LookupError(it.text)
    except LookupError:
        raise TypeError("cannot log in")  # noqa: B904  (without a cause is the point)


@source
def deep_cause(it: Canary) -> None:
    error: Exception = ValueError(it.text)
    for _ in range(5):
        outer = RuntimeError("once more")
        outer.__cause__ = error
        error = outer
    raise error


@source
def group(it: Canary) -> None:
    raise ExceptionGroup(it.text, [ValueError(it.text), ConnectionResetError(it.text)])


@source
def nested_group(it: Canary) -> None:
    raise ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError(it.text), fw.NotFound(it.text)])])


@source
def note(it: Canary) -> None:
    error = RuntimeError("cannot log in")
    error.add_note(it.text)
    raise error


@source
def value_error_note(it: Canary) -> None:
    error = ValueError("cannot log in")
    error.add_note(it.text)
    raise error


@source
def source_line(it: Canary) -> None:
    """The secret stands in the source code of the line that raises."""
    code = f"connect({', '.join(f'{name.lower()}={value!r}' for name, value in as_named(it).items())})\n"
    file = f"/srv/app/settings_{it.shape}.py"
    linecache.cache[file] = (len(code), None, [code], file)

    def connect(**settings: str) -> None:
        raise OSError("no route to host")

    exec(compile(code, file, "exec"), {"connect": connect})


@source
def command(it: Canary) -> None:
    run = ["curl", "-H", f"Authorization: Bearer {it.value}", "https://api.example.com"]
    raise subprocess.CalledProcessError(22, run, output=it.text, stderr=it.text)


# The environment.


def _environment(it: Canary, write: Callable[[dict[str, str]], str], kind: type[Exception]) -> None:
    kept = dict(os.environ)
    os.environ.update(as_named(it))
    try:
        raise kind(f"bad environment: {write(dict(os.environ))}")
    finally:
        os.environ.clear()
        os.environ.update(kept)


@source
def environ(it: Canary) -> None:
    _environment(it, repr, RuntimeError)


@source
def environ_told(it: Canary) -> None:
    _environment(it, lambda env: repr({name: env[name] for name in ("HOME", *as_named(it)) if name in env}), ValueError)


@source
def environ_lines(it: Canary) -> None:
    _environment(it, lambda env: "\n".join(f"{name}={value}" for name, value in env.items()), RuntimeError)


@source
def environ_json(it: Canary) -> None:
    _environment(it, json.dumps, RuntimeError)


# HTTP.


def _parts(it: Canary) -> tuple[str, dict[str, str], dict[str, str], dict[str, Any]]:
    name = it.name.lower()
    line = it.value.replace("\n", " ")
    url = f"https://api.example.com/v1/things?limit=5&{name}={quote(it.value)}"
    sent = {"Authorization": f"Bearer {line}", "X-Api-Key": line, "Cookie": f"session={quote(it.value)}"}
    got = {"Set-Cookie": f"session={quote(it.value)}; HttpOnly", "Retry-After": "3"}
    return url, sent, got, {"message": it.text, "detail": it.text, "request": as_named(it)}


def _httpx(name: str, status: int, it: Canary) -> None:
    library: Any = __import__(name)
    url, sent, got, body = _parts(it)
    request = library.Request("POST", url, headers=sent, json=body)
    library.Response(status, headers=got, json=body, request=request).raise_for_status()


def _requests(status: int, it: Canary) -> None:
    import requests

    url, sent, got, body = _parts(it)
    response = requests.Response()
    response.status_code, response.url, response.reason = status, url, "Refused"
    response._content = json.dumps(body).encode()
    response.headers.update(got)
    response.request = requests.Request("POST", url, headers=sent, json=body).prepare()
    response.raise_for_status()


for _status in (401, 404, 422, 429, 500):
    SOURCES[f"httpx2_{_status}"] = functools.partial(_httpx, "httpx2", _status)
for _status in (401, 500):
    SOURCES[f"httpx_{_status}"] = functools.partial(_httpx, "httpx", _status)
    SOURCES[f"requests_{_status}"] = functools.partial(_requests, _status)


@source
def httpx2_timeout(it: Canary) -> None:
    import httpx2

    url, sent, _, body = _parts(it)
    raise httpx2.ReadTimeout(it.text, request=httpx2.Request("POST", url, headers=sent, json=body))


@source
def httpx_unreachable(it: Canary) -> None:
    import httpx

    url, sent, _, body = _parts(it)
    raise httpx.ConnectError(f"cannot reach {url}", request=httpx.Request("POST", url, headers=sent, json=body))


@source
def requests_unreachable(it: Canary) -> None:
    import requests

    url, sent, _, body = _parts(it)
    raise requests.ConnectionError(
        f"Max retries exceeded with url: {url}",
        request=requests.Request("POST", url, headers=sent, json=body).prepare(),
    )


@source
def httpx2_user_info(it: Canary) -> None:
    import httpx2

    request = httpx2.Request("GET", f"https://app:{quote(it.value, safe='')}@api.example.com/v1")
    httpx2.Response(403, request=request, text=it.text).raise_for_status()


@nameless
def httpx2_problem(it: Canary) -> None:
    """Fields of the answer that could be taken for codes and titles."""
    import httpx2

    line = it.value.replace("\n", " ")
    body = {"type": line, "title": line, "code": line, "error_code": line, "instance": line, "error": {"code": line}}
    response = httpx2.Response(
        422,
        headers={"content-type": "application/problem+json"},
        content=json.dumps(body),
        request=httpx2.Request("GET", "https://api.example.com/v1"),
    )
    response.raise_for_status()


@source
def urllib_401(it: Canary) -> None:
    headers = Message()
    headers["Set-Cookie"] = f"session={quote(it.value)}"
    raise urllib.error.HTTPError(_parts(it)[0], 401, it.text, headers, None)


@source
def openai_401(it: Canary) -> None:
    import httpx2
    import openai

    url, sent, got, body = _parts(it)
    request = httpx2.Request("POST", url, headers=sent)
    response = httpx2.Response(401, headers=got, json={"error": body}, request=request)
    raise openai.AuthenticationError(f"Error code: 401 - {body}", response=response, body=body)  # type: ignore[arg-type]


# Databases.


@source
def sqlite_text(it: Canary) -> None:
    name, value = next(iter(as_named(it).items()))
    sqlite3.connect(":memory:").execute(f"SELECT * FROM users WHERE {name} = '{value}'")


@source
def sqlite_told(it: Canary) -> None:
    raise sqlite3.OperationalError(f"unable to open database file: {it.text}")


def _sqlalchemy(it: Canary, named: bool) -> None:
    from sqlalchemy import create_engine, text

    name, value = it.name.lower(), it.value
    engine = create_engine("sqlite://")
    try:
        with engine.connect() as connection:
            if named:
                statement = text(f"SELECT * FROM users WHERE {name} = '{value}'".replace(":", r"\:"))
                connection.execute(statement)
            else:
                statement = text(f"INSERT INTO users (email, {name}) VALUES (:email, :{name})")
                connection.execute(statement, {"email": "ann@example.com", name: value})
    finally:
        engine.dispose()


@source
def sqlalchemy_statement(it: Canary) -> None:
    _sqlalchemy(it, True)


@source
def sqlalchemy_parameters(it: Canary) -> None:
    _sqlalchemy(it, False)


@source
def sqlalchemy_named_parameters(it: Canary) -> None:
    from sqlalchemy.exc import IntegrityError

    name = it.name.lower()
    statement = f"UPDATE users SET {name} = %({name})s WHERE id = %(id)s"
    raise IntegrityError(statement, {name: it.value, "id": 7}, Exception(it.text))


@source
def psycopg_unique(it: Canary) -> None:
    import psycopg

    name = it.name.lower()
    raise psycopg.errors.UniqueViolation(
        f'duplicate key value violates unique constraint "users_{name}"\nDETAIL:  Key ({name})=({it.value}) already exists.'
    )


# Data that a model refuses.


class Settings(BaseModel):
    password: Annotated[str, Field(max_length=3)] = ""
    api_key: int = 0
    endpoint: int = 0


@source
def pydantic_in_body(it: Canary) -> None:
    Settings.model_validate({"password": it.value, "api_key": it.value})


@nameless
def pydantic_in_body_bare(it: Canary) -> None:
    Settings.model_validate({"endpoint": it.value})


# In the frameworks' words, and in ours.


@source
def sdk_error(it: Canary) -> None:
    raise SdkToolError(it.text)


@source
def sdk_error_caused(it: Canary) -> None:
    try:
        raise ConnectionRefusedError(it.text)
    except OSError as exc:
        raise SdkToolError(f"cannot log in: {exc}") from exc


@source
def fastmcp_error(it: Canary) -> None:
    from fastmcp.exceptions import ToolError

    raise ToolError(it.text)


@source
def mcp_error(it: Canary) -> None:
    raise MCPError(-32010, it.text, {"text": it.text, "settings": as_named(it)})


@source
def mcp_internal(it: Canary) -> None:
    raise MCPError(-32603, it.text, {"text": it.text, "settings": as_named(it)})


@source
def mcp_protocol(it: Canary) -> None:
    """A number that stays a protocol error."""
    raise MCPError(-32600, it.text, {"text": it.text, "settings": as_named(it)})


def _own(it: Canary) -> fw.ToolError:
    login = Action("login", arguments=dict(as_named(it)))
    return fw.ToolError(
        it.text,
        code="LOGIN_FAILED",
        kind="permission",
        suggestion=f"Do not use this again: {it.text}",
        details={"settings": dict(as_named(it)), "log": [it.text], "argv": [f"--{it.name.lower()}", it.value]},
        actions=[login],
        verify=login,
        next_steps=[it.text],
        debug=it.text,
    )


@source
def own(it: Canary) -> None:
    raise _own(it)


@source
def own_caused(it: Canary) -> None:
    try:
        raise OSError(it.text)
    except OSError as exc:
        raise fw.Internal(it.text, details={"cause": repr(exc), **as_named(it)}) from exc


@source
def own_returned(it: Canary) -> Any:
    return _own(it)


@source
def own_err(it: Canary) -> Any:
    return fw.Err(_own(it))


@source
def question(it: Canary) -> None:
    raise fw.NeedsInput(it.text, fields=["choice"], reason=it.text, suggestions={"choice": [it.text]})


@source
def broken_result(it: Canary) -> Any:
    return {"degrees": it.text}


def planted(case: str, shape: str) -> Canary:
    return canary(case, shape)


def run(case: str, where: str, shape: str) -> Any:
    """Fails as `case` does, with the secret that belongs to this place."""
    return SOURCES[case](planted(f"{where}/{case}", shape))


Long = Field(min_length=5_000)
INTEGERS = {"type": "object", "additionalProperties": {"type": "integer"}}


class Account(BaseModel):
    name: str
    password: Annotated[str, Long]
    token: int = 0


def fail(case: str, shape: str, where: str = "tool"):
    return run(case, where, shape)


def fail_typed(case: str, shape: str) -> dict[str, int]:
    return run(case, "typed", shape)


def intercepted(case: str, shape: str):
    return "never"


def login(user: str, password: Annotated[str, Long], pin: Annotated[int, Field(ge=10_000_000_000)] = 10_000_000_000):
    return "never"


def connect(api_key: Annotated[str, Field(pattern="^never$")], retries: int = 0):
    return "never"


def hidden(phrase: Annotated[SecretStr, Long]):
    return "never"


def write_only(phrase: Annotated[str, Field(min_length=5_000, json_schema_extra={"writeOnly": True})]):
    return "never"


def formatted(phrase: Annotated[str, Field(min_length=5_000, json_schema_extra={"format": "password"})]):
    return "never"


def count(number: int):
    return "ok"


def choose(mode: Literal["fast", "slow"] = "fast"):
    return "ok"


def register(account: Account, note: str = ""):
    return "never"


def rotate(tokens: list[int], settings: dict[str, int] | None = None):
    return "ok"


def takes_argument(settings: dict[str, Any]):
    """Refuses the caller's own data in the body."""
    Settings.model_validate(settings)


TOOLS = [
    fail, fail_typed, intercepted, login, connect, hidden, write_only, formatted, count, choose, register, rotate,
    takes_argument,
]  # fmt: skip


Case = tuple[str, str, str, dict[str, Any]]  # the place and the shape of the secret, the method, the parameters
ELSEWHERE = (
    "runtime_error", "value_error", "caused", "group", "note", "own", "own_caused", "mcp_error", "mcp_internal",
    "mcp_protocol", "sdk_error", "fastmcp_error", "httpx2_401", "sqlalchemy_parameters", "system_exit", "question",
)  # fmt: skip
REFERENCE = {"type": "ref/prompt", "name": "fail_prompt"}


def calls(framework: str) -> Iterator[Case]:
    """Everything that is asked of a server."""
    everything = [each for each in SOURCES if each != "broken_result"]
    for prefix, chosen in {"": everything, "sub_": ELSEWHERE if framework == "fastmcp" else ()}.items():
        where = f"{prefix}tool"
        for case in chosen:
            for shape in SHAPED if case in NAMELESS else SHAPES:
                given = {"case": case, "shape": shape, "where": where}
                yield f"{where}/{case}", shape, "tools/call", {"name": f"{prefix}fail", "arguments": given}
        for name, shape, tool, arguments in _arguments(prefix) if chosen else ():
            yield name, shape, "tools/call", {"name": f"{prefix}{tool}", "arguments": arguments}
    for case in ("runtime_error", "value_error", "broken_result"):
        for shape in SHAPES:
            given = {"case": case, "shape": shape}
            yield f"typed/{case}", shape, "tools/call", {"name": "fail_typed", "arguments": given}
    for case in ELSEWHERE:
        for shape in SHAPES:
            given = {"case": case, "shape": shape}
            # Who exits in a middleware ends the server.
            if case != "system_exit":
                yield f"middleware/{case}", shape, "tools/call", {"name": "intercepted", "arguments": given}
                yield f"listing/{case}", shape, "prompts/list", {"cursor": f"{case}.{shape}"}
            yield f"template/{case}", shape, "resources/read", {"uri": f"leak://template/{case}/{shape}"}
            yield f"resource/{case}", shape, "resources/read", {"uri": f"leak://static/{case}/{shape}"}
            yield f"prompt/{case}", shape, "prompts/get", {"name": "fail_prompt", "arguments": given}
            argument = {"name": "case", "value": f"{case}.{shape}"}
            yield f"completion/{case}", shape, "completion/complete", {"ref": REFERENCE, "argument": argument}
    yield from _asked()


def _arguments(prefix: str) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Arguments that are wrong, with a secret among them."""
    for shape in SHAPES:

        def one(case: str, tool: str, give: Callable[[str], dict[str, Any]], shape: str = shape) -> Any:
            where = f"{prefix}argument/{case}"
            return where, shape, tool, give(planted(where, shape).value)

        yield one("too_short", "login", lambda it: {"user": "ann", "password": it})
        yield one("in_list", "login", lambda it: {"user": "ann", "password": [it]})
        yield one("in_object", "login", lambda it: {"user": "ann", "password": {"value": it}})
        yield one("quoted_elsewhere", "login", lambda it: {"user": [f"my password is {it}"], "password": it})
        yield one("wrong_pattern", "connect", lambda it: {"api_key": it})
        yield one("right_beside_wrong", "connect", lambda it: {"api_key": it, "retries": "many"})
        yield one("secret_str", "hidden", lambda it: {"phrase": it})
        yield one("secret_str_in_list", "hidden", lambda it: {"phrase": [it]})
        yield one("write_only", "write_only", lambda it: {"phrase": it})
        yield one("write_only_in_list", "write_only", lambda it: {"phrase": [it]})
        yield one("format_password", "formatted", lambda it: {"phrase": it})
        yield one("nested", "register", lambda it: {"account": {"name": "ann", "password": it, "token": it}})
        yield one("nested_unknown", "register", lambda it: {"account": {"name": "ann", "secret_key": it}})
        yield one("items", "rotate", lambda it: {"tokens": [1, it], "settings": {"access_token": it}})
        yield one("unknown_name", "count", lambda it: {"number": 1, "access_token": it})
        yield one("misspelt", "login", lambda it: {"user": "ann", "pasword": it})
        yield one("in_body", "takes_argument", lambda it: {"settings": {"password": it, "api_key": it}})
    for shape in SHAPED:
        yield one("wrong_type", "count", lambda it: {"number": it}, shape)
        yield one("no_such_option", "choose", lambda it: {"mode": it}, shape)
        yield one("instead_of_object", "register", lambda it: {"account": it}, shape)
        yield one("unknown_value", "count", lambda it: {"number": 1, "note": it}, shape)
        yield one("as_name", "count", lambda it: {"number": 1, it: 1}, shape)
        yield one("as_nested_name", "rotate", lambda it: {"tokens": [], "settings": {it: "x"}}, shape)
        yield one("in_body_bare", "takes_argument", lambda it: {"settings": {"endpoint": it}}, shape)


def _asked() -> Iterator[Case]:
    """Requests that hold a secret themselves."""
    for shape in SHAPED:

        def one(case: str, method: str, give: Callable[[str], dict[str, Any]], shape: str = shape) -> Case:
            where = f"asked/{case}"
            return where, shape, method, give(planted(where, shape).value)

        yield one("tool", "tools/call", lambda it: {"name": it, "arguments": {}})
        yield one("tool_arguments", "tools/call", lambda it: {"name": "no_such_tool", "arguments": {"a": it}})
        yield one("prompt", "prompts/get", lambda it: {"name": it})
        yield one("prompt_argument", "prompts/get", lambda it: {"name": "fail_prompt", "arguments": {"other": it}})
        yield one(
            "completion", "completion/complete", lambda it: {"ref": REFERENCE, "argument": {"name": it, "value": "x.y"}}
        )
        yield one("cursor", "tools/list", lambda it: {"cursor": it})
        yield one("malformed_arguments", "tools/call", lambda it: {"name": "count", "arguments": it})
        yield one("malformed_name", "tools/call", lambda it: {"name": {"password": it}, "arguments": {}})
        yield one(
            "malformed_prompt", "prompts/get", lambda it: {"name": "fail_prompt", "arguments": {"case": [1], "x": it}}
        )
        if shape != "private_key":
            yield one("uri", "resources/read", lambda it: {"uri": it if "://" in it else f"leak://none/{it}"})
            yield one("uri_query", "resources/read", lambda it: {"uri": f"leak://none?api_key={quote(it)}"})


def _unwrapped(value: Any) -> Any:
    """What cannot return an error raises it."""
    if isinstance(value, fw.Err):
        raise value.error
    if isinstance(value, (fw.ToolError, fw.NeedsInput)):
        raise value
    return value


def template(case: str, shape: str) -> str:
    return str(_unwrapped(run(case, "template", shape)))


def static(case: str, shape: str) -> str:
    return str(_unwrapped(run(case, "resource", shape)))


def fail_prompt(case: str, shape: str) -> str:
    return str(_unwrapped(run(case, "prompt", shape)))


def complete(value: str) -> list[str]:
    case, _, shape = value.partition(".")
    return [str(_unwrapped(run(case, "completion", shape)))]


def listing(cursor: str | None) -> None:
    case, _, shape = (cursor or "").partition(".")
    if case in SOURCES:
        _unwrapped(run(case, "listing", shape))


def intercept(name: str, arguments: dict[str, Any]) -> None:
    if name == "intercepted":
        _unwrapped(run(arguments["case"], "middleware", arguments["shape"]))


STATIC = [(case, shape) for case in ELSEWHERE for shape in SHAPES]


async def middleware(ctx: Any, call_next: Any) -> Any:
    params = ctx.params or {}
    if ctx.method == "tools/call" and isinstance(params.get("arguments"), dict):
        intercept(str(params.get("name")), params["arguments"])
    if ctx.method == "prompts/list":
        listing(params.get("cursor"))
    return await call_next(ctx)


def mcpserver(level: str) -> Any:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.prompts.base import Prompt

    server = MCPServer("leaks", log_level=level, middleware=[middleware])
    for fn in TOOLS:
        server.add_tool(fn)
    for case, shape in STATIC:
        server.resource(f"leak://static/{case}/{shape}", name=f"{case}_{shape}")(_static(case, shape))
    server.resource("leak://template/{case}/{shape}")(template)
    server.add_prompt(Prompt.from_function(fail_prompt))

    @server.completion()
    async def completion(ref: Any, argument: Any, context: Any) -> Completion:
        return Completion(values=complete(argument.value))

    return server


def fastmcp(level: str) -> Any:
    import fastmcp as package
    from fastmcp.server.middleware import Middleware
    from fastmcp.utilities.logging import configure_logging

    class Intercepting(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            intercept(context.message.name, context.message.arguments or {})
            return await call_next(context)

        async def on_list_prompts(self, context: Any, call_next: Any) -> Any:
            listing(cursor.get())
            return await call_next(context)

    cursor: ContextVar[str | None] = ContextVar("cursor", default=None)

    async def remembering(ctx: Any, call_next: Any) -> Any:
        # FastMCP's own middleware is not told.
        cursor.set((ctx.params or {}).get("cursor"))
        return await call_next(ctx)

    configure_logging(level=level)
    server: Any = package.FastMCP("leaks", middleware=[Intercepting()], mask_error_details=False)
    child: Any = package.FastMCP("child", mask_error_details=False)
    for each in (server, child):
        for fn in TOOLS:
            each.tool(fn)
    for case, shape in STATIC:
        server.resource(f"leak://static/{case}/{shape}", name=f"{case}_{shape}")(_static(case, shape))
    server.resource("leak://template/{case}/{shape}")(template)
    server.prompt(fail_prompt)
    server.mount(child, namespace="sub")
    server._mcp_server.middleware.append(remembering)

    @server.completion
    async def completion(ref: Any, argument: Any, context: Any) -> list[str]:
        return complete(argument.value)

    return server


def _static(case: str, shape: str) -> Callable[[], str]:
    return lambda: static(case, shape)


def lowlevel(level: str) -> Any:
    import mcp_types as types
    from mcp.server.lowlevel import Server

    tools = {fn.__name__: fn for fn in TOOLS}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description="",
                    input_schema=_schema(fn),
                    output_schema={"type": "object"} if fn is not fail_typed else INTEGERS,
                )
                for name, fn in tools.items()
            ]
        )

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
        if params.name not in tools:
            raise ValueError(f"Unknown tool: {params.name}")
        value = tools[params.name](**(params.arguments or {}))
        if isinstance(value, (fw.ToolError, fw.NeedsInput, fw.Err)):
            return value
        structured = value if isinstance(value, dict) else {}
        return CallToolResult(content=[TextContent(type="text", text=str(value))], structured_content=structured)

    async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def read_resource(ctx: Any, params: Any) -> types.ReadResourceResult:
        kind, _, rest = str(params.uri).removeprefix("leak://").partition("/")
        case, _, shape = rest.partition("/")
        if kind not in ("template", "static") or case not in SOURCES:
            raise ValueError(f"Unknown resource: {params.uri}")
        (template if kind == "template" else static)(case, shape)
        raise AssertionError(case)

    async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
        listing(params.cursor if params is not None else None)
        return types.ListPromptsResult(prompts=[types.Prompt(name="fail_prompt")])

    async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != "fail_prompt":
            raise ValueError(f"Unknown prompt: {params.name}")
        fail_prompt(**(params.arguments or {}))
        raise AssertionError

    async def completion(ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        return types.CompleteResult(completion=Completion(values=complete(params.argument.value)))

    server: Any = Server(
        "leaks",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=completion,
    )
    server.middleware.append(middleware)
    return server


@functools.cache
def _schema(fn: Callable[..., Any]) -> dict[str, Any]:
    return {"properties": {}, **TypeAdapter(fn).json_schema()}


SERVERS: dict[str, Callable[[str], Any]] = {"mcpserver": mcpserver, "lowlevel": lowlevel, "fastmcp": fastmcp}


class Recording(logging.Handler):
    """Keeps everything that a handler could get out of a record."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        told = [f"{record.name}: {record.getMessage()}"]
        told += [f"{key}={value!r}" for key, value in vars(record).items()]
        if record.exc_info and record.exc_info[1] is not None:
            told += traceback.format_exception(record.exc_info[1])
        self.kept.append("\n".join(told))


def telemetry() -> Callable[[], dict[str, Any]]:
    """Real providers for traces and metrics; gives what they were given."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))

    def given() -> dict[str, Any]:
        data = reader.get_metrics_data()
        return {
            "spans": [span.to_json() for span in exporter.get_finished_spans()],
            "metrics": [] if data is None else [data.to_json()],
        }

    return given


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("framework", choices=sorted(SERVERS))
    parser.add_argument("transport", choices=["stdio", "http"])
    parser.add_argument("record", type=Path)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--options", type=json.loads, default={})
    parser.add_argument("--level", default="INFO")
    chosen = parser.parse_args()

    recording = Recording()
    given = telemetry()
    server = SERVERS[chosen.framework](chosen.level)
    # Whatever the frameworks have set up stays; everything goes through the root's handlers besides.
    logging.basicConfig(level=chosen.level, stream=sys.stderr, format="%(name)s %(levelname)s %(message)s", force=True)
    logging.getLogger().addHandler(recording)
    logging.getLogger("failwell").setLevel(logging.DEBUG)
    logging.getLogger("fastmcp").setLevel(chosen.level)
    logging.getLogger("fastmcp").addHandler(recording)
    if not chosen.bare:
        if url := next(iter(chosen.options.pop("hooks", ())), None):
            # What failures say is kept, too, so that there is something that might leak.
            chosen.options["hooks"] = [store(url, messages=True)]
        failwell.server.install(server, **chosen.options)

    def save() -> None:
        counters = [] if chosen.bare else [repr(failwell.server.stats(server))]
        kept = {"records": recording.kept, "counters": counters, **given()}
        chosen.record.write_text(json.dumps(kept), encoding="utf-8")

    if chosen.transport == "stdio":
        try:
            asyncio.run(run_stdio(chosen.framework, server))
        finally:
            save()
    else:
        run_http(chosen.framework, server, at_end=save, log_level="info", log_config=None)


if __name__ == "__main__":
    main()
