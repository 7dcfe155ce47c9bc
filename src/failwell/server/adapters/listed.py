"""A tool as a server lists it, ready for calls to be held against it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from anyio import move_on_after

from failwell.formats import FORMATS
from failwell.model import ToolError
from failwell.readers import fate, from_schema, strictly, text_of
from failwell.schema import Checker, known_names, open_ended
from failwell.sdk import CallToolResult, MCPError, field
from failwell.server.boundary import Boundary
from failwell.server.declared_failures import ListedFunction, published
from failwell.server.served_call import BrokenResult, Facts, taken


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
        self._rests_until = 0.0

    def remember(self, session: Any, tools: Iterable[Any], *, is_more: bool = False) -> None:
        """A client was shown these tools: `is_more` says that they follow on others, which it was shown before."""
        before, latest = self._of(session), self._latest
        held = dict(before.tools) if is_more and before is not None else {}
        for tool in tools:
            known = next(
                (each.tools[tool.name] for each in (before, latest) if each is not None and tool.name in each.tools),
                None,
            )
            same = known is not None and known[0] == tool
            held[tool.name] = known if known is not None and same else (tool, CheckedTool.of(tool, self._boundary))
        self._own[session] = self._latest = _Listing(held, time.monotonic())

    def _of(self, session: Any) -> _Listing | None:
        """What a client was shown, or what another one was where it has not asked."""
        return (None if session is None else self._own.get(session)) or self._latest

    def find(self, session: Any, name: str) -> CheckedTool | None:
        listing = self._of(session)
        known = None if listing is None else listing.tools.get(name)
        return None if known is None else known[1]

    def all(self, session: Any) -> list[Facts]:
        listing = self._of(session)
        return [] if listing is None else [checked.facts for _, checked in listing.tools.values()]

    async def renew(self, session: Any, show: Callable[[], Awaitable[Any]]) -> bool:
        """Whether the tools were listed anew by `show`. What the client was shown a moment ago is good enough, and who
        cannot be asked is not held to anything."""
        own = self._own.get(session)
        now = time.monotonic()
        if now < self._rests_until or (own is not None and now - own.at < _FRESH):
            return False
        is_answered = False
        try:
            with move_on_after(PATIENCE):
                await show()
                is_answered = True
        except BaseException as exc:
            # An order to stop is one.
            taken(exc)
        if not is_answered:
            self._rests_until = time.monotonic() + _REST
        return is_answered


class _Listing(NamedTuple):
    tools: dict[str, tuple[Any, CheckedTool]]
    at: float


PATIENCE: Final = 2.0
"""For how many seconds a call waits for the author's own list, which may ask somebody else in turn."""
_REST: Final = 30.0
"""For how many seconds a list that did not come is not asked for again."""
_FRESH: Final = 1.0


class CheckedArguments(NamedTuple):
    """What is to be said of a call's arguments before it is made."""

    problem: ToolError | None = None
    unknown: Sequence[str] = ()
    extra: str = "auto"
    is_checked: bool = False
    """They need not be held against the schema once more."""


def judged(
    tool: CheckedTool | None, arguments: Mapping[str, Any], boundary: Boundary, *, validates: bool | None = None
) -> CheckedArguments:
    """`validates` says whether the SDK itself holds arguments against schemas: None where it cannot."""
    if tool is None:
        return CheckedArguments()
    name = tool.facts.name
    extra: str = boundary.options.extra
    # An author who has the SDK hold arguments against nothing means it.
    is_asked = validates is not False
    unknown = tool.unknown(arguments) if is_asked or extra != "auto" else []
    problem = None
    if unknown:
        schema = tool.facts.schema or {}
        extra = fate(extra, arguments, schema, boundary.reader.effects.nature(tool.facts))
        if extra == "reject" and tool.arguments:
            problem = from_schema(strictly(schema, extra), arguments, tool=name)
    is_checked = False
    if is_asked and problem is None and tool.arguments is not None and tool.arguments.is_compiled:
        # The SDK looks through the whole schema for each call, which takes longer than all the rest of it.
        is_checked = tool.arguments.fits(arguments)
        # What is nothing that JSON has fits nothing, and breaks no rule.
        problem = None if is_checked else from_schema(tool.arguments.schema, arguments, tool=name)
    return CheckedArguments(problem, unknown, extra, is_checked)


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
