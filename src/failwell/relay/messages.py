"""What a frame is: a request, a notification or an answer, found out with as little reading as that takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from . import jsonc

# Reading a message of this size costs nothing that anybody would notice; longer ones are looked at first.
_SMALL: Final = 16_384
_ID: Final = rb'(-?\d{1,18}|"[^"\\\x80-\xff]{0,200}")'
_HEAD_ID: Final = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*' + _ID + rb'\s*,\s*"result"\s*:\s*\{')
_TAIL_ID: Final = re.compile(rb'\}\s*,\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*' + _ID + rb"\s*\}\s*\Z")
_RESULT_FIRST: Final = re.compile(rb'\s*\{\s*"result"\s*:\s*\{')
_FAILED: Final = re.compile(rb'"isError"\s*:\s*(?!false)')
_TAIL: Final = 300
_DEEP: Final = 400

_NUMBER: Final = re.compile(rb'"?(-?\d{1,18})(?:\.0{1,9})?"?')

_READ: Final = json.JSONDecoder().decode
_LENIENT: Final = json.JSONDecoder(strict=False, parse_int=lambda digits: int(digits) if len(digits) < 1000 else digits)


class _Twice(ValueError):
    """A name stands twice in an object."""


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _Twice


_NAMES: Final = json.JSONDecoder(strict=False, object_pairs_hook=_once)
# What is written was read, or made here: it never holds itself.
_WRITE: Final = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), allow_nan=False
).encode

try:
    # It writes in a tenth of the time; whoever has not installed it misses nothing else.
    from orjson import OPT_APPEND_NEWLINE as _ENDED
    from orjson import dumps as _QUICK
except ImportError:
    _QUICK, _ENDED = None, 0  # type: ignore[assignment]

Message = dict[str, Any]


def read_frame(frame: bytes) -> Any:
    """The JSON of a frame; None for what is none."""
    try:
        return _READ(frame.decode())
    except RecursionError:
        return None
    except ValueError:
        return _read_leniently(frame)


def _read_leniently(frame: bytes) -> Any:
    try:
        # Whatever stands before the JSON, and in which encoding.
        return json.loads(frame)
    except RecursionError:
        return None
    except ValueError:
        # A byte that is not UTF-8, a bare tab in a text, a number with more digits than Python reads: others read that.
        try:
            return _LENIENT.decode(frame.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None


def holds_more(frame: bytes, message: Message) -> bool:
    """Whether the bytes of a message hold what was not read: of two members by one name, the last one counts, and
    nobody has looked at the other."""
    if frame.replace(b" ", b"") == written(message).replace(b" ", b""):
        # Most programs write the same JSON for the same message, but for the spaces.
        return False
    try:
        _NAMES.decode(frame.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return True
    return False


def is_message(value: Any) -> bool:
    """Whether JSON is a message by itself."""
    return type(value) is dict and ("method" in value or "result" in value or "error" in value)


def last_frame(rest: bytes) -> bytes | None:
    """What came after the last line end of a pipe that has ended, as a frame, if it is a whole message."""
    return rest.rstrip() + b"\n" if rest.strip() and type(read_frame(rest)) is dict else None


def key_of(id: object) -> bytes:
    """An id as it can be looked up: 1, "1" and 1.0 are three."""
    if type(id) is int:
        return b"%d" % id
    return json.dumps(id, separators=(",", ":")).encode()


def number_of(key: bytes) -> int | None:
    """The number that an id stands for, however it is spelt; None if it is none."""
    found = _NUMBER.fullmatch(key)
    return None if found is None else int(found[1])


def member(frame: bytes, name: str) -> tuple[int, int] | None:
    """Where the value of a member of an object begins and ends."""
    try:
        text = frame.decode()
        node = jsonc.read(text).get(name)
    except (UnicodeDecodeError, jsonc.NotJson):
        return None
    return None if node is None else (len(text[: node.start].encode()), len(text[: node.end].encode()))


def large_success(frame: bytes) -> bytes | None:
    """The id of a large answer that is plainly the result of a call that worked, without reading all of it.

    None for all else, which is then read.
    """
    return plain_success(frame) if len(frame) > _SMALL else None


def is_deep(frame: bytes) -> bool:
    """Whether a message may be nested too deeply to be read: then only its ends are looked at."""
    return frame.count(b"[") + frame.count(b"{") > _DEEP


def plain_success(frame: bytes) -> bytes | None:
    """The same of a message of any size, such as one that is nested too deeply to be read."""
    if _FAILED.search(frame) is not None:
        return None
    found = _HEAD_ID.match(frame)
    if found is None and _RESULT_FIRST.match(frame):
        found = _TAIL_ID.search(frame, max(0, len(frame) - _TAIL))
    if found is None or not frame.rstrip().endswith(b"}"):
        return None
    return found[1]


def with_id(frame: bytes, message: Mapping[str, Any] | None, id: object) -> bytes:
    """The frame under another id; its other bytes stay as they are."""
    found = _ANY_HEAD.match(frame) or None
    if found is not None and frame.count(b'"id"', 0, found.end()) == 1:
        return frame[: found.start(1)] + key_of(id) + frame[found.end(1) :]
    if (tail := _TAIL_ID.search(frame, max(0, len(frame) - _TAIL))) is not None:
        return frame[: tail.start(1)] + key_of(id) + frame[tail.end(1) :]
    if (place := member(frame, "id")) is not None:
        return frame[: place[0]] + key_of(id) + frame[place[1] :]
    # In another encoding, or without an id.
    whole = message if message is not None else read_frame(frame)
    return frame if whole is None else written({**whole, "id": id})


_ANY_HEAD: Final = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*' + _ID + rb"\s*,")


def written(message: Mapping[str, Any]) -> bytes:
    """A message as a frame of its own."""
    if _QUICK is not None:
        try:
            return _QUICK(message, option=_ENDED)
        except TypeError:
            # A number that is too long for it, half a character, or what is nested very deeply.
            pass
    try:
        text = _WRITE(message)
    except ValueError:
        text = _WRITE(finite(message))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def finite(value: Any) -> Any:
    """A value without what JSON cannot say: a number that is too large for anybody is none."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(part) for name, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, (list, tuple)) else value


def params_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    params = message.get("params")
    return params if type(params) is dict else {}


def meta_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = params_of(message).get("_meta")
    return meta if type(meta) is dict else {}


# As servers say it that take no care of types: 1 is True.
YES: Final = (True, "true", "True")
_OF_TASKS: Final = frozenset({"taskId", "statusMessage"})
# What a task came to that did not work, in whichever capitals: why stands beside it.
_ENDED_SO: Final = frozenset({"failed", "cancelled", "canceled", "error"})
# Where the state of a task, or the result that it ended with, stands in what is said of it.
_INSIDE: Final = ("task", "result")


def says_failed(message: Message) -> bool:
    """Whether a message says that something failed, in an error, a result, or the state of a task."""
    if message.get("error") or ("error" in message and "result" not in message):
        return True
    return _is_failed(message.get("params" if "method" in message else "result"))


def _is_failed(said: Any) -> bool:
    if type(said) is not dict:
        return False
    if said.get("isError") in YES:
        return True
    if not _OF_TASKS.isdisjoint(said) and (said.get("error") or str(said.get("status")).lower() in _ENDED_SO):
        return True
    tasks = said.get("tasks")
    return any(_is_failed(said[name]) for name in _INSIDE if name in said) or (
        type(tasks) is list and any(map(_is_failed, tasks))
    )
