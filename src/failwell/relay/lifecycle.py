"""The life of a server: started, greeted, stopped when nobody calls, and started again when it died."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .actions import Death, Note, Quit, Start, StopServer, ToServer
from .core import RelayCore
from .messages import Message, read_frame
from .remembered_tools import LISTS
from .request import RelayedRequest
from .session import notification
from .states import SERVER, Event, ServerChange, ServerState, State

if TYPE_CHECKING:
    from failwell.model import ToolError


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


class Lifecycle:
    """Whether there is a server, and what becomes of requests when there is none."""

    def __init__(self, core: RelayCore) -> None:
        self._core = core
        self._falls = 0
        """How often it ended soon after it was started, in a row."""
        self._reason = ""
        """Why it never started."""

    def started(self) -> None:
        """The server's process runs."""
        if self._core.life is not None:
            self._core.calls.renewed()
        self._core.life = object()
        session = self._core.session
        if session.greeting is None or session.welcome is None:
            self._is_up()
        else:
            asked = self._core.ask("initialize", session.greeting.get("params"), self._greeted, raw=True)
            life = self._core.life
            self._core.after(_GREETING_TIMEOUT, lambda: self._not_greeted(asked, life))

    def _greeted(self, message: Message) -> None:
        result = message.get("result")
        if not isinstance(result, Mapping):
            self._core.once("greeting", "the server refused the handshake that it had taken before", loud=True)
            self._core.out.append(StopServer("a handshake that it refused"))
            return
        session = self._core.session
        if session.initialized is not None:
            self._core.out.append(ToServer(session.initialized))
        for request in session.after_greeting():
            self._core.ask(str(request["method"]), request.get("params"), lambda answer: None, raw=True)
        self._is_up()

    def _not_greeted(self, asked: bytes, life: object) -> None:
        if self._core.life is life and self._core.own.pop(asked, None) is not None:
            self._core.out.append(StopServer("no answer to the handshake, so the relay ended it"))

    def _is_up(self) -> None:
        self._core.server(ServerChange.GREETED)
        held = list(self._core.held)
        self._core.held = [each for each in held if not isinstance(each, bytes)]
        if self._core.listing.known:
            self._core.listing.is_fresh = False
            self._core.lists.renew()
        for each in held:
            if isinstance(each, bytes):
                self._core.out.append(ToServer(each))
            elif each.tool and each.run is None:
                self._core.calls.admit(each)
            elif each.is_again and self._core.listing.known:
                self._core.calls.resume(each)
            else:
                self._core.forward(each)

    def died(self, death: Death) -> None:
        """The server has ended, or could not be started."""
        hide = self._hides()
        recent = None if death.recent is None else hide(death.recent)
        death = replace(death, errors=hide(death.errors), problem=hide(death.problem), recent=recent)
        was_up = self._core.state is ServerState.UP
        self._core.own = {}
        self._core.lists.lost()
        lost = list(self._core.pending.values())
        for key in self._core.asked:
            self._core.tell(notification("notifications/cancelled", {"requestId": read_frame(key)}))
        self._core.stale |= self._core.asked.keys()
        self._core.asked = {}
        if not self._core.has_answered and not self._core.listing.known:
            self._never_started(death, lost)
            return
        self._core.server(ServerChange.DIED)
        from . import failures

        # One that did some work before it ended is worth starting at once.
        self._falls = 1 if self._core.has_worked else self._falls + 1
        self._core.has_worked = False
        line = f"{self._core.command} ended with {failures.reason(death)}; it is started again"
        self._core.out.append(Note(line, loud=True))
        waiting = [*self._core.queued, *self._core.unlisted]
        if was_up:
            # They were not sent yet, and will be.
            for request in list(self._core.unlisted):
                self._core.move(request, Event.QUEUE)
                self._core.calls.deadlines.limit_wait(request)
        for request in lost:
            self._lost(request, death)
        if not was_up:
            self._core.held = list(self._core.queued)
            for request in waiting:
                self._not_back(request, death)
        if self._falls < _MOST_FALLS or self._core.held:
            self.wake()

    def _hides(self) -> Callable[[str], str]:
        """What a server that died said last, without any secret, those of the calls that it died with too."""
        from .own_secrets import OwnSecrets

        tools = self._core.listing.tools
        calls = [each.run for each in self._core.pending.values() if each.run is not None]
        sent = OwnSecrets.sent(secret for run in calls for secret in run.secrets_in(tools))
        return lambda text: sent.text(self._core.hidden(text))

    def failed(self, key: bytes, error: ToolError) -> None:
        """A request came to nothing by itself."""
        from . import answers, failures

        error = self._core.callers_secrets.error(self._core.secrets.error(error))
        request = self._core.pending.get(key)
        if request is None:
            if (own := self._core.own.pop(key, None)) is not None:
                own({"error": {"code": -32603, "message": error.message}})
            return
        is_unsent = error.delivery == "never_sent"
        is_cancelled = request.state is State.CANCELLED
        lost = Event.LOSE if error.delivery == "unanswered" else Event.ANSWER
        self._core.move(request, Event.DROP if is_unsent else lost)
        if is_cancelled:
            self._core.calls.keyed.keep_answer(request, b"", is_undone=is_unsent)
        elif not self._core.has_answered and request.method == "initialize":
            self._core.server(ServerChange.NEVER_ANSWERED)
            self._reason = failures.unreached(error.message, self._core.command)
            self._core.out.append(Note(self._reason, loud=True))
            self._tell_reason([request], error)
        elif request.run is not None:
            self._core.calls.settle(request, error, None)
        elif request.method in _READS and request.losses < 1 and error.retryable:
            request.losses += 1
            self._core.move(request, Event.WAIT)
            self._core.after(error.retry_after or _SHORT_PAUSE, lambda: self._once_more(request))
        elif error.retryable and (frame := self._core.listing.answer(request)) is not None:
            # What it listed before is better than nothing, as with a server that was stopped.
            self._core.answer(request, frame)
        else:
            self._core.answer(request, answers.refused(request.id, error))

    def _once_more(self, request: RelayedRequest) -> None:
        if request.state is State.WAITING:
            self._core.forward(request)

    def forgotten(self, key: bytes, error: ToolError, *, is_current: bool) -> None:
        """The session is gone: another one is begun, and what only reads is sent again there. What became of a call
        nobody knows: it may have been done in the session, or behind whoever lost it."""
        if self._core.session.greeting is None:
            self.failed(key, error)
            return
        is_news = is_current and self._core.state is ServerState.UP
        if is_news:
            self._core.out.append(Note("the server has forgotten the session; another one is begun", loud=True))
            self._core.server(ServerChange.FORGOT)
        request = self._core.pending.get(key)
        is_safe = request is not None and request.method in _READS and request.state is State.SENT
        if request is None or not is_safe or request.losses >= _MOST_SESSIONS:
            self.failed(key, error)
        else:
            self._core.move(request, Event.LOSE)
            request.losses += 1
            self._core.forward(request)
        if is_news:
            self.started()

    def _never_started(self, death: Death, lost: list[RelayedRequest]) -> None:
        from . import failures

        self._core.server(ServerChange.NEVER_ANSWERED)
        self._reason = failures.never_started(death, self._core.command)
        self._core.out.append(Note(self._reason, loud=True))
        # Who started us has something to ask, and is told why there is no answer.
        if not self._tell_reason(lost):
            self._core.after(_GRACE, lambda: self._core.out.append(Quit(2)))

    def asked_first(self, request: RelayedRequest) -> None:
        """The client greets a server that has said nothing so far: one that never answers is told as one."""
        self._core.after(_FIRST_GREETING_TIMEOUT, lambda: self._still_mute(request))

    def _still_mute(self, request: RelayedRequest) -> None:
        if self._core.has_answered or self._core.pending.get(request.key) is not request:
            return
        self._reason = f"{self._core.command} has not answered in {_FIRST_GREETING_TIMEOUT:g} seconds"
        self._core.out.append(Note(self._reason, loud=True))
        self._tell_reason([request])

    def _tell_reason(self, lost: list[RelayedRequest], error: ToolError | None = None) -> bool:
        """Answer whoever waits for a server that never started; whether there was anybody. With the answer it ends."""
        from . import answers

        asked = [*lost, *self._core.queued, *self._core.unlisted]
        for request in asked:
            if request.state is State.SENT:
                self._core.move(request, Event.LOSE)
            if request.state not in (State.CANCELLED, State.DONE):
                self._core.answer(request, answers.error_answer(request.id, self._reason, error))
        if asked:
            self._core.out.append(Quit(2))
        return bool(asked)

    def _lost(self, request: RelayedRequest, death: Death) -> None:
        """A request that was with the server when it ended."""
        from . import answers, failures

        is_written = not any(request is each for each in death.unwritten)
        is_cancelled = request.state is State.CANCELLED
        step = self._core.move(request, Event.LOSE if is_written else Event.DROP)
        if is_cancelled:
            self._core.calls.keyed.keep_answer(request, b"", is_undone=False)
        elif request.run is not None:
            self._core.calls.settle(request, failures.stopped(death, request.tool, step), None)
        elif request.method in _READS and request.losses < (_MOST_FALLS if request.method == _LISTEN else 1):
            # It may be what the server dies of, so that is tried once.
            request.losses += 1
            self._core.move(request, Event.QUEUE)
        else:
            error = failures.stopped(death, request.method, step)
            message = f"The server stopped ({failures.how(death)})."
            self._core.answer(request, answers.error_answer(request.id, message, error))

    def _not_back(self, request: RelayedRequest, death: Death) -> None:
        """A request that waited for a server which did not come."""
        from . import answers, failures

        error = failures.not_back(death, self._core.command, request.tool or None)
        if request.run is not None or request.tool:
            request.run = request.run or self._core.calls.begin(request)
            self._core.calls.end(
                request, request.run.record_refusal(error) if request.last is None else request.last, None
            )
        else:
            self._core.answer(request, answers.error_answer(request.id, error.message, error))

    def wake(self) -> None:
        """See to it that there is a server, as soon as it may be started."""
        if self._core.state is ServerState.FAILED:
            self._tell_reason([])
        elif self._core.state is ServerState.OFF:
            self.start()
        elif self._core.state is ServerState.DOWN:
            self._core.server(ServerChange.PAUSE)
            pause = 0.0 if self._falls <= 1 else min(_LONGEST_PAUSE, 0.25 * 2.0**self._falls)
            self._core.starts_at = self._core.clock.monotonic() + pause
            self._core.after(pause, self.start)
            for request in self._core.queued:
                if request.is_call:
                    self._core.calls.deadlines.refuse_in_crash_loop(request)

    def start(self) -> None:
        if ServerChange.START in SERVER[self._core.state] and not self._core.is_ending:
            self._core.server(ServerChange.START)
            self._core.out.append(Start())

    def drain(self) -> None:
        """Let what is under way come to its end, take nothing new, then end."""
        if self._core.state is ServerState.FAILED:
            self._core.out.append(Quit(2))
            return
        if self._core.is_ending:
            # Whoever says so twice does not want to wait.
            self._cut_short()
            return
        self._core.is_ending = True
        self._core.after(_DRAIN_TIMEOUT, self._cut_short)

    def _cut_short(self) -> None:
        """End now: what is under way is told as what it is, a call that may have been done."""
        from . import answers, failures

        core = self._core
        for request in [*core.pending.values(), *core.queued, *core.unlisted, *core.repeating]:
            was = request.state
            if was in (State.SENT, State.CANCELLED):
                core.move(request, Event.CUT_SHORT)
            if was is State.CANCELLED:
                if request.claim:
                    core.calls.keyed.keep_answer(request, b"", is_undone=False)
            elif not request.tool:
                core.answer(request, answers.error_answer(request.id, "The relay was told to end."))
            else:
                request.run = request.run or core.calls.begin(request)
                error = failures.cut_short(request.tool) if was is State.SENT else failures.ending(request.tool)
                core.calls.end(
                    request, request.run.record_refusal(error) if request.last is None else request.last, None
                )
        core.out.append(Quit(0))

    @property
    def is_drained(self) -> bool:
        core = self._core
        return core.is_ending and not (core.pending or core.repeating or core.unlisted or core.queued)
