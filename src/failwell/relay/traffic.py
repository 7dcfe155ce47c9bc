"""What is under way between a client and a server, and the ways out: what all who stand at the desk share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .actions import Action, Note, RelayOptions, ToClient, ToServer
from .messages import Message, key_of, number_of, with_id, written
from .own_ids import OwnIds
from .remembered_tools import RememberedTools
from .request import RelayedRequest
from .session import Session
from .timers import Timers

if TYPE_CHECKING:
    from failwell.recovery import Watch

    from .own_secrets import OwnSecrets, SentSecrets

_MOST_HELD: Final = 10_000


class Question(NamedTuple):
    """What the server asks of the client."""

    id: Any
    """The server's own id for it."""
    at: float
    """When it was asked."""


class Traffic:
    """The requests of both sides that have no answer yet, and what is to be done next."""

    def __init__(self, options: RelayOptions, clock: Watch) -> None:
        self.options = options
        self.clock = clock
        self.session = Session()
        self.listing = RememberedTools(
            clock.monotonic,
            trusted=options.trusted,
            reads=options.reads,
            writes=options.writes,
            unmarked=options.unmarked,
        )
        self.timers = Timers()
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
        """Calls that wait for their time to be made again."""
        self.asked: dict[bytes, Question] = {}
        """What the server asks of the client, by the id the client knows it by."""
        self.stale: set[bytes] = set()
        """What a server that is gone asked of the client."""
        self.state = "off"
        """`off`, `starting`, `up`, `down`, `pausing` before it is started again, or `failed` if it never started."""
        self.life: object = None
        """Another one for each server that was started."""
        self.has_answered = False
        self.has_worked = False
        """Whether this server has done anything that it was asked to."""
        self.is_anew = False
        """Whether this server was started anew, and no answer has said so yet."""
        self.is_ending = False
        self.wake: Callable[[], None] = _nothing
        """See to it that there is a server."""
        self.waiting: Callable[[RelayedRequest], None] = _nothing
        """A call waits for the server to be there."""
        self.starts_at: float | None = None
        """When a server that ends again and again is started once more."""
        self.sent: Callable[[RelayedRequest], None] = _nothing
        """A call is with the server."""
        self._own_ids = OwnIds()
        self._noticed: set[str] = set()

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

    def after(self, seconds: float, due: Callable[[], None]) -> None:
        """Do something later."""
        self.timers.at(self.clock.monotonic() + seconds, due)

    def tell(self, frame: bytes) -> None:
        self.out.append(ToClient(frame))

    def pass_on(self, frame: bytes) -> None:
        """Send something that nobody waits for to the server, now or when it is there."""
        if self.state == "up":
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
        if self.state != "up":
            if len(self.held) < _MOST_HELD:
                self.held.append(request)
                if request.is_call:
                    self.waiting(request)
            self.wake()
            return
        frame = request.frame
        key = request.own_key
        if request.is_again or key in self.pending or key in self.own:
            id = self.new_id(type(request.id))
            key, frame = key_of(id), with_id(frame, request.message, id)
        request.key = key
        self.pending[key] = request
        if request.run is not None:
            request.run.sending()
            request.ids.append(key)
        if request.is_call:
            self.listing.was_used = True
            self.sent(request)
        self.out.append(ToServer(frame, request))


def _nothing(*_: object) -> None:
    """Nobody listens yet."""
