"""Whether an agent gets further after a failure: mistakes are caught, promises are true, the server is still there."""

from __future__ import annotations

from typing import Final

from failwell.check import vain_repeats, wording
from failwell.check.observation import Observation
from failwell.check.probes import WRONG_ARGUMENTS
from failwell.check.upstream import WAIT
from failwell.model import COMMON_CODES, IN_DOUBT, Kind, Nature, pattern

from .rule import CheckRule, Judged

_INSTALL: Final = "failwell.server.install(server)"
# What a schema's format says is a remark to most validators, and no rule.
_KEPT: Final = WRONG_ARGUMENTS - {"format"}


def alive(seen: Observation) -> Judged:
    if seen.kind in ("start", "session", "list"):
        return None
    if seen.died:
        how = "ended" if seen.reply.state == "ended" else "answers nothing any more"
        what = f"a call of {seen.probe.tool}" if seen.probe.tool else "that frame"
        return f"The server {how} after {what} ({seen.kind.replace('_', ' ')})."
    return True


def answers(seen: Observation) -> Judged:
    if seen.probe.method != "tools/call" or seen.probe.raw is not None or seen.kind in ("start", "session", "list"):
        return None
    if seen.reply.state == "silent" and not seen.died:
        return f"The call was not answered within {seen.reply.seconds:.0f} seconds, while the server was alive."
    if seen.reply.state == "refused" and seen.reply.status is not None:
        said = " ".join(seen.reply.raw.split())[:80]
        return f"The call was answered with HTTP status {seen.reply.status} and no message: {said!r}"
    return True if seen.answered else None


def schema_kept(seen: Observation) -> Judged:
    if seen.kind not in _KEPT or seen.tool is None or not seen.answered:
        return None
    if seen.worked:
        how = seen.kind.replace("_", " ")
        return f"The tool's own schema forbids this call ({how}: {seen.probe.argument}), and it was carried out."
    return True if seen.failed else None


def unknown_argument(seen: Observation) -> Judged:
    if seen.kind not in ("unknown_argument", "misspelt_argument") or not seen.answered or seen.tool is None:
        return None
    name = seen.probe.argument or ""
    if seen.failed:
        told = wording.mentions(wording.without_sent(seen.text), (name,))
        return True if told or (seen.base is not None and seen.base.worked) else None
    if name in seen.ignored or wording.mentions(seen.text, (name,)):
        return True
    if seen.base is None or not seen.base.worked:
        return None
    return f"The argument {name!r} does not exist, and was ignored without a word."


def no_false_hope(seen: Observation) -> Judged:
    # Who is asked too often may say so of any call.
    if not seen.is_tool_failure or vain_repeats.is_limited(seen.text) or not (seen.is_hopeless or seen.is_refused):
        return None
    # Rights may come back by themselves; the same call does not bring them.
    if seen.promises if seen.is_hopeless else seen.asks_again:
        return f"A call that can never work is told as one that may work when it is made again: {seen.shown[:100]!r}"
    return True


_PASSING: Final = frozenset({"429", "503", "cut", "slow"})
_BREAKS_OFF: Final = frozenset({"500", "503", "cut", "slow", "garbage"})


def passing_told(seen: Observation) -> Judged:
    """A failure that passes says so."""
    meaning = seen.meaning
    if not seen.is_tool_failure or seen.kind in WRONG_ARGUMENTS or seen.tool is None:
        return None
    # Of a write that may have been done nobody should say so.
    if seen.tool.writes and (_in_doubt(seen) or wording.tells_effect(seen.text)):
        return None
    met = seen.fault is not None and seen.fault.name in _PASSING
    if not met and (seen.fault is not None or meaning is None or meaning.kind is not Kind.TRANSIENT):
        return None
    if meaning is not None and (meaning.retry_after is not None or (seen.canonical and meaning.retryable)):
        return True
    if (
        vain_repeats.promises_passing(seen.text)
        or vain_repeats.invites_again(seen.text)
        or vain_repeats.RETRYABLE.search(seen.whole)
    ):
        return True
    return f"The failure passes, and does not say that the call may be made again, nor when: {seen.shown[:100]!r}"


def _in_doubt(seen: Observation) -> bool:
    return seen.meaning is not None and seen.meaning.effect in IN_DOUBT


def not_again(seen: Observation) -> Judged:
    """A write that may have been done is not to be made again."""
    if seen.fault is None or seen.tool is None or not seen.failed or seen.fault.name not in _BREAKS_OFF:
        return None
    if not seen.tool.writes or seen.tool.nature is Nature.IDEMPOTENT:
        return None
    if vain_repeats.invites_again(seen.text) or vain_repeats.RETRYABLE.search(seen.whole):
        return f"A call that may have been done already is told as one to be made again: {seen.shown[:100]!r}"
    return True


def retry_after(seen: Observation) -> Judged:
    if seen.fault is None or not seen.fault.retry_after or not seen.failed:
        return None
    meaning = seen.meaning
    if seen.tool is not None and seen.tool.writes and (_in_doubt(seen) or wording.tells_effect(seen.text)):
        # Nobody should wait and call again.
        return None
    if (meaning is not None and meaning.retry_after) or _SECONDS.search(seen.whole):
        return True
    return f"The service said Retry-After: {WAIT}, and the failure does not say how long to wait: {seen.shown[:100]!r}"


_SECONDS: Final = pattern(rf"(?i)\b{WAIT}(?:\.0)?\s?(?:s\b|sec)|\b{WAIT}_?000\b|retry.after\W{{1,5}}{WAIT}\b")


def effect_told(seen: Observation) -> Judged:
    """A write whose upstream broke off says what may have been done."""
    if seen.fault is None or seen.tool is None or not seen.tool.writes or not seen.failed:
        return None
    if seen.fault.name not in _BREAKS_OFF:
        return None
    meaning = seen.meaning
    if (meaning is not None and meaning.given("effect")) or wording.tells_effect(seen.text):
        return True
    return f"It is not said whether the call took effect, and it may have: {seen.shown[:100]!r}"


def declared(seen: Observation) -> Judged:
    codes = seen.facts.get("declared")
    if not codes or not seen.is_tool_failure or seen.meaning is None or seen.kind in WRONG_ARGUMENTS:
        return None
    # What was read from words is a guess; what an object states is not.
    code = wording.stated_code(seen.whole) if seen.meaning.legacy else seen.meaning.code
    if code is None or code in COMMON_CODES:
        # Any tool may be called wrongly, or break.
        return None
    if code in codes:
        return True
    return f"The code {code} is not among those that the tool declares: {', '.join(sorted(codes))}."


RULES: Final = (
    CheckRule(
        "recovery.alive",
        "critical",
        8,
        "The server survives every probe",
        "Whether the server still answers after each call and each frame.",
        "Hosts drop a server's tools for the rest of the session when it ends, and the call's outcome is unknown.",
        "failwell wrap -- CMD… stays up and starts it again",
        "Catch what a call raises, and read frames one line at a time.",
        alive,
        most=59,
    ),
    CheckRule(
        "recovery.answers",
        "high",
        5,
        "Every call is answered in time",
        "Calls without an answer within --timeout while the server lives, or with an HTTP status in place of one.",
        "An agent that waits without end does nothing else.",
        'failwell wrap --timeout 30 -- CMD…; in the server: raise failwell.Transient("…", code="TIMEOUT")',
        "Give every request to others a timeout, and answer when it is over.",
        answers,
        most=45,
        scales=True,
    ),
    CheckRule(
        "recovery.schema-kept",
        "high",
        8,
        "Calls that the schema forbids are refused",
        "Missing arguments, wrong types, options, bounds, lengths and patterns that were accepted.",
        "A call that does something else than was meant, and says that it worked, is the hardest to recover from.",
        _INSTALL,
        "Validate the arguments against the schema that you publish.",
        schema_kept,
        most=50,
        scales=True,
        clause="MCP, Tools, Security considerations: servers must validate all tool inputs",
    ),
    CheckRule(
        "recovery.unknown-argument",
        "medium",
        7,
        "Unknown arguments are refused or remarked",
        "The same call with and without an argument that the tool does not have. A word in `_meta` is enough.",
        "A misspelt `dry_run` that is ignored without a word does what it was meant to prevent.",
        _INSTALL,
        'Refuse them, and say so in the schema: "additionalProperties": false.',
        unknown_argument,
        most=75,
        scales=True,
    ),
    CheckRule(
        "recovery.no-false-hope",
        "high",
        4,
        "What can never work is not told as passing",
        'Flags, delays and words such as "try again" on calls with wrong arguments, of things that do not exist, and '
        "without the right to it. Where it could be true, the call is made again, and once with what exists.",
        "The agent repeats a call that fails each time.",
        _INSTALL + " takes the flag from the code of the failure; your own: raise failwell.NotFound, Invalid or Denied",
        'Say "try again" only where the same call may work later; else say what to change, or whom to ask.',
        no_false_hope,
    ),
    CheckRule(
        "recovery.passing-told",
        "medium",
        4,
        "A failure that passes says so",
        "Timeouts, lost connections and limits that came up.",
        "Without it the agent gives up on what a minute would mend.",
        _INSTALL + '; your own: raise failwell.Transient("…", retry_after=30)',
        'Say when to call again: "Wait 30 seconds, then call again."',
        passing_told,
    ),
    CheckRule(
        "recovery.retry-after",
        "medium",
        4,
        "Retry-After is passed on",
        "With --faults: answers of 429 and 503 with Retry-After.",
        "Without the seconds an agent calls again too soon, and is refused again, or not at all.",
        _INSTALL + " reads Retry-After from the exceptions of HTTP clients",
        'Read the header, and say it: "Wait 7 seconds, then call again."',
        retry_after,
    ),
    CheckRule(
        "recovery.effect",
        "high",
        5,
        "A write that broke off says whether it took effect",
        "With --faults and --allow-writes: tools that may write, whose upstream broke off or answered 500.",
        "An agent that reads of a passing failure pays twice.",
        _INSTALL + "; with failwell.effects(): around what has the effect",
        'Say it: "It may have been done already. Call get_payment to see whether it was."',
        effect_told,
    ),
    CheckRule(
        "recovery.not-again",
        "critical",
        6,
        "A write that may have been done is not to be made again",
        "With --faults and --allow-writes: what is said of a write whose upstream broke off or answered 500 or 503.",
        "The agent that follows it pays twice.",
        _INSTALL + " says that it may have been done, and which call tells",
        "Say that it may have been done already, and how to find out; never to call again.",
        not_again,
        most=49,
    ),
    CheckRule(
        "recovery.declared-codes",
        "low",
        2,
        "Only declared codes are sent",
        "Codes that were seen, against those that the tool declares in its `_meta` or the manifest has.",
        "Whoever handles the declared codes is surprised by any other.",
        "@failwell.raises(…) on the tool; failwell manifest --check",
        "Keep the list of codes in the documentation true.",
        declared,
    ),
)
