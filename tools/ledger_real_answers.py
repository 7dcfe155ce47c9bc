"""Answers of calls that worked, which look like failures.

A tool may return whatever it likes: a mail it fetched, a log it read, the answer of another service. `isError: false`
says that the call worked, and no body says otherwise, but for an answer that is nothing but contract 003's envelope.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import failwell as fw
from failwell.formats import FORMATS

Answer = dict[str, Any]
"""`content`, `structuredContent` and `_meta` of a result."""

META: Final = "io.github.failwell/tool-error"
PLAIN: Final[Answer] = {"content": [{"type": "text", "text": "Done."}]}

_BUSY: Final = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=0.02, effect="none")
_PATCHED: Final = fw.Invalid(
    "The note is missing.", effect="none", patch=[{"op": "set", "path": ["note"], "value": "corrected"}]
)
_GONE: Final = fw.Internal("The tool failed unexpectedly.")
_FORGED: Final = fw.to_result(_BUSY, "canonical")["_meta"]


def _text(text: str, **more: Any) -> Answer:
    return {"content": [{"type": "text", "text": text}], **more}


def _in_each_format() -> Iterator[tuple[str, Answer]]:
    for title, error in {"busy": _BUSY, "patch": _PATCHED, "gone": _GONE}.items():
        for format in sorted(FORMATS):
            whole = {key: value for key, value in fw.to_result(error, format, carry=True).items() if key != "isError"}
            bare = {key: value for key, value in whole.items() if key != "_meta"}
            rendered = fw.render(error, format)
            if format != "v1":
                # By contract 001 a whole `toolError:v1` is a failure, also where nothing marks it as one.
                yield f"{format} {title}, with _meta", whole
                yield f"{format} {title}", bare
                yield f"{format} {title}, as text", _text(rendered)
            yield f"{format} {title}, with words around", _text(f"The last mail says:\n{rendered}\nShall I go on?")


def _others() -> Iterator[tuple[str, Answer]]:
    for title, body in {
        "status 503": {"status": 503, "message": "Service Unavailable", "retryAfter": 1},
        "success false": {"success": False, "error": "Service busy, try again later"},
        "ok false": {"ok": False, "error": "ratelimited", "retry_after": 0.02},
        "isError inside": {"isError": True, "content": [{"type": "text", "text": "Error: timeout"}]},
        "JSON-RPC": {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "timeout, try again"}},
        "problem+json": {"type": "about:blank", "title": "Service Unavailable", "status": 503, "retry_after": 0.02},
        "error object": {"error": {"code": "rate_limit_exceeded", "message": "Retry after 1 second"}},
        "reserved key": {"failwell": 1, "code": "SERVER_BUSY", "message": "Busy.", "effect": "none", "retryable": True},
        "reserved key below": {"data": {"failwell": {"code": "SERVER_BUSY", "effect": "none"}}, "type": "TRANSIENT"},
        "reserved key in a map": {"result": "done", "failwell": {"code": "SERVER_BUSY", "retryable": True}},
        "needsInput": {"kind": "needsInput:v1", "message": "Which note?", "fields": [{"name": "note"}]},
    }.items():
        yield title, _text(json.dumps(body), structuredContent=body)
        yield f"{title}, as text", _text(json.dumps(body))
        yield f"{title}, only structured", _text("Done.", structuredContent=body)
        second = {"type": "text", "text": json.dumps(body)}
        yield f"{title}, second block", {"content": [*PLAIN["content"], second]}
    for title, text in {
        "timeout": "Error: timeout, try again in 1 second",
        "executing": "Error executing tool pay: 429 Too Many Requests",
        "validation": "1 validation error for payArguments\nnote\n  Field required [type=missing, input_value={}]",
        "unknown tool": "Unknown tool: pay",
        "traceback": 'Traceback (most recent call last):\n  File "a.py", line 1\nConnectionRefusedError: [Errno 111]',
        "MCP error": "MCP error -32602: Invalid arguments for tool pay",
        "not sent": "Error: the request was refused before it was sent. Nothing was done.",
    }.items():
        yield f"prose, {title}", _text(text)
        yield f"prose, {title}, second block", {"content": [*PLAIN["content"], {"type": "text", "text": text}]}
    yield "forged _meta", {**PLAIN, "_meta": _FORGED}
    yield "forged _meta and text", _text("Error: busy", _meta=_FORGED)
    yield "forged _meta with a patch", {**PLAIN, "_meta": fw.to_result(_PATCHED, "canonical")["_meta"]}


ANSWERS: Final[dict[str, Answer]] = {"plain": PLAIN, **dict(_in_each_format()), **dict(_others())}
# By contract 003 a whole envelope with `success: false` is a failure, also where nothing marks it as one.
FAILURES: Final = frozenset(
    name for name in ANSWERS if name.startswith("envelope ") and not name.endswith("with words around")
)
