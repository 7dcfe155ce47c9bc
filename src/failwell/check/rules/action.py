"""Whether the words of a failure tell the model what to do next."""

from __future__ import annotations

import json
from typing import Final

from failwell.check import exposures, wording
from failwell.check.named_things import Roster, advised, arguments_named, stated
from failwell.check.observation import Observation
from failwell.check.probes import UNKNOWN_TOOLS, WRONG_ARGUMENTS
from failwell.model import is_refusal_status

from .rule import CheckRule, Judged

_INSTALL: Final = "failwell.server.install(server)"
_UNKNOWN_ARGUMENTS: Final = frozenset({"unknown_argument", "misspelt_argument"})
_MUST_NAME: Final = WRONG_ARGUMENTS | {"unknown_argument"}


def says_what(seen: Observation) -> Judged:
    if not seen.is_tool_failure:
        return None
    if wording.says_nothing(seen.text):
        return f"The failure says no more than that it failed: {seen.shown[:100]!r}"
    return True


def names_argument(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.kind not in _MUST_NAME or seen.probe.argument is None or seen.wants_credentials:
        return None
    if seen.fails_anyhow:
        return None
    if seen.kind == "unknown_argument" and not (seen.base is not None and seen.base.worked):
        # It fails without it, too.
        return None
    said = wording.without_sent(seen.text)
    names = (seen.probe.argument, *seen.probe.wrong, *seen.probe.expects[:1] * (seen.kind == "nested"))
    if wording.names(said, names):
        return True
    return f"The failure does not name the argument that is wrong, {seen.probe.argument!r}: {seen.shown[:100]!r}"


def says_expected(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.kind not in WRONG_ARGUMENTS or not seen.probe.expects or seen.wants_credentials:
        return None
    if seen.fails_anyhow:
        return None
    said = wording.without_sent(seen.text)
    if seen.kind in ("missing", "null") and wording.mentions(said, ("required", "missing", "needed", "needs")):
        return True
    if wording.mentions(said, seen.probe.expects) or wording.says_wanted(said) or seen.shows_call:
        return True
    return f"The failure does not say what {seen.probe.argument!r} should be: {seen.shown[:100]!r}"


def lists_options(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.kind != "enum" or len(seen.probe.expects) < 2 or seen.wants_credentials:
        return None
    said = wording.without_sent(seen.text)
    named = sum(wording.mentions(said, (option,)) for option in seen.probe.expects)
    if named >= min(len(seen.probe.expects), 3):
        return True
    return f"The failure does not list what {seen.probe.argument!r} may be."


def next_step(seen: Observation) -> Judged:
    # What is said of a tool that does not exist is the framework's to write.
    if not seen.is_tool_failure or seen.kind in UNKNOWN_TOOLS:
        return None
    if seen.fault is not None and seen.tool is not None and seen.tool.writes and is_refusal_status(seen.fault.status):
        # What the tool had done before its service refused, nobody knows.
        return None
    meaning = seen.meaning
    told = meaning is not None and seen.canonical and (meaning.suggestion or meaning.actions or meaning.next_steps)
    if told or wording.names_next_step(seen.text):
        return True
    # In whichever language: another tool by its name, or the call with arguments that fit.
    roster = seen.facts.get("roster")
    if isinstance(roster, Roster) and roster.names_other(wording.without_sent(seen.text), seen.probe.tool):
        return True
    if seen.shows_call or (_says_what_for(seen) and not exposures.is_dump(seen.text)):
        return True
    return f"The failure does not say what to do next: {' '.join(seen.shown.split())[:100]!r}"


def existing_tool(seen: Observation) -> Judged:
    """Only where a failure names a tool at all."""
    roster = seen.facts.get("roster")
    if not seen.is_tool_failure or not isinstance(roster, Roster) or not roster:
        return None
    said, fields = wording.without_sent(seen.text), list(stated(seen.result or seen.error))
    gone = next((name for name in fields if not roster.has(name)), None) or roster.lacks(said)
    # What was asked for is quoted, too.
    if gone is None or wording.mentions(json.dumps(seen.probe.params), (gone,)):
        return True if any(roster.has(name) for name in (*fields, *(name for name, _ in advised(said)))) else None
    return (
        f"The failure says to call {gone!r}, and the server lists no such tool: {' '.join(seen.shown.split())[:100]!r}"
    )


def existing_argument(seen: Observation) -> Judged:
    """Only where a failure calls a name that of an argument."""
    if not seen.is_tool_failure or seen.tool is None or seen.wants_credentials:
        return None
    known = json.dumps([seen.tool.listed, seen.probe.params], ensure_ascii=False, default=str)
    roster = seen.facts.get("roster")
    named = [
        name
        for name, sentence in arguments_named(wording.without_sent(seen.text))
        # It may be one of a tool that is named beside it.
        if not (isinstance(roster, Roster) and roster.names_other(sentence, seen.probe.tool))
    ]
    gone = next((name for name in named if not wording.names(known, (name,))), None)
    if gone is not None:
        said = " ".join(seen.shown.split())[:100]
        return f"The failure is about an argument {gone!r}, and the tool has none of that name: {said!r}"
    return True if named else None


def finished(seen: Observation) -> Judged:
    if not seen.is_tool_failure:
        return None
    sent = json.dumps(seen.probe.params, ensure_ascii=False)
    roster = seen.facts.get("roster")
    gap = wording.unfinished(wording.without_sent(seen.text))
    cut = roster.cut(seen.text) if isinstance(roster, Roster) else None
    if gap is not None and gap not in sent:
        return f"A place in the failure was never filled in ({gap}): {' '.join(seen.shown.split())[:100]!r}"
    if cut is not None and cut not in sent.lower():
        return f"The failure breaks off in the middle of a name: {seen.text[-60:]!r}"
    return True


def _says_what_for(seen: Observation) -> bool:
    """Whether the answer to a wrong argument names it, and what it should be, or to an unknown one which there are."""
    said = wording.without_sent(seen.text)
    if not wording.names(said, (seen.probe.argument or "",)):
        return False
    if seen.shows_value:
        return True
    if seen.kind in WRONG_ARGUMENTS:
        return wording.mentions(said, seen.probe.expects)
    others = seen.tool.schema.properties if seen.tool is not None and seen.kind in _UNKNOWN_ARGUMENTS else ()
    return wording.names(said, others)


def near_name(seen: Observation) -> Judged:
    if not seen.failed or seen.kind not in ("misspelt_tool", "misspelt_argument") or seen.wants_credentials:
        return None
    said = wording.without_sent(seen.text)
    if seen.kind == "misspelt_tool":
        if wording.mentions(said, seen.probe.expects):
            return True
        return f"The failure does not name the tool that was meant, {seen.probe.expects[0]!r}: {seen.shown[:100]!r}"
    if wording.mentions(said, (seen.probe.argument or "",)) or "did you mean" in said.lower():
        return True
    if seen.base is not None and not seen.base.worked:
        # It fails with the right name, too.
        return None
    return f"The failure does not say that {seen.probe.argument!r} is no argument of the tool."


def plain_words(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.kind in UNKNOWN_TOOLS:
        return None
    if exposures.is_dump(seen.text):
        return f"The failure is a validator's dump, made for programmers: {' '.join(seen.shown.split())[:100]!r}"
    return True


RULES: Final = (
    CheckRule(
        "action.says-what",
        "high",
        7,
        "A failure says what failed",
        'The text of every failure: "error", "Error executing tool X", a class name, an empty text.',
        "With nothing to go by, a model repeats the call or gives up.",
        _INSTALL + ", and raise failwell.NotFound, Conflict, Denied, Transient … with a sentence",
        "Raise the framework's own tool error with a sentence: newer SDKs hide the text of all other exceptions.",
        says_what,
        most=45,
        scales=True,
    ),
    CheckRule(
        "action.next-step",
        "medium",
        11,
        "A failure names the next step",
        "Whether the text holds an instruction: which tool to call, which argument to change, to wait, to ask.",
        "What made models recover in measurements was one concrete next step, not more fields.",
        _INSTALL + '; for your own: raise failwell.NotFound("…", suggestion="Call projects.list first.")',
        'End the text with one instruction: "Call list_projects to see the ids."',
        next_step,
        most=45,
        scales=True,
    ),
    CheckRule(
        "action.existing-tool",
        "high",
        6,
        "A tool that is named exists",
        "The tools that failures say to call, in words and in fields such as `next_tool`, against the list of tools.",
        "The model does as it is told, fails again, and does not know that the advice was wrong.",
        _INSTALL + '; name the tool once: raise failwell.NotFound("…", actions=["list_projects"])',
        "Take the names in messages from the same place as the names of the tools, and test that each is listed.",
        existing_tool,
    ),
    CheckRule(
        "action.existing-argument",
        "medium",
        4,
        "An argument that is named exists",
        "What failures call an argument or a parameter, against the schema of the tool and what it was sent.",
        "The model changes, adds or drops what the tool does not have, and leaves the mistake as it is.",
        _INSTALL,
        "Call arguments what the schema calls them, not what the function or the service behind it does.",
        existing_argument,
    ),
    CheckRule(
        "action.finished",
        "medium",
        4,
        "The words of a failure are finished",
        "Places that were never filled in (`{tool}`, `%s`, undefined), lists of options without any, names cut off.",
        "What the model was to be told is just what is missing.",
        _INSTALL,
        "Test the words of each failure as they leave, and cut long ones at the end of a sentence.",
        finished,
    ),
    CheckRule(
        "action.names-argument",
        "medium",
        5,
        "A refusal names the argument",
        "Answers to calls with one wrong argument.",
        "Without the name a model changes the wrong argument.",
        _INSTALL,
        "Begin the text with the argument's name as the schema has it.",
        names_argument,
    ),
    CheckRule(
        "action.says-expected",
        "medium",
        4,
        "A refusal says what was expected",
        "Answers to calls with a wrong type, an unknown option, a value out of bounds.",
        "A model that knows only that a value is wrong guesses the next one.",
        _INSTALL,
        'Say what is allowed: "limit must be an integer from 1 to 100".',
        says_expected,
    ),
    CheckRule(
        "action.lists-options",
        "low",
        3,
        "A refusal lists the options",
        "Answers to values that are not in an enum.",
        "A list of the options turns a guess into a choice.",
        _INSTALL,
        'List them, the likeliest first: "unit must be one of celsius, fahrenheit".',
        lists_options,
    ),
    CheckRule(
        "action.near-name",
        "low",
        3,
        "A misspelt name is told",
        "Calls of a tool, or with an argument, whose name is one letter off.",
        "A model that is told the right name makes the right call at once.",
        _INSTALL,
        "Name the nearest known name, and the unknown one.",
        near_name,
    ),
    CheckRule(
        "action.plain-words",
        "low",
        4,
        "A failure is a sentence, not a dump",
        "Texts of pydantic, zod, jsonschema, Go and serde as they come.",
        "Dumps cost tokens, show internal names, and bury what is wrong between addresses of documentation.",
        _INSTALL,
        "Catch the validator's exception and write one sentence for each wrong argument.",
        plain_words,
    ),
)
