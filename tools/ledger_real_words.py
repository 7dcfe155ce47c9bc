"""What authors write and raise in the tools of the real ledger, beside what libraries raise by themselves.

`STATED` are words that count, since they are the author's own about this call. Everything else is a text or a relayed
failure, and says nothing about what the tool did before.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal

import failwell as fw
from ledger_real_causes import World, cause, provoke

STATED: Final[dict[str, tuple[Literal["before", "between", "after"], str, bool]]] = {
    "stated: busy, none": ("before", "none", True),
    "stated: partial": ("between", "partial", False),
    "stated: done": ("after", "done", False),
    "stated: unknown": ("after", "unknown", False),
}
"""Each with the only moment when it is true, the effect it states, and whether the call has to be made again then."""

_MAIL: Final = "Paid. But the receipt could not be mailed."
_LIMIT: Final = "Rate limit exceeded, try again in 1 second"
_RELAYED: Final = {
    "typed": '{"type":"TRANSIENT","message":"Mail is busy.","recoverable":true,"data":{"retry_after":1}}',
    "v1": '{"kind":"toolError:v1","code":"RATE_LIMITED","message":"Mail is busy.","retryable":true}',
    "xml": '<tool_error code="RATE_LIMITED"><message>Mail is busy.</message><retry_after>1</retry_after></tool_error>',
    "envelope": '{"success":false,"data":null,"error":{"code":"rate_limited","message":"busy","retryable":true}}',
    "canonical": json.dumps({"failwell": 1, "code": "SERVER_BUSY", "message": "Busy.", "effect": "none"}),
}


@cause("chained, mail refused", text=_MAIL)
async def _(world: World) -> None:
    try:
        await provoke("smtplib refused", world)
    except OSError as refused:
        raise RuntimeError(_MAIL) from refused


@cause("chained, mail limited", text=_MAIL)
async def _(world: World) -> None:
    try:
        await provoke("httpx2 429", world)
    except Exception as limited:
        raise RuntimeError(_MAIL) from limited


@cause("chained, value", text="The total is no number.")
async def _(world: World) -> None:
    try:
        await provoke("int", world)
    except ValueError as broken:
        raise ValueError("The total is no number.") from broken


def _says(name: str, make: Any, text: str) -> None:
    def call(world: World) -> None:
        raise make(text)

    cause(name, text=text)(call)


_says("ValueError", ValueError, "limit must be at most 100")
_says("LookupError", LookupError, "Order o_9 does not exist.")
_says("PermissionError", PermissionError, "Only managers may mail receipts.")
_says("TimeoutError", TimeoutError, "The bank did not answer, try again in 1 second")
_says("ConnectionError", ConnectionError, "connect to mail.internal:25 failed")
_says("NotImplementedError", NotImplementedError, "receipts in other currencies")
_says("RuntimeError, refused", RuntimeError, "Request refused before it was processed. Nothing was done.")


def _planned(name: str, text: str, because: str | None = None) -> None:
    async def call(world: World) -> None:
        if because is None:
            raise world.tool_error(text)
        try:
            await provoke(because, world)
        except Exception as reason:
            raise world.tool_error(text) from reason

    cause(name, text=text)(call)


_planned("ToolError, limit", _LIMIT)
_planned("ToolError, busy", "Error: service temporarily unavailable, try again later")
_planned("ToolError, from 429", "The mail service is busy.", "httpx2 429")
_planned("ToolError, from refused", "The mail service cannot be reached.", "httpx2 refused")
_planned("ToolError, unknown tool", "Unknown tool: pay")
_planned("ToolError, arguments", "Invalid arguments for tool pay: note: Field required")
_planned("ToolError, not sent", "The request was not sent.")
for _name, _text in _RELAYED.items():
    _planned(f"ToolError, quotes {_name}", f"Paid. The mail service said: {_text}")
    _planned(f"ToolError, {_name} then words", f"{_text}\nThat was the mail. The payment itself is done.")


@cause("pydantic")
def _(world: World) -> None:
    import pydantic

    class payArguments(pydantic.BaseModel):
        """Named as the frameworks name the arguments of a tool."""

        id: str
        note: str

    payArguments.model_validate({"id": "o_1", "note": 7})


@cause("jsonschema")
def _(world: World) -> None:
    import jsonschema

    jsonschema.validate({"note": 7}, {"properties": {"note": {"type": "string"}}})


@cause("another tool, wrong arguments")
async def _(world: World) -> None:
    await world.nested()


def _upstream(name: str, code: int, message: str, data: Any = None) -> None:
    def call(world: World) -> None:
        from mcp import MCPError

        raise MCPError(code, message, data)

    cause(f"upstream MCP {name}", text=message)(call)


_upstream("-32602", -32602, "Invalid params: note is required")
_upstream("-32601", -32601, "Method not found")
_upstream("-32603", -32603, "Internal error")
_upstream("-32000", -32000, "Connection closed")
_upstream("-32001", -32001, "Request timed out, try again")
_upstream("-32600", -32600, "Session not found")
_upstream("-32002", -32002, "Unknown tool: mail_receipt")
_upstream(
    "-32006",
    -32006,
    "Rate Limited",
    {"mcp_error_code": "RATE_LIMITED", "details": "Busy.", "retry_after": 1, "effect": "none"},
)


def _wrapped(name: str) -> None:
    async def call(world: World) -> None:
        try:
            await provoke(name, world)
        except Exception as broken:
            raise fw.wrap(broken) from broken

    cause(f"wrap, {name}")(call)


for _name in ("httpx2 429", "httpx2 503", "requests refused", "KeyError", "ValueError", "sqlite3 locked", "pydantic"):
    _wrapped(_name)


@cause("from_http raised")
def _(world: World) -> None:
    raise fw.classify.from_http(429, {"Retry-After": "1"}, b'{"message": "slow down"}')


def _stated(name: str, **fields: Any) -> None:
    def call(world: World) -> None:
        raise fw.ToolError(f"The bank says: {name.removeprefix('stated: ')}.", **fields)

    cause(name, passes=STATED[name][2])(call)


_stated("stated: busy, none", code="SERVER_BUSY", effect="none", retry_after=0.02)
_stated("stated: partial", code="UPSTREAM_ERROR", effect="partial")
_stated("stated: done", code="UPSTREAM_ERROR", effect="done")
_stated("stated: unknown", code="TIMEOUT", effect="unknown")
