"""Answers in forms that the protocol does not know: a failed call is one in whatever form a server says so."""

from __future__ import annotations

from typing import Any, Final

from failwell.model import compact

from .messages import Message
from .said_failures import YES

_INTERNAL: Final = -32603


def is_success(message: Message) -> bool:
    """Whether an answer is the result of a call that does not say that it failed."""
    result = message.get("result")
    return type(result) is dict and result.get("isError") not in YES and not message.get("error")


def straightened(message: Message) -> Message:
    """The answer to a failed call in the form that the protocol knows; the very same one where it is in that."""
    if message.get("jsonrpc") != "2.0":
        message = {**message, "jsonrpc": "2.0"}
    if error := message.get("error"):
        made = _error(error)
        if made is error and "result" not in message:
            return message
        return {**{name: part for name, part in message.items() if name != "result"}, "error": made}
    result = message.get("result")
    made = _result(result)
    return message if made is result else {**message, "result": made}


def _error(error: Any) -> Any:
    if isinstance(error, dict):
        is_bare = "code" not in error and isinstance(error.get("message"), str)
        return {"code": _INTERNAL, **error} if is_bare else error
    return {"code": _INTERNAL, "message": _words(error)}


def _words(said: Any) -> str:
    if isinstance(said, list) and all(isinstance(each, str) for each in said):
        return "\n".join(said)
    return said if isinstance(said, str) else compact(said)


def _result(result: Any) -> Any:
    if not isinstance(result, dict) or result.get("isError") not in YES:
        return result
    # One that says nothing has failed all the same.
    content = result.get("content")
    if result["isError"] is True and isinstance(content, list):
        return result
    return {**result, "isError": True, "content": _blocks(content)}


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    if isinstance(content, dict) and "type" in content:
        return [content]
    return [] if content is None else [{"type": "text", "text": _words(content)}]
