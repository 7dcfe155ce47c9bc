"""What happens to a frame: a state machine without input and output, without a clock and without threads.

It is told what came from which side, what became of the server, and that time has passed; it gives what is to be done.
What it need not change it passes on as the bytes that came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from .actions import Action, Death, Prepare, RelayOptions
from .core import Question, RelayCore
from .frames import TooLong
from .messages import (
    Message,
    is_deep,
    is_message,
    key_of,
    large_success,
    params_of,
    plain_success,
    read_frame,
    says_failed,
    with_id,
    written,
)
from .remembered_tools import LISTS
from .request import RelayedRequest
from .states import Event, ServerState, State

if TYPE_CHECKING:
    from failwell.model import ToolError
    from failwell.recovery import Watch


_OF_TASKS: Final = "notifications/tasks"
_ID: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")')
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600


class RelayProtocol:
    """One server, one client, and what passes between them. Events go in by its methods, actions come out."""

    def __init__(self, options: RelayOptions, clock: Watch, jitter: Callable[[], float]) -> None:
        self._core = core = RelayCore(options, clock, jitter)
        self._is_prepared = False
        self.options, self.session, self.listing = options, core.session, core.listing

    # What becomes of the server

    def started(self) -> list[Action]:
        """The server's process runs."""
        self._core.lifecycle.started()
        return self._core.taken()

    def died(self, death: Death) -> list[Action]:
        """The server has ended, or could not be started."""
        self._core.lifecycle.died(death)
        return self._core.taken()

    def failed(self, key: bytes, error: ToolError) -> list[Action]:
        """A request came to nothing by itself, while others go on: `error` says what the transport saw of it."""
        self._core.lifecycle.failed(key, error)
        return self._core.taken()

    def forgotten(self, key: bytes, error: ToolError, *, is_current: bool) -> list[Action]:
        """A request was refused since the session is gone: the one in use, or an earlier one."""
        self._core.lifecycle.forgotten(key, error, is_current=is_current)
        return self._core.taken()

    @staticmethod
    def prepare() -> None:
        """Load what calls will need: it may be done in a thread of its own."""
        from . import calls as calls

    def drain(self) -> list[Action]:
        """Let what is under way come to its end, take nothing new, then end."""
        self._core.lifecycle.drain()
        return self._core.taken()

    def abandon(self) -> None:
        """Nobody is there any more, neither a client nor a server."""
        if self._core.has_calls:
            self._core.calls.keyed.abandon()

    def hide(self, line: str) -> str:
        """A line that the server wrote beside its answers, without the secrets in it."""
        from failwell.redact import masked

        return str(masked(self._core.said_aside(line)))

    @property
    def wakes_at(self) -> float | None:
        return self._core.wakes_at

    def awaits(self, key: bytes) -> bool:
        """Whether the answer to a request is still to come, by the id that the server knows it by."""
        return key in self._core.pending or key in self._core.own

    @property
    def is_drained(self) -> bool:
        """Whether all that was under way has come to its end."""
        return self._core.lifecycle.is_drained

    @property
    def state(self) -> str:
        """`off`, `starting`, `up` or `down`."""
        return self._core.state

    def begin(self) -> list[Action]:
        """Start the server."""
        self._core.lifecycle.start()
        return self._core.taken()

    def tick(self) -> list[Action]:
        """Time has passed."""
        self._core.run_due()
        return self._core.taken()

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
            self._core.calls.called(request)
        else:
            self._requested(request)
        return self._core.taken()

    def _no_message_from_client(self, frame: bytes, message: Any) -> list[Action]:
        """What cannot be relayed is answered here, if it has an id: it is not JSON, nested too deeply, or a batch. The
        protocol has had none since 2025-06-18."""
        from . import answers

        if isinstance(message, list):
            for each in message:
                if isinstance(each, dict) and "id" in each and "method" in each:
                    words = "Batches are not supported; send one message at a time. It was not sent."
                    self._core.tell(answers.error_answer(each["id"], words, number=INVALID_REQUEST))
        elif (found := _ID.search(frame)) is not None and b'"method"' in frame:
            words = "The message could not be read. It was not sent."
            self._core.tell(answers.error_answer(read_frame(found[1]), words, number=PARSE_ERROR))
        if frame.strip():
            self._core.once("unread", "a line from the client is not a message, and was not passed on", loud=True)
        return self._core.taken()

    def _no_message_from_server(self, frame: bytes, message: Any) -> list[Action]:
        """A line of the server that is not a message is kept out, and named once; an answer that says neither how it
        went nor what failed is one all the same."""
        if type(message) is dict:
            key = key_of(message.get("id"))
        elif message is None and is_deep(frame):
            if (key := plain_success(frame) or b"") in self._core.pending:
                return self._answered(key, frame, None)
            found = _ID.search(frame)
            key = found[1] if found is not None else b""
        else:
            key = b""
        if (request := self._core.pending.get(key)) is not None:
            is_awaited = self._core.move(request, Event.ANSWER).to is State.SETTLING
            if request.run is not None and is_awaited:
                self._core.calls.unreadable(request)
            else:
                from .failed_answers import unread

                self._request_answered(request, unread({"id": read_frame(key)}) if message is None else frame, message)
        elif frame.strip() and not self._core.was_said("noise"):
            from . import failures

            words = failures.last_words(self._core.said_aside(frame.decode("utf-8", "replace"))[:500])
            line = f"{self._core.command} writes to stdout what is no message: {words}"
            self._core.once("noise", line, loud=True)
        return self._core.taken()

    def _answered_by_client(self, frame: bytes, message: Message) -> list[Action]:
        key = key_of(message.get("id"))
        if key in self._core.asked:
            asked = self._settled(key)
            if "error" in message:
                for request in self._core.pending.values():
                    request.was_let_down = True
            self._core.pass_on(frame if key_of(asked) == key else with_id(frame, message, asked))
        elif key in self._core.stale:
            self._core.stale.discard(key)
        else:
            self._core.pass_on(frame)
        return self._core.taken()

    def _settled(self, key: bytes) -> Any:
        """What the server asked is answered, or no longer asked: its own id for it."""
        question = self._core.asked.pop(key, None)
        if question is None:
            return None
        if self._core.has_calls:
            self._core.calls.deadlines.settled(question)
        return question.id

    def _notified_by_client(self, frame: bytes, message: Message, method: str) -> None:
        if method == "notifications/initialized":
            self.session.initialized = frame
        elif method == "notifications/cancelled":
            frame = self._cancelled(frame, message)
        if frame:
            self._core.pass_on(frame)

    def _cancelled(self, frame: bytes, message: Message) -> bytes:
        """The client gives a request up; the frame for the server, under the id by which it knows the request."""
        wanted = params_of(message).get("requestId")
        for request in (*self._core.queued, *self._core.unlisted):
            if request.id == wanted:
                self._core.move(request, Event.CANCEL)
                self._core.calls.let_go(request)
                if request.claim:
                    self._core.calls.keyed.keep_answer(request, b"", is_undone=not request.is_again)
                return b""
        for key, request in list(self._core.pending.items()):
            if request.id == wanted and type(request.id) is type(wanted):
                if request.state is State.SENT:
                    self._core.move(request, Event.CANCEL)
                self._core.calls.let_go(request)
                self._core.calls.keyed.given_up(request)
                if key == key_of(wanted):
                    return frame
                changed = {**message, "params": {**params_of(message), "requestId": read_frame(key)}}
                return written(changed)
        for request in (*self._core.repeating, *self._core.calls.keyed.waiting):
            if request.id == wanted:
                self._core.move(request, Event.CANCEL)
                self._core.calls.let_go(request)
                return b""
        return frame

    def _requested(self, request: RelayedRequest) -> None:
        self.session.heard(request)
        if self._core.state is not ServerState.UP:
            if request.method == "ping":
                from . import answers

                self._core.tell(answers.answer(request.id, {}))
                return
            known = self.session.welcome if request.method == "initialize" and self.session.suits(request) else None
            frame = self.listing.answer(request) if known is None else with_id(known, None, request.id)
            if frame is not None:
                self._core.tell(frame)
                return
        self._core.forward(request)
        if request.method == "initialize" and not self._core.has_answered:
            self._core.lifecycle.asked_first(request)

    def _too_long_for_server(self, frame: TooLong) -> list[Action]:
        from . import answers

        found = _ID.search(frame.head)
        if found is not None and b'"method"' in frame.head:
            limit = self.options.longest / 1e6
            message = f"The message has {frame.size / 1e6:.0f} MB; {limit:.0f} MB are let through. It was not sent."
            self._core.tell(answers.error_answer(read_frame(found[1]), message))
        self._core.once("long", f"a message of {frame.size} bytes from the client was not passed on", loud=True)
        return self._core.taken()

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
            return self._core.taken()
        return self._answered(key_of(message.get("id")), frame, message)

    def _asked_by_server(self, frame: bytes, message: Message) -> None:
        """A request or a notification of the server: the client's business, and passed on."""
        method = message.get("method")
        if "id" in message:
            key = key_of(message["id"])
            if key in self._core.stale or key in self._core.asked:
                # The client still knows this id from a server that is gone.
                id = self._core.new_id(type(message["id"]))
                key, frame = key_of(id), with_id(frame, message, id)
            self._core.asked[key] = Question(message["id"], self._core.clock.monotonic())
        elif method == "notifications/tools/list_changed":
            self.listing.changed()
        elif method == "notifications/progress":
            self._core.calls.deadlines.progress(message)
        elif method == "notifications/cancelled":
            self._settled(key_of(params_of(message).get("requestId")))
        elif isinstance(method, str) and method.startswith(_OF_TASKS):
            frame, _ = self._leaving(None, frame, message)
        if frame:
            self._core.tell(frame)

    def _answered(self, key: bytes, frame: bytes, message: Message | None) -> list[Action]:
        request = self._core.pending.get(key)
        if message is None and (request is None or request.run is None):
            # Large, but no call: a list, most likely, which is to be known.
            message = read_frame(frame)
        if request is None:
            own = self._core.own.pop(key, None)
            if own is not None:
                own(message or {})
            elif key == b"null":
                self._core.tell(self._leaving(None, frame, message)[0])
            elif (meant := self._core.spelt_otherwise(key)) is not None:
                id = read_frame(meant)
                return self._answered(meant, with_id(frame, message, id), {**(message or {}), "id": id})
            else:
                self._core.once("stray", "the server answers what nobody asked, or answers twice")
            return self._core.taken()
        self._core.has_answered = True
        is_awaited = self._core.move(request, Event.ANSWER).to is State.SETTLING
        if request.run is not None and is_awaited:
            try:
                self._core.calls.tool_answered(request, frame, message)
            except Exception as problem:
                # Whatever a server sends, its other calls go on.
                self._core.once("unread", f"an answer could not be read: {type(problem).__name__}", loud=True)
                self._unread(request, frame, message or {})
        else:
            self._request_answered(request, frame, message)
        return self._core.taken()

    def _unread(self, request: RelayedRequest, frame: bytes, message: Message) -> None:
        """An answer that nobody here can read: a success passes, a failure is told without its words."""
        result = message.get("result")
        if isinstance(result, dict) and result.get("isError") is not True:
            self._core.calls.passed(request, frame)
        else:
            self._core.calls.unreadable(request)

    def _leaving(
        self, request: RelayedRequest | None, frame: bytes, message: Message | None
    ) -> tuple[bytes, Message | None]:
        """A message as it leaves: as it came, or where it says that something failed, without what must not leave."""
        if message is None or not says_failed(message):
            return frame, message
        from .failed_answers import passed

        return passed(self._core, request, frame, message)

    def _request_answered(self, request: RelayedRequest, frame: bytes, message: Message | None) -> None:
        frame, message = self._leaving(request, frame, message)
        if request.method == "initialize":
            self.session.welcomed(frame, message)
        elif request.method in LISTS and message is not None and "result" in message:
            if request.method == "server/discover":
                self.session.discovered(message)
            self.listing.learn(request.method, request.params, frame, message)
            if request.method == "tools/list":
                self._core.lists.listed()
        frame_for_client = request.for_client(frame, message)
        if request.state is State.DONE:
            # It was given up, and is answered all the same.
            self._core.tell(frame_for_client)
        else:
            self._core.answer(request, frame_for_client)
        if not self._is_prepared:
            # The client has something to do now, and the server too.
            self._is_prepared = True
            self._core.out.append(Prepare())
        if request.claim:
            self._core.calls.keyed.keep_answer(request, frame, is_undone=False)

    def _too_long_for_client(self, frame: TooLong) -> list[Action]:
        from . import answers, failures

        found = _ID.search(frame.head)
        request = self._core.pending.get(found[1]) if found is not None else None
        limit = self.options.longest
        if request is not None:
            self._core.move(request, Event.LOSE)
        if request is not None and request.run is not None:
            self._core.calls.settle(
                request, failures.too_large(request.tool, size=frame.size / 1e6, limit=limit / 1e6), None
            )
        elif request is not None:
            message = f"The answer has {frame.size / 1e6:.0f} MB; {limit / 1e6:.0f} MB are let through."
            self._core.tell(answers.error_answer(request.id, message))
        self._core.once("large", f"a message of {frame.size} bytes from the server was not passed on", loud=True)
        return self._core.taken()


def _request(frame: bytes, message: Message, trace: Mapping[str, str] | None) -> RelayedRequest:
    request = RelayedRequest.of(frame, message)
    if trace:
        request.trace = trace
    return request
