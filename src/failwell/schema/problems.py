"""What is wrong with a call's arguments, in words, and what would put it right: one error, whoever found it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

from failwell.model import (
    UNSET,
    FieldError,
    Invalid,
    Json,
    Patch,
    Path,
    ToolError,
    Unset,
    compact,
    place_of,
    plain,
    shown,
    text,
)

from . import fixes
from .certainty import fits
from .nodes import (
    at,
    branches_of,
    known_names,
    names_at,
    open_ended,
    options_of,
    properties_of,
    step_into,
    type_of,
    types_of,
)
from .refs import NOTHING, Schema
from .restraints import restraint
from .rule_table import RULES, RuleText
from .spelling import is_certain, nearest
from .unions import forms

MOST_PROBLEMS: Final = 20
MOST_READ: Final = 500
MOST_NAMES: Final = 5
_MOST_OPTIONS: Final = 25
_MOST_HINTS: Final = 3
_LONGEST_TEXT: Final = 200
LONGEST_NAME: Final = 100
LONGEST_WORDS: Final = 300


class Problems(NamedTuple):
    """What is wrong with some arguments, and what would put it right. Empty ones are false.

    `total` also counts the problems that are not in `fields`; `more` says that nobody counted to the end.
    """

    fields: tuple[FieldError, ...] = ()
    patch: tuple[Patch, ...] = ()
    hints: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    total: int = 0
    more: bool = False

    def __bool__(self) -> bool:
        return self.total > 0


NO_PROBLEMS: Final = Problems()


class BrokenRule(NamedTuple):
    """A rule that a value breaks: `limit` is what the rule asks for, `node` the value's own schema."""

    rule: str
    path: Path
    sent: object = UNSET
    limit: Any = None
    node: Schema = NOTHING
    in_text: bool = False


def invalid(*problems: Problems, tool: str | None = None, action: str | None = None) -> ToolError:
    """One error for all the problems there are with a call's arguments."""
    fields = _distinct(problem for each in problems for problem in each.fields)
    repeated = sum(len(each.fields) for each in problems) - len(fields)
    total = sum(each.total for each in problems) - repeated
    called = ".".join(cut(part, LONGEST_NAME) for part in (tool, action) if part)
    names = list(dict.fromkeys(name for each in problems for name in each.names))
    said = f"Invalid arguments for {called}" if called else "Invalid arguments"
    message = f"{said}: {_listed(names, MOST_NAMES)}." if names else f"{said}."
    if total > MOST_PROBLEMS:
        counted = f"more than {total}" if any(each.more for each in problems) else str(total)
        message += f" The first {MOST_PROBLEMS} of {counted} problems are listed."
    hints = list(dict.fromkeys(hint for each in problems for hint in each.hints))[:_MOST_HINTS]
    return Invalid(
        message,
        tool=tool,
        action=action,
        fields=fields[:MOST_PROBLEMS],
        patch=_applicable(_distinct(change for each in problems for change in each.patch))[:MOST_PROBLEMS],
        suggestion=" ".join(hints) if fields else "Check the arguments and call the tool again.",
    )


def _distinct(items: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def _applicable(patch: list[Patch]) -> list[Patch]:
    """Renames first, and no value for an argument that one of them brings."""
    renames = [change for change in patch if change.op == "rename"]
    brought = {(*change.path[:-1], change.to) for change in renames}
    return renames + [change for change in patch if change.op != "rename" and change.path not in brought]


def _listed(names: Sequence[Any], most: int, say: Callable[[Any], str] = str) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(say, names[:most])) + more


def cut(value: object, longest: int) -> str:
    """A text of a bearable length. Cut before it is looked at: it may be endless."""
    if isinstance(value, str):
        return text(value if len(value) <= longest else value[: longest - 1] + "…")
    if isinstance(value, (bytes, bytearray)):
        return text(bytes(value[: longest + 1]))[:longest]
    return text(plain(value))[:longest] if value is None or isinstance(value, (bool, int, float)) else _described(value)


def _described(value: object) -> str:
    return text(value)[:_LONGEST_TEXT] if type(value).__module__ != "builtins" else f"<{type(value).__name__}>"


class Secrecy(Protocol):
    """What must not be quoted. Whoever asks for words brings it along: this room reads schemas and knows no secrets."""

    @property
    def mask(self) -> str: ...

    def hides(self, path: Path) -> bool:
        """Whether the argument at a path is secret, or lies in one that is."""

    def sample(self, value: object, path: Path) -> Json:
        """A value small enough to be kept, and without what is secret in it."""

    def spared(self, words: str, arguments: object) -> str:
        """An author's words, which may quote any of the arguments, without what is secret of them."""

    def may_hide(self, value: object, path: Path) -> bool:
        """Whether there is a secret in a value, or so much that nobody can tell."""


class CheckedCall:
    """The call whose arguments are looked at: its schema, what was sent, and which of it is secret."""

    def __init__(self, schema: object, arguments: object, secrets: Secrecy) -> None:
        # The exact type first: asking an abstract class takes longer.
        self.schema: Schema = schema if type(schema) is dict or isinstance(schema, Mapping) else NOTHING
        self.arguments: Any = arguments if type(arguments) is dict or isinstance(arguments, Mapping) else UNSET
        self.secrets = secrets


def step_of(key: object) -> str | int:
    return key if isinstance(key, (str, int)) else str(type(key))


def told(found: Iterable[BrokenRule], call: CheckedCall, unread: int = 0, more: bool = False) -> Problems:
    """The broken rules in words, and what mends them."""
    broken = _tidied(found)
    broken += _misspelt(broken, call)
    fields: list[FieldError] = []
    patch: list[Patch] = []
    hints: list[str] = []
    names: list[str] = []
    for each in broken:
        names += _names(each)
        if len(fields) < MOST_PROBLEMS:
            fields.append(_field(each, call))
            changes, asked = _MENDING.get(each.rule, _no_mending)(each, call)
            patch += [] if each.in_text else changes
            hints += asked
            # The list grows while it is read: a name that was put right may bring a value that is wrong there.
            broken += [wrong for change in changes if change.op == "rename" for wrong in _brought(change, call) or ()]
    total = len(broken) + unread
    return Problems(tuple(fields), tuple(patch), tuple(hints), tuple(dict.fromkeys(names)), total, more)


def _misspelt(broken: Sequence[BrokenRule], call: CheckedCall) -> list[BrokenRule]:
    """Names near to one that is missing from the same object, and not among those that it has: they stand for it, even
    where an object takes any name."""
    missing: dict[Path, list[str]] = {}
    for each in broken:
        if each.rule == "required" and not each.in_text and each.path and isinstance(each.path[-1], str):
            missing.setdefault(each.path[:-1], []).append(each.path[-1])
    if not missing:
        return []
    described = properties_of(call.schema)
    told_of = {each.path for each in broken if each.rule == "additionalProperties"}
    found: list[BrokenRule] = []
    for path, names in missing.items():
        holder = value_at(call.arguments, path)
        if path in told_of or not isinstance(holder, Mapping) or (not path and holder.keys() <= described.keys()):
            continue
        if not (known := names_at(call.schema, path)):
            continue
        strange = [name for name in islice(holder, MOST_READ) if isinstance(name, str) and name not in known]
        near = [name for name in strange[:MOST_PROBLEMS] if nearest(name, names) is not None]
        # Where an object may take any name, only a name near to a missing one stands for it.
        only = strange if len(strange) == len(names) == 1 and not path else near
        listed = near if path or open_ended(call.schema) else strange if near else only
        if listed:
            node = {"properties": known, "required": names}
            found.append(BrokenRule("additionalProperties", path, limit=listed, node=node))
    return found


def _names(broken: BrokenRule) -> list[str]:
    """What the message calls the argument: what the caller would look for."""
    if broken.rule == "additionalProperties":
        return [_placed((*broken.path, name)) for name in broken.limit[:100]]
    return [_placed(broken.path)] if broken.path else []


def _placed(path: Path) -> str:
    return cut(place_of(tuple(cut(step, 60) if isinstance(step, str) else step for step in path[:20])), 80)


def _field(broken: BrokenRule, call: CheckedCall) -> FieldError:
    rule, row, limit, options = _row(broken, call)
    secret = call.secrets.hides(broken.path)
    # Shown only where there is a place for it: what is wrong with the whole is not what was sent as the whole.
    sent = UNSET if broken.sent is UNSET or not broken.path else call.secrets.sample(broken.sent, broken.path)
    if secret and sent is not UNSET:
        sent = call.secrets.mask
    if broken.rule == "custom":
        limit = "Invalid input" if secret else call.secrets.spared(str(limit), call.arguments)
    words = {"limit": limit, "s": "" if broken.limit == 1 else "s"}
    # In the words of most rules neither stands.
    if "{received}" in row.message:
        words["received"] = _received(broken)
    if "{shown}" in row.message:
        words["shown"] = call.secrets.mask if secret else shown(sent) if sent is not UNSET else "nothing"
    expected = None if limit is None or row.expected is None else row.expected.format_map(words)
    message = row.message if limit is None and "{limit}" not in row.message else row.message.format_map(words)
    path = tuple(cut(step, _LONGEST_TEXT) if isinstance(step, str) else step for step in broken.path[:40])
    return FieldError(path, message, sent, expected, options, rule)


def _row(broken: BrokenRule, call: CheckedCall) -> tuple[str, RuleText, str | None, list[Json]]:
    """The row that speaks of it: its name on the error, the row, the limit in words, and the options there are."""
    row = RULES[broken.rule]
    limit = broken.limit
    options: list[Json] = []
    if broken.rule == "required":
        limit = label(broken.node, call.schema)
    elif broken.rule == "type":
        limit = label(broken.node, call.schema) if options_of(broken.node) else limit
    elif broken.rule in ("enum", "discriminator"):
        listed = [plain(option) for option in limit[:_MOST_OPTIONS]]
        limit = _alternatives(limit)
        options = listed if broken.rule == "enum" else []
    elif broken.rule == "anyOf":
        # Which values there are is worth more than that this is none of them.
        limit = forms(broken.node, call.schema, _received(broken))
        row = replace(row, message=RULES["type"].message) if limit else row
    elif broken.rule == "const":
        limit = cut(compact(plain(limit)), LONGEST_WORDS)
    elif broken.rule == "additionalProperties":
        limit = _listed(limit, 10, lambda name: shown(cut(name, LONGEST_NAME)))
    elif limit is not None:
        limit = cut(_rounded(limit), LONGEST_WORDS)
    elif "{limit}" not in f"{row.message}{row.expected}":
        limit = ""
    if broken.rule in _EXACT and broken.node.get(_EXACT[broken.rule], UNSET) == broken.limit:
        row = replace(row, message=re.sub("at least|at most", "exactly", row.message))
    return row.name or _NAMES.get(broken.rule, broken.rule), row, limit, options


_EXACT: Final = {"minLength": "maxLength", "maxLength": "minLength"}
# A discriminator is an enum that is spread over the branches of a union.
_NAMES: Final = {"discriminator": "enum"}


def _rounded(limit: object) -> object:
    return int(limit) if isinstance(limit, float) and limit.is_integer() and abs(limit) < 1e15 else limit


def _alternatives(options: Sequence[Json]) -> str:
    listed = [shown(plain(option), cut=False) for option in options[:_MOST_OPTIONS]]
    return " | ".join(listed) + (f" | … {len(options) - _MOST_OPTIONS} more" if len(options) > _MOST_OPTIONS else "")


def label(node: Schema, root: Schema) -> str | None:
    """The type of an argument in words: `string`, `integer | null`, `'admin' | 'user'`."""
    if options := options_of(node):
        return cut(_alternatives(options), LONGEST_WORDS)
    types = types_of(node)
    if not types:
        types = [name for branch in branches_of(node, root) for name in types_of(branch)]
    return " | ".join(dict.fromkeys(types)) or None


def _received(broken: BrokenRule) -> str:
    kind = type_of(broken.sent)
    return "float" if kind == "number" and broken.limit == "integer" and isinstance(broken.sent, float) else kind


Mended = tuple[list[Patch], list[str]]


def _no_mending(broken: BrokenRule, call: CheckedCall) -> Mended:
    return [], []


def _mend_type(broken: BrokenRule, call: CheckedCall) -> Mended:
    node = broken.node or {"type": broken.limit}
    options = options_of(node)
    value = fixes.as_option(broken.sent, options) if options else fixes.as_type(broken.sent, node, call.schema)
    return _setting(broken, value, call), []


def _mend_option(broken: BrokenRule, call: CheckedCall) -> Mended:
    if call.secrets.hides(broken.path):
        return [], []
    options = broken.limit if broken.rule != "const" else [broken.limit]
    near = fixes.near_option(broken.sent, options)
    hints = [_question(near, broken.sent)] if near is not None and near != broken.sent else []
    return _setting(broken, fixes.as_option(broken.sent, options), call), hints


def _mend_missing(broken: BrokenRule, call: CheckedCall) -> Mended:
    return _setting(broken, fixes.given(broken.node, call.schema), call), []


def _mend_names(broken: BrokenRule, call: CheckedCall) -> Mended:
    holder = value_at(call.arguments, broken.path)
    known = {
        name: node
        for name, node in known_names(broken.node).items()
        if isinstance(name, str) and step_into(holder, name) is UNSET
    }
    asked = broken.node.get("required")
    missing = [name for name in asked if name in known] if isinstance(asked, list) else []
    strange = [name for name in broken.limit[:MOST_PROBLEMS] if isinstance(name, str)]
    near = {name: target for name in strange if (target := nearest(name, known)) is not None}
    meant = {name: target for name, target in near.items() if is_certain(name, target, known)}
    for name in strange:
        if name not in meant:
            alike = _alike(name, near.get(name), known, missing if len(strange) == 1 else [])
            fitting = [each for each in alike if _changes(broken.path, name, each, call)]
            meant.update({name: fitting[0]} if len(fitting) == 1 else {})
    targets = list(meant.values())
    patch = [
        change
        for name, target in meant.items()
        if targets.count(target) == 1
        for change in _changes(broken.path, name, target, call, is_certain=name in near)
    ]
    # Whoever follows a question takes the value along.
    return patch, [
        _question(target, name)
        for name, target in near.items()
        if _changes(broken.path, name, target, call, is_certain=meant.get(name) == target)
    ]


def _alike(name: str, near: str | None, known: Schema, missing: list[str]) -> list[str]:
    """What an argument by a strange name may be, by what else there is: the only one that is missing, or one that
    promises the same restraint. A confirmation is given by the caller alone."""
    kind = restraint(name)
    if kind is not None:
        return [each for each in known if restraint(each) == kind and kind != "confirmed"]
    return [each for each in missing[:2] if len(missing) == 1 and near in (None, each) and _is_free(each)]


def _is_free(name: str) -> bool:
    return restraint(name) in (None, "less")


def _changes(path: Path, name: str, target: str, call: CheckedCall, *, is_certain: bool = False) -> list[Patch]:
    """What makes one argument of another, if its value belongs there: in another type, if need be."""
    rename = Patch("rename", (*path, name), to=target)
    wrong = _brought(rename, call)
    if wrong == []:
        return [rename]
    value = value_at(call.arguments, (*path, name))
    node = at(call.schema, (*path, target), call.arguments)
    other = fixes.as_type(value, node, call.schema)
    # A number is no name: what only might be meant is not made a text.
    is_sure = is_certain or not isinstance(other, str)
    if is_sure and (setting := _setting(BrokenRule("type", (*path, target)), other, call)):
        return [Patch("remove", (*path, name)), *setting]
    return [rename] if wrong and is_certain else []


def _brought(rename: Patch, call: CheckedCall) -> list[BrokenRule] | None:
    """The rules that a value breaks under its new name; None where that is not known."""
    from .plain_rules import plainly_broken

    path = (*rename.path[:-1], rename.to or "")
    value, node = value_at(call.arguments, rename.path), at(call.schema, path, call.arguments)
    if fits(value, node, call.schema) or _passes(value, node, call.schema):
        return []
    found = plainly_broken({"properties": {path[-1]: node}}, {str(path[-1]): value})
    return [each._replace(path=path) for each in found] if found else None


def _passes(value: object, node: Schema, root: Schema) -> bool:
    """Whether a value fits a schema with a pattern: that is left to the validator that gives up in time."""
    from .check import Checker

    programs = {word: node[word] for word in ("pattern", "format") if word in node}
    plain_node = {word: limit for word, limit in node.items() if word not in programs}
    return bool(programs) and fits(value, plain_node, root) and Checker(programs).fits(value)


def _question(meant: str, sent: object) -> str:
    return f"Did you mean {shown(cut(meant, LONGEST_NAME))} instead of {shown(cut(sent, LONGEST_NAME))}?"


def _setting(broken: BrokenRule, value: Json | Unset, call: CheckedCall) -> list[Patch]:
    """The change, unless it would show a secret, may break another rule, or cannot be written down as it is."""
    if value is UNSET or not broken.path or call.secrets.may_hide(value, broken.path):
        return []
    if broken.rule != "discriminator" and (call.schema or broken.rule not in ("enum", "const")):
        node = at(call.schema, broken.path, call.arguments, whole=True)
        if node is NOTHING or not fits(value, node, call.schema):
            return []
    change = Patch("set", broken.path, value)
    try:
        return [change] if change.value == value and change.path == broken.path else []
    except RecursionError:
        return []


_MENDING: Final[dict[str, Callable[[BrokenRule, CheckedCall], Mended]]] = {
    "type": _mend_type,
    "enum": _mend_option,
    "const": _mend_option,
    "discriminator": _mend_option,
    "required": _mend_missing,
    "additionalProperties": _mend_names,
}


def value_at(value: object, path: Path) -> Any:
    for step in path:
        value = step_into(value, step)
    return value


def _tidied(broken: Iterable[BrokenRule]) -> list[BrokenRule]:
    """One problem for each mistake: unknown names of one object together, and the type rather than what follows."""
    found: dict[tuple[Any, ...], BrokenRule] = {}
    for each in broken:
        if each.rule == "enum" and len(each.limit) == 1:
            each = each._replace(rule="const", limit=each.limit[0])
        if each.rule == "enum" and _is_type_mistake(each):
            each = each._replace(rule="type", limit=_alternatives(each.limit))
        key = (each.rule, each.path, each.rule in _SEVERAL and repr(each.limit))
        if each.rule == "additionalProperties" and key in found:
            found[key] = found[key]._replace(limit=list(dict.fromkeys([*found[key].limit, *each.limit])))
        else:
            found.setdefault(key, each)
    follows = {(rule, each.path) for each in found.values() for rule in _FOLLOWS.get(each.rule, ())}
    return [each for each in found.values() if (each.rule, each.path) not in follows]


# Several of these may be broken at one place.
_SEVERAL: Final = frozenset({"custom", "pattern", "not", "format"})
# What else is said about a value when this is wrong, and is not worth saying.
_FOLLOWS: Final = {"const": ("type", "enum"), "type": ("enum",)}


def _is_type_mistake(broken: BrokenRule) -> bool:
    """A number where all options are texts: the contract speaks of the type then."""
    return not isinstance(broken.sent, str) and all(isinstance(option, str) for option in broken.limit)
