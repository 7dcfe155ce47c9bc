"""Arguments made from a schema: such as it allows, and such as it forbids in one way each.

Written by hand rather than drawn by a generator: a check must send the same calls each time, as few as will do, and
knows of each value in which way it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeGuard

from failwell.model import UNSET, words_of
from failwell.redact import Secrets
from failwell.schema import Checker, Schema, branches_of, properties_of, resolve

from .pattern_text import NotWritten, matching

CANARY: Final = "fw-canary-7f3a9c51d2e84b06"
"""Sent as a secret, so that it is known when it comes back."""
NO_SUCH: Final = "failwell-no-such-thing"
WRONG: Final = "failwell-wrong-type"
_DEEPEST: Final = 6
_LONGEST: Final = 2_000
# Nothing answers there: `.invalid` is reserved for names that do not exist.
_FORMATS: Final = {
    "uri": "https://failwell.invalid/nothing",
    "url": "https://failwell.invalid/nothing",
    "uri-reference": "/failwell/nothing",
    "email": "nobody@failwell.invalid",
    "date": "2001-02-03",
    "date-time": "2001-02-03T04:05:06Z",
    "time": "04:05:06Z",
    "duration": "PT1S",
    "uuid": "00000000-0000-4000-8000-000000000404",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "failwell.invalid",
    "regex": "^nothing$",
    "json-pointer": "/nothing",
}
# A value of each type, and of no other.
_WRONG: Final[tuple[tuple[str, Any], ...]] = (
    ("string", WRONG),
    ("object", {"failwell": "wrong type"}),
    ("array", ["failwell", "wrong type"]),
    ("number", 7.25),
    ("boolean", True),
)


class NoSample(Exception):
    """A schema for which no value is found."""


class Broken(NamedTuple):
    """Arguments that break the schema in one way: which argument, which rule, and what the rule asks for."""

    kind: str
    argument: str
    arguments: dict[str, Any]
    expects: tuple[str, ...] = ()
    """What the schema allows there: options, a limit, a pattern, the name of a format or of a nested argument."""


class ToolSchema:
    """The arguments of one tool, as its schema has them."""

    def __init__(self, schema: object) -> None:
        self.root: Schema = schema if isinstance(schema, Mapping) else {}
        self.properties = {str(name): resolve(node, self.root) for name, node in properties_of(self.root).items()}
        said = self.root.get("required")
        names = said if isinstance(said, list) else []
        self.required = [name for name in names if isinstance(name, str)]
        self.secrets = Secrets.of(self.root)
        self._checker = Checker(self.root)

    @property
    def is_open(self) -> bool:
        """Whether it says that any argument may be given."""
        extra = self.root.get("additionalProperties")
        return extra is True or isinstance(extra, Mapping) or "patternProperties" in self.root

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        return self._checker.fits(arguments)

    def base(self, example: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Arguments that the schema allows; None where none are found."""
        if example is not None:
            return dict(example)
        whole = self.root.get("examples")
        if isinstance(whole, list) and whole and isinstance(whole[0], dict) and self.fits(whole[0]):
            return dict(whole[0])
        try:
            made = {name: self.sample(name) for name in self.required}
        except (NoSample, RecursionError):
            return None
        return made if self.fits(made) else None

    def sample(self, name: str) -> Any:
        node = self.properties.get(name)
        if node is None:
            return NO_SUCH
        if self.secrets.hides((name,)) and "string" in _types(node, self.root):
            return CANARY
        return _sample(node, self.root)

    def options(self, name: str) -> tuple[str, ...]:
        """The values that an argument may have, where they are listed."""
        node = self.properties.get(name, {})
        listed = next((each["enum"] for each in (node, *branches_of(node, self.root)) if "enum" in each), ())
        return tuple(map(str, listed)) if isinstance(listed, list) else ()

    def sample_or(self, name: str, other: Any) -> Any:
        try:
            return self.sample(name)
        except (NoSample, RecursionError):
            return other

    def wrong(self, name: str) -> Any:
        """A value of a type that the argument cannot have; UNSET where it may have any."""
        node = self.properties.get(name)
        if node is None:
            return UNSET
        value = _wrong(node, self.root)
        if value is not UNSET and self.secrets.hides((name,)) and isinstance(value, dict):
            return {"failwell": CANARY}
        return value

    def absent(self, base: Mapping[str, Any]) -> dict[str, Any] | None:
        """Arguments that fit, and name something that cannot be there; None where no argument names anything."""
        changed: dict[str, Any] = {}
        for name, node in self.properties.items():
            if name not in base and name not in self.required and not (changed == {} and is_reference(name)):
                continue
            value = self._other(name, node, base)
            if value is not UNSET:
                changed[name] = value
        return {**base, **changed} if changed else None

    def _other(self, name: str, node: Schema, base: Mapping[str, Any]) -> Any:
        """A value of the same shape that nobody has; UNSET where there is none."""
        if "enum" in node or "const" in node or self.secrets.hides((name,)):
            return UNSET
        known = base.get(name)
        if known is None:
            with suppress(NoSample):
                known = _sample(node, self.root)
        for value in _others(known) if isinstance(known, str) else _numbers(name, known, name in self.required):
            if value != known and self.fits({**base, name: value}):
                return value
        return UNSET

    def broken(self, base: Mapping[str, Any]) -> Iterator[Broken]:
        """Each rule of the schema broken alone, by a value of the right type."""
        for name, node in self.properties.items():
            for kind, value, expects in _breaking(node, self.root):
                arguments = {**base, name: value}
                if kind == "format" or not self.fits(arguments):
                    yield Broken(kind, name, arguments, expects)


def is_reference(name: str) -> bool:
    """Whether an argument's name says that it names one thing."""
    return (
        name.lower().rstrip("s").endswith(("id", "name", "path", "key", "ref", "slug", "url", "uri", "file", "number"))
    )


_MEASURES: Final = frozenset(
    """limit count page offset size amount quantity total days hours minutes seconds years months weeks width height
    depth length max min maximum minimum top n k level percent price cost rate temperature lat lon x y z zoom port
    timeout duration precision scale rows columns steps year month day radius distance weight age speed score a b c
    number value times ms since until start end delay interval iterations""".split()
)
"""Words in the names of arguments that hold a measure, and name nothing: a large one may take for ever."""


def _others(known: str) -> Iterator[str]:
    """Texts of the shape of another one, the least likely to exist first."""
    yield NO_SUCH
    yield f"{NO_SUCH}-either"
    yield re.sub(r"\d+", lambda found: "9" * max(len(found[0]), 6), known)
    yield re.sub(r"\d", "9", known)
    yield re.sub(r"\d", "8", known)
    yield re.sub(r"[0-9a-f]", lambda found: "0" if found[0].isdigit() else "e", known)
    stem, dot, suffix = known.rpartition(".")
    yield f"{stem}-failwell-no-such{dot}{suffix}" if dot else f"{known}-failwell-no-such"
    yield re.sub(r"[a-z]", "q", known)
    yield re.sub(r"[A-Z]", "Q", known)
    yield re.sub(r"[A-Za-z]", "z", known)
    yield f"{known}9"
    yield f"{known}q"


def _numbers(name: str, known: Any, required: bool) -> tuple[int, ...]:
    """A number that names something, such as an id, may be of nothing; any other is only a number."""
    may_name = is_reference(name) or (required and _MEASURES.isdisjoint(words_of(name)))
    named = type(known) is int and may_name
    return (2_000_000_011, 999_999_937, 99_999_989, 999_983, 9_973, 97) if named else ()


def _types(node: Schema, root: Schema, depth: int = 0) -> set[str]:
    """The types a value may have; empty where any will do."""
    said = node.get("type")
    found = {said} if isinstance(said, str) else {each for each in said if isinstance(each, str)} if said else set()
    if found or depth > _DEEPEST:
        return found
    options = [node["const"]] if "const" in node else node.get("enum")
    if isinstance(options, list) and options:
        return {_type_of(option) for option in options}
    parts = [_types(branch, root, depth + 1) for branch in branches_of(node, root)]
    # A branch that allows anything allows any type.
    return set().union(*parts) if parts and all(parts) else set()


def _type_of(value: object) -> str:
    kinds = ((bool, "boolean"), (str, "string"), ((int, float), "number"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def _wrong(node: Schema, root: Schema) -> Any:
    types = _types(node, root)
    if not types:
        return UNSET
    # A string is what most servers make of anything: it is not sent where a number could be read from it.
    for kind, value in _WRONG:
        if kind in types or (kind == "number" and types & {"integer", "number"}):
            continue
        return value
    return UNSET


def _sample(node: Schema, root: Schema, depth: int = 0) -> Any:
    if depth > _DEEPEST:
        raise NoSample
    node = resolve(node, root)
    examples = node.get("examples")
    if isinstance(examples, list) and examples:
        return examples[0]
    for word in ("example", "default", "const"):
        if word in node and node[word] is not None:
            return node[word]
    options = node.get("enum")
    if isinstance(options, list) and options:
        return options[0]
    types = node.get("type")
    kind = next((each for each in types if each != "null"), "null") if isinstance(types, list) else types
    if kind in _SAMPLES:
        return _SAMPLES[kind](node, root, depth)
    for branch in branches_of(node, root):
        if branch.get("type") != "null":
            return _sample(branch, root, depth + 1)
    if "properties" in node:
        return _object(node, root, depth)
    return NO_SUCH


def _string(node: Schema, root: Schema, depth: int) -> str:
    pattern, low, high = node.get("pattern"), node.get("minLength"), node.get("maxLength")
    if isinstance(pattern, str):
        return _matching(pattern)
    text = _FORMATS.get(str(node.get("format")), NO_SUCH)
    if isinstance(low, int) and len(text) < low:
        text = text.ljust(min(low, _LONGEST), "x")
    return text[:high] if isinstance(high, int) else text


def _number(node: Schema, root: Schema, depth: int) -> float:
    low = next((node[word] for word in ("minimum", "exclusiveMinimum") if _is_number(node.get(word))), None)
    high = next((node[word] for word in ("maximum", "exclusiveMaximum") if _is_number(node.get(word))), None)
    value: float = 1
    if low is not None and value <= low:
        value = low + 1 if high is None or low + 1 < high else (low + high) / 2 if node.get("type") == "number" else low
    elif high is not None and value >= high:
        value = high - 1 if low is None or high - 1 > low else high
    step = node.get("multipleOf")
    if _is_number(step) and step > 0:
        value = max(1, -(-value // step)) * step
    return int(value) if node.get("type") == "integer" else value


def _array(node: Schema, root: Schema, depth: int) -> list[Any]:
    least = node.get("minItems")
    items = node.get("items")
    count = min(least, 20) if isinstance(least, int) else 1 if isinstance(items, Mapping) else 0
    return [_sample(items if isinstance(items, Mapping) else {}, root, depth + 1) for _ in range(count)]


def _object(node: Schema, root: Schema, depth: int) -> dict[str, Any]:
    required = node.get("required")
    properties = properties_of(node)
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return {name: _sample(properties.get(name, {}), root, depth + 1) for name in names}


_SAMPLES: Final[dict[Any, Any]] = {
    "string": _string,
    "integer": _number,
    "number": _number,
    "boolean": lambda node, root, depth: False,
    "array": _array,
    "object": _object,
    "null": lambda node, root, depth: None,
}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _matching(pattern: str) -> str:
    """A text that a pattern matches, written from the pattern; it raises `NoSample`."""
    try:
        text = matching(pattern)
    except NotWritten:
        raise NoSample from None
    if not Checker({"pattern": pattern}).fits(text):
        raise NoSample
    return text


def _breaking(node: Schema, root: Schema) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Values of the right type that a schema forbids: the rule, the value, and what an answer may say of it."""
    options = [node["const"]] if "const" in node else node.get("enum")
    types = _types(node, root)
    if isinstance(options, list) and options:
        shown = tuple(str(option) for option in options[:20])
        yield "enum", ("failwell-no-option" if "string" in types else 1_000_003), shown
        return
    for word, step in (("minimum", -1), ("exclusiveMinimum", 0), ("maximum", 1), ("exclusiveMaximum", 0)):
        limit = node.get(word)
        if _is_number(limit) and abs(limit) < 2**52:
            yield "bounds", limit + step, (_plain(limit),)
    least, most = node.get("minLength"), node.get("maxLength")
    if isinstance(least, int) and least > 0:
        yield "length", "x" * (min(least, _LONGEST) - 1), (str(least),)
    if isinstance(most, int) and most < _LONGEST:
        yield "length", "x" * (most + 1), (str(most),)
    if isinstance(pattern := node.get("pattern"), str):
        yield "pattern", "\u00a7 failwell \u00a7", (pattern,)
    named = str(node.get("format"))
    if named in _FORMATS and named not in ("uri-reference", "regex", "hostname", "json-pointer", "duration"):
        yield "format", "not of this format", (named,)
    least, most, items = node.get("minItems"), node.get("maxItems"), node.get("items")
    if isinstance(least, int) and least > 0:
        yield "items", [], (str(least),)
    if isinstance(items, Mapping) and "array" in types:
        inner = resolve(items, root)
        if isinstance(most, int) and most < 1_000:
            with suppress(NoSample):
                yield "items", [_sample(inner, root)] * (most + 1), (str(most),)
        wrong = _wrong(inner, root)
        if wrong is not UNSET:
            yield "nested", [wrong], ()
    if "object" in types and properties_of(node):
        yield from _breaking_children(node, root)


def _breaking_children(node: Schema, root: Schema) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    try:
        whole = _object(node, root, 1)
    except NoSample:
        return
    if whole:
        first = next(iter(whole))
        yield "nested", {name: value for name, value in whole.items() if name != first}, (first,)
    for name, child in properties_of(node).items():
        wrong = _wrong(resolve(child, root), root)
        if wrong is not UNSET:
            yield "nested", {**whole, name: wrong}, (str(name),)
            return


def _plain(limit: float) -> str:
    return str(int(limit)) if float(limit).is_integer() else str(limit)
