"""The answers that the relay writes: what became of a call, in the words that make a model recover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeGuard

from failwell.formats import (
    FORMATS,
    META_KEY,
    MODERN_ERA,
    as_result,
    find_client,
    in_words,
    keys,
    next_action,
    parse,
    to_result,
)
from failwell.model import ToolError, compact
from failwell.readers import without_frames
from failwell.recovery import Ending, is_in_words
from failwell.redact import DEFAULT, masked

from .messages import member, read_frame, written
from .stack_traces import traceless, without_traces

ORIGINAL: Final = keys.ORIGINAL
# Of a longer frame only the ends of its texts are looked at.
LARGE: Final = 100_000
_LONGEST_ORIGINAL: Final = 64_000
# In words about a call that may have been done, a longer reason is cut.
_LONGEST_REASON: Final = 500
_LONGEST_OUTPUT: Final = 8_000
_MOST_BLOCKS: Final = 20
_WORDS: Final = {"content", "isError"}

Result = dict[str, Any]


def answer(id: object, result: Mapping[str, Any]) -> bytes:
    return written({"jsonrpc": "2.0", "id": id, "result": result})


def error_answer(id: object, message: str, error: ToolError | None = None, *, number: int = -32603) -> bytes:
    """For requests that are no calls: there is no model to tell."""
    data = {"data": {META_KEY: DEFAULT(error).to_dict()}} if error is not None else {}
    return written({"jsonrpc": "2.0", "id": id, "error": {"code": number, "message": message, **data}})


def refused(id: object, error: ToolError) -> bytes:
    """The same, of what a request that is no call came to by somebody else's word."""
    error = DEFAULT(traceless(error))
    return error_answer(id, error.message, error)


def failed(
    ending: Ending,
    *,
    format: str,
    era: str,
    client: str | None,
    output_schema: bool,
    original: bytes | None = None,
    said: Any = None,
) -> Result:
    """The result that tells of a failure; `original` is the server's own answer, if it gave one, `said` its JSON."""
    told = ending.shown
    if isinstance(told, ToolError):
        told = traceless(told)
    text = _text(original) if original is not None else None
    told = DEFAULT(told)
    theirs = said.get("result") if isinstance(said, dict) else None
    if FORMATS[format].prose and isinstance(told, ToolError) and not ending.in_doubt and _has_words(theirs):
        result = _in_their_words(theirs, told)
    else:
        known = find_client(client)
        if known is not None:
            # Nothing of ours stands in front of the words.
            known = replace(known, marks_errors=True)
        if FORMATS[format].terse and isinstance(told, ToolError):
            told = told.replace(message=in_words(told))
        result = as_result(told, format, era=era, client=known, output_schema=output_schema)
        if isinstance(told, ToolError) and told.delivery == "unanswered" and FORMATS[format].prose:
            # That the answer was lost is said by whoever does not know why.
            result["content"] = to_result(told.replace(delivery=None), format, era=era, client=known)["content"]
        if isinstance(theirs, dict):
            _beside(result, theirs, in_doubt=ending.in_doubt)
    if original is not None:
        whole = {"cut": len(original)} if text is None else kept(text, said)
        result.setdefault("_meta", {})[ORIGINAL] = whole
    return result


def _has_words(theirs: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a server's result holds a text for the model."""
    blocks = theirs.get("content") if isinstance(theirs, dict) else None
    return isinstance(blocks, list) and any(_is_text(each) and str(each.get("text", "")).strip() for each in blocks)


def _in_their_words(theirs: dict[str, Any], told: ToolError) -> Result:
    """The server's own result, without secrets and stack traces, and after its words what its list proves."""
    result: Result = without_traces(masked(theirs))
    added = " ".join(next_action(told)) if is_in_words(told) else ""
    for place, block in enumerate(result["content"] if added else ()):
        if _is_text(block):
            # Not as a block of its own: some agents show their model only the first.
            result["content"][place] = {**block, "text": f"{str(block.get('text', '')).rstrip()}\n\n{added}"}
            break
    meta = result.get("_meta")
    result["_meta"] = {**(meta if isinstance(meta, dict) else {}), META_KEY: told.to_dict()}
    result["isError"] = told.is_error
    return result


def _text(frame: bytes) -> str | None:
    """A frame as it is kept; None for one that is too long."""
    return frame.rstrip(b"\r\n").decode("utf-8", "replace") if len(frame) <= _LONGEST_ORIGINAL else None


def _beside(result: Result, theirs: Mapping[str, Any], *, in_doubt: bool) -> None:
    """What the server's result had beside its words stays: pictures, other blocks, its own `_meta` and data."""
    blocks = theirs.get("content")
    if not in_doubt and theirs.keys() == _WORDS and type(blocks) is list and len(blocks) == 1 and _is_text(blocks[0]):
        # Mostly there is nothing else.
        return
    blocks = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    first = next((block for block in blocks if block.get("type") == "text"), None)
    others = [block for block in blocks if block is not first]
    if others:
        words = " ".join(str(block.get("text", "")) for block in result["content"])
        others = [without_traces(masked(block)) for block in others if not _is_told(block, words)]
    output = str(first.get("text", "")) if first is not None else ""
    if in_doubt and len(output) > _LONGEST_REASON:
        # A build that failed is of no use without what it said.
        result["content"][0]["text"] += f"\n\nIts output:\n{_output(without_frames(output))}"
    result["content"] += others
    structured = theirs.get("structuredContent")
    if structured is not None and "structuredContent" not in result:
        result["structuredContent"] = without_traces(masked(structured))
    for name, value in theirs.items():
        if name not in ("content", "structuredContent", "isError", "_meta"):
            result[name] = without_traces(masked(value))
    meta = theirs.get("_meta")
    if isinstance(meta, Mapping):
        result["_meta"] = {**without_traces(masked(dict(meta))), **result.get("_meta", {})}


def _is_text(block: Any) -> bool:
    return type(block) is dict and block.get("type") == "text"


def _is_told(block: Mapping[str, Any], words: str) -> bool:
    """Whether a block only says the same failure again, for programs or in the same words."""
    if block.get("type") != "text":
        return False
    said = str(block.get("text", "")).strip()
    return said in words or (said[:1] in ("{", "<") and parse(said) is not None)


def _output(text: str) -> str:
    text = DEFAULT.redact(text)
    if len(text) <= _LONGEST_OUTPUT:
        return text
    half = _LONGEST_OUTPUT // 2
    return f"{text[:half]}\n…({len(text) - 2 * half} characters cut)…\n{text[-half:]}"


def kept(text: str, message: Any) -> dict[str, Any]:
    """What the server sent: byte for byte where there is nothing to hide in it, which may be known by now."""
    # A trace has line ends, which are written with a backslash.
    cut = without_traces(message) if "\\" in text else message
    if cut == message and DEFAULT.hides_nothing(text):
        return {"frame": text}
    hidden = masked(cut)
    if hidden == message and DEFAULT.redact(text) == text:
        return {"frame": text}
    return {"frame": DEFAULT.redact(compact(hidden)), "redacted": True}


def passed(frame: bytes, message: Any) -> bytes:
    """A failure that is passed on as the server put it, without what must not leave: as the bytes that came where there
    is nothing of that in it."""
    told = without_traces(masked(message))
    if told == message and len(frame) <= LARGE:
        return frame
    data = _member(message, "error", "data")
    if isinstance(data, dict) and _ASKED in data:
        # What the client is to show and to open, to the letter.
        told["error"]["data"][_ASKED] = data[_ASKED]
    for place in _TASK_PLACES:
        if (task := _member(message, place, _TASK)) is not None:
            told[place][_TASK] = task
    return written({**told, **identity(message)})


_ASKED: Final = "elicitations"
_TASK: Final = "taskId"
_TASK_PLACES: Final = ("result", "params")


def identity(message: Mapping[str, Any]) -> dict[str, Any]:
    """By what an answer is known, whatever else that may look like: its id. What asks for no answer has none."""
    return {"id": message["id"]} if "id" in message else {}


def _member(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def in_era(frame: bytes, era: str) -> bytes:
    """An answer that was kept, for a client that may speak the newer protocol, where each result says what it is."""
    place = member(frame, "result") if era >= MODERN_ERA else None
    result = read_frame(frame[slice(*place)]) if place is not None else None
    if place is None or not isinstance(result, dict) or not result or "resultType" in result:
        return frame
    inside = place[0] + 1
    return frame[:inside] + b'"resultType":"complete",' + frame[inside:]


def shortened(message: Mapping[str, Any]) -> dict[str, Any]:
    """A large answer with only the two ends of its texts: nobody reads more of a failure, and the rest takes time."""
    result, error = message.get("result"), message.get("error")
    if isinstance(error, Mapping):
        return {**message, "error": {"code": error.get("code"), "message": _ends(str(error.get("message", "")))}}
    if not isinstance(result, Mapping) or not isinstance(result.get("content"), list):
        return dict(message)
    blocks = [
        {**block, "text": _ends(block["text"])} if isinstance(block.get("text"), str) else block
        for block in result["content"][:_MOST_BLOCKS]
        if isinstance(block, Mapping)
    ]
    rest = {name: value for name, value in result.items() if name not in ("content", "structuredContent")}
    return {**message, "result": {**rest, "content": blocks}}


def _ends(text: str) -> str:
    half = _LONGEST_OUTPUT
    return (
        text if len(text) <= 2 * half else f"{text[:half]}\n…({len(text) - 2 * half} characters cut)…\n{text[-half:]}"
    )


def trimmed(value: Any) -> Any:
    """JSON with only the two ends of its long texts; what is no text for anybody, such as a picture, stays whole."""
    if isinstance(value, str):
        return _ends(value)
    if isinstance(value, Mapping):
        whole = _OPAQUE if isinstance(value.get("mimeType"), str) else ()
        return {name: part if name in whole else trimmed(part) for name, part in value.items()}
    return [trimmed(part) for part in value] if isinstance(value, list) else value


_OPAQUE: Final = ("data", "blob")
