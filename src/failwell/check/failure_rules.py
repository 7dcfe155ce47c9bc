"""What a failure says. The first four rules are a ladder: a failure breaks one of them at most, the lowest, since what
stands above follows from it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from failwell.formats import META_KEY
from failwell.model import ToolError, pattern
from failwell.schema import Checker

from .observation import UNSURE, Advice, Judged, Observation
from .probes import ARGUMENTS, NAMES, TOOLS
from .upstream import WAIT

_MANY: Final = 2_000
_HTML: Final = pattern(r"(?i)<!doctype html|<html[\s>]|<body[\s>]|<head[\s>]")
_RETRYABLE: Final = pattern(
    r'(?i)\\?"(?:retr[yi]able|is_?retr[yi]able|can_?retry|should_?retry|retry|transient|is_?transient)\\?"\s*:\s*true'
    r'|\\?"(?:retry_?after|retry_?in|retry_?delay)_?(?:ms|millis|milliseconds|s|sec|seconds)?\\?"\s*:\s*\\?"?0*\.?[1-9]'
)
_CODE: Final = pattern(
    r'(?i)\\?"(?:[a-z_]*code|type|errno|reason)\\?"\s*:\s*\\?"[A-Za-z][A-Za-z0-9]*[A-Z_.a-z0-9-]*\\?"'
)
_VALUE: Final = pattern(
    r"[\"'`«„“]([^\"'`«»„“”\n]{1,80})[\"'`»“”]|(?<![\w.])(-?\d[\w:.+-]*|[A-Za-z_]+-?\d[\w-]*)|(?<![\w.])(\w+)"
)
_CLAIMS: Final[Mapping[str, tuple[object, ...]]] = {
    "success": (True,),
    "ok": (True,),
    "isError": (False,),
    "code": ("OK", "ok", "SUCCESS", "success", 200),
    "status": ("ok", "success", "succeeded", 200),
}
_HOW: Final = {
    "missing": "a missing argument",
    "absent": "a thing that is not there",
    "base": "a valid call",
    "unknown_tool": "a tool that does not exist",
    "unknown_argument": "an unknown argument",
    "misspelt_argument": "a misspelt argument",
}


def as_success(seen: Observation) -> Judged:
    if seen.probe.method != "tools/call" or not seen.answered or seen.asks or seen.kind in TOOLS:
        return None
    if seen.fault is not None and seen.worked and seen.fault.name != "404":
        return f"The service behind the tool failed ({seen.fault.name}), and the call is told as a success."
    if seen.is_unmarked_failure:
        if not seen.text.strip():
            return "A thing that is not there is answered with a success that holds nothing."
        return f"The call failed, and isError is not true: {seen.shown}"
    # A success that must be one proves nothing.
    return True if seen.is_marked else None


def _ladder(seen: Observation) -> dict[str, Judged]:
    """The rungs that a failure reaches, and the first that it does not."""
    if not seen.is_tool_failure or seen.died or seen.fault is not None:
        return {}
    found: dict[str, Judged] = {}
    for rung, judge in _RUNGS.items():
        said = judge(seen)
        if said is None:
            continue
        found[rung] = said
        if said is not True:
            break
    return found


def _fault(seen: Observation) -> Judged:
    if not seen.essence.strip(" .:!·#"):
        return f"The failure says nothing: {seen.shown!r}"
    # Why a valid call fails, nobody knows here: it may be for the same reason as that for another thing.
    # What is misspelt is missing, too, where unknown arguments are ignored.
    alike = {"arguments", "names"} if seen.category in ("arguments", "names") else {seen.category}
    others = [each for each in seen.peers if each.category not in alike | {"doing"}]
    if seen.category == "doing":
        others = [each for each in others if each.category == "tools"]
    fails_anyhow = seen.fails_anyhow or (seen.kind == "absent" and seen.base is not None and not seen.base.worked)
    if fails_anyhow:
        # Whatever it is that is wrong, credentials for one, it comes before the fault.
        return UNSURE
    twin = next((each for each in others if each.essence == seen.essence), None)
    if twin is not None:
        return f"{_named(seen)} and {_named(twin)} are answered with the same text: {seen.shown!r}"
    if seen.category == "doing":
        return None
    return True if others else UNSURE


def _named(seen: Observation) -> str:
    return _HOW.get(seen.kind, f"{seen.kind.replace('_', ' ')} ({seen.probe.argument})")


def _argument(seen: Observation) -> Judged:
    name = seen.probe.argument or ""
    if seen.kind == "absent":
        sent = str(seen.probe.arguments.get(name))
        if (len(sent) > 2 and sent in seen.words) or seen.mentions(name):
            return True
        works = seen.base is not None and seen.base.worked
        return f"The failure names neither {name!r} nor what was asked for: {seen.shown!r}" if works else UNSURE
    if seen.kind not in ARGUMENTS | NAMES:
        return None
    # Of a misspelt argument, or one inside another, the right name is as good.
    names = (*(seen.probe.wrong or (name,)), *(seen.probe.expects if seen.kind in NAMES | {"nested"} else ()))
    named = [each for each in names if seen.mentions(each)]
    if not named and seen.kind in NAMES and seen.base is not None and not seen.base.worked:
        return UNSURE
    if not named:
        return f"The failure does not name the argument that is wrong, {name!r}: {seen.shown!r}"
    # What is said of an unknown argument may list those that there are.
    for each in named:
        rivals = [
            peer
            for peer in _refusals(seen)
            if each not in (*peer.probe.wrong, peer.probe.argument, *peer.probe.expects)
        ]
        if not rivals or any(peer.mentions(each) < seen.mentions(each) for peer in rivals):
            return True
    return f"The failure names {named[0]!r} whichever argument is wrong: {seen.shown!r}"


def _refusals(seen: Observation) -> list[Observation]:
    return [peer for peer in seen.peers if peer.kind in ARGUMENTS]


def _values(seen: Observation) -> Judged:
    kind, name, expects = seen.kind, seen.probe.argument or "", seen.probe.expects
    if kind not in ARGUMENTS and kind != "misspelt_argument":
        return None
    if any(each.arguments is not None and each.fits and not each.same for each in seen.advice):
        return True
    if kind == "enum":
        # Whoever copies the schema into each failure has listed them for no reason.
        shown = [option for option in expects if _has(seen.words, option)]
        rivals = [peer for peer in _refusals(seen) if name not in peer.probe.wrong]
        copied = bool(rivals) and all(
            sum(_has(peer.words, option) for option in shown) == len(shown) for peer in rivals
        )
        if len(shown) >= min(len(expects), 3) and not copied:
            return True
        return f"The failure does not list what {name!r} may be: {seen.shown!r}"
    options = seen.tool.schema.options(name) if seen.tool is not None else ()
    if options and sum(_has(seen.words, option) for option in options) >= min(len(options), 3):
        return True
    if any(_has(seen.words, each) for each in expects) or _fitting(seen):
        return True
    if kind in ("missing", "wrong_type", "null", "nested") and not expects:
        # A type has a name in every language: it is enough that other faults and other types are told otherwise.
        told = _without_names(seen)
        of = seen.tool.schema.properties if seen.tool is not None else {}
        others = [
            peer
            for peer in _refusals(seen)
            if (peer.probe.argument == name and peer.kind != kind)
            or of.get(peer.probe.argument or "", {}).get("type") != of.get(name, {}).get("type")
        ]
        if not others or any(_without_names(peer) != told for peer in others):
            return True if others else None
        return f"{name!r} is refused with the same words as any other argument: {seen.shown!r}"
    if kind == "misspelt_argument":
        return f"The failure does not name the argument that was meant, {expects[0]!r}: {seen.shown!r}"
    return f"The failure does not say what {name!r} may be ({kind}): {seen.shown!r}"


def _without_names(seen: Observation) -> str:
    names = sorted(seen.tool.schema.properties, key=len, reverse=True) if seen.tool is not None else ()
    return re.sub("|".join(map(re.escape, names)), " ", seen.essence) if names else seen.essence


def _has(text: str, value: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(value)}(?![\w])", text) is not None


def _fitting(seen: Observation) -> bool:
    """Whether the text shows a value with which the same call would fit."""
    name, tool = seen.probe.argument, seen.tool
    if tool is None or name is None:
        return False
    is_any = tool.schema.fits({**seen.probe.arguments, name: "failwell nothing"})
    for found in _VALUE.finditer(seen.said[:_MANY]):
        # Where any text fits, a word proves nothing.
        value: Any = found[1] or found[2] or (found[3] if not is_any else None)
        if value is None:
            continue
        if tool.schema.fits({**seen.probe.arguments, name: value}) and value not in (name, tool.name):
            return True
    return False


def _next_call(seen: Observation) -> Judged:
    # Whoever is told which argument is missing has the next call, but for a value that nobody else knows.
    if seen.kind not in ARGUMENTS - {"missing"} | NAMES | {"absent"}:
        return None
    own = (seen.probe.params or {}).get("name")
    if any(_is_good(each, own, seen.kind == "absent") for each in seen.advice):
        return True
    if seen.kind == "absent" and not seen.facts.get("other_reads"):
        # There is no tool to look it up with.
        return None
    return f"The failure gives no call that gets through: {seen.shown!r}"


def _is_good(each: Advice, own: Any, absent: bool) -> bool:
    if not each.exists or not each.fits or each.same or each.works is False:
        return False
    return (each.arguments is not None and each.tool == own and not absent) or (not each.writes and each.tool != own)


_RUNGS: Final[Mapping[str, Callable[[Observation], Judged]]] = {
    "answer.fault": _fault,
    "answer.argument": _argument,
    "answer.values": _values,
    "answer.next-call": _next_call,
}


def _on_rung(rung: str) -> Callable[[Observation], Judged]:
    return lambda seen: _ladder(seen).get(rung)


LADDER: Final[Mapping[str, Callable[[Observation], Judged]]] = {rung: _on_rung(rung) for rung in _RUNGS}


def no_write(seen: Observation) -> Judged:
    if not seen.is_tool_failure:
        return None
    own = (seen.probe.params or {}).get("name")
    writes = [each.tool for each in seen.advice if each.writes and each.tool != own]
    if not writes or any(not each.writes or (each.tool == own and not each.same) for each in seen.advice):
        return True
    return f"The only way on that the failure names is {writes[0]!r}, which writes: {seen.shown!r}"


def not_same(seen: Observation) -> Judged:
    if not seen.is_tool_failure:
        return None
    same = any(each.same for each in seen.advice)
    return f"The failure names the very call that failed: {seen.shown!r}" if same else True


def advice_works(seen: Observation) -> Judged:
    if not seen.is_tool_failure:
        return None
    for each in seen.advice:
        if not each.explicit or each.same:
            continue
        if not each.exists:
            return f"The failure names the tool {each.tool!r}, which the server does not list: {seen.shown!r}"
        if not each.fits:
            return f"The failure shows a call of {each.tool!r} that its schema forbids: {seen.shown!r}"
        if each.works is False:
            return f"The call that the failure shows was made, and refused: {seen.shown!r}"
    return True


def not_retryable(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.kind not in ARGUMENTS | {"absent"}:
        return None
    if seen.fails_anyhow or (seen.kind == "absent" and (seen.base is None or not seen.base.worked)):
        return UNSURE
    meaning = seen.meaning
    stated = isinstance(meaning, ToolError) and not meaning.legacy and meaning.retryable
    if stated or _RETRYABLE.search(seen.whole):
        return f"The call can never work, and its failure is marked retryable: {seen.shown!r}"
    return True


def retry_after(seen: Observation) -> Judged:
    # A delay invites to make a call again, which may have been done already.
    if seen.fault is None or not seen.fault.retry_after or not seen.failed or seen.tool is None or not seen.tool.reads:
        return None
    if re.search(rf"(?<![\d.]){WAIT}(?:\.0)?(?![\d.]\d|\d)", seen.whole):
        return True
    return f"The service said to wait {WAIT} seconds, and the failure does not: {seen.shown!r}"


def never_sent(seen: Observation) -> Judged:
    lost = seen.facts.get("lost")
    if seen.fault is None or seen.fault.name != "refused" or lost is None or not seen.failed:
        return None
    if lost.essence != seen.essence:
        return True
    return f"A service that was never reached and an answer that was lost are told alike: {seen.shown!r}"


def form(seen: Observation) -> Judged:
    if seen.result is None or seen.asks or seen.tool is None or seen.probe.method != "tools/call":
        return None
    content, structured = seen.result.get("content"), seen.result.get("structuredContent")
    if not isinstance(content, list):
        return "The result has no list `content`, so that clients see nothing in it."
    if not seen.is_marked:
        return True
    first = content[0] if content else None
    if not isinstance(first, Mapping) or not isinstance(first.get("text"), str) or not first["text"].strip():
        return "The failure has no text in its first block, and some clients show that block alone."
    if isinstance(structured, Mapping):
        parts = [structured, *(part for part in (structured.get("error"),) if isinstance(part, Mapping))]
        claims = [f"{key}: {part[key]!r}" for part in parts for key, said in _CLAIMS.items() if part.get(key) in said]
        if claims:
            return f"isError is true, and the structured content says that it worked: {', '.join(claims)}."
        schema = seen.tool.listed.get("outputSchema")
        if isinstance(schema, Mapping) and not Checker(schema).fits(structured):
            return "The failure's structuredContent breaks the tool's own outputSchema, on which some clients throw."
    return True


def in_result(seen: Observation) -> Judged:
    if not seen.is_tool_failure:
        return None
    if seen.error is None:
        return True
    return f"The failure is the JSON-RPC error {seen.code}, which several clients hide from the model."


def coded(seen: Observation) -> Judged:
    if not seen.is_tool_failure:
        return None
    meaning = seen.meaning
    canonical = META_KEY in ((seen.result or {}).get("_meta") or {})
    stated = isinstance(meaning, ToolError) and meaning.code and not meaning.legacy and meaning.format != "text"
    if canonical or stated or _CODE.search(f"{seen.words} {json.dumps((seen.result or {}).get('_meta'), default=str)}"):
        return True
    return "The failure has no code that a program could tell it by."


def short(seen: Observation) -> Judged:
    if seen.probe.method != "tools/call" or not seen.failed:
        return None
    size = max(sum(map(len, seen.blocks)), seen.reply.size if seen.reply.message is None else 0)
    if _HTML.search(seen.text):
        return "The failure is a page of HTML."
    if seen.kind == "huge":
        return "The failure repeats a very long argument." if "failwell " * 200 in seen.text else True
    return True if size <= _MANY else f"The failure has {size:,} characters, about {size // 4:,} tokens."
