"""`failwell demo`: what an agent makes of failures, without Failwell and with it."""

from __future__ import annotations

from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any, Final

from failwell import Action, Invalid, NotFound, ToolError, Transient, render
from failwell.model import Patch
from failwell.packages import missing, needed

from .io import Commands, console, interruptible

if TYPE_CHECKING:
    from rich.console import Console

    from .demo_live import Obstacle, Trial
    from .demo_wrap import Foreign

WIDEST: Final = 100
PIPED: Final = 80
WITHOUT, WITH = ("without Failwell", "red"), ("with Failwell", "green")
AS_IT_IS, WRAPPED = ("as it is", "red"), ("behind failwell wrap", "green")
WHY: Final = (
    "When a tool fails, an agent has only the text of the error to go by. Here it meets four failures twice: as the "
    "MCP SDK sends them, and with one line in the same server: failwell.server.install(server)."
)
HONEST: Final = (
    "The server is real and so are its failures. The agent is a script, not a model: it does what the error says, "
    "and where the error says nothing, it tries once more and then gives up. The fifth failure is "
    "that of another server, which nobody changed: alone, and behind failwell wrap."
)
NEXT: Final = (
    "Next: put the one line into your server (README, 'If you write a server'), or wrap one that you run "
    "(`failwell wrap -- CMD`); `failwell example` lists five servers to try; `failwell explain` says what an error "
    "means that you paste."
)


@dataclass(frozen=True)
class Case:
    """One failure for those who have no SDK: what the model reads today, and the error in Failwell's words."""

    title: str
    before: str
    error: ToolError


CASES: Final = (
    Case(
        "A payment whose answer gets lost",
        "Error executing tool pay_invoice",
        Transient(
            "The bank did not answer in time.",
            code="TIMEOUT",
            tool="pay_invoice",
            effect="unknown",
            verify=Action("get_invoice", arguments={"id": "inv_1"}),
        ),
    ),
    Case(
        "An argument with a typo",
        "1 validation error for searchArguments\nlimt\n  Unexpected keyword argument "
        "[type=unexpected_keyword_argument, input_value=5, input_type=int]",
        Invalid(
            "The arguments are invalid: limt.",
            tool="search",
            fields=[{"path": "limt", "message": "Unknown argument", "sent": 5}],
            patch=[Patch("rename", ("limt",), to="limit")],
            sent={"limt": 5},
        ),
    ),
    Case(
        "A record that does not exist",
        "Error executing tool get_project",
        NotFound("Project 'p_1' does not exist.", actions=["projects.list"]),
    ),
    Case(
        "A rate limit",
        "Error calling tool 'post': 429",
        Transient("Too many requests.", code="RATE_LIMITED", retry_after=30),
    ),
)


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="one agent on a real server, without Failwell and with it",
        description="Starts a small server twice, without Failwell and with it, and lets one scripted agent meet the "
        "same failures on both. Without the MCP SDK it shows what a model would read, from a table.",
        epilog="examples:\n  failwell demo\n  failwell demo | less",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    page = Page(console())
    page.put(WHY, style="bold")
    lacking = missing("the demo on a real server", "mcp", newest=True)
    if lacking is not None:
        return _told(page, str(lacking))
    try:
        import mcp.client  # noqa: F401
    except ImportError as problem:
        return _told(page, str(needed("the demo on a real server", "mcp", problem)))
    page.put(HONEST)
    page.put("Starting the two servers takes some seconds ...", style="dim")
    import anyio

    from . import demo_wrap
    from .demo_live import compare

    runs: list[tuple[Obstacle, Trial, Trial]] = []
    gone: list[OSError] = []

    def show(obstacle: Obstacle, plain: Trial, ours: Trial) -> bool:
        runs.append((obstacle, plain, ours))
        try:
            _show(page, len(runs), obstacle, (plain, ours))
        except OSError as problem:
            # Raised among the tasks of two clients, it would come out as a group of groups.
            gone.append(problem)
        return not gone

    with interruptible(), demo_wrap.both() as foreign:
        anyio.run(compare, show)
        if gone:
            raise gone[0]
        _show_wrapped(page, len(runs) + 1, foreign)
    obstacles, *columns = zip(*runs, strict=True)
    for (label, style), column in zip((WITHOUT, WITH), columns, strict=True):
        through = sum(run.through for run in column)
        twice = [f"the {obstacle.thing}" for obstacle, run in zip(obstacles, column, strict=True) if run.made > 1]
        made = f"{' and '.join(twice) or 'nothing'} was made twice"
        page.put(f"{label}: {through} of {len(runs)} got through, {made}", style=f"bold {style}", after="")
    page.put("", after="")
    page.put(NEXT, style="dim", after="")
    return 0


def _show(page: Page, number: int, obstacle: Obstacle, both: Sequence[Trial]) -> None:
    page.put(f"{number}. {obstacle.title}", style="bold cyan")
    for (label, style), run in zip((WITHOUT, WITH), both, strict=True):
        page.put(f"{label}, the agent reads", indent=3, style=style, after="")
        for number, (text, step) in enumerate(zip(run.read, run.did, strict=True), 1):
            page.put(text, indent=6, after="")
            page.put(f"and {step}{'.' if number == len(run.read) else ', and reads'}", indent=3, after="")
        if obstacle.thing:
            made = f"{run.made or 'no'} {obstacle.thing}{'s' * (run.made > 1)}"
            page.put(f"In the shop's books: {made}.", indent=3, style=f"bold {style}", after="")
        page.put("", after="")


def _show_wrapped(page: Page, number: int, both: Sequence[Foreign]) -> None:
    from .demo_wrap import TITLE, met

    page.put(f"{number}. {TITLE}", style="bold cyan")
    for (label, style), server in zip((AS_IT_IS, WRAPPED), both, strict=True):
        page.put(label, indent=3, style=style, after="")
        for call, texts in met(server):
            page.put(f"the agent calls {call}, and reads", indent=3, after="")
            for text in texts or ["nothing: the server is gone, and its tools are too"]:
                page.put(text, indent=6, after="")
        page.put(f"Reminders that were really sent: {server.count}.", indent=3, style=f"bold {style}", after="")
        page.put("", after="")


def _told(page: Page, lacking: str) -> int:
    """Without the SDK: what a model reads, from a table."""
    for number, case in enumerate(CASES, 1):
        page.put(f"{number}. {case.title}", style="bold cyan")
        for (label, style), text in ((WITHOUT, case.before), (WITH, render(case.error, "text"))):
            page.put(f"{label}, the model reads", indent=3, style=style, after="")
            page.put(text, indent=6)
    page.put(f"Next: {lacking}, then failwell demo", style="dim", after="")
    return 0


class Page:
    """Paragraphs that fit the terminal, or 80 columns where there is none."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._width = min(out.width, WIDEST) if out.is_terminal else PIPED

    def put(self, text: str, *, indent: int = 0, style: str = "", after: str = "\n") -> None:
        """Print a text as a paragraph; nothing is cut, and its own lines stay lines."""
        from rich.text import Text

        lines: list[Any] = []
        for line in text.splitlines() or [""]:
            margin = " " * (indent + len(line) - len(line.lstrip()))
            wrapper = TextWrapper(max(self._width, 20), initial_indent=margin, subsequent_indent=margin)
            lines += wrapper.wrap(line.lstrip()) or [""]
        self._out.print(Text("\n".join(lines) + after, style=style))
        self._out.file.flush()
