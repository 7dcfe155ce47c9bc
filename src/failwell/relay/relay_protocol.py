"""What happens to a frame: a state machine without input and output, without a clock and without threads.

Theory of operation. Events go in by the methods of `RelayProtocol`: a frame came from one side, the server was
started or has ended, a request came to nothing, time has passed. Each gives the actions that follow, as plain values.
Two tables in `states.py` say what may happen to a request and to the server, and what a request that ends there may
have changed; `move` is the only way from one state to another. `calls.py` has what is done for calls of tools,
`lifecycle.py` what becomes of the server. What need not be changed is passed on as the bytes that came.
"""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .actions import Action, Death, Note, Prepare, RelayOptions, ToClient, ToServer
from .frames import TooLong
from .lifecycle import Lifecycle
from .messages import (
    Message,
    is_deep,
    is_message,
    key_of,
    large_success,
    number_of,
    params_of,
    plain_success,
    read_frame,
    says_failed,
    with_id,
    written,
)
from .remembered_tools import LISTS, RememberedTools, same_tools
from .request import OwnIds, RelayedRequest
from .session import Session, notification
from .states import REQUEST, SERVER, Event, ServerChange, ServerState, State, Step

if TYPE_CHECKING:
    from failwell.model import ToolError
    from failwell.recovery import Watch

    from .calls import Calls
    from .own_secrets import SessionSecrets

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
_MOST_HELD: Final = 10_000
_LIST_TIMEOUT: Final = 5.0
_LIST_AGAIN_TIMEOUT: Final = 2.0
_ID: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")')
_WITH_SERVER: Final = (State.SENT, State.CANCELLED)


class SystemClock:
    """The time of this machine."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)


class Question(NamedTuple):
    """What the server asks of the client."""

    id: Any
    """The server's own id for it."""
    at: float
    """When it was asked."""


class RelayProtocol:
    """One server, one client, and what is under way between them."""

    def __init__(self, options: RelayOptions, clock: Watch, jitter: Callable[[], float]) -> None:
        self.options, self.clock, self.jitter = options, clock, jitter
        self.session = Session()
        self.listing = RememberedTools(
            clock.monotonic,
            trusted=options.trusted,
            reads=options.reads,
            writes=options.writes,
            unmarked=options.unmarked,
        )
        self.out: list[Action] = []
        self.open: dict[RelayedRequest, None] = {}
        """The requests that are not answered, in their order."""
        self.pending: dict[bytes, RelayedRequest] = {}
        """Those of them that are with the server, by the id it knows them by."""
        self.held: list[RelayedRequest | bytes] = []
        """What waits for the server to be there, in order."""
        self.own: dict[bytes, Callable[[Message], None]] = {}
        """Our own requests that are with the server, and who takes the answer."""
        self.asked: dict[bytes, Question] = {}
        """What the server asks of the client, by the id the client knows it by."""
        self.stale: set[bytes] = set()
        """What a server that is gone asked of the client."""
        self.state = ServerState.OFF
        self.life: object = None
        """Another one for each server that was started."""
        self.has_answered = False
        self.has_worked = False
        """Whether this server has done anything that it was asked to."""
        self.is_ending = self._is_prepared = self._is_listing = False
        self.starts_at: float | None = None
        """When a server that ends again and again is started once more."""
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = count()
        self._own_ids = OwnIds()
        self._noticed: set[str] = set()
        self.lifecycle = Lifecycle(self)

    @cached_property
    def calls(self) -> Calls:
        # With it comes all that is known about failures, and nearly all the time that a start would take.
        from .calls import Calls

        return Calls(self)

    @cached_property
    def secrets(self) -> SessionSecrets:
        # With the first failure: what it takes to know them is not needed before.
        from .own_secrets import SessionSecrets

        return SessionSecrets(self.options, self.listing.says)

    @cached_property
    def command(self) -> str:
        """The server's command as it can be told."""
        from .failures import command_line

        hidden = self.secrets.given.text
        words = self.options.words or self.options.command.split(" ")
        return hidden(command_line([hidden(word) for word in words]))

    # Events

    def begin(self) -> list[Action]:
        """Start the server."""
        self.lifecycle.start()
        return self._taken()

    def started(self) -> list[Action]:
        """The server's process runs."""
        self.lifecycle.started()
        return self._taken()

    def died(self, death: Death) -> list[Action]:
        """The server has ended, or could not be started."""
        self.lifecycle.died(death)
        return self._taken()

    def failed(self, key: bytes, error: ToolError) -> list[Action]:
        """A request came to nothing by itself, while others go on: `error` says what the transport saw of it."""
        self.lifecycle.failed(key, error)
        return self._taken()

    def forgotten(self, key: bytes, error: ToolError, *, is_current: bool) -> list[Action]:
        """A request was refused since the session is gone: the one in use, or an earlier one."""
        self.lifecycle.forgotten(key, error, is_current=is_current)
        return self._taken()

    def drain(self) -> list[Action]:
        """Let what is under way come to its end, take nothing new, then end."""
        self.lifecycle.drain()
        return self._taken()

    def abandon(self) -> None:
        """Nobody is there any more, neither a client nor a server."""
        if "calls" in self.__dict__:
            self.calls.abandon()

    @property
    def wakes_at(self) -> float | None:
        return self._due[0][0] if self._due else None

    def tick(self) -> list[Action]:
        """Time has passed."""
        now, due = self.clock.monotonic(), []
        while self._due and self._due[0][0] <= now:
            due.append(heapq.heappop(self._due)[2])
        for each in due:
            each()
        return self._taken()

    def client(self, frame: bytes | TooLong, trace: Mapping[str, str] | None = None) -> list[Action]:
        """A frame came from the client; `trace` is what came with it of the trace that it belongs to."""
        if isinstance(frame, TooLong):
            self._too_long_for_server(frame)
        elif type(message := read_frame(frame)) is not dict:
            self._no_message_from_client(frame, message)
        elif "method" not in message:
            self._answered_by_client(frame, message)
        elif "id" not in message:
            if message["method"] == "notifications/initialized":
                self.session.initialized = frame
            elif message["method"] == "notifications/cancelled":
                frame = self._cancel(frame, message)
            if frame:
                self.pass_on(frame)
        else:
            # A method that is no text is no request that anybody knows, and the server's to say so.
            request = RelayedRequest.of(frame, message)
            request.trace = trace or {}
            if request.is_call:
                self.calls.called(request)
            else:
                self._requested(request)
        return self._taken()

    def server(self, frame: bytes | TooLong) -> list[Action]:
        """A frame came from the server."""
        if isinstance(frame, TooLong):
            self._too_long_for_client(frame)
        elif (key := large_success(frame)) is not None:
            self._answered(key, frame, None)
        elif (message := read_frame(frame)) is None or not is_message(message):
            self._no_message_from_server(frame, message)
        elif "method" in message:
            self._asked_by_server(frame, message)
        else:
            self._answered(key_of(message.get("id")), frame, message)
        return self._taken()

    def _taken(self) -> list[Action]:
        out, self.out = self.out, []
        return out

    # What others ask

    @staticmethod
    def prepare() -> None:
        """Load what calls will need: it may be done in a thread of its own."""
        from . import calls as calls

    def hide(self, line: str) -> str:
        """A line that the server wrote beside its answers, without the secrets in it."""
        from failwell.redact import masked

        return str(masked(self.secrets.aside(line)))

    def awaits(self, key: bytes) -> bool:
        """Whether the answer to a request is still to come, by the id that the server knows it by."""
        return key in self.pending or key in self.own

    @property
    def is_drained(self) -> bool:
        """Whether all that was under way has come to its end."""
        return self.is_ending and all(each.state is State.JOINED for each in self.open)

    # States

    def move(self, request: RelayedRequest, event: Event) -> Step:
        """Something happens to a request: put it where it belongs now."""
        step = REQUEST[request.state][event]
        if request.state in _WITH_SERVER and self.pending.get(request.key) is request:
            del self.pending[request.key]
        elif request.state is State.QUEUED:
            self.held.remove(request)
        request.state = step.to
        if step.to is State.DONE:
            self.open.pop(request, None)
            return step
        self.open[request] = None
        if step.to in _WITH_SERVER:
            self.pending[request.key] = request
        elif step.to is State.QUEUED:
            self.held.append(request)
        return step

    def move_server(self, change: ServerChange) -> None:
        """Something happens to the server."""
        self.state = SERVER[self.state][change]

    def having(self, *states: State) -> list[RelayedRequest]:
        return [each for each in self.open if each.state in states]

    # What is due, sent and said

    def at(self, when: float, due: Callable[[], None]) -> None:
        """Do something at a time. It is never taken back: what is no longer wanted does nothing."""
        heapq.heappush(self._due, (when, next(self._count), due))

    def after(self, seconds: float, due: Callable[[], None]) -> None:
        self.at(self.clock.monotonic() + seconds, due)

    def tell(self, frame: bytes) -> None:
        self.out.append(ToClient(frame))

    def answer(self, request: RelayedRequest, frame: bytes) -> None:
        """Tell the client what became of a request."""
        self.tell(frame)
        self.move(request, Event.END)

    def note(self, line: str, *, once: str = "") -> None:
        """Say something, or only once what would be said of every message."""
        if once not in self._noticed:
            self._noticed |= {once} if once else set()
            self.out.append(Note(line, loud=once != "stray"))

    def pass_on(self, frame: bytes) -> None:
        """Send something that nobody waits for to the server, now or when it is there."""
        if self.state is ServerState.UP:
            self.out.append(ToServer(frame))
        elif len(self.held) < _MOST_HELD and b'"notifications/initialized"' not in frame:
            self.held.append(frame)

    def forward(self, request: RelayedRequest) -> None:
        """Send a request to the server, now or when it is there."""
        if self.state is not ServerState.UP:
            if len(self.held) < _MOST_HELD:
                self.move(request, Event.QUEUE)
                if request.is_call:
                    self.calls.limit_wait(request)
            self.lifecycle.wake()
            if request.is_call and request.state is State.QUEUED:
                self.calls.refuse_in_crash_loop(request)
            return
        frame, key = request.frame, request.own_key
        if request.is_again or self.awaits(key):
            id = self.new_id(type(request.id))
            key, frame = key_of(id), with_id(frame, request.message, id)
        request.key = key
        self.move(request, Event.SEND)
        if request.run is not None:
            request.run.sending()
            request.ids.append(key)
        if request.is_call:
            self.listing.was_used = True
            self.calls.limit(request)
        self.out.append(ToServer(frame, request))

    def ask(self, method: str, params: Any, then: Callable[[Message], None], *, raw: bool = False) -> bytes:
        """Ask the server something on our own account."""
        id = self.new_id(self.session.id_kind)
        message = (
            {"jsonrpc": "2.0", "method": method, "params": params} if raw else self.session.request(method, params)
        )
        self.own[key_of(id)] = then
        self.out.append(ToServer(written({**message, "id": id})))
        return key_of(id)

    def new_id(self, like: type | None) -> int | str:
        """An id that neither side has in use."""
        taken = (self.pending, self.own, self.asked, self.stale)
        return self._own_ids.new(like, lambda key: any(key in each for each in taken))

    # The list of the tools

    def list_tools(self, cursor: str | None = None, known: Mapping[str, Any] | None = None) -> None:
        """Ask for the tools, unless somebody does already; a server that may be another one is asked anew."""
        known = self.listing.known if known is None else known
        if cursor is None and self._is_listing:
            return
        self._is_listing = True
        params = {"cursor": cursor} if cursor else None
        asked = self.ask("tools/list", params, lambda message: self._page(cursor, known, message))
        self.after(_LIST_AGAIN_TIMEOUT if known else _LIST_TIMEOUT, lambda: self._unlisted(asked))

    def _page(self, cursor: str | None, known: Mapping[str, Any], message: Message) -> None:
        self._is_listing, listing = False, self.listing
        if not isinstance(message.get("result"), Mapping):
            listing.is_hopeless = True
        elif (following := listing.page(cursor, message["result"])) is not None and following != cursor:
            self.list_tools(following, known)
            return
        elif known and listing.is_fresh and not same_tools(known, listing.known):
            listing.changed()
            listing.is_fresh = True
            tools = self.session.capabilities.get("tools")
            if isinstance(tools, Mapping) and tools.get("listChanged"):
                self.tell(notification("notifications/tools/list_changed"))
        self._listed()

    def _unlisted(self, asked: bytes) -> None:
        """The server does not say in time what it has."""
        if asked in self.own and self._is_listing:
            # It may still answer.
            self._is_listing, self.listing.is_hopeless = False, True
            self._listed()

    def _listed(self) -> None:
        """The tools are known, or will not be."""
        waiting = self.having(State.LISTING)
        if waiting and not (self.listing.is_fresh or self.listing.is_hopeless):
            # The client read the first page only.
            self.list_tools()
            return
        for request in waiting:
            self.calls.listed(request)

    def stop_listing(self) -> None:
        """Whoever was asked is gone."""
        self._is_listing = False

    # Frames of the client

    def _requested(self, request: RelayedRequest) -> None:
        from . import answers

        self.session.heard(request)
        if self.state is not ServerState.UP:
            known = self.session.welcome if request.method == "initialize" and self.session.suits(request) else None
            frame = self.listing.answer(request) if known is None else with_id(known, None, request.id)
            if request.method == "ping":
                frame = answers.answer(request.id, {})
            if frame is not None:
                self.tell(frame)
                return
        self.forward(request)
        if request.method == "initialize" and not self.has_answered:
            self.lifecycle.asked_first(request)

    def _cancel(self, frame: bytes, message: Message) -> bytes:
        """The client gives a request up; the frame for the server, under the id by which it knows the request."""
        wanted = key_of(params_of(message).get("requestId"))
        request = next((each for each in self.open if each.own_key == wanted), None)
        if request is None:
            return frame
        is_sent = request.state in _WITH_SERVER
        if request.state is not State.CANCELLED:
            self.move(request, Event.CANCEL)
        if request.run is not None:
            request.run.release()
        if request.claim:
            self.calls.give_up(request, is_sent=is_sent)
        if not is_sent or request.key == wanted:
            return frame if is_sent else b""
        return written({**message, "params": {**params_of(message), "requestId": read_frame(request.key)}})

    def _answered_by_client(self, frame: bytes, message: Message) -> None:
        key = key_of(message.get("id"))
        if key in self.asked:
            asked = self._settle_question(key)
            if "error" in message:
                for request in self.pending.values():
                    request.was_let_down = True
            self.pass_on(frame if key_of(asked) == key else with_id(frame, message, asked))
        elif key in self.stale:
            self.stale.discard(key)
        else:
            self.pass_on(frame)

    def _settle_question(self, key: bytes) -> Any:
        """What the server asked is answered, or no longer asked: its own id for it."""
        if (question := self.asked.pop(key, None)) is None:
            return None
        if "calls" in self.__dict__:
            self.calls.extend_after(question)
        return question.id

    def _no_message_from_client(self, frame: bytes, message: Any) -> None:
        """What cannot be relayed is answered here, if it has an id: it is not JSON, nested too deeply, or a batch. The
        protocol has had none since 2025-06-18."""
        from . import answers

        if isinstance(message, list):
            for each in message:
                if isinstance(each, dict) and "id" in each and "method" in each:
                    words = "Batches are not supported; send one message at a time. It was not sent."
                    self.tell(answers.error_answer(each["id"], words, number=INVALID_REQUEST))
        elif (found := _ID.search(frame)) is not None and b'"method"' in frame:
            words = "The message could not be read. It was not sent."
            self.tell(answers.error_answer(read_frame(found[1]), words, number=PARSE_ERROR))
        if frame.strip():
            self.note("a line from the client is not a message, and was not passed on", once="unread")

    def _too_long_for_server(self, frame: TooLong) -> None:
        from . import answers

        found = _ID.search(frame.head)
        if found is not None and b'"method"' in frame.head:
            limit = self.options.longest / 1e6
            words = f"The message has {frame.size / 1e6:.0f} MB; {limit:.0f} MB are let through. It was not sent."
            self.tell(answers.error_answer(read_frame(found[1]), words))
        self.note(f"a message of {frame.size} bytes from the client was not passed on", once="long")

    # Frames of the server

    def _asked_by_server(self, frame: bytes, message: Message) -> None:
        """A request or a notification of the server: the client's business, and passed on."""
        method = message.get("method")
        if "id" in message:
            key = key_of(message["id"])
            if key in self.stale or key in self.asked:
                # The client still knows this id from a server that is gone.
                id = self.new_id(type(message["id"]))
                key, frame = key_of(id), with_id(frame, message, id)
            self.asked[key] = Question(message["id"], self.clock.monotonic())
        elif method == "notifications/tools/list_changed":
            self.listing.changed()
        elif method == "notifications/progress":
            self.calls.progress(message)
        elif method == "notifications/cancelled":
            self._settle_question(key_of(params_of(message).get("requestId")))
        elif isinstance(method, str) and method.startswith("notifications/tasks"):
            frame, _ = self.leaving(None, frame, message)
        if frame:
            self.tell(frame)

    def _answered(self, key: bytes, frame: bytes, message: Message | None) -> None:
        request = self.pending.get(key)
        if message is None and (request is None or request.run is None):
            # Large, but no call: a list, most likely, which is to be known.
            message = read_frame(frame)
        if request is None:
            if (own := self.own.pop(key, None)) is not None:
                own(message or {})
            elif key == b"null":
                self.tell(self.leaving(None, frame, message)[0])
            elif (meant := self._spelt_otherwise(key)) is not None:
                id = read_frame(meant)
                self._answered(meant, with_id(frame, message, id), {**(message or {}), "id": id})
            else:
                self.note("the server answers what nobody asked, or answers twice", once="stray")
            return
        self.has_answered = True
        is_awaited = self.move(request, Event.ANSWER).to is State.SETTLING
        if request.run is None or not is_awaited:
            self._request_answered(request, frame, message)
            return
        try:
            self.calls.answered(request, frame, message)
        except Exception as problem:
            # Whatever a server sends, its other calls go on: a success passes, a failure is told without its words.
            self.note(f"an answer could not be read: {type(problem).__name__}", once="unread")
            result = (message or {}).get("result")
            if isinstance(result, dict) and result.get("isError") is not True:
                self.calls.succeed(request, frame, frame)
            else:
                self.calls.end_unreadable(request)

    def _spelt_otherwise(self, key: bytes) -> bytes | None:
        """The only request that is with the server under the same number as this id, where it is spelt in another way:
        1.0 or "1" for 1."""
        number = number_of(key)
        found = [each for each in (*self.pending, *self.own) if number is not None and number_of(each) == number]
        return found[0] if len(found) == 1 else None

    def leaving(
        self, request: RelayedRequest | None, frame: bytes, message: Message | None
    ) -> tuple[bytes, Message | None]:
        """A message as it leaves: as it came, or where it says that something failed, without what must not leave."""
        if message is None or not says_failed(message):
            return frame, message
        from .failed_answers import passed

        return passed(self, request, frame, message)

    def _request_answered(self, request: RelayedRequest, frame: bytes, message: Message | None) -> None:
        frame, message = self.leaving(request, frame, message)
        if request.method == "initialize":
            self.session.welcomed(frame, message)
        elif request.method in LISTS and message is not None and "result" in message:
            if request.method == "server/discover":
                self.session.discovered(message)
            self.listing.learn(request.method, request.params, frame, message)
            if request.method == "tools/list":
                self._listed()
        self.tell(request.for_client(frame, message))
        if request.state is not State.DONE:
            # Otherwise it was given up, and is answered all the same.
            self.move(request, Event.END)
        if not self._is_prepared:
            # The client has something to do now, and the server too.
            self._is_prepared = True
            self.out.append(Prepare())
        if request.claim:
            self.calls.keep_answer(request, frame, is_undone=False)

    def _no_message_from_server(self, frame: bytes, message: Any) -> None:
        """A line of the server that is not a message is kept out, and named once; an answer that says neither how it
        went nor what failed is one all the same."""
        key = key_of(message.get("id")) if type(message) is dict else b""
        if message is None and is_deep(frame):
            if (key := plain_success(frame) or b"") in self.pending:
                self._answered(key, frame, None)
                return
            key = found[1] if (found := _ID.search(frame)) is not None else b""
        if (request := self.pending.get(key)) is not None:
            is_awaited = self.move(request, Event.ANSWER).to is State.SETTLING
            if request.run is not None and is_awaited:
                self.calls.end_unreadable(request)
            else:
                from .failed_answers import unread

                self._request_answered(request, unread({"id": read_frame(key)}) if message is None else frame, message)
        elif frame.strip() and "noise" not in self._noticed:
            from . import failures

            words = failures.last_words(self.secrets.aside(frame.decode("utf-8", "replace"))[:500])
            self.note(f"{self.command} writes to stdout what is no message: {words}", once="noise")

    def _too_long_for_client(self, frame: TooLong) -> None:
        from . import answers, failures

        found = _ID.search(frame.head)
        request = self.pending.get(found[1]) if found is not None else None
        size, limit = frame.size / 1e6, self.options.longest / 1e6
        if request is not None:
            is_awaited = self.move(request, Event.LOSE).to is State.SETTLING
            if request.run is None:
                words = f"The answer has {size:.0f} MB; {limit:.0f} MB are let through."
                self.tell(answers.error_answer(request.id, words))
                if is_awaited:
                    self.move(request, Event.END)
            elif is_awaited:
                self.calls.settle(request, failures.too_large(request.tool, size=size, limit=limit), None)
        self.note(f"a message of {frame.size} bytes from the server was not passed on", once="large")
