"""A text of the caller's that a parser or a database could not read: JSON, or a statement. The caller can mend it.

What is said about it quotes nothing but that text, so it may be passed on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from failwell.model import FieldError, ToolError

from .chain import attribute, chain, is_a, said

_MOST: Final = 50
_LONGEST: Final = 100_000
_LONGEST_WORDS: Final = 200
_STATEMENT: Final = re.compile(r"(?i)\b(?:select|insert\s+into|update|delete\s+from|from|where|create|alter|values)\b")
# What SQLite says of a statement before it runs any of it, with the word that it stumbled over.
_SQLITE: Final = re.compile(
    r"no such (?:column|table|function|collation sequence|module|index|view): (?P<word>.+)"
    r"|ambiguous column name: (?P<name>.+)|near \"(?P<near>.+)\": syntax error|unrecognized token: \"(?P<token>.+)\"?"
    r"|wrong number of arguments to function (?P<function>\w+)\(\)|incomplete input",
    re.DOTALL,
)
_QUOTED: Final = re.compile(r"[\"']([^\"']{1,100})[\"']")


def misread(exc: BaseException, arguments: Mapping[str, Any]) -> ToolError | None:
    """What is wrong with a text that came with the call, if that is what `exc` is about."""
    for each in chain(exc, context=False):
        for name, text in _texts(arguments):
            words = _not_json(each, text) or _no_statement(each, text)
            if words:
                return ToolError(words, code="VALIDATION_ERROR", fields=[FieldError((name,), words)], standing="quoted")
    return None


def position_of(exc: json.JSONDecodeError) -> str:
    """What Python says of a text that is no JSON: it names the place, and quotes nothing."""
    return f"{exc.msg.rstrip(': ').removesuffix(' at')} at line {exc.lineno}, column {exc.colno}"[:_LONGEST_WORDS]


def _texts(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in islice(arguments.items(), _MOST):
        if isinstance(name, str) and isinstance(value, str) and len(value) <= _LONGEST:
            yield name, value


def _not_json(exc: BaseException, text: str) -> str | None:
    if not is_a(exc, json.JSONDecodeError) or attribute(exc, "doc") != text:
        return None
    return f"must be JSON ({position_of(exc)})"  # type: ignore[arg-type]


def _no_statement(exc: BaseException, text: str) -> str | None:
    if not _STATEMENT.search(text):
        return None
    state = attribute(exc, "sqlstate") or attribute(exc, "pgcode")
    if isinstance(attribute(exc, "sqlite_errorname"), str):
        words = said(exc)
        found = _SQLITE.fullmatch(words)
        stumbled = [] if found is None else [word for word in found.groups() if word]
    elif isinstance(state, str) and state.startswith("42") and state != "42501":
        words = said(exc).partition("\n")[0]
        found = _QUOTED.search(words)
        stumbled = _QUOTED.findall(words)
    else:
        return None
    if found is None or len(words) > _LONGEST_WORDS:
        return None
    return words if all(word.rstrip('"') in text for word in stumbled) else None
