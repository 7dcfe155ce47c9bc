"""The failures every client is shown, and what its model has to be told about each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

# Parts of what the crashing tools of app.py say to nobody but the log.
SECRETS: Final = ("hunter2", "RuntimeError", "Traceback")
HIDDEN: Final = ("cannot connect", "postgres:", "db.internal")
"""The same of what a framework shows that shows the text of any exception."""


@dataclass(frozen=True)
class Case:
    """One call that fails: what went wrong, what to do next, and how long to wait, each as parts of the text."""

    name: str
    tool: str
    message: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    delay: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    shown: str = ""
    """What is said in addition where the framework shows the text of any exception."""
    hidden: str = ""
    """The same where it shows none."""

    def missing(self, text: str, *, shows: bool = False) -> list[str]:
        """What the text does not say and should, or says and should not."""
        parts = (*self.message, *self.next, self.delay, self.shown if shows else self.hidden)
        return [f"lacks {part!r}" for part in parts if part not in text] + [
            f"leaks {part!r}" for part in (*SECRETS, *(() if shows else HIDDEN)) if part in text
        ]


MAY_BE_DONE: Final = "so it may have been done already."
ASK: Final = "Next: ask the user."

CASES: Final = (
    Case(
        "not-found-with-suggestion",
        "not_found",
        ("Project 'p_7' does not exist.",),
        ("Call list_projects first.",),
        arguments={"project": "p_7"},
    ),
    Case(
        "rate-limited", "rate_limited", ("Too many requests.",), ("then make the same call again",), "Wait 30 seconds"
    ),
    Case(
        "missing-argument",
        "convert",
        ("count is missing.",),
        ('Next: call convert with {"count": "<integer>"}.',),
    ),
    Case(
        "bad-enum",
        "convert",
        ("unit must be one of celsius, fahrenheit.",),
        ('Next: call convert with {"count": 1, "unit": "<one of celsius, fahrenheit>"}.',),
        arguments={"count": 1, "unit": "kelvin"},
    ),
    Case(
        "unknown-argument",
        "convert",
        ("There is no argument unti.",),
        ('Next: call convert with {"count": 1, "unit": "celsius"}.',),
        arguments={"count": 1, "unti": "celsius"},
    ),
    # What the author's own code raises stands as it is, where the framework would show it.
    Case("crash", "crash_async", shown="cannot connect to", hidden="The tool failed unexpectedly."),
    Case(
        "crash-of-a-tool-with-an-output-schema",
        "crash_with_schema",
        shown="cannot connect to",
        hidden="The tool failed unexpectedly.",
    ),
    Case(
        "result-breaks-the-output-schema",
        "broken_result",
        ("broken_result was done, and failed after that", "does not have the form that the tool promises"),
        (ASK,),
    ),
    Case("timeout", "timeout", ("timeout failed part-way (The operation took too long", MAY_BE_DONE), ("Next: ",)),
    Case(
        "timeout-to-verify",
        "verify_first",
        ("verify_first failed part-way (The bank did not answer in time), " + MAY_BE_DONE,),
        ('Next: call get_invoice with {"id":"inv_1"} to see whether it was.',),
    ),
    Case("unknown-tool", "converrt", ("There is no tool 'converrt'.",), ("Did you mean 'convert'?",)),
    Case("returned-error", "returned_error", ("Invoice inv_9 does not exist.",)),
    Case("value-error", "value_error", ("amount must be positive",), arguments={"amount": -1}),
)
