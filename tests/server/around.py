"""What `install` says of tools that the SDK itself fails in, and of servers with something around their tools, in
whichever generation is installed: what is wrong with that, as JSON.

    python around.py

A scene is a server, a call of it, and what is to be said, held against what its tool has really done.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any

from pydantic import AliasChoices, AliasPath, BaseModel, Field, validate_call
from sdk_names import GENERATION

import failwell
import failwell.server
from failwell.client import Recovering
from failwell.formats import META_KEY
from failwell.server.replies import IGNORED

try:
    import fastmcp
except ImportError:
    fastmcp = None  # type: ignore[assignment]

if fastmcp is not None:
    from fastmcp import Context
    from fastmcp import FastMCP as Server
elif GENERATION == 2:
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver import Context
else:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as Server

try:
    from mcp.types import ToolAnnotations
except ImportError:
    from mcp_types import ToolAnnotations

SHOWS = fastmcp is not None or GENERATION == 1
"""Whether the framework alone shows the text of any exception."""
READ_ONLY = "readOnlyHint" if GENERATION == 1 else "read_only_hint"
DONE: list[str] = []
"""What tools have really done."""
SECRET = "the vault is in room 7"


class Tip(BaseModel):
    percent: int


@dataclass(frozen=True)
class Scene:
    """A call of a server, and what must be so afterwards."""

    id: str
    make: Callable[[], Any]
    arguments: dict[str, Any] = field(default_factory=dict)
    tool: str = "pay"
    done: int = 0
    effect: str | None = None
    code: str | None = None
    says: str = ""
    hides: str = SECRET
    ignored: tuple[str, ...] = ()
    told: bool = False
    """Whether a validator's own text stands in the answer."""


async def tells_wrongly() -> None:
    """A notification that the SDK itself cannot write."""
    from mcp.server.session import ServerSession

    async def send(*_: Any, **__: Any) -> None: ...

    await ServerSession.send_log_message(SimpleNamespace(send_notification=send), level="loud", data="x")  # type: ignore[arg-type]


async def asks_for_a_tip(ctx: Any) -> Any:
    if fastmcp is not None:
        return await ctx.elicit("Tip?", response_type=Tip)
    return await ctx.elicit(message="Tip?", schema=Tip)


def plain(*around: Any, **options: Any) -> Any:
    """A server whose tool pays, with middleware around it."""
    server = Server("shop", **options)

    @server.tool()
    def pay(invoice: str, amount: int = 1) -> str:
        DONE.append(invoice)
        return "paid"

    for each in around:
        server.add_middleware(each)
    return server


def notifying() -> Any:
    server = Server("shop")

    @server.tool()
    async def pay(invoice: str) -> str:
        DONE.append(invoice)
        await tells_wrongly()
        return "paid"

    return server


def asking() -> Any:
    server = Server("shop")

    @server.tool()
    async def pay(invoice: str, ctx: Context, note: str = "") -> str:  # type: ignore[type-arg]
        DONE.append(invoice)
        return str(await asks_for_a_tip(ctx))

    return server


def aliased(reads: bool | None = None) -> Any:
    """Its arguments have several names, of which the schema lists one."""
    server = Server("shop")

    def pay(
        invoice: Annotated[str, Field(validation_alias=AliasChoices("invoice", "bill"))],
        page: Annotated[int, Field(validation_alias=AliasChoices("page", "limit", AliasPath("at", "page")))] = 1,
    ) -> str:
        DONE.append(invoice)
        return f"page {page}"

    marks = {} if reads is None else {"annotations": ToolAnnotations(**{READ_ONLY: reads})}
    server.tool(**marks)(pay)
    return server


def aliased_write() -> Any:
    return aliased(reads=False)


def aliased_read() -> Any:
    return aliased(reads=True)


def checking_itself() -> Any:
    """Its result is held against its annotation by a decorator, when the work is done."""
    server = Server("shop")

    @validate_call(validate_return=True)
    def pay(invoice: str) -> int:
        DONE.append(invoice)
        return "no number"  # type: ignore[return-value]

    server.tool(**({"output_schema": None} if fastmcp is not None else {}))(pay)
    return server


def made_of_another(fn: Any = None) -> Any:
    """Its tool was made of one with another name for an argument."""
    from fastmcp.tools import Tool
    from fastmcp.tools.tool_transform import ArgTransform

    def inner(invoice: str, amount: int = 1) -> str:
        DONE.append(invoice)
        return "paid"

    server = Server("shop")
    names = {"invoice": ArgTransform(name="bill")}
    server.add_tool(Tool.from_tool(Tool.from_function(inner), name="pay", transform_args=names, transform_fn=fn))
    return server


def handing_on() -> Any:
    from fastmcp.tools.tool_transform import forward

    async def pay(bill: str, amount: int = 1) -> str:
        DONE.append(bill)
        return str(await forward(bill={"no": "text"}, amount=amount))

    return made_of_another(pay)


def with_numbers() -> Any:
    from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware

    return plain(ErrorHandlingMiddleware())


def before_another() -> Any:
    """A proxy of a server that says itself what is wrong."""
    return proxy_of(failwell.server.install(plain()))


def proxy_of(inner: Any) -> Any:
    try:
        from fastmcp.server import create_proxy
    except ImportError:
        return fastmcp.FastMCP.as_proxy(inner)
    return create_proxy(inner)


def promising() -> Any:
    """Its tool returns what it does not promise."""
    server = Server("shop")

    @server.tool()
    def pay(invoice: str) -> int:
        DONE.append(invoice)
        return "no number"  # type: ignore[return-value]

    return server


def mounting(inner: Any = None, **options: Any) -> Any:
    server, inner = Server("mall"), inner or promising()
    try:
        server.mount(inner, namespace="shop", **options)
    except TypeError:
        server.mount(inner, prefix="shop", **options)
    return server


def limited(call: Callable[[Any, Any], Any], make: Callable[[], Any], *, inside: Any = None) -> Callable[[], Any]:
    """A server with middleware that makes calls in this way: around all of it, or around one that is mounted in it."""
    from fastmcp.server.middleware import Middleware

    class Limiting(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            return await call(context, call_next)

    def made() -> Any:
        server = make()
        server.add_middleware(Limiting())
        return server if inside is None else inside(server)

    return made


async def busy_afterwards(context: Any, call_next: Any) -> Any:
    await call_next(context)
    raise failwell.Transient("The audit log is busy.", code="RATE_LIMITED", retry_after=0.1)


async def lost_afterwards(context: Any, call_next: Any) -> Any:
    await call_next(context)
    raise ValueError("the audit log is lost")


async def busy_whatever_happens(context: Any, call_next: Any) -> Any:
    with suppress(Exception):
        await call_next(context)
    raise failwell.Transient("The audit log is busy.", code="RATE_LIMITED", retry_after=0.1)


async def again_with_less(context: Any, call_next: Any) -> Any:
    await call_next(context)
    return await call_next(context.copy(message=context.message.model_copy(update={"arguments": {"amount": "much"}})))


async def taken_back_afterwards(context: Any, call_next: Any) -> Any:
    """A transaction whose commit fails."""
    await call_next(context)
    DONE.clear()
    raise RuntimeError("the commit failed")


def answer(text: str) -> Any:
    """A result of FastMCP's without the data that a tool promises."""
    from fastmcp.tools.tool import ToolResult
    from mcp.types import TextContent

    return ToolResult(content=[TextContent(type="text", text=text)])


async def answered_instead(context: Any, call_next: Any) -> Any:
    return answer("Payments are closed today.")


async def answered_for_a_crash(context: Any, call_next: Any) -> Any:
    with suppress(Exception):
        await call_next(context)
    return answer("There is no connection to the bank.")


async def answered_anew(context: Any, call_next: Any) -> Any:
    await call_next(context)
    return answer("It is paid.")


async def nothing_done_afterwards(context: Any, call_next: Any) -> Any:
    await call_next(context)
    raise failwell.Transient("The audit log is busy.", code="UNAVAILABLE", effect="none")


def depending() -> Any:
    """What its tool uses is a transaction, whose commit fails when the tool has returned."""
    from fastmcp.dependencies import Depends

    @asynccontextmanager
    async def transaction() -> Any:
        yield DONE
        DONE.clear()
        raise TimeoutError("the commit failed")

    server = Server("shop")

    @server.tool()
    async def pay(invoice: str, till: Any = Depends(transaction)) -> str:  # noqa: B008
        till.append(invoice)
        return "paid"

    return server


def mounted_depending() -> Any:
    return mounting(depending())


def mounted_twice() -> Any:
    return mounting(mounting(plain()))


def mounted_crash() -> Any:
    return mounting(raising(RuntimeError))


def proxied() -> Any:
    return proxy_of(plain())


def proxied_crash() -> Any:
    return proxy_of(raising(RuntimeError))


def mounted_proxy_of_a_crash() -> Any:
    return mounting(proxied_crash())


def calling_a_proxy() -> Any:
    """Its tool calls another, which fails on the server behind a proxy."""
    server = mounted_proxy_of_a_crash()

    @server.tool()
    async def order(invoice: str) -> str:
        DONE.append("ordered")
        async with fastmcp.Client(server) as client:
            return str(await client.call_tool("shop_pay", {"invoice": invoice}))

    return server


def switched_off() -> Any:
    server = plain()

    @server.tool(enabled=False)
    def refund(invoice: str) -> str:
        DONE.append(invoice)
        return "paid back"

    return server


def mounted_proxy() -> Any:
    return mounting(proxied())


def under_another_name(server: Any) -> Any:
    return mounting(server, tool_names={"pay": "charge"})


def renamed() -> Any:
    return under_another_name(plain())


def around_tools() -> tuple[Scene, ...]:
    """Whose middleware fails when the tool has run: wherever the tool comes from, that it ran is told. Whether its
    work stands, nobody knows: who stands around it may have taken it back."""
    limit = {"effect": "unknown", "code": "RATE_LIMITED", "done": 1}
    bill = {"bill": "b"}
    return (
        Scene("a limit after the tool", limited(busy_afterwards, plain), PAID, **limit),
        Scene("a limit after a mounted tool", limited(busy_afterwards, mounted_twice), PAID, "shop_shop_pay", **limit),
        Scene("one of the mounted server", limited(busy_afterwards, plain, inside=mounting), PAID, "shop_pay", **limit),
        Scene("a limit after a proxied tool", limited(busy_afterwards, proxied), PAID, **limit),
        Scene("a limit after a mounted proxy", limited(busy_afterwards, mounted_proxy), PAID, "shop_pay", **limit),
        Scene("a limit after a tool made of another", limited(busy_afterwards, made_of_another), bill, **limit),
        Scene(
            "a crash after a mounted tool",
            limited(lost_afterwards, mounted_twice),
            PAID,
            "shop_shop_pay",
            done=1,
            effect="unknown",
        ),
        Scene("taken back after the tool", limited(taken_back_afterwards, plain), PAID, says=MAYBE, **UNDONE),
        Scene(
            "taken back after a mounted tool",
            limited(taken_back_afterwards, mounted_twice),
            PAID,
            "shop_shop_pay",
            says=MAYBE,
            **UNDONE,
        ),
        Scene(
            "middleware that says that nothing was done, after the tool",
            limited(nothing_done_afterwards, plain),
            PAID,
            done=1,
            effect="unknown",
            says=MAYBE,
        ),
        Scene(
            "a limit after a crash",
            limited(busy_whatever_happens, mounted_crash),
            PAID,
            "shop_pay",
            done=1,
            effect="unknown",
        ),
        Scene(
            "run again, and refused",
            limited(again_with_less, plain),
            PAID,
            done=1,
            effect="unknown",
            says="Invalid arguments",
        ),
        Scene(
            "run again, and refused, mounted",
            limited(again_with_less, mounted_twice),
            PAID,
            "shop_shop_pay",
            done=1,
            effect="unknown",
            says="Invalid arguments",
        ),
    )


def around_promises() -> tuple[Scene, ...]:
    """Whose middleware answers in place of a tool, with less than the tool promises: only of a tool that came to its
    end is it known that its work was done."""
    unknown = {"effect": "unknown", "code": "INTERNAL_ERROR"}
    crash = limited(answered_for_a_crash, raising)
    mounted = limited(answered_for_a_crash, mounted_crash)
    return (
        Scene("answered in place of the tool", limited(answered_instead, plain), PAID, **unknown),
        Scene("answered for a tool that raised", crash, PAID, done=1, **unknown),
        Scene("answered for a mounted tool that raised", mounted, PAID, "shop_pay", done=1, **unknown),
        Scene("answered after the tool", limited(answered_anew, plain), PAID, **BROKEN),
        Scene("answered after a mounted tool", limited(answered_anew, mounted_twice), PAID, "shop_shop_pay", **BROKEN),
    )


def around_renamed() -> tuple[Scene, ...]:
    """The same of tools that are mounted under another name."""
    limit = {"effect": "unknown", "code": "RATE_LIMITED", "done": 1}
    # FastMCP 2 takes the name that was given for the whole of it.
    charge = "charge" if fastmcp.__version__.startswith("2.") else "shop_charge"
    inside = limited(busy_afterwards, plain, inside=under_another_name)
    return (
        Scene("a limit after a renamed tool", limited(busy_afterwards, renamed), PAID, charge, **limit),
        Scene("renamed, one of the mounted server", inside, PAID, charge, **limit),
    )


def raising(kind: Any = ValueError, **options: Any) -> Any:
    server = Server("shop", **options)

    @server.tool()
    def pay(invoice: str) -> str:
        DONE.append(invoice)
        raise kind(SECRET)

    return server


def refusing(exc: Exception) -> Callable[[], Any]:
    """A server whose tool pays, and then raises what looks like a refusal."""

    def made() -> Any:
        server = Server("shop")

        @server.tool()
        def pay(invoice: str, currency: str = "EUR") -> str:
            DONE.append(invoice)
            raise exc

        return server

    return made


class Panic(BaseException):
    """As native libraries raise them, past `except Exception`."""


def panicking() -> Any:
    return raising(Panic)


def masking() -> Any:
    return raising(mask_error_details=True)


def masking_a_crash() -> Any:
    return raising(RuntimeError, mask_error_details=True)


def masking_but_for_its_own() -> Any:
    from fastmcp.exceptions import ToolError

    return raising(ToolError, mask_error_details=True)


def masking_but_for_ours() -> Any:
    return raising(failwell.Denied, mask_error_details=True)


def mounting_who_masks() -> Any:
    return mounting(masking())


def limiting() -> Any:
    """With no room for more than one request: the SDK has to list the tools before it calls one."""
    from fastmcp.server.middleware.rate_limiting import RateLimitingMiddleware

    return plain(RateLimitingMiddleware(max_requests_per_second=0.001, burst_capacity=1))


def building(is_error: bool) -> Any:
    """A low-level server whose handler builds its results itself."""
    from mcp import types
    from mcp.server.lowlevel import Server as LowLevel

    server: Any = LowLevel("shop")

    @server.list_tools()  # type: ignore[untyped-decorator]
    async def listed() -> Any:
        schema = {"type": "object", "properties": {"invoice": {"type": "string"}}}
        return [types.Tool(name="pay", description="Pays.", inputSchema=schema)]

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def pay(name: str, arguments: Any) -> Any:
        DONE.append(name)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text="The till is shut.")], isError=is_error
        )

    return server


def checked(limit: dict[str, Any], rest: dict[str, Any] | None = None, **settings: bool) -> Any:
    """A low-level server that pays, whose schema limits the amount."""
    from mcp import types
    from mcp.server.lowlevel import Server as LowLevel

    server: Any = LowLevel("shop")

    @server.list_tools()  # type: ignore[untyped-decorator]
    async def listed() -> Any:
        schema = {"type": "object", "properties": {"invoice": {"type": "string"}, "amount": limit}, **(rest or {})}
        return [types.Tool(name="pay", description="Pays.", inputSchema=schema)]

    @server.call_tool(**settings)  # type: ignore[untyped-decorator]
    async def pay(name: str, arguments: Any) -> Any:
        DONE.append(name)
        return [types.TextContent(type="text", text="paid")]

    return server


def checked_once() -> Any:
    return checked({"type": "integer"})


def checked_by_the_sdk() -> Any:
    # Validators are at odds about expressions.
    return checked({"type": "string", "pattern": "^[0-9]+$"})


def unchecked() -> Any:
    return checked({"type": "integer"}, validate_input=False)


def closed() -> Any:
    return checked({"type": "integer"}, {"additionalProperties": False})


def closed_and_unchecked() -> Any:
    return checked({"type": "integer"}, {"additionalProperties": False}, validate_input=False)


def building_an_error() -> Any:
    return building(True)


def building_a_result() -> Any:
    return building(False)


PAID = {"invoice": "inv_1"}
EXTRA = {"invoice": "inv_1", "amount": 5, "currency": "EUR"}
BROKEN = {"effect": "done", "code": "INTERNAL_ERROR", "done": 1}
WRONG = {"invoice": "inv_1", "amount": "much"}
REFUSED = {"effect": "none", "code": "VALIDATION_ERROR"}
UNDONE = {"effect": "unknown", "code": "INTERNAL_ERROR"}
MAYBE = "failed part-way ("
UNFIT = {"effect": "unknown", "code": "INTERNAL_ERROR", "done": 1}
EVERYWHERE = (
    Scene("the SDK cannot write what a tool sends", notifying, PAID, told=SHOWS and GENERATION == 1, **UNFIT),
    Scene("a decorator rejects what the tool returned", checking_itself, PAID, told=SHOWS, **UNFIT),
    Scene(
        "a class beside Exception",
        panicking,
        PAID,
        says="failed unexpectedly",
        hides=SECRET,
        **UNFIT,
    ),
    Scene("wrong arguments", plain, WRONG, says="amount must be an integer", **REFUSED),
    Scene("missing arguments", plain, {}, says="invoice is missing", **REFUSED),
)
EUROS = {"invoice": "inv_1", "currency": "EUR"}
# Plain exceptions that an author raises when the work is done: their words stand as they are.
STANDS = {"done": 1, "hides": "again"}
LOOSE = (
    Scene("a value", refusing(ValueError("currency must be USD")), EUROS, says="currency must be USD", **STANDS),
    Scene("a lookup", refusing(LookupError("No receipt for inv_1")), EUROS, says="No receipt for inv_1", **STANDS),
    Scene("a bare key", refusing(KeyError("mailserver")), EUROS, says="mailserver", **STANDS),
    Scene("no template", refusing(FileNotFoundError("No page.html")), EUROS, says="No page.html", **STANDS),
)
BILL = {"bill": "inv_1"}
# With FastMCP from 2.14, which asks pydantic alone.
ALIASED = (
    Scene("by another name", aliased, BILL, done=1, says="page 1"),
    Scene("by another name, and a write", aliased_write, BILL, done=1, says="page 1"),
    Scene("by a name that promises restraint", aliased_write, {**PAID, "limit": 2}, done=1, says="page 2"),
    Scene("by the name of what it is inside of", aliased, {**PAID, "at": {"page": 2}}, done=1, says="page 2"),
    Scene("by another name, and one too many", aliased_write, {**BILL, "why": 1}, says="no argument why", **REFUSED),
    Scene("by another name, and wrong", aliased, {"bill": {}}, says="bill must be a valid string", **REFUSED),
)
# What FastMCP refuses.
IGNORING = (
    Scene(
        "by another name, and one to ignore", aliased_read, {**BILL, "why": 1}, done=1, says="page 1", ignored=("why",)
    ),
)
BUILT = (Scene("an error that the tool has built", building_an_error, PAID, done=1, says="The till is shut."),)
# Before 1.19 the SDK itself cannot carry it.
UNCARRIED = (Scene("a result that the tool has built", building_a_result, PAID, **BROKEN),)
# From 2.14.
DEPENDING = (
    Scene("what a tool uses is taken back", depending, PAID, effect="unknown", code="TIMEOUT", says=MAYBE),
    Scene("what a mounted tool uses", mounted_depending, PAID, "shop_pay", effect="unknown", code="TIMEOUT"),
)
FASTMCP = (
    Scene("a limit, before the SDK finds the tool", limiting, PAID, effect="none", code="RATE_LIMITED"),
    Scene("made of another, without an argument", made_of_another, {}, says="bill is missing", **REFUSED),
    Scene("made of another, under the old name", made_of_another, PAID, says="bill is missing", **REFUSED),
    Scene("an argument that the tool does not have", plain, EXTRA, says="no argument currency", **REFUSED),
    Scene("made of another, and an argument too many", made_of_another, {"bill": "b", "tip": 1}, **REFUSED),
    Scene("masked", masking, PAID, done=1, code="VALIDATION_ERROR"),
    Scene("masked crash", masking_a_crash, PAID, done=1, code="INTERNAL_ERROR", says="failed unexpectedly"),
    Scene("masked, of a mounted server", mounting_who_masks, PAID, "shop_pay", done=1, code="VALIDATION_ERROR"),
    Scene("masked but for FastMCP's own", masking_but_for_its_own, PAID, done=1, says=SECRET, hides="?"),
    Scene("masked but for Failwell's own", masking_but_for_ours, PAID, done=1, says=SECRET, hides="?", effect="none"),
    Scene("a result that was not promised", promising, PAID, **BROKEN),
    Scene("a result that was not promised, of a mounted server", mounting, PAID, "shop_pay", **BROKEN),
    Scene("made of another, wrong arguments", made_of_another, {"bill": "b", "amount": "much"}, **REFUSED),
    Scene(
        "made of another, wrong under its own name",
        made_of_another,
        {"bill": {}},
        says="bill must be a string",
        **REFUSED,
    ),
    Scene(
        "made of another, and hands on what is wrong",
        handing_on,
        {"bill": "b"},
        done=1,
        effect="unknown",
        told=True,
    ),
    Scene("middleware with numbers, wrong arguments", with_numbers, WRONG, says="must be an integer", **REFUSED),
    Scene("middleware with numbers, no such tool", with_numbers, {}, "pai", effect="none", code="UNKNOWN_TOOL"),
)
# What the server behind it says, and nothing more.
PASSED_ON = {"done": 1, "says": f"Error calling tool 'pay': {SECRET}", "hides": "Error: "}
PROXIED = (
    Scene("a crash behind a proxy", proxied_crash, PAID, **PASSED_ON),
    Scene("a crash behind a mounted proxy", mounted_proxy_of_a_crash, PAID, "shop_pay", **PASSED_ON),
    Scene(
        "a tool that calls a proxy",
        calling_a_proxy,
        PAID,
        "order",
        done=2,
        effect="unknown",
        says="failed part-way",
        hides="?",
    ),
)
# From 3 on they are not known to anybody.
SWITCHED_OFF = (Scene("switched off", switched_off, PAID, "refund", effect="none", code="UNKNOWN_TOOL"),)
# Before 3.4 a proxy makes a text of what the other server says.
PROXIES = (Scene("a proxy, wrong arguments", before_another, WRONG, says="must be an integer", **REFUSED),)
ASKED = (Scene("the user's answer does not fit", asking, PAID, told=SHOWS, **UNFIT),)
CHECKED = (
    Scene("held against a plain schema", checked_once, WRONG, says="amount must be an integer", **REFUSED),
    Scene("held against a closed schema", closed, EXTRA, says="no argument currency", **REFUSED),
    Scene("held against an expression", checked_by_the_sdk, WRONG, says="amount", **REFUSED),
)
# From 1.10, an author can have the SDK hold arguments against nothing.
UNCHECKED = (
    Scene("held against nothing", unchecked, WRONG, done=1, says="paid"),
    Scene("a closed schema, held against nothing", closed_and_unchecked, EXTRA, done=1, says="paid"),
)


async def answered(*given: Any) -> Any:
    """A client that answers a question with a text where a number belongs."""
    from mcp import types

    kind = types.ElicitResult
    if fastmcp is not None:
        from fastmcp.client.elicitation import ElicitResult as kind
    return kind(action="accept", content={"percent": "ten"})


@asynccontextmanager
async def session(server: Any) -> Any:
    from mcp.shared.memory import create_connected_server_and_client_session as connected

    options = {"elicitation_callback": answered} if can_ask() else {}
    async with connected(getattr(server, "_mcp_server", server), **options) as opened:
        yield opened


def carries_results() -> bool:
    """Whether the SDK takes a result that a tool has built: from 1.19."""
    from mcp.server.lowlevel import Server as LowLevel

    return "isinstance(results, types.CallToolResult)" in inspect.getsource(LowLevel.call_tool)


def can_ask() -> bool:
    """Whether a tool can ask in the middle of its work: from 1.10, and in the newer era no more."""
    from mcp import types

    return GENERATION == 1 and hasattr(types, "ElicitResult")


def client_of(server: Any) -> Any:
    """What opens a connection to a server in this process."""
    if fastmcp is not None:
        return fastmcp.Client(server, **({"elicitation_handler": answered} if can_ask() else {}))
    if GENERATION == 2:
        import mcp

        return mcp.Client(server)
    return session(server)


async def called(client: Any, scene: Scene) -> dict[str, Any]:
    call = getattr(client, "call_tool_mcp", None) or client.call_tool
    result = await call(scene.tool, scene.arguments)
    found: dict[str, Any] = result.model_dump(by_alias=True, mode="json")
    return found


async def problems_of(scene: Scene) -> list[str]:
    DONE.clear()
    async with client_of(failwell.server.install(scene.make())) as client:
        answer = await called(client, scene)
    told = (answer.get("_meta") or {}).get(META_KEY) or {}
    text = " ".join(block.get("text", "") for block in answer["content"])
    found = {
        "done": (len(DONE), scene.done),
        "effect": (told.get("effect"), scene.effect),
        "code": (told.get("code"), scene.code or told.get("code")),
        "says": (scene.says in text, True),
        "hides": (scene.hides in json.dumps(answer), False),
        "told": ("validation error" in text, scene.told),
        "ignored": (tuple((answer.get("_meta") or {}).get(IGNORED, ())), scene.ignored),
    }
    return [f"{scene.id}: {what} is {one}, not {other}: {text}" for what, (one, other) in found.items() if one != other]


def writing() -> list[Any]:
    """FastMCP's own middleware that writes of failures into the log."""
    from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware, RetryMiddleware
    from fastmcp.server.middleware.logging import LoggingMiddleware, StructuredLoggingMiddleware
    from fastmcp.server.middleware.timing import DetailedTimingMiddleware, TimingMiddleware

    return [
        ErrorHandlingMiddleware(include_traceback=True),
        RetryMiddleware(max_retries=1, base_delay=0.001, retry_exceptions=(Exception,)),
        LoggingMiddleware(include_payloads=True),
        StructuredLoggingMiddleware(include_payloads=True),
        TimingMiddleware(),
        DetailedTimingMiddleware(),
    ]


@contextmanager
def log_lines() -> Iterator[io.StringIO]:
    """What FastMCP writes into the log meanwhile."""
    log = io.StringIO()
    logging.disable(logging.NOTSET)
    # As it is called in 2.12.0, too.
    for name in ("fastmcp", "FastMCP"):
        logging.getLogger(name).handlers = [logging.StreamHandler(log)]
    try:
        yield log
    finally:
        logging.disable(logging.CRITICAL)


async def leaks_of_components() -> list[str]:
    """What FastMCP's own lines tell of components that raise, and must not stand in a log."""
    server = raising(lambda _: RuntimeError("no login with password=hunter2xYz"))

    @server.resource("vault://room")
    def room() -> str:
        raise RuntimeError("no login with password=hunter2xYz")

    @server.resource("vault://{door}/key")
    def key(door: str) -> str:
        raise RuntimeError("no login with password=hunter2xYz")

    @server.prompt()
    def enter() -> str:
        raise RuntimeError("no login with password=hunter2xYz")

    with log_lines() as log:
        async with client_of(failwell.server.install(server)) as client:
            await called(client, Scene("", lambda: None, PAID))
            for uri in ("vault://room", "vault://a/key"):
                with suppress(Exception):
                    await client.read_resource(uri)
            with suppress(Exception):
                await client.get_prompt("enter")
    told = [line for line in log.getvalue().splitlines() if "hunter2xYz" in line]
    return [f"the log tells a secret: {line}" for line in told] if log.getvalue() else ["FastMCP has written nothing."]


async def leaks_of_middleware() -> list[str]:
    """What the lines of FastMCP's own middleware tell that must not stand in a log."""
    problems = []
    for each in writing():
        DONE.clear()
        server = raising(lambda _: ConnectionError("bank at postgres://u:hunter2@h/db"))
        server.add_middleware(each)
        with log_lines() as log:
            async with client_of(failwell.server.install(server)) as client:
                await called(client, Scene("", lambda: None, PAID))
        told = [line for line in log.getvalue().splitlines() if "hunter2" in line]
        if told or not DONE or not log.getvalue():
            problems.append(f"{type(each).__name__}: {told}, {len(DONE)} done")
    return problems


PASSWORD = "corvette-meadow-19"
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
TOLD = f"login failed: postgres://app:hunter2xyz@db/main token {TOKEN}, tried {PASSWORD}"
LOGIN = {"invoice": "inv_1", "password": PASSWORD}


def error_of_its_own(words: str) -> Any:
    try:
        from mcp.types import CallToolResult
    except ImportError:
        from mcp_types import CallToolResult
    blocks = [{"type": "text", "text": words}]
    held = {"structuredContent": {"why": words}, "_meta": {"com.example/why": words}}
    return CallToolResult.model_validate({"content": blocks, "isError": True, **held})


def returning(words: str, made: Callable[[str], Any] = error_of_its_own) -> Any:
    """A server whose tool builds an error itself."""
    server = Server("shop")

    def pay(invoice: str, password: str = "") -> Any:
        DONE.append(invoice)
        return made(words)

    # Older ones promise something else of it.
    server.tool(**({"output_schema": None} if fastmcp is not None else {}))(pay)
    return server


def returning_below(words: str) -> Any:
    """The same of a low-level server."""
    schema = {"type": "object", "properties": {"invoice": {"type": "string"}, "password": {"type": "string"}}}
    if GENERATION == 2:
        import mcp_types
        from mcp.server import Server as Modern

        async def listed(ctx: Any, params: Any) -> Any:
            return mcp_types.ListToolsResult(tools=[mcp_types.Tool(name="pay", input_schema=schema)])

        async def called(ctx: Any, params: Any) -> Any:
            return error_of_its_own(words)

        return Modern("shop", on_list_tools=listed, on_call_tool=called)
    from mcp import types
    from mcp.server.lowlevel import Server as LowLevel

    server: Any = LowLevel("shop")

    @server.list_tools()  # type: ignore[untyped-decorator]
    async def tools() -> Any:
        return [types.Tool(name="pay", description="Pays.", inputSchema=schema)]

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def pay(name: str, arguments: Any) -> Any:
        return error_of_its_own(words)

    return server


def fastmcps_error(words: str) -> Any:
    from fastmcp.tools.base import ToolResult

    return ToolResult(content=words, structured_content={"why": words}, meta={"com.example/why": words}, is_error=True)


def takes_errors() -> bool:
    """Whether a tool of FastMCP's can return an error: from 3.4."""
    try:
        from fastmcp.tools.base import ToolResult
    except ImportError:
        return False
    return "is_error" in inspect.signature(ToolResult.__init__).parameters


def proxied_words(words: str) -> Any:
    """What a server behind it says, which has no `install`."""
    server = Server("shop")

    @server.tool()
    def pay(invoice: str, password: str = "") -> str:
        raise RuntimeError(words)

    return proxy_of(server)


async def returned_secrets() -> list[str]:
    """Whether an error in somebody else's words leaves with secrets, or is changed though it has none."""
    if fastmcp is not None:
        makers: list[Any] = [proxied_words]
        makers += [lambda words: returning(words, fastmcps_error)] if takes_errors() else []
    else:
        makers = [returning_below]
        makers += [returning] if GENERATION == 2 or carries_results() else []
    # Before 1.19 the SDK itself cannot carry it.
    is_carried = fastmcp is not None or GENERATION == 2 or carries_results()
    problems = []
    for make in makers:
        told = {}
        for words in (TOLD, "the till is shut"):
            for has_it in (True, False):
                server = make(words)
                async with client_of(failwell.server.install(server) if has_it else server) as client:
                    told[words, has_it] = await called(client, Scene("", lambda: None, LOGIN))
        written = json.dumps(told[TOLD, True])
        left = [secret for secret in ("hunter2xyz", TOKEN, PASSWORD) if secret in written]
        is_told = "login failed: postgres://app:[redacted]@db/main" in told[TOLD, True]["content"][0]["text"]
        if left or not is_told or not told[TOLD, True]["isError"]:
            problems.append(f"an error of its own: {left} in {written}")
        if is_carried and told["the till is shut", True] != told["the till is shut", False]:
            problems.append(f"an error without secrets: {told}")
    return problems


async def paid_twice() -> list[str]:
    """Whether `Recovering`, and a model that corrects the arguments as it is told, have the tool run again."""
    DONE.clear()
    server = failwell.server.install(asking())
    target = client_of(server) if fastmcp is not None or GENERATION == 2 else lambda: session(server)
    async with Recovering(target, fix=lambda error, arguments: {**arguments, "note": "corrected"}) as agent:
        report = await agent.call("pay", PAID)
    return (
        [] if (report.calls, len(DONE)) == (1, 1) else [f"Recovering made {report.calls} calls, and paid {len(DONE)}."]
    )


async def lists_too_often() -> list[str]:
    """Whether failures that name the call that tells have the author's own listing asked for each of them, and whether
    they name a tool that another client was shown."""
    from mcp import types
    from mcp.server.lowlevel import Server as LowLevel

    server: Any = LowLevel("shop")
    asked: list[str] = []
    shown = ["pay", "get_payment"]

    @server.list_tools()  # type: ignore[untyped-decorator]
    async def listed() -> Any:
        asked.append("")
        schema = {"type": "object", "properties": {"invoice": {"type": "string"}}, "required": ["invoice"]}
        hints = {"get_payment": types.ToolAnnotations(readOnlyHint=True), "pay": None}
        return [types.Tool(name=name, inputSchema=schema, annotations=hints[name]) for name in shown]

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def pay(name: str, arguments: Any) -> Any:
        raise ConnectionResetError("The bank hung up.")

    failwell.server.install(server)

    async def told(times: int) -> list[bool]:
        async with session(server) as client:
            answers = [await called(client, Scene("", lambda: None, PAID)) for _ in range(times)]
        return ["get_payment" in json.dumps(answer["content"]) for answer in answers]

    first, times = await told(10), len(asked)
    shown.remove("get_payment")
    second = await told(1)
    return [] if all(first) and times <= 3 and second == [False] else [f"listing: {first}, {times} asked, {second}"]


async def held_to_old_lists() -> list[str]:
    """Whether a call is held against a list that its client was not shown, or not lately, and whether a list that never
    comes has calls wait for it."""
    from mcp.server.lowlevel import Server as LowLevel

    from failwell.sdk import types
    from failwell.server.adapters import tool_calls as listings

    now = SimpleNamespace(name="id", is_read=True, listing="")

    def tools() -> Any:
        schema = {"type": "object", "properties": {now.name: {"type": "string"}}, "required": [now.name]}
        wire = {"name": "pay", "inputSchema": schema, "annotations": {"readOnlyHint": now.is_read}}
        return [types.Tool.model_validate(wire)]

    async def listed(*_: Any) -> Any:
        if now.listing == "hangs":
            await asyncio.sleep(3600)
        if now.listing == "exits":
            raise SystemExit(3)
        return tools() if GENERATION == 1 else types.ListToolsResult(tools=tools())

    async def pay(*_: Any) -> Any:
        DONE.append("pay")
        raise TimeoutError("bank")

    server: Any
    if GENERATION == 1:
        server = LowLevel("shop")
        server.list_tools()(listed)
        server.call_tool()(pay)
    else:
        server = LowLevel("shop", on_list_tools=listed, on_call_tool=pay)

    failwell.server.install(server)

    async def effect(client: Any, arguments: dict[str, Any]) -> Any:
        answer = await called(client, Scene("", lambda: None, arguments))
        return answer["_meta"][META_KEY].get("effect"), answer["_meta"][META_KEY]["code"]

    found = {}
    async with client_of(server) as first, client_of(server) as second:
        await first.list_tools()
        found["a read"] = (await effect(first, {"id": "1"}), ("none", "TIMEOUT"))
        now.name, now.is_read = "invoice_id", False
        found["not shown yet"] = (await effect(second, {"invoice_id": "1"}), ("unknown", "TIMEOUT"))
        await first.list_tools()
        found["shown anew"] = (await effect(first, {"invoice_id": "1"}), ("unknown", "TIMEOUT"))
        found["wrong by now"] = (await effect(first, {"id": "1"}), ("none", "VALIDATION_ERROR"))
        listings.PATIENCE = 0.2  # type: ignore[misc]
        for now.listing in ("hangs", "exits"):
            async with client_of(server) as third:
                found[now.listing] = (
                    await asyncio.wait_for(effect(third, {"invoice_id": "1"}), 30),
                    ("unknown", "TIMEOUT"),
                )
                found[f"{now.listing}, wrong"] = (
                    await asyncio.wait_for(effect(third, {"id": "1"}), 30),
                    ("none", "VALIDATION_ERROR"),
                )
    return [f"lists: {what} is {one}, not {other}" for what, (one, other) in found.items() if one != other]


async def main() -> list[str]:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    version = () if fastmcp is None else tuple(int(part) for part in fastmcp.__version__.split(".")[:2])
    is_lowlevel = fastmcp is None and GENERATION == 1
    there = (
        (EVERYWHERE, True),
        (LOOSE, True),
        (ALIASED, not version or version >= (2, 14)),
        (IGNORING, not version),
        (ASKED, can_ask()),
        (BUILT, is_lowlevel),
        (CHECKED, is_lowlevel),
        (UNCHECKED, is_lowlevel and can_ask()),
        (UNCARRIED, is_lowlevel and not carries_results()),
        (FASTMCP, bool(version)),
        (DEPENDING, version >= (2, 14)),
        (around_tools() if version else (), True),
        (around_renamed() if version >= (2, 14) else (), True),
        (PROXIES, version >= (3, 4)),
        (PROXIED, bool(version)),
        (SWITCHED_OFF, bool(version) and version < (3,)),
        # FastMCP 4 holds only what a tool itself has returned against its schema.
        (around_promises() if version and version < (4,) else (), True),
    )
    scenes = [scene for each, is_there in there if is_there for scene in each]
    problems = [problem for scene in scenes for problem in await problems_of(scene)]
    problems += [*await leaks_of_components(), *await leaks_of_middleware()] if version else []
    problems += await lists_too_often() if is_lowlevel else []
    problems += await held_to_old_lists() if fastmcp is None else []
    problems += await returned_secrets()
    can_recover = can_ask() and (not version or version >= (2, 14))
    return [*problems, *(await paid_twice() if can_recover else ())]


if __name__ == "__main__":
    json.dump(asyncio.run(main()), sys.stdout, indent=1)
