"""Errors of databases by the codes in their texts: SQLSTATE, and the names of SQLite, MySQL and Redis.

The codes mean what they mean for exceptions, with one difference: a text about a statement comes from a tool that
runs the caller's statements, so that a wrong one is the caller's to correct.
"""

from __future__ import annotations

from re import IGNORECASE
from typing import Final

from failwell.model import pattern
from failwell.readers.exceptions.databases import SQLITE, SQLSTATES

from .clues import STATED, Finding
from .field_names import code_of

_CALLERS: Final = {
    "42P01": "NOT_FOUND",
    "42S02": "NOT_FOUND",
    "3D": "NOT_FOUND",
    "42": "VALIDATION_ERROR",
    "28": "UNAUTHORIZED",
}
_STATE: Final = pattern(
    r"SQLSTATE\W{1,3}([0-9A-Z]{5})\b|\b\d{4} \(([0-9A-Z]{5})\)|\b(?:code"
    r"|sqlstate)['\"]?[:=] ?['\"](\d[0-9A-Z]{4})['\"]",
    IGNORECASE,
)
# The words with which Redis begins: a protocol, as SQLSTATE is.
_REDIS: Final = {
    **dict.fromkeys(("WRONGTYPE", "NOSCRIPT", "NOGROUP", "CROSSSLOT", "EXECABORT"), "VALIDATION_ERROR"),
    **dict.fromkeys(("NOAUTH", "WRONGPASS"), "UNAUTHORIZED"),
    **dict.fromkeys(("NOPERM", "READONLY"), "FORBIDDEN"),
    **dict.fromkeys(("LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN"), "UNAVAILABLE"),
    **dict.fromkeys(("BUSYKEY", "BUSYGROUP"), "CONFLICT"),
}
_DIGIT: Final = pattern(r"[0-9]")
_WORD: Final = pattern(r"([A-Z]{4,12}) [A-Z][a-z]")
_NAME: Final = pattern(r"\b(SQLITE_[A-Z_]{3,40}|ER_[A-Z_]{3,60})\b")


def read(text: str) -> Finding | None:
    text = text[:4_000]
    # Nearly all texts are told by this: each of its forms has a digit.
    found = _STATE.search(text) if _DIGIT.search(text) else None
    code = _by_state((found[1] or found[2] or found[3]).upper()) if found else None
    if code is None and "_" in text and (found := _NAME.search(text)):
        code = _by_name(found[1])
    if code is None and (found := _WORD.match(text)):
        code = _REDIS.get(found[1])
    return Finding(code, STATED) if code else None


def _by_state(state: str) -> str | None:
    for part in (state, state[:2]):
        if part in _CALLERS:
            return _CALLERS[part]
        if part in SQLSTATES:
            return SQLSTATES[part].code
    return None


def _by_name(name: str) -> str | None:
    meaning = SQLITE.get(name) or SQLITE.get("_".join(name.split("_")[:2]))
    return meaning.code if meaning else code_of(name)
