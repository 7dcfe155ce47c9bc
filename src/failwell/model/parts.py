"""The small values an error is made of. Each accepts what authors and peers write for it, and never raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Self

from .json_values import MAX_ITEMS, UNSET, Json, Unset, each, label, plain, plain_map, text

Path = tuple[str | int, ...]
# What has no parts that could be changed.
_WHOLE: Final = frozenset({str, int, float, bool, type(None), Unset})


def path_of(value: object) -> Path:
    """A path as names and indexes. A text is one name, never split: names may hold dots."""
    if type(value) is tuple and len(value) <= MAX_ITEMS and all(type(step) is str and step.isascii() for step in value):
        return value
    return tuple(map(_step, [value] if isinstance(value, (str, int)) else each(value)))


def _step(part: object) -> str | int:
    # An index that no list can have is only a name that looks like a number.
    if isinstance(part, int) and not isinstance(part, bool) and abs(part) < 1 << 62:
        return int(part)
    return text(plain(part))


def place_of(path: Path) -> str:
    """A path as a person writes it; empty for the whole.

    >>> place_of(("tags", 1, "name"))
    'tags[1].name'
    """
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "".join(steps).removeprefix(".")


def _optional(normal: Callable[[Any], Any], absent: object = None) -> Callable[[Any], Any]:
    return lambda value: absent if value is absent else normal(value)


def _values(value: object) -> tuple[Json, ...]:
    return tuple(plain(item) for item in each(value))


def _kept_as(**normal: Callable[[Any], Any]) -> Mapping[str, Callable[[Any], Any]]:
    return normal


class _Part:
    __slots__ = ()
    _normal: ClassVar[Mapping[str, Callable[[Any], Any]]]
    """How each field is kept, in the order in which it is written."""
    _always: ClassVar[frozenset[str]] = frozenset()
    """The fields that are written even if they are empty."""

    def __post_init__(self) -> None:
        for name, normal in self._normal.items():
            object.__setattr__(self, name, normal(getattr(self, name)))

    @classmethod
    def of(cls, value: object) -> Self | None:
        """The part that an author or a peer wrote as JSON or in short; None for what makes no sense."""
        try:
            return value if isinstance(value, cls) else cls._read(value)
        except Exception:
            # A mapping of somebody else's making may raise anything.
            return None

    @classmethod
    def _read(cls, value: object) -> Self | None:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Json]:
        found = {name: getattr(self, name) for name in self._normal}
        return {
            name: list(value) if type(value) is tuple else value
            for name, value in found.items()
            if value is not UNSET and (name in self._always or value not in (None, ()))
        }


def _pick(value: Mapping[str, Any], *names: str) -> Any:
    """The value under the first of the names that is there."""
    return next((value[name] for name in names if name in value), UNSET)


@dataclass(frozen=True, slots=True)
class Action(_Part):
    """Another call that helps: the tool, why, and with which arguments."""

    tool: str = ""
    description: str | None = None
    arguments: Mapping[str, Json] | None = None
    _normal = _kept_as(tool=text, description=label, arguments=_optional(plain_map))
    _always = frozenset({"tool"})

    @classmethod
    def _read(cls, value: object) -> Self | None:
        if isinstance(value, Mapping):
            tool, arguments = _pick(value, "tool", "name", "action"), value.get("arguments")
            if tool in (UNSET, None) and not value.get("description"):
                return None
            return cls(tool or "", value.get("description"), arguments if isinstance(arguments, Mapping) else None)
        return cls(name) if (name := label(value)) else None


@dataclass(frozen=True, slots=True)
class FieldError(_Part):
    """What was wrong with one argument.

    `expected` is either what the value should have been (`a valid email address`) or a whole sentence that says so,
    ending in a full stop (`Minimum length: 3 characters.`).
    """

    path: Path = ()
    message: str = ""
    sent: Json | Unset = UNSET
    expected: str | None = None
    options: Sequence[Json] = ()
    rule: str | None = None
    _normal = _kept_as(
        path=path_of, message=text, expected=label, rule=label, sent=_optional(plain, UNSET), options=_values
    )
    _always = frozenset({"path", "message", "sent"})

    @property
    def name(self) -> str:
        """The path joined with dots; `(root)` for the arguments as a whole."""
        return ".".join(map(str, self.path)) or "(root)"

    @classmethod
    def _read(cls, value: object) -> Self | None:
        if isinstance(value, Mapping):
            path, message = _pick(value, "path", "field", "loc", "name"), _pick(value, "message", "msg")
            sent, options = _pick(value, "sent", "value"), value.get("options", ())
            return cls(path or (), message or "", sent, value.get("expected"), options, value.get("rule"))
        if isinstance(value, tuple) and len(value) == 2:
            return cls(*value)
        return cls((), message) if (message := label(value)) else None


@dataclass(frozen=True, slots=True)
class Patch(_Part):
    """One change to the arguments that would fix the call: set a value, rename a key, or remove one."""

    op: Literal["set", "rename", "remove"] = "set"
    path: Path = ()
    value: Json | Unset = UNSET
    to: str | None = None
    _normal = _kept_as(op=text, path=path_of, to=label, value=_optional(plain, UNSET))
    _always = frozenset({"op", "path", "value"})

    @classmethod
    def of(cls, value: object) -> Self | None:
        found = super(Patch, cls).of(value)
        return found if found is not None and found.op in ("set", "rename", "remove") else None

    @classmethod
    def _read(cls, value: object) -> Self | None:
        if not isinstance(value, Mapping):
            return None
        return cls(value["op"], value.get("path", ()), value.get("value", UNSET), value.get("to"))


def apply_patch(arguments: Mapping[str, Any], patch: Iterable[Patch]) -> dict[str, Any]:
    """A copy of `arguments` with the changes made; a change that does not fit them is left out.

    >>> apply_patch({"limt": 5}, [Patch("rename", ("limt",), to="limit")])
    {'limit': 5}
    """
    root = dict(arguments)
    if not _WHOLE.issuperset(map(type, root.values())):
        root = deepcopy(root)
    for change in patch:
        *parents, last = change.path or (None,)
        holder: Any = root
        try:
            for part in parents:
                holder = holder[part]
        except (KeyError, IndexError, TypeError):
            continue
        is_there = last in holder if isinstance(holder, dict) else _is_index(last, holder)
        if change.op == "set" and change.value is not UNSET and (is_there or isinstance(holder, dict)):
            if last is not None:
                holder[last] = deepcopy(change.value)
        elif change.op == "remove" and is_there:
            del holder[last]
        elif change.op == "rename" and is_there and isinstance(holder, dict) and change.to not in (None, *holder):
            # Rebuilt rather than popped, so that the argument keeps its place.
            items = [(change.to if name == last else name, item) for name, item in holder.items()]
            holder.clear()
            holder.update(items)
    return root


def _is_index(step: object, holder: object) -> bool:
    return isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder)


@dataclass(frozen=True, slots=True)
class Conflicting(_Part):
    """Who holds what."""

    agent_id: str | None = None
    pattern: str | None = None
    held_by: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    _normal = _kept_as(agent_id=label, pattern=label, held_by=label, extra=plain_map)

    @property
    def holder(self) -> str | None:
        """Who to negotiate with."""
        return self.held_by or self.agent_id

    @classmethod
    def _read(cls, value: object) -> Self | None:
        if not isinstance(value, Mapping):
            return cls(held_by=holder) if (holder := label(value)) else None
        # A holder that is no text in JSON (an object, say) is kept as it is rather than flattened.
        told = {name: plain(value[name]) for name in ("agent_id", "pattern", "held_by") if name in value}
        own = {name: said for name, said in told.items() if isinstance(said, str) and said}
        return cls(**own, extra={name: item for name, item in value.items() if name not in own})

    def to_dict(self) -> dict[str, Json]:
        data = _Part.to_dict(self)
        return {name: data[name] for name in data if name != "extra"} | dict(self.extra)


@dataclass(frozen=True, slots=True)
class Option(_Part):
    """One answer the user can pick when a call needs input."""

    # First, where `label` is still the function.
    _normal = _kept_as(label=text, value=plain, description=label, field=label)
    label: str = ""
    value: Json = None
    description: str | None = None
    field: str | None = None
    _always = frozenset({"label", "value"})

    @classmethod
    def _read(cls, value: object) -> Self | None:
        if isinstance(value, Mapping):
            shown = _pick(value, "label", "value")
            shown = "" if shown is UNSET else shown
            return cls(shown, value.get("value", shown), value.get("description"), value.get("field"))
        return None if value is None else cls(text(value), value)


def all_of(part: Any, value: object) -> tuple[Any, ...]:
    """The items of `value` that `part` can read."""
    return tuple(item for raw in each(value) if (item := part.of(raw)) is not None)
