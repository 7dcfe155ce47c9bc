"""Which read call tells whether a call took effect, found in what the server lists.

Closed rules, best first. A wrong proposal does harm, so where a rule is in doubt nothing is proposed.

1. A getter of the same thing whose required arguments the call fills: `pay_invoice` and `invoices.get`.
2. A getter that wants the thing the call was about, or its history: `rent_bike(bike_id)` and `get_rental(bike_id)`.
3. A list of the same things; then a getter of what something was put into, a search, and a read of everything.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import translate
from itertools import islice, takewhile
from operator import is_
from typing import Any, Final, NamedTuple

from failwell.model import LONGEST, NOUNS, READS, WRITES, Action, Traits, nature_of_name, pattern, singular, words_of
from failwell.schema import fits, properties_of

_MOST: Final = 20_000
_MOST_KEPT: Final = 1_000
_MOST_ARGUMENTS: Final = 100

# Names, addresses and paths: no white space, and no sign that a shell, a database or a pattern reads as its own.
_IDENTIFIER: Final = pattern(r"(?!-\D)[\w.@:/+#=~\\-]{1,128}")
_SEARCHED: Final = pattern(r"(?!-)[\w.@:/+#=~ -]{1,100}")
_IDS: Final = frozenset("id uuid guid key number slug sha name".split())
_SURE_IDS: Final = frozenset({"id", "uuid", "guid"})
# Never passed on: a statement would be executed a second time.
_FREE: Final = frozenset(
    "query sql statement command cmd code script text body message content prompt password token secret".split()
)
_QUERIES: Final = frozenset({"query", "q", "search", "term", "text", "keyword"})
_TITLES: Final = frozenset({"name", "title", "subject"})
_SMALL: Final = frozenset("a an the all my and or then by id".split())
_PREPOSITIONS: Final = frozenset("to from in into on for of with at by".split())
# Said of a thing, and no thing itself: `get_order_status` is about orders.
_SAID: Final = (NOUNS & READS) | {"state", "content", "data", "metadata", "text", "body"}
_LOGS: Final = frozenset({"log", "history"})
_SEARCHES: Final = frozenset({"search", "find", "lookup"})
_WHOLES: Final = frozenset({"graph", "everything"})
_BEST_VERBS: Final = ("get", "retrieve", "fetch", "read", "describe", "show", "view", "list")
_GIVES: Final = frozenset("assign unassign grant revoke".split())
_PUTS: Final = _GIVES | frozenset("add append insert put attach detach remove invite".split())
_HANDS_ON: Final = frozenset({"to", "into", "onto"})
# A counter of 6 may have been 5 or 6 before, and an email that was sent once looks like one that was sent twice.
_UNSEEN: Final = frozenset("increment incr decrement decr bump resend retry rerun replay ping notify remind".split())
# What a verb makes: payment, booking, rental.
_MAKES: Final = ("", "e", "ment", "ing", "ion", "ation", "al")


class _Name(NamedTuple):
    """A tool's name taken apart, without what all names begin with."""

    space: str
    words: tuple[str, ...]
    verb: str | None
    nouns: frozenset[str]
    head: str | None
    """The noun that it is about first of all: the comment in `add_comment_to_issue`."""
    holder: str | None
    """What something is put into: the issue there."""
    many: bool


class _Tool(NamedTuple):
    name: str
    parts: _Name
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Call:
    parts: _Name
    arguments: Mapping[str, Any]
    schema: Mapping[str, Any]
    """That of its own tool: the arguments have passed it."""


class Checks:
    """Finds a call of a tool that only reads and that tells whether a call was done. One for all calls of one server:
    its tools are read once, as long as they stay the same.

    trusted: whether the `readOnlyHint` of tools counts. reads: patterns (`get_*`) for the names of tools that only
    read, by the user's word.

    >>> listed = [{"name": "get_order", "inputSchema": {"properties": {"id": {}}, "required": ["id"]}}]
    >>> Checks().find("cancel_order", {"id": 7, "reason": "late"}, listed)
    Action(tool='get_order', description=None, arguments={'id': 7})
    """

    def __init__(self, *, trusted: bool = True, reads: Sequence[str] = ()) -> None:
        globs = [reads] if isinstance(reads, str) else [glob for glob in reads if isinstance(glob, str)]
        self._said = re.compile("|".join(map(translate, globs))) if globs else None
        self._trusted = trusted
        self._seen: list[Any] = []
        self._listed: list[tuple[Traits, Mapping[str, Any]]] = []
        self._known: dict[str, tuple[_Name, list[_Tool]]] = {}

    def find(self, tool: str, arguments: Mapping[str, Any], tools: Iterable[Any]) -> Action | None:
        """The call that tells of this one, among these tools: as MCP lists them, objects of an SDK or JSON."""
        if not isinstance(tool, str) or not 0 < len(tool) <= LONGEST:
            return None
        found: list[Any] = []
        with suppress(Exception):
            found.extend(islice(tools, _MOST))
        if len(found) != len(self._seen) or not all(map(is_, found, self._seen)):
            self._seen, self._listed = found, list(_listed(found))
            self._known.clear()
        try:
            return self._best(tool, arguments)
        except Exception:
            # A listing or a call that breaks whoever looks at it.
            return None

    def _best(self, tool: str, arguments: Mapping[str, Any]) -> Action | None:
        parts, reads = self._reads_for(tool)
        if not _UNSEEN.isdisjoint(parts.words) or not reads:
            return None
        own = next((schema for traits, schema in self._listed if traits.name == tool), {})
        call = _Call(parts, dict(_flat(arguments)), own)
        ranked = []
        for read in reads:
            with suppress(Exception):
                if (found := _proposal(read, call)) is not None:
                    ranked.append((found[0], read.name, found[1]))
        ranked.sort(key=lambda each: each[:2])
        if not ranked:
            return None
        # Of two getters that only share an argument with the call, nobody knows which one tells.
        if len(ranked) > 1 and ranked[0][0][:2] == ranked[1][0][:2] == (1, 1):
            ranked = [each for each in ranked if each[0][0] > 1]
        return Action(ranked[0][1], arguments=ranked[0][2] or None) if ranked else None

    def _reads_for(self, tool: str) -> tuple[_Name, list[_Tool]]:
        """The name of a tool taken apart, and the tools that may be proposed for it."""
        if (known := self._known.get(tool)) is not None:
            return known
        # Which of two tools by one name would be called, nobody knows.
        times = Counter(traits.name for traits, _ in self._listed)
        prefix = _prefix([tool, *(name for name in times if name)])
        parts = _taken_apart(tool, prefix)
        found = []
        for traits, schema in self._listed:
            name = traits.name or ""
            if name != tool and times[name] == 1 and self._only_reads(traits):
                read = _taken_apart(name, prefix, reads=True)
                if read.space == parts.space and not _is_near(read, parts):
                    found.append(_Tool(name, read, schema))
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[tool] = parts, found
        return parts, found

    def _only_reads(self, tool: Traits) -> bool:
        """Whether a tool is said to read, and nothing says otherwise: no annotation, and no verb in its name."""
        name = tool.name or ""
        words = words_of(name)
        if tool.read_only is False or tool.destructive is True or not (WRITES - NOUNS).isdisjoint(words):
            return False
        said = self._said is not None and self._said.match(name) is not None
        if said or (self._trusted and tool.read_only is True):
            return True
        # `show_invoice_to_customer` hands it on.
        return nature_of_name(name) == "read" and _HANDS_ON.isdisjoint(words)


def _listed(tools: Iterable[Any]) -> Iterator[tuple[Traits, Mapping[str, Any]]]:
    """Each tool with the schema of its arguments; what cannot be read is left out."""
    for tool in tools:
        with suppress(Exception):
            traits = Traits.of(tool)
            if isinstance(tool, Mapping):
                schema = tool.get("inputSchema", tool.get("input_schema"))
            else:
                # Where the one is, the SDKs warn about the other.
                schema = getattr(tool, "input_schema" if hasattr(tool, "input_schema") else "inputSchema", None)
            if type(traits.name) is str and 0 < len(traits.name) <= LONGEST:
                yield traits, schema if isinstance(schema, Mapping) else {"not": {}}


def _flat(arguments: Mapping[str, Any], parent: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The single values of a call by name, the outermost last, so that they count; `invoice: {id}` is `invoice_id`."""
    given = [(name, value) for name, value in islice(arguments.items(), _MOST_ARGUMENTS) if type(name) is str]
    for name, value in given:
        if isinstance(value, dict) and depth < 2:
            yield from _flat(value, name, depth + 1)
    for name, value in given:
        if type(value) is str or (type(value) is int and value.bit_length() < 64):
            yield (f"{parent}_{name}" if parent and name in _IDS else name), value


def _prefix(names: Sequence[str]) -> tuple[str, ...]:
    """The words that all names begin with, up to a verb: they say nothing of a tool."""
    split = [words_of(name) for name in names]
    same = takewhile(lambda words: len(set(words)) == 1, zip(*split, strict=False))
    prefix = tuple(takewhile(lambda word: word not in READS and word not in WRITES, (words[0] for words in same)))
    return prefix if len(set(names)) > 1 else ()


def _taken_apart(name: str, prefix: tuple[str, ...], *, reads: bool = False) -> _Name:
    words = words_of(name)[len(prefix) :]
    verbs = [word for word in words if word in READS or word in WRITES]
    sure = [word for word in verbs if word not in NOUNS]
    if not sure:
        # `order_pizza` orders, but of a tool that reads `order_state` is about orders.
        verbs = [word for word in verbs if word in READS][-1:] if reads else verbs
    verb = next(iter(sure or verbs), None)
    at = words.index(verb) if verb is not None else -1
    left = [(place, word) for place, word in enumerate(words) if place != at and word not in sure]
    cut = next((place for place, word in left if place > 0 and word in _PREPOSITIONS), len(words))
    found = [(place, singular(word)) for place, word in left if word not in _SMALL | _PREPOSITIONS]
    things = [(place, noun) for place, noun in found if noun.isalpha()]
    before = [each for each in things if each[0] < cut and each[1] not in _SAID]
    after = [each for each in things if each[0] > cut]
    head = before[-1] if before else after[0] if after else things[-1] if things else None
    # Where nothing is named, it is about what all tools are about: `invoices.get`, `git_commit`.
    nouns = frozenset(noun for _, noun in things) or frozenset(map(singular, prefix[-1:]))
    many = verb in ("list", "count") or (head is not None and head[0] > at and words[head[0]] != head[1])
    return _Name(
        name.rpartition("__")[0],
        words,
        verb,
        nouns,
        head[1] if head else next(iter(nouns), None),
        after[0][1] if after and verb in _PUTS else None,
        many,
    )


def _is_near(read: _Name, write: _Name) -> bool:
    """Whether a name holds the write's own, as in `get_book_room`: it may do the same."""
    return len(write.words) > 1 and "".join(write.words) in "".join(read.words)


def _proposal(read: _Tool, call: _Call) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """How good a call of this tool would be, the smallest first, and with which arguments; None where it is no use."""
    its, wrote = read.parts, call.parts
    makes = wrote.verb is not None and any(its.head == wrote.verb.removesuffix("e") + end for end in _MAKES)
    is_same = its.head is not None and its.head == wrote.head
    is_same = is_same and (its.nouns - _SAID <= wrote.nouns or wrote.nouns - _SAID <= its.nouns)
    is_holder = its.head is not None and its.head == wrote.holder
    sent = _arguments(read, call, own_id=is_same or (makes and wrote.head is None))
    if sent is None:
        return None
    is_whole = not properties_of(read.schema) and not _WHOLES.isdisjoint(its.nouns)
    is_log = bool(its.words) and its.words[-1] in _LOGS
    if makes or is_same or is_holder:
        if its.verb in _SEARCHES:
            return _rank(4, read, call, sent) if sent else None
        if its.many or not properties_of(read.schema):
            # `acme_status` says nothing of one call. What a booking is of does not show it: the list of bookings does.
            is_vague = its.verb in _SAID and not its.words[:-1]
            return None if is_vague else _rank(0 if makes and wrote.verb in NOUNS else 2, read, call, sent, made=makes)
        if not sent or (not is_holder and _leaves_out_an_id(read, call, sent)):
            return None
        return _rank(0 if is_same or makes else 3, read, call, sent, made=makes)
    required = [name for name in read.schema.get("required", ()) if name in sent]
    things = {singular(word) for name in required for word in words_of(name)[:-1]}
    if is_log and things and its.nouns - _SAID <= things:
        return _rank(1, read, call, sent, made=True)
    if wrote.head in things and its.nouns.isdisjoint(wrote.nouns) and not its.many:
        return _rank(1, read, call, sent)
    return _rank(5, read, call, sent) if is_whole else None


def _rank(order: int, read: _Tool, call: _Call, sent: Mapping[str, Any], *, made: bool = False) -> tuple[Any, Any]:
    its = read.parts
    # What was made is found in a log; what has changed, in a status.
    is_log, makes = bool(its.words) and its.words[-1] in _LOGS, call.parts.verb in NOUNS
    verb = _BEST_VERBS.index(its.verb) if its.verb in _BEST_VERBS else len(_BEST_VERBS)
    shared = len(its.nouns & call.parts.nouns)
    is_said = its.verb in _SAID
    fits_badly = is_said and is_log != makes
    return (
        order,
        not made,
        its.many,
        -shared,
        len(its.nouns) - shared,
        fits_badly,
        -len(sent),
        verb,
        len(read.name),
    ), sent


def _leaves_out_an_id(read: _Tool, call: _Call, sent: Mapping[str, Any]) -> bool:
    """Whether it looks at one of two things that the call puts together: the item is there without the cart, too."""
    verbs = _PUTS.intersection(call.parts.words)
    others = [words_of(name) for name in call.arguments if name not in sent] if verbs else []
    return (bool(others) and not _GIVES.isdisjoint(verbs)) or any(
        len(words) > 1 and words[-1] in _IDS and singular(words[-2]) != read.parts.head for words in others
    )


def _arguments(read: _Tool, call: _Call, *, own_id: bool) -> dict[str, Any] | None:
    """The arguments for a tool, taken from the call; None where its schema would not take them."""
    schema = read.schema
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list) or len(required) > _MOST_ARGUMENTS:
        return None
    sent = dict[str, Any]()
    for name in dict.fromkeys([*required, *islice(properties, _MOST_ARGUMENTS)]):
        source = _source(name, read, call, own_id, name in required)
        if source is not None and fits(call.arguments[source], properties.get(name, True), schema):
            sent[name] = call.arguments[source]
        elif name in required:
            return None
    # Each argument fits; this is about the rest of the schema.
    return sent if fits(sent, {**schema, "properties": dict.fromkeys(properties, True)}, schema) else None


def _source(name: str, read: _Tool, call: _Call, own_id: bool, is_required: bool) -> str | None:
    """Which argument of the call an argument of the other tool stands for."""
    words, its = words_of(name), read.parts
    if not words:
        return None
    if its.verb in _SEARCHES and words[-1] in _QUERIES:
        return _searched(call)
    if words[-1] in _FREE:
        return None
    # Alone it identifies the thing itself; in a list it is that of whatever the things belong to.
    is_own = len(words) == 1 and words[0] in _IDS
    if is_own and (its.many or not own_id):
        return None
    nouns = its.nouns | call.parts.nouns
    is_id = is_own or words[-1] in _SURE_IDS or (singular(words[-2 if words[-1] in _IDS else -1]) in nouns)
    # What both tools cannot do without says where the thing is.
    if not is_id and not (is_required and name in call.schema.get("required", ()) and words[-1] != "key"):
        return None
    for given, value in call.arguments.items():
        if type(value) is str and _IDENTIFIER.fullmatch(value) is None:
            continue
        if given == name or words_of(given) == words or (own_id and _is_own_id(words_of(given), words, its)):
            return given
    return None


def _is_own_id(given: tuple[str, ...], wanted: tuple[str, ...], read: _Name) -> bool:
    """Whether one is the identifier of the thing, and the other the same with the thing's name: `id`, `invoice_id`."""
    short, long = sorted((given, wanted), key=len)
    return len(short) == 1 and short[0] in _IDS and len(long) == 2 and long == (read.head, short[0]) and not read.many


def _searched(call: _Call) -> str | None:
    """The argument that finds the thing in a search: what it is called."""
    named = [name for name in call.arguments if (words := words_of(name)) and words[-1] in _TITLES]
    own = [name for name in call.arguments if words_of(name) in (("id",), (call.parts.head, "id"))]
    for name in [*own, *named]:
        value = call.arguments[name]
        if type(value) is int or _SEARCHED.fullmatch(value) is not None:
            return name
    return None
