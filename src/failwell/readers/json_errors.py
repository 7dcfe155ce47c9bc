"""Error objects of APIs, dug out of JSON: the message, the code and the HTTP status.

Only members are read here, by their names, at any depth. What their sentences say is left to the phrases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from failwell.model import label, pattern
from failwell.model import text as clean

Layer = dict[str, Any]
"""An object by the names of its members in small letters, without what stands between the words of a name."""

_DECODE: Final = json.JSONDecoder().raw_decode
_START: Final = pattern(r"[\[{]\s{0,40}[\"{\]}]")
# More than a sentence before it, and the object is a part of something else.
_LONGEST_LEAD: Final = 400

# The objects in which an error keeps what it knows more. What else is in an answer is not about the error.
_WITHIN: Final = frozenset(
    """error errors err exception fault issues detail details data meta metadata info extra extensions parameters
    response body ratelimit cause reason""".split()
)
_MOST_OBJECTS: Final = 30
_DEEPEST: Final = 5
_MOST_ITEMS: Final = 5

_MESSAGES: Final = (
    *(
        "message",
        "msg",
        "errormessage",
        "errormessages",
        "errordescription",
        "detail",
        "description",
        "error",
        "errors",
    ),
    *("details", "issues", "exception", "fault", "err", "title", "reason", "hint", "text"),
)
_CODES: Final = ("code", "errorcode", "type", "errortype", "name", "error", "reason")
# Outside of an error the other names may be of anything.
_SURE_CODES: Final = ("code", "errorcode", "errortype", "error")
_STATUSES: Final = ("status", "statuscode", "httpstatus", "code")
_FLAGS: Final = ("success", "ok", "succeeded")
_FAILED: Final = frozenset({"error", "fail", "failed", "failure", "err"})
_WORKED: Final = frozenset({"ok", "success", "succeeded", "successful", "completed"})
# With something in one of these, an object is an answer that has an error in it, not an error.
_PAYLOAD: Final = ("data", "result", "results", "items", "content", "id", "output", "rows", "tools", "stdout", "value")
# With one of these, it tells how often others failed.
_COUNTED: Final = frozenset({"count", "since", "occurrences", "firstseen", "lastseen"})


def split(text: str) -> tuple[str, Any]:
    """The words before the first JSON object or list in a text, and its value; None where there is none."""
    for match in islice(_START.finditer(text, 0, _LONGEST_LEAD), 4):
        try:
            value, _ = _DECODE(text, match.start())
        except (ValueError, RecursionError):
            continue
        return text[: match.start()].strip(), value
    return text, None


def layers_of(data: object) -> list[Layer]:
    """The object and those within it that are about the error, outermost first."""
    found: list[Layer] = []
    waiting: list[tuple[int, object]] = [(0, data)]
    for depth, each in waiting:
        if len(found) >= _MOST_OBJECTS:
            break
        if isinstance(each, list):
            waiting += [(depth, item) for item in each[:_MOST_ITEMS] if isinstance(item, Mapping)]
        elif isinstance(each, Mapping):
            layer = {_folded(name): value for name, value in each.items() if isinstance(name, str)}
            found.append(layer)
            if depth < _DEEPEST:
                waiting += [(depth + 1, value) for name, value in layer.items() if name in _WITHIN]
    return found


def _folded(name: str) -> str:
    return name[:60].replace("_", "").replace("-", "").lower()


def is_failure(layer: Layer) -> bool:
    """Whether an object says by itself that it is an error."""
    word = layer["status"].lower() if isinstance(layer.get("status"), str) else None
    if any(layer.get(key) is True for key in _FLAGS) or word in _WORKED:
        return False
    if any(layer.get(key) is False for key in _FLAGS) or layer.get("iserror") is True:
        return True
    error = layer.get("error") or layer.get("errorcode")
    if "jsonrpc" in layer and isinstance(error, Mapping):
        return True
    if not _COUNTED.isdisjoint(layer):
        return False
    says = sentence(layer) is not None
    if _status(layer) is not None and (says or error):
        return True
    if any(layer.get(key) for key in _PAYLOAD):
        return False
    if isinstance(error, Mapping) and error.get("code") == 0:
        return False
    if word in _FAILED or error is True:
        return says
    return isinstance(error, (str, Mapping, list)) and bool(error)


def sentence(layer: Layer) -> str | None:
    """What an object says in words."""
    for key in _MESSAGES:
        value = layer.get(key)
        if isinstance(value, list):
            value = "; ".join(each for each in value[:5] if isinstance(each, str))
        if isinstance(value, str) and (said := label(clean(value).strip())) is not None:
            return said
    return None


def message_in(layers: list[Layer]) -> str | None:
    """What the error itself says, before what is said around it."""
    inner = layers_of(layers[0].get("error"))[:1]
    return next((said for layer in (*inner, *layers) if (said := sentence(layer))), None)


def names_in(layers: list[Layer]) -> list[str]:
    """The names of errors, outermost first."""
    return [
        value.strip()
        for depth, layer in enumerate(layers)
        for key in (_CODES if depth else _SURE_CODES)
        # A sentence is no name.
        if isinstance(value := layer.get(key), str) and len(value) <= 80 and " " not in value.strip()
    ]


def status_in(layers: list[Layer]) -> int | None:
    """The HTTP status, where an object says one."""
    return next((number for layer in layers if (number := _status(layer)) is not None), None)


def _status(layer: Layer) -> int | None:
    for key in _STATUSES:
        value = layer.get(key)
        if isinstance(value, str) and len(value) == 3 and value.isdecimal():
            value = int(value)
        if type(value) is int and 400 <= value < 600:
            return value
    return None
