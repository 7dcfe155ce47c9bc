"""The answers that the relay writes: what became of a call, in the words that make a model recover."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.formats import FORMATS, META_KEY, MODERN_ERA, as_result, keys, parse, render, to_result
from failwell.guards import DEFAULT, masked
from failwell.model import ToolError, compact
from failwell.readers import without_frames
from failwell.recovery import Ending

from . import jsonc
from .messages import member, raw_members, written
from .paths import has_places, placeless, without_paths, without_places

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


def error_answer(id: object, message: str, error: ToolError | None = None) -> bytes:
    """For requests that are no calls: there is no model to tell."""
    data = {"data": {META_KEY: DEFAULT(error).to_dict()}} if error is not None else {}
    return written({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": message, **data}})


def refused(id: object, error: ToolError, sent: Mapping[str, Any]) -> bytes:
    """The same, of what a request that is no call came to by somebody else's word."""
    error = DEFAULT(placeless(error, sent))
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
    keep_original: bool = True,
    sent: Mapping[str, Any] | None = None,
    note: str = "",
) -> Result:
    """The result that tells of a failure; `original` is the server's own answer, if it gave one, `said` its JSON."""
    told = ending.cited
    if isinstance(told, ToolError):
        told = placeless(told, sent or {})
        if note:
            told = told.replace(message=f"{_sentence(told.message)} {note}")
    text = _text(original) if original is not None and keep_original else None
    # One look at what is said anew and at what was said before, which is mostly all that there is to look at.
    is_clear = text is not None and isinstance(told, ToolError) and DEFAULT.clears(told, text)
    told = told if is_clear else DEFAULT(told)
    result: Result = as_result(told, format, era=era, client=client, output_schema=output_schema)
    if isinstance(told, ToolError) and told.delivery == "unanswered" and FORMATS[format].prose:
        # That the answer was lost is said by whoever does not know why.
        result["content"] = to_result(told.replace(delivery=None), format, era=era, client=client)["content"]
    theirs = said.get("result") if isinstance(said, dict) else None
    if isinstance(theirs, dict):
        _beside(result, theirs, told, sent or {}, in_doubt=ending.in_doubt)
    if original is not None and keep_original:
        whole = {"cut": len(original)} if text is None else kept(text, said, sent or {}, is_clear=is_clear)
        result.setdefault("_meta", {})[ORIGINAL] = whole
    return result


def _text(frame: bytes) -> str | None:
    """A frame as it is kept; None for one that is too long."""
    return frame.rstrip(b"\r\n").decode("utf-8", "replace") if len(frame) <= _LONGEST_ORIGINAL else None


def _sentence(text: str) -> str:
    text = text.rstrip()
    return text if text.endswith((".", "!", "?", '."')) else f"{text}."


def _beside(result: Result, theirs: Mapping[str, Any], told: Any, sent: Mapping[str, Any], *, in_doubt: bool) -> None:
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
        others = [without_places(masked(block), sent) for block in others if not _is_told(block, words)]
    output = str(first.get("text", "")) if first is not None else ""
    if in_doubt and len(output) > _LONGEST_REASON:
        # A build that failed is of no use without what it said.
        result["content"][0]["text"] += f"\n\nIts output:\n{_output(without_paths(without_frames(output), sent))}"
    result["content"] += others
    structured = theirs.get("structuredContent")
    if structured is not None and "structuredContent" not in result:
        result["structuredContent"] = without_places(masked(structured), sent)
    for name, value in theirs.items():
        if name not in ("content", "structuredContent", "isError", "_meta"):
            result[name] = without_places(masked(value), sent)
    meta = theirs.get("_meta")
    if isinstance(meta, Mapping):
        result["_meta"] = {**without_places(masked(dict(meta)), sent), **result.get("_meta", {})}


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


def kept(text: str, message: Any, sent: Mapping[str, Any], *, is_clear: bool) -> dict[str, Any]:
    """What the server sent: byte for byte where there is nothing to hide in it, which may be known by now."""
    # A trace has line ends, which are written with a backslash.
    placed = without_places(message, sent) if has_places(text) else message
    if placed == message and (is_clear or DEFAULT.hides_nothing(text)):
        return {"frame": text}
    hidden = masked(placed)
    if hidden == message and DEFAULT.redact(text) == text:
        return {"frame": text}
    return {"frame": DEFAULT.redact(compact(hidden)), "redacted": True}


def passed(frame: bytes, message: Any, sent: Mapping[str, Any]) -> bytes:
    """A failure that is passed on as the server put it, without what must not leave: as the bytes that came where there
    is nothing of that in it."""
    told = without_places(masked(message), {"sent": sent, "calls": _calls_in(message)})
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


def _calls_in(message: Any) -> Any:
    """The calls that an error in our own words proposes: what is to be sent in them is no place of the server's."""
    error = _member(message, "result", "_meta", META_KEY)
    return {name: error.get(name) for name in _CALLS} if isinstance(error, dict) else None


_CALLS: Final = ("actions", "patch", "verify", "sent")


def _member(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def in_era(frame: bytes, era: str) -> bytes:
    """An answer that was kept, for a client that may speak the newer protocol, where each result says what it is."""
    place = member(frame, "result") if era >= MODERN_ERA else None
    names = raw_members(frame[slice(*place)]) if place is not None else {}
    if place is None or not names or "resultType" in names:
        return frame
    inside = frame.index(b"{", place[0]) + 1
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


def with_note(frame: bytes, note: str) -> bytes:
    """A success with a note beside what the server sent, which stays as the bytes that came: in a block for the model,
    in `_meta` for programs."""
    try:
        text = frame.decode()
        result = jsonc.read(text).get("result")
    except (UnicodeDecodeError, jsonc.NotJson):
        return frame
    content = result.get("content") if result is not None else None
    if result is None or content is None or not isinstance(content.value, list):
        return frame
    block = compact({"type": "text", "text": note})
    added = [(content.end - 1, f",{block}" if content.items else block)]
    mark, meta = f'"{keys.RESTARTED}":true', result.get("_meta")
    if meta is None:
        added.append((content.end, f',"_meta":{{{mark}}}'))
    elif isinstance(meta.value, dict):
        added.append((meta.end - 1, f",{mark}" if meta.members else mark))
    for place, more in sorted(added, reverse=True):
        text = text[:place] + more + text[place:]
    return text.encode()


def marked(message: Mapping[str, Any], error: ToolError, sent: Mapping[str, Any]) -> bytes:
    """A failure that was sent as a success, marked as what it is. What the server sent stays whole."""
    theirs = message["result"]
    error = DEFAULT(placeless(error, sent))
    words = render(error, "text")
    said = " ".join(str(block.get("text", "")) for block in theirs.get("content", []) if isinstance(block, Mapping))
    added = [] if words in said else [{"type": "text", "text": words}]
    meta = {**(theirs.get("_meta") or {}), META_KEY: error.to_dict()}
    result = {**theirs, "content": [*theirs.get("content", []), *added], "isError": True, "_meta": meta}
    return written({**message, "result": result})
