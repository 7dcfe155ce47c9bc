"""A client that recovers: it waits, repeats, corrects, asks and reconnects, and never does a thing twice.

    async with Recovering(Client("http://localhost:8000/mcp")) as agent:
        result = await agent.call_tool("pay", {"invoice": "inv_1"})

Every failure is read, and the engine of `failwell.recovery` says what to do about it. What is done twice is decided in
one place only: there.
"""

from __future__ import annotations

import inspect
import json
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Final

from failwell.formats import Outcome, next_action
from failwell.model import Effect, Kind, NeedsInput, Next, Policy, Severity, Strategy, ToolError
from failwell.observe import Events
from failwell.readers import is_failing, read
from failwell.recovery import (
    LOST,
    NEVER_SENT,
    Attempt,
    Engine,
    KeyForgotten,
    Report,
    Run,
    Verdict,
    explain_failure,
    find_misspelling,
    is_in_words,
    shorten_report,
    store_of,
)
from failwell.redact import DEFAULT

from .callbacks import Ask, Callbacks, Fix, Negotiate, call_back
from .client_events import EventEmitter, log_attempt, log_ending, with_id
from .clock import SYSTEM, Clock, usable_clock
from .connection import Connection, Live, NotConnected, OutOfTime
from .drivers import driver_for
from .http_trace import CallTrace, active_trace
from .tool_list import LISTING_TIMEOUT, Listing

_REPORTS_KEPT: Final = 100
# What a request is named that changes nothing, so that it can simply be made again.
_READS: Final = ("list_", "read_", "get_", "complete", "ping", "send_ping")
# Those that open something which the caller enters.
_OPENS: Final = frozenset({"listen"})


class _NoLongerRepeatable(Exception):
    """The tool is no longer annotated as safe to retry."""


@dataclass(slots=True)
class _Call:
    """One call of the agent while it is under way. What becomes of it is the engine's to say, by its `run`."""

    run: Run
    options: dict[str, Any]
    timeout: float | None
    name: str | None
    """By which server and relay know it; its attempts are numbered."""
    connected: Live | None = None
    looked: bool = False
    """Whether the tools were looked for because of this call."""
    observed: Any = None
    """The result that works, of which only the words say that it failed."""
    by_mark: bool = False
    """Whether it is made again only because its tool was listed as one that may be."""


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
    notify_user: called with an error that only a person can resolve. The log of `failwell.client` has it, too.
    reads, writes: names of tools that only read, or that change something, with `*` for anything: `["get_*"]`.
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

    # What else the client can do: all that is not named here is the client's.

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        connection, sample = self._connection, self._driver.sample
        if name == "close" and hasattr(sample, name):
            return self._open.close
        usable = None if connection is None else connection.usable
        client = sample if usable is None else usable.client
        found = inspect.getattr_static(type(sample), name, None)
        if isinstance(found, property):
            # What the server said of itself; without a server it is what a client says that is not connected.
            try:
                return getattr(client, name)
            except RuntimeError as exc:
                raise RuntimeError("There is no connection yet: it is opened by the first request.") from exc
        if not inspect.isfunction(found):
            return getattr(sample, name)
        if name in _OPENS:
            return self._opening(name)
        if not inspect.iscoroutinefunction(inspect.unwrap(found)):
            # How the client is set up: for the connections to come.
            return getattr(sample if name.startswith("set_") else client, name)

        async def request(*given: Any, **options: Any) -> Any:
            send = lambda client: getattr(client, name)(*given, **options)  # noqa: E731
            return await self._request(send, repeat=name.startswith(_READS))

        request.__name__ = name
        return request

    def _opening(self, name: str) -> Any:
        @asynccontextmanager
        async def opening(*given: Any, **options: Any) -> AsyncIterator[Any]:
            live = await self._open.open(self.policy.timeout)
            async with getattr(live.client, name)(*given, **options) as entered:
                yield entered

        return opening

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
            connection, live, trace = self._open, None, CallTrace()
            token = active_trace.set(trace)
            left = max(0.001, ends - self._clock.monotonic())
            limit = min(timeout, left)
            try:
                live = await connection.open(min(self.policy.timeout, left))
                async with live.calling(limit, left if self._driver.interactive else limit) as client:
                    answer = await send(client)
                self._engine.is_reached = True
                return answer
            except Exception as exc:
                failure = self._read_failure(exc, trace, live)
                if repeat:
                    failure = failure.replace(effect=Effect.NONE)
                    if live is not None and isinstance(exc, OutOfTime):
                        live.retire()
                left = ends - self._clock.monotonic()
                wait = self._engine.wait_to_read(failure, failures, left) if repeat else None
                failures.append(failure)
                if wait is None:
                    error = getattr(exc, "error", None)
                    is_told = trace.http is None or trace.is_answer(error)
                    is_lost = isinstance(exc, (ConnectionError, TimeoutError)) or trace.failure is not None
                    if is_told and not is_lost and not (hasattr(error, "code") and failure.origin == "local"):
                        # Nothing is known that the client's own exception does not say.
                        raise
                    raise failure from exc
            finally:
                active_trace.reset(token)
            await self._clock.sleep(wait)

    # Calls of tools

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, *more: Any, **options: Any) -> Any:
        """Call a tool as the client itself does, with the same options. A failure that is left is a result too, unless
        the client raises for those."""
        report = await self.call(name, arguments, *more, **options)
        return self._driver.give(report.result, options)

    async def call(self, name: str, arguments: dict[str, Any] | None = None, *more: Any, **options: Any) -> Report:
        """Call a tool, and tell what was tried. It raises only when it is cancelled, or when this is no call."""
        if more:
            options |= dict(zip(self._driver.positional, more, strict=False))
        # No model could do anything about the mistakes of its program.
        if not isinstance(name, str):
            raise TypeError(f"call_tool() takes the name of a tool, a text, not {name!r}.")
        if arguments is not None and not isinstance(arguments, Mapping):
            raise TypeError(f"call_tool() takes the arguments as a dict, not as {type(arguments).__name__}.")
        _ = self._open
        if options and (unknown := [option for option in options if option not in self._driver.options]):
            raise TypeError(f"call_tool() has no option {unknown[0]!r}; it has {', '.join(self._driver.options)}.")
        meta, given = options.pop("meta", None), options.pop(self._driver.timeout_option, None)
        timeout = given.total_seconds() if isinstance(given, timedelta) else given
        run = self._engine.begin(name, arguments or {}, meta)
        event_name = None if self._emitter is None else self._emitter.next_name()
        call, report = _Call(run, options, timeout or self._driver.timeout, event_name), run.report
        try:
            result, outcome = await self._recover(call)
        finally:
            report.seconds = self._clock.monotonic() - run.started
        if outcome is not None and call.observed is not None:
            # What was only seen in a success is still a success, whatever came of looking again.
            result, outcome = call.observed, None
        if outcome is None:
            report.result = result
        else:
            report.error, report.result = await self._end(call, result, outcome)
        kept = shorten_report(report)
        self.reports.append(kept)
        if self._emitter is not None:
            info = getattr(self._live_client(), "server_info", None)
            server = getattr(info, "name", None)
            server = server if isinstance(server, str) else None
            self._emitter.emit(report, outcome, call.name, kept=kept, server=server, era=self._era())
        return report

    async def _recover(self, call: _Call) -> tuple[Any, Outcome | None]:
        """Call until it works or nothing more can be done; the last result there was, and the failure that is left."""
        run, report = call.run, call.run.report
        result: Any = None
        outcome: Outcome | None = None
        while True:
            refusal = _unsendable(report.arguments)
            if refusal is None and (run.key.meta or not report.tool.isascii()):
                refusal = _unsendable({"name": report.tool, **run.key.meta}, is_meta=True)
            refusal = refusal or run.refusal(self._listing.tools)
            if refusal is not None and await self._confirms(call, refusal):
                refusal = run.refusal(self._listing.tools)
            if refusal is not None:
                # If it was called before, there is something better to tell than why it is not called once more.
                return (None, run.record_refusal(refusal)) if outcome is None else (result, outcome)
            try:
                result, outcome = await self._attempt(call)
            except (KeyForgotten, _NoLongerRepeatable):
                run.release()
                return result, outcome
            except BaseException:
                run.release()
                raise
            if outcome is None or (result is not None and isinstance(outcome, ToolError) and not outcome.is_error):
                run.worked(self._listing.tools)
                return result, None
            if run.failed(outcome, call.connected) and call.connected is not None:
                call.connected.retire()
            if isinstance(outcome, ToolError):
                traits = self._listing.tools.traits(report.tool)
                outcome = explain_failure(outcome, report.tool, report.arguments, self._listing.known, traits)
            await self._list_after(call)
            verdict = run.after(outcome, self._listing.tools)
            outcome = verdict.outcome
            log_attempt(report.attempts[-1])
            await call_back(_left(call), self._callbacks.on_decision, report.attempts[-1])
            if not await self._again(call, verdict):
                return result, outcome

    async def _confirms(self, call: _Call, refusal: ToolError) -> bool:
        """Whether the user says that a call that may have been done is to be run again; asked where no call tells."""
        held, user = call.run.held(self._listing.tools), self._callbacks
        if held is None or held.verify is not None or user.ask is None:
            return False
        arguments = call.run.report.arguments
        # A yes leaves the arguments as they are; what else is answered is no word about this call.
        if await user.ask_user(refusal, arguments, call.run.left) is not arguments:
            return False
        call.run.release_hold()
        return True

    async def _attempt(self, call: _Call) -> tuple[Any, Outcome | None]:
        """Make the call once; its result, and what that means."""
        run, report, listing = call.run, call.run.report, self._listing
        timeout, patience = self._timeout(call), _left(call) if self._driver.interactive else None
        trace = CallTrace(patience)
        token = active_trace.set(trace)
        live: Live | None = None
        call.connected = None
        try:
            connection = self._open
            call.connected = live = connection.usable or await connection.open(timeout)
            if live.silent and not live.is_asking:
                live.silent = not await listing.is_answered(live, timeout)
                if live.silent:
                    live.retire()
                    call.connected = live = await connection.open(timeout)
            if not live.is_listed or (call.by_mark and listing.is_old):
                await listing.ask(connection, live, timeout, again=call.by_mark)
                # Not every server survives that.
                call.connected = live = await connection.open(timeout)
            if call.by_mark and listing.is_old:
                # Nobody knows whether it may still be repeated; that is asked again, and the call is not sent.
                return None, ToolError("The tools of the server cannot be listed.", code="UNAVAILABLE", **NEVER_SENT)
            if call.by_mark and not listing.tools.traits(report.tool).repeatable:
                raise _NoLongerRepeatable
            if not listing.knows(report.tool, report.arguments):
                problem = find_misspelling(report.tool, report.arguments, listing.known)
                if problem is not None:
                    return None, problem
            if self._store[0] is not live:
                # What a connection says about keys, it says once.
                self._store = (live, store_of(getattr(live.client, "server_capabilities", None)))
            run.use_key(self._store[1], listing.tools)
            run.sending()
            async with live.calling(timeout, patience) as client:
                # Where the user may be asked something meanwhile, the connection counts the time.
                limit = timeout if patience is None else patience
                meta = with_id(run.key.meta, call.name, report.calls)
                result = await self._driver.send(client, report.tool, report.arguments, limit, meta, call.options)
        except (KeyForgotten, _NoLongerRepeatable):
            raise
        except Exception as exc:
            return None, self._read_failure(exc, trace, live)
        finally:
            active_trace.reset(token)
            run.answered_questions(trace.rounds)
        outcome = read(result)
        if outcome is None and listing.tools.traits(report.tool).repeatable:
            # A fifth of the servers do not mark their failures: what plainly looks like a passing one is tried again.
            seen = read(result, observe=True)
            if is_failing(seen, result):
                call.observed, outcome = result, seen
        return result, outcome

    def _timeout(self, call: _Call) -> float:
        return min(call.timeout or self.policy.timeout, _left(call))

    def _read_failure(self, exc: Exception, trace: CallTrace, live: Live | None) -> ToolError:
        """What an exception means for this call."""
        if isinstance(exc, NotConnected):
            return exc.error()
        if live is None and self._connection is None:
            words = "The client was closed before the call could be made."
            return ToolError(words, kind=Kind.INTERNAL, **NEVER_SENT)
        if live is None and isinstance(exc, TimeoutError):
            return ToolError("The server could not be reached in time.", code="TIMEOUT", **NEVER_SENT)
        cause = exc if trace.failure is None else trace.failure
        outcome = read(cause, http=None if trace.failure is not None else trace.http, transport=True)
        error = outcome if isinstance(outcome, ToolError) else ToolError("The call failed.", origin="local")
        is_later = trace.http is not None or trace.failure is not None or error.delivery == "never_sent"
        if trace.answered and is_later:
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

    async def _again(self, call: _Call, verdict: Verdict) -> bool:
        """Whether the call is to be made again, after having done what has to be done before."""
        run, (outcome, decision, wait) = call.run, verdict
        if not run.may_follow(verdict, self._listing.tools):
            return False
        if wait is not None:
            if not run.consume_budget(verdict):
                return False
            call.by_mark = run.key.sent and self._listing.tools.traits(run.report.tool).repeatable
            await self._clock.sleep(wait)
            return True
        left, user, report = run.left, self._callbacks, run.report
        if left <= 0:
            return False
        if isinstance(outcome, NeedsInput) or decision.next is Next.ASK:
            asked = user.ask is not None and run.asks(outcome)
            better = await user.ask_user(outcome, report.arguments, left) if asked else None
        elif decision.next is Next.FIX:
            better = await user.correct(outcome, report.arguments, left)
        elif decision.next is Next.NEGOTIATE and user.negotiate is not None and run.may_negotiate():
            has_gone = await call_back(left, user.negotiate, outcome, decision.holders)
            return bool(has_gone) and run.negotiated(verdict)
        else:
            return False
        if better is None:
            return False
        report.arguments = better
        call.run.key.renew()
        return True

    async def _list_after(self, call: _Call) -> None:
        """See to the list of tools. If they could not be listed, a call that was sent and failed is worth another
        look; they may have changed meanwhile, and with them what may be called twice."""
        if not call.run.key.sent:
            return
        if self._listing.is_missing and not call.looked:
            call.looked = True
            await self._listing.look(self._open, min(self._timeout(call), LISTING_TIMEOUT))
        live = call.connected
        if live is not None and not live.ended:
            again = self._listing.tools.traits(call.run.report.tool).repeatable
            await self._listing.ask(self._open, live, self._timeout(call), again=again)

    async def _end(self, call: _Call, result: Any, outcome: Outcome) -> tuple[Outcome, Any]:
        """The failure that is left, with what is known by now, and the result that shows it to a model."""
        if isinstance(outcome, NeedsInput):
            return outcome, result if result is not None else self._driver.failure(outcome, self._era())
        await self._list_after(call)
        report, tools = call.run.report, self._listing.tools
        ending = call.run.ending(outcome, tools, is_answer=result is not None)
        error, told = ending.outcome, ending.told
        assert isinstance(error, ToolError)
        assert isinstance(told, ToolError)
        if result is None:
            result = self._driver.failure(told, self._era())
        else:
            if secrets := tools.secrets_in(report.tool, report.arguments):
                result = self._driver.without(result, secrets)
            # The server's own words stay, with what its list proves after them; what was tried is in `_meta`.
            added = next_action(told) if is_in_words(error) else ()
            is_marked = self._driver.is_marked(result)
            # An envelope says by itself that it failed, so without the flag it stays as it came.
            if added or ending.notes if is_marked else error.format != "envelope":
                result = self._driver.with_meta(result, told, note=" ".join(added))
        log_ending(report, error)
        is_hopeless = error.strategy is Strategy.ABORT or error.severity is Severity.CRITICAL
        if is_hopeless and self._callbacks.notify_user is not None:
            await call_back(_left(call), self._callbacks.notify_user, DEFAULT(error))
        return error, result

    def _live_client(self) -> Any:
        live = None if self._connection is None else self._connection.live
        return live.client if live is not None and live.ready.is_set() and not live.ended else None

    def _era(self) -> str:
        version = getattr(self._live_client(), "protocol_version", None)
        return version if isinstance(version, str) else "2025-11-25"


def _left(call: _Call) -> float:
    return max(0.001, call.run.left)


def _unsendable(values: Mapping[Any, Any], *, is_meta: bool = False) -> ToolError | None:
    """Why a part of a call cannot be sent. A model can write half a character, and that would end all calls."""
    if all(type(name) is str and type(value) is str and (name + value).isascii() for name, value in values.items()):
        return None
    try:
        # What JSON does not know is the SDK's to write.
        json.dumps(values, ensure_ascii=False, default=lambda value: None).encode()
        if all(type(name) is str for name in values):
            return None
        why = "their names must be texts"
    except UnicodeEncodeError:
        why = "they hold half of a surrogate pair, which is no character"
    except (TypeError, ValueError, RecursionError):
        why = "they are no JSON"
    what = "The name of the tool and the `_meta`" if is_meta else "The arguments"
    return ToolError(f"{what} cannot be sent: {why}.", code="VALIDATION_ERROR", **NEVER_SENT)
