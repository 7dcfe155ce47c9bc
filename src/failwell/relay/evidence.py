"""Whether a failure that stands in a success is the tool's own.

A tool that hands over somebody's text (a file, a log, a message, what a search found) proves nothing by that text. So
either the tool is one that does something, or the text speaks of this very call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from failwell.model import Nature, Traits

# What frameworks and clients write before what a tool raised.
_FRAMEWORKS: Final = re.compile(
    r"\s*(?:error (?:executing|calling|running) (?:the )?tool|mcp error -\d|input validation error|unknown tool)\b",
    re.IGNORECASE,
)
_DOING: Final = frozenset(
    """
    add append approve archive assign book buy cancel charge close commit copy create delete deploy disable drop edit
    enable insert install invite merge modify move order pay post publish purchase push put refund register reject
    remove rename reply reserve restore save schedule send set share start stop submit transfer update upload write
    """.split()
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# What stands under these may come back in what was found.
_SOUGHT: Final = re.compile(
    r"(?i)quer|^q$|search|pattern|regex|text|content|message|prompt|sql|keyword|term|filter|body"
)
SUSPECT: Final = (
    r'(?<!"is)error|fail|denied|exception|not found|forbidden|unauthor|timed out|timeout|refused|unavailable|invalid'
    r'|status|"success"'
)
"""Without one of these words, no success is a failure."""
_SUSPECT: Final = re.compile(SUSPECT, re.IGNORECASE)
_LONGEST: Final = 600
_MOST_LINES: Final = 4
_SHORTEST: Final = 4


def is_own_failure(traits: Traits, arguments: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a result that looks like a failure is one of the tool that sent it."""
    content = result.get("content")
    if not isinstance(content, list) or len(content) != 1 or not isinstance(content[0], Mapping):
        return False
    text = content[0].get("text")
    if not isinstance(text, str) or len(text) > _LONGEST or not _is_one_statement(text.strip()):
        return False
    if not _SUSPECT.search(_unsent(text, arguments)):
        # A note that is saved, a status that is set: it says what the caller said.
        return False
    return _FRAMEWORKS.match(text) is not None or _does_something(traits) or _speaks_of_this_call(text, arguments)


def _is_one_statement(text: str) -> bool:
    """Whether a text is short enough to say one thing. How many lines an object takes is a matter of taste."""
    return text.count("\n") < _MOST_LINES or (text[:1] == "{" and _is_json(text))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _unsent(text: str, arguments: Mapping[str, Any]) -> str:
    """What is left of a text without what the caller sent, as it was sent or as JSON writes it."""
    for sent in sorted(_texts(arguments), key=len, reverse=True):
        for form in (sent, sent.strip(), json.dumps(sent)[1:-1], json.dumps(sent, ensure_ascii=False)[1:-1]):
            if len(form) >= _SHORTEST and form in text:
                text = text.replace(form, " ")
    return text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _does_something(traits: Traits) -> bool:
    if traits.nature in (Nature.WRITE, Nature.IDEMPOTENT):
        return True
    words = {word.lower() for word in _WORD.findall(traits.name or "")}
    return traits.nature is Nature.UNMARKED and not words.isdisjoint(_DOING)


def _speaks_of_this_call(text: str, arguments: Mapping[str, Any]) -> bool:
    # Of several things one may have worked, and another not.
    named = {
        name: value[0] if isinstance(value, list) and len(value) == 1 else value for name, value in arguments.items()
    }
    return any(
        isinstance(value, str) and len(value) >= _SHORTEST and " " not in value and value in text
        for name, value in named.items()
        if not _SOUGHT.search(name)
    )
