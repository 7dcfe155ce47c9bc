"""`failwell explain`: what is this error, and what should an agent do next."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from failwell import Decision, Guard, NeedsInput, ToolError, decide, read
from failwell.formats import FORMATS
from failwell.model import Next, Traits

from .io import Commands, add_source, check_format, console, in_line, not_an_error, print_json, read_source

_EPILOG = """\
examples:
  failwell explain error.json
  my-agent --last-result | failwell explain --tool send_email --read-only
  echo 'Request failed with status code 429, retry after 7 seconds' | failwell explain
  echo 'it broke' | failwell explain --format text     an error, whatever it says
"""

_MEANING = {
    Next.RETRY: "Make the same call again",
    Next.FIX: "Correct the arguments and call again",
    Next.ALTERNATIVE: "Do something else",
    Next.NEGOTIATE: "Talk to whoever holds it",
    Next.VERIFY: "Find out first whether it took effect",
    Next.ASK: "Ask the user",
    Next.GIVE_UP: "Give up and report it",
    Next.PROCEED: "Go on",
}


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "explain",
        help="what is this error, and what should an agent do next",
        description="Reads an error in any known format, or in anybody's words, and says what it is and what an agent "
        "should do about it.",
        epilog=_EPILOG,
    )
    add_source(parser)
    parser.add_argument("--format", metavar="F", help=f"read only this format: {', '.join(FORMATS)}")
    parser.add_argument("--tool", metavar="NAME", help="the tool that was called")
    parser.add_argument("--read-only", action="store_true", help="the tool changes nothing")
    parser.add_argument("--idempotent", action="store_true", help="calling the tool twice does no more than once")
    parser.add_argument(
        "--delivery",
        choices=("never_sent", "unanswered", "answered"),
        help="whether the call was sent and answered",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    source = read_source(options.file)
    outcome = read(source, format=check_format(options.format))
    if outcome is None:
        raise not_an_error(options.format, "--format text")
    traits = Traits(options.tool, options.read_only or None, options.idempotent or None)
    # What is shown here leaves like anything else, and often into a terminal.
    outcome = Guard()(outcome)
    decision = decide(outcome, tool=traits, delivery=options.delivery)
    if options.json:
        print_json({"format": outcome.format, "outcome": outcome.to_dict(), "decision": _decision(decision)})
    else:
        _show(outcome, decision)
    return 0


def _decision(decision: Decision) -> dict[str, Any]:
    data: dict[str, Any] = {"next": decision.next.value, "reason": decision.reason}
    if decision.delay is not None:
        data["delay"] = decision.delay
    if decision.attempts_left:
        data["attempts_left"] = decision.attempts_left
    if decision.patch:
        data["patch"] = [change.to_dict() for change in decision.patch]
    if decision.calls:
        data["calls"] = [call.to_dict() for call in decision.calls]
    if decision.holders:
        data["holders"] = list(decision.holders)
    return data


def _show(outcome: ToolError | NeedsInput, decision: Decision) -> None:
    from rich.text import Text

    out = console()
    for name, value in _facts(outcome):
        out.print(Text.assemble((f"{name:<12}", "bold"), " ", in_line(value)))
    out.print(Text.assemble((f"{'do next':<12}", "bold green"), " ", f"{_MEANING[decision.next]}. {decision.reason}"))


def _facts(outcome: ToolError | NeedsInput) -> list[tuple[str, str]]:
    if isinstance(outcome, NeedsInput):
        facts = [("format", _format(outcome)), ("outcome", "a question, not a failure"), ("message", outcome.message)]
        return facts + ([("asks for", ", ".join(outcome.fields))] if outcome.fields else [])
    facts = [
        ("format", _format(outcome)),
        ("kind", outcome.kind.value),
        ("code", _code(outcome)),
        ("message", outcome.message),
        ("retryable", "yes" if outcome.retryable else "no"),
        ("strategy", outcome.strategy.value),
        ("effect", outcome.effect.value if outcome.effect else "not said, so unknown"),
    ]
    if not outcome.is_error:
        facts.append(("severity", "warning: the call itself worked"))
    if outcome.retry_after is not None:
        facts.append(("retry after", f"{outcome.retry_after} seconds"))
    if outcome.suggestion:
        facts.append(("suggestion", outcome.suggestion))
    facts += [("next step", step) for step in outcome.next_steps]
    facts += [("argument", f"{problem.name}: {problem.message}") for problem in outcome.fields]
    facts += [("held by", conflict.holder or "?") for conflict in outcome.conflicts]
    if outcome.legacy:
        facts.append(("note", "unstructured: there is only prose to go by"))
    facts += [("note", note) for note in outcome.notes]
    return facts


def _code(error: ToolError) -> str:
    if error.code is None:
        return "none"
    return f"{error.code} (unknown)" if error.info is None else f"{error.code}: {error.info.description}"


def _format(outcome: ToolError | NeedsInput) -> str:
    spec = FORMATS.get(outcome.format or "")
    return f"{spec.name} ({spec.contract})" if spec else "?"
