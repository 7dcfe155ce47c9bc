"""What is wrong with a call's arguments, in words, and what would put it right: one error, whoever found it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, NamedTuple

from failwell.model import (
    UNSET,
    FieldError,
    Invalid,
    Json,
    Patch,
    Path,
    ToolError,
    compact,
    place_of,
    plain,
    shown,
)

from .checked_call import LONGEST_NAME, LONGEST_WORDS, MOST_READ, BrokenRule, CheckedCall, cut
from .coercion import is_refused
from .mend import MOST_PROBLEMS, brought, mend
from .nodes import (
    Schema,
    at,
    branches_of,
    has_names,
    known_names,
    open_ended,
    options_of,
    type_of,
    types_of,
    unknown_names,
    value_at,
)
from .rule_table import RULES
from .spelling import nearest
from .validator import find_broken

MOST_NAMES: Final = 5
_MOST_OPTIONS: Final = 25
_MOST_HINTS: Final = 3
_LONGEST_TEXT: Final = 200


class Problems(NamedTuple):
    """What is wrong with some arguments, and what would put it right. Empty ones are false.

    `total` also counts the problems that are not in `fields`; `more` says that nobody counted to the end. `refused`:
    one of them is such that any server refuses the call.
    """

    fields: tuple[FieldError, ...] = ()
    patch: tuple[Patch, ...] = ()
    hints: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    total: int = 0
    more: bool = False
    refused: bool = False

    def __bool__(self) -> bool:
        return self.total > 0


NO_PROBLEMS: Final = Problems()


def check(call: CheckedCall, *, formats: bool = False) -> Problems:
    """What the arguments of a call break of its schema. Nothing, where nobody can read the schema.

    Arguments that are nested too deeply raise RecursionError.
    """
    broken = find_broken(call, formats=formats) or []
    return explain(broken[:MOST_READ], call, more=len(broken) > MOST_READ)


def check_names(call: CheckedCall) -> Problems:
    """The arguments that the schema does not have; nothing, quickly, when it has them all, or allows others."""
    if call.arguments is UNSET or has_names(call.arguments, call.schema):
        return NO_PROBLEMS
    unknown = unknown_names(call.arguments, call.schema)
    return explain([BrokenRule("additionalProperties", (), limit=unknown, node=call.schema)], call)


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


def explain(found: Iterable[BrokenRule], call: CheckedCall, unread: int = 0, more: bool = False) -> Problems:
    """The broken rules in words, and what mends them."""
    broken = _tidied(found)
    broken += _misspelt(broken, call)
    fields: list[FieldError] = []
    patch: list[Patch] = []
    hints: list[str] = []
    names: list[str] = []
    refused = False
    for each in broken:
        names += _names(each)
        if len(fields) < MOST_PROBLEMS:
            fields.append(_field(each, call))
            changes, asked = mend(each, call)
            refused = refused or is_refused(each, call, is_misspelt=bool(asked))
            patch += [] if each.in_text else changes
            hints += asked
            # The list grows while it is read: a name that was put right may bring a value that is wrong there.
            broken += [wrong for change in changes if change.op == "rename" for wrong in brought(change, call) or ()]
    total = len(broken) + unread
    return Problems(tuple(fields), tuple(patch), tuple(hints), tuple(dict.fromkeys(names)), total, more, refused)


def _misspelt(broken: Sequence[BrokenRule], call: CheckedCall) -> list[BrokenRule]:
    """Names that stand for one that is missing from the same object, even where an object takes any name: near ones,
    and the only unknown one where one is missing."""
    missing: dict[Path, list[BrokenRule]] = {}
    for each in broken:
        if each.rule == "required" and not each.in_text and each.path and isinstance(each.path[-1], str):
            missing.setdefault(each.path[:-1], []).append(each)
    told_of = {each.path for each in broken if each.rule == "additionalProperties"}
    found: list[BrokenRule] = []
    for path, lacking in missing.items():
        held, names = value_at(call.arguments, path), [str(each.path[-1]) for each in lacking]
        holders = [each.holder or at(call.schema, path, call.arguments) for each in lacking]
        known = {
            name: node
            for holder in (call.schema if not path else {}, *holders)
            for name, node in known_names(holder).items()
        }
        if path in told_of or not isinstance(held, Mapping) or not known:
            continue
        strange = [name for name in islice(held, MOST_READ) if isinstance(name, str) and name not in known]
        near = [name for name in strange[:MOST_PROBLEMS] if nearest(name, names) is not None]
        if not path and ((near and not open_ended(call.schema)) or len(strange) == len(names) == 1):
            near = strange
        if near:
            node = {"properties": known, "required": names}
            found.append(BrokenRule("additionalProperties", path, limit=near, node=node))
    return found


def _names(broken: BrokenRule) -> Iterator[str]:
    """What the message calls the argument: what the caller would look for."""
    names = [(name,) for name in broken.limit[:100]] if broken.rule == "additionalProperties" else [()]
    for name in names:
        path = (*broken.path, *name)[:20]
        if path:
            yield cut(place_of(tuple(cut(step, 60) if isinstance(step, str) else step for step in path)), 80)


def _field(broken: BrokenRule, call: CheckedCall) -> FieldError:
    """The row of the table that speaks of the rule, with what the rule asks for and what was sent."""
    rule, row, limit, node = broken.rule, RULES[broken.rule], broken.limit, broken.node
    secret = call.secrets.hides(broken.path)
    # Shown only where there is a place for it: what is wrong with the whole is not what was sent as the whole.
    sent = UNSET if broken.sent is UNSET or not broken.path else call.secrets.sample(broken.sent, broken.path)
    sent = call.secrets.mask if secret and sent is not UNSET else sent
    kind = type_of(broken.sent)
    kind = "float" if limit == "integer" and isinstance(broken.sent, float) and kind == "number" else kind
    options = [plain(option) for option in limit[:_MOST_OPTIONS]] if rule == "enum" else []
    said: str | None
    if rule == "custom":
        said = "Invalid input" if secret else call.secrets.spared(str(limit), call.arguments)
    elif rule == "required" or (rule == "type" and options_of(node)):
        said = label(node, call.schema)
    elif rule in ("enum", "discriminator"):
        said = _alternatives(limit)
    elif rule == "anyOf":
        # Which values there are is worth more than that this is none of them.
        said = label(node, call.schema) or ""
        if said and kind not in said.split(" | ") and len(said) <= LONGEST_WORDS:
            row = replace(row, message=RULES["type"].message)
    elif rule == "const":
        said = cut(compact(plain(limit)), LONGEST_WORDS)
    elif rule == "additionalProperties":
        said = _listed(limit, 10, lambda name: shown(cut(name, LONGEST_NAME)))
    else:
        is_whole = isinstance(limit, float) and limit.is_integer() and abs(limit) < 1e15
        said = None if limit is None else cut(int(limit) if is_whole else limit, LONGEST_WORDS)
    if rule in _EXACT and node.get(_EXACT[rule], UNSET) == limit:
        row = replace(row, message=re.sub("at least|at most", "exactly", row.message))
    value = call.secrets.mask if secret else shown(sent) if sent is not UNSET else "nothing"
    words = {"limit": said, "s": "" if limit == 1 else "s", "received": kind, "shown": value}
    expected = row.expected and (None if said is None and "{limit}" in row.expected else row.expected.format_map(words))
    path = tuple(cut(step, _LONGEST_TEXT) if isinstance(step, str) else step for step in broken.path[:40])
    # A discriminator is an enum that is spread over the branches of a union.
    name = "enum" if rule == "discriminator" else row.name or rule
    return FieldError(path, row.message.format_map(words), sent, expected, options, name)


_EXACT: Final = {"minLength": "maxLength", "maxLength": "minLength"}


def _alternatives(options: Sequence[Json]) -> str:
    listed = [shown(plain(option), cut=False) for option in options[:_MOST_OPTIONS]]
    return " | ".join(listed) + (f" | … {len(options) - _MOST_OPTIONS} more" if len(options) > _MOST_OPTIONS else "")


def label(node: Schema, root: Schema) -> str | None:
    """The type of an argument in words: `string`, `integer | null`, `'admin' | 'user'`."""
    if options := options_of(node):
        return cut(_alternatives(options), LONGEST_WORDS)
    kinds = [types_of(node)] if types_of(node) else [_kinds(branch) for branch in branches_of(node, root)]
    return " | ".join(dict.fromkeys(name for names in kinds for name in names)) or None


def _kinds(branch: Schema) -> list[str]:
    options, needed = options_of(branch), branch.get("required")
    if options:
        return [shown(option) for option in options] if len(options) <= MOST_NAMES else []
    types = types_of(branch) or (["object"] if needed else [])
    is_short = types == ["object"] and isinstance(needed, list) and 0 < len(needed) <= _MOST_NEEDED
    return [f"object with {' and '.join(map(str, needed))}"] if is_short and needed else types


_MOST_NEEDED: Final = 3


def _tidied(broken: Iterable[BrokenRule]) -> list[BrokenRule]:
    """One problem for each mistake: unknown names of one object together, and the type rather than what follows."""
    found: dict[tuple[Any, ...], BrokenRule] = {}
    for each in broken:
        if each.rule == "enum" and len(each.limit) == 1:
            each = each._replace(rule="const", limit=each.limit[0])
        elif each.rule == "enum" and not isinstance(each.sent, str) and all(isinstance(one, str) for one in each.limit):
            # A number where all options are texts: the contract speaks of the type then.
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
