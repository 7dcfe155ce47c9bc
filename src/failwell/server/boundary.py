"""Where an exception becomes an answer, whichever framework runs the tool."""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from failwell.classify import classify, from_error, is_order
from failwell.classify.locations import errors_of, loc_of
from failwell.classify.telling import named, said
from failwell.classify.validation import anchored, from_pydantic, unknown_tool
from failwell.formats import META_KEY, Outcome, render, to_result, to_wire
from failwell.formats.jsonrpc import MODERN_ERA
from failwell.guard import Guard, secret_paths
from failwell.model.error import ToolError
from failwell.model.kinds import Effect, Kind
from failwell.model.needs import NeedsInput
from failwell.model.plain import Json

from .counting import UNKNOWN, Stats
from .options import Options

log = logging.getLogger("failwell.server")

inside: ContextVar[bool] = ContextVar("failwell_inside", default=False)
"""Whether a tool call is being answered: one made by a tool itself keeps the framework's own exceptions."""

T = TypeVar("T")
# Formats that have no place for what is wrong with which argument, or for what to do.
_TERSE: Final = frozenset({"typed", "v1", "envelope"})
URL_ELICITATION: Final = -32042
_MOST_VALUES: Final = 2_000
_LONGEST_SECRET: Final = 10_000
_DEEPEST_TRACEBACK: Final = 20
_FRAMEWORK: Final = re.compile(r"[/\\](?:mcp|fastmcp|anyio|pydantic|failwell|asyncio)[/\\]")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says about one of its tools."""

    name: str
    schema: Mapping[str, Any] | None = None
    structured: bool = False
    read_only: bool = False
    idempotent: bool = False

    @classmethod
    def of(cls, name: str, schema: Any, structured: bool, annotations: Any) -> Facts:
        return cls(
            name,
            schema if isinstance(schema, Mapping) else None,
            structured,
            bool(getattr(annotations, "read_only_hint", False)),
            bool(getattr(annotations, "idempotent_hint", False)),
        )


class Abandoned(Exception):
    """Something that a tool waited for was cancelled, though the call itself was not."""


def taken(exc: BaseException) -> BaseException:
    """`exc` as a failure. An order to stop is raised again; a cancellation is one if this call is what is cancelled."""
    if isinstance(exc, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            return Abandoned()
    if is_order(exc):
        raise exc
    return exc


class BrokenResult(Exception):
    """A tool ran to its end and returned what its output schema does not allow."""


class Boundary:
    """The way from exceptions to answers, with one server's options."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.stats = Stats()
        self._guards: dict[int, tuple[Any, Guard]] = {}

    def returned(self, tool: str, started: float, result: T) -> T:
        """Count a call that came back."""
        self.stats.add(tool, started, getattr(result, "is_error", False) is True)
        return result

    def failed(
        self,
        exc: BaseException,
        tool: Facts,
        arguments: Mapping[str, Any] | None,
        started: float,
        *,
        era: str,
        rejected: bool = False,
    ) -> Outcome:
        """Count a call that failed, and say what it means."""
        outcome: Outcome | None = None
        try:
            outcome = self.failure(exc, tool, arguments, era=era, rejected=rejected)
        finally:
            self.stats.add(tool.name, started, True, outcome)
        return outcome

    def is_protocol(self, exc: MCPError, era: str) -> bool:
        """Whether the error stays one of the protocol's. A page to visit has no number of its own any more."""
        if exc.code == URL_ELICITATION and era >= MODERN_ERA:
            return False
        return exc.code in self.options.protocol_numbers

    def failure(
        self,
        exc: BaseException,
        tool: Facts,
        arguments: Mapping[str, Any] | None = None,
        *,
        era: str,
        rejected: bool = False,
    ) -> Outcome:
        """What `exc` means to the caller of `tool`. `rejected` says that the arguments did not pass the schema.

        Raises what is no failure: an order to stop, or business between client and server.
        """
        if is_order(exc):
            raise exc
        if isinstance(exc, MCPError) and self.is_protocol(exc, era):
            raise self.safe(exc)
        outcome = exc if isinstance(exc, NeedsInput) else self._meaning(exc, tool, arguments or {}, rejected)
        if arguments and (secrets := secret_values(arguments, self._guard(tool.schema))):
            # What was sent as a secret is one wherever it turns up.
            outcome = self.options.guard.knowing(secrets)(outcome)
        if isinstance(outcome, ToolError):
            self._log(outcome, tool.name, exc)
        return outcome

    def safe(self, exc: MCPError) -> MCPError:
        """A protocol error without secrets; itself if it has none."""
        if exc.code == URL_ELICITATION:
            # The page is for the user, and its address must work.
            return exc
        held = ToolError(exc.message, details=None if exc.data is None else {"data": exc.data})
        guard = replace(self.options.guard, fences=False)
        masked = guard(held)
        if masked is held:
            return exc
        return MCPError(code=exc.code, message=masked.message, data=masked.details.get("data"))

    def _meaning(self, exc: BaseException, tool: Facts, arguments: Mapping[str, Any], rejected: bool) -> Outcome:
        own = from_error(exc, context=False)
        if own is not None:
            return own if own.tool else own.replace(tool=tool.name)
        error = None
        if rejected:
            problem = exc if _is_pydantic(exc) else exc.__cause__
            if problem is not None and _is_pydantic(problem):
                error = from_pydantic(problem, tool=tool.name, schema=tool.schema, arguments=arguments)
        elif _is_pydantic(exc):
            # Raised in the body. Its data are the caller's only if they came with the call.
            place = anchored(exc, arguments)
            error = (
                from_pydantic(exc, tool=tool.name, schema=tool.schema, arguments=arguments, at=place)
                if place is not None
                else ToolError("The tool met data that it cannot use.", code="INTERNAL_ERROR")
            )
        if error is None:
            error = classify(exc, table=self.options.table)
        changes: dict[str, Any] = {"tool": tool.name, "debug": _debug(exc, error), "cause": exc}
        if error.code == "INTERNAL_ERROR":
            text = said(exc) if self.options.show_text else ""
            changes["message"] = f"[{tool.name}] {text or error.message}"
        if isinstance(exc, BrokenResult):
            changes["effect"] = Effect.DONE
        if tool.read_only:
            changes["effect"] = Effect.NONE
        elif tool.idempotent and error.effect is Effect.UNKNOWN:
            # Whether it took effect does not matter: twice is the same as once.
            changes["effect"] = None
        return error.replace(**changes)

    def no_such_tool(self, name: str, names: Iterable[str], started: float) -> ToolError:
        """A call of a tool that does not exist, with the nearest that do; raised where it is to be a protocol error."""
        error = unknown_tool(name, list(names))
        log.info("There is no tool %r.", self.options.guard.redact(name[:100]))
        self.stats.add(UNKNOWN, started, True, error)
        if self.options.unknown_tool == "protocol":
            raise self.attached(error, {"name": name[:100]})
        return error

    def result(self, outcome: Outcome, tool: Facts, era: str) -> dict[str, Any]:
        """The answer as the result of the call, or the protocol error the options ask for, raised."""
        options = self.options
        guard = self._guard(tool.schema)
        if isinstance(outcome, ToolError):
            if outcome.code in options.protocol:
                raise self.protocol_error(outcome, era=era)
            if tool.structured and not outcome.is_error:
                # A result that is no error must have the promised form, and a remark alone has not.
                outcome = outcome.replace(severity="error")
        outcome = guard(outcome)
        wire = dict(options.wire)
        with_meta = wire.pop("meta", True)
        terse = options.format in _TERSE
        said = _whole(outcome) if terse else outcome
        # Guarded above; a message that says everything may have to be cut, though.
        last = guard if terse else None
        answer = to_result(said, options.format, guard=last, era=era, output_schema=tool.structured, meta=False, **wire)
        if with_meta:
            answer["_meta"] = {META_KEY: outcome.to_dict(), **answer.get("_meta", {})}
        if tool.structured:
            # Neither has a question.
            answer["isError"] = True
        # The runner says which kind of result it is, in the era's own words.
        answer.pop("resultType", None)
        return answer

    def protocol_error(self, error: ToolError, *, era: str) -> MCPError:
        """The failure as a JSON-RPC error in the form of contract 004."""
        wire: Any = to_wire(error, "jsonrpc", carry=True, guard=self.options.guard, era=era, actionable=True)
        return MCPError(code=wire["code"], message=wire["message"], data=wire.get("data"))

    def request_error(self, exc: BaseException, what: str, about: Mapping[str, Json]) -> MCPError:
        """A failed read, prompt or completion: the specification's number, and the whole error in the data."""
        if isinstance(exc, MCPError):
            if exc.code in self.options.protocol_numbers or _is_ours(exc):
                return self.safe(exc)
            if exc.code == INTERNAL_ERROR and exc.__cause__ is not None:
                # A framework's word for a crash.
                exc = exc.__cause__
        error = from_error(exc, context=False)
        if error is None:
            error = classify(exc, table=self.options.table)
            # Whatever went wrong, these requests only read.
            error.effect = Effect.NONE
            if error.code == "INTERNAL_ERROR":
                error = error.replace(message=f"[{what}] The server failed unexpectedly.")
        self._log(error, what, exc)
        return self.attached(error, about)

    def attached(self, error: ToolError, about: Mapping[str, Json]) -> MCPError:
        guarded = self.options.guard(error)
        text = self.options.guard.redact
        about = {name: text(value) if isinstance(value, str) else value for name, value in about.items()}
        number = -32602 if guarded.kind in (Kind.NOT_FOUND, Kind.VALIDATION) else -32603
        return MCPError(code=number, message=guarded.message, data={**about, META_KEY: guarded.to_dict()})

    def _guard(self, schema: Mapping[str, Any] | None) -> Guard:
        """The guard that also knows which arguments of the tool are secret."""
        if schema is None:
            return self.options.guard
        known = self._guards.get(id(schema))
        if known is None or known[0] is not schema:
            paths = secret_paths(schema)
            guard = replace(self.options.guard, secret_paths=self.options.guard.secret_paths | paths)
            if len(self._guards) > 1000:
                self._guards.clear()
            known = self._guards[id(schema)] = (schema, guard if paths else self.options.guard)
        return known[1]

    def _log(self, error: ToolError, what: str, exc: BaseException) -> None:
        """One line for what was to be expected; the way there, too, for what was not. Never a secret."""
        crash = error.kind is Kind.INTERNAL and not isinstance(exc, ToolError)
        if not log.isEnabledFor(logging.ERROR if crash else logging.INFO):
            return
        guard = self.options.guard
        # Of wrong arguments the names are enough.
        told = ", ".join(problem.name for problem in error.fields[:10]) or error.debug or error.message
        line, what = guard.text(told), guard.redact(what[:200])
        if crash:
            log.error("%s failed: %s: %s\n%s", what, error.code, line, guard.redact(_way(exc)))
        else:
            log.info("%s failed: %s: %s", what, error.code or error.kind.value, line)


def _way(exc: BaseException) -> str:
    """The frames that led to it, from the tool on: how a framework calls a tool is no news."""
    frames = traceback.extract_tb(exc.__traceback__)
    own = next((index for index, frame in enumerate(frames) if not _FRAMEWORK.search(frame.filename)), 0)
    return "".join(traceback.format_list(frames[own:][-_DEEPEST_TRACEBACK:])).rstrip()


def _debug(exc: BaseException, error: ToolError) -> str | None:
    """What the log is told. A validator's text quotes data, whole or in parts, so of that the places are enough."""
    if error.fields:
        return None
    problem = exc if _is_pydantic(exc) else exc.__cause__
    if problem is not None and _is_pydantic(problem):
        places = sorted({".".join(map(str, loc_of(each))) for each in errors_of(problem)})
        return f"{type(problem).__name__} at {', '.join(places[:20])}"
    return named(exc)


def secret_values(arguments: Mapping[str, Any], guard: Guard) -> tuple[str, ...]:
    """What was sent under a secret name, or where the schema says that a secret stands."""
    paths = guard.secret_paths
    found: dict[str, None] = {}
    waiting: list[tuple[tuple[str | int, ...], object, bool]] = [((), arguments, False)]
    for _ in range(_MOST_VALUES):
        if not waiting:
            break
        path, value, secret = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [
                ((*path, name), item, secret or guard.redact.secret_name(str(name)[:200]) or (*path, name) in paths)
                for name, item in islice(value.items(), _MOST_VALUES)
            ]
        elif isinstance(value, (list, tuple)):
            waiting += [((*path, index), item, secret) for index, item in enumerate(value[:_MOST_VALUES])]
        elif secret and isinstance(value, str) and len(value) >= 4:
            found[value[:_LONGEST_SECRET]] = None
    return tuple(found)


def _whole(outcome: Outcome) -> Outcome:
    """The outcome with a message that says everything, for a format whose message is all that a model reads of it."""
    if isinstance(outcome, NeedsInput):
        return outcome
    return outcome.replace(message=render(outcome, "text", guard=None))


def _is_pydantic(exc: BaseException) -> bool:
    return type(exc).__name__ == "ValidationError" and type(exc).__module__.startswith("pydantic")


def _is_ours(exc: MCPError) -> bool:
    return isinstance(exc.data, dict) and META_KEY in exc.data
