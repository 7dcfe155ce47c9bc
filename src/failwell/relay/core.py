"""What the parts of the relay share: the requests that are open, what is due when, and the actions to carry out."""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .actions import Action, Note, RelayOptions, ToClient, ToServer
from .messages import Message, key_of, number_of, with_id, written
from .remembered_tools import RememberedTools
from .request import RelayedRequest
from .session import Session
from .states import REQUEST, SERVER, Event, ServerChange, ServerState, State, Step

if TYPE_CHECKING:
    from failwell.recovery import Watch

    from .calls import Calls
    from .lifecycle import Lifecycle
    from .lists import Lists
    from .own_secrets import OwnSecrets, SentSecrets


class SystemClock:
    """The time of this machine."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)


_MOST_HELD: Final = 10_000


class Question(NamedTuple):
    """What the server asks of the client."""

    id: Any
    """The server's own id for it."""
    at: float
    """When it was asked."""


class RelayCore:
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
        self.pending: dict[bytes, RelayedRequest] = {}
        """Requests that are with the server, by the id it knows them by."""
        self.own: dict[bytes, Callable[[Message], None]] = {}
        """Our own requests that are with the server, and who takes the answer."""
        self.held: list[RelayedRequest | bytes] = []
        """What waits for the server to be there, in order."""
        self.unlisted: list[RelayedRequest] = []
        """Calls that wait for the list of the tools."""
        self.repeating: set[RelayedRequest] = set()
        """Requests that wait for their time to be sent again."""
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
        self.is_ending = False
        self.starts_at: float | None = None
        """When a server that ends again and again is started once more."""
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = count()
        self._own_ids = OwnIds()
        self._noticed: set[str] = set()

    # The other parts

    @cached_property
    def lists(self) -> Lists:
        from .lists import Lists

        return Lists(self)

    @cached_property
    def lifecycle(self) -> Lifecycle:
        from .lifecycle import Lifecycle

        return Lifecycle(self)

    @cached_property
    def calls(self) -> Calls:
        # With it comes all that is known about failures, and nearly all the time that a start would take.
        from .calls import Calls

        return Calls(self)

    @property
    def has_calls(self) -> bool:
        """Whether a tool was called."""
        return "calls" in self.__dict__

    # Where things are

    def move(self, request: RelayedRequest, event: Event) -> Step:
        """Something happens to a request: put it where it belongs now."""
        step = REQUEST[request.state][event]
        self._take_out(request)
        request.state = step.to
        if step.to is State.SENT:
            self.pending[request.key] = request
        elif step.to is State.QUEUED:
            self.held.append(request)
        elif step.to is State.LISTING:
            self.unlisted.append(request)
        elif step.to is State.WAITING:
            self.repeating.add(request)
        elif step.to is State.CANCELLED:
            self.pending[request.key] = request
        return step

    def _take_out(self, request: RelayedRequest) -> None:
        if request.state in (State.SENT, State.CANCELLED):
            if self.pending.get(request.key) is request:
                del self.pending[request.key]
        elif request.state is State.QUEUED:
            self.held.remove(request)
        elif request.state is State.LISTING:
            self.unlisted.remove(request)
        elif request.state is State.WAITING:
            self.repeating.discard(request)

    def server(self, event: ServerChange) -> None:
        """Something happens to the server."""
        self.state = SERVER[self.state][event]

    @property
    def starts_in(self) -> float:
        """In how many seconds a server that ended is started again; 0 if nobody waits for that."""
        return max(0.0, (self.starts_at or 0.0) - self.clock.monotonic())

    @property
    def queued(self) -> list[RelayedRequest]:
        """The requests that wait for the server to be there."""
        return [each for each in self.held if isinstance(each, RelayedRequest)]

    # What is secret

    @cached_property
    def command(self) -> str:
        """The server's command as it can be told."""
        from .failures import command_line

        return self.secrets.text(command_line([self.secrets.text(word) for word in self._words]))

    @property
    def _words(self) -> Sequence[str]:
        return self.options.words or self.options.command.split(" ")

    @cached_property
    def secrets(self) -> OwnSecrets:
        """What the server was given as a secret."""
        # With the first failure: what it takes to know them is not needed before.
        from .own_secrets import OwnSecrets

        options = self.options
        command = () if options.remote else self._words
        return OwnSecrets.of(options.env, headers=options.headers, command=command, url=options.url)

    @cached_property
    def callers_secrets(self) -> SentSecrets:
        """What earlier calls sent for secret arguments: a server may quote it in whatever fails later."""
        from .own_secrets import SentSecrets

        return SentSecrets(lasting=True, is_said=self.listing.says)

    @cached_property
    def _callers_words(self) -> SentSecrets:
        """The same with every plain word among it."""
        from .own_secrets import SentSecrets

        return SentSecrets()

    def learn_secrets(self, sent: Sequence[str]) -> None:
        """A call sends these for secret arguments."""
        self.callers_secrets.learn(sent)
        self._callers_words.learn(sent)

    def hidden(self, value: Any) -> Any:
        """A text or a JSON value without any of these; the very same one where there are none in it."""
        return self.callers_secrets.masked(self.secrets.masked(value))

    def said_aside(self, text: str) -> str:
        """What a server says beside its answers, without any of these: to a log a word that is missing does no harm."""
        told: str = self._callers_words.masked(self.hidden(text))
        return told

    # What is due when

    def at(self, when: float, due: Callable[[], None]) -> None:
        """Do something at a time. It is never taken back: what is no longer wanted does nothing."""
        heapq.heappush(self._due, (when, next(self._count), due))

    def after(self, seconds: float, due: Callable[[], None]) -> None:
        """Do something later."""
        self.at(self.clock.monotonic() + seconds, due)

    @property
    def wakes_at(self) -> float | None:
        return self._due[0][0] if self._due else None

    def run_due(self) -> None:
        """Do what is due by now."""
        now, due = self.clock.monotonic(), []
        while self._due and self._due[0][0] <= now:
            due.append(heapq.heappop(self._due)[2])
        for each in due:
            each()

    # What is sent

    def tell(self, frame: bytes) -> None:
        self.out.append(ToClient(frame))

    def answer(self, request: RelayedRequest, frame: bytes) -> None:
        """Tell the client what became of a request."""
        self.tell(frame)
        self.move(request, Event.END)

    def pass_on(self, frame: bytes) -> None:
        """Send something that nobody waits for to the server, now or when it is there."""
        if self.state is ServerState.UP:
            self.out.append(ToServer(frame))
        elif len(self.held) < _MOST_HELD and b'"notifications/initialized"' not in frame:
            self.held.append(frame)

    def new_id(self, like: type | None) -> int | str:
        """An id that neither side has in use."""
        taken = (self.pending, self.own, self.asked, self.stale)
        return self._own_ids.new(like, lambda key: any(key in each for each in taken))

    def ask(self, method: str, params: Any, then: Callable[[Message], None], *, raw: bool = False) -> bytes:
        """Ask the server something on our own account."""
        id = self.new_id(self.session.id_kind)
        message = (
            {"jsonrpc": "2.0", "method": method, "params": params} if raw else self.session.request(method, params)
        )
        self.own[key_of(id)] = then
        self.out.append(ToServer(written({**message, "id": id})))
        return key_of(id)

    def spelt_otherwise(self, key: bytes) -> bytes | None:
        """The only request that is with the server under the same number as this id, where it is spelt in another way:
        1.0 or "1" for 1."""
        number = number_of(key)
        found = [each for each in (*self.pending, *self.own) if number is not None and number_of(each) == number]
        return found[0] if len(found) == 1 else None

    def once(self, what: str, line: str, *, loud: bool = False) -> None:
        """Say something once: it would be said of every message."""
        if not self.was_said(what):
            self._noticed.add(what)
            self.out.append(Note(line, loud))

    def was_said(self, what: str) -> bool:
        """Whether there is no need to put it into words again."""
        return what in self._noticed

    def taken(self) -> list[Action]:
        out, self.out = self.out, []
        return out

    def forward(self, request: RelayedRequest) -> None:
        """Send a request to the server, now or when it is there."""
        if self.state is not ServerState.UP:
            if len(self.held) < _MOST_HELD:
                self.move(request, Event.QUEUE)
                if request.is_call:
                    self.calls.deadlines.limit_wait(request)
            self.lifecycle.wake()
            if request.is_call and request.state is State.QUEUED:
                self.calls.deadlines.refuse_in_crash_loop(request)
            return
        frame = request.frame
        key = request.own_key
        if request.is_again or key in self.pending or key in self.own:
            id = self.new_id(type(request.id))
            key, frame = key_of(id), with_id(frame, request.message, id)
        request.key = key
        self.move(request, Event.SEND)
        if request.run is not None:
            request.run.sending()
            request.ids.append(key)
        if request.is_call:
            self.listing.was_used = True
            self.calls.deadlines.limit(request)
        self.out.append(ToServer(frame, request))


# High among the numbers that fit in 32 bits, where no client counts: most begin at 0.
_LEAST: Final = 1_500_000_000
_MOST: Final = 2**31 - 1


class OwnIds:
    """Ids that nobody else has given: from a random place on, so that those of two relays differ, too."""

    def __init__(self) -> None:
        self._nonce = os.urandom(4)
        self._count = count(1)

    def new(self, like: type | None, is_taken: Callable[[bytes], bool]) -> int | str:
        """One of the kind that is in use: a text for texts, and otherwise a whole number, which any server takes."""
        made: Iterator[int | str] = map(self._text if like is str else self._number, self._count)
        return next(each for each in made if not is_taken(key_of(each)))

    def _text(self, number: int) -> str:
        return f"failwell-{self._nonce.hex()}-{number}"

    def _number(self, number: int) -> int:
        return _LEAST + (int.from_bytes(self._nonce) - number) % (_MOST - _LEAST)
