"""`failwell demo`: the same failures before and after, and what an agent should do with each."""

from __future__ import annotations

from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from failwell import (
    Action,
    Conflict,
    FieldError,
    Invalid,
    NotFound,
    Patch,
    ToolError,
    Traits,
    Transient,
    decide,
    parse,
    to_result,
)

from .io import Commands, console


@dataclass(frozen=True)
class Case:
    """One failure: what the model sees today, the error an author would raise, and a format to send it in."""

    title: str
    before: str
    error: ToolError
    format: str
    tool: Traits


CASES = (
    Case(
        "A record that does not exist",
        "Error executing tool get_project",
        NotFound(
            "Project 'p_1' does not exist.",
            suggestion="Call projects.list first to get valid ids, then retry.",
            actions=["projects.list"],
        ),
        "xml",
        Traits("get_project", read_only=True),
    ),
    Case(
        "An argument with a typo",
        "1 validation error for searchArguments\nlimt\n  Unexpected keyword argument "
        "[type=unexpected_keyword_argument, input_value=5, input_type=int]",
        Invalid(
            "The arguments are invalid: limt.",
            tool="search",
            fields=[FieldError(("limt",), "Unknown argument", 5)],
            patch=[Patch("rename", ("limt",), to="limit")],
            sent={"limt": 5},
        ),
        "text",
        Traits("search", read_only=True),
    ),
    Case(
        "A rate limit",
        "Error calling tool 'post': 429",
        Transient("Too many requests.", code="RATE_LIMITED", retry_after=30),
        "typed",
        Traits("post", read_only=False),
    ),
    Case(
        "Somebody else holds it",
        "Error executing tool reserve",
        Conflict(
            "src/*.py is reserved.",
            recoverable=True,
            conflicts=[{"agent_id": "agent-2", "pattern": "src/*.py", "held_by": "agent-2"}],
        ),
        "typed",
        Traits("reserve", read_only=False),
    ),
    Case(
        "A payment that may have gone through",
        "Error executing tool pay_invoice",
        Transient(
            "The bank did not answer in time.",
            code="TIMEOUT",
            effect="unknown",
            verify=Action("get_invoice", arguments={"id": "inv_1"}),
        ),
        "text",
        Traits("pay_invoice", read_only=False),
    ),
)


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="one agent on a real server, without Failwell and with it",
        description="Starts an example server twice, without Failwell and with it, and lets the same agent meet the "
        "same obstacles on both. Without the MCP SDK it shows the failures from a table.",
        epilog="examples:\n  failwell demo\n  failwell demo | less",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    try:
        import anyio

        from .demo_live import compare
    except ModuleNotFoundError:
        return _told()
    return _shown(anyio.run(compare))


_SIDES = (("plain", "red"), ("with Failwell", "green"))


def _shown(runs: Sequence[Any]) -> int:
    """The real thing: what a server said, and how far an agent came with it."""
    from rich.text import Text

    out = console()
    out.print(Text("One agent, one server, twice: as the plain SDK runs it, and with one line of Failwell.\n", "bold"))
    for number, (obstacle, *both) in enumerate(runs, 1):
        out.print(Text(f"{number}. {obstacle.title}", style="bold cyan"))
        out.print(_beside(both) if out.is_terminal else _below(both))
        out.print()
    for (label, style), column in zip(_SIDES, zip(*(both for _, *both in runs), strict=True), strict=True):
        count = sum(side.through for side in column)
        out.print(Text(f"{label}: {count} of {len(runs)} got through", style=f"bold {style}"))
    out.print(Text("\nNext: failwell example, failwell manifest reservations, failwell explain --help", style="dim"))
    return 0


def _beside(both: Sequence[Any]) -> Any:
    """Two columns, for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 3), expand=True)
    for label, style in _SIDES:
        table.add_column(label, style=style, header_style=f"bold {style}", ratio=1)
    table.add_row(*(Text(side.said, style="default") for side in both))
    table.add_row(*(Text("".join(f"\nagent: {step}" for step in side.steps)) for side in both))
    return table


def _below(both: Sequence[Any]) -> Any:
    """One below the other, for a file."""
    from rich.text import Text

    lines = []
    for (label, _), side in zip(_SIDES, both, strict=True):
        lines += [f"   {label}", indent(side.said, " " * 5), *(f"     agent: {step}" for step in side.steps)]
    return Text("\n".join(lines))


def _told() -> int:
    """Without the SDK: the same failures before and after, from a table."""
    from rich.text import Text

    out = console()
    out.print(Text("What a model is told when a tool fails, today and with Failwell.\n", style="bold"))
    for number, case in enumerate(CASES, 1):
        before: dict[str, Any] = {"content": [{"type": "text", "text": case.before}], "isError": True}
        after = to_result(case.error, case.format)
        out.print(Text(f"{number}. {case.title}", style="bold cyan"))
        for label, style, result in (("today", "red", before), (f"with Failwell ({case.format})", "green", after)):
            out.print(Text(f"   {label}", style=style))
            out.print(Text(indent(result["content"][0]["text"], " " * 5)))
            read = parse(result)
            if read is not None:
                out.print(Text.assemble(("     agent: ", f"bold {style}"), decide(read, tool=case.tool).reason))
        out.print()
    out.print(Text("Next, on a real server: pip install 'failwell[mcp]', then failwell demo", style="dim"))
    return 0
