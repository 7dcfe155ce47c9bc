"""The small values an error is made of. Each accepts what authors and peers write for it, and never raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, Literal, Self, TypeVar

from .json_values import MAX_ITEMS, UNSET, Json, Unset, each, label, plain, plain_map, text

Path = tuple[str | int, ...]
T = TypeVar("T")
_set = object.__setattr__
_NAMES: Final = frozenset({str})
# What has no parts that could be changed.
_WHOLE: Final = frozenset({str, int, float, bool, type(None), Unset})


def _never_raising(read: Callable[[Any, object], T | None]) -> Callable[[Any, object], T | None]:
    """Something that breaks when it is looked at is as good as nothing."""

    @wraps(read)
    def reading(cls: Any, value: object) -> T | None:
        try:
            return read(cls, value)
        except Exception:
            return None

    return reading


def path_of(value: object) -> Path:
    """A path as names and indexes. A text is one name, never split: names may hold dots."""
    if type(value) is tuple and len(value) <= MAX_ITEMS and _are_clean(value):
        return value
    if isinstance(value, (str, int)):
        return (_step(value),)
    return tuple(_step(part) for part in each(value))


def _are_clean(names: tuple[Any, ...]) -> bool:
    return _NAMES.issuperset(map(type, names)) and all(map(str.isascii, names))


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


@dataclass(frozen=True, slots=True, init=False)
class Action:
    """Another call that helps: the tool, why, and with which arguments."""

    tool: str
    description: str | None
    arguments: Mapping[str, Json] | None

    def __init__(
        self, tool: str = "", description: str | None = None, arguments: Mapping[str, Json] | None = None
    ) -> None:
        _set(self, "tool", text(tool))
        _set(self, "description", label(description))
        _set(self, "arguments", None if arguments is None else plain_map(arguments))

    @classmethod
    @_never_raising
    def of(cls, value: object) -> Self | None:
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            tool = value.get("tool", value.get("name", value.get("action")))
            if tool is None and not value.get("description"):
                return None
            return cls(text(tool), value.get("description"), _mapping(value.get("arguments")))
        name = label(value)
        return cls(name) if name else None

    def to_dict(self) -> dict[str, Json]:
        return _present(
            {"tool": self.tool},
            description=self.description,
            arguments=None if self.arguments is None else dict(self.arguments),
        )


@dataclass(frozen=True, slots=True, init=False)
class FieldError:
    """What was wrong with one argument.

    `expected` is either what the value should have been (`a valid email address`) or a whole sentence that says so,
    ending in a full stop (`Minimum length: 3 characters.`).
    """

    path: Path
    message: str
    sent: Json | Unset
    expected: str | None
    options: tuple[Json, ...]
    rule: str | None

    def __init__(
        self,
        path: Path | Iterable[str | int] | str = (),
        message: str = "",
        sent: Json | Unset = UNSET,
        expected: str | None = None,
        options: Iterable[Json] = (),
        rule: str | None = None,
    ) -> None:
        _set(self, "path", path_of(path))
        _set(self, "message", text(message))
        _set(self, "sent", sent if sent is UNSET else plain(sent))
        _set(self, "expected", label(expected))
        _set(self, "options", tuple(plain(option) for option in each(options)))
        _set(self, "rule", label(rule))

    @property
    def name(self) -> str:
        """The path joined with dots; `(root)` for the arguments as a whole."""
        return ".".join(map(str, self.path)) or "(root)"

    @classmethod
    @_never_raising
    def of(cls, value: object) -> Self | None:
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            path = value.get("path", value.get("field", value.get("loc", value.get("name", ()))))
            return cls(
                path_of(path),
                text(value.get("message", value.get("msg", ""))),
                value.get("sent", value.get("value", UNSET)),
                label(value.get("expected")),
                tuple(each(value.get("options"))),
                label(value.get("rule")),
            )
        if isinstance(value, tuple) and len(value) == 2:
            return cls(path_of(value[0]), text(value[1]))
        message = label(value)
        return cls((), message) if message else None

    def to_dict(self) -> dict[str, Json]:
        data = _present({"path": list(self.path), "message": self.message}, expected=self.expected, rule=self.rule)
        if self.sent is not UNSET:
            data["sent"] = self.sent
        if self.options:
            data["options"] = list(self.options)
        return data


_OPERATIONS: Final = ("set", "rename", "remove")


@dataclass(frozen=True, slots=True, init=False)
class Patch:
    """One change to the arguments that would fix the call: set a value, rename a key, or remove one."""

    op: Literal["set", "rename", "remove"]
    path: Path
    value: Json | Unset
    to: str | None

    def __init__(
        self,
        op: Literal["set", "rename", "remove"] = "set",
        path: Path | Iterable[str | int] | str = (),
        value: Json | Unset = UNSET,
        to: str | None = None,
    ) -> None:
        _set(self, "op", text(op))
        _set(self, "path", path_of(path))
        _set(self, "value", value if value is UNSET else plain(value))
        _set(self, "to", label(to))

    @classmethod
    @_never_raising
    def of(cls, value: object) -> Self | None:
        if isinstance(value, cls):
            return value if value.op in _OPERATIONS else None
        if isinstance(value, Mapping) and isinstance(value.get("op"), str) and value["op"] in _OPERATIONS:
            return cls(value["op"], path_of(value.get("path", ())), value.get("value", UNSET), label(value.get("to")))
        return None

    def to_dict(self) -> dict[str, Json]:
        data = _present({"op": self.op, "path": list(self.path)}, to=self.to)
        if self.value is not UNSET:
            data["value"] = self.value
        return data


def apply_patch(arguments: Mapping[str, Any], patch: Iterable[Patch]) -> dict[str, Any]:
    """A copy of `arguments` with the changes made; a change that does not fit them is left out.

    >>> apply_patch({"limt": 5}, [Patch("rename", ("limt",), to="limit")])
    {'limit': 5}
    """
    root = dict(arguments)
    if not _WHOLE.issuperset(map(type, root.values())):
        root = deepcopy(root)
    for change in patch:
        if not change.path:
            continue
        *parents, last = change.path
        holder: Any = root
        for part in parents:
            try:
                holder = holder[part]
            except (KeyError, IndexError, TypeError):
                holder = None
                break
        if isinstance(holder, dict):
            _patch_object(holder, last, change)
        elif isinstance(holder, list) and isinstance(last, int) and 0 <= last < len(holder):
            if change.op == "set" and change.value is not UNSET:
                holder[last] = deepcopy(change.value)
            elif change.op == "remove":
                del holder[last]
    return root


def _patch_object(holder: dict[Any, Any], key: str | int, change: Patch) -> None:
    if change.op == "set" and change.value is not UNSET:
        holder[key] = deepcopy(change.value)
    elif change.op == "remove":
        holder.pop(key, None)
    elif change.op == "rename" and change.to is not None and key in holder and change.to not in holder:
        # Rebuilt rather than popped, so that the argument keeps its place.
        items = [(change.to if name == key else name, item) for name, item in holder.items()]
        holder.clear()
        holder.update(items)


@dataclass(frozen=True, slots=True, init=False)
class Conflicting:
    """Who holds what."""

    agent_id: str | None
    pattern: str | None
    held_by: str | None
    extra: Mapping[str, Json]

    def __init__(
        self,
        agent_id: str | None = None,
        pattern: str | None = None,
        held_by: str | None = None,
        extra: Mapping[str, Json] | None = None,
    ) -> None:
        _set(self, "agent_id", label(agent_id))
        _set(self, "pattern", label(pattern))
        _set(self, "held_by", label(held_by))
        _set(self, "extra", {} if extra is None else plain_map(extra))

    @property
    def holder(self) -> str | None:
        """Who to negotiate with."""
        return self.held_by or self.agent_id

    @classmethod
    @_never_raising
    def of(cls, value: object) -> Self | None:
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            own = {}
            extra = {}
            for key, item in value.items():
                # A holder that is not a text (an object, say) is kept as it is rather than flattened; what JSON writes
                # as a text (a date, say) is one.
                told = plain(item)
                if key in ("agent_id", "pattern", "held_by") and isinstance(told, str) and told:
                    own[key] = told
                else:
                    extra[key] = item
            return cls(**own, extra=extra)
        holder = label(value)
        return cls(held_by=holder) if holder else None

    def to_dict(self) -> dict[str, Json]:
        return _present({}, agent_id=self.agent_id, pattern=self.pattern, held_by=self.held_by) | dict(self.extra)


@dataclass(frozen=True, slots=True, init=False)
class Option:
    """One answer the user can pick when a call needs input."""

    label: str
    value: Json
    description: str | None
    field: str | None

    def __init__(
        self, label: str = "", value: Json = None, description: str | None = None, field: str | None = None
    ) -> None:
        _set(self, "label", text(label))
        _set(self, "value", plain(value))
        _set(self, "description", text(description) or None)
        _set(self, "field", text(field) or None)

    @classmethod
    @_never_raising
    def of(cls, value: object) -> Self | None:
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            shown = value.get("label", value.get("value"))
            return cls(
                text(shown), value.get("value", shown), label(value.get("description")), label(value.get("field"))
            )
        return None if value is None else cls(text(value), value)

    def to_dict(self) -> dict[str, Json]:
        return _present({"label": self.label, "value": self.value}, description=self.description, field=self.field)


def all_of(part: Any, value: object) -> tuple[Any, ...]:
    """The items of `value` that `part` can read."""
    return tuple(item for raw in each(value) if (item := part.of(raw)) is not None)


def _present(data: dict[str, Json], **more: Json) -> dict[str, Json]:
    return data | {name: value for name, value in more.items() if value is not None}


def _mapping(value: object) -> Mapping[str, Json] | None:
    return value if isinstance(value, Mapping) else None
