"""The rows of `make matrix`: which versions there are, what cannot be asked of each, and where an answer may differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cases import ARGUMENTS, AUDITED, MIDDLEWARE, WORKING
from wire import LEGACY

TABLE: Final = "matrix"
CLIENTS: Final = "matrix-clients"


@dataclass(frozen=True)
class Row:
    """An environment, and the servers that it has."""

    name: str
    extra: str
    pins: tuple[str, ...]
    servers: tuple[str, ...]
    is_whole: bool = True
    """Whether its client is taken by `Recovering`, and it has tools in the background."""


ROWS: Final = (
    # This old they need a pydantic of their time.
    Row("mcp-1.9", "mcp", ("mcp==1.9.4", "pydantic==2.11.10"), ("fastmcp1", "lowlevel")),
    Row("mcp-1.16", "mcp", ("mcp==1.16.0", "pydantic==2.11.10"), ("fastmcp1", "lowlevel")),
    Row("mcp-1.30", "mcp", ("mcp==1.30.0",), ("fastmcp1", "lowlevel")),
    Row("mcp-2.3", "mcp", ("mcp==2.3.0",), ("mcpserver", "lowlevel")),
    Row("fastmcp-2.12", "fastmcp", ("fastmcp==2.12.5", "pydantic==2.11.10"), ("fastmcp",), is_whole=False),
    Row("fastmcp-2.14", "fastmcp", ("fastmcp==2.14.7",), ("fastmcp",)),
    # Before 3.4 the check of arguments had no exception of its own.
    Row("fastmcp-3.0", "fastmcp", ("fastmcp==3.0.2",), ("fastmcp",)),
    # With the worker of background tasks, which 2.14 always has.
    Row("fastmcp-3.4", "fastmcp", ("fastmcp[tasks]==3.4.10",), ("fastmcp",)),
    Row("fastmcp-4.1", "fastmcp", ("fastmcp[tasks]==4.1.2",), ("fastmcp",)),
)
PLACES: Final = tuple(f"{row.name}-{server}/{LEGACY}" for row in ROWS for server in row.servers)
"""Where the answers of the rows are in the table, beside those of the versions that the other tests run with."""
KNOWN_AS: Final = {"fastmcp1": "mcpserver"}
"""What is asked of the first framework of the SDK is asked of it under both of its names."""

Named = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
NOT_ASKED: Final[Named] = {
    "The SDK's servers have no middleware before 2.x.": (
        ("mcp-1.9", "mcp-1.16", "mcp-1.30"),
        tuple(case.id for case in (*MIDDLEWARE, *AUDITED)),
    ),
    "Nobody is sent to a page before 1.23.": (("mcp-1.9", "mcp-1.16", "fastmcp-2.12"), ("MCPError -32042",)),
    "Tools build no results of their own before 1.19.": (("mcp-1.16",), ("built result breaks the output schema",)),
    "Nothing is promised about results before 1.10.": (
        ("mcp-1.9",),
        ("result breaks the output schema", "built result breaks the output schema"),
    ),
    "FastMCP has no errors that are returned before 3.4.": (
        ("fastmcp-3.0",),
        ("author's own isError by ToolResult",),
    ),
    "FastMCP 2 has neither errors that are returned nor a time limit of a tool.": (
        ("fastmcp-2.12", "fastmcp-2.14"),
        ("author's own isError by ToolResult", "timeout of the tool"),
    ),
}
"""What a row cannot be asked, and why."""
TOUCHED: Final[Named] = {
    "On 1.x an error that an author returns is held against the output schema, and breaks it.": (
        ("mcp-1.16", "mcp-1.30", "fastmcp-2.12", "fastmcp-2.14", "fastmcp-3.0", "fastmcp-3.4"),
        ("author's own isError with an output schema",),
    ),
    "Before 2.13 FastMCP has the SDK look at arguments, which reads no text as a number.": (
        ("fastmcp-2.12",),
        ("argument of a type that can be read",),
    ),
}
"""Where the framework's own answer is an error of its own making, which is answered in better words."""
DIFFERENT: Final = {
    "A success looks as its framework makes it.": tuple(case.id for case in WORKING),
    "An author's own error result is passed on as its framework does; before 1.19 it is taken for data.": (
        "author's own isError",
        "author's own isError with an output schema",
    ),
    "Version 2 of the SDK hides what an exception says; before that, and in FastMCP, it is shown.": (
        "KeyError with a secret",
        "async crash",
        "crash with an output schema",
        "crash with an output schema for text",
        "crash of a read-only tool",
        "StopIteration",
        "RecursionError",
        "TimeoutError",
        "timeout of a read-only tool",
        "timeout of an idempotent tool",
        "ExceptionGroup",
        "HTTP read timeout",
        "HTTP connect error",
        "inner tool before its marks",
    ),
    "What is shown are the words of the pydantic that is installed.": (
        "validation of other data in the body",
        "result that cannot be written",
        "inner tool run by hand with a wrong argument",
    ),
    "Without output schemas, as before 1.10, a warning or a question breaks none.": (
        "own warning with an output schema",
        "question with an output schema",
    ),
    "Without FastMCP nothing is known of its exceptions.": (
        "ToolError of FastMCP",
        "ToolError of FastMCP with a cause",
    ),
    "Frameworks convert arguments, or ignore those that a tool does not have; a low-level server does neither.": (
        tuple(case.id for case in ARGUMENTS)
    ),
    "A low-level server's handler says itself what it does not have.": (
        "resource unknown",
        "resource of another scheme",
        "prompt unknown",
        "prompt argument missing",
    ),
    "The answer of 2.x to what middleware raises says what kind of result it is.": tuple(
        case.id for case in (*MIDDLEWARE, *AUDITED)
    ),
    "What was wrong with the call of an inner tool is said as its framework says it; FastMCP 4 reads it where it fails.": (
        "inner tool that only reads",
        "inner tool with a wrong argument",
        "inner tool that does not exist",
    ),
    "On 2.x a low-level result is looked at by the runner, further out.": ("result of no kind",),
    "What was done is what was asked.": ("what was really done",),
}
"""Which answers may differ from one row to another, and why. All the others are the same everywhere."""


def is_named(table: Named, row: str, case: str) -> bool:
    return any(row in rows and case in cases for rows, cases in table.values())
