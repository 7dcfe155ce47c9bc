"""The tools that a failure says to call, and whether the server has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from failwell.model import NOUNS, READS, nature_of_name, pattern, singular, words_of

_LONGEST: Final = 4_000
_DEEPEST: Final = 8
# A name as tools have it and prose does not.
_NAME: Final = r"(?P<name>[A-Za-z]\w*(?:[./:-]\w+)*)"
_QUOTE: Final = r"[`'\"\u2018\u201c*]{0,3}"
_ORDER: Final = pattern(
    r"(?i)\b(?:(?P<plain>call|invoke|run|execute|by (?:calling|invoking|running)|did you mean)"
    r"|use|using|try|query|see|consult|with|via|through)"
    rf"(?: the)?(?: (?P<tool>tool))?:?\s{{1,2}}{_QUOTE}(?-i:{_NAME})(?P<after>\(\))?{_QUOTE}"
)
_SINGLE: Final = pattern(
    r"(?i)\b(?:call|invoke|run|use|try) (?:the )?(?:[`'\"](?P<name>[A-Za-z]\w{2,60})[`'\"] tool\b"
    r"|tool [`'\"](?P<other>[A-Za-z]\w{2,60})[`'\"])"
)
_NEGATED: Final = pattern(
    r"(?i)\b(?:not|never|don't|cannot|can't|instead of|rather than|without|unlike|no|fail(?:ed|s)?"
    r"|unable|error|while|when)\b"
)
_SENTENCE: Final = pattern(r"(?<=[.!?;\n])\s+")
# Names that stand for something else: methods of the protocol and of SDKs, files, places.
_METHODS: Final = frozenset(
    {("tools", "list"), ("list", "tools"), ("tools", "call"), ("call", "tool"), ("resources", "list"),
     ("prompts", "list"), ("list", "resources"), ("list", "prompts"), ("resources", "read"),
     ("read", "resource"), ("prompts", "get"), ("get", "prompt")}
)  # fmt: skip
# What an argument, an option or a column ends with: `read_only`, `search_query`, `list_id`.
_FIELDS: Final = frozenset(
    """only by id query mode type kind count limit date time at name number key value text term string filter path url
    level size order option config flag default depth timeout format schema list""".split()
)
_NO_TOOL: Final = pattern(
    r"(?i)^\W{0,3}(?:argument|parameter|param|field|option|flag|column|setting|property|key|attribute|mode|variable|header"
    r"|endpoint|api|command|script|function|method|resource|prompt|role|permission|scope|job|workflow|query|table)s?\b"
)
# Others may have what the agent does not.
_OTHERS: Final = pattern(r"(?i)\b(?:user|operator|administrator|admin|owner|human|developer|host|support|team)\b")
_FILE: Final = pattern(
    r"(?i)\.(?:py|js|mjs|ts|sh|json|ya?ml|toml|md|txt|csv|sql|env|exe|go|rs|com|org|net|io|dev|html?|lock|cfg|ini|db)$"
)
_ARGUMENT: Final = pattern(
    r"(?i)\b(?:argument|parameter) [`'\"](?P<name>[A-Za-z]\w{1,60})[`'\"]"
    r"|[`'\"](?P<other>[A-Za-z]\w{1,60})[`'\"] (?:argument|parameter)\b"
)
_STATED: Final = pattern(
    r"(?i)^(?:next|suggested?|recommended|alternative|alternate|fallback|recovery|helper|related|use|try|call)[_-]?tools?(?:[_-]?names?)?$"
)
_LISTS: Final = pattern(
    r"(?i)^(?:suggested|next|recovery|recommended)?[_-]?(?:actions|steps|calls|tools|alternatives)$"
)

_SEARCHES: Final = frozenset({"find", "search", "lookup"})


class Roster:
    """The tools of a server, all that it lists, by name; and every word that stands in the list."""

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        listed = list(tools)
        self._names = [name for tool in listed if (name := words_of(str(tool.get("name"))))]
        self._known = set(self._names)
        self._words = {singular(word) for name in self._names for word in name if len(word) > 3}
        text = json.dumps(listed, ensure_ascii=False, default=str)
        self._said = {found.lower() for found in re.findall(r"\w+(?:[./:-]\w+)*", text)}

    def __bool__(self) -> bool:
        return bool(self._names)

    def names_other(self, text: str, tool: str | None) -> bool:
        """Whether a text names a tool that there is and was not called, by a name that is no word of prose."""
        own = words_of(tool or "")
        return any(
            words != own and len(words) > 1 and words in self._known
            for words in map(words_of, re.findall(r"[A-Za-z]\w*(?:[./:-]\w+)*", text[:_LONGEST]))
        )

    def cut(self, text: str) -> str | None:
        """The name of a tool that a text breaks off in."""
        end = re.search(r"(\w{4,})(?:\.{3}|\u2026)?$", text.rstrip()[-200:])
        begun = end[1].lower() if end is not None and "_" in end[1] else None
        if begun is None or begun in self._said:
            return None
        return begun if any(known.startswith(begun) for known in self._said) else None

    def has(self, name: str) -> bool:
        """Whether a tool has that name, however it is spelt, with a namespace more or less."""
        words = words_of(name)
        if name.lower() in self._said or words in _METHODS:
            return True
        return any(
            known[-len(words) :] == words or words[-len(known) :] == known or self._is_action(words, known)
            for known in self._names
        )

    def _is_action(self, words: tuple[str, ...], known: tuple[str, ...]) -> bool:
        """Whether a name is that of a tool and of what it is told to do: `projects.list`, where `list` is an option."""
        return words[: len(known)] == known and self._said.issuperset(words[len(known) :])

    def lacks(self, text: str) -> str | None:
        """The first tool that a text says to call and that is not there."""
        return next(
            (name for name, is_plain in advised(text) if self._is_like(name, is_plain) and not self.has(name)), None
        )

    def _is_like(self, name: str, is_plain: bool) -> bool:
        """Whether a name looks like a tool's: a verb and a thing, or after a plain "call" a word that one has."""
        words = words_of(name)
        if len(words) < 2:
            return is_plain
        if name.isupper() or words[-1] in _FIELDS or _FILE.search(name) is not None:
            return False
        if words[0] in READS - NOUNS or words[-1] in _SEARCHES:
            return True
        shared = any(singular(word) in self._words for word in words)
        return is_plain and (shared or nature_of_name(name) is not None)


def advised(text: str) -> Iterator[tuple[str, bool]]:
    """The names that a text says to call, or to use; and whether it is plain that they are called.

    >>> list(advised("There is none. Call find_all to see them. Do not call drop_all.")), list(advised("Try again."))
    ([('find_all', True)], [])
    """
    for sentence in _SENTENCE.split(text[:_LONGEST]):
        for found in _ORDER.finditer(sentence):
            name = found["name"]
            is_joined = re.search(r"\w[_./:-]\w|[a-z][A-Z]", name) is not None
            if is_joined and not _is_denied(sentence, found) and _is_whole(sentence[found.end() :]):
                yield name, bool(found["plain"] or found["tool"] or found["after"])
        for found in _SINGLE.finditer(sentence):
            if not _is_denied(sentence, found):
                yield found["name"] or found["other"], True


def _is_denied(sentence: str, found: re.Match[str]) -> bool:
    before = sentence[: found.start()]
    return _NEGATED.search(before) is not None or _OTHERS.search(before) is not None


def _is_whole(rest: str) -> bool:
    """Whether a name ends where it was found to: no part of a path, given no value, not called a field."""
    return re.match(r"\s?[=\\@/<>$]|:\S|\s?:\s?[\[{\"']", rest) is None and _NO_TOOL.match(rest) is None


def arguments_named(text: str) -> Iterator[tuple[str, str]]:
    """What a text calls an argument, with the sentence that does."""
    for sentence in _SENTENCE.split(text[:_LONGEST]):
        for found in _ARGUMENT.finditer(sentence):
            yield found["name"] or found["other"], sentence


def stated(value: object, depth: int = 0) -> Iterator[str]:
    """The tools that the fields of an object say to call.

    >>> list(stated({"error": {"next_tool": "find", "tool": "get"}, "actions": [{"tool": "list"}]}))
    ['find', 'list']
    """
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, part in value.items():
            if isinstance(key, str) and _STATED.match(key):
                yield from _names(part)
            elif isinstance(key, str) and _LISTS.match(key) and isinstance(part, list):
                yield from (each["tool"] for each in part if isinstance(each, Mapping) and _is_name(each.get("tool")))
            else:
                yield from stated(part, depth + 1)
    elif isinstance(value, list):
        for part in value[:50]:
            yield from stated(part, depth + 1)


def _names(part: object) -> Iterator[str]:
    for each in part if isinstance(part, list) else (part,):
        name = each.get("name", each.get("tool")) if isinstance(each, Mapping) else each
        if _is_name(name):
            yield str(name)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w./:-]{1,127}", value) is not None
