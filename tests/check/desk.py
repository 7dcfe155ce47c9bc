"""A lending library whose failures are as good as plain sentences get, and the three Python frameworks that can serve it.

A `Desk` knows no framework: it refuses wrong arguments, does the work, and sees each line of the wire. A planted defect is a
`Desk` with one answer made worse (`twins.py`). The frameworks keep their own manners where a desk lets them: a desk that
refuses nothing leaves wrong arguments to pydantic, and one that raises leaves the exception to the server.
"""

from __future__ import annotations

import difflib
import json
import logging
import os
import re
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from mcp_types import CallToolResult, ListToolsResult, ToolAnnotations
from mcp_types import Tool as ListedTool
from pydantic import Field

if TYPE_CHECKING:
    from starlette.applications import Starlette

Json = dict[str, Any]
BOOKS: Final = {"bk_1": "Persuasion", "bk_2": "Middlemarch", "bk_3": "Cranford"}
_KINDS: Final[dict[str, tuple[type, ...]]] = {"string": (str,), "integer": (int,)}


@dataclass(frozen=True)
class Argument:
    """One argument of a tool, as JSON Schema and as a sentence."""

    name: str
    kind: str
    words: str
    required: bool = True
    options: tuple[str, ...] = ()
    pattern: str = ""
    least: int | None = None
    most: int | None = None
    example: Any = None

    @property
    def schema(self) -> Json:
        said: Json = {"type": self.kind, "description": self.words}
        more = {"enum": list(self.options), "pattern": self.pattern, "minimum": self.least, "maximum": self.most}
        said |= {key: value for key, value in more.items() if value or value == 0}
        return said | ({"examples": [self.example]} if self.example is not None else {})

    @property
    def wanted(self) -> str:
        if self.options:
            return "one of " + ", ".join(map(json.dumps, self.options))
        if self.least is not None:
            return f"a whole number from {self.least} to {self.most}"
        return f"a string such as {json.dumps(self.example)}" if self.example else f"a {self.kind}"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, _KINDS[self.kind]) or isinstance(value, bool):
            return False
        if self.options:
            return value in self.options
        if self.least is not None and self.most is not None:
            return bool(self.least <= value <= self.most)
        return not self.pattern or re.fullmatch(self.pattern, value, re.ASCII) is not None


@dataclass(frozen=True)
class Tool:
    name: str
    words: str
    arguments: tuple[Argument, ...] = ()
    reads: bool = True

    @property
    def schema(self) -> Json:
        properties = {argument.name: argument.schema for argument in self.arguments}
        required = [argument.name for argument in self.arguments if argument.required]
        more = {"required": required} if required else {}
        return {"type": "object", "properties": properties, **more, "additionalProperties": False}

    @property
    def hints(self) -> ToolAnnotations:
        return ToolAnnotations(read_only_hint=self.reads, destructive_hint=False, idempotent_hint=self.reads)


BOOK: Final = Argument("book_id", "string", "The id of a book.", pattern="^bk_[0-9]{1,6}$", example="bk_1")
DETAIL: Final = Argument(
    "detail", "string", "How much is told.", required=False, options=("short", "full"), example="short"
)
COPIES: Final = Argument("copies", "integer", "How many copies.", required=False, least=1, most=20, example=1)
DAYS: Final = Argument("days", "integer", "For how many days.", least=1, most=30, example=7)
LIST: Final = Tool("list_books", "The ids and titles of all books.")
GET: Final = Tool("get_book", "What is known of one book.", (BOOK, DETAIL, COPIES))
RESERVE: Final = Tool("reserve_book", "Reserves a book for a number of days.", (BOOK, DAYS), reads=False)
CARD: Final = Argument("card", "string", "The number of a library card.", example="c-1001")
PASSWORD: Final = Argument("password", "string", "The password of the card.", example="correct-horse-battery")
CHECK_CARD: Final = Tool("check_card", "Whether a card and its password belong together.", (CARD, PASSWORD))
PRICE: Final = Tool("get_price", "What a shop asks for a book.", (BOOK,))
ORDER: Final = Tool("order_book", "Orders a book from a shop.", (BOOK, DAYS), reads=False)


def shown(value: Any, most: int = 40) -> str:
    """A value of the caller as JSON on one line, cut short: it cannot pass for words of ours."""
    text = json.dumps(value)
    return text if len(text) <= most else text[:most] + "…"


def said(text: str, **more: Any) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": False, **more}


def failed(text: str, **more: Any) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": True, **more}


class Desk:
    """Serves the library, and fails well."""

    tools: ClassVar[tuple[Tool, ...]] = (LIST, GET, RESERVE)
    banner = ""
    """What is printed to stdout before anything else."""

    def __init__(self) -> None:
        self.reserved: dict[str, int] = {}
        self.asked: dict[Any, Json] = {}

    def answer(self, name: str, arguments: Json) -> Json | None:
        """What is said without the tool; None lets the framework run it."""
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            return self.unknown_tool(name)
        wrong = self.refusal(tool, arguments)
        return None if wrong is None else self.refused(tool, wrong)

    def refused(self, tool: Tool, wrong: str) -> Json:
        return failed(f"{wrong} Nothing was done.")

    def unknown_tool(self, name: str) -> Json:
        names = ", ".join(tool.name for tool in self.tools)
        close = difflib.get_close_matches(name, [tool.name for tool in self.tools], 1, 0.6)
        meant = f" Did you mean {close[0]}?" if close else ""
        return failed(f"There is no tool {shown(name)}.{meant} Call one of these instead: {names}. Nothing was done.")

    def refusal(self, tool: Tool, arguments: Json) -> str | None:
        """Why these arguments are not taken, if they are not."""
        wrong = [*self.unknown(tool, arguments), *self.missing(tool, arguments), *self.misfits(tool, arguments)]
        return " ".join(wrong) or None

    def unknown(self, tool: Tool, arguments: Json) -> Iterable[str]:
        names = [argument.name for argument in tool.arguments]
        for name in sorted(arguments.keys() - names):
            close = difflib.get_close_matches(name, names, 1, 0.6)
            meant = f" Did you mean {shown(close[0])}?" if close else ""
            takes = f"It takes {', '.join(names)}." if names else "Call it without arguments."
            yield f"{tool.name} takes no argument {shown(name)}.{meant} {takes}"

    def missing(self, tool: Tool, arguments: Json) -> Iterable[str]:
        for argument in tool.arguments:
            if argument.required and argument.name not in arguments:
                yield f"{tool.name} needs the argument '{argument.name}', which is missing: send {argument.wanted}."

    def misfits(self, tool: Tool, arguments: Json) -> Iterable[str]:
        for argument in tool.arguments:
            if argument.name in arguments and not argument.accepts(arguments[argument.name]):
                yield self.misfit(argument, arguments[argument.name])

    def misfit(self, argument: Argument, value: Any) -> str:
        got = "what was sent" if argument is PASSWORD else shown(value)
        return f"The argument '{argument.name}' must be {argument.wanted}, and not {got}. Call again with such a value."

    def work(self, tool: Tool, **arguments: Any) -> Json:
        return {
            LIST: self.list_books,
            GET: self.get_book,
            RESERVE: self.reserve_book,
            CHECK_CARD: self.check_card,
        }[tool](**arguments)

    def list_books(self) -> Json:
        return said("\n".join(f"{key} {title}" for key, title in BOOKS.items()))

    def get_book(self, book_id: str, detail: str = "short", copies: int = 1) -> Json:
        if book_id not in BOOKS:
            return self.no_book("get_book", book_id)
        return said(f"{BOOKS[book_id]}, {copies} of them" + (", in the reading room" if detail == "full" else ""))

    def no_book(self, tool: str, book_id: str) -> Json:
        return failed(
            f"No book has the id {shown(book_id)}. Nothing was done, and the same call would fail again. "
            f"Call list_books to see the ids, then call {tool} with one of them."
        )

    def reserve_book(self, book_id: str, days: int) -> Json:
        if book_id not in BOOKS:
            return self.no_book("reserve_book", book_id)
        self.reserved[book_id] = days
        return said(f"{BOOKS[book_id]} is reserved for {days} days.")

    def check_card(self, card: str, password: str) -> Json:
        if password != PASSWORD.example:
            return self.wrong_password(card, password)
        return said("They belong together.")

    def wrong_password(self, card: str, password: str) -> Json:
        return failed(
            f"The password for card {shown(card)} is not the right one. Nothing was done. "
            "Ask the user for the right one; do not try others."
        )

    def incoming(self, line: bytes) -> Iterable[bytes]:
        """What the framework gets to read. Frames that are no JSON-RPC are answered here, since the frameworks are silent."""
        try:
            frame = json.loads(line)
        except ValueError:
            self.unreadable()
            return ()
        fits = isinstance(frame, dict) and frame.get("jsonrpc") == "2.0"
        number = frame.get("id") if isinstance(frame, dict) else None
        if not fits or not isinstance(number, (str, int, type(None))) or isinstance(number, bool):
            self.reply(
                {"id": None, "error": {"code": -32600, "message": "Invalid request: send one JSON-RPC 2.0 object."}}
            )
            return ()
        return self.request(frame, line)

    def request(self, frame: Json, line: bytes) -> Iterable[bytes]:
        return (line,)

    def unreadable(self) -> None:
        self.reply(
            {"id": None, "error": {"code": -32700, "message": "Parse error: the line is not JSON. Send it again."}}
        )

    def outgoing(self, line: bytes) -> Iterable[bytes]:
        return (line,)

    def reply(self, frame: Json) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    def write(self, line: bytes) -> None:
        os.write(sys.stdout.fileno(), line)


def result(value: Json) -> CallToolResult:
    return CallToolResult.model_validate(value)


def functions(desk: Desk) -> dict[str, Any]:
    """The tools as an author of MCPServer or FastMCP writes them."""

    async def list_books() -> CallToolResult:
        return result(desk.work(LIST))

    async def get_book(
        book_id: Annotated[str, Field(pattern=BOOK.pattern, description=BOOK.words, examples=["bk_1"])],
        detail: Annotated[Literal["short", "full"], Field(description=DETAIL.words)] = "short",
        copies: Annotated[int, Field(ge=1, le=20, description=COPIES.words)] = 1,
    ) -> CallToolResult:
        return result(desk.work(GET, book_id=book_id, detail=detail, copies=copies))

    async def reserve_book(
        book_id: Annotated[str, Field(pattern=BOOK.pattern, description=BOOK.words, examples=["bk_1"])],
        days: Annotated[int, Field(ge=1, le=30, description=DAYS.words)],
    ) -> CallToolResult:
        return result(desk.work(RESERVE, book_id=book_id, days=days))

    async def check_card(
        card: Annotated[str, Field(description=CARD.words, examples=[CARD.example])],
        password: Annotated[str, Field(description=PASSWORD.words, examples=[PASSWORD.example])],
    ) -> CallToolResult:
        return result(desk.work(CHECK_CARD, card=card, password=password))

    async def get_price(
        book_id: Annotated[str, Field(pattern=BOOK.pattern, description=BOOK.words, examples=["bk_1"])],
    ) -> CallToolResult:
        return result(desk.work(PRICE, book_id=book_id))

    async def order_book(
        book_id: Annotated[str, Field(pattern=BOOK.pattern, description=BOOK.words, examples=["bk_1"])],
        days: Annotated[int, Field(ge=1, le=30, description=DAYS.words)],
    ) -> CallToolResult:
        return result(desk.work(ORDER, book_id=book_id, days=days))

    made = (list_books, get_book, reserve_book, check_card, get_price, order_book)
    return {function.__name__: function for function in made}


def mcpserver(desk: Desk) -> Any:
    from mcp.server.mcpserver import MCPServer

    class Library(MCPServer):
        async def call_tool(self, name: str, arguments: Json, context: Any = None) -> Any:
            answer = desk.answer(name, arguments)
            return await super().call_tool(name, arguments, context) if answer is None else result(answer)

    server = Library("library", version="1", log_level="ERROR")
    written = functions(desk)
    for tool in desk.tools:
        server.add_tool(written[tool.name], description=tool.words, annotations=tool.hints)
    return server


def fastmcp(desk: Desk) -> Any:
    from fastmcp import FastMCP
    from fastmcp.server.middleware import Middleware
    from fastmcp.tools import ToolResult

    class Refusals(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            answer = desk.answer(context.message.name, context.message.arguments or {})
            return await call_next(context) if answer is None else ToolResult.from_mcp_result(result(answer))

    server = FastMCP("library", version="1", middleware=[Refusals()])
    written = functions(desk)
    for tool in desk.tools:
        server.tool(written[tool.name], description=tool.words, annotations=tool.hints)
    return server


def lowlevel(desk: Desk) -> Any:
    from mcp.server import Server

    async def listed(context: Any, params: Any) -> ListToolsResult:
        tools = [
            ListedTool(name=tool.name, description=tool.words, input_schema=tool.schema, annotations=tool.hints)
            for tool in desk.tools
        ]
        return ListToolsResult(tools=tools)

    async def called(context: Any, params: Any) -> CallToolResult:
        arguments = params.arguments or {}
        answer = desk.answer(params.name, arguments)
        if answer is None:
            tool = next(tool for tool in desk.tools if tool.name == params.name)
            answer = desk.work(
                tool, **{one.name: arguments[one.name] for one in tool.arguments if one.name in arguments}
            )
        return result(answer)

    return Server("library", version="1", on_list_tools=listed, on_call_tool=called)


FRAMEWORKS: Final = {"mcpserver": mcpserver, "lowlevel": lowlevel, "fastmcp": fastmcp}


def app(server: Any) -> Starlette:
    """The server behind HTTP."""
    make = getattr(server, "streamable_http_app", None) or server.http_app
    made: Starlette = make()
    return made


_END: Final = b"\0end\n"


def serve(server: Any, desk: Desk) -> None:
    """Over stdio, with the desk between the pipes and the framework."""
    import anyio

    # The frameworks paint each exception in colours, which takes seconds.
    logging.disable(logging.CRITICAL)
    heard, told = os.dup(0), os.dup(1)
    to_server, from_server = os.pipe(), os.pipe()
    os.dup2(to_server[0], 0)
    os.dup2(from_server[1], 1)
    writing = threading.Lock()

    def write(line: bytes) -> None:
        with writing:
            while line:
                line = line[os.write(told, line) :]

    desk.write = write  # type: ignore[method-assign]
    if desk.banner:
        write(desk.banner.encode())

    def listen() -> None:
        with os.fdopen(heard, "rb") as lines, os.fdopen(to_server[1], "wb") as onward:
            for line in lines:
                for passed in desk.incoming(line):
                    onward.write(passed)
                    onward.flush()

    def speak() -> None:
        with os.fdopen(from_server[0], "rb") as lines:
            for line in lines:
                if line == _END:
                    return
                for passed in desk.outgoing(line):
                    write(passed)

    threading.Thread(target=listen, daemon=True).start()
    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    if hasattr(server, "run_stdio_async"):
        quiet = {"show_banner": False, "log_level": "ERROR"} if hasattr(server, "http_app") else {}
        anyio.run(lambda: server.run_stdio_async(**quiet))
    else:
        anyio.run(_lowlevel, server)
    os.write(from_server[1], _END)
    speaker.join()


async def _lowlevel(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
