"""What an error's words show of the program that wrote them: a validator's dump, a stack trace, its inside."""

from __future__ import annotations

import re
from typing import Final

from failwell.model import pattern


def either(*parts: str, flags: str = "") -> re.Pattern[str]:
    """One pattern for any of them."""
    return pattern(flags + "|".join(parts))


# Dumps of validators, made for those who wrote the program.
_DUMP: Final = either(
    r"\[type=\w+, input_value=",
    r"errors\.pydantic\.dev",
    r"validation errors? for \w+",
    r"\"code\":\s*\"(?:invalid_type|too_small|too_big|invalid_value|invalid_string|unrecognized_keys|custom)\"",
    r"cannot unmarshal",
    r"Go struct field",
    r"Failed validating '\w+' in schema",
    r"expected \w+, received \w+",
    r"ZodError",
    r"missing field `",
    r"loc=\(",
    r"ctx=\{",
)
_TRACE: Final = either(
    r"Traceback \(most recent call last\)",
    r"\n\s*File \"[^\"\n]{1,300}\", line \d+",
    r"\n\s{2,8}at (?:async )?[\w$.<>\[\] ]{0,120}\(?[^\s()]{1,200}:\d+(?::\d+)?\)?",
    r"\n\s*at [\w$.]+\([\w$]+\.java:\d+\)",
    r"\n\s*at [\w.]+\([^)\n]{0,200}\) in [^\n]{1,200}:line \d+",
    r"\n\tat [\w$.]+[^\n]{0,200}\(",
    r"goroutine \d+ \[",
    r"panicked at",
    r"stack (?:backtrace|traceback):",
    # PHP, Ruby, Perl, Elixir
    r"\n#\d{1,4} (?:\{main\}|\S{1,300}\(\d{1,7}\): )",
    r"\S:\d{1,7}:in [`'][^'\n]{1,200}'",
    r"\n\s{1,8}[^\n]{1,300} called at \S{1,300} line \d",
    r"\n\s{2,8}(?:\([^()\n]{1,80}\) )?[^\s:]{1,300}\.(?:exs?|erl):\d{1,7}: ",
)
_INTERNALS: Final = either(
    r"site-packages",
    r"node_modules/",
    r"/usr/(?:local/)?lib/python",
    r"\.(?:py|js|mjs|ts|go|rs|rb|java|cs)(?::|\", line |, line )\d+",
    r"'\w+' object (?:has no attribute|is not (?:callable|subscriptable|iterable))",
    r"NoneType",
    r"object is not subscriptable",
    r"Cannot (?:read|set) propert(?:y|ies) (?:of|'\w+' of) (?:undefined|null)",
    r"Cannot destructure property",
    r"is not a function\b",
    r"undefined is not",
    r"(?:list|tuple|string) index out of range",
    r"unhashable type",
    r"takes \d+ positional argument",
    r"missing \d+ required (?:positional|keyword)",
    r"got an unexpected keyword argument",
    r"must be str, not",
    r"unsupported operand type",
    r"not supported between instances of",
    r"can only concatenate str",
    r"\[object Object\]",
    r"<[\w.]+ object at 0x[0-9a-f]+>",
    r"sqlalche\.me",
    r"\(psycopg",
    r"sqlite3\.\w*Error",
    r"java\.lang\.",
    r"System\.\w+Exception",
    r"HTTPS?ConnectionPool\(",
    r"Caused by \w+\(",
    r"\w+Error\('",
    r"\bKeyError: ",
    r"\[Errno -?\d+\]",
    r"nil pointer dereference",
)
_PATHS: Final = pattern(
    r"(?<![\w:/.])/(?:home|Users|root|var|opt|srv|etc|usr|app|workspace)/[\w.@+-]{1,60}(?:/[\w.@+-]{1,80}){0,10}"
    r"|\b[A-Z]:\\[\w.@+ -]{1,60}(?:\\[\w.@+ -]{1,80}){0,10}"
)
_HTML: Final = pattern(r"(?i)<!doctype html|<html[\s>]|<body[\s>]|<head[\s>]")


def is_dump(text: str) -> bool:
    return _DUMP.search(text) is not None


def has_trace(text: str) -> bool:
    return _TRACE.search(text) is not None


def internals(text: str) -> str | None:
    """What a text shows of the program's inside."""
    found = _INTERNALS.search(text)
    return None if found is None else found[0]


def own_paths(text: str, known: str) -> str | None:
    """A path of the machine that the server runs on, and that nobody named."""
    for found in _PATHS.finditer(text):
        if found[0] not in known and found[0].rsplit("/", 1)[0] not in known:
            return found[0]
    return None


def is_page(text: str) -> bool:
    return _HTML.search(text) is not None
