"""Which read call tells whether a call took effect, found in what the server lists.

The proposal is made by whoever follows our words, so a wrong one does harm: it might be a second write, or a statement
sent a second time. Where anything is in doubt, nothing is proposed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import translate
from itertools import islice
from operator import is_
from typing import Any, Final, NamedTuple

from failwell.model import (
    LONGEST,
    READS,
    SEARCHES,
    Action,
    ToolName,
    Traits,
    acts,
    forms,
    is_done_to,
    is_named_read,
    parsed,
    pattern,
    words_of,
)
from failwell.schema import fits, properties_of

__all__ = ["Checks", "find_check", "is_named_read"]

_MOST_TOOLS: Final = 20_000
_MOST_ARGUMENTS: Final = 100
_MOST_KEPT: Final = 1_000

# Names, addresses and paths. No white space and no sign that a shell, a database or a pattern reads as its own.
_IDENTIFIER: Final = pattern(r"(?!-\D)[\w.@:/+#=~\\-]{1,128}")
_WIDEST_INTEGER: Final = 64
_SEPARATORS: Final = "_./:-"

_UNIQUE: Final = frozenset("id uuid guid iid key number slug sha".split())
"""What an argument may be called alone and mean the thing that the tool is about: `id` is the invoice's."""

_IDENTIFIES_ALONE: Final = _UNIQUE | {"name", "ref", "identifier"}

_IDENTIFIES: Final = _UNIQUE | frozenset(
    """
    name ref identifier num hash arn urn isbn sku iban symbol ticker ts email phone handle username login path file
    filename filepath folder dir directory owner repo repository org organization organisation project workspace
    namespace cluster database db table collection bucket account tenant customer user team channel branch domain
    item product order invoice ticket issue
    """.split()
)
"""The last word of an argument that names something."""

_FREE: Final = frozenset(
    """
    query queries sql statement command cmd code script text body message content contents prompt expression expr
    filter filters q url uri href link input data payload params args options json xml html template regex pattern
    glob selector xpath jql cql where condition description comment note notes subject title summary reason value
    question search term keyword keywords source program function formula token password secret pin amount
    """.split()
)
"""Last words of arguments that take free text, a statement or a secret: never passed on, whatever the tool is about."""

# After these words an identifier's name means something else: a secret, a count, a language of its own.
_SPOILT_BY: Final[Mapping[str, frozenset[str]]] = {
    "key": frozenset("api secret private access auth idempotency encryption license sort".split()),
    "number": frozenset("page line row column max min total retry card credit security".split()),
    "name": frozenset({"display", "full", "first", "last", "new"}),
    "path": frozenset({"json", "jq", "new"}),
    "hash": frozenset({"password"}),
    "id": frozenset("session request correlation trace new token secret auth access refresh".split()),
}

# What makes a thing of a verb: payment, booking, transaction. The `e` of the verb is off already.
_NOMINAL: Final = frozenset({"", "e", "ment", "ing", "ion", "ation", "al"})

_SAID_OF_THINGS: Final = frozenset(
    """
    id ids status state details detail info information data metadata history record entry summary list name number
    title content contents version context stats settings config configuration
    """.split()
)
"""What may be said of anything behind its name, in the name of a tool that only looks."""

_PUTS: Final = frozenset("add append prepend insert put push attach detach invite enroll remove grant revoke".split())
"""Verbs that put one thing to another, or take it away: it is there before and after, whatever came of the call. What
is assigned or moved says itself to whom."""

_ASSIGNS: Final = frozenset({"assign", "unassign"})
_HAD_BY_MANY: Final = frozenset(
    "role permission policy license licence label tag group plan badge scope privilege entitlement shift seat".split()
)
"""What many have at once, and does not say who: to assign a role puts it to a user, while an issue says whose it is."""

_UNSEEN: Final = frozenset(
    """increment incr decrement decr bump increase decrease resend retry rerun replay reprocess redeliver ping poke
    nudge remind notify""".split()
)
"""Verbs whose effect nobody sees in the thing: a counter of 6 may have been 5 or 6 before, and an email that was sent
once looks like one that was sent twice."""

_HOLDERS: Final = frozenset("account customer user wallet card client member person payer payee recipient bank".split())
"""Who has many of what a bare verb makes: an account looks the same before and after a payment, but for a number that
nobody remembers."""

_BELONGS: Final = frozenset("by of for from in per".split())
_HANDED_ON: Final = frozenset("to into onto as with at on off out up down via through over".split())

# Whether a call fits them cannot be told by looking at one argument.
_WHOLE_RULES: Final = frozenset(
    """anyOf oneOf allOf not if $ref $dynamicRef dependentRequired dependentSchemas dependencies minProperties
    patternProperties propertyNames""".split()
)


@dataclass(frozen=True, slots=True)
class _FailedCall:
    """The call that failed: what its tool is about, and what of its arguments identifies something."""

    tool: str
    name: ToolName
    arguments: Mapping[str, str | int]
    asked: Mapping[str, Any]
    """The properties in the schema of its own tool: what the arguments hold has been held against these."""


def find_check(
    tool: str, arguments: Mapping[str, Any], tools: Iterable[Any], *, trusted: bool = True, reads: Sequence[str] = ()
) -> Action | None:
    """A tool of the server that only reads, is about the same thing, and can be called with what identifies it.

    tools: as MCP lists them, objects of an SDK or JSON. trusted: whether their word on being read-only counts.
    reads: patterns (`get_*`) for the names of tools that the user says only read.

    >>> listed = [{"name": "get_order", "inputSchema": {"properties": {"id": {}}, "required": ["id"]}}]
    >>> find_check("cancel_order", {"id": 7, "reason": "late"}, listed)
    Action(tool='get_order', description=None, arguments={'id': 7})
    """
    return Checks(trusted=trusted, reads=reads).find(tool, arguments, tools)


class Checks:
    """The same for all the calls of one server: what its tools are is found out once, as long as they stay the same."""

    def __init__(self, *, trusted: bool = True, reads: Sequence[str] = ()) -> None:
        self._trusted = trusted
        self._said = _said(reads)
        self._known = _Reads([], trusted, self._said)

    def find(self, tool: str, arguments: Mapping[str, Any], tools: Iterable[Any]) -> Action | None:
        """The call that tells of this one, among these tools."""
        if not isinstance(tool, str) or not 0 < len(tool) <= LONGEST:
            return None
        found, known = _some(tools), self._known
        if len(found) != len(known.tools) or not all(map(is_, found, known.tools)):
            known = self._known = _Reads(found, self._trusted, self._said)
        return known.find(tool, arguments)


class _Reads:
    """The tools of a server, and which of them tell of another one: that depends on what they are called, and on
    nothing that is sent."""

    def __init__(self, tools: list[Any], trusted: bool, said: re.Pattern[str] | None) -> None:
        self.tools = tools
        self._trusted, self._said = trusted, said
        self._listed = list(_listed(tools))
        self._likely: dict[tuple[str, str, frozenset[str]], list[_Likely]] = {}
        self._prefixes: dict[str, str] = {}

    def find(self, tool: str, arguments: Mapping[str, Any]) -> Action | None:
        # What is put before every name says nothing of the tool: `bank_pay`, `bank_get_payment`.
        for prefix in dict.fromkeys(("", self._prefix(tool))):
            call = _call(tool, arguments, self._listed, prefix)
            if call.name.head is not None and (found := self._found(call, prefix)):
                return found[min(found)]
        return None

    def _prefix(self, tool: str) -> str:
        known = self._prefixes.get(tool)
        if known is None:
            if len(self._prefixes) >= _MOST_KEPT:
                self._prefixes.clear()
            known = self._prefixes[tool] = _shared_prefix([tool, *(each.traits.name or "" for each in self._listed)])
        return known

    def _found(self, call: _FailedCall, prefix: str) -> dict[tuple[Any, ...], Action]:
        """The calls that would tell, by how good they are."""
        found: dict[tuple[Any, ...], Action] = {}
        for name, read, schema in self._likely_of(call, prefix):
            try:
                sent = _arguments(read, schema, call)
            except Exception:
                # A listing that breaks whoever looks at it is not to be proposed to anybody.
                continue
            if sent is not None:
                found[_rank(read, call.name, sent, name)] = Action(name, arguments=sent or None)
        return found

    def _likely_of(self, call: _FailedCall, prefix: str) -> list[_Likely]:
        """The tools that only read, and are about the same thing as a call."""
        key = (call.tool, prefix, frozenset(call.arguments))
        known = self._likely.get(key)
        if known is None:
            if len(self._likely) >= _MOST_KEPT:
                self._likely.clear()
            known = self._likely[key] = list(self._look_for(call, prefix))
        return known

    def _look_for(self, call: _FailedCall, prefix: str) -> Iterator[_Likely]:
        # Which of two tools by one name would be called, nobody knows.
        times = Counter(each.traits.name for each in self._listed)
        for traits, schema, description in self._listed:
            name = traits.name or ""
            short = name.removeprefix(prefix)
            read = parsed(short)
            if times[name] > 1 or not _is_about(read, call) or _is_near(read, call.name):
                continue
            is_plain = _is_plainly_named(traits, short, call) and not _is_said_to_act(description)
            if not acts(parsed(name)) and (_is_said_to_read(traits, self._trusted, self._said) or is_plain):
                yield _Likely(name, read, schema)


class _Listed(NamedTuple):
    """A tool, as far as it matters here."""

    traits: Traits
    schema: Any
    description: object


class _Likely(NamedTuple):
    """A tool that may tell."""

    name: str
    read: ToolName
    schema: Any


def _shared_prefix(names: Sequence[str]) -> str:
    """What stands before all the names, up to where a word ends."""
    first, last = min(names), max(names)
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: max(first.rfind(sign, 0, same) for sign in _SEPARATORS) + 1]


def _some(tools: Iterable[Any]) -> list[Any]:
    """As many tools as are looked at, of a list that may break whoever walks through it."""
    found: list[Any] = []
    with suppress(Exception):
        found.extend(islice(tools, _MOST_TOOLS))
    return found


def _listed(tools: Iterable[Any]) -> Iterator[_Listed]:
    """Each tool with its traits, the schema of its arguments and its description; what cannot be read is left out."""
    for tool in tools:
        try:
            traits = Traits.of(tool)
            if isinstance(tool, Mapping):
                schema = tool.get("inputSchema", tool.get("input_schema"))
            else:
                # Where the one is, the SDKs warn about the other.
                name = "input_schema" if hasattr(tool, "input_schema") else "inputSchema"
                schema = getattr(tool, name, None)
            told = tool.get("description") if isinstance(tool, Mapping) else getattr(tool, "description", None)
        except Exception:
            continue
        if type(traits.name) is str and 0 < len(traits.name) <= LONGEST:
            yield _Listed(traits, schema, told)


def _call(tool: str, arguments: Mapping[str, Any], listed: Iterable[_Listed], prefix: str) -> _FailedCall:
    own = next((schema for traits, schema, _ in listed if traits.name == tool), None)
    try:
        given = list(islice(arguments.items(), _MOST_ARGUMENTS))
        asked = properties_of(own)
    except Exception:
        given, asked = [], {}
    taken = {name: value for name, value in given if type(name) is str and _is_identifier(value)}
    return _FailedCall(tool, parsed(tool.removeprefix(prefix)), taken, asked)


def _said(reads: Sequence[str]) -> re.Pattern[str] | None:
    """One expression for all the patterns of the user."""
    globs = [reads] if isinstance(reads, str) else [glob for glob in reads if isinstance(glob, str)]
    return re.compile("|".join(map(translate, globs))) if globs else None


def _is_said_to_read(tool: Traits, trusted: bool, said: re.Pattern[str] | None) -> bool:
    if tool.read_only is False or tool.destructive is True:
        return False
    return (trusted and tool.read_only is True) or (said is not None and bool(said.match(tool.name or "")))


def _is_said_to_act(description: object) -> bool:
    """Whether a description says, where a sentence has its verbs, that the tool changes something: "Deletes the invoice
    and returns it." is no word of a tool that only looks, whatever its name."""
    if not isinstance(description, str):
        return False
    verbs = [verb.lower() for verb in _VERBS.findall(description[:1000])]
    return any(acts(parsed(f"{stem}_it")) for verb in verbs for stem in (verb, verb[:-1], verb[:-2], f"{verb[:-3]}e"))


_VERBS: Final = pattern(r"(?:^\s*|[.;,]\s+|\b(?:and|or|then|by)\s+)([A-Za-z]{3,20})\b")


def _is_plainly_named(tool: Traits, name: str, call: _FailedCall) -> bool:
    """Whether a tool of which nobody says that it reads has a name that leaves nothing open.

    Which words are verbs nobody can list, so none may stand where one could: behind the thing (`get_invoice_printed`)
    there is only what is said of any thing, or what the failed call names too, before it nothing that was done to it
    (`get_paid_invoice`), and nothing is handed on (`show_invoice_to_customer`).
    """
    if tool.read_only is False or tool.destructive is True or not is_named_read(name):
        return False
    read = parsed(name)
    words = read.own[1:]
    if not _HANDED_ON.isdisjoint(words) or any(map(is_done_to, words)):
        return False
    at = words.index(read.head) if read.head in words else -1
    behind = words[at + 1 :]
    known = _SAID_OF_THINGS.union(call.name.words, *map(words_of, call.arguments))
    of = next((at for at, word in enumerate(behind) if word in _BELONGS), len(behind))
    return all(word.isdigit() or not forms(word).isdisjoint(known) for word in behind[:of])


def _is_nominal(word: str, call: _FailedCall) -> bool:
    """Whether it is the thing that the call's verb makes: the payment of `pay`."""
    stem = (call.name.verb or "").removesuffix("e")
    return bool(stem) and any(form.startswith(stem) and form[len(stem) :] in _NOMINAL for form in forms(word))


def _is_near(read: ToolName, write: ToolName) -> bool:
    """Whether a name is the write's own, longer, shorter, or behind a reading verb: `get_pay_invoice`.

    A single word may stand behind the verb: `get_refund` tells of `refund`.
    """
    for one, other in ((write.words, read.words), (write.own, read.own)):
        write_letters, read_letters = "".join(one), "".join(other)
        if read_letters.startswith(write_letters) or write_letters.startswith(read_letters):
            return True
        if len(one) > 1 and write_letters in read_letters:
            return True
    return False


def _is_about(read: ToolName, call: _FailedCall) -> bool:
    """Whether what the one is about first of all is what the other is about first of all."""
    write = call.name
    if read.head is None or write.head is None or not _UNSEEN.isdisjoint({write.verb, *write.own[:1]}):
        return False
    if not forms(read.head).isdisjoint(forms(write.head)):
        return True
    if write.head != write.verb:
        return False
    # `pay` is about payments, `book` about bookings.
    if _is_nominal(read.head, call):
        return True
    # A bare verb is about what it is given: `pay` with an `invoice`, or an `invoice_id`.
    return forms(read.head).isdisjoint(_HOLDERS) and any(
        words[0] in forms(read.head) and len(words) <= 2 for words in map(words_of, call.arguments) if words
    )


def _rank(read: ToolName, write: ToolName, sent: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """The smallest is the best; the name last, so that the order of the list decides nothing."""
    known = frozenset[str]().union(*map(forms, write.things))
    shared = sum(not forms(thing).isdisjoint(known) for thing in read.things)
    verb = READS.index(read.verb) if read.verb in READS else len(READS)
    return -shared, len(read.things) - shared, -len(sent), verb, len(name), name


def _arguments(read: ToolName, schema: Any, call: _FailedCall) -> dict[str, str | int] | None:
    """What of the call's identifiers a tool takes, or None where that is not enough to call it."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object" or _WHOLE_RULES.intersection(schema):
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list) or len(required) > _MOST_ARGUMENTS:
        return None
    sent: dict[str, str | int] = {}
    sources: set[str] = set()
    for name in {**dict.fromkeys(required), **dict.fromkeys(islice(properties, _MOST_ARGUMENTS))}:
        source = _source(name, read, call) if type(name) is str and len(name) <= LONGEST else None
        if source is not None and fits(
            call.arguments[source], properties.get(name, True), schema, call.asked.get(source)
        ):
            sent[name] = call.arguments[source]
            sources.add(source)
        elif name in required:
            return None
    # To search for nothing, or to ask for one of many without saying which, tells nothing.
    is_vague = not sent and (read.verb in SEARCHES or (bool(properties) and not read.is_of_many))
    return None if is_vague or _is_one_sided(read, call, sources) else sent


def _is_one_sided(read: ToolName, call: _FailedCall, sources: set[str]) -> bool:
    """Whether it looks at one of two things that the call puts together: the item is there without the cart, too."""
    own = forms(read.head or "")
    if read.is_of_many or call.name.verb not in _PUTS | _ASSIGNS:
        return False
    if call.name.verb in _ASSIGNS:
        others = map(words_of, call.arguments.keys() - sources)
        return not own.isdisjoint(_HAD_BY_MANY) and any(own.isdisjoint(words) for words in others)
    return any(
        words[-1] in _UNIQUE and words[-2] not in own
        for words in map(words_of, call.arguments.keys() - sources)
        if len(words) > 1
    )


def _source(name: str, read: ToolName, call: _FailedCall) -> str | None:
    """Which argument of the call an argument of the other tool stands for."""
    words = words_of(name)
    if not words or not _names_something(words, read):
        return None
    # Alone it is the identifier of the very thing; in a list it is that of whatever the things belong to.
    if len(words) == 1 and words[0] in _IDENTIFIES_ALONE and read.is_of_many:
        return None
    if name in call.arguments:
        return name
    return next((given for given in call.arguments if _means(words_of(given), words, read, call.name)), None)


def _means(given: tuple[str, ...], wanted: tuple[str, ...], read: ToolName, write: ToolName) -> bool:
    """Whether one argument is another by a different name: `invoiceId`, and `id` where all is about invoices."""
    if given == wanted:
        return True
    short, long = sorted((given, wanted), key=len)
    return (
        len(short) == 1
        and len(long) == 2
        and short[0] in _UNIQUE
        and long[1] == short[0]
        and all(not forms(head or "").isdisjoint({long[0]}) for head in (read.head, write.head))
    )


def _names_something(words: tuple[str, ...], read: ToolName) -> bool:
    """Whether an argument of that name holds an identifier, or is the thing itself: `invoice` of `get_invoice`."""
    *before, last = words
    if last in _FREE or _SPOILT_BY.get(last, frozenset()).intersection(before):
        return False
    return last in _IDENTIFIES or (not before and last in forms(read.head or ""))


def _is_identifier(value: object) -> bool:
    if type(value) is int:
        return value.bit_length() < _WIDEST_INTEGER
    return type(value) is str and _IDENTIFIER.fullmatch(value) is not None
