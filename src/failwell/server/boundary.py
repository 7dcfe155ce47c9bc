"""Where a call is run and an exception becomes its answer, whichever framework runs the tool.

A failure passes these steps, each once: read (with its effect), advise, hold, ask, redact, observe, render.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import partial
from operator import is_
from typing import Any, ClassVar, Final

# Needed when arguments are checked: who lacks it should hear so at once, and not in the middle of a call.
import jsonschema_rs  # noqa: F401

from failwell.formats import META_KEY, MODERN_ERA, Outcome, is_structured, jsonrpc
from failwell.model import (
    IN_DOUBT,
    Action,
    Effect,
    Json,
    Kind,
    Marks,
    Nature,
    NeedsInput,
    ToolError,
    is_same_tool,
    marks,
)
from failwell.observe import UNKNOWN, log_failure
from failwell.readers import Checks, unknown_tool
from failwell.recovery import leaves_in_doubt
from failwell.sdk import IS_ERROR, CallToolResult, InputRequiredResult, MCPError, TextContent, changed

from .exception_reader import Reader, own_error, with_correlation_id
from .holding import Holds, confirm
from .idempotent_calls import IdempotentCalls, key_of
from .observer import Observer
from .options import PROTOCOL_NUMBERS, Envelope, Options
from .questions import Answers, ask, missing_arguments_question, read_answers
from .renderer import Renderer, without_secrets
from .replies import dress_result, is_writable, read_envelope, redact_result, replace_surrogates
from .served_call import (
    URL_ELICITATION,
    FailedCall,
    ServedCall,
    ToolInfo,
    current,
    frame_of,
    record_failed_run,
    record_returned_error,
    reraise_control_flow,
    stated_failure,
)
from .wrong_requests import WrongRequests

log = logging.getLogger("failwell.server")

# Not JSON, no request, no such method.
_OF_REQUESTS: Final = frozenset({-32700, -32600, -32601})
_INTERNAL_ERROR: Final = -32603


class FrameworkCall:
    """One call of a tool, as the framework that runs it knows it. Each adapter has a kind of its own, and hands one to
    the boundary, which knows no framework."""

    __slots__ = ()
    flag: ClassVar[str] = IS_ERROR
    """The attribute by which the framework's result says that it is an error."""

    def run(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        """Run the tool with these arguments."""
        raise NotImplementedError

    async def read(self, raised: BaseException) -> FailedCall:
        """Read what the run raised; what is no failure of the tool is raised."""
        raise NotImplementedError

    async def facts(self) -> ToolInfo:
        """What the tool is. Asked only where somebody needs to know: most calls work."""
        raise NotImplementedError

    def to_sdk(self, result: Any) -> Any:
        """The framework's result as the SDK's; None for what is no result of a tool."""
        return result

    def from_sdk(self, result: Any) -> Any:
        """The SDK's result as the framework's."""
        return result

    async def stands_for_another(self) -> bool:
        """Whether the tool is only another name of one on another server, so that what that one said is its own
        answer."""
        return False


class Boundary:
    """What stands between a framework and its tools, with one server's options."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.reader = Reader(options)
        self.renderer = Renderer(options)
        self.idempotency = IdempotentCalls.of(options.idempotency)
        self.observer = Observer(options)
        self.wrong = WrongRequests(options)
        self.list_tools: Callable[[], Awaitable[list[ToolInfo]]] | None = None
        """How to list the tools of the server; set by its adapter."""
        self.holds = Holds(options.hold, options.idempotency)
        self._listing: tuple[list[ToolInfo], list[dict[str, Any]]] = ([], [])
        self._checks = Checks(reads=tuple(options.reads))
        self._has_begun = False
        self._dresses = isinstance(options.format, Envelope) or options.wire.get("max_output") is not None
        self._logger = options.logger or log

    # The call.

    def handle(self, call: ServedCall, framework: FrameworkCall) -> Coroutine[Any, Any, Any]:
        """Answer a call: run it, ask the user where it needs an answer, and make what is left of a failure a result."""
        if isinstance(self.options.format, Envelope) and call.wanted_format()[0] in (None, self.options.form):
            call.enveloped = True
        if self._has_begun and self.idempotency is None:
            # Mostly there is nothing else to see to, and nothing to pass through whenever the tool waits.
            return self._handle(call, framework)
        return self._handle_once(call, framework)

    async def _handle_once(self, call: ServedCall, framework: FrameworkCall) -> Any:
        if not self._has_begun:
            self._has_begun = True
            self.reader.effects.log_unmarked(self._logger, await self._tools())
        if self.idempotency is not None and (key := key_of(call)) is not None:
            tool = await framework.facts()
            if self.reader.effects.nature(tool) is not Nature.READ:
                work = partial(self._handle, call, framework)
                return await self.idempotency.answer(self, call, key, tool, work, framework)
        return await self._handle(call, framework)

    async def _handle(self, call: ServedCall, framework: FrameworkCall) -> Any:
        frame = frame_of(call.request)
        made = frame.marks
        token, marked = current.set(call), marks.set(made)
        made.is_over = False
        try:
            sent = call.arguments
            answers: Answers | None = None
            if call.goes_on:
                before = read_answers(call)
                if isinstance(before, ToolError):
                    # The question was declined, and that is final.
                    declined = self.reader.failed(before, await framework.facts(), before, sent)
                    return framework.from_sdk(self._answer(call, declined))
                answers = before
            if self.holds and (stopped := await self._stop_held(call, framework)) is not None:
                return stopped
            began = time.monotonic()
            while True:
                if answers is not None:
                    call.arguments = {**sent, **answers.values}
                    call.remarks = call.ignored = ()
                try:
                    result = await framework.run(call.arguments)
                except BaseException as exc:
                    try:
                        raised = reraise_control_flow(exc)
                    except BaseException:
                        record_failed_run(call.tool)
                        raise
                else:
                    # Out here, where nothing that goes wrong could be taken for a failure of the tool.
                    if call.enveloped and isinstance(whole := framework.to_sdk(result), CallToolResult):
                        own, whole = read_envelope(call, whole)
                        if own is not None:
                            call.enveloped = False
                            result = framework.from_sdk(changed(whole, is_error=not own["success"]))
                    if getattr(result, framework.flag, False) is True:
                        return await self._answer_returned(call, result, framework)
                    return await self._succeed(call, result, framework, made, began)
                # Read, with the effect of all runs.
                try:
                    failed = await framework.read(raised)
                    if made.runs:
                        failed = self._in_all(failed, made)
                    if not isinstance(failed.outcome, NeedsInput):
                        made.runs += (failed.outcome.effect,)
                except BaseException:
                    record_failed_run(call.tool)
                    self.observer.ended(call, ToolInfo(call.tool), None)
                    raise
                failed = await self._advise(call, failed)
                outcome: Answers | Outcome | InputRequiredResult = failed.outcome
                if isinstance(outcome, NeedsInput) or self.options.questions != "ask":
                    outcome = await self._ask(call, failed, answers)
                if isinstance(outcome, InputRequiredResult):
                    self.observer.ended(call, failed.tool, None, asked=True)
                    return framework.from_sdk(outcome)
                if not isinstance(outcome, Answers):
                    return framework.from_sdk(self._answer(call, failed._replace(outcome=outcome)))
                answers = outcome
        except BaseException as exc:
            frame.raised = exc
            raise
        finally:
            made.is_over = True
            marks.reset(marked)
            current.reset(token)

    async def _stop_held(self, call: ServedCall, framework: FrameworkCall) -> Any:
        """The answer to a call that is not run, since the same call before may have been done; None if it is run."""
        held = await self.holds.find(call)
        if held is None:
            return None
        if held.verify is None:
            held = held._replace(verify=await self._verify_call(call))
        confirmed = await confirm(call, held)
        if isinstance(confirmed, InputRequiredResult):
            self.observer.ended(call, ToolInfo(call.tool), None, asked=True)
            return framework.from_sdk(confirmed)
        if confirmed:
            await self.holds.release(call)
            return None
        error = held.answer()
        failed = self.reader.failed(error, await framework.facts(), error, call.arguments)
        return framework.from_sdk(self._answer(call, failed, prevented=True))

    async def _succeed(self, call: ServedCall, result: Any, framework: FrameworkCall, made: Marks, began: float) -> Any:
        made.has_run = True
        if self.holds and self.holds.of(call, make=False):
            reads = self.reader.effects.traits(await framework.facts()).reads
            await self.holds.succeeded(call, began, reads=reads)
        self.observer.succeeded(call)
        if self._dresses or call.remarks or call.ignored or call.ungated or not is_writable(result):
            return await dress_result(call, result, framework, self.options)
        return result

    # The steps of a failure.

    def read(
        self, exc: BaseException, tool: ToolInfo, arguments: Mapping[str, Any] | None = None, *, era: str, **how: bool
    ) -> FailedCall:
        """What `exc` means to the caller of `tool`; what is business between client and server is raised."""
        if isinstance(exc, MCPError) and self.is_protocol(exc, era):
            raise self.redact_protocol_error(exc)
        return self.reader.read(exc, tool, arguments, **how)

    def _in_all(self, failed: FailedCall, made: Marks) -> FailedCall:
        """A failure, with what earlier runs of the tool in the same call may have done."""
        outcome = failed.outcome
        if not made.runs or not isinstance(outcome, ToolError):
            return failed
        changes = self.reader.effects.in_all(outcome, failed.tool, made)
        return failed._replace(outcome=outcome.replace(**changes)) if changes else failed

    async def _advise(self, call: ServedCall, failed: FailedCall) -> FailedCall:
        """The failure with the read call that tells, where the call may have been done; and it is held."""
        outcome = failed.outcome
        if not isinstance(outcome, ToolError):
            return failed
        changes: dict[str, Any] = {}
        if outcome.tool == failed.tool.name != call.tool:
            # Mounted, it has another name for whoever calls it.
            changes["tool"] = call.tool
        if call.tier is not None and outcome.tier is None and self.options.form == jsonrpc.FORMAT.name:
            changes["tier"] = call.tier
        check = outcome.verify
        if check is None and outcome.effect in IN_DOUBT and (check := await self._verify_call(call)) is not None:
            changes["verify"] = check
        if changes:
            outcome = outcome.replace(**changes)
        await self._hold(call, outcome, failed.tool)
        return failed._replace(outcome=outcome) if changes else failed

    async def _hold(self, call: ServedCall, error: ToolError, tool: ToolInfo) -> None:
        """Hold a write that may have been done. A key answers by itself."""
        is_write = self.reader.effects.traits(tool).nature is Nature.WRITE
        has_key = self.idempotency is not None and key_of(call) is not None
        if is_write and not has_key and leaves_in_doubt(error):
            # The read call that tells is looked for when the call is made again.
            await self.holds.failed(call, error)

    async def _verify_call(self, call: ServedCall) -> Action | None:
        """The read call that tells whether this call was done."""
        tools = await self._tools()
        known, listed = self._listing
        if len(known) != len(tools) or not all(map(is_, known, tools)):
            # Kept as long as the tools stay the same.
            listed = [each.to_listed() for each in tools]
            self._listing = (tools, listed)
        return self._checks.find(call.tool, call.arguments, listed)

    async def _tools(self) -> list[ToolInfo]:
        """The tools of the server; none where they cannot be listed."""
        try:
            return [] if self.list_tools is None else await self.list_tools()
        except Exception:
            return []

    async def _ask(
        self, call: ServedCall, failed: FailedCall, before: Answers | None
    ) -> Answers | Outcome | InputRequiredResult:
        """What asking the user leads to, where there is something to ask: answers, or how the call ends."""
        outcome = failed.outcome
        question = outcome if isinstance(outcome, NeedsInput) else missing_arguments_question(outcome)
        if question is None or self.options.questions == "result":
            return question or outcome
        found = await ask(call, question, before or Answers({}, 0), failed.tool.schema, failed.guard)
        # A question that could not be asked is answered as what it was.
        return outcome if found is question else found

    def _answer(self, call: ServedCall, failed: FailedCall, *, prevented: bool = False) -> CallToolResult:
        """The last steps: a failure is redacted, written down, counted, and rendered as the result of the call."""
        outcome = call.outcome = self.redact_and_log(failed, call.request.request_id, call.era)
        error = outcome if isinstance(outcome, ToolError) else None
        self.observer.ended(call, failed.tool, error, asked=error is None, prevented=prevented)
        result = self.renderer.result(outcome, failed.tool, call, failed.guard, raised=failed.raised)
        return CallToolResult.model_validate(result)

    def redact_and_log(
        self,
        failed: FailedCall,
        request_id: str | int | None = None,
        era: str = MODERN_ERA,
        *,
        number: int | None = None,
    ) -> Outcome:
        """The failure as it may leave, with the id by which the log knows it. Here, and only here, it passes the guard.
        The log is told more than the caller, and masks that by itself. `number` is the one with which it leaves."""
        outcome, tool, raised, guard = failed
        if not isinstance(outcome, ToolError):
            return failed.redacted()
        if outcome.tool is None:
            outcome = outcome.replace(tool=tool.name, action=tool.action)
        if outcome.correlation_id is None:
            outcome = with_correlation_id(outcome)
        told = guard(outcome)
        if not outcome.logged:
            log_failure(
                self._logger,
                outcome,
                tool=tool.name,
                exc=raised,
                guard=guard,
                action=tool.action,
                request_id=request_id,
                number=self.renderer.number(outcome, raised, era) if number is None else number,
                told=told,
            )
        return told

    # Failures that are no exception of a tool.

    async def _answer_returned(self, call: ServedCall, result: Any, framework: FrameworkCall) -> Any:
        """An error that a tool returned: as it is, but for secrets, or with what is known of the call and it does not
        say. One in the form of a contract is written down and counted as what it says."""
        whole = framework.to_sdk(result)
        if not isinstance(whole, CallToolResult):
            self.observer.ended(call, ToolInfo(call.tool), None)
            return result if is_writable(result) else framework.from_sdk(replace_surrogates(whole))
        failed = await self._restate(call, whole, framework)
        if failed is not None:
            record_failed_run(call.tool, failed.outcome)
            answer = self._answer(call, await self._advise(call, failed))
            rest = [block for block in redact_result(whole, failed.guard).content if not isinstance(block, TextContent)]
            return framework.from_sdk(changed(answer, content=[*answer.content, *rest]))
        record_returned_error(call.tool, whole)
        tool = await self._find_tool(call, framework)
        told = whole if is_writable(result) else replace_surrogates(whole)
        about, seen, error = stated_failure(whole), ToolInfo(call.tool), None
        if isinstance(about, ToolError) and META_KEY not in (whole.meta or {}):
            # In the form of a contract: it is read and written down, and told to programs, too.
            own = about.replace(origin=None, format=None, standing=None, notes=(), tool=None, action=None)
            failed = self.reader.read(own, tool, call.arguments)
            about = call.outcome = self.redact_and_log(failed, call.request.request_id, call.era)
            if self.renderer.with_meta:
                told = changed(told, meta={META_KEY: about.to_dict(), **(told.meta or {})})
            seen, error = tool, about if isinstance(about, ToolError) else None
        self.observer.ended(call, seen, error)
        # In its own words it says nothing about its effect.
        quoted = about if isinstance(about, ToolError) else ToolError(kind=Kind.INTERNAL, standing="quoted")
        await self._hold(call, quoted, tool)
        told = redact_result(told, self.reader.guard(tool.schema).hearing(call.arguments))
        return result if told is whole else framework.from_sdk(told)

    async def _restate(self, call: ServedCall, whole: CallToolResult, framework: FrameworkCall) -> FailedCall | None:
        """What is to be said in place of an error that a tool returned: its marks say that something was done, and it
        does not; or it is another server's word about another tool. None if it stands."""
        effects, about = self.reader.effects, stated_failure(whole)
        made = marks.get()
        place = None if made is None else made.effect
        is_silent = not isinstance(about, ToolError) or about.effect in (None, Effect.NONE)
        if (
            isinstance(about, ToolError)
            and about.tool is not None
            # By the same name, too: only what has no code of its own has nothing of its own to tell.
            and not (is_same_tool(call.tool, about.tool) and await framework.stands_for_another())
        ):
            tool = await framework.facts()
            changes = effects.of_passed_on(about, tool)
            if changes["effect"] not in IN_DOUBT:
                return None
            error = ToolError(about.message, code="UPSTREAM_ERROR", **changes)
        elif (place is not None and is_silent) or call.enveloped:
            tool = await framework.facts()
            text = "\n".join(block.text for block in whole.content if isinstance(block, TextContent))
            if isinstance(about, ToolError):
                error = about.replace(origin=None, format=None, standing=None, notes=())
            else:
                # Where everything has an envelope, words need one, too. Of the call they say nothing.
                error = ToolError(text or f"{call.tool} failed.", standing="quoted", authored=True)
            error = error if place is None else error.replace(effect=place)
        else:
            return None
        error = error.replace(tool=tool.name, action=tool.action)
        return self.reader.failed(error, tool, error, call.arguments)

    async def _find_tool(self, call: ServedCall, framework: FrameworkCall) -> ToolInfo:
        """What the tool is; its name where it cannot be found any more."""
        try:
            return await framework.facts()
        except Exception:
            return ToolInfo(call.tool)

    def refuse(self, call: ServedCall, raised: BaseException, tool: ToolInfo, passed: Marks) -> CallToolResult:
        """The answer to a call that is not run."""
        return self._answer(call, self._read_around(call, raised, tool, passed))

    async def answer_around(
        self, call: ServedCall, raised: BaseException, tool: ToolInfo, passed: Marks
    ) -> CallToolResult:
        """The answer to a call where somebody around the tool has failed: before it ran, or after."""
        return self._answer(call, await self._advise(call, self._read_around(call, raised, tool, passed)))

    def _read_around(self, call: ServedCall, raised: BaseException, tool: ToolInfo, passed: Marks) -> FailedCall:
        token = marks.set(passed)
        try:
            return self._in_all(self.read(raised, tool, call.arguments, era=call.era), passed)
        finally:
            marks.reset(token)

    def no_such_tool(self, call: ServedCall, names: Iterable[str], raised: BaseException | None = None) -> FailedCall:
        """A call of a tool that does not exist, with the nearest that do; raised where it is to be a protocol error."""
        name, call.counted = call.tool, UNKNOWN
        error = unknown_tool(name, list(names))
        if self.renderer.is_protocol(error) and self.options.form != jsonrpc.FORMAT.name:
            error = with_correlation_id(error)
            left = self.renderer.attached(error, {"name": name[:100]}, era=call.era, number=-32602)
            failed = self.reader.failed(error, ToolInfo(name), error, call.arguments)
            self.redact_and_log(failed, call.request.request_id, number=left.error.code)
            raise left
        return self.reader.failed(error, ToolInfo(name), raised or error, call.arguments)

    # Errors of the protocol.

    def is_protocol(self, exc: MCPError, era: str) -> bool:
        """Whether the error is between client and server, and no failure of a tool. A page to visit has no number of
        its own any more; and what has the keys of contract 004 is its author's."""
        if exc.error.code == URL_ELICITATION and era >= MODERN_ERA:
            return False
        return exc.error.code in PROTOCOL_NUMBERS and not is_structured({"data": exc.error.data})

    def redact_protocol_error(self, exc: MCPError) -> MCPError:
        """A protocol error without secrets; itself if it has none."""
        if exc.error.code == URL_ELICITATION:
            # The page is for the user, and its address must work.
            return exc
        return without_secrets(exc, self.options.guard)

    def request_error(self, exc: BaseException, what: str, about: Mapping[str, Json], request: Any = None) -> MCPError:
        """A failed read, prompt or completion: the specification's number, and the whole error in the data.

        `request` is the SDK's, which knows its id and its era; None where nobody is spoken to.
        """
        if isinstance(exc, MCPError):
            number, data = exc.error.code, exc.error.data
            is_ours = isinstance(data, dict) and META_KEY in data
            if number in PROTOCOL_NUMBERS or number in _OF_REQUESTS or is_ours:
                return self.redact_protocol_error(exc)
            if number == _INTERNAL_ERROR and exc.__cause__ is not None:
                # A framework's word for a crash.
                exc = exc.__cause__
        error = self.reader.of_request(exc, what)
        era = MODERN_ERA if request is None else request.protocol_version or MODERN_ERA
        left = self.renderer.attached(error, about, era=era, own=own_error(exc) or own_error(exc.__cause__))
        if not error.logged:
            log_failure(
                self._logger,
                error,
                tool=what,
                exc=exc,
                guard=self.options.guard,
                request_id=None if request is None else request.request_id,
                number=left.error.code,
            )
        return left
