"""The life of a server: started, greeted, stopped when nobody calls, and started again when it died."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .actions import Death, Quit, Start, StopServer, ToServer
from .messages import Message, read_frame
from .remembered_tools import LISTS
from .request import RelayedRequest
from .session import notification
from .states import SERVER, Event, ServerChange, ServerState, State

if TYPE_CHECKING:
    from failwell.model import ToolError

    from .relay_protocol import RelayProtocol

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

    def __init__(self, relay: RelayProtocol) -> None:
        self._relay = relay
        self._falls = 0
        """How often it ended soon after it was started, in a row."""
        self._reason = ""
        """Why it never started."""

    def start(self) -> None:
        if ServerChange.START in SERVER[self._relay.state] and not self._relay.is_ending:
            self._relay.move_server(ServerChange.START)
            self._relay.out.append(Start())

    def wake(self) -> None:
        """See to it that there is a server, as soon as it may be started."""
        relay = self._relay
        if relay.state is ServerState.FAILED:
            self._tell_reason()
        elif relay.state is ServerState.OFF:
            self.start()
        elif relay.state is ServerState.DOWN:
            relay.move_server(ServerChange.PAUSE)
            pause = 0.0 if self._falls <= 1 else min(_LONGEST_PAUSE, 0.25 * 2.0**self._falls)
            relay.starts_at = relay.clock.monotonic() + pause
            relay.after(pause, self.start)
            for request in relay.having(State.QUEUED):
                if request.is_call:
                    relay.calls.refuse_in_crash_loop(request)

    def started(self) -> None:
        """The server's process runs: it is told what the one before it knew."""
        relay, session = self._relay, self._relay.session
        if relay.life is not None:
            relay.calls.forgive()
        relay.life = life = object()
        if session.greeting is None or session.welcome is None:
            self._is_up()
            return
        asked = relay.ask("initialize", session.greeting.get("params"), self._greeted, raw=True)

        def look() -> None:
            if relay.life is life and relay.own.pop(asked, None) is not None:
                relay.out.append(StopServer("no answer to the handshake, so the relay ended it"))

        relay.after(_GREETING_TIMEOUT, look)

    def _greeted(self, message: Message) -> None:
        relay, session = self._relay, self._relay.session
        if not isinstance(message.get("result"), Mapping):
            relay.note("the server refused the handshake that it had taken before", once="greeting")
            relay.out.append(StopServer("a handshake that it refused"))
            return
        if session.initialized is not None:
            relay.out.append(ToServer(session.initialized))
        for request in session.after_greeting():
            relay.ask(str(request["method"]), request.get("params"), lambda answer: None, raw=True)
        self._is_up()

    def _is_up(self) -> None:
        relay = self._relay
        relay.move_server(ServerChange.GREETED)
        held = list(relay.held)
        relay.held = [each for each in held if not isinstance(each, bytes)]
        if relay.listing.known:
            relay.listing.is_fresh = False
            relay.list_tools()
        for each in held:
            if isinstance(each, bytes):
                relay.out.append(ToServer(each))
            elif each.tool:
                relay.calls.resume(each)
            else:
                relay.forward(each)

    def asked_first(self, request: RelayedRequest) -> None:
        """The client greets a server that has said nothing so far: one that never answers is told as one."""
        relay = self._relay

        def look() -> None:
            if not relay.has_answered and relay.pending.get(request.key) is request:
                self._give_up(f"{relay.command} has not answered in {_FIRST_GREETING_TIMEOUT:g} seconds")

        relay.after(_FIRST_GREETING_TIMEOUT, look)

    def died(self, death: Death) -> None:
        """The server has ended, or could not be started."""
        from . import failures

        relay = self._relay
        lost = list(relay.pending.values())
        runs = [each.run for each in lost if each.run is not None]
        sent = [secret for run in runs for secret in run.secrets_in(relay.listing.tools)]

        def hide(text: str) -> str:
            return str(relay.secrets.hidden(text, sent))

        recent = None if death.recent is None else hide(death.recent)
        death = replace(death, errors=hide(death.errors), problem=hide(death.problem), recent=recent)
        was_up = relay.state is ServerState.UP
        relay.own = {}
        relay.stop_listing()
        for key in relay.asked:
            relay.tell(notification("notifications/cancelled", {"requestId": read_frame(key)}))
        relay.stale |= relay.asked.keys()
        relay.asked = {}
        if not relay.has_answered and not relay.listing.known:
            relay.move_server(ServerChange.NEVER_ANSWERED)
            # Who started us has something to ask, and is told why there is no answer.
            if not self._give_up(failures.never_started(death, relay.command)):
                relay.after(_GRACE, lambda: relay.out.append(Quit(2)))
            return
        relay.move_server(ServerChange.DIED)
        # One that did some work before it ended is worth starting at once.
        self._falls = 1 if relay.has_worked else self._falls + 1
        relay.has_worked = False
        relay.note(f"{relay.command} ended with {failures.reason(death)}; it is started again")
        waiting = relay.having(State.QUEUED, State.LISTING)
        if was_up:
            # They were not sent yet, and will be.
            for request in relay.having(State.LISTING):
                relay.move(request, Event.QUEUE)
                relay.calls.limit_wait(request)
        for request in lost:
            self._lose(request, death)
        if not was_up:
            relay.held = [each for each in relay.held if not isinstance(each, bytes)]
            for request in waiting:
                self._refuse_waiting(request, failures.not_back(death, relay.command, request.tool or None))
        if self._falls < _MOST_FALLS or relay.held:
            self.wake()

    def _lose(self, request: RelayedRequest, death: Death) -> None:
        """A request that was with the server when it ended."""
        from . import answers, failures

        relay = self._relay
        is_cancelled = request.state is State.CANCELLED
        is_written = not any(request is each for each in death.unwritten)
        step = relay.move(request, Event.LOSE if is_written else Event.DROP)
        if is_cancelled:
            relay.calls.keep_answer(request, b"", is_undone=False)
        elif request.run is not None:
            relay.calls.settle(request, failures.stopped(death, request.tool, step), None)
        elif request.method in _READS and request.losses < (_MOST_FALLS if request.method == _LISTEN else 1):
            # It may be what the server dies of, so that is tried once.
            request.losses += 1
            relay.move(request, Event.QUEUE)
        else:
            error = failures.stopped(death, request.method, step)
            message = f"The server stopped ({failures.how(death)})."
            relay.answer(request, answers.error_answer(request.id, message, error))

    def _refuse_waiting(self, request: RelayedRequest, error: ToolError) -> None:
        """A request that was not sent, and will not be."""
        from . import answers

        if request.tool:
            self._relay.calls.end_unsent(request, error)
        else:
            self._relay.answer(request, answers.error_answer(request.id, error.message, error))

    def failed(self, key: bytes, error: ToolError) -> None:
        """A request came to nothing by itself."""
        from . import answers, failures

        relay = self._relay
        error = relay.secrets.error(error)
        request = relay.pending.get(key)
        if request is None:
            if (own := relay.own.pop(key, None)) is not None:
                own({"error": {"code": -32603, "message": error.message}})
            return
        is_unsent, is_cancelled = error.delivery == "never_sent", request.state is State.CANCELLED
        lost = Event.LOSE if error.delivery == "unanswered" else Event.ANSWER
        relay.move(request, Event.DROP if is_unsent else lost)
        if is_cancelled:
            relay.calls.keep_answer(request, b"", is_undone=is_unsent)
        elif not relay.has_answered and request.method == "initialize":
            relay.move_server(ServerChange.NEVER_ANSWERED)
            self._give_up(failures.unreached(error.message, relay.command), error)
        elif request.run is not None:
            relay.calls.settle(request, error, None)
        elif request.method in _READS and request.losses < 1 and error.retryable:
            request.losses += 1
            relay.move(request, Event.WAIT)
            relay.after(
                error.retry_after or _SHORT_PAUSE,
                lambda: relay.forward(request) if request.state is State.WAITING else None,
            )
        elif error.retryable and (frame := relay.listing.answer(request)) is not None:
            # What it listed before is better than nothing, as with a server that was stopped.
            relay.answer(request, frame)
        else:
            relay.answer(request, answers.refused(request.id, error))

    def forgotten(self, key: bytes, error: ToolError, *, is_current: bool) -> None:
        """The session is gone: another one is begun, and what only reads is sent again there. What became of a call
        nobody knows: it may have been done in the session, or behind whoever lost it."""
        relay = self._relay
        is_news = is_current and relay.state is ServerState.UP and relay.session.greeting is not None
        if is_news:
            relay.note("the server has forgotten the session; another one is begun")
            relay.move_server(ServerChange.FORGOT)
        request = relay.pending.get(key)
        is_safe = request is not None and request.method in _READS and request.state is State.SENT
        if request is None or not is_safe or request.losses >= _MOST_SESSIONS or relay.session.greeting is None:
            self.failed(key, error)
        else:
            relay.move(request, Event.LOSE)
            request.losses += 1
            relay.forward(request)
        if is_news:
            self.started()

    def _give_up(self, reason: str, error: ToolError | None = None) -> bool:
        """The server never answered anything: say why, and end; whether anybody waits for it."""
        self._reason = reason
        self._relay.note(reason)
        return self._tell_reason(error)

    def _tell_reason(self, error: ToolError | None = None) -> bool:
        """Answer whoever waits for a server that never started; whether there was anybody. With the answer it ends."""
        from . import answers

        relay = self._relay
        asked = relay.having(State.SENT, State.SETTLING, State.QUEUED, State.LISTING, State.CANCELLED)
        for request in asked:
            if request.state is State.SENT:
                relay.move(request, Event.LOSE)
            if request.state is not State.CANCELLED:
                relay.answer(request, answers.error_answer(request.id, self._reason, error))
        if asked:
            relay.out.append(Quit(2))
        return bool(asked)

    def drain(self) -> None:
        """Let what is under way come to its end, take nothing new, then end."""
        relay = self._relay
        if relay.state is ServerState.FAILED:
            relay.out.append(Quit(2))
        elif relay.is_ending:
            # Whoever says so twice does not want to wait.
            self._cut_short()
        else:
            relay.is_ending = True
            relay.after(_DRAIN_TIMEOUT, self._cut_short)

    def _cut_short(self) -> None:
        """End now: what is under way is told as what it is, a call that may have been done."""
        from . import answers, failures

        relay = self._relay
        for request in relay.having(State.SENT, State.CANCELLED, State.QUEUED, State.LISTING, State.WAITING):
            was = request.state
            if was in (State.SENT, State.CANCELLED):
                relay.move(request, Event.CUT_SHORT)
            if was is State.CANCELLED:
                relay.calls.keep_answer(request, b"", is_undone=False)
            elif not request.tool:
                relay.answer(request, answers.error_answer(request.id, "The relay was told to end."))
            else:
                error = failures.cut_short(request.tool) if was is State.SENT else failures.ending(request.tool)
                relay.calls.end_unsent(request, error)
        relay.out.append(Quit(0))
