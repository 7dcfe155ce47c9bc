"""A server whose tools are what the authors of contracts 002 and 003 would write.

    python contract_server.py SERVER stdio|http UNUSED OPTIONS

SERVER is `mcpserver`, `fastmcp` or `lowlevel`, with `-flat` for MCPServer's tools without structured output. OPTIONS are the
options of `install` as JSON; `{"envelope": {...}}` stands for `format=Envelope(...)`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import math
import sqlite3
import sys
from collections.abc import Callable
from typing import Any, Literal

import mcp_types as types
from mcp_types import ToolAnnotations
from pydantic import BaseModel, EmailStr
from shop_server import ask_bank, run_http, run_stdio

import failwell as fw

S = fw.catalogs.Social
READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)


class Invoice(BaseModel):
    id: str
    cents: int


class User(BaseModel):
    id: str

    def can(self, action: str) -> bool:
        return action != "delete"


# Contract 002


def find_user(id: str) -> fw.Result[User]:
    return fw.Ok(User(id=id)) if id.startswith("u_") else fw.Err(fw.error(f'User "{id}" not found'))


def check_permission(user: User, action: str) -> fw.Result[User]:
    return fw.Ok(user) if user.can(action) else fw.Err(fw.error(f'User "{user.id}" cannot {action}'))


def result_text(id: str) -> fw.Result[str]:
    return find_user(id).then(lambda user: fw.Ok(user.id))


def result_model(id: str) -> fw.Result[User]:
    return find_user(id)


def result_list(id: str) -> fw.Result[list[str]]:
    return find_user(id).then(lambda user: fw.Ok([user.id]))


def either_text(id: str) -> str | fw.ToolError:
    return id if id.startswith("u_") else fw.NotFound(f"No user {id}.")


def either_model(id: str) -> Invoice | fw.ToolError:
    return Invoice(id=id, cents=5) if id.startswith("u_") else fw.NotFound(f"No invoice {id}.")


def either_map(id: str) -> dict[str, int] | fw.NotFound | fw.Conflict:
    return {id: 5} if id.startswith("u_") else fw.NotFound(f"No invoice {id}.")


def plain_text(id: str) -> str:
    return id


def plain_model(id: str) -> Invoice:
    return Invoice(id=id, cents=5)


def plain_map(id: str) -> dict[str, int]:
    return {id: 5}


def plain_user(id: str) -> User:
    return User(id=id)


def plain_list(id: str) -> list[str]:
    return [id]


def use_response(id: str) -> Any:
    user = find_user(id)
    if not user.ok:
        return user.response
    allowed = check_permission(user.value, "delete")
    if not allowed.ok:
        return allowed.response
    return "Deleted"


def warned() -> fw.ToolError:
    return fw.ToolError("Use invoices_v2 instead.", code="DEPRECATED", severity="warning", actions=["invoices_v2"])


def warn_text() -> str:
    raise warned()


def warn_list() -> list[int]:
    raise warned()


def warn_map() -> dict[str, int]:
    raise warned()


def warn_optional() -> Invoice | None:
    raise warned()


def warn_model() -> Invoice:
    raise warned()


def get_critical(times: str) -> Any:
    note(times)
    raise fw.Transient("The ledger is corrupt.", severity="critical", retry_after=0.01)


def create_user(email: EmailStr, role: Literal["admin", "user"] = "user") -> str:
    return email


def get_project(id: str) -> str:
    return id


def by_hand(how: str) -> Any:
    """What contract 002's own functions build."""
    if how == "success":
        return text_result("Deleted", False)
    return text_result(HAND_XML, how == "error")


HAND_XML = """\
<tool_error code="ProjectNotFound" severity="error">
  <message>Project 'proj_xyz' does not exist.</message>
  <recovery>Call projects.list first to get valid IDs, then retry.</recovery>
  <available_actions>
    <action>projects.list</action>
  </available_actions>
</tool_error>"""


def text_result(text: str, is_error: bool) -> Any:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


# Contract 003

VALUES: dict[str, Any] = {
    "list": [1, 2, 3],
    "one": [{"id": 1}],
    "two": [{"id": 1}, "b"],
    "texts": ["a", "b"],
    "none_list": [],
    "five": 5,
    "half": 1.5,
    "true": True,
    "null": None,
    "text": "plain",
    "json_text": '{"a": 1}',
    "list_text": "[1, 2]",
    "number_text": "1.10",
    "empty_text": "",
    "lines": "a\nb\n",
    "map": {"b": 1, "a": [None, {"é": "\u2028"}]},
    "result_map": {"result": [1]},
    "result_two": {"result": 1, "other": 2},
    "empty_map": {},
    "deep": {"l": [[[[[]]]]]},
    "big": 2**70,
    "user": User(id="u_1"),
}


def give_any(what: str) -> Any:
    return VALUES[what]


def give(what: str):
    return VALUES[what]


def give_list(what: str) -> list[Any]:
    value: list[Any] = VALUES[what]
    return value


def give_text(what: str) -> str:
    value: str = VALUES[what]
    return value


def give_int() -> int:
    return 5


def give_map(what: str) -> dict[str, Any]:
    value: dict[str, Any] = VALUES[what]
    return value


def give_user(what: str) -> User:
    user: User = VALUES[what]
    return user


def give_deep() -> Any:
    value: Any = "bottom"
    for _ in range(60):
        value = [value]
    return value


def give_unwritable(what: str) -> Any:
    return {"object": object(), "nan": math.nan, "inside": {"rows": [object()]}}[what]


def meet(cause: str) -> Any:
    if cause.isdigit():
        ask_bank(int(cause))
    elif cause == "timeout":
        raise TimeoutError("The bank did not answer.")
    elif cause == "refused":
        raise ConnectionRefusedError(111, "Connection refused")
    elif cause == "file":
        open("/no/such/file")  # noqa: SIM115
    elif cause == "value":
        raise ValueError("The amount is negative.")
    elif cause == "crash":
        print(1 / 0)
    elif cause == "locked":
        locked = sqlite3.OperationalError("database is locked")
        locked.sqlite_errorname, locked.sqlite_errorcode = "SQLITE_BUSY", 5
        raise locked
    elif cause == "cannot_open":
        sqlite3.connect("/no/such/folder/db").execute("select 1")
    elif cause == "bad_sql":
        sqlite3.connect(":memory:").execute("selekt 1")
    elif cause == "own":
        raise S.x_auth_expired("The token has expired.")
    elif cause == "foreign":
        raise fw.ToolError("Invoice inv_1 is paid.", code="InvoiceAlreadyPaid", kind="conflict")
    elif cause == "marked":
        with fw.effects():
            raise S.x_auth_expired("The token has expired.")
    raise AssertionError(cause)


def frobnicate(cause: str) -> Any:
    return meet(cause)


def get_post(cause: str) -> Any:
    return meet(cause)


def send_post(cause: str) -> Any:
    return meet(cause)


def limited(when: str) -> Any:
    """Details by the contract's own names."""
    raise fw.ToolError(
        "Slow down.", code="x_rate_limited", details={"rate_limit_reset": when, "policy_decision": "denied"}
    )


def policy_limit() -> Any:
    raise S.policy_denied_rate_limited("20 posts are out.", policy_decision="denied", reset_at="2030-01-01T00:00:00Z")


HAND_FAILURE: dict[str, Any] = {
    "success": False,
    "data": None,
    "error": {
        "code": "x_rate_limited",
        "message": "X API rate limited, retry after 30s",
        "retryable": True,
        "rate_limit_reset": "1735689600",
        "retry_after_ms": 30000,
    },
    "meta": {"tool_version": "1.0", "elapsed_ms": 12},
}
HAND_SUCCESS: dict[str, Any] = {"success": True, "data": {"id": "1"}, "meta": {"tool_version": "1.0", "elapsed_ms": 3}}


def envelope_by_hand(how: str, ok: bool = False) -> Any:
    """What contract 003's own functions build: a map, its JSON, or a result around that."""
    made = HAND_SUCCESS if ok else HAND_FAILURE
    if how == "map":
        return made
    text = json.dumps(made, indent=2)
    return text if how == "text" else text_result(text, False)


def envelope_map(ok: bool = False) -> dict[str, Any]:
    return HAND_SUCCESS if ok else HAND_FAILURE


def nearly_envelope() -> dict[str, Any]:
    """A map of the author's own, with a word of the contract's."""
    return {"success": False, "attempts": 3}


def note(line: str) -> None:
    with open(sys.argv[3], "a", encoding="utf-8") as ledger:
        ledger.write(f"ran {line}\n")


TOOLS: dict[Callable[..., Any], dict[str, Any]] = {
    **{fn: {} for fn in (result_text, result_model, result_list, either_text, either_model, either_map)},
    **{fn: {} for fn in (plain_text, plain_model, plain_map, plain_user, plain_list)},
    **{fn: {} for fn in (use_response, warn_text, warn_list, warn_map, warn_optional, warn_model, by_hand)},
    **{fn: {} for fn in (give_any, give, give_list, give_text, give_int, give_map, give_user, give_deep)},
    **{fn: {} for fn in (give_unwritable, frobnicate, limited, policy_limit, envelope_by_hand, envelope_map)},
    nearly_envelope: {},
    get_critical: {"annotations": READS},
    get_post: {"annotations": READS},
    send_post: {"annotations": WRITES},
    create_user: {"name": "users.create"},
    get_project: {"name": "projects.get", "annotations": READS},
}


def mcpserver(flat: bool) -> Any:
    from mcp.server import MCPServer

    server: Any = MCPServer("contracts", log_level="CRITICAL")
    for fn, given in TOOLS.items():
        server.add_tool(fn, **given, **({"structured_output": False} if flat else {}))
    return server


def fastmcp() -> Any:
    from fastmcp import FastMCP
    from fastmcp.tools.base import ToolResult

    global text_result

    def text_result(text: str, is_error: bool) -> Any:
        return ToolResult([types.TextContent(type="text", text=text)], is_error=is_error)

    server: Any = FastMCP("contracts")
    for fn, given in TOOLS.items():
        server.tool(fn, **given)
    return server


def lowlevel() -> Any:
    """Where a tool answers with a result: its text, and what is an object as data."""
    from mcp.server.lowlevel import Server

    functions = {given.get("name", fn.__name__): fn for fn, given in TOOLS.items()}

    def schema(fn: Callable[..., Any]) -> dict[str, Any]:
        names = inspect.signature(fn).parameters
        return {"type": "object", "properties": {name: {} for name in names}}

    listed = [
        types.Tool(name=given.get("name", fn.__name__), input_schema=schema(fn), annotations=given.get("annotations"))
        for fn, given in TOOLS.items()
    ]

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Any, params: Any) -> Any:
        done = functions[params.name](**(params.arguments or {}))
        if isinstance(done, (types.CallToolResult, fw.Err, fw.ToolError)):
            return done
        done = done.value if isinstance(done, fw.Ok) else done
        text = done if isinstance(done, str) else json.dumps(done, default=lambda model: model.model_dump())
        structured = done if isinstance(done, dict) else None
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structured)

    return Server("contracts", on_list_tools=list_tools, on_call_tool=call_tool)


def main() -> None:
    kind, transport, ledger, given = sys.argv[1:5]
    framework, _, flat = kind.partition("-")
    server = {"mcpserver": lambda: mcpserver(bool(flat)), "fastmcp": fastmcp, "lowlevel": lowlevel}[framework]()
    if given != "--bare":
        import failwell.server

        options = json.loads(given)
        if (envelope := options.pop("envelope", None)) is not None:
            options["format"] = failwell.server.Envelope(**envelope)
        handler = logging.FileHandler(ledger)
        handler.setFormatter(logging.Formatter("log %(message)s %(error_code)s", defaults={"error_code": "-"}))
        logging.getLogger("failwell").addHandler(handler)
        logging.getLogger("failwell").setLevel("INFO")
        failwell.server.install(server, **{**options, "wire": {"client": None, **options.get("wire", {})}})
    if transport == "stdio":
        asyncio.run(run_stdio(framework, server))
    else:
        run_http(framework, server)


if __name__ == "__main__":
    main()
