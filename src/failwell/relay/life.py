"""The life of a server: started, greeted, stopped when nobody calls, and started again when it died."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .actions import Death, Note, Quit, Start, StopServer, ToServer
from .lists import Lists
from .messages import Message, read_frame
from .remembered_tools import LISTS
from .request import RelayedRequest
from .session import notification
from .traffic import Traffic

if TYPE_CHECKING:
    from failwell.model import ToolError

    from .calls import Calls

# It has no answer while it works, so that no server dies of it.
_LISTEN: Final = "subscriptions/listen"
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
    _LISTEN,
}
_GREETING_TIMEOUT: Final = 60.0
# The first start may be the one that downloads the server.
_FIRST_GREETING_TIMEOUT: Final = 120.0
_DRAIN_TIMEOUT: Final = 10.0
_GRACE: Final = 2.0
_SHORT_PAUSE: Final = 0.25
# A server that forgets every session at once is not going to keep the next one.
_MOST_SESSIONS: Final = 2
_MOST_FALLS: Final = 6
_LONGEST_PAUSE: Final = 30.0


class Life:
    """Whether there is a server, and what becomes of requests when there is none."""

    def __init__(self, traffic: Traffic, calls: Callable[[], Calls], lists: Lists) -> None:
        self._traffic, self._calls, self._lists = traffic, calls, lists
        self._falls = 0
        """How often it ended soon after it was started, in a row."""
        self._reason = ""
        """Why it never started."""

    def started(self) -> None:
        """The server's process runs."""
        self._traffic.is_anew = self._traffic.life is not None
        self._traffic.life = object()
        if self._traffic.is_anew:
            self._calls().renewed()
        session = self._traffic.session
        if session.greeting is None or session.welcome is None:
            self._is_up()
        else:
            asked = self._traffic.ask("initialize", session.greeting.get("params"), self._greeted, raw=True)
            life = self._traffic.life
            self._traffic.after(_GREETING_TIMEOUT, lambda: self._not_greeted(asked, life))

    def _greeted(self, message: Message) -> None:
        result = message.get("result")
        if not isinstance(result, Mapping):
            self._traffic.once("greeting", "the server refused the handshake that it had taken before", loud=True)
            self._traffic.out.append(StopServer("a handshake that it refused"))
            return
        session = self._traffic.session
        if session.initialized is not None:
            self._traffic.out.append(ToServer(session.initialized))
        for request in session.after_greeting():
            self._traffic.ask(str(request["method"]), request.get("params"), lambda answer: None, raw=True)
        self._is_up()

    def _not_greeted(self, asked: bytes, life: object) -> None:
        if self._traffic.life is life and self._traffic.own.pop(asked, None) is not None:
            self._traffic.out.append(StopServer("no answer to the handshake, so the relay ended it"))

    def _is_up(self) -> None:
        self._traffic.state = "up"
        held, self._traffic.held = self._traffic.held, []
        if self._traffic.listing.known:
            self._traffic.listing.is_fresh = False
            self._lists.renew()
        for each in held:
            if isinstance(each, bytes):
                self._traffic.out.append(ToServer(each))
            elif each.cancelled:
                continue
            elif each.tool and each.run is None:
                self._calls().admit(each)
            elif each.is_again and self._traffic.listing.known:
                self._calls().resume(each)
            else:
                self._traffic.forward(each)

    def died(self, death: Death) -> None:
        """The server has ended, or could not be started."""
        hide = self._hides()
        recent = None if death.recent is None else hide(death.recent)
        death = replace(death, errors=hide(death.errors), problem=hide(death.problem), recent=recent)
        was = self._traffic.state
        self._traffic.state, self._traffic.own = "down", {}
        self._lists.lost()
        lost, self._traffic.pending = list(self._traffic.pending.values()), {}
        for key in self._traffic.asked:
            self._traffic.tell(notification("notifications/cancelled", {"requestId": read_frame(key)}))
        self._traffic.stale |= self._traffic.asked.keys()
        self._traffic.asked = {}
        if not self._traffic.has_answered and not self._traffic.listing.known:
            self._never_started(death, lost)
            return
        from . import failures

        # One that did some work before it ended is worth starting at once.
        self._falls = 1 if self._traffic.has_worked else self._falls + 1
        self._traffic.has_worked = False
        line = f"{self._traffic.command} ended with {failures.reason(death)}; it is started again"
        self._traffic.out.append(Note(line, loud=True))
        held, unlisted = self._traffic.held, self._traffic.unlisted
        self._traffic.held, self._traffic.unlisted = [], []
        if was == "up":
            # They were not sent yet, and will be.
            self._traffic.held = [*held, *unlisted]
            for request in unlisted:
                self._traffic.waiting(request)
        for request in lost:
            self._lost(request, death)
        if was != "up":
            for each in [*held, *unlisted]:
                if isinstance(each, RelayedRequest):
                    self._not_back(each, death)
        if self._falls < _MOST_FALLS or self._traffic.held:
            self.wake()

    def _hides(self) -> Callable[[str], str]:
        """What a server that died said last, without any secret, those of the calls that it died with too."""
        from .own_secrets import OwnSecrets

        tools = self._traffic.listing.tools
        calls = [each.run for each in self._traffic.pending.values() if each.run is not None]
        sent = OwnSecrets.sent(secret for run in calls for secret in run.secrets_in(tools))
        return lambda text: sent.text(self._traffic.hidden(text))

    def failed(self, key: bytes, error: ToolError) -> None:
        """A request came to nothing by itself."""
        from . import answers, failures

        error = self._traffic.callers_secrets.error(self._traffic.secrets.error(error))
        request = self._traffic.pending.pop(key, None)
        if request is None:
            if (own := self._traffic.own.pop(key, None)) is not None:
                own({"error": {"code": -32603, "message": error.message}})
            return
        is_unsent = error.delivery == "never_sent"
        if request.cancelled:
            self._calls().keyed.keep_answer(request, b"", is_undone=is_unsent)
        elif not self._traffic.has_answered and (request.method == "initialize" or is_unsent):
            self._traffic.state = "failed"
            self._reason = failures.unreached(error.message, self._traffic.command)
            self._traffic.out.append(Note(self._reason, loud=True))
            self._tell_reason([request], error)
        elif request.run is not None:
            self._calls().settle(request, error, None)
        elif request.method in _READS and request.losses < 1 and error.retryable:
            request.losses += 1
            self._traffic.repeating.add(request)
            self._traffic.after(error.retry_after or _SHORT_PAUSE, lambda: self._once_more(request))
        elif error.retryable and (frame := self._traffic.listing.answer(request)) is not None:
            # What it listed before is better than nothing, as with a server that was stopped.
            self._traffic.tell(frame)
        else:
            self._traffic.tell(answers.refused(request.id, error))

    def _once_more(self, request: RelayedRequest) -> None:
        self._traffic.repeating.discard(request)
        if not request.cancelled:
            self._traffic.forward(request)

    def forgotten(self, key: bytes, error: ToolError, *, is_current: bool) -> None:
        """The session is gone: another one is begun, and what only reads is sent again there. What became of a call
        nobody knows: it may have been done in the session, or behind whoever lost it."""
        if self._traffic.session.greeting is None:
            self.failed(key, error)
            return
        is_news = is_current and self._traffic.state == "up"
        if is_news:
            self._traffic.out.append(Note("the server has forgotten the session; another one is begun", loud=True))
            self._traffic.state = "starting"
        request = self._traffic.pending.get(key)
        is_safe = request is not None and request.method in _READS and not request.cancelled
        if request is None or not is_safe or request.losses >= _MOST_SESSIONS:
            self.failed(key, error)
        else:
            del self._traffic.pending[key]
            request.losses += 1
            self._traffic.forward(request)
        if is_news:
            self.started()

    def _never_started(self, death: Death, lost: list[RelayedRequest]) -> None:
        from . import failures

        self._traffic.state = "failed"
        self._reason = failures.never_started(death, self._traffic.command)
        self._traffic.out.append(Note(self._reason, loud=True))
        # Who started us has something to ask, and is told why there is no answer.
        if not self._tell_reason(lost):
            self._traffic.after(_GRACE, lambda: self._traffic.out.append(Quit(2)))

    def asked_first(self, request: RelayedRequest) -> None:
        """The client greets a server that has said nothing so far: one that never answers is told as one."""
        self._traffic.after(_FIRST_GREETING_TIMEOUT, lambda: self._still_mute(request))

    def _still_mute(self, request: RelayedRequest) -> None:
        if self._traffic.has_answered or self._traffic.pending.get(request.key) is not request:
            return
        del self._traffic.pending[request.key]
        self._reason = f"{self._traffic.command} has not answered in {_FIRST_GREETING_TIMEOUT:g} seconds"
        self._traffic.out.append(Note(self._reason, loud=True))
        self._tell_reason([request])

    def _tell_reason(self, lost: list[RelayedRequest], error: ToolError | None = None) -> bool:
        """Answer whoever waits for a server that never started; whether there was anybody. With the answer it ends."""
        from . import answers

        held = [each for each in self._traffic.held if isinstance(each, RelayedRequest)]
        for request in [*lost, *held, *self._traffic.unlisted]:
            if not request.cancelled:
                self._traffic.tell(answers.error_answer(request.id, self._reason, error))
        asked = bool(lost or held or self._traffic.unlisted)
        if asked:
            self._traffic.out.append(Quit(2))
        return asked

    def _lost(self, request: RelayedRequest, death: Death) -> None:
        """A request that was with the server when it ended."""
        from . import answers, failures

        if request.cancelled:
            self._calls().keyed.keep_answer(request, b"", is_undone=False)
            return
        if request.run is not None:
            is_written = not any(request is each for each in death.unwritten)
            self._calls().settle(request, failures.stopped(death, request.tool, written=is_written), None)
        elif request.method in _READS and request.losses < (_MOST_FALLS if request.method == _LISTEN else 1):
            # It may be what the server dies of, so that is tried once.
            request.losses += 1
            self._traffic.held.append(request)
        else:
            error = failures.stopped(death, request.method, written=True)
            self._traffic.tell(answers.error_answer(request.id, f"The server stopped ({failures.how(death)}).", error))

    def _not_back(self, request: RelayedRequest, death: Death) -> None:
        """A request that waited for a server which did not come."""
        from . import answers, failures

        if request.cancelled:
            return
        error = failures.not_back(death, self._traffic.command, request.tool or None)
        if request.run is not None or request.tool:
            request.run = request.run or self._calls().begin(request)
            self._calls().end(request, request.run.refused(error) if request.last is None else request.last, None)
        else:
            self._traffic.tell(answers.error_answer(request.id, error.message, error))

    def wake(self) -> None:
        """See to it that there is a server, as soon as it may be started."""
        if self._traffic.state == "failed":
            self._tell_reason([])
        elif self._traffic.state == "off":
            self.start()
        elif self._traffic.state == "down":
            self._traffic.state = "pausing"
            pause = 0.0 if self._falls <= 1 else min(_LONGEST_PAUSE, 0.25 * 2.0**self._falls)
            self._traffic.starts_at = self._traffic.clock.monotonic() + pause
            self._traffic.after(pause, self.start)

    def start(self) -> None:
        if self._traffic.state in ("off", "down", "pausing") and not self._traffic.is_ending:
            self._traffic.state = "starting"
            self._traffic.out.append(Start())

    def drain(self) -> None:
        """Let what is under way come to its end, take nothing new, then end."""
        if self._traffic.state == "failed":
            self._traffic.out.append(Quit(2))
            return
        if self._traffic.is_ending:
            # Whoever says so twice does not want to wait.
            self._cut_short()
            return
        self._traffic.is_ending = True
        self._traffic.after(_DRAIN_TIMEOUT, self._cut_short)

    def _cut_short(self) -> None:
        """End now: what is under way is told as what it is, a call that may have been done."""
        from . import answers, failures

        lost, self._traffic.pending = list(self._traffic.pending.values()), {}
        waiting = [each for each in self._traffic.held if isinstance(each, RelayedRequest)]
        waiting += [*self._traffic.unlisted, *self._traffic.repeating]
        self._traffic.held, self._traffic.unlisted, self._traffic.repeating = [], [], set()
        for request in [*lost, *waiting]:
            if request.cancelled:
                if request.claim:
                    self._calls().keyed.keep_answer(request, b"", is_undone=False)
                continue
            if not request.tool:
                self._traffic.tell(answers.error_answer(request.id, "The relay was told to end."))
                continue
            request.run = request.run or self._calls().begin(request)
            error = failures.cut_short(request.tool) if request in lost else failures.ending(request.tool)
            self._calls().end(request, request.run.refused(error) if request.last is None else request.last, None)
        self._traffic.out.append(Quit(0))

    @property
    def is_drained(self) -> bool:
        if not self._traffic.is_ending or self._traffic.pending or self._traffic.repeating or self._traffic.unlisted:
            return False
        return not any(isinstance(each, RelayedRequest) for each in self._traffic.held)
