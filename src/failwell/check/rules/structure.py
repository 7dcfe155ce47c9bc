"""Whether a program can tell a failure from a success, and one failure from another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from failwell.check import wording
from failwell.check.observation import Observation
from failwell.check.probes import UNKNOWN_TOOLS, WRONG_ARGUMENTS
from failwell.model import Kind, find
from failwell.schema import Checker

from .rule import CheckRule, Judged

_INSTALL: Final = "failwell.server.install(server)"


def marked(seen: Observation) -> Judged:
    if seen.is_unmarked_failure:
        return f"The call failed ({_short(seen.text)}), and the result says that it worked: isError is not true."
    return True if seen.is_marked and seen.probe.method == "tools/call" else None


def upstream_told(seen: Observation) -> Judged:
    fault = seen.fault
    # That something is not there may be a good answer.
    if fault is None or not seen.answered or fault.name == "404":
        return None
    if seen.worked or seen.is_unmarked_failure:
        how = _FAULTS.get(fault.name, fault.name)
        return f"The service behind the tool failed ({how}), and the call is told as a success."
    return True


_FAULTS: Final = {
    "cut": "it cut the connection",
    "slow": "it did not answer",
    "login": "it sent a login page",
    "garbage": "it sent no JSON",
}


def legacy_envelope(seen: Observation) -> Judged:
    if seen.result is None or seen.asks or (seen.tool is None and seen.kind not in UNKNOWN_TOOLS):
        return None
    if not isinstance(seen.result.get("content"), list):
        return "The result has no list `content`, so clients of today see nothing in it."
    return True


def nothing(seen: Observation) -> Judged:
    if not seen.names_nothing or not seen.answered or seen.asks:
        return None
    if seen.worked and seen.text.strip().lower() in _NOTHING:
        return f"A thing that is not there is answered as a success that holds nothing: {seen.shown[:20]!r}"
    return True


_NOTHING: Final = frozenset({"", "null", "none", "undefined", "{}", "[]", "nil", '""', "nan"})


def agrees(seen: Observation) -> Judged:
    if not seen.is_marked or seen.result is None:
        return None
    structured = seen.result.get("structuredContent")
    if not isinstance(structured, Mapping):
        return None
    parts = [structured, *(part for part in (structured.get("error"),) if isinstance(part, Mapping))]
    claims = [f"{key}: {part[key]!r}" for part in parts for key, said in _CLAIMS.items() if part.get(key) in said]
    if claims:
        return f"isError is true, and the structured content says that it worked: {', '.join(claims)}."
    return True


_CLAIMS: Final[Mapping[str, tuple[object, ...]]] = {
    "success": (True,),
    "ok": (True,),
    "isError": (False,),
    "code": ("OK", "ok", "SUCCESS", "success", 200),
    "status": ("ok", "success", "succeeded", 200),
}


def first_text(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.result is None:
        return None
    content = seen.result.get("content")
    first = content[0] if isinstance(content, list) and content else None
    if isinstance(first, Mapping) and isinstance(first.get("text"), str) and first["text"].strip():
        if len(seen.blocks) < 2 or not wording.says_nothing(first["text"]):
            return True
        return (
            f"The first block says nothing ({_short(first['text'])}), and it is all that some clients show the model."
        )
    return "The failure has no text in its first block, and that block is all that some clients show the model."


def stable_code(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.tool is None:
        return None
    meaning = seen.meaning
    # A JSON-RPC number alone stands for a whole class of failures.
    if meaning is not None and meaning.code and (seen.canonical or (not meaning.legacy and meaning.format != "text")):
        return True
    if wording.CODE.search(seen.whole) is not None:
        return True
    return "The failure has no code that a program could tell it by: only words."


def right_kind(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.meaning is None or seen.wants_credentials or seen.fails_anyhow:
        return None
    # A code that is stated counts for more than what was read from words.
    code = find(wording.stated_code(seen.whole)) if seen.meaning.legacy else None
    kind = code.kind if code is not None else seen.meaning.kind
    if seen.kind == "unknown_argument" and not (seen.base is not None and seen.base.worked):
        return None
    if seen.kind in WRONG_ARGUMENTS or seen.kind == "unknown_argument":
        wanted = {Kind.VALIDATION, Kind.NOT_FOUND}
    elif seen.kind in UNKNOWN_TOOLS:
        wanted = {Kind.NOT_FOUND, Kind.VALIDATION}
    elif seen.names_nothing and (seen.is_hopeless or (seen.base is not None and seen.base.worked)):
        # A program that did not foresee it can say no more than that; what it says otherwise must be true.
        wanted = {Kind.NOT_FOUND, Kind.VALIDATION, Kind.PERMISSION, Kind.INTERNAL}
    elif seen.fault is not None and seen.fault.kinds:
        wanted = set(seen.fault.kinds)
    else:
        return None
    # What was only guessed from words proves no wrong kind, unless they blame the server for a mistake of the caller.
    blamed = kind is Kind.INTERNAL and (seen.code == -32603 or wording.blames_server(seen.text))
    # A code of the author's own, beside words that tell nothing for sure, says no kind.
    sure = wording.CODE.search(seen.whole) is not None and (seen.meaning.confidence or 0) >= 0.5
    stated = not seen.meaning.legacy or code is not None or sure
    evident = stated or (seen.fault is None and blamed)
    if kind in wanted or not evident:
        return True
    if seen.fault is not None:
        return f"A service that answered {seen.fault.name} is told as a failure of the kind {kind}: {_short(seen.text)}"
    what = "thing" if seen.names_nothing else "tool" if seen.kind in UNKNOWN_TOOLS else None
    cause = f"{what} that does not exist" if what is not None else f"wrong argument ({seen.probe.argument})"
    return f"A {cause} is told as a failure of the kind {kind}: {_short(seen.text)}"


def output_schema(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.result is None or seen.tool is None:
        return None
    schema, structured = seen.tool.listed.get("outputSchema"), seen.result.get("structuredContent")
    if not isinstance(schema, Mapping) or structured is None:
        return None
    if Checker(schema).fits(structured):
        return True
    return "The failure's structuredContent breaks the tool's own outputSchema, on which some clients throw."


def _short(text: str) -> str:
    said = " ".join(text.split())
    return f"{said[:117]}…" if len(said) > 118 else said


RULES: Final = (
    CheckRule(
        "structure.error-marked",
        "critical",
        10,
        "A failure says that it is one",
        "Results whose text tells of a failure while `isError` is not true.",
        "Clients show such a result to the model as a success, count it as one, and never recover from it.",
        _INSTALL + "; in the tool, raise instead of returning the words: raise failwell.NotFound(…)",
        'Return the result with "isError": true, or raise the framework\'s tool error.',
        marked,
        most=59,
        clause="MCP, Tools, Error handling: execution errors are reported in results with isError: true",
    ),
    CheckRule(
        "structure.upstream-marked",
        "critical",
        8,
        "A failure of the service behind a tool is a failure",
        "With --faults: calls whose upstream answered an error, a login page, garbage or nothing, and that worked.",
        "The model reports as fact what is an error page.",
        _INSTALL + " reads the exceptions of HTTP clients; check the status: response.raise_for_status()",
        "Check the status and the type of every answer, and answer with isError: true.",
        upstream_told,
        most=59,
    ),
    CheckRule(
        "structure.content",
        "high",
        4,
        "A result has content",
        "Results of calls that have no list `content`.",
        "Today's clients read `content`; an answer in another envelope is empty for them.",
        _INSTALL,
        'Answer with {"content": [{"type": "text", "text": …}]}.',
        legacy_envelope,
        clause="MCP, Tools, Tool result",
    ),
    CheckRule(
        "structure.nothing-as-success",
        "high",
        4,
        "A thing that is not there is no success",
        "Calls that ask for one thing that cannot exist, and are answered with null or with nothing at all.",
        "The model takes nothing for an answer and goes on with it.",
        _INSTALL + '; in the tool: raise failwell.NotFound("…", suggestion="Call projects.list first.")',
        "Answer with isError: true, and say what is not there.",
        nothing,
    ),
    CheckRule(
        "structure.agrees",
        "high",
        4,
        "All parts of a failure say that it is one",
        "`structuredContent` of failures that says success, ok, or a status of success.",
        "Some clients show the model the structured content alone.",
        _INSTALL,
        "Leave structuredContent out of failures, or let it say the same.",
        agrees,
    ),
    CheckRule(
        "structure.first-text",
        "high",
        5,
        "The first block is text that is enough by itself",
        "The first content block of every failure.",
        "Popular clients pass only the first text block of a failure to the model and drop the rest.",
        _INSTALL,
        "Put the whole message into the first text block.",
        first_text,
    ),
    CheckRule(
        "structure.code",
        "low",
        5,
        "A failure has a stable code",
        "Whether `_meta`, `structuredContent` or a JSON text of the failure names a code.",
        "Agents, dashboards and tests can branch on a code; words change with every release.",
        _INSTALL + '; your own: raise failwell.ToolError("…", code="INVOICE_PAID")',
        'Add a stable code to the failure, as in structuredContent: {"error": {"code": "INVOICE_PAID", "message": …}}.',
        stable_code,
    ),
    CheckRule(
        "structure.kind",
        "medium",
        6,
        "The kind of a failure fits its cause",
        "Failures of calls whose cause is known: a wrong argument, a tool or a thing that does not exist.",
        "An agent that reads of an internal or a passing error waits, or gives up, instead of mending its call.",
        _INSTALL,
        "Check the arguments before anything else, and say which one is wrong.",
        right_kind,
    ),
    CheckRule(
        "structure.output-schema",
        "medium",
        3,
        "A failure does not break the output schema",
        "`structuredContent` of failures of tools that declare an outputSchema.",
        "Some clients validate it and throw, so that the model sees neither the failure nor its reason.",
        _INSTALL,
        "Leave structuredContent out of failures of tools with an outputSchema.",
        output_schema,
        clause="MCP, Tools, Output schema",
    ),
)
