"""Calls of tools: whether they are made, made again, and what is told in the end. The engine decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from failwell.formats import META_KEY, keys
from failwell.model import NOTHING_RAN, Effect, Kind, NeedsInput, Policy, ToolError, is_refusal_status
from failwell.model import text as plain_text
from failwell.readers import read, text_of
from failwell.recovery import Engine, Limits, Run, explain_failure

from . import answers, failures
from .actions import Note, ToClient
from .call_events import CallEvents
from .core import RelayCore
from .deadlines import Deadlines
from .failed_answers import passed, without_secrets
from .gate import Gate
from .keyed_calls import KeyedCalls, has_key
from .messages import YES, Message, says_failed, with_id
from .request import RelayedRequest
from .stack_traces import traceless
from .states import Event, ServerState, State

# Numbers that are between client and server, and tell a model nothing: by the first ones the client is asked for
# something else, and nothing was done.
_ASKING_NUMBERS: Final = frozenset({-32021, -32022, -32042})
# The headers are the relay's own, and a client that is told so sends the call again.
_HEADER_MISMATCH: Final = -32020
_PROTOCOL_NUMBERS: Final = _ASKING_NUMBERS | {-32601, -32700}
_REFUSING_NUMBERS: Final = frozenset({-32600, -32602})
_OURS: Final = META_KEY.encode()
_LIST_AGAIN: Final = 1.0
_DISCOVERY: Final = 5.0
# A client gives up on a call after a minute, as a rule. What the user has done meanwhile a relay does not see, so that
# only calls in quick succession are stopped; and what a tool fails of may be what it is asked for.
PATIENT: Final = Policy(deadline=45.0, max_delay=20.0)
LIMITS: Final = Limits(loop_after=3, loop_window=10.0, break_after=10, break_for=10.0)


class Calls:
    """The calls of one server's tools."""

    def __init__(self, core: RelayCore) -> None:
        self._core = core
        self._policy = core.options.policy or replace(PATIENT, hold=core.options.hold)
        self._engine = Engine(self._policy, core.clock, core.jitter, core.options.shared_hold, LIMITS)
        self._gate = Gate(core.options.validate)
        self.keyed, self.deadlines = KeyedCalls(core, self), Deadlines(core, self)
        self.ended = CallEvents(core).ended
        self._is_discovering = False
        """Whether a server of the newer era is asked what it can do."""

    def called(self, request: RelayedRequest) -> None:
        self._core.session.heard(request)
        request.tool = str(request.params["name"])
        request.began = self._core.clock.monotonic()
        if self._core.is_ending:
            request.run = self.begin(request)
            self.refuse(request, failures.ending(request.tool))
        elif self._core.listing.is_fresh or self._core.listing.is_hopeless or self._core.state is not ServerState.UP:
            self.listed(request)
        else:
            self._core.move(request, Event.LIST)
            self._core.lists.list()

    def listed(self, request: RelayedRequest) -> None:
        """The tools are known, so that a call can be made; one with a key, once it is known who keeps keys."""
        core, session = self._core, self._core.session
        is_known = session.announced is not None or not session.is_modern or core.state is not ServerState.UP
        if is_known or not has_key(request) or core.options.keys is None:
            self.admit(request)
            return
        core.move(request, Event.LIST)
        if not self._is_discovering:
            self._is_discovering = True
            asked = core.ask("server/discover", None, self._discovered)
            core.after(_DISCOVERY, lambda: core.own.pop(asked, _nobody)({}))

    def _discovered(self, message: Message) -> None:
        self._is_discovering = False
        self._core.session.discovered(message)
        self._core.lists.listed()

    def begin(self, request: RelayedRequest) -> Run:
        """The attempts at a call, none so far."""
        return self._engine.begin(request.tool, request.arguments)

    def renewed(self) -> None:
        """The server was started anew: that its tools failed in a row says nothing about this one."""
        self._is_discovering = False
        self._engine.limits.reset_breakers()

    def admit(self, request: RelayedRequest) -> None:
        """Make a call, unless it had better not be made."""
        try:
            self._admit(request)
        except RecursionError:
            # Read, but too deep to be looked at.
            if request.state is not State.SENT:
                request.run, request.arguments = request.run or self._engine.begin(request.tool, {}), {}
                is_new = not has_key(request) or keys.IDEMPOTENCY_FIRST in request.meta
                self.refuse(request, (failures.too_deep if is_new else failures.too_deep_for_key)(request.tool))

    def _admit(self, request: RelayedRequest) -> None:
        if request.run is None:
            problem = self._gate.refuses(request.tool, request.arguments, self._core.listing)
            if problem is not None and self._is_outdated(request):
                request.was_relisted = True
                self._when_renewed(request, lambda: self.admit(request))
                return
            request.run = self._engine.begin(request.tool, request.arguments)
            if has_key(request) and self.keyed.is_known(request):
                return
            if problem is not None:
                self.refuse(request, problem)
                return
            if secrets := request.run.secrets_in(self._core.listing.tools):
                self._core.learn_secrets(secrets)
        refusal = request.run.refusal(self._core.listing.tools)
        if refusal is None:
            self._core.forward(request)
        elif request.last is not None:
            # There is something better to tell than why it is not made once more.
            self.end(request, request.last, request.answer)
        else:
            self.refuse(request, refusal)

    def _is_outdated(self, request: RelayedRequest) -> bool:
        """Whether a call may only seem wrong: servers get other tools while they run, and not all of them say so."""
        listing = self._core.listing
        return (listing.is_old or listing.was_used) and self._core.state is ServerState.UP and not request.was_relisted

    def refuse(self, request: RelayedRequest, why: ToolError) -> None:
        assert request.run is not None
        self.end(request, request.run.record_refusal(why), None)

    def tool_answered(self, request: RelayedRequest, frame: bytes, message: Message | None) -> None:
        assert request.run is not None
        result = message.get("result") if message is not None else None
        if message is None or _is_success(message):
            is_asking = type(result) is dict and result.get("resultType") == "input_required"
            if is_asking or (type(result) is dict and ("task" in result or result.get("resultType") == "task")):
                # A question to the user, or work that goes on: neither worked nor failed so far.
                request.run.release()
                frame, message = self._of_task(request, frame, message)
            else:
                request.run.worked(self._core.listing.tools)
                self._core.has_worked = True
            self._core.answer(request, request.for_client(frame, message))
            self.keyed.keep_answer(request, frame, is_undone=is_asking)
            self.ended(request, None)
            return
        if len(frame) > answers.LARGE:
            message = answers.shortened(message)
        made, message = without_secrets(self._core, request, frame, message)
        request.is_redacted, frame = made is not frame, made
        request.said, message = message, _normalize(message)
        error, result = message.get("error"), message.get("result")
        outcome = None
        if not (type(error) is dict and self._is_of_protocol(request, error.get("code"))):
            outcome = read(message)
        if type(error) is dict and error.get("code") == _HEADER_MISMATCH:
            self._core.lists.renew()
        if not isinstance(outcome, ToolError) or not outcome.is_error:
            # A question to the user, a warning, or what only the client can act on.
            request.run.release()
            number = error.get("code") if isinstance(error, Mapping) else None
            if number in _PROTOCOL_NUMBERS - _ASKING_NUMBERS and (denied := read(message)) is not None:
                # It proves nothing: somebody between us and the server may say so of a call that it has passed on.
                request.run.ending(denied, self._core.listing.tools, is_answer=True)
            if outcome is None and error:
                frame = answers.passed(frame, request.said)
            self._core.answer(request, request.for_client(frame, None))
            is_undone = number in _ASKING_NUMBERS or isinstance(outcome, NeedsInput)
            self.keyed.keep_answer(request, frame, is_undone=is_undone)
            self.ended(request, outcome if isinstance(outcome, NeedsInput) else None)
            return
        if outcome.format != "text":
            # Its words are as they came; told on one line, nobody would know a trace among them.
            outcome = traceless(outcome)
        if outcome.tool is None:
            outcome.tool = plain_text(request.tool)
        is_heeded = self._core.options.rules is not None
        self.settle(request, outcome, frame, text_of(result) if is_heeded and result is not None else "")

    def _of_task(self, request: RelayedRequest, frame: bytes, message: Message | None) -> tuple[bytes, Message | None]:
        """What goes on in the background may have failed by now: then it is passed on as a failure is."""
        if message is None or not says_failed(message):
            return frame, message
        return passed(self._core, request, frame, message)

    def _is_of_protocol(self, request: RelayedRequest, number: object) -> bool:
        """Whether an error is between client and server: by its number, or since it refuses what the client itself put
        into a call that goes on after a question."""
        if number in _PROTOCOL_NUMBERS:
            return True
        return number in _REFUSING_NUMBERS and any(
            name in request.params for name in ("inputResponses", "requestState")
        )

    def passed(self, request: RelayedRequest, frame: bytes) -> None:
        """A success that is nested too deeply to be looked at leaves as it came."""
        assert request.run is not None
        request.run.worked(self._core.listing.tools)
        self._core.has_worked = True
        self._core.answer(request, request.for_client(frame, None))
        self.keyed.keep_answer(request, frame, is_undone=False)
        self.ended(request, None)

    def unreadable(self, request: RelayedRequest) -> None:
        """An answer came that cannot be read, and is no success."""
        assert request.run is not None
        request.last, request.said = None, None
        self.end(request, request.run.record_refusal(failures.unreadable(request.tool)), None)

    def settle(self, request: RelayedRequest, outcome: ToolError, frame: bytes | None, text: str = "") -> None:
        """A call failed: it is made again where the engine says so and it can do no harm, and told otherwise."""
        if self._goes_by_old_list(request, outcome):
            request.last, request.answer, request.is_again = outcome, frame, True
            self._when_renewed(request, lambda: self._settle(request, outcome, frame, text))
        else:
            self._settle(request, outcome, frame, text)

    def _goes_by_old_list(self, request: RelayedRequest, outcome: ToolError) -> bool:
        """Whether a call might be made again by the word of a list that another server may have made.

        Behind an address one can be put in another's place, without a session that would end with the first one.
        """
        options, listing = self._core.options, self._core.listing
        if not (options.remote and options.trusted and self._core.state is ServerState.UP):
            return False
        if outcome.delivery in NOTHING_RAN:
            return False
        return listing.is_old and listing.tools.traits(request.tool).repeatable

    def resume(self, request: RelayedRequest) -> None:
        """A server was started anew: a call that is to be made again waits for what its tools are by now."""
        self._when_renewed(request, lambda: self._resume(request))

    def _resume(self, request: RelayedRequest) -> None:
        if self._is_harmless(request, request.last):
            self._core.forward(request)
        else:
            self.end(request, request.last, request.answer)

    def _is_harmless(self, request: RelayedRequest, outcome: object) -> bool:
        """Whether the same call can be made again by a program, after this failure of it.

        By what the tool is, by what the transport saw, or by the word of whoever runs the server. What a failed write
        says of itself is for the model, which sees more than one answer: a server may invite a repeat by mistake.
        """
        if self._core.listing.tools.traits(request.tool).repeatable or request.is_vouched:
            return True
        if has_key(request) and self._core.session.keeps_keys:
            return True
        return isinstance(outcome, ToolError) and outcome.delivery in NOTHING_RAN

    def _when_renewed(self, request: RelayedRequest, then: Callable[[], None]) -> None:
        """List the tools anew, then go on with a call, unless it has ended meanwhile."""
        self._core.move(request, Event.WAIT)
        self._core.lists.renewed(lambda: then() if request.state is State.WAITING else None)

    def _settle(self, request: RelayedRequest, outcome: ToolError, frame: bytes | None, text: str) -> None:
        core, run, tool = self._core, request.run, request.tool
        tools = core.listing.tools
        assert run is not None
        request.is_vouched = False
        traits = tools.traits(tool)
        if outcome.effect is None and outcome.standing == "quoted" and not traits.repeatable and request.was_let_down:
            # It asked for something in the middle of its work, and did not get it.
            outcome = outcome.replace(effect=Effect.UNKNOWN, delivery="answered")
        elif frame is None and outcome.effect is None and traits.writes and not is_refusal_status(outcome.http_status):
            # Not the server answered, but whatever stands in front of it, and not that it refuses.
            outcome = outcome.replace(effect=Effect.UNKNOWN)
        outcome = self._ruled(request, outcome, text) if core.options.rules is not None else outcome
        outcome = explain_failure(outcome, tool, request.arguments, tools.listed, traits)
        if outcome.origin == "peer" and outcome.kind is Kind.VALIDATION:
            self._gate.heard(outcome, tool, core.listing)
        run.failed(outcome, core.life)
        if outcome.delivery == "never_sent" and request.ids:
            request.ids.pop()
        verdict = run.after(outcome, tools)
        request.last, request.answer = verdict.outcome, frame
        wait = verdict.wait if self._is_harmless(request, verdict.outcome) else None
        if wait is not None and run.may_follow(verdict, tools) and run.consume_budget(verdict):
            request.is_again = True
            core.move(request, Event.WAIT)
            core.after(wait, lambda: self.again(request))
            return
        self.end(request, verdict.outcome, frame)

    def _ruled(self, request: RelayedRequest, outcome: ToolError, text: str) -> ToolError:
        """The failure as the operator's rules have it."""
        rules = self._core.options.rules
        if rules is None or outcome.origin == "local":
            return outcome
        ruled, rule = rules.applied(request.tool, outcome, text)
        request.is_vouched = rule is not None and rule.sets.get("effect") == Effect.NONE
        if rule is not None:
            self._core.out.append(Note(f"{rule} decides about a failure of {request.tool}"))
        return ruled

    def again(self, request: RelayedRequest) -> None:
        """The time has come to make a call again."""
        listing, last = self._core.listing, request.last
        if request.state is not State.WAITING:
            return
        if last is not None and self._goes_by_old_list(request, last):
            self._when_renewed(request, lambda: self._once_more(request))
        elif last is not None and self._core.state is ServerState.UP and listing.known and not listing.is_fresh:
            # Another server was started meanwhile, or this one has other tools by now.
            self._when_renewed(request, lambda: self._admit_again(request))
        else:
            self._admit_again(request)

    def _admit_again(self, request: RelayedRequest) -> None:
        """Make a call again by what its tool is now: what it was when that was decided may be over."""
        if request.last is None or self._is_harmless(request, request.last):
            self.admit(request)
        else:
            self.end(request, request.last, request.answer)

    def _once_more(self, request: RelayedRequest) -> None:
        """The same, once the tools were listed anew; where they could not be, a little later."""
        run = request.run
        assert run is not None
        if not self._core.listing.tools.traits(request.tool).repeatable:
            self.end(request, request.last, request.answer)
        elif not self._core.listing.is_old:
            self.admit(request)
        elif run.left > _LIST_AGAIN:
            self._core.after(_LIST_AGAIN, lambda: self.again(request))
        else:
            self.end(request, request.last, request.answer)

    def end(self, request: RelayedRequest, outcome: Any, frame: bytes | None) -> None:
        """Tell what is left of a call."""
        core, run = self._core, request.run
        session, options, listing = core.session, core.options, core.listing
        assert run is not None
        ending = run.ending(outcome, listing.tools, is_answer=frame is not None)
        if frame is not None and _is_ours(frame) and not ending.notes and not ending.in_doubt:
            # A server that speaks our language has said it all.
            core.answer(request, with_id(answers.passed(frame, request.said), None, request.id))
        else:
            result = answers.failed(
                ending,
                format=options.format,
                era=session.era_of(request),
                client=session.client_of(request),
                output_schema=listing.has_output_schema(request.tool),
                original=frame,
                said=request.said,
            )
            if request.is_redacted and answers.ORIGINAL in result.get("_meta", {}):
                result["_meta"][answers.ORIGINAL]["redacted"] = True
            core.answer(request, answers.answer(request.id, result))
        if request.claim:
            is_undone = isinstance(ending.outcome, ToolError) and ending.outcome.effect is Effect.NONE
            told = core.out[-1]
            self.keyed.keep_answer(request, told.frame if isinstance(told, ToClient) else b"", is_undone=is_undone)
        self.ended(request, ending.outcome)

    def let_go(self, request: RelayedRequest) -> None:
        if request.run is not None:
            request.run.release()


def _nobody(message: Message) -> None:
    """The answer has come."""


def _is_ours(frame: bytes) -> bool:
    # A longer one is no answer of ours: they are short.
    return len(frame) <= answers.LARGE and _OURS in frame


def _is_success(message: Message) -> bool:
    """Whether an answer is the result of a call that does not say that it failed."""
    result = message.get("result")
    return type(result) is dict and result.get("isError") not in YES and not message.get("error")


def _normalize(message: Message) -> Message:
    """A failure in a form that the protocol does not know, as a failed result with the texts that are in it."""
    error, result = message.get("error"), message.get("result")
    if not says_failed(message):
        return message
    if type(error) is dict and "code" in error:
        return {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
    if type(result) is dict and result.get("isError") is True and isinstance(result.get("content"), list) and not error:
        return {**message, "jsonrpc": "2.0"}
    text = "\n".join(_texts(error or result))
    return {
        "jsonrpc": "2.0",
        "id": message.get("id"),
        "result": {"content": [{"type": "text", "text": text}], "isError": True},
    }


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
