"""`parse`: any outcome that came over a wire, in any of the formats, told or not which one it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from failwell.model.error import ToolError
from failwell.model.kinds import Severity
from failwell.model.lazily import pattern
from failwell.model.needs import NeedsInput

from . import canonical, envelope, jsonrpc, problem, text, toolfailure, typed, v1, xml
from .wire import OBJECT, Outcome, is_clean, read_json

META_KEY: Final = "io.github.failwell/tool-error"
"""Where the canonical error travels in the `_meta` of a result, and the id of the extension that negotiates it."""

# In the order in which they are tried, what can be told for certain first, with a key the object must have.
_OBJECTS: Final[tuple[tuple[str, Callable[[Mapping[str, Any], bool], Outcome | None]], ...]] = (
    ("failwell", canonical.load),
    ("jsonrpc", jsonrpc.load_response),
    ("kind", v1.load),
    ("success", envelope.load),
    ("type", typed.load),
    ("error", typed.load),
    ("class", toolfailure.load),
    ("code", jsonrpc.load),
    ("error", jsonrpc.load),
    ("title", problem.load),
    ("detail", problem.load),
)
_NAMES: Final = ("canonical", "typed", "v1", "xml", "envelope", "jsonrpc", "problem", "toolfailure", "text")
_SDK_PREFIX = pattern(r"(?:Error (?:executing|calling) tool '?[^:'\n]{1,200}'?: )+")


def parse(source: object, format: str | None = None) -> Outcome | None:
    """The failure or the question in `source`; None when there is neither.

    `source` may be a text, bytes, a JSON object, a tool result or a JSON-RPC response as dictionaries, or an object of
    an MCP SDK. The format is detected and recorded in the result's `format`; with `format`, only that one is tried.

    >>> parse('{"type":"NOT_FOUND","message":"no such agent","recoverable":false}').kind
    <Kind.NOT_FOUND: 'not_found'>
    """
    if format is not None and format not in _NAMES:
        raise ValueError(f"There is no format {format!r}; use one of: {', '.join(_NAMES)}.")
    try:
        return _text(source, format) if isinstance(source, str) else _read(source, format)
    except Exception:
        # Some objects break when they are looked at. Whatever they are, there is no error to be read from them.
        return None


def _read(source: object, format: str | None) -> Outcome | None:
    if isinstance(source, (ToolError, NeedsInput)):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _text(bytes(source).decode("utf-8", "replace"), format)
    if not isinstance(source, (Mapping, list)):
        from failwell.model.result import Err

        if isinstance(source, Err):
            return source.error
        source = _as_wire(source)
    outcome = _data(source, format)
    if outcome is None and isinstance(source, Mapping) and format in (None, "jsonrpc"):
        outcome = jsonrpc.load_bare(source)
    return outcome


def _data(source: object, format: str | None, clean: bool = False) -> Outcome | None:
    """The outcome in JSON data: a result, a response around one, a list of blocks, or an error object."""
    if isinstance(source, list):
        source = {"content": source}
    if not isinstance(source, OBJECT):
        return None
    data: Mapping[str, Any] = source
    if "jsonrpc" in data and _is_result(data.get("result")):
        data = data["result"]
    return _result(data, format) if isinstance(data.get("content"), list) else _object(data, format, clean)


def _text(source: str, format: str | None = None) -> Outcome | None:
    if format == "text":
        return text.load(source)
    source = source.lstrip("\ufeff \t\r\n")
    start = source[:1]
    if start in ("{", "["):
        return _data(read_json(source), format, is_clean(source))
    if start == "<" and format in (None, "xml"):
        return xml.FORMAT.load(source)
    if start == "E" and (prefix := _SDK_PREFIX.match(source)):
        return _text(source[prefix.end() :], format)
    return None


def _object(data: Mapping[str, Any], format: str | None = None, clean: bool = False) -> Outcome | None:
    for key, load in _OBJECTS:
        if key in data and (outcome := load(data, clean)) is not None:
            if outcome.format == "jsonrpc" and format in (None, "canonical"):
                outcome = _attached(outcome) or outcome
            return outcome if format is None or outcome.format == format else None
    return None


def _attached(outcome: Outcome) -> Outcome | None:
    """The whole error that a JSON-RPC error carries in its data."""
    own = outcome.details.get(META_KEY) if isinstance(outcome, ToolError) else None
    return canonical.load(own) if isinstance(own, Mapping) else None


def _is_result(data: object) -> bool:
    return isinstance(data, Mapping) and isinstance(data.get("content"), list)


def _result(result: Mapping[str, Any], format: str | None = None) -> Outcome | None:
    """The outcome in a tool result: our own metadata first, then the blocks, then the structured content."""
    is_error = result.get("isError", result.get("is_error"))
    structured = result.get("structuredContent", result.get("structured_content"))
    meta = result.get("_meta", result.get("meta"))
    meta = meta if isinstance(meta, Mapping) else {}
    outcome: Outcome | None = None
    if format in (None, "canonical") and isinstance(own := meta.get(META_KEY), Mapping):
        outcome = canonical.load(own)
    texts = list(_texts(result["content"]))
    if outcome is None and format != "text":
        outcome = _visible(texts, structured, format)
    proposed = meta.get(toolfailure.META_KEY)
    if outcome is None and format in (None, "toolfailure") and isinstance(proposed, Mapping):
        outcome = toolfailure.load(proposed, message="\n".join(texts))
    if outcome is None and is_error is True and format in (None, "text"):
        outcome = text.load("\n".join(texts)) or text.load("The tool failed and gave no reason.")
    if isinstance(outcome, ToolError):
        _compare_flag(outcome, is_error)
    return outcome


def _visible(texts: list[str], structured: object, format: str | None) -> Outcome | None:
    """The outcome in what a model may be shown: the text blocks, else the structured content."""
    found = [outcome for block in texts if (outcome := _text(block, format)) is not None]
    fallback = _object(structured, format) if isinstance(structured, Mapping) else None
    if fallback is not None:
        # A block in another format than the structured content is a message that looks like an error.
        found = [outcome for outcome in found if outcome.format == fallback.format]
    if not found:
        return fallback
    # In contract 001 the last block counts; elsewhere there is only one.
    outcome = found[-1] if found[-1].format == "v1" else found[0]
    if fallback is not None and fallback != outcome:
        _note(outcome, "The text block and the structured content disagree; the block counts.")
    return outcome


def _compare_flag(error: ToolError, is_error: object) -> None:
    if is_error is True and not error.is_error:
        error.note("The result says isError: true, the error calls itself a warning.")
    elif is_error is False and error.is_error and error.format != "envelope":
        if error.format == "xml" and not error.given("severity"):
            error.severity = Severity.WARNING
        else:
            error.note("The result says isError: false, yet it holds an error.")


def _note(outcome: Outcome, note: str) -> None:
    if isinstance(outcome, ToolError):
        outcome.note(note)
    else:
        outcome.notes = (*outcome.notes, note)


def _texts(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        value = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", None)
        if isinstance(value, str):
            yield value


def _as_wire(source: object) -> object:
    """The dictionary behind an SDK object: a result, a response, or an exception that holds an error object."""
    try:
        inner = getattr(source, "error", None)
        if isinstance(source, BaseException) and callable(dump := getattr(inner, "model_dump", None)):
            return {"jsonrpc": "2.0", "error": dump(mode="json", by_alias=True, exclude_none=True)}
        if callable(dump := getattr(source, "model_dump", None)):
            return dump(mode="json", by_alias=True, exclude_none=True)
        if isinstance(content := getattr(source, "content", None), list):
            return {
                "content": content,
                "isError": getattr(source, "is_error", getattr(source, "isError", None)),
                "structuredContent": getattr(source, "structured_content", None),
                "_meta": getattr(source, "meta", None),
            }
    except Exception:
        return None
    return None
