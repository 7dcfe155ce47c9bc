"""What an outcome holds, whatever it is: its JSON, its text, its structured content, and whether it says it failed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from failwell.formats import OBJECT, read_json

from .exceptions.chain import attribute
from .http import loaded


class Contents(NamedTuple):
    """What a result says, taken apart."""

    text: str
    structured: Mapping[str, Any] | None = None
    is_error: bool = False
    texts: tuple[str, ...] = ()


def contents(told: object) -> Contents:
    """The text of a result, its structured content, and whether it says that it is an error."""
    if isinstance(told, str):
        return Contents(told)
    data = told if isinstance(told, OBJECT) else {}
    result = data.get("result") if "jsonrpc" in data and isinstance(data.get("result"), OBJECT) else data
    assert isinstance(result, Mapping)
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, OBJECT) and isinstance(block.get("text"), str)]
    structured = result.get("structuredContent", result.get("structured_content"))
    structured = structured if structured is not None and isinstance(structured, OBJECT) else None
    return Contents("\n".join(texts), structured, says_failed(result), tuple(texts))


def says_failed(result: Mapping[str, Any]) -> bool:
    """Whether the result of a tool says that it is an error."""
    return result.get("isError", result.get("is_error")) is True


def is_answer(told: object) -> bool:
    """Whether it is what came back from a call: the result of a tool, its blocks, or a JSON-RPC response."""
    if isinstance(told, OBJECT):
        return "jsonrpc" in told or isinstance(told.get("content"), list)
    return isinstance(told, list)


def opened(outcome: object) -> object:
    """An outcome as its JSON, or as its text where it is none.

    A result is taken apart by hand, since most of them are successes, and short.
    """
    if isinstance(outcome, dict):
        return outcome
    if isinstance(outcome, (bytes, bytearray, memoryview)):
        outcome = bytes(outcome).decode("utf-8", "replace")
    if isinstance(outcome, str):
        data = read_json(outcome.lstrip(_BLANK)) if outcome.lstrip(_BLANK)[:1] in ("{", "[") else None
        return outcome if data is None else data
    if isinstance(outcome, Mapping):
        return outcome
    try:
        content = getattr(outcome, "content", None)
        if isinstance(content, list) and hasattr(outcome, "is_error"):
            return {
                "content": [_block(block) for block in content],
                "structuredContent": getattr(outcome, "structured_content", None),
                "_meta": getattr(outcome, "meta", None),
                "isError": outcome.is_error,
            }
        return _dumped(outcome)
    except Exception:
        return {}


_BLANK: Final = "\ufeff \t\r\n"


def _block(block: Any) -> object:
    return {"type": "text", "text": block.text} if getattr(block, "type", None) == "text" else _dumped(block)


def _dumped(outcome: object) -> object:
    dump = getattr(outcome, "model_dump", None)
    return dump(by_alias=True, mode="json", exclude_none=True) if callable(dump) else outcome


def object_in(text: str) -> Mapping[str, Any] | None:
    """The JSON object that a text is."""
    try:
        data = json.loads(text) if text.lstrip()[:1] == "{" else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def written(data: object) -> str:
    """The JSON text of an object; of anything else, one that says nothing."""
    try:
        return json.dumps(data, default=str) if isinstance(data, Mapping) else "{}"
    except (TypeError, ValueError, RecursionError):
        # An object that no wire could carry says nothing.
        return "{}"


class Web(NamedTuple):
    """The answer of an HTTP client."""

    status: int
    headers: object
    body: bytes | None
    method: str | None


def web(outcome: object) -> Web | None:
    """What an HTTP client received, told by what all of them call the same: httpx, requests, aiohttp, urllib.

    The body is used only if it has been loaded: reading it here could block.
    """
    if isinstance(outcome, (dict, str, bytes, Mapping, list, type(None))):
        return None
    headers = attribute(outcome, "headers")
    for name in ("status_code", "status"):
        status = attribute(outcome, name)
        if headers is not None and type(status) is int and 100 <= status < 600:
            method = attribute(attribute(outcome, "request"), "method") or attribute(outcome, "method")
            return Web(status, headers, loaded(outcome), method if type(method) is str else None)
    return None
