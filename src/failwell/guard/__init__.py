"""What may leave: nothing secret, nothing endless, nothing that is not what it looks like.

The guard stands between every error and every way out. It gives the very same object back when there is nothing to
do, which costs one look at the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from failwell.model.error import ToolError
from failwell.model.needs import NeedsInput
from failwell.model.parts import FieldError, Patch, Path
from failwell.model.plain import Json

from .budget import MAX_CHARS, MAX_TOKENS, shorten, within
from .fence import fence, poses
from .names import masks_numbers
from .redact import MASK, Redactor, redactor
from .visible import needs_cleaning, visible

Outcome = TypeVar("Outcome", bound=ToolError | NeedsInput)

_SAYS_NOTHING: Final = frozenset(["", "true", "false", "yes", "no", "null", "none", "required", "missing"])

# No error needs more than this of one text, and looking through more would only cost time.
_LONGEST: Final = 64_000


@dataclass(frozen=True, slots=True)
class Guard:
    """What an error must not hold when it leaves, and how large it may be.

    `secret_paths` are arguments whose values are secrets, as `secret_paths(schema)` finds them.
    """

    redact: Redactor = field(default_factory=Redactor)
    max_chars: int = MAX_CHARS
    max_tokens: int = MAX_TOKENS
    fences: bool = True
    secret_paths: frozenset[Path] = frozenset()

    @classmethod
    def make(
        cls,
        *,
        patterns: Iterable[str | re.Pattern[str]] = (),
        names: Iterable[str] = (),
        values: Iterable[str] = (),
        schema: Mapping[str, Any] | None = None,
        max_chars: int = MAX_CHARS,
        max_tokens: int = MAX_TOKENS,
        fences: bool = True,
    ) -> Guard:
        """A guard that also masks your patterns, field names and known secrets, and what a schema calls secret."""
        paths = secret_paths(schema) if schema is not None else frozenset()
        return cls(redactor(patterns, values, names), max_chars, max_tokens, fences, paths)

    def __call__(self, outcome: Outcome) -> Outcome:
        """The outcome as it may leave."""
        if isinstance(outcome, NeedsInput):
            return cast(Outcome, self._question(outcome))
        if not self._needed(outcome):
            return outcome
        return cast(Outcome, within(self._cleaned(outcome), self.max_chars, self.max_tokens))

    def text(self, text: str, name: str = "") -> str:
        """One text as it may leave, standing under `name`."""
        if name and text.lower() not in _SAYS_NOTHING and self.redact.secret_name(name):
            return self.redact.mask
        if len(text) > _LONGEST:
            text = _ends(text)
        text = self.redact(visible(text))
        return fence(text) if self.fences else text

    def _needed(self, error: ToolError) -> bool:
        """Whether there is anything to do, from one look at all texts together."""
        if self.secret_paths and error.fields:
            return True
        texts: list[str] = []
        names: list[str] = []
        _collect(error._given, texts, names)
        if any(map(self.redact.secret_name, names)):
            return True
        whole = " ".join(texts)
        size = len(whole)
        # Numbers and structure take room too; some is left for them before anything is counted exactly.
        if size * 3 > self.max_chars * 2 or len(texts) * 24 > self.max_chars:
            return True
        plain = whole.isascii()
        if size * 3 > self.max_tokens * (8 if plain else 2):
            return True
        if not (plain and whole.isprintable()) and needs_cleaning(whole):
            return True
        lower = whole.lower()
        return self.redact.finds(whole, lower) or (self.fences and poses(whole, lower))

    def _cleaned(self, error: ToolError) -> ToolError:
        given = error._given
        changes: dict[str, Any] = {}
        for name, value in given.items():
            if name in ("details", "meta", "debug"):
                changes[name] = self._value(value, "")
            elif name == "fields":
                changes[name] = [self._field(problem.to_dict()) for problem in value]
            elif name == "patch":
                changes[name] = [self._field(change.to_dict()) for change in value]
            elif name in ("actions", "conflicts"):
                changes[name] = [self._value(part.to_dict(), "") for part in value]
            elif name == "verify":
                changes[name] = self._value(value.to_dict(), "")
            elif name in ("next_steps", "notes"):
                changes[name] = [self.text(line) for line in value]
            elif isinstance(value, str) and type(value) is str:
                changes[name] = self.text(value)
        changed = {name: value for name, value in changes.items() if not _same(value, given[name])}
        return error.replace(**changed) if changed else error

    def _field(self, problem: dict[str, Json]) -> dict[str, Json]:
        """A problem with an argument, where the argument's own name says whether its value may be shown."""
        path = problem.get("path", [])
        names = [part for part in path if isinstance(part, str)]
        secret = any(self.redact.secret_name(name) for name in names[-1:]) or self._secret_path(path)
        cleaned: dict[str, Json] = self._value(problem, "")
        cleaned["path"] = [self.text(part) if isinstance(part, str) else part for part in path]
        for name in ("sent", "value"):
            if secret and problem.get(name) is not None:
                cleaned[name] = self.redact.mask
                shown = problem[name]
                if isinstance(shown, str) and len(shown) >= 4:
                    # The message about a bad value usually quotes it.
                    for other in ("message", "expected"):
                        if isinstance(cleaned.get(other), str):
                            cleaned[other] = cleaned[other].replace(shown, self.redact.mask)
        return cleaned

    def _secret_path(self, path: Iterable[str | int]) -> bool:
        if not self.secret_paths:
            return False
        pattern = tuple("*" if isinstance(part, int) else part for part in path)
        return any(pattern[: len(secret)] == secret for secret in self.secret_paths)

    def _value(self, value: Json, name: str) -> Json:
        if isinstance(value, str):
            return self.text(value, name)
        if isinstance(value, dict):
            secret = bool(name) and self.redact.secret_name(name)
            return {self.text(key): self._value(item, name if secret else key) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, name) for item in value]
        if name and not isinstance(value, bool) and value is not None and masks_numbers(name):
            return self.redact.mask if self.redact.secret_name(name) else value
        return value

    def _question(self, question: NeedsInput) -> NeedsInput:
        data = self._value(question.to_dict(), "")
        size = max(self.max_chars, 64)
        return NeedsInput(
            shorten(data["message"], size),
            fields=data.get("fields", ())[:50],
            reason=shorten(data["reason"], size) if "reason" in data else None,
            suggestions={name: values[:20] for name, values in data.get("suggestions", {}).items()},
            options=data.get("options", ())[:20],
            notes=question.notes,
            format=question.format,
        )


def secret_paths(schema: Mapping[str, Any]) -> frozenset[Path]:
    """The arguments a JSON Schema calls secret: `format: password` or `writeOnly`. `*` stands for any index or key."""
    return frozenset(_secret_paths(schema, (), 0))


def _secret_paths(schema: object, path: Path, depth: int) -> Iterator[Path]:
    if not isinstance(schema, Mapping) or depth > 20:
        return
    if schema.get("format") == "password" or schema.get("writeOnly") is True:
        yield path
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        yield from _secret_paths(inner, (*path, str(name)), depth + 1)
    yield from _secret_paths(schema.get("items"), (*path, "*"), depth + 1)
    for word in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(word)
        for inner in branches if isinstance(branches, list) else ():
            yield from _secret_paths(inner, path, depth + 1)


def _collect(data: Mapping[str, Any], texts: list[str], names: list[str]) -> None:
    """Every text in `data`, and every name that something stands under."""
    for value in data.values():
        kind = type(value)
        if kind is str:
            texts.append(value)
        elif kind is dict:
            texts += value
            names += value
            _collect(value, texts, names)
        elif kind is list or kind is tuple:
            for item in value:
                if type(item) is str:
                    texts.append(item)
                elif type(item) is FieldError or type(item) is Patch:
                    names += [part for part in item.path[-1:] if type(part) is str]
                    _collect(item.to_dict(), texts, names)
                elif hasattr(item, "to_dict"):
                    _collect(item.to_dict(), texts, names)
                elif type(item) is dict or type(item) is list:
                    _collect({"": item}, texts, names)
        elif hasattr(value, "to_dict"):
            _collect(value.to_dict(), texts, names)


def _same(new: object, old: object) -> bool:
    if isinstance(old, tuple):
        return new == [part.to_dict() if hasattr(part, "to_dict") else part for part in old]
    return new == (old.to_dict() if hasattr(old, "to_dict") else old)


def _ends(text: str) -> str:
    """The beginning and the end of a very long text, cut where no secret is cut in half."""
    head, tail = text[: _LONGEST * 3 // 4], text[-_LONGEST // 4 :]
    head = head[: max(head.rfind(" ", -4096), head.rfind("\n", -4096), 0)] or head[:-4096]
    gap = min((at for at in (tail.find(" ", 0, 4096), tail.find("\n", 0, 4096)) if at >= 0), default=4096)
    return f"{head} …[{len(text) - len(head) - len(tail) + gap} characters cut]… {tail[gap:]}"


DEFAULT: Final = Guard()


def guard(outcome: Outcome) -> Outcome:
    """The outcome as it may leave, by the default rules.

    >>> guard(ToolError("Login failed for postgres://app:hunter2@db/main")).message
    'Login failed for postgres://app:[redacted]@db/main'
    """
    return DEFAULT(outcome)


__all__ = ["DEFAULT", "MASK", "Guard", "guard", "secret_paths"]
