"""What happens to a frame: a state machine without input and output, without a clock and without threads.

It is told what came from which side, what became of the server, and that time has passed; it gives what is to be done.
What it need not change it passes on as the bytes that came.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from failwell.formats import META_KEY, keys
from failwell.guards import DEFAULT
from failwell.model import Effect, NeedsInput, ToolError, compact
from failwell.observe import CallEvent, emit
from failwell.readers import is_plain_failure, read, text_of
from failwell.recovery import Clock, Engine, explained

from . import answers, failures, state, tool_schemas
from .actions import Action, Death, Note, Options, Quit, Start, Stop, ToClient, ToServer
from .frames import TooLong
from .gate import Gate
from .listing import LISTS, Listing, same_tools
from .messages import Message, key_of, large_success, params_of, read_frame, with_id, written
from .request import Request
from .session import Session, notification
from .timers import Timers

# Numbers that are between client and server, and tell a model nothing.
_PROTOCOL_NUMBERS: Final = frozenset({-32020, -32021, -32022, -32042, -32601, -32700})
# What changes nothing by the protocol's own word: it is asked again of a new server.
_READS: Final = LISTS | {
    "resources/read",
    "prompts/get",
    "completion/complete",
    "ping",
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
}
# Without one of these words, no success is a failure.
_SUSPECT: Final = (
    b"error", b"fail", b"denied", b"exception", b"not found", b"forbidden", b"unauthor", b"timed out", b"timeout",
    b"refused", b"unavailable", b"invalid", b"status", b'"success"',
)  # fmt: skip
KEY: Final = keys.IDEMPOTENCY_KEY
_LISTING_TIMEOUT: Final = 5.0
_LOOK_AGAIN: Final = 0.25
_GREETING_TIMEOUT: Final = 60.0
_DRAIN_TIMEOUT: Final = 10.0
_SOON: Final = 30.0
_MOST_FALLS: Final = 6
_LONGEST_PAUSE: Final = 30.0
_MOST_HELD: Final = 10_000


class Desk:
    """One server, one client, and what passes between them."""

    def __init__(self, options: Options, clock: Clock, jitter: Callable[[], float]) -> None:
        self.options = options
        self.session = Session()
        self.listing = Listing(trusted=options.trusted, reads=options.reads)
        self._clock = clock
        self._engine = Engine(options.policy, clock, jitter)
        self._gate = Gate(options.validate)
        self._timers = Timers()
        self._out: list[Action] = []
        self._nonce = os.urandom(4).hex()
        self._count = count(1)
        self._pending: dict[bytes, Request] = {}
        """Requests that are with the server, by the id it knows them by."""
        self._own: dict[bytes, Callable[[Message], None]] = {}
        self._held: list[Request | bytes] = []
        """What waits for the server to be there, in order."""
        self._unlisted: list[Request] = []
        """Calls that wait for the list of the tools."""
        self._asked: dict[bytes, Any] = {}
        """What the server asks of the client, by the id the client knows it by, with the server's own."""
        self._stale: set[bytes] = set()
        self._state = "off"
        self._life: object = None
        self._up_since = 0.0
        self._falls = 0
        self._has_answered = False
        self._is_anew = False
        self._is_ending = False
        self._is_idle = False
        """Whether the server is being stopped because nobody calls it."""
        self._called_at = 0.0
        self._noticed: set[str] = set()
        self._is_listing = False
        self._joined: dict[str, list[Request]] = {}
        """Calls that wait for the answer to the first one with their key."""
        self._repeating: set[Request] = set()
        """Calls that wait for their time to be made again."""

    # What whoever drives it needs to know

    @property
    def wakes_at(self) -> float | None:
        return self._timers.next

    @property
    def state(self) -> str:
        """`off`, `starting`, `up` or `down`."""
        return self._state

    def begin(self) -> list[Action]:
        """Start the server, unless it is known well enough to wait for a call."""
        if not (self.options.lazy and self.listing.known):
            self._start()
        return self._taken()

    def _taken(self) -> list[Action]:
        out, self._out = self._out, []
        return out

    def tick(self) -> list[Action]:
        """Time has passed."""
        for due in self._timers.due(self._clock.monotonic()):
            due()
        return self._taken()

    # From the client

    def client(self, frame: bytes | TooLong) -> list[Action]:
        """A frame came from the client."""
        if isinstance(frame, TooLong):
            return self._too_long_for_server(frame)
        message = read_frame(frame)
        if type(message) is not dict:
            return self._batch_from_client(frame, message)
        method = message.get("method")
        if not isinstance(method, str):
            return self._answered_by_client(frame, message)
        if "id" not in message:
            self._notified_by_client(frame, message, method)
        elif method == "tools/call" and isinstance(params_of(message).get("name"), str):
            self._called(Request.of(frame, message))
        else:
            self._requested(Request.of(frame, message))
        return self._taken()

    def _batch_from_client(self, frame: bytes, message: Any) -> list[Action]:
        """What is no single message goes on as it is; requests in a batch are known, so that they can be answered."""
        if frame.strip():
            for each in message if isinstance(message, list) else ():
                if isinstance(each, dict) and "id" in each and "method" in each:
                    request = Request.of(written(each), each)
                    self._pending[request.key] = request
            self._pass(frame)
        return self._taken()

    def _answered_by_client(self, frame: bytes, message: Message) -> list[Action]:
        key = key_of(message.get("id"))
        if key in self._asked:
            asked = self._asked.pop(key)
            self._pass(frame if key_of(asked) == key else with_id(frame, message, asked))
        elif key in self._stale:
            self._stale.discard(key)
        else:
            self._pass(frame)
        return self._taken()

    def _notified_by_client(self, frame: bytes, message: Message, method: str) -> None:
        if method == "notifications/initialized":
            self.session.initialized = frame
        elif method == "notifications/cancelled":
            frame = self._cancelled(frame, message)
        if frame:
            self._pass(frame)

    def _cancelled(self, frame: bytes, message: Message) -> bytes:
        """The client gives a request up; the frame for the server, under the id by which it knows the request."""
        wanted = params_of(message).get("requestId")
        for place in (self._held, self._unlisted):
            for request in [each for each in place if isinstance(each, Request) and each.id == wanted]:
                place.remove(request)
                self._let_go(request)
                if request.claim:
                    self._keep_answer(request, b"", is_undone=not request.is_again)
                return b""
        for key, request in self._pending.items():
            if request.id == wanted and type(request.id) is type(wanted):
                self._let_go(request)
                if key == key_of(wanted):
                    return frame
                changed = {**message, "params": {**params_of(message), "requestId": read_frame(key)}}
                return written(changed)
        for request in self._repeating:
            if request.id == wanted:
                self._let_go(request)
                return b""
        return frame

    def _let_go(self, request: Request) -> None:
        request.cancelled = True
        if request.run is not None:
            request.run.let_go()

    def _requested(self, request: Request) -> None:
        self.session.heard(request)
        if self._state != "up":
            if request.method == "ping":
                self._tell(answers.answer(request.id, {}))
                return
            known = self.session.welcome if request.method == "initialize" else None
            frame = self.listing.answer(request) if known is None else with_id(known, None, request.id)
            if frame is not None:
                self._tell(frame)
                return
        self._forward(request)

    def _too_long_for_server(self, frame: TooLong) -> list[Action]:
        found = re.search(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")', frame.head)
        if found is not None and b'"method"' in frame.head:
            limit = self.options.longest / 1e6
            message = f"The message has {frame.size / 1e6:.0f} MB; {limit:.0f} MB are let through. It was not sent."
            self._tell(answers.error_answer(read_frame(found[1]), message))
        self._once("long", f"a message of {frame.size} bytes from the client was not passed on", loud=True)
        return self._taken()

    # Calls of tools

    def _called(self, request: Request) -> None:
        self.session.heard(request)
        request.tool = str(request.params["name"])
        request.began = self._called_at = self._clock.monotonic()
        if self._is_ending:
            request.run = self._engine.begin(request.tool, request.arguments)
            self._refuse(request, failures.ending(request.tool))
        elif self.listing.is_fresh or self.listing.is_hopeless or self._state != "up":
            self._admit(request)
        else:
            self._unlisted.append(request)
            self._list()

    def _admit(self, request: Request) -> None:
        """Make a call, unless it had better not be made."""
        if request.run is None:
            request.run = self._engine.begin(request.tool, request.arguments)
            if KEY in request.meta and self._is_known_by_key(request):
                return
            problem = self._gate.refuses(request.tool, request.arguments, self.listing)
            if problem is not None:
                self._refuse(request, problem)
                return
        refusal = request.run.refusal()
        if refusal is None:
            self._forward(request)
        elif request.last is not None:
            # There is something better to tell than why it is not made once more.
            self._end(request, request.last, request.answer)
        else:
            self._refuse(request, refusal)

    def _is_known_by_key(self, request: Request) -> bool:
        """Whether the call was made before, by its idempotency key: then it is answered, or waits for that answer."""
        key, kept_keys = request.meta[KEY], self.options.keys
        if kept_keys is None or not isinstance(key, str) or not 0 < len(key) <= 255 or self.session.keeps_keys:
            return False
        claim = state.named(key, self.session.client_of(request), self.options.command)
        call = state.call_of(request.tool, request.arguments)
        kept = kept_keys.begin(claim, call)
        if kept is None:
            request.claim = claim
            return False
        if kept.call != call:
            self._refuse(request, failures.key_reused(request.tool))
        elif kept.state == "running":
            if claim in self._joined or any(each.claim == claim for each in self._under_way()):
                self._joined.setdefault(claim, []).append(request)
            else:
                # It runs behind another relay.
                request.run = None
                self._timers.at(self._clock.monotonic() + _LOOK_AGAIN, lambda: self._again(request))
        elif kept.state == "done" and kept.answer is not None:
            self._tell(b'{"jsonrpc":"2.0","id":' + request.own_key + b',"result":' + kept.answer + b"}\n")
        else:
            lost = failures.key_unfinished if kept.state == "lost" else failures.key_done
            assert request.run is not None
            self._end(request, lost(request.tool), None)
        return True

    def _under_way(self) -> list[Request]:
        held = [each for each in self._held if isinstance(each, Request)]
        return [*self._pending.values(), *self._repeating, *self._unlisted, *held]

    def _keep_answer(self, request: Request, frame: bytes, *, is_undone: bool) -> None:
        """Keep how a call with a key was answered, and tell all who waited for it."""
        kept_keys, claim = self.options.keys, request.claim
        if kept_keys is None or not claim:
            return
        request.claim = ""
        message = read_frame(frame) or {}
        waiting = self._joined.pop(claim, [])
        result = message.get("result")
        if is_undone or result is None:
            kept_keys.forget(claim)
        else:
            answer = compact(result).encode()
            kept_keys.finish(claim, answer if len(answer) <= state.LARGEST else None)
        for each in waiting:
            if not each.cancelled:
                self._admit_joined(each, frame)

    def _admit_joined(self, request: Request, frame: bytes) -> None:
        if frame:
            self._tell(with_id(frame, None, request.id))
        else:
            # The first one was given up before it was made.
            request.run = None
            self._admit(request)

    def _refuse(self, request: Request, why: ToolError) -> None:
        assert request.run is not None
        self._end(request, request.run.refused(why), None)

    def _forward(self, request: Request) -> None:
        if self._state != "up":
            if len(self._held) < _MOST_HELD:
                self._held.append(request)
            self._wake()
            return
        frame = request.frame
        key = request.own_key
        if request.is_again or key in self._pending:
            id = self._new_id()
            key, frame = key_of(id), with_id(frame, request.message, id)
        request.key = key
        self._pending[key] = request
        if request.run is not None:
            request.run.sending()
            self._limit(request)
        self._out.append(ToServer(frame, request))

    def _limit(self, request: Request) -> None:
        seconds = self._timeout_of(request)
        if seconds is None:
            return
        request.deadline = self._clock.monotonic() + seconds
        self._timers.at(request.deadline, lambda: self._late(request))

    def _timeout_of(self, request: Request) -> float | None:
        rules = self.options.rules
        return self.options.timeout if rules is None else rules.timeout(request.tool, self.options.timeout)

    def _late(self, request: Request) -> None:
        """A call may have taken too long."""
        if self._pending.get(request.key) is not request or request.deadline is None or request.cancelled:
            return
        if (now := self._clock.monotonic()) < request.deadline:
            self._timers.at(request.deadline, lambda: self._late(request))
            return
        del self._pending[request.key]
        cancelled = {"requestId": read_frame(request.key), "reason": "It took too long."}
        self._out.append(ToServer(notification("notifications/cancelled", cancelled)))
        self._settle(request, failures.timed_out(request.tool, self._timeout_of(request) or now), None)

    # From the server

    def server(self, frame: bytes | TooLong) -> list[Action]:
        """A frame came from the server."""
        if isinstance(frame, TooLong):
            return self._too_long_for_client(frame)
        key = large_success(frame)
        if key is not None:
            return self._answered(key, frame, None)
        message = read_frame(frame)
        if type(message) is not dict or not ("method" in message or "result" in message or "error" in message):
            return self._noise(frame, message)
        if "method" in message:
            self._asked_by_server(frame, message)
            return self._taken()
        return self._answered(key_of(message.get("id")), frame, message)

    def _noise(self, frame: bytes, message: Any) -> list[Action]:
        if isinstance(message, list):
            for each in message:
                if isinstance(each, dict) and "id" in each:
                    self._pending.pop(key_of(each["id"]), None)
            self._tell(frame)
        elif frame.strip():
            words = failures.last_words(frame[:500].decode("utf-8", "replace"))
            self._once("noise", f"{self.options.command} writes to stdout what is no message: {words}", loud=True)
        return self._taken()

    def _asked_by_server(self, frame: bytes, message: Message) -> None:
        """A request or a notification of the server: the client's business, and passed on."""
        method = message.get("method")
        if "id" in message:
            key = key_of(message["id"])
            if key in self._stale or key in self._asked:
                # The client still knows this id from a server that is gone.
                id = self._new_id()
                key, frame = key_of(id), with_id(frame, message, id)
            self._asked[key] = message["id"]
        elif method == "notifications/tools/list_changed":
            self.listing.changed()
        elif method == "notifications/progress":
            self._progress(message)
        elif method == "notifications/cancelled":
            self._asked.pop(key_of(params_of(message).get("requestId")), None)
        self._tell(frame)

    def _progress(self, message: Message) -> None:
        token = params_of(message).get("progressToken")
        for request in self._pending.values():
            if request.deadline is not None and request.meta.get("progressToken") == token:
                request.deadline = self._clock.monotonic() + (self._timeout_of(request) or 0.0)

    def _answered(self, key: bytes, frame: bytes, message: Message | None) -> list[Action]:
        request = self._pending.pop(key, None)
        if request is None:
            own = self._own.pop(key, None)
            if own is not None:
                own(message or {})
            elif key == b"null":
                self._tell(frame)
            else:
                self._once("stray", "the server answers what nobody asked, or answers twice")
            return self._taken()
        self._has_answered = True
        if request.run is not None and not request.cancelled:
            self._tool_answered(request, frame, message)
        else:
            self._request_answered(request, frame, message)
        return self._taken()

    def _request_answered(self, request: Request, frame: bytes, message: Message | None) -> None:
        if request.method == "initialize":
            self.session.welcomed(frame, message)
        elif request.method in LISTS and message is not None and "result" in message:
            if request.method == "tools/list":
                frame, message = self._mended(frame, message)
            self.listing.learn(request.method, request.params, frame, message)
            if request.method == "tools/list":
                self._listed()
        self._tell(self._for_client(request, frame, message))
        if request.claim:
            # It was cancelled, and is answered all the same.
            self._keep_answer(request, frame, is_undone=False)

    def _mended(self, frame: bytes, message: Message) -> tuple[bytes, Message]:
        """A list of tools without what the APIs of models refuse, where that was asked for."""
        result = message["result"]
        tools = result.get("tools") if isinstance(result, Mapping) else None
        if self.options.mend == "keep" or not isinstance(tools, list):
            return frame, message
        made = tool_schemas.listed(tools, self.options.mend)
        if made == tools:
            return frame, message
        self._once("mended", f"{self.options.command} lists tools that the APIs of models refuse", loud=True)
        message = {**message, "result": {**result, "tools": made}}
        return written(message), message

    def _for_client(self, request: Request, frame: bytes, message: Message | None) -> bytes:
        return frame if request.key == request.own_key else with_id(frame, message, request.id)

    def _tool_answered(self, request: Request, frame: bytes, message: Message | None) -> None:
        assert request.run is not None
        result = message.get("result") if message is not None else None
        is_result = type(result) is dict and result.get("isError") is not True
        if message is None or is_result:
            if message is not None and not self._is_fine(request, frame, message):
                return
            if type(result) is dict and (result.get("resultType", "complete") != "complete" or "task" in result):
                # A question to the user, or work that goes on: neither worked nor failed so far.
                request.run.let_go()
                self._keep_answer(request, frame, is_undone=True)
            else:
                request.run.worked(self.listing.tools)
            self._is_anew = False
            self._tell(self._for_client(request, frame, message))
            self._keep_answer(request, frame, is_undone=False)
            self._ended(request, None)
            return
        error = message.get("error")
        outcome = None
        if not (isinstance(error, Mapping) and error.get("code") in _PROTOCOL_NUMBERS):
            outcome = read(message)
        if not isinstance(outcome, ToolError) or not outcome.is_error:
            # A question to the user, a warning, or what only the client can act on.
            request.run.let_go()
            self._tell(self._for_client(request, frame, message))
            self._keep_answer(request, frame, is_undone=True)
            self._ended(request, outcome if isinstance(outcome, NeedsInput) else None)
            return
        self._settle(request, outcome, frame, text_of(result) if result is not None else "")

    def _is_fine(self, request: Request, frame: bytes, message: Message) -> bool:
        """Whether a success is one. A failure that was plainly sent as one is marked, and never leads to a repeat."""
        if not self.options.mark_successes or not _is_suspect(frame):
            return True
        seen = read(message, observe=True)
        if not isinstance(seen, ToolError) or not is_plain_failure(seen, message):
            return True
        assert request.run is not None
        request.run.let_go()
        tools = self.listing.tools
        ending = request.run.ending(explained(seen, request.tool, request.arguments, tools.listed), tools)
        told = ending.told if isinstance(ending.told, ToolError) else seen
        marked = with_id(answers.marked(message, told), None, request.id)
        self._tell(marked)
        self._keep_answer(request, marked, is_undone=False)
        self._ended(request, ending.outcome)
        return False

    def _settle(self, request: Request, outcome: ToolError, frame: bytes | None, text: str = "") -> None:
        """A call failed: it is made again where the engine says so, and told otherwise."""
        run, tools = request.run, self.listing.tools
        assert run is not None
        outcome = self._ruled(request, outcome, text)
        outcome = explained(outcome, request.tool, request.arguments, tools.listed, text)
        if outcome.origin == "peer":
            self._gate.heard(outcome, request.tool, self.listing)
        run.failed(outcome, self._life)
        verdict = run.after(outcome, tools)
        request.last, request.answer = verdict.outcome, frame
        if verdict.wait is not None and run.may_follow(verdict, tools) and run.takes(verdict):
            request.is_again = True
            self._repeating.add(request)
            self._timers.at(self._clock.monotonic() + verdict.wait, lambda: self._again(request))
            return
        self._end(request, verdict.outcome, frame)

    def _ruled(self, request: Request, outcome: ToolError, text: str) -> ToolError:
        """The failure as the operator's rules have it."""
        if self.options.rules is None or outcome.origin == "local":
            return outcome
        ruled, rule = self.options.rules.applied(request.tool, outcome, text)
        if rule is not None:
            self._out.append(Note(f"{rule} decides about a failure of {request.tool}"))
        return ruled

    def _again(self, request: Request) -> None:
        self._repeating.discard(request)
        if not request.cancelled:
            self._admit(request)

    def _end(self, request: Request, outcome: Any, frame: bytes | None) -> None:
        """Tell what is left of a call."""
        run, session, options = request.run, self.session, self.options
        assert run is not None
        ending = run.ending(outcome, self.listing.tools, is_answer=frame is not None)
        if frame is not None and _is_ours(frame) and not ending.notes and not ending.in_doubt:
            # A server that speaks our language has said it all.
            self._tell(with_id(frame, None, request.id))
        else:
            note = failures.RESTARTED if self._is_anew and frame is not None else ""
            self._is_anew = self._is_anew and frame is None
            result = answers.failed(
                ending,
                format=options.format,
                era=session.era_of(request),
                client=session.client_of(request),
                output_schema=self.listing.has_output_schema(request.tool),
                original=frame,
                keep_original=options.keep_original,
                sent=request.arguments,
                note=note,
            )
            self._tell(answers.answer(request.id, result))
        if request.claim:
            is_undone = isinstance(ending.outcome, ToolError) and ending.outcome.effect is Effect.NONE
            told = self._out[-1]
            self._keep_answer(request, told.frame if isinstance(told, ToClient) else b"", is_undone=is_undone)
        self._ended(request, ending.outcome)

    def _ended(self, request: Request, outcome: Any) -> None:
        """A call has ended: tell whoever watches."""
        if not self.options.hooks:
            return
        error = DEFAULT(outcome) if isinstance(outcome, ToolError) else None
        event = CallEvent(
            tool=request.tool,
            ok=error is None,
            seconds=self._clock.monotonic() - request.began,
            at=self._clock.now(),
            error=error,
            asked=isinstance(outcome, NeedsInput),
            request_id=request.id if isinstance(request.id, (str, int)) else None,
            client=self.session.client_of(request),
            era=self.session.era_of(request),
            format=self.options.format if error is not None else None,
            attempts=request.run.report.calls if request.run is not None else 1,
        )
        emit(self.options.hooks, event)

    def _too_long_for_client(self, frame: TooLong) -> list[Action]:
        found = re.search(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")', frame.head)
        request = self._pending.pop(found[1], None) if found is not None else None
        limit = self.options.longest
        if request is not None and request.run is not None:
            self._settle(request, failures.too_large(request.tool, frame.size, limit), None)
        elif request is not None:
            message = f"The answer has {frame.size / 1e6:.0f} MB; {limit / 1e6:.0f} MB are let through."
            self._tell(answers.error_answer(request.id, message))
        self._once("large", f"a message of {frame.size} bytes from the server was not passed on", loud=True)
        return self._taken()

    # The list of the tools

    def _list(self, cursor: str | None = None) -> None:
        """Ask for the tools, unless somebody does already."""
        if cursor is None and any(each.method == "tools/list" for each in self._pending.values()):
            return
        if cursor is None and self._is_listing:
            return
        self._is_listing = True
        asked = self._ask(
            "tools/list", {"cursor": cursor} if cursor else None, lambda message: self._page(cursor, message)
        )
        self._timers.at(self._clock.monotonic() + _LISTING_TIMEOUT, lambda: self._unlisted_in_time(asked))

    def _page(self, cursor: str | None, message: Message) -> None:
        self._is_listing = False
        if not isinstance(message.get("result"), Mapping):
            self.listing.is_hopeless = True
        elif (
            following := self.listing.page(cursor, self._mended(b"", message)[1]["result"])
        ) is not None and following != cursor:
            self._list(following)
            return
        self._listed()

    def _unlisted_in_time(self, asked: bytes) -> None:
        if self._own.pop(asked, None) is not None:
            self._is_listing = False
            self.listing.is_hopeless = True
            self._listed()

    def _listed(self) -> None:
        """The tools are known, or will not be."""
        if not (self.listing.is_fresh or self.listing.is_hopeless):
            # The client read the first page only.
            if self._unlisted:
                self._list()
            return
        waiting, self._unlisted = self._unlisted, []
        for request in waiting:
            self._admit(request)

    # The server's life

    def started(self) -> list[Action]:
        """The server's process runs."""
        self._life = object()
        self._up_since = self._clock.monotonic()
        self._is_anew = self._has_answered
        session = self.session
        if session.greeting is None or session.welcome is None:
            self._is_up()
        else:
            asked = self._ask("initialize", session.greeting.get("params"), self._greeted, raw=True)
            life = self._life
            self._timers.at(self._up_since + _GREETING_TIMEOUT, lambda: self._not_greeted(asked, life))
        return self._taken()

    def _greeted(self, message: Message) -> None:
        result = message.get("result")
        if not isinstance(result, Mapping):
            self._once("greeting", "the server refused the handshake that it had taken before", loud=True)
            self._out.append(Stop())
            return
        session = self.session
        if session.initialized is not None:
            self._out.append(ToServer(session.initialized))
        for request in session.after_greeting():
            self._ask(str(request["method"]), request.get("params"), lambda answer: None, raw=True)
        self._is_up()

    def _not_greeted(self, asked: bytes, life: object) -> None:
        if self._life is life and self._own.pop(asked, None) is not None:
            self._out.append(Stop())

    def _is_up(self) -> None:
        self._state = "up"
        held, self._held = self._held, []
        self._called_at = self._clock.monotonic()
        self._rest(self._life)
        if self.listing.known:
            known = self.listing.known
            self.listing.is_fresh = False
            self._ask("tools/list", None, lambda message: self._compared(known, message))
        for each in held:
            if isinstance(each, bytes):
                self._out.append(ToServer(each))
            elif not each.cancelled:
                self._forward(each)

    def _rest(self, life: object) -> None:
        """Stop a server that nobody has called for a while; its tools stay listed."""
        if self.options.idle is None or self._life is not life or self._state != "up":
            return
        now, busy = self._clock.monotonic(), self._pending or self._repeating or self._asked or self.session.subscribed
        until = (now if busy else self._called_at) + self.options.idle
        if now < until:
            self._timers.at(until, lambda: self._rest(life))
            return
        self._is_idle, self._state = True, "starting"
        self._out.append(Stop())

    def _compared(self, known: Mapping[str, Any], message: Message) -> None:
        """A new server may have other tools than the old one had."""
        self._page(None, message)
        if self.listing.is_fresh and not same_tools(known, self.listing.known):
            tools = self.session.capabilities.get("tools")
            self.listing.changed()
            self.listing.is_fresh = True
            if isinstance(tools, Mapping) and tools.get("listChanged"):
                self._tell(notification("notifications/tools/list_changed"))

    def died(self, death: Death) -> list[Action]:
        """The server has ended, or could not be started."""
        was, now = self._state, self._clock.monotonic()
        self._state, self._own = "down", {}
        self._is_listing = False
        lost, self._pending = list(self._pending.values()), {}
        for key in self._asked:
            self._tell(notification("notifications/cancelled", {"requestId": read_frame(key)}))
        self._stale |= self._asked.keys()
        self._asked = {}
        if self._is_idle:
            self._state, self._is_idle = "off", False
            self._out.append(Note("the server was stopped, since nobody called it"))
            if self._held:
                self._wake()
            return self._taken()
        if not self._has_answered and not self.listing.known:
            self._never_started(death, lost)
            return self._taken()
        self._falls = self._falls + 1 if was != "up" or now - self._up_since < _SOON else 1
        line = f"{self.options.command} ended with {failures.reason(death)}; it is started again"
        self._out.append(Note(line, loud=True))
        held, unlisted = self._held, self._unlisted
        self._held, self._unlisted = [], []
        if was == "up":
            # They were not sent yet, and will be.
            self._held = [*held, *unlisted]
        for request in lost:
            self._lost(request, death)
        if was != "up":
            for each in [*held, *unlisted]:
                if isinstance(each, Request):
                    self._not_back(each, death)
        if self._falls < _MOST_FALLS or self._held:
            self._wake()
        return self._taken()

    def _never_started(self, death: Death, lost: list[Request]) -> None:
        line = failures.never_started(death, self.options.command)
        held = [each for each in self._held if isinstance(each, Request)]
        for request in [*lost, *held, *self._unlisted]:
            if not request.cancelled:
                self._tell(answers.error_answer(request.id, line))
        self._out.append(Quit(2, line))

    def _lost(self, request: Request, death: Death) -> None:
        """A request that was with the server when it ended."""
        if request.cancelled:
            if request.claim and self.options.keys is not None:
                self.options.keys.lose(request.claim)
            return
        if request.run is not None:
            is_written = not any(request is each for each in death.unwritten)
            self._settle(request, failures.stopped(death, request.tool, written=is_written), None)
        elif request.method in _READS and not request.losses:
            # It may be what the server dies of, so that is tried once.
            request.losses += 1
            self._held.append(request)
        else:
            error = failures.stopped(death, request.method, written=True)
            self._tell(answers.error_answer(request.id, f"The server stopped ({failures.how(death)}).", error))

    def _not_back(self, request: Request, death: Death) -> None:
        """A request that waited for a server which did not come."""
        if request.cancelled:
            return
        error = failures.not_back(death, self.options.command, request.tool or None)
        if request.run is not None or request.tool:
            request.run = request.run or self._engine.begin(request.tool, request.arguments)
            self._end(request, request.run.refused(error) if request.last is None else request.last, None)
        else:
            self._tell(answers.error_answer(request.id, error.message, error))

    def _wake(self) -> None:
        """See to it that there is a server, as soon as it may be started."""
        if self._state == "off":
            self._start()
        elif self._state == "down":
            self._state = "pausing"
            pause = 0.0 if self._falls <= 1 else min(_LONGEST_PAUSE, 0.25 * 2.0**self._falls)
            self._timers.at(self._clock.monotonic() + pause, self._start)

    def _start(self) -> None:
        if self._state in ("off", "down", "pausing") and not self._is_ending:
            self._state = "starting"
            self._out.append(Start())

    def drain(self) -> list[Action]:
        """Let what is under way come to its end, take nothing new, then end."""
        if not self._is_ending:
            self._is_ending = True
            self._timers.at(self._clock.monotonic() + _DRAIN_TIMEOUT, lambda: self._out.append(Quit(0)))
        return self._taken()

    @property
    def is_drained(self) -> bool:
        if not self._is_ending or self._pending or self._repeating or self._unlisted:
            return False
        return not any(isinstance(each, Request) for each in self._held)

    # Ways out

    def _tell(self, frame: bytes) -> None:
        self._out.append(ToClient(frame))

    def _pass(self, frame: bytes) -> None:
        """Send something that nobody waits for to the server, now or when it is there."""
        if self._state == "up":
            self._out.append(ToServer(frame))
        elif len(self._held) < _MOST_HELD and b'"notifications/initialized"' not in frame:
            self._held.append(frame)

    def _new_id(self) -> str:
        return f"failwell-{self._nonce}-{next(self._count)}"

    def _ask(self, method: str, params: Any, then: Callable[[Message], None], *, raw: bool = False) -> bytes:
        """Ask the server something on our own account."""
        id = self._new_id()
        message = (
            {"jsonrpc": "2.0", "method": method, "params": params} if raw else self.session.request(method, params)
        )
        self._own[key_of(id)] = then
        self._out.append(ToServer(written({**message, "id": id})))
        return key_of(id)

    def _once(self, what: str, line: str, *, loud: bool = False) -> None:
        """Say something once: it would be said of every message."""
        if what not in self._noticed:
            self._noticed.add(what)
            self._out.append(Note(line, loud))


def _is_ours(frame: bytes) -> bool:
    return META_KEY.encode() in frame


def _is_suspect(frame: bytes) -> bool:
    text = frame.lower().replace(b'"iserror"', b"")
    return any(word in text for word in _SUSPECT)
