"""A call whose arguments are held against a schema, and the rules that they break."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from failwell.model import UNSET, Json, Patch, Path, apply_patch, budget_left, plain, text

from .nodes import NOTHING, Schema

MOST_READ: Final = 500
LONGEST_NAME: Final = 100
LONGEST_WORDS: Final = 300
_LONGEST_TEXT: Final = 200
# A call that is corrected is a small one: larger values are data, and each correction is tried out.
_LARGEST: Final = 100_000


class BrokenRule(NamedTuple):
    """A rule that a value breaks: `limit` is what the rule asks for, `node` the schema that asks for it."""

    rule: str
    path: Path
    sent: object = UNSET
    limit: Any = None
    node: Schema = NOTHING
    holder: Schema = NOTHING
    """Of what is missing: the schema that asks for it."""
    in_text: bool = False
    """The path leads into a JSON text that the server has decoded."""


class Secrecy(Protocol):
    """What must not be quoted. The caller brings it along: this package reads schemas and knows no secrets."""

    @property
    def mask(self) -> str: ...
    def hides(self, path: Path) -> bool: ...
    def sample(self, value: object, path: Path) -> Json: ...
    def spared(self, words: str, arguments: object) -> str: ...
    def may_hide(self, value: object, path: Path) -> bool: ...


class CheckedCall:
    """The schema of a tool, the arguments that were sent, and which of them are secret."""

    def __init__(self, schema: object, arguments: object, secrets: Secrecy) -> None:
        # The exact type first: asking an abstract class takes longer.
        self.schema: Schema = schema if type(schema) is dict or isinstance(schema, Mapping) else NOTHING
        self.arguments: Any = arguments if type(arguments) is dict or isinstance(arguments, Mapping) else UNSET
        self.secrets = secrets

    def is_small(self) -> bool:
        """Whether the call is small enough to be tried out again; RecursionError where it is too deep."""
        return isinstance(self.arguments, Mapping) and budget_left(self.arguments, _LARGEST) >= 0

    def changed(self, patch: Iterable[Patch]) -> CheckedCall:
        """The call with the changes made."""
        return CheckedCall(self.schema, apply_patch(self.arguments, patch), self.secrets)


def step_of(key: object) -> str | int:
    return key if isinstance(key, (str, int)) else str(type(key))


def cut(value: object, longest: int) -> str:
    """A text of a bearable length. Cut before it is looked at: it may be endless."""
    if isinstance(value, str):
        return text(value if len(value) <= longest else value[: longest - 1] + "…")
    if isinstance(value, (bytes, bytearray)):
        return text(bytes(value[: longest + 1]))[:longest]
    if value is None or isinstance(value, (bool, int, float)):
        return text(plain(value))[:longest]
    described = f"<{type(value).__name__}>" if type(value).__module__ == "builtins" else text(value)[:_LONGEST_TEXT]
    return described[:longest]
