"""A tool as a server lists it, ready for calls to be held against it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from failwell.formats import FORMATS
from failwell.model import ToolError
from failwell.readers import from_schema, strictly, text_of
from failwell.schema import Checker, known_names, open_ended
from failwell.sdk import CallToolResult, MCPError, field
from failwell.server.boundary import Boundary
from failwell.server.declared_failures import ListedFunction, published
from failwell.server.facts import BrokenResult, Facts


@dataclass(frozen=True, slots=True)
class CheckedTool:
    """A tool as the server lists it, ready to be checked."""

    facts: Facts
    known: frozenset[str] | None
    arguments: Checker | None
    output: Checker | None

    @classmethod
    def of(cls, tool: Any, boundary: Boundary) -> CheckedTool:
        schema, output = field(tool, "input_schema"), field(tool, "output_schema")
        options = boundary.options
        known = None if open_ended(schema) else frozenset(known_names(schema))
        checked = options.validate and isinstance(schema, Mapping)
        return cls(
            Facts.of(
                tool.name, schema, output, tool.annotations, None, ListedFunction(published(tool)), tool.description
            ),
            known,
            Checker(strictly(schema, options.extra)) if checked else None,
            Checker(output) if options.validate and output is not None else None,
        )

    def unknown(self, arguments: Mapping[str, Any]) -> list[str]:
        """The arguments that the tool does not have, where it says which it has."""
        if self.known is None or arguments.keys() <= self.known:
            return []
        return [name for name in arguments if name not in self.known]


class Listings:
    """What the clients of a server were shown: each its own list, since lists may differ and change."""

    def __init__(self, boundary: Boundary) -> None:
        self._boundary = boundary
        self._own: WeakKeyDictionary[Any, _Listing] = WeakKeyDictionary()
        self._latest: _Listing | None = None

    def remember(self, session: Any, tools: Iterable[Any], *, is_more: bool = False) -> None:
        """A client was shown these tools: `is_more` says that they follow on others, which it was shown before."""
        before, latest = self._own.get(session), self._latest
        held = dict(before.tools) if is_more and before is not None else {}
        for tool in tools:
            known = next(
                (each.tools[tool.name] for each in (before, latest) if each is not None and tool.name in each.tools),
                None,
            )
            same = known is not None and known[0] == tool
            held[tool.name] = known if known is not None and same else (tool, CheckedTool.of(tool, self._boundary))
        self._own[session] = self._latest = _Listing(held, time.monotonic())

    def find(self, session: Any, name: str) -> CheckedTool | None:
        """A tool as a client was shown it, or as another one was where it has not asked."""
        listing = self._own.get(session) or self._latest
        known = None if listing is None else listing.tools.get(name)
        return None if known is None else known[1]

    def all(self, session: Any) -> list[Facts]:
        listing = self._own.get(session) or self._latest
        return [] if listing is None else [checked.facts for _, checked in listing.tools.values()]

    def is_fresh(self, session: Any) -> bool:
        """Whether a client has asked so lately that nothing will have changed since."""
        own = self._own.get(session)
        return own is not None and time.monotonic() - own.at < _FRESH


class _Listing(NamedTuple):
    tools: dict[str, tuple[Any, CheckedTool]]
    at: float


_FRESH: Final = 1.0


def refuse(schema: Mapping[str, Any], arguments: Mapping[str, Any], tool: str) -> None:
    """Raise what is wrong with the arguments, if the validator that finds the words agrees that something is."""
    problem = from_schema(schema, arguments, tool=tool)
    if problem is not None:
        raise problem


def check_output(schema: Checker, result: Any) -> None:
    promised = isinstance(result, CallToolResult) and not field(result, "is_error")
    if promised and not schema.fits(held := field(result, "structured_content")):
        raise BrokenResult(text_of(result) if held is None else held)


def could_mean_unknown(exc: BaseException) -> bool:
    """Whether a handler that was asked for a tool it does not list may have meant just that."""
    if isinstance(exc, ToolError):
        return exc.code == "UNKNOWN_TOOL"
    return isinstance(exc, (ValueError, LookupError, NotImplementedError, MCPError))


def settings(boundary: Boundary) -> dict[str, Any]:
    """What the server says about the extension: the formats it can answer in, the one it does, and its keys."""
    default = boundary.options.form
    keys = {} if boundary.once is None else {"idempotency": boundary.once.settings}
    return {"version": "1", "formats": list(FORMATS), "default": default, **keys}
