"""Where in its source a server broke is not for the answer: a stack trace is cut down to the line that counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from failwell.model import ToolError, compact
from failwell.readers import trace_line, without_frames
from failwell.redact import gathered

_OPAQUE: Final = frozenset({"data", "blob"})
_SHORT: Final = 500
_NOTHING_LEFT: Final = "It failed."
_WORDS: Final = ("message", "suggestion", "details")


def without_traces(value: Any) -> Any:
    """A JSON value whose texts hold no stack traces; what is no text for anybody, such as a picture, stays whole."""
    if isinstance(value, str):
        return _without_frames(value)
    if isinstance(value, Mapping):
        kept = _OPAQUE if isinstance(value.get("mimeType"), str) else ()
        return gathered((name, part if name in kept else without_traces(part)) for name, part in value.items())
    return [without_traces(part) for part in value] if isinstance(value, (list, tuple)) else value


def _without_frames(text: str) -> str:
    if text.lstrip()[:1] in ("{", "[") and "\\n" in text:
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            # It stays JSON.
            told = without_traces(said)
            return text if told == said else compact(told)
    if len(text) <= _SHORT:
        return trace_line(text) or text
    # A build that failed is of no use without what it said.
    told = without_frames(text)
    return text if told == text else told.strip() or _NOTHING_LEFT


def traceless(error: ToolError) -> ToolError:
    """The error as it may be told."""
    changed = {}
    for name in _WORDS:
        if error.given(name) and (told := without_traces(getattr(error, name))) != getattr(error, name):
            changed[name] = told
    return error.replace(**changed) if changed else error
