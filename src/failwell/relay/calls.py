"""Calls of tools: whether they are made, made again, and what is told in the end. The engine decides.

A call with an idempotency key that is made again gets the first answer, or waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from failwell.formats import META_KEY, keys
from failwell.idempotency import StoredCall, StoreUnusable, hash_of, is_key
from failwell.model import NOTHING_RAN, Effect, Kind, NeedsInput, Policy, ToolError, is_refusal_status
from failwell.model import text as plain_text
from failwell.readers import read, text_of
from failwell.recovery import Engine, Limits, explain_failure

from . import answers, failures
from .actions import Note, StopServer, ToServer
from .call_events import CallEvents
from .failed_answers import passed, without_secrets
from .gate import Gate
from .messages import YES, Message, member, params_of, read_frame, says_failed, with_id
from .request import RelayedRequest
from .session import notification
from .stack_traces import traceless
from .states import Event, ServerState, State

if TYPE_CHECKING:
    from .relay_protocol import Question, RelayProtocol

# Numbers that are between client and server, and tell a model nothing: by the first ones the client is asked for
# something else, and nothing was done.
_ASKING_NUMBERS: Final = frozenset({-32021, -32022, -32042})
# The headers are the relay's own, and a client that is told so sends the call again.
_HEADER_MISMATCH: Final = -32020
_DENYING_NUMBERS: Final = frozenset({-32601, -32700})
_REFUSING_NUMBERS: Final = frozenset({-32600, -32602})
_OURS: Final = META_KEY.encode()
_LIST_AGAIN: Final = 1.0
# How many seconds a call waits for a server that ends again and again.
_LONGEST_SILENCE: Final = 5.0
# How soon a key is looked at again that another relay works on, and how long a call that was cancelled may still be
# answered, before nobody knows how it ended.
_LOOK_AGAIN: Final = 0.25
_LAST_WORD: Final = 2.0
LARGEST: Final = 1_000_000
"""How many bytes of an answer are kept; of a larger one only that it was given."""
# A client gives up on a call after a minute, as a rule. What the user has done meanwhile a relay does not see, so that
# only calls in quick succession are stopped; and what a tool fails of may be what it is asked for.
PATIENT: Final = Policy(deadline=45.0, max_delay=20.0)
LIMITS: Final = Limits(loop_after=3, loop_window=10.0, break_after=10, break_for=10.0)


class Calls:
    """The calls of one server's tools."""

    def __init__(self, relay: RelayProtocol) -> None:
        self._relay = relay
        options = relay.options
        policy = options.policy or replace(PATIENT, hold=options.hold)
        self._engine = Engine(policy, relay.clock, relay.jitter, options.shared_hold, LIMITS)
        self._gate = Gate(options.validate)
        self._ended = CallEvents(relay).ended
        self._asked_alive: object = None
        """Which server was asked whether it is still there."""

    # Before a call is sent

    def called(self, request: RelayedRequest) -> None:
        relay, listing = self._relay, self._relay.listing
        relay.session.heard(request)
        request.tool, request.began = str(request.params["name"]), relay.clock.monotonic()
        if relay.is_ending:
            self.end_unsent(request, failures.ending(request.tool))
        elif listing.is_fresh or listing.is_hopeless or relay.state is not ServerState.UP:
            self._admit(request)
        else:
            self._list_first(request)

    def _list_first(self, request: RelayedRequest) -> None:
        """Let a call wait for what the server's tools are by now."""
        self._relay.move(request, Event.LIST)
        self._relay.list_tools()

    def listed(self, request: RelayedRequest) -> None:
        """The tools are known, or will not be, so that a call can be made, by what its tool is now."""
        relay, last = self._relay, request.last
        is_by_old_list = self._goes_by_old_list(request)
        if is_by_old_list and request.run is not None and request.run.left > _LIST_AGAIN:
            relay.move(request, Event.WAIT)
            relay.after(_LIST_AGAIN, lambda: self._repeat(request))
        elif last is None or (self._is_harmless(request, last) and not is_by_old_list):
            self._admit(request)
        else:
            self.end(request, last, request.answer)

    def _goes_by_old_list(self, request: RelayedRequest) -> bool:
        """Whether a call would be made again by the word of a list that another server may have made.

        Behind an address one can be put in another's place, without a session that would end with the first one.
        """
        options, listing, last = self._relay.options, self._relay.listing, request.last
        if last is None or self._relay.state is not ServerState.UP or last.delivery in NOTHING_RAN:
            return False
        if listing.known and not (listing.is_fresh or listing.is_hopeless):
            return True
        is_replaceable = options.remote and options.trusted and listing.is_old
        return is_replaceable and listing.tools.traits(request.tool).repeatable

    def resume(self, request: RelayedRequest) -> None:
        """A server was started anew, for which a call has waited."""
        if request.run is None:
            self._admit(request)
        elif request.is_again and self._relay.listing.known:
            self._list_first(request)
        else:
            self._relay.forward(request)

    def forgive(self) -> None:
        """The server was started anew: that its tools failed in a row says nothing about this one."""
        self._engine.limits.reset_breakers()

    def _admit(self, request: RelayedRequest) -> None:
        """Make a call, unless it had better not be made."""
        try:
            if request.run is None and not self._is_begun(request):
                return
            assert request.run is not None
            refusal = request.run.refusal(self._relay.listing.tools)
            if refusal is None:
                self._relay.forward(request)
            elif request.last is not None:
                # There is something better to tell than why it is not made once more.
                self.end(request, request.last, request.answer)
            else:
                self.refuse(request, refusal)
        except RecursionError:
            # Read, but too deep to be looked at.
            if request.state is not State.SENT:
                request.run, request.arguments = self._engine.begin(request.tool, {}), {}
                is_new = not request.has_key or keys.IDEMPOTENCY_FIRST in request.meta
                self.refuse(request, (failures.too_deep if is_new else failures.too_deep_for_key)(request.tool))

    def _is_begun(self, request: RelayedRequest) -> bool:
        """Whether a new call is to be sent: not before it was checked by a list that is true, nor a second time."""
        relay, listing = self._relay, self._relay.listing
        problem = self._gate.refuses(request.tool, request.arguments, listing)
        is_outdated = (listing.is_old or listing.was_used) and relay.state is ServerState.UP
        if problem is not None and is_outdated and not request.was_relisted:
            # Servers get other tools while they run, and not all of them say so.
            request.was_relisted = True
            self._list_first(request)
            return False
        request.run = self._engine.begin(request.tool, request.arguments)
        if request.has_key and self._is_known_by_key(request):
            return False
        if problem is not None:
            self.refuse(request, problem)
            return False
        if secrets := request.run.secrets_in(listing.tools):
            relay.secrets.learn(secrets)
        return True

    def refuse(self, request: RelayedRequest, why: ToolError) -> None:
        assert request.run is not None
        self.end(request, request.run.record_refusal(why), None)

    def end_unsent(self, request: RelayedRequest, error: ToolError) -> None:
        """A call is not made any more: what it failed of before says more than why."""
        request.run = request.run or self._engine.begin(request.tool, request.arguments)
        self.end(request, request.run.record_refusal(error) if request.last is None else request.last, None)

    # After it was answered, or not

    def answered(self, request: RelayedRequest, frame: bytes, message: Message | None) -> None:
        relay, run = self._relay, request.run
        assert run is not None
        if message is None or _is_success(message):
            result = message.get("result") if message is not None else None
            kind = result.get("resultType") if type(result) is dict else None
            if kind not in ("input_required", "task") and not (type(result) is dict and "task" in result):
                found = read(message) if message is not None and b"success" in frame else None
                if isinstance(found, ToolError) and found.is_error and found.format == "envelope":
                    # Only its contract says that it failed: it passes as it came, and a write is held.
                    run.failed(found, relay.life)
                    last = run.after(found, relay.listing.tools).outcome
                    ending = run.ending(last, relay.listing.tools, is_answer=True)
                    self._finish(request, request.for_client(frame, message), frame, outcome=ending.outcome)
                    return
                self.succeed(request, frame, request.for_client(frame, message))
                return
            # A question to the user, or work that goes on: neither worked nor failed so far.
            run.release()
            if message is not None and says_failed(message):
                # What goes on in the background has failed by now.
                frame, message = passed(relay, request, frame, message)
            self._finish(request, request.for_client(frame, message), frame, is_undone=kind == "input_required")
            return
        if len(frame) > answers.LARGE:
            message = answers.shortened(message)
        made, message = without_secrets(relay, request, frame, message)
        request.is_redacted, frame = made is not frame, made
        request.said, message = message, _normalize(message)
        error = message.get("error")
        number = error.get("code") if type(error) is dict else None
        # It is between client and server by its number, or since it refuses what the client itself put into a call that
        # goes on after a question.
        is_of_protocol = number in _ASKING_NUMBERS | _DENYING_NUMBERS or (
            number in _REFUSING_NUMBERS and not {"inputResponses", "requestState"}.isdisjoint(request.params)
        )
        if number == _HEADER_MISMATCH:
            relay.list_tools()
        outcome = None if is_of_protocol else read(message)
        if not isinstance(outcome, ToolError) or not outcome.is_error:
            # A question to the user, a warning, or what only the client can act on.
            run.release()
            if number in _DENYING_NUMBERS and (denied := read(message)) is not None:
                # It proves nothing: somebody between us and the server may say so of a call that it has passed on.
                run.ending(denied, relay.listing.tools, is_answer=True)
            if outcome is None and error:
                frame = answers.passed(frame, request.said)
            question = outcome if isinstance(outcome, NeedsInput) else None
            is_undone = number in _ASKING_NUMBERS or question is not None
            self._finish(request, request.for_client(frame, None), frame, is_undone=is_undone, outcome=question)
            return
        if outcome.format != "text":
            # Its words are as they came; told on one line, nobody would know a trace among them.
            outcome = traceless(outcome)
        if outcome.tool is None:
            outcome.tool = plain_text(request.tool)
        result = message.get("result") if relay.options.rules is not None else None
        self.settle(request, outcome, frame, "" if result is None else text_of(result))

    def succeed(self, request: RelayedRequest, frame: bytes, for_client: bytes) -> None:
        assert request.run is not None
        request.run.worked(self._relay.listing.tools)
        self._relay.has_worked = True
        self._finish(request, for_client, frame)

    def _finish(
        self, request: RelayedRequest, for_client: bytes, kept: bytes, *, is_undone: bool = False, outcome: Any = None
    ) -> None:
        """A call is answered, and what watches or waits for it is told."""
        self._relay.answer(request, for_client)
        self.keep_answer(request, kept, is_undone=is_undone)
        self._ended(request, outcome)

    def end_unreadable(self, request: RelayedRequest) -> None:
        """An answer came that cannot be read, and is no success."""
        request.last, request.said = None, None
        self.refuse(request, failures.unreadable(request.tool))

    def settle(self, request: RelayedRequest, outcome: ToolError, frame: bytes | None, text: str = "") -> None:
        """A call failed: it is made again where the engine says so and it can do no harm, and told otherwise; `text` is
        what the operator's rules are held against."""
        relay, run, tool, rules = self._relay, request.run, request.tool, self._relay.options.rules
        assert run is not None
        tools = relay.listing.tools
        traits = tools.traits(tool)
        request.is_vouched = False
        if outcome.effect is None and outcome.standing == "quoted" and not traits.repeatable and request.was_let_down:
            # It asked for something in the middle of its work, and did not get it.
            outcome = outcome.replace(effect=Effect.UNKNOWN, delivery="answered")
        elif frame is None and outcome.effect is None and traits.writes and not is_refusal_status(outcome.http_status):
            # Not the server answered, but whatever stands in front of it, and not that it refuses.
            outcome = outcome.replace(effect=Effect.UNKNOWN)
        if rules is not None and outcome.origin != "local":
            outcome, rule = rules.applied(tool, outcome, text)
            if rule is not None:
                request.is_vouched = rule.sets.get("effect") == Effect.NONE
                relay.out.append(Note(f"{rule} decides about a failure of {tool}"))
        outcome = explain_failure(outcome, tool, request.arguments, tools.listed, traits)
        if outcome.origin == "peer" and outcome.kind is Kind.VALIDATION:
            self._gate.heard(outcome, tool, relay.listing)
        run.failed(outcome, relay.life)
        if outcome.delivery == "never_sent" and request.ids:
            request.ids.pop()
        verdict = run.after(outcome, tools)
        request.last, request.answer = verdict.outcome, frame
        wait = verdict.wait if self._is_harmless(request, verdict.outcome) else None
        if wait is not None and run.may_follow(verdict, tools) and run.consume_budget(verdict):
            request.is_again = True
            relay.move(request, Event.WAIT)
            relay.after(wait, lambda: self._repeat(request))
            return
        self.end(request, verdict.outcome, frame)

    def _is_harmless(self, request: RelayedRequest, outcome: object) -> bool:
        """Whether the same call can be made again by a program, after this failure of it.

        By what the tool is, by what the transport saw, or by the word of whoever runs the server. What a failed write
        says of itself is for the model, which sees more than one answer: a server may invite a repeat by mistake.
        """
        if self._relay.listing.tools.traits(request.tool).repeatable or request.is_vouched:
            return True
        if request.has_key and self._relay.session.keeps_keys:
            return True
        return isinstance(outcome, ToolError) and outcome.delivery in NOTHING_RAN

    def _repeat(self, request: RelayedRequest) -> None:
        """The time has come to make a call again."""
        if request.state is not State.WAITING:
            return
        if self._goes_by_old_list(request):
            self._list_first(request)
        else:
            self.listed(request)

    def end(self, request: RelayedRequest, outcome: Any, frame: bytes | None) -> None:
        """Tell what is left of a call."""
        relay, run, listing = self._relay, request.run, self._relay.listing
        assert run is not None
        ending = run.ending(outcome, listing.tools, is_answer=frame is not None)
        if frame is not None and _is_ours(frame) and not ending.notes and not ending.in_doubt:
            # A server that speaks our language has said it all.
            answer = with_id(answers.passed(frame, request.said), None, request.id)
        else:
            result = answers.failed(
                ending,
                format=relay.options.format,
                era=relay.session.era_of(request),
                client=relay.session.client_of(request),
                output_schema=listing.has_output_schema(request.tool),
                original=frame,
                said=request.said,
            )
            if request.is_redacted and answers.ORIGINAL in result.get("_meta", {}):
                result["_meta"][answers.ORIGINAL]["redacted"] = True
            answer = answers.answer(request.id, result)
        is_undone = isinstance(ending.outcome, ToolError) and ending.outcome.effect is Effect.NONE
        self._finish(request, answer, answer, is_undone=is_undone, outcome=ending.outcome)

    # How long it may take

    def timeout_of(self, request: RelayedRequest) -> float | None:
        """How many seconds a call may take without a word; None for no limit."""
        options = self._relay.options
        name = request.tool or request.params["name"]
        return options.timeout if options.rules is None else options.rules.timeout(name, options.timeout)

    def limit(self, request: RelayedRequest) -> None:
        """A call was sent: its time begins."""
        if (seconds := self.timeout_of(request)) is not None:
            request.deadline = self._relay.clock.monotonic() + seconds
            self._relay.at(request.deadline, lambda: self._check_deadline(request))

    def _extend(self, request: RelayedRequest) -> None:
        request.deadline = self._relay.clock.monotonic() + (self.timeout_of(request) or 0.0)

    def limit_wait(self, request: RelayedRequest, *, is_last: bool = False) -> None:
        """A call waits for a server to be started again: not longer than it may take. A first start takes its time, and
        a server that is starting when that is over gets as long again."""
        relay = self._relay
        seconds = self.timeout_of(request) if relay.life is not None else None
        if seconds is None:
            return

        def look() -> None:
            if request.state is not State.QUEUED:
                return
            if relay.state is ServerState.STARTING and not is_last:
                self.limit_wait(request, is_last=True)
            else:
                self._refuse_waiting(request, failures.not_there(request.tool, seconds=seconds))

        relay.after(seconds, look)

    def refuse_in_crash_loop(self, request: RelayedRequest) -> None:
        """A call that would wait long for a server which ends whenever it is started is told so at once."""
        seconds = self._starts_in
        if self._relay.state is ServerState.PAUSING and seconds > _LONGEST_SILENCE:
            self._refuse_waiting(request, failures.crash_loop(request.tool, seconds=ceil(seconds)))

    @property
    def _starts_in(self) -> float:
        return max(0.0, (self._relay.starts_at or 0.0) - self._relay.clock.monotonic())

    def _refuse_waiting(self, request: RelayedRequest, error: ToolError) -> None:
        wait = ceil(self._starts_in)
        self.end_unsent(request, error.replace(retry_after=float(wait)) if wait > 0 else error)

    def _check_deadline(self, request: RelayedRequest) -> None:
        """A call may have taken too long."""
        relay = self._relay
        if request.state is not State.SENT or request.deadline is None:
            return
        if (now := relay.clock.monotonic()) < request.deadline:
            relay.at(request.deadline, lambda: self._check_deadline(request))
            return
        if any(question.at >= request.began for question in relay.asked.values()):
            # The server waits for the user, and has said so.
            self.limit(request)
            return
        relay.move(request, Event.TIME_OUT)
        cancelled = {"requestId": read_frame(request.key), "reason": "It took too long."}
        relay.out.append(ToServer(notification("notifications/cancelled", cancelled)))
        seconds, began = self.timeout_of(request) or now, request.began
        self.settle(request, failures.timed_out(request.tool, seconds=seconds), None)
        life = relay.life
        if relay.state is not ServerState.UP or self._asked_alive is life:
            return
        # Ask a server that let a call wait whether it is still there; one that is frozen is started anew.
        self._asked_alive = life

        def heard(message: Message) -> None:
            self._asked_alive = None

        def look() -> None:
            if relay.life is not life or asked not in relay.own:
                return
            del relay.own[asked]
            self._asked_alive = None
            # A call that is older, and may take its time, may be what it is busy with.
            if not any(each.began < began for each in relay.pending.values() if each.run is not None):
                relay.out.append(StopServer("no answer to anything, so the relay ended it"))

        asked = relay.ask("tools/list" if relay.session.is_modern else "ping", None, heard)
        relay.after(seconds, look)

    def progress(self, message: Message) -> None:
        token = params_of(message).get("progressToken")
        for request in self._relay.pending.values():
            if request.deadline is not None and request.meta.get("progressToken") == token:
                self._extend(request)

    def extend_after(self, question: Question) -> None:
        """The server has what it asked for: the time of the calls that it asked in begins anew."""
        for request in self._relay.pending.values():
            if request.deadline is not None and question.at >= request.began:
                self._extend(request)

    # By its idempotency key

    def _is_known_by_key(self, request: RelayedRequest) -> bool:
        """Whether the call was made before, by its idempotency key: then it is answered, or waits for that answer."""
        relay, key = self._relay, request.meta[keys.IDEMPOTENCY_KEY]
        store = relay.options.keys
        if store is None or relay.session.keeps_keys or relay.listing.tools.traits(request.tool).reads:
            return False
        if not is_key(key):
            self.refuse(request, failures.no_key(request.tool))
            return True
        # Not the client's program: after an update it calls itself something else, and makes the same call.
        claim = hash_of(key, relay.options.caller, relay.options.command)
        call = hash_of(request.tool, request.arguments)
        is_first = request.meta.get(keys.IDEMPOTENCY_FIRST) is not None
        try:
            kept = store.claim(claim, call)
            if kept is None and not is_first and getattr(store, "may_have_lost_keys", False):
                # It may have been made before the store was emptied, behind another relay.
                store.lose(claim)
                kept = StoredCall(call, "lost")
        except StoreUnusable as problem:
            relay.note(str(problem), once="state")
            if is_first:
                # Without its key the call might be made twice.
                self.refuse(request, failures.no_place_for_keys(request.tool))
            else:
                # It may have been made behind another relay.
                self.end(request, failures.no_look_at_keys(request.tool), None)
            return True
        if kept is None:
            request.claim = claim
            return False
        if kept.call != call:
            self.refuse(request, failures.key_reused(request.tool))
        elif kept.state == "running":
            self._join(request, claim)
        elif kept.state == "done" and kept.answer is not None:
            answer = answers.in_era(kept.answer, relay.session.era_of(request))
            relay.answer(request, with_id(answer, None, request.id))
            self._ended(request, None, prevented=True)
        else:
            lost = failures.key_unfinished if kept.state == "lost" else failures.key_done
            self.end(request, lost(request.tool), None)
        return True

    def _join(self, request: RelayedRequest, claim: str) -> None:
        """Another call with the key is running: its answer is waited for, but no longer than a call may take."""
        relay, seconds = self._relay, self.timeout_of(request)
        left = None if seconds is None else request.began + seconds - relay.clock.monotonic()

        def look() -> None:
            if request.state is State.JOINED:
                self.end(request, failures.key_unfinished(request.tool), None)

        if left is not None and left <= 0:
            self.end(request, failures.key_unfinished(request.tool), None)
        elif any(each.claim == claim for each in relay.open):
            relay.move(request, Event.JOIN)
            request.joined = claim
            if left is not None:
                relay.after(left, look)
        else:
            # It runs behind another relay.
            request.run = None
            relay.move(request, Event.WAIT)
            relay.after(_LOOK_AGAIN, lambda: self._repeat(request))

    def keep_answer(self, request: RelayedRequest, frame: bytes, *, is_undone: bool) -> None:
        """Keep how a call with a key was answered, and tell all who waited for it."""
        relay, store, claim = self._relay, self._relay.options.keys, request.claim
        if store is None or not claim:
            return
        request.claim = ""
        message = read_frame(frame)
        is_read = isinstance(message, dict) and message.get("result") is not None
        try:
            if is_undone:
                store.release(claim)
            elif not is_read and not (message is None and frame):
                store.lose(claim)
            else:
                # As it came, or only that it did.
                is_kept = len(frame) <= LARGEST and (is_read or member(frame, "result"))
                store.finish(claim, (frame if frame.endswith(b"\n") else frame + b"\n") if is_kept else None)
        except StoreUnusable as problem:
            relay.note(str(problem), once="state")
        for each in relay.having(State.JOINED):
            if each.joined == claim and frame:
                relay.answer(each, with_id(frame, None, each.id))
                self._ended(each, None, prevented=True)
            elif each.joined == claim:
                # The first one was given up before it was made.
                each.run = None
                self._admit(each)

    def give_up(self, request: RelayedRequest, *, is_sent: bool) -> None:
        """The client has cancelled a call with a key: a server that heeds that will not answer."""
        if is_sent:
            self._relay.after(_LAST_WORD, lambda: self.keep_answer(request, b"", is_undone=False))
        else:
            self.keep_answer(request, b"", is_undone=not request.is_again)

    def abandon(self) -> None:
        """Nothing will be answered any more: what has begun under a key is known as that to whoever asks for it."""
        for request in self._relay.having(State.JOINED):
            self._relay.move(request, Event.CANCEL)
        for request in list(self._relay.open):
            was_sent = request.is_again or request.state in (State.SENT, State.CANCELLED)
            self.keep_answer(request, b"", is_undone=not was_sent)


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
    content = [{"type": "text", "text": "\n".join(_texts(error or result))}]
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": {"content": content, "isError": True}}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)
