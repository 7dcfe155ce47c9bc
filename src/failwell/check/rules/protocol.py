"""Whether failures keep to the protocol. What the field does differently without harm is accepted in both forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from failwell.check.conversation import MODERN
from failwell.check.observation import Observation
from failwell.check.probes import UNKNOWN_TOOLS, WRONG_ARGUMENTS

from .rule import CheckRule, Judged

_INSTALL: Final = "failwell.server.install(server)"
_JSONRPC: Final = "JSON-RPC 2.0, 5.1 Error object"
_BAD_PARAMS: Final = frozenset({"no_name", "name_number", "no_params", "arguments_text"})
_BAD_FRAMES: Final = frozenset(
    {"no_jsonrpc", "jsonrpc_1", "params_text", "id_object", "id_null", "no_method", "scalar"}
)
_MISLEADING: Final = frozenset({0, -32603, -32600, -32601, -32700})


def starts(seen: Observation) -> Judged:
    if seen.kind != "start":
        return None
    return True if not seen.probe.note else f"The server does not start: {seen.probe.note}"


def lists_tools(seen: Observation) -> Judged:
    if seen.kind != "list":
        return None
    if seen.result is not None and isinstance(seen.result.get("tools"), list):
        return True
    told = (
        f"error {seen.code}: {seen.shown[:160]}"
        if seen.error is not None
        else f"nothing that is a list ({seen.reply.state})"
    )
    return f"The server declares tools, and answers tools/list with {told}"


def envelope(seen: Observation) -> Judged:
    message = seen.reply.message
    if seen.reply.state != "answered" or message is None or seen.probe.raw is not None:
        return None
    if seen.reply.strange:
        return None
    if message.get("jsonrpc") != "2.0":
        return f'The answer has "jsonrpc": {message.get("jsonrpc")!r}, not "2.0".'
    if ("result" in message) == ("error" in message):
        return "The answer has neither result nor error, or both."
    if "error" in message:
        error = message["error"]
        if (
            not isinstance(error, dict)
            or type(error.get("code")) is not int
            or not isinstance(error.get("message"), str)
        ):
            return "The answer's error has no integer code, or no text message."
    return True


def same_id(seen: Observation) -> Judged:
    if seen.reply.state != "answered" or seen.reply.message is None or seen.probe.raw is not None or not seen.frame:
        return None
    if seen.reply.strange:
        return f"The answer has the id {seen.reply.message.get('id')!r}, which nobody asked with."
    return True


def own_codes(seen: Observation) -> Judged:
    code = seen.code
    if type(code) is not int:
        return None
    if code == 0:
        return "The error has the code 0, which stands for nothing."
    if seen.era != MODERN and code == _URL_WANTED:
        data = (seen.error or {}).get("data")
        if not (isinstance(data, Mapping) and data.get("elicitations")):
            return f"The code {code} asks for an address to be opened, and the error has none."
    if seen.era == MODERN and (code in (-32002, -32042) or -32099 <= code <= -32020):
        return True if code in _DEFINED else f"The code {code} is reserved by the protocol and not defined, or gone."
    return True


_URL_WANTED: Final = -32042
_DEFINED: Final = frozenset({-32020, -32021, -32022, -32023})


def unknown_method(seen: Observation) -> Judged:
    if seen.kind != "unknown_method" or not seen.answered:
        return None
    if seen.code == -32601:
        return True
    told = "a result" if seen.error is None else f"the code {seen.code}"
    return f"A method that does not exist is answered with {told}, not with -32601."


def unknown_tool(seen: Observation) -> Judged:
    if seen.kind not in UNKNOWN_TOOLS or not seen.answered:
        return None
    if not seen.is_marked and not seen.asks:
        return "A tool that does not exist is answered as if the call had worked."
    if seen.code in (None, -32602, -32601):
        return True
    return f"A tool that does not exist is answered with {seen.code}; the protocol has -32602, and isError is accepted."


def bad_params(seen: Observation) -> Judged:
    if seen.kind not in _BAD_PARAMS or not seen.answered:
        return None
    if seen.worked:
        return "A malformed tools/call is answered as if it had worked."
    if seen.is_marked and seen.error is None:
        return True
    if seen.code in (-32602, -32600):
        return True
    return f"A malformed tools/call is answered with {seen.code}, not with -32602: {seen.shown[:80]!r}"


def bad_frame(seen: Observation) -> Judged:
    # Nearly every server is silent here, which harms nobody.
    if seen.kind not in _BAD_FRAMES or not seen.answered:
        return None
    if seen.error is None:
        return f"A frame that is no JSON-RPC request ({seen.kind.replace('_', ' ')}) is carried out."
    if seen.code in (-32600, -32602, -32700):
        return True
    return f"A frame that is no request ({seen.kind.replace('_', ' ')}) is answered with {seen.code}, not with -32600."


def bad_json(seen: Observation) -> Judged:
    if seen.kind != "bad_json" or seen.died or seen.reply.state == "refused":
        return None
    if seen.reply.state == "silent":
        return "A line that is no JSON gets no answer; the sender waits for one."
    return (
        True if seen.code in (-32700, -32600) else f"A line that is no JSON is answered with {seen.code}, not -32700."
    )


def notification(seen: Observation) -> Judged:
    if seen.kind != "unknown_notification":
        return None
    return "A notification is answered, and must not be." if seen.answered else True


def ids(seen: Observation) -> Judged:
    if seen.kind != "duplicate_id":
        return None
    return str(seen.facts["problem"]) if seen.facts.get("problem") else True


def once(seen: Observation) -> Judged:
    if seen.kind != "session":
        return None
    twice = seen.facts.get("twice") or 0
    return True if not twice else f"{twice} requests were answered more than once."


def clean_stdout(seen: Observation) -> Judged:
    if seen.kind != "session":
        return None
    noise = seen.facts.get("noise") or ()
    return True if not noise else f"The server prints to stdout, where only messages belong: {noise[0][:100]!r}"


def in_results(seen: Observation) -> Judged:
    if not seen.is_tool_failure or seen.kind in UNKNOWN_TOOLS:
        return None
    if seen.error is None:
        return True
    what = "A wrong argument" if seen.kind in WRONG_ARGUMENTS else "A failure of the tool"
    return f"{what} is answered with the JSON-RPC error {seen.code}, which several clients hide from the model."


def wrong_name(kind: str, what: str) -> Callable[[Observation], Judged]:
    def judge(seen: Observation) -> Judged:
        if seen.kind != kind or not seen.answered:
            return None
        if seen.error is None:
            return f"A {what} that does not exist is answered with a result."
        # A code of the server's own tells it, too; one that stands for something else does not.
        if seen.code not in _MISLEADING:
            return True
        return f"A {what} that does not exist is answered with {seen.code}, not -32602."

    return judge


def old_version(seen: Observation) -> Judged:
    if seen.kind != "old_version" or not seen.answered:
        return None
    offered = seen.result.get("protocolVersion") if seen.result is not None else None
    if offered == "1999-01-01":
        return "The server agrees to a version of the protocol that never was, 1999-01-01."
    return True


def no_such_era(seen: Observation) -> Judged:
    if seen.kind != "unsupported_version" or not seen.answered:
        return None
    if seen.error is None:
        return "A request in a version that does not exist is carried out."
    return (
        True
        if seen.code in (-32022, -32602, -32600)
        else f"An unsupported version is answered with {seen.code}, not with -32022."
    )


RULES: Final = (
    CheckRule(
        "protocol.starts",
        "critical",
        10,
        "The server starts",
        "Whether the handshake is answered, in either era.",
        "A server that does not start has no tools; hosts show no more than that it failed.",
        "failwell wrap -- CMD… answers in its place and says why",
        "Say on stderr what is missing, and start without what can be had later.",
        starts,
        most=0,
    ),
    CheckRule(
        "protocol.lists-tools",
        "critical",
        8,
        "The tools are listed",
        "The answer to tools/list.",
        "Without a list there is nothing to call.",
        "failwell wrap keeps the list it has seen",
        "List tools without asking anybody else for them.",
        lists_tools,
        most=20,
        clause="MCP, Tools, Listing tools",
    ),
    CheckRule(
        "protocol.tool-failures-in-results",
        "high",
        8,
        "A tool's failure is a result",
        "Failed calls of tools that exist, answered with a JSON-RPC error.",
        "Several clients hide protocol errors from the model, replace them by a fixed sentence, or crash on them.",
        _INSTALL,
        "Answer with a result and isError: true; keep JSON-RPC errors for what no model can act on.",
        in_results,
        most=70,
        scales=True,
        clause="MCP, Tools, Error handling: input validation and execution errors are tool execution errors",
    ),
    CheckRule(
        "protocol.envelope",
        "high",
        6,
        "Answers are JSON-RPC 2.0",
        "The version, the id, result or error, an integer code and a message.",
        "Clients drop what they cannot read, and wait until they time out.",
        _INSTALL,
        "Use an SDK for the envelope.",
        envelope,
        clause="JSON-RPC 2.0, 5 Response object",
    ),
    CheckRule(
        "protocol.same-id",
        "high",
        6,
        "An answer has the id of its request",
        "The id of every answer, and its type.",
        "A client waits for the id that it sent, and for no other, until it times out.",
        _INSTALL,
        'Send the id back as it came: 7 is not "7".',
        same_id,
        clause="JSON-RPC 2.0, 5 Response object: the id must be the same as that of the request",
    ),
    CheckRule(
        "protocol.unknown-tool",
        "high",
        4,
        "An unknown tool is refused",
        "Calls of tools that do not exist; both -32602 and a result with isError are accepted.",
        "Models invent names of tools; a success for one of them is believed.",
        _INSTALL,
        "Answer -32602, or a result with isError: true that names the nearest tool.",
        unknown_tool,
        clause="MCP, Tools, Error handling: unknown tools are protocol errors",
    ),
    CheckRule(
        "protocol.invalid-params",
        "low",
        2,
        "Malformed calls get -32602",
        "tools/call without params, without a name, with a number for a name, with a text for arguments.",
        "-32603 says that the server is broken, so that the caller does not mend its request.",
        _INSTALL,
        "Check params before using them.",
        bad_params,
        clause=_JSONRPC,
    ),
    CheckRule(
        "protocol.unknown-method",
        "low",
        2,
        "An unknown method gets -32601",
        "A request with a method that nobody has.",
        "Clients find out by it what a server can do.",
        _INSTALL,
        "Answer -32601.",
        unknown_method,
        clause=_JSONRPC,
    ),
    CheckRule(
        "protocol.invalid-request",
        "low",
        1,
        "What is no request is not carried out",
        "Frames without jsonrpc, with version 1.0, with text as params, with an object or null as id.",
        "Silence is accepted, since nearly all servers are silent; carrying it out hides the sender's mistake.",
        _INSTALL,
        "Answer -32600.",
        bad_frame,
        clause="JSON-RPC 2.0, 4 Request object",
    ),
    CheckRule(
        "protocol.parse-error",
        "low",
        1,
        "Bad JSON gets -32700",
        "A line that ends in the middle of an object.",
        "Another code sends the caller looking in the wrong place.",
        _INSTALL,
        "Answer -32700 with id null.",
        bad_json,
        clause=_JSONRPC,
    ),
    CheckRule(
        "protocol.notifications",
        "low",
        1,
        "A notification is not answered",
        "A notification that nobody knows.",
        "An answer without a request confuses clients.",
        _INSTALL,
        "Ignore notifications you do not know.",
        notification,
        clause="JSON-RPC 2.0, 4.1 Notification",
    ),
    CheckRule(
        "protocol.codes",
        "medium",
        3,
        "Codes are not somebody else's",
        "The code of every JSON-RPC error, by the era's own ranges.",
        "A reserved number will mean something else tomorrow, and 0 means nothing today.",
        _INSTALL,
        "Use the standard codes, and private ones outside of -32768 to -32000.",
        own_codes,
        clause="MCP 2026-07-28, Error codes",
    ),
    CheckRule(
        "protocol.ids",
        "low",
        1,
        "An id that is used twice confuses nobody",
        "Two requests under way with the same id.",
        "Each must be answered once, or the second refused: a lost answer is waited for.",
        _INSTALL,
        "Answer the second with -32600, or both.",
        ids,
        clause="MCP, Base protocol, Requests: the id must not have been used before",
    ),
    CheckRule(
        "protocol.answers-once",
        "high",
        3,
        "Each request is answered once",
        "Answers with an id that has been answered.",
        "The second answer may be taken for that of another request.",
        _INSTALL,
        "Send one response for each request.",
        once,
        clause="JSON-RPC 2.0, 5 Response object",
    ),
    CheckRule(
        "protocol.clean-stdout",
        "medium",
        3,
        "Only messages on stdout",
        "Lines on stdout that are no JSON-RPC messages.",
        "Strict clients close the connection at the first such line.",
        "failwell wrap -- CMD… keeps them from the client",
        "Print to stderr.",
        clean_stdout,
        clause="MCP, Transports, stdio: nothing to stdout that is not a valid message",
    ),
    CheckRule(
        "protocol.unknown-resource",
        "low",
        1,
        "An unknown resource gets its code",
        "resources/read of an address that does not exist, on servers that declare resources.",
        "Code 0 or a result tells nobody that it is not there.",
        _INSTALL,
        "Answer -32602 (before 2026-07-28: -32002).",
        wrong_name("unknown_resource", "resource"),
        clause="MCP, Resources, Error handling",
    ),
    CheckRule(
        "protocol.unknown-prompt",
        "low",
        1,
        "An unknown prompt gets its code",
        "prompts/get of a name that does not exist, on servers that declare prompts.",
        "Code 0 or a result tells nobody that it is not there.",
        _INSTALL,
        "Answer -32602.",
        wrong_name("unknown_prompt", "prompt"),
        clause="MCP, Prompts, Error handling",
    ),
    CheckRule(
        "protocol.version",
        "low",
        1,
        "A version that never was is not agreed to",
        "initialize with the version 1999-01-01; in the newer era a request that names it.",
        "Whoever agrees to anything cannot be told apart from one that can do it.",
        _INSTALL,
        "Offer the newest version that you speak.",
        lambda seen: old_version(seen) if seen.kind == "old_version" else no_such_era(seen),
        clause="MCP, Lifecycle, Version negotiation",
    ),
)
