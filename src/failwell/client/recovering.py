"""A client that recovers: it waits, repeats, corrects, asks and reconnects, and never does a thing twice.

    async with Recovering(Client("http://localhost:8000/mcp")) as agent:
        result = await agent.call_tool("pay", {"invoice": "inv_1"})

Every failure is read, and the engine of `failwell.recovery` says what to do about it. What is done twice is decided in
one place only: there.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Final

from failwell.formats import Outcome, next_action
from failwell.model import Effect, NeedsInput, Next, Policy, Severity, Strategy, ToolError
from failwell.observe import Events
from failwell.readers import is_envelope, is_failing, read
from failwell.recovery import (
    LOST,
    Attempt,
    Engine,
    KeyForgotten,
    Report,
    Verdict,
    explained,
    is_in_words,
    misspelt,
    remembered,
)
from failwell.redact import DEFAULT

from .callbacks import Ask, Callbacks, Fix, Negotiate
from .client_events import EventEmitter, log_attempt, log_ending, with_id
from .clock import SYSTEM, Clock, usable_clock
from .connection import Connection, Live, NotConnected, OutOfTime
from .course import ClientCall, MarkGone
from .drivers import driver_for
from .local_errors import closed, not_connected, not_listed, too_late
from .sendable import given, is_plain, unsendable
from .surface import attribute_of
from .tool_list import LISTING_TIMEOUT, Listing
from .witness import Seen, watching

_REPORTS_KEPT: Final = 100


class Recovering:
    """Around an `mcp.Client` or a `fastmcp.Client`, or a function that makes one; the same `call_tool`, and
    all else that the client can do. Or around an `mcp.ClientSession`: a function that opens one, as an async context
    manager does, or one that is open, whose connection nobody can open again.

    policy: how patient to be.
    fix: `fix(error, arguments)` gives better arguments, or None. `patched` is one: it applies what the server proposes.
    ask: `ask(question)` gives the user's answers as arguments, True to make the call again (something was granted), or
        None. It gets a `NeedsInput`, or an error that only the user can do something about.
    negotiate: `negotiate(error, holders)` talks to those who hold what the call needs; True to make the call again.
    on_decision: called with an `Attempt` after each failure.
    notify_user: called with the error that is left where nothing can be done about it but to tell somebody. What is
        left stands in the log of `failwell.client`, too.
    reads, writes: names of tools that only read, or that change something, with `*` for anything: `["get_*"]`, where
        neither their annotations nor their names say so.
    events: where each call is written down: the address of a store such as `sqlite:///events.db`, or a hook.

    These functions may be async. One that raises, or takes longer than the call's deadline, counts as None.
    """

    def __init__(
        self,
        client: Any,
        *,
        policy: Policy | None = None,
        fix: Fix | None = None,
        ask: Ask | None = None,
        negotiate: Negotiate | None = None,
        on_decision: Callable[[Attempt], object] | None = None,
        notify_user: Callable[[ToolError], object] | None = None,
        reads: Sequence[str] = (),
        writes: Sequence[str] = (),
        events: Events | None = None,
        clock: Clock = SYSTEM,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._callbacks = Callbacks(fix, ask, negotiate, on_decision, notify_user)
        for option, names in (("reads", reads), ("writes", writes)):
            if isinstance(names, str) or not all(isinstance(name, str) for name in names):
                raise TypeError(f"{option} is a list of names, such as ['get_*'], not {names!r}.")
        self.reports: deque[Report] = deque(maxlen=_REPORTS_KEPT)
        """What was tried for the latest calls, the last one last; without results, or anything else that is large."""
        self._driver = driver_for(client)
        self._clock = usable_clock(clock)
        self._engine = Engine(policy, clock, jitter)
        self.policy = self._engine.policy
        self._listing = Listing(
            self._driver, clock, trusted=self.policy.trust_annotations, reads=tuple(reads), writes=tuple(writes)
        )
        self._emitter = EventEmitter.of(events)
        self._envelopes = False
        self._store: tuple[Live | None, str | None] = (None, None)
        self._connection: Connection | None = None

    async def __aenter__(self) -> Recovering:
        if self._connection is not None:
            raise RuntimeError("This client is open already.")
        self._connection = Connection(self._driver)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # Whoever is told to stop does not wait for good manners.
            patience = 5.0 if exc is None or isinstance(exc, Exception) else 0.0
            await connection.close(patience, at_once=exc is not None)

    @property
    def client(self) -> Any:
        """The client of the present connection."""
        live = self._open.live
        if live is None or not live.ready.is_set():
            raise RuntimeError("There is no connection yet: it is opened by the first call.")
        return live.client

    @property
    def _open(self) -> Connection:
        if self._connection is None:
            raise RuntimeError("Use it as `async with Recovering(client) as agent:`.")
        return self._connection

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        connection, sample = self._connection, self._driver.sample
        if name == "close" and hasattr(sample, name):
            return self._open.close
        usable = connection.usable if connection is not None else None

        async def opened() -> Any:
            return (await self._open.open(self.policy.timeout)).client

        return attribute_of(name, sample, usable and usable.client, self._request, opened)

    async def list_tools(self, *given: Any, **options: Any) -> Any:
        """The tools, as the client itself lists them, with the same options; tried again where that may work."""
        listed = await self._request(
            lambda client: client.list_tools(*given, **options), repeat=True, timeout=LISTING_TIMEOUT
        )
        if not given and not options:
            self._listing.learn(listed)
        return listed

    async def _request(
        self, send: Callable[[Any], Awaitable[Any]], *, repeat: bool, timeout: float | None = None
    ) -> Any:
        """What a request gives that is no call of a tool. One that changes nothing is simply tried again.

        What the server says against it, and what the client says, is raised as the client raises it.
        """
        timeout = timeout or self._driver.timeout or self.policy.timeout
        ends, failures = self._clock.monotonic() + self.policy.deadline, list[ToolError]()
        while True:
            connection, live, seen = self._open, None, Seen()
            token = watching.set(seen)
            left = max(0.001, ends - self._clock.monotonic())
            limit = min(timeout, left)
            try:
                live = await connection.open(min(self.policy.timeout, left))
                with live.calling(limit, left if self._driver.interactive else limit) as client:
                    answer = await send(client)
                self._engine.is_reached = True
                return answer
            except Exception as exc:
                failure = self._read_failure(exc, seen, live)
                if repeat:
                    failure = failure.replace(effect=Effect.NONE)
                    if live is not None and isinstance(exc, OutOfTime):
                        live.retire()
                left = ends - self._clock.monotonic()
                wait = self._engine.wait_to_read(failure, failures, left) if repeat else None
                failures.append(failure)
                if wait is None:
                    if _is_the_clients(exc, failure, seen):
                        raise
                    raise failure from exc
            finally:
                watching.reset(token)
            await self._clock.sleep(wait)

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, *more: Any, **options: Any) -> Any:
        """Call a tool as the client itself does, with the same options. A failure that is left is a result too, unless
        the client raises for those."""
        report = await self.call(name, arguments, *more, **options)
        return self._driver.give(report.result, options)

    async def call(self, name: str, arguments: dict[str, Any] | None = None, *more: Any, **options: Any) -> Report:
        """Call a tool, and tell what was tried. It raises only when it is cancelled, or when this is no call."""
        if more:
            options |= dict(zip(self._driver.positional, more, strict=False))
        sent = given(name, arguments)
        _ = self._open
        if options and (unknown := [option for option in options if option not in self._driver.options]):
            raise TypeError(f"call_tool() has no option {unknown[0]!r}; it has {', '.join(self._driver.options)}.")
        call = self._begin(name, sent, options)
        report = call.report
        try:
            result, outcome = await self._recover(call)
        finally:
            report.seconds = self._clock.monotonic() - call.run.started
        if outcome is None:
            report.result = result
        else:
            report.error, report.result = await self._final(call, result, outcome)
            await self._tell(call, report.error)
        kept = remembered(report)
        self.reports.append(kept)
        if self._emitter is not None:
            self._emitter.emit(report, outcome, call.name, kept=kept, server=self._server_name(), era=self._era())
        return report

    def _begin(self, name: str, arguments: Mapping[str, Any], options: dict[str, Any]) -> ClientCall:
        meta = options.pop("meta", None)
        given = options.pop(self._driver.timeout_option, None)
        timeout = given.total_seconds() if isinstance(given, timedelta) else given
        run = self._engine.begin(name, arguments, meta)
        named = None if self._emitter is None else self._emitter.next_name()
        return ClientCall(run, options, timeout or self._driver.timeout, name=named)

    async def _recover(self, call: ClientCall) -> tuple[Any, Outcome | None]:
        """Call until it works or nothing more can be done; the last result there was, and the failure that is left."""
        run, report = call.run, call.report
        result: Any = None
        outcome: Outcome | None = None
        while True:
            refusal = self._unsendable(call) or run.refusal(self._listing.tools)
            if refusal is not None and await self._confirms(call, refusal):
                refusal = run.refusal(self._listing.tools)
            if refusal is not None:
                # If it was called before, there is something better to tell than why it is not called once more.
                return (None, run.refused(refusal)) if outcome is None else (result, outcome)
            try:
                result, outcome = await self._attempt(call)
            except (KeyForgotten, MarkGone):
                run.let_go()
                return result, outcome
            except BaseException:
                run.let_go()
                raise
            if outcome is None or (result is not None and isinstance(outcome, ToolError) and not outcome.is_error):
                run.worked(self._listing.tools)
                return result, None
            if run.failed(outcome, call.connected) and call.connected is not None:
                call.connected.retire()
            if isinstance(outcome, ToolError):
                traits = self._listing.tools.traits(report.tool)
                outcome = explained(outcome, report.tool, report.arguments, self._listing.known, traits)
            await self._listed(call)
            verdict = run.after(outcome, self._listing.tools)
            outcome = verdict.outcome
            log_attempt(report.attempts[-1])
            await self._callbacks.hears(report.attempts[-1], self._left(call))
            if not await self._again(call, verdict):
                # What was only seen in a success is still a success.
                return result, None if call.observed else outcome

    async def _confirms(self, call: ClientCall, refusal: ToolError) -> bool:
        """Whether the user says that a call that may have been done is to be run again; asked where no call tells."""
        held, user = call.run.held(self._listing.tools), self._callbacks
        if held is None or held.verify is not None or user.ask is None:
            return False
        arguments = call.report.arguments
        # A yes leaves the arguments as they are; what else is answered is no word about this call.
        if await user.answers(refusal, arguments, call.run.left) is not arguments:
            return False
        call.run.confirmed()
        return True

    # One attempt

    async def _attempt(self, call: ClientCall) -> tuple[Any, Outcome | None]:
        run, report = call.run, call.report
        timeout, patience = self._timeout(call), self._left(call) if self._driver.interactive else None
        seen = Seen()
        seen.patience = patience
        token = watching.set(seen)
        live: Live | None = None
        call.observed = False
        try:
            call.connected = None
            connection, listing = self._open, self._listing
            call.connected = live = connection.usable or await connection.open(timeout)
            if live.silent and not live.is_asking:
                live.silent = not await listing.is_answered(live, timeout)
                if live.silent:
                    live.retire()
                    call.connected = live = await connection.open(timeout)
            began, is_doubtful = self._clock.monotonic(), call.by_mark and listing.is_old
            if is_doubtful or live is not listing.asked_over or live.asked is None:
                await listing.ask(connection, live, timeout, anew=is_doubtful)
                # Not every server survives that.
                call.connected = live = await connection.open(timeout)
            if is_doubtful and listing.kept_at < began:
                return None, not_listed()
            if call.by_mark and not listing.tools.traits(report.tool).repeatable:
                raise MarkGone
            if not listing.knows(report.tool, report.arguments):
                problem = misspelt(report.tool, report.arguments, listing.known)
                if problem is not None:
                    return None, problem
            self._use_key(call, live)
            run.sending()
            with live.calling(timeout, patience) as client:
                # Where the user may be asked something meanwhile, the connection counts the time.
                limit = timeout if patience is None else patience
                meta, options = with_id(run.key.meta, call.name, report.calls), call.options
                result = await self._driver.send(client, report.tool, report.arguments, limit, meta, options)
        except (KeyForgotten, MarkGone):
            raise
        except Exception as exc:
            return None, self._read_failure(exc, seen, live)
        finally:
            watching.reset(token)
            run.answered_questions(seen.rounds)
        outcome = self._read(call, result)
        if outcome is None and self._listing.is_missing and not call.looked and _is_suspect(result):
            # Whether it may be acted on is said by the list, which could not be had before.
            call.looked = True
            await self._listing.look(connection, min(timeout, LISTING_TIMEOUT))
            outcome = self._read(call, result)
        return result, outcome

    def _read(self, call: ClientCall, result: Any) -> Outcome | None:
        """What a result means. A success is one; only of a tool that may be called twice, what plainly looks like a
        passing failure in it is acted on: a fifth of the servers do not mark theirs."""
        call.observed = False
        outcome = read(result, envelopes=self._envelopes)
        if outcome is not None:
            return outcome
        if not self._envelopes and is_envelope(result):
            self._envelopes = True
        if not self._listing.tools.traits(call.report.tool).repeatable:
            return None
        seen = read(result, observe=True)
        call.observed = is_failing(seen, result)
        return seen if call.observed else None

    def _timeout(self, call: ClientCall) -> float:
        return min(call.timeout or self.policy.timeout, self._left(call))

    def _left(self, call: ClientCall) -> float:
        return max(0.001, call.run.left)

    def _use_key(self, call: ClientCall, live: Live) -> None:
        """Put the idempotency key on the call where the server honours one."""
        if self._store[0] is not live:
            # What a connection says about keys, it says once.
            self._store = (live, live.honours_keys())
        call.run.use_key(self._store[1], self._listing.tools)

    def _read_failure(self, exc: Exception, seen: Seen, live: Live | None) -> ToolError:
        """What an exception means for this call."""
        if isinstance(exc, NotConnected):
            return not_connected(exc)
        if live is None and self._connection is None:
            return closed()
        if live is None and isinstance(exc, TimeoutError):
            return too_late()
        cause = exc if seen.failure is None else seen.failure
        outcome = read(cause, http=None if seen.failure is not None else seen.http, transport=True)
        error = outcome if isinstance(outcome, ToolError) else ToolError("The call failed.", origin="local")
        is_later = seen.http is not None or seen.failure is not None or error.delivery == "never_sent"
        if seen.answered and is_later:
            # The call was taken, and what failed came after it: the SDK's look at the list of the tools.
            error = error.replace(effect=Effect.UNKNOWN, delivery="unanswered")
        if live is not None and error.origin == "local" and error.code in ("TIMEOUT", "NOT_CONFIGURED"):
            # Whether anybody is there is asked before the next call; where the server has moved to is learned by that.
            live.silent = True
        # Where the SDK has not even noticed that the time was up, nothing gets through any more.
        is_stuck = isinstance(exc, TimeoutError) and not isinstance(exc, OutOfTime)
        if live is not None and (is_stuck or (error.origin == "local" and error.code in LOST)):
            live.retire()
        return error

    # What to do about a failure

    async def _again(self, call: ClientCall, verdict: Verdict) -> bool:
        """Whether the call is to be made again, after having done what has to be done before."""
        run, (outcome, decision, wait) = call.run, verdict
        if not run.may_follow(verdict, self._listing.tools):
            return False
        if wait is not None:
            if not run.takes(verdict):
                return False
            call.by_mark = run.key.sent and self._listing.tools.traits(call.report.tool).repeatable
            await self._clock.sleep(wait)
            return True
        left = run.left
        if left <= 0:
            return False
        user, report = self._callbacks, call.report
        if isinstance(outcome, NeedsInput) or decision.next is Next.ASK:
            asked = user.ask is not None and run.asks(outcome)
            better = await user.answers(outcome, report.arguments, left) if asked else None
        elif decision.next is Next.FIX:
            better = await user.corrects(outcome, report.arguments, left)
        elif decision.next is Next.NEGOTIATE and user.negotiate is not None and run.may_negotiate():
            return await user.settles(outcome, decision.holders, left) and run.negotiated(verdict)
        else:
            return False
        if better is None:
            return False
        report.arguments = better
        return True

    # What is known of the server

    async def _listed(self, call: ClientCall) -> None:
        """See to the list of tools. If they could not be listed, a call that was sent and failed is worth another
        look."""
        was_sent = call.run.key.sent
        if self._listing.is_missing and was_sent and not call.looked:
            call.looked = True
            await self._listing.look(self._open, min(self._timeout(call), LISTING_TIMEOUT))
        live = call.connected
        if live is None or live.ended or not was_sent:
            return
        # Behind an address another server may stand by now, without a session that would end with the first one.
        is_doubtful = self._listing.is_old and self._listing.tools.traits(call.report.tool).repeatable
        if is_doubtful or live.asked is None:
            # They have changed meanwhile, and with them perhaps what may be called twice.
            await self._listing.ask(self._open, live, self._timeout(call), anew=is_doubtful)

    def _unsendable(self, call: ClientCall) -> ToolError | None:
        """Why a call cannot be sent at all."""
        report, meta = call.report, call.run.key.meta
        if not is_plain(report.arguments) and (problem := unsendable(report.arguments)) is not None:
            return problem
        if not report.tool.isascii() or (meta and not is_plain(meta)):
            return unsendable({**meta, "name": report.tool}, "The name of the tool and the `_meta`")
        return None

    # The end

    async def _final(self, call: ClientCall, result: Any, outcome: Outcome) -> tuple[Outcome, Any]:
        """The failure that is left, with what is known by now, and the result that shows it to a model."""
        era = self._era()
        if isinstance(outcome, NeedsInput):
            return outcome, result if result is not None else self._driver.failure(outcome, era)
        await self._listed(call)
        ending = call.run.ending(outcome, self._listing.tools, is_answer=result is not None)
        error, told = ending.outcome, ending.told
        assert isinstance(error, ToolError)
        assert isinstance(told, ToolError)
        if result is None:
            return error, self._driver.failure(told, era)
        if secrets := self._listing.tools.secrets_in(call.report.tool, call.report.arguments):
            result = self._driver.without(result, secrets)
        # The server's own words stay as they are, with what its list proves after them; what was tried is in `_meta`.
        added = next_action(told) if is_in_words(error) else ()
        if not added and not ending.notes and self._driver.is_marked(result):
            return error, result
        return error, self._driver.with_meta(result, told, note=" ".join(added))

    async def _tell(self, call: ClientCall, outcome: Outcome) -> None:
        """Write down what is left, and where nothing can be done about it, let the user know."""
        if isinstance(outcome, NeedsInput):
            return
        log_ending(call.report, outcome)
        is_hopeless = outcome.strategy is Strategy.ABORT or outcome.severity is Severity.CRITICAL
        if is_hopeless and self._callbacks.notify_user is not None:
            await self._callbacks.notified(DEFAULT(outcome), self._left(call))

    def _server_name(self) -> str | None:
        live = self._connection.live if self._connection is not None else None
        info = getattr(live.client, "server_info", None) if live is not None else None
        name = getattr(info, "name", None)
        return name if isinstance(name, str) else None

    def _era(self) -> str:
        live = self._connection.live if self._connection is not None else None
        version = (
            None
            if live is None or live.ended or not live.ready.is_set()
            else getattr(live.client, "protocol_version", None)
        )
        return version if isinstance(version, str) else "2025-11-25"


def _is_suspect(result: Any) -> bool:
    """Whether something in a success plainly looks like a failure that passes."""
    return is_failing(read(result, observe=True), result)


def _is_the_clients(exc: Exception, failure: ToolError, seen: Seen) -> bool:
    """Whether an exception is as good as what was read from it: nothing is known that it does not say."""
    if isinstance(exc, (ConnectionError, TimeoutError)) or seen.failure is not None:
        return False
    said = getattr(exc, "error", None)
    if seen.http is not None and not seen.says(getattr(said, "code", None), getattr(said, "message", None)):
        return False
    return not (hasattr(said, "code") and failure.origin == "local")
