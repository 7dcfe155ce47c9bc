"""What happens to a frame: a state machine without input and output, without a clock and without threads.

It is told what came from which side, what became of the server, and that time has passed; it gives what is to be done.
What it need not change it passes on as the bytes that came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from .actions import Action, Death, Prepare, RelayOptions
from .frames import TooLong
from .life import Life
from .lists import Lists
from .messages import (
    Message,
    is_deep,
    is_message,
    key_of,
    large_success,
    params_of,
    plain_success,
    read_frame,
    with_id,
    written,
)
from .remembered_tools import LISTS
from .request import RelayedRequest
from .said_failures import says_failed
from .traffic import Question, Traffic

if TYPE_CHECKING:
    from failwell.model import ToolError
    from failwell.recovery import Watch

    from .calls import Calls

_OF_TASKS: Final = "notifications/tasks"
_ID: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")')
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600


class Desk:
    """One server, one client, and what passes between them."""

    def __init__(self, options: RelayOptions, clock: Watch, jitter: Callable[[], float]) -> None:
        self._traffic = traffic = Traffic(options, clock)
        self._lists = Lists(traffic)
        self._jitter = jitter
        self._life = Life(traffic, lambda: self._calls, self._lists)
        self._is_prepared = False
        self.options, self.session, self.listing = options, traffic.session, traffic.listing
        self._lists.admit = lambda request: self._calls.listed(request)
        traffic.wake, traffic.sent = self._life.wake, lambda request: self._calls.deadlines.limit(request)
        traffic.waiting = lambda request: self._calls.deadlines.limit_wait(request)

    @cached_property
    def _calls(self) -> Calls:
        # With it comes all that is known about failures, and nearly all the time that a start would take.
        from .calls import Calls

        return Calls(self._traffic, self._lists, self._jitter)

    # What becomes of the server

    def started(self) -> list[Action]:
        """The server's process runs."""
        self._life.started()
        return self._traffic.taken()

    def died(self, death: Death) -> list[Action]:
        """The server has ended, or could not be started."""
        self._life.died(death)
        return self._traffic.taken()

    def failed(self, key: bytes, error: ToolError) -> list[Action]:
        """A request came to nothing by itself, while others go on: `error` says what the transport saw of it."""
        self._life.failed(key, error)
        return self._traffic.taken()

    def forgotten(self, key: bytes, error: ToolError, *, is_current: bool) -> list[Action]:
        """A request was refused since the session is gone: the one in use, or an earlier one."""
        self._life.forgotten(key, error, is_current=is_current)
        return self._traffic.taken()

    @staticmethod
    def prepare() -> None:
        """Load what calls will need: it may be done in a thread of its own."""
        from . import calls as calls

    def drain(self) -> list[Action]:
        """Let what is under way come to its end, take nothing new, then end."""
        self._life.drain()
        return self._traffic.taken()

    def abandon(self) -> None:
        """Nobody is there any more, neither a client nor a server."""
        if "_calls" in self.__dict__:
            self._calls.keyed.abandon()

    def hide(self, line: str) -> str:
        """A line that the server wrote beside its answers, without the secrets in it."""
        from failwell.redact import masked

        return str(masked(self._traffic.said_aside(line)))

    @property
    def wakes_at(self) -> float | None:
        return self._traffic.timers.next

    def awaits(self, key: bytes) -> bool:
        """Whether the answer to a request is still to come, by the id that the server knows it by."""
        return key in self._traffic.pending or key in self._traffic.own

    @property
    def is_drained(self) -> bool:
        """Whether all that was under way has come to its end."""
        return self._life.is_drained

    @property
    def state(self) -> str:
        """`off`, `starting`, `up` or `down`."""
        return self._traffic.state

    def begin(self) -> list[Action]:
        """Start the server."""
        self._life.start()
        return self._traffic.taken()

    def tick(self) -> list[Action]:
        """Time has passed."""
        for due in self._traffic.timers.due(self._traffic.clock.monotonic()):
            due()
        return self._traffic.taken()

    def client(self, frame: bytes | TooLong, trace: Mapping[str, str] | None = None) -> list[Action]:
        """A frame came from the client; `trace` is what came with it of the trace that it belongs to."""
        if isinstance(frame, TooLong):
            return self._too_long_for_server(frame)
        message = read_frame(frame)
        if type(message) is not dict:
            return self._no_message_from_client(frame, message)
        method = message.get("method")
        if "method" not in message:
            return self._answered_by_client(frame, message)
        if not isinstance(method, str):
            # No request that anybody knows, and the server's to say so.
            method = ""
        if "id" not in message:
            self._notified_by_client(frame, message, method)
        elif (request := _request(frame, message, trace)).is_call:
            self._calls.called(request)
        else:
            self._requested(request)
        return self._traffic.taken()

    def _no_message_from_client(self, frame: bytes, message: Any) -> list[Action]:
        """What cannot be relayed is answered here, if it has an id: it is not JSON, nested too deeply, or a batch. The
        protocol has had none since 2025-06-18."""
        from . import answers

        if isinstance(message, list):
            for each in message:
                if isinstance(each, dict) and "id" in each and "method" in each:
                    words = "Batches are not supported; send one message at a time. It was not sent."
                    self._traffic.tell(answers.error_answer(each["id"], words, number=INVALID_REQUEST))
        elif (found := _ID.search(frame)) is not None and b'"method"' in frame:
            words = "The message could not be read. It was not sent."
            self._traffic.tell(answers.error_answer(read_frame(found[1]), words, number=PARSE_ERROR))
        if frame.strip():
            self._traffic.once("unread", "a line from the client is not a message, and was not passed on", loud=True)
        return self._traffic.taken()

    def _no_message_from_server(self, frame: bytes, message: Any) -> list[Action]:
        """A line of the server that is not a message is kept out, and named once; an answer that says neither how it
        went nor what failed is one all the same."""
        if type(message) is dict:
            key = key_of(message.get("id"))
        elif message is None and is_deep(frame):
            if (key := plain_success(frame) or b"") in self._traffic.pending:
                return self._answered(key, frame, None)
            found = _ID.search(frame)
            key = found[1] if found is not None else b""
        else:
            key = b""
        if (request := self._traffic.pending.pop(key, None)) is not None:
            if request.run is not None and not request.cancelled:
                self._calls.unreadable(request)
            else:
                from .passing import unread

                self._request_answered(request, unread({"id": read_frame(key)}) if message is None else frame, message)
        elif frame.strip() and not self._traffic.was_said("noise"):
            from . import failures

            words = failures.last_words(self._traffic.said_aside(frame.decode("utf-8", "replace"))[:500])
            line = f"{self._traffic.command} writes to stdout what is no message: {words}"
            self._traffic.once("noise", line, loud=True)
        return self._traffic.taken()

    def _answered_by_client(self, frame: bytes, message: Message) -> list[Action]:
        key = key_of(message.get("id"))
        if key in self._traffic.asked:
            asked = self._settled(key)
            if "error" in message:
                for request in self._traffic.pending.values():
                    request.was_let_down = True
            self._traffic.pass_on(frame if key_of(asked) == key else with_id(frame, message, asked))
        elif key in self._traffic.stale:
            self._traffic.stale.discard(key)
        else:
            self._traffic.pass_on(frame)
        return self._traffic.taken()

    def _settled(self, key: bytes) -> Any:
        """What the server asked is answered, or no longer asked: its own id for it."""
        question = self._traffic.asked.pop(key, None)
        if question is None:
            return None
        if "_calls" in self.__dict__:
            self._calls.deadlines.settled(question)
        return question.id

    def _notified_by_client(self, frame: bytes, message: Message, method: str) -> None:
        if method == "notifications/initialized":
            self.session.initialized = frame
        elif method == "notifications/cancelled":
            frame = self._cancelled(frame, message)
        if frame:
            self._traffic.pass_on(frame)

    def _cancelled(self, frame: bytes, message: Message) -> bytes:
        """The client gives a request up; the frame for the server, under the id by which it knows the request."""
        wanted = params_of(message).get("requestId")
        for place in (self._traffic.held, self._traffic.unlisted):
            for request in [each for each in place if isinstance(each, RelayedRequest) and each.id == wanted]:
                place.remove(request)
                self._calls.let_go(request)
                if request.claim:
                    self._calls.keyed.keep_answer(request, b"", is_undone=not request.is_again)
                return b""
        for key, request in self._traffic.pending.items():
            if request.id == wanted and type(request.id) is type(wanted):
                self._calls.let_go(request)
                self._calls.keyed.given_up(request)
                if key == key_of(wanted):
                    return frame
                changed = {**message, "params": {**params_of(message), "requestId": read_frame(key)}}
                return written(changed)
        for request in (*self._traffic.repeating, *self._calls.keyed.waiting):
            if request.id == wanted:
                self._calls.let_go(request)
                return b""
        return frame

    def _requested(self, request: RelayedRequest) -> None:
        self.session.heard(request)
        if self._traffic.state != "up":
            if request.method == "ping":
                from . import answers

                self._traffic.tell(answers.answer(request.id, {}))
                return
            known = self.session.welcome if request.method == "initialize" and self.session.suits(request) else None
            frame = self.listing.answer(request) if known is None else with_id(known, None, request.id)
            if frame is not None:
                self._traffic.tell(frame)
                return
        self._traffic.forward(request)
        if request.method == "initialize" and not self._traffic.has_answered:
            self._life.asked_first(request)

    def _too_long_for_server(self, frame: TooLong) -> list[Action]:
        from . import answers

        found = _ID.search(frame.head)
        if found is not None and b'"method"' in frame.head:
            limit = self.options.longest / 1e6
            message = f"The message has {frame.size / 1e6:.0f} MB; {limit:.0f} MB are let through. It was not sent."
            self._traffic.tell(answers.error_answer(read_frame(found[1]), message))
        self._traffic.once("long", f"a message of {frame.size} bytes from the client was not passed on", loud=True)
        return self._traffic.taken()

    def server(self, frame: bytes | TooLong) -> list[Action]:
        """A frame came from the server."""
        if isinstance(frame, TooLong):
            return self._too_long_for_client(frame)
        key = large_success(frame)
        if key is not None:
            return self._answered(key, frame, None)
        message = read_frame(frame)
        if message is None or not is_message(message):
            return self._no_message_from_server(frame, message)
        if "method" in message:
            self._asked_by_server(frame, message)
            return self._traffic.taken()
        return self._answered(key_of(message.get("id")), frame, message)

    def _asked_by_server(self, frame: bytes, message: Message) -> None:
        """A request or a notification of the server: the client's business, and passed on."""
        method = message.get("method")
        if "id" in message:
            key = key_of(message["id"])
            if key in self._traffic.stale or key in self._traffic.asked:
                # The client still knows this id from a server that is gone.
                id = self._traffic.new_id(type(message["id"]))
                key, frame = key_of(id), with_id(frame, message, id)
            self._traffic.asked[key] = Question(message["id"], self._traffic.clock.monotonic())
        elif method == "notifications/tools/list_changed":
            self.listing.changed()
        elif method == "notifications/progress":
            self._calls.deadlines.progress(message)
        elif method == "notifications/cancelled":
            self._settled(key_of(params_of(message).get("requestId")))
        elif isinstance(method, str) and method.startswith(_OF_TASKS):
            frame, _ = self._leaving(None, frame, message)
        if frame:
            self._traffic.tell(frame)

    def _answered(self, key: bytes, frame: bytes, message: Message | None) -> list[Action]:
        request = self._traffic.pending.pop(key, None)
        if message is None and (request is None or request.run is None):
            # Large, but no call: a list, most likely, which is to be known.
            message = read_frame(frame)
        if request is None:
            own = self._traffic.own.pop(key, None)
            if own is not None:
                own(message or {})
            elif key == b"null":
                self._traffic.tell(self._leaving(None, frame, message)[0])
            elif (meant := self._traffic.spelt_otherwise(key)) is not None:
                id = read_frame(meant)
                return self._answered(meant, with_id(frame, message, id), {**(message or {}), "id": id})
            else:
                self._traffic.once("stray", "the server answers what nobody asked, or answers twice")
            return self._traffic.taken()
        self._traffic.has_answered = True
        if request.run is not None and not request.cancelled:
            try:
                self._calls.tool_answered(request, frame, message)
            except Exception as problem:
                # Whatever a server sends, its other calls go on.
                self._traffic.once("unread", f"an answer could not be read: {type(problem).__name__}", loud=True)
                self._unread(request, frame, message or {})
        else:
            self._request_answered(request, frame, message)
        return self._traffic.taken()

    def _unread(self, request: RelayedRequest, frame: bytes, message: Message) -> None:
        """An answer that nobody here can read: a success passes, a failure is told without its words."""
        result = message.get("result")
        if isinstance(result, dict) and result.get("isError") is not True:
            self._calls.passed(request, frame)
        else:
            self._calls.unreadable(request)

    def _leaving(
        self, request: RelayedRequest | None, frame: bytes, message: Message | None
    ) -> tuple[bytes, Message | None]:
        """A message as it leaves: as it came, or where it says that something failed, without what must not leave."""
        if message is None or not says_failed(message):
            return frame, message
        from .passing import passed

        return passed(self._traffic, request, frame, message)

    def _request_answered(self, request: RelayedRequest, frame: bytes, message: Message | None) -> None:
        frame, message = self._leaving(request, frame, message)
        if request.method == "initialize":
            self.session.welcomed(frame, message)
        elif request.method in LISTS and message is not None and "result" in message:
            if request.method == "server/discover":
                self.session.discovered(message)
            self.listing.learn(request.method, request.params, frame, message)
            if request.method == "tools/list":
                self._lists.listed()
        self._traffic.tell(request.for_client(frame, message))
        if not self._is_prepared:
            # The client has something to do now, and the server too.
            self._is_prepared = True
            self._traffic.out.append(Prepare())
        if request.claim:
            # It was cancelled, and is answered all the same.
            self._calls.keyed.keep_answer(request, frame, is_undone=False)

    def _too_long_for_client(self, frame: TooLong) -> list[Action]:
        from . import answers, failures

        found = _ID.search(frame.head)
        request = self._traffic.pending.pop(found[1], None) if found is not None else None
        limit = self.options.longest
        if request is not None and request.run is not None:
            self._calls.settle(
                request, failures.too_large(request.tool, size=frame.size / 1e6, limit=limit / 1e6), None
            )
        elif request is not None:
            message = f"The answer has {frame.size / 1e6:.0f} MB; {limit / 1e6:.0f} MB are let through."
            self._traffic.tell(answers.error_answer(request.id, message))
        self._traffic.once("large", f"a message of {frame.size} bytes from the server was not passed on", loud=True)
        return self._traffic.taken()


def _request(frame: bytes, message: Message, trace: Mapping[str, str] | None) -> RelayedRequest:
    request = RelayedRequest.of(frame, message)
    if trace:
        request.trace = trace
    return request
