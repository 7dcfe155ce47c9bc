"""Where an exception becomes an answer, whichever framework runs the tool."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, InputRequiredResult

from failwell.classify import classify, from_error, is_order
from failwell.classify.locations import errors_of, loc_of
from failwell.classify.telling import named, said
from failwell.classify.validation import anchored, from_pydantic, unknown_tool
from failwell.formats import FORMATS, META_KEY, Client, Outcome, render, to_result, to_wire
from failwell.formats.clients import find_client
from failwell.formats.jsonrpc import MODERN_ERA
from failwell.guard import Guard, secret_paths
from failwell.model.error import ToolError
from failwell.model.kinds import Effect, Kind
from failwell.model.needs import NeedsInput
from failwell.model.plain import Json, text
from failwell.observe import UNKNOWN, CallEvent, Stats, count_failure, emit, log_failure, mark_failure, new_id

from .asking import Answers, ask, can_ask, missing, resumed
from .call import FORMAT_KEY, Call, current, gate_of
from .declaring import UNDECLARED_KEY, is_undeclared, ruled, said_of
from .envelopes import Envelope
from .idempotency import CODES, Once, key_of
from .options import Options, is_untouched
from .outputs import fitted
from .replies import enveloped, remarked
from .schemas import Checker

log = logging.getLogger("failwell.server")

T = TypeVar("T")
# Formats that have no place for what is wrong with which argument, or for what to do.
_TERSE: Final = frozenset({"typed", "v1", "envelope"})
# What such a format leaves out, and a model needs.
_NEEDED: Final = (
    *("fields", "suggestion", "next_steps", "actions", "patch"),
    *("conflicts", "verify", "retry_after", "reset_at"),
)
# Formats that have no JSON for a tool's `format` argument to choose.
_UNGATED: Final = frozenset({"text", "xml", "toolfailure"})
# Options of `to_result` that are not one format's own.
_GENERAL: Final = frozenset({"carry", "gate", "meta", "prefix"})
_OF_RESULTS: Final = _GENERAL - {"carry"}
URL_ELICITATION: Final = -32042
_MOST_VALUES: Final = 2_000
_LONGEST_SECRET: Final = 10_000


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says about one of its tools."""

    name: str
    schema: Mapping[str, Any] | None = None
    structured: bool = False
    read_only: bool = False
    idempotent: bool = False
    action: str | None = None
    """Which action of a grouped tool was called."""
    function: Any = None
    """What stands behind it, where that is known."""

    @classmethod
    def of(
        cls,
        name: str,
        schema: Any,
        structured: bool,
        annotations: Any,
        action: str | None = None,
        function: Any = None,
    ) -> Facts:
        return cls(
            name,
            schema if isinstance(schema, Mapping) else None,
            structured,
            bool(getattr(annotations, "read_only_hint", False)),
            bool(getattr(annotations, "idempotent_hint", False)),
            action,
            function,
        )

    @property
    def label(self) -> str:
        return self.name if self.action is None else f"{self.name}/{self.action}"


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


class Failed(NamedTuple):
    """A failure that has been read: what it means, which tool it is of, and what was raised."""

    outcome: Outcome
    tool: Facts
    raised: BaseException


def _same(value: Any) -> Any:
    return value


async def _now(value: T | Awaitable[T]) -> T:
    return await value if isinstance(value, Awaitable) else value


class Boundary:
    """The way from exceptions to answers, with one server's options."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.stats = Stats()
        self.once = Once.of(options.idempotency)
        self._envelope = options.format if isinstance(options.format, Envelope) else None
        self._dresses = self._envelope is not None or options.max_output is not None
        self._guards: dict[int, tuple[Any, Guard]] = {}

    async def handle(
        self,
        call: Call,
        run: Callable[[dict[str, Any]], Awaitable[Any]],
        read: Callable[[BaseException], Failed | Awaitable[Failed]],
        facts: Callable[[], Facts | Awaitable[Facts]],
        *,
        opened: Callable[[Any], Any] = _same,
        closed: Callable[[Any], Any] = _same,
        in_span: bool = True,
    ) -> Any:
        """Answer a call: run it, ask the user where it needs an answer, and make what is left of a failure a result.

        `run` and `read` are the framework's part: to run the tool, and to read what it raised. `opened` and `closed`
        turn its results into the SDK's, and back. `in_span` says that the framework's span is still open out here.
        """
        if self.once is not None and (key := key_of(call)) is not None:
            tool = await _now(facts())
            if not (tool.read_only or call.tool in self.options.skip or is_untouched(tool.function)):
                work = partial(self._handle, call, run, read, facts, opened, closed, in_span)
                return await self.once.answer(self, call, key, tool, work, opened, closed, in_span)
        return await self._handle(call, run, read, facts, opened, closed, in_span)

    async def _handle(
        self,
        call: Call,
        run: Callable[[dict[str, Any]], Awaitable[Any]],
        read: Callable[[BaseException], Failed | Awaitable[Failed]],
        facts: Callable[[], Facts | Awaitable[Facts]],
        opened: Callable[[Any], Any],
        closed: Callable[[Any], Any],
        in_span: bool,
    ) -> Any:
        token = current.set(call)
        try:
            sent = call.arguments
            answers: Answers | None = None
            if "inputResponses" in call.params:
                before = resumed(call)
                if isinstance(before, ToolError):
                    # The question was declined, and that is final.
                    return self._answer(call, Failed(before, await _now(facts()), before), closed, in_span)
                answers = before
            while True:
                if answers is not None:
                    call.arguments = {**sent, **answers.values}
                    call.remarks.clear()
                try:
                    result = await (self._ruled(call, run, facts) if self.options.rules else run(call.arguments))
                except BaseException as exc:
                    raised = taken(exc)
                else:
                    # Out here, where nothing that goes wrong could be taken for a failure of the tool.
                    if getattr(result, "is_error", False) is True:
                        self._told(call, Facts(call.tool), None, in_span=in_span)
                        return result
                    self.stats.add(call.counted, call.seconds)
                    if self.options.hooks:
                        self._emit(call, None, ok=True)
                    if self._dresses or call.remarks:
                        return await self._dressed(call, result, facts, opened, closed)
                    return result
                try:
                    failed = await _now(read(raised))
                except BaseException:
                    self._told(call, Facts(call.tool), None, in_span=in_span)
                    raise
                outcome = await self._asked(call, failed, answers)
                if isinstance(outcome, InputRequiredResult):
                    self._told(call, failed.tool, None, asked=True, in_span=in_span)
                    return closed(outcome)
                if not isinstance(outcome, Answers):
                    return self._answer(call, failed._replace(outcome=outcome), closed, in_span)
                answers = outcome
        finally:
            current.reset(token)

    async def _ruled(
        self,
        call: Call,
        run: Callable[[dict[str, Any]], Awaitable[Any]],
        facts: Callable[[], Facts | Awaitable[Facts]],
    ) -> Any:
        rules = self.options.rules
        async with AsyncExitStack() as held:
            for rule in (*rules.get("*", ()), *rules.get(call.tool, ())):
                try:
                    await held.enter_async_context(rule.held(call.arguments))
                except Exception as exc:
                    # The rule may have stumbled over arguments that the tool does not take either.
                    schema = None if isinstance(exc, ToolError) else (await _now(facts())).schema
                    problem = None if schema is None else Checker(schema).problems(call.arguments, call.tool)
                    if problem is None:
                        raise
                    raise problem from None
            return await run(call.arguments)

    async def _asked(
        self, call: Call, failed: Failed, before: Answers | None
    ) -> Answers | Outcome | InputRequiredResult:
        """What asking the user leads to, where there is something to ask: answers, or how the call ends."""
        outcome, tool = failed.outcome, failed.tool
        question = outcome if isinstance(outcome, NeedsInput) else None
        guard = self._guard(tool.schema)
        if question is None and self.options.on_missing == "ask":
            question = missing(outcome)
        if question is None or not can_ask(call):
            return outcome
        found = await ask(call, question, before or Answers({}, 0), tool.schema, guard)
        # A question that could not be asked is answered as what it was.
        return outcome if found is question else found

    async def _dressed(
        self,
        call: Call,
        result: Any,
        facts: Callable[[], Facts | Awaitable[Facts]],
        opened: Callable[[Any], Any],
        closed: Callable[[Any], Any],
    ) -> Any:
        """A success in the server's envelope, not too long, and with what there is to say beside it."""
        try:
            whole = opened(result)
            if not isinstance(whole, CallToolResult):
                return result
            tool = await _now(facts())
            if self.options.max_output is not None:
                whole = fitted(call, whole, self.options.max_output, tool.schema, tool.structured)
            if self._envelope is not None and call.wanted() in (None, "envelope"):
                whole = enveloped(call, whole, self._envelope, tool.structured)
            if call.remarks:
                whole = remarked(call, whole, self.options.guard, self._format(call))
            return closed(whole)
        except Exception as exc:
            # The tool did its work, and whoever called it must know; how it looks comes second.
            log.error("A result of %s was sent as it was: %s.", call.tool[:200], type(exc).__name__)
            return result

    def refused(self, call: Call, raised: BaseException, tool: Facts, *, in_span: bool = True) -> CallToolResult:
        """The answer to a call that never reached its tool."""
        outcome = self.failure(raised, tool, call.arguments, era=call.era)
        answer: CallToolResult = self._answer(call, Failed(outcome, tool, raised), _same, in_span)
        return answer

    def replayed(self, call: Call, tool: Facts, error: ToolError | None, *, failed: bool, in_span: bool) -> None:
        """Tell everybody who watches that a call was answered as it had been before."""
        if failed:
            self._told(call, tool, error, in_span=in_span)
            return
        self.stats.add(call.counted, call.seconds)
        if self.options.hooks:
            self._emit(call, None, ok=True)

    def _answer(self, call: Call, failed: Failed, closed: Callable[[Any], Any], in_span: bool) -> Any:
        """A failure as the result of the call, counted and written down."""
        outcome = call.outcome = self.write_down(failed, call.arguments, call.request_id)
        error = outcome if isinstance(outcome, ToolError) else None
        self._told(call, failed.tool, error, asked=error is None, in_span=in_span)
        as_written = isinstance(failed.raised, ToolError) or (error is not None and error._authored)
        return closed(CallToolResult.model_validate(self.result(outcome, failed.tool, call, as_written=as_written)))

    def write_down(
        self, failed: Failed, arguments: Mapping[str, Any] | None = None, request_id: str | int | None = None
    ) -> Outcome:
        """The failure with the id by which the log knows it."""
        outcome, tool = failed.outcome, failed.tool
        if isinstance(outcome, ToolError):
            outcome = _identified(outcome if outcome.tool else outcome.replace(tool=tool.name, action=tool.action))
            guard = self._known(arguments, tool.schema)
            where: dict[str, Any] = {"tool": tool.name, "action": tool.action, "request_id": request_id}
            log_failure(self.options.logger or log, outcome, exc=failed.raised, guard=guard, **where)
        return outcome

    def _told(
        self, call: Call, tool: Facts, error: ToolError | None, *, asked: bool = False, in_span: bool = True
    ) -> None:
        """Tell everybody who watches how a call ended that was no success."""
        self.stats.add(call.counted, call.seconds, not asked, error, asked)
        if self.options.telemetry:
            if in_span:
                mark_failure(error, tool=call.counted, action=tool.action, asked=asked)
            elif not asked:
                count_failure(error, tool=call.counted)
        if self.options.hooks:
            self._emit(call, error, ok=asked, asked=asked, action=tool.action)

    def _emit(
        self, call: Call, error: ToolError | None, *, ok: bool, asked: bool = False, action: str | None = None
    ) -> None:
        event = CallEvent(
            tool=call.counted,
            action=action,
            ok=ok,
            asked=asked,
            seconds=call.seconds,
            at=datetime.now(UTC),
            error=None if error is None else self.options.guard(error),
            request_id=call.request_id,
            correlation_id=None if error is None else error.correlation_id,
            client=call.client_name,
            era=call.era,
            format=self._format(call),
        )
        emit(self.options.hooks, event)

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
        if isinstance(outcome, ToolError):
            outcome = _identified(outcome)
        guard = self._knowing(arguments, tool.schema)
        _looked.set((self, arguments, tool.schema, guard))
        return outcome if guard is self.options.guard else guard(outcome)

    def _knowing(self, arguments: Mapping[str, Any] | None, schema: Mapping[str, Any] | None) -> Guard:
        """The guard that knows what was sent as a secret, which is one wherever it turns up."""
        guard = self.options.guard
        secrets = secret_values(arguments, self._guard(schema)) if arguments else ()
        return guard.knowing(secrets) if secrets else guard

    def _known(self, arguments: Mapping[str, Any] | None, schema: Mapping[str, Any] | None) -> Guard:
        """The same guard, for a failure that has just been read: who writes it down need not look again."""
        before = _looked.get()
        _looked.set(None)
        # The same objects, not equal ones: what a tool was given may be less than what was sent.
        if before is not None and before[0] is self and before[1] is arguments and before[2] is schema:
            return before[3]
        return self._knowing(arguments, schema)

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
            changes: dict[str, Any] = {}
            if not own.tool:
                changes = {"tool": tool.name, "action": own.action or tool.action}
            if tool.read_only and own.effect is None:
                changes["effect"] = Effect.NONE
            return own.replace(**changes) if changes else own
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
        changes = {
            "tool": tool.name,
            "action": tool.action,
            "debug": _debug(exc, error),
            "cause": exc,
        }
        if error.code == "INTERNAL_ERROR":
            text = said(exc) if self.options.show_text else ""
            changes["message"] = f"[{tool.label}] {text or error.message}"
        if isinstance(exc, BrokenResult):
            changes["effect"] = Effect.DONE
        if tool.read_only:
            changes["effect"] = Effect.NONE
        elif tool.idempotent and error.effect is Effect.UNKNOWN:
            # Whether it took effect does not matter: twice is the same as once.
            changes["effect"] = None
        return error.replace(**changes)

    def no_such_tool(self, call: Call, names: Iterable[str], raised: BaseException | None = None) -> Failed:
        """A call of a tool that does not exist, with the nearest that do; raised where it is to be a protocol error."""
        name, call.counted = call.tool, UNKNOWN
        error = _identified(unknown_tool(name, list(names)))
        if self.options.unknown_tool == "protocol":
            self.write_down(Failed(error, Facts(name), error), call.arguments, call.request_id)
            raise self.attached(error, {"name": name[:100]})
        return Failed(error, Facts(name), raised or error)

    def result(self, outcome: Outcome, tool: Facts, call: Call, *, as_written: bool = False) -> dict[str, Any]:
        """The answer as the result of the call, or the protocol error the options ask for, raised.

        `as_written` says that the author raised just this, or read it so by a row of their own: nothing has to be said
        that they did not say.
        """
        options, era = self.options, call.era
        guard = self._guard(tool.schema)
        if isinstance(outcome, ToolError):
            if outcome.code in options.protocol:
                raise self.protocol_error(outcome, era=era)
            if tool.structured and not outcome.is_error:
                # A result that is no error must have the promised form, and a remark alone has not.
                outcome = outcome.replace(severity="error")
        outcome = guard(outcome)
        asked_for = call.wanted()
        own = "envelope" if isinstance(options.format, Envelope) else options.format
        name = asked_for or own
        wire = {key: value for key, value in options.wire.items() if name == own or key in _GENERAL}
        if (gate := gate_of(tool.schema, call.arguments)) is not None:
            wire["gate"] = gate
            if asked_for is None and name in _UNGATED:
                name = "v1"
        if name == "envelope" and self._envelope is not None:
            wire |= self._envelope.now() | {"strict": self._envelope.strict, "elapsed_ms": call.elapsed_ms}
        with_meta = wire.pop("meta", True)
        terse = name in _TERSE
        said = _referred(outcome) if options.show_reference else outcome
        # Guarded above; a message that says everything may have to be cut, though.
        whole = guard(_whole(said, name, as_written)) if terse else said
        answer = to_result(
            whole,
            name,
            guard=None,
            era=era,
            # Who negotiates our extension knows what a failure looks like.
            output_schema=tool.structured and call.extension is None,
            client=self._client(call),
            meta=False,
            **wire,
        )
        if whole.message != said.message:
            _say_once(answer, whole)
        if options.check_declared and isinstance(outcome, ToolError) and self._is_undeclared(outcome, tool):
            answer["_meta"] = {**answer.get("_meta", {}), UNDECLARED_KEY: outcome.code}
        if with_meta:
            answer["_meta"] = {META_KEY: outcome.to_dict(), **answer.get("_meta", {})}
            if asked_for is not None:
                answer["_meta"][FORMAT_KEY] = name
        if tool.structured:
            # Neither has a question.
            answer["isError"] = True
        # The runner says which kind of result it is, in the era's own words.
        answer.pop("resultType", None)
        return answer

    def _is_undeclared(self, error: ToolError, tool: Facts) -> bool:
        named = (*self.options.rules.get("*", ()), *self.options.rules.get(tool.name, ()))
        codes = (*ruled((tool.function,)), *(code for rule in named for code in rule.codes), *CODES)
        said = said_of(tool.function)
        if not is_undeclared(error, said, codes):
            return False
        log.warning("%s sends %s, which it does not declare; add it to raises(…).", tool.label, error.code)
        return True

    def _format(self, call: Call) -> str:
        """The format of an answer to this call: what the client asked for, or the author's."""
        return call.wanted() or ("envelope" if isinstance(self.options.format, Envelope) else self.options.format)

    def _client(self, call: Call) -> Client | None:
        named = self.options.client
        return call.client if named == "auto" else find_client(named)

    def protocol_error(self, error: ToolError, *, era: str) -> MCPError:
        """The failure as a JSON-RPC error in the form of contract 004."""
        wire = self._contract(error, era=era)
        return MCPError(code=wire["code"], message=wire["message"], data=wire.get("data"))

    def _contract(self, error: ToolError, **options: Any) -> Any:
        """The error object of contract 004, written as the options want that format."""
        own = self.options.wire if self.options.format == "jsonrpc" else {}
        chosen = {key: value for key, value in own.items() if key not in _OF_RESULTS}
        wanted = {"carry": True, "actionable": True, **chosen, **options}
        return to_wire(error, "jsonrpc", guard=self.options.guard, **wanted)

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
        error = _identified(error)
        log_failure(self.options.logger or log, error, tool=what, exc=exc, guard=self.options.guard)
        return self.attached(error, about)

    def attached(self, error: ToolError, about: Mapping[str, Json]) -> MCPError:
        guarded = self.options.guard(error)
        text = self.options.guard.redact
        about = {name: text(value) if isinstance(value, str) else value for name, value in about.items()}
        number = -32602 if guarded.kind in (Kind.NOT_FOUND, Kind.VALIDATION) else -32603
        data: dict[str, Any] = {**about, META_KEY: guarded.to_dict()}
        if self.options.format == "jsonrpc":
            # Who reads the contract looks for its keys here too; the whole error is there already.
            data = {**self._contract(guarded, carry=False)["data"], **data}
        return MCPError(code=number, message=guarded.message, data=data)

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


# Who read the failure at hand, with which arguments of which schema, and the guard that came of it.
_Looked = tuple[Boundary, Mapping[str, Any] | None, Mapping[str, Any] | None, Guard]
_looked: ContextVar[_Looked | None] = ContextVar("_looked", default=None)


def _debug(exc: BaseException, error: ToolError) -> str | None:
    """What the log is told. A validator's text quotes data, whole or in parts, so of that the places are enough."""
    if error.fields:
        return None
    if error.debug is not None and error.debug != named(exc):
        # What a row of the author's table has to say.
        return text(error.debug)
    problem = exc if _is_pydantic(exc) else exc.__cause__
    if problem is not None and _is_pydantic(problem):
        places = sorted({".".join(map(str, loc_of(each))) for each in errors_of(problem)})
        return f"{type(problem).__name__} at {', '.join(places[:20])}"
    return named(exc)


def _identified(error: ToolError) -> ToolError:
    """The error with an id of its own, by which the log is searched."""
    return error if error.correlation_id is not None else error.replace(correlation_id=new_id())


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


def _whole(outcome: Outcome, format: str, as_written: bool) -> Outcome:
    """The outcome with a message that says everything, for a format whose message is all that a model reads of it."""
    if isinstance(outcome, NeedsInput):
        if FORMATS[format].ask is not None:
            return outcome
        known = {name: getattr(outcome, name) for name in ("fields", "reason", "suggestions", "options")}
        return NeedsInput(render(outcome, "text", guard=None), **known)
    if as_written and outcome.effect in (None, Effect.NONE) and not any(getattr(outcome, name) for name in _NEEDED):
        return outcome
    return outcome.replace(message=render(outcome, "text", guard=None))


def _say_once(answer: dict[str, Any], outcome: Outcome) -> None:
    """Take out of the block for people what they would read twice, since the message says everything by itself."""
    told = render(outcome, "text", guard=None)
    for block in answer["content"]:
        if block["text"].endswith(told):
            block["text"] = block["text"].removesuffix(told) + outcome.message


def _referred(outcome: Outcome) -> Outcome:
    """The outcome with a message that names the line in the log."""
    if isinstance(outcome, NeedsInput) or outcome.correlation_id is None:
        return outcome
    return outcome.replace(message=f"{outcome.message} (Reference: {outcome.correlation_id}.)".lstrip())


def _is_pydantic(exc: BaseException) -> bool:
    return type(exc).__name__ == "ValidationError" and type(exc).__module__.startswith("pydantic")


def _is_ours(exc: MCPError) -> bool:
    return isinstance(exc.data, dict) and META_KEY in exc.data
