"""A client that recovers: it waits, repeats, corrects, asks and reconnects, and never does a thing twice.

    async with Recovering(Client("http://localhost:8000/mcp")) as agent:
        result = await agent.call_tool("pay", {"invoice": "inv_1"})

Every failure is read, and `decide` says what to do about it. What is done twice is decided in one place only: there.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Final

import anyio

from failwell.classify.verify import find_check
from failwell.formats import META_KEY, Outcome, render
from failwell.formats.text import next_action
from failwell.model.decide import Decision, Next, Policy, decide
from failwell.model.error import ToolError
from failwell.model.kinds import IN_DOUBT, Effect
from failwell.model.needs import NeedsInput
from failwell.model.tool import Traits

from .attempts import effect_of, in_all, spread
from .clock import SYSTEM, Clock
from .connection import Connection, Live, NotConnected, OutOfTime
from .drivers import driver_for
from .explaining import explained, misspelt
from .listing import LISTING_TIMEOUT, Listing
from .patience import LOST, Patience
from .reading import is_envelope, is_failing, read, text_of
from .report import Attempt, Report, remembered
from .run import IDEMPOTENCY_KEY, KeyForgotten, Run
from .sending import is_plain, unsendable
from .surface import attribute_of
from .witness import Seen, watching
from .wording import closed, not_connected, says_doubt, sharper, times_of, too_late

log = logging.getLogger("failwell.client")

# A server that answers every answer with another question is not going to be content.
_MOST_QUESTIONS: Final = 5
_REPORTS_KEPT: Final = 100
# What a request is that changes nothing by the protocol's own word, whatever the server is trusted with.
_READ: Final = Traits(read_only=True, told=True)

Fix = Callable[[ToolError, dict[str, Any]], "Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None"]
Ask = Callable[[Outcome], "Mapping[str, Any] | bool | Awaitable[Mapping[str, Any] | bool | None] | None"]
Negotiate = Callable[[ToolError, tuple[str, ...]], "bool | Awaitable[bool | None] | None"]


class Recovering:
    """Around an `mcp.Client` or a `fastmcp.Client`, or a function that makes one; the same `call_tool`, and
    all else that the client can do.

    policy: how patient to be.
    fix: `fix(error, arguments)` gives better arguments, or None. `patched` is one: it applies what the server proposes.
    ask: `ask(question)` gives the user's answers as arguments, True to make the call again (something was granted), or
        None. It gets a `NeedsInput`, or an error that only the user can do something about.
    negotiate: `negotiate(error, holders)` talks to those who hold what the call needs; True to make the call again.
    on_decision: called with an `Attempt` after each failure.
    reads: names of tools that only read, with `*` for anything: `["get_*"]`. Most servers do not say it of theirs, and
        a tool that may have done something is not called twice.

    The four functions may be async. One that raises, or takes longer than the call's deadline, counts as None.
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
        reads: Sequence[str] = (),
        clock: Clock = SYSTEM,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        for name, callback in (("fix", fix), ("ask", ask), ("negotiate", negotiate), ("on_decision", on_decision)):
            if callback is not None and not callable(callback):
                raise TypeError(f"{name} is a function, not {callback!r}.")
        if isinstance(reads, str) or not all(isinstance(name, str) for name in reads):
            raise TypeError(f"reads is a list of names, such as ['get_*'], not {reads!r}.")
        self.policy = policy or Policy()
        self.reports: deque[Report] = deque(maxlen=_REPORTS_KEPT)
        """What was tried for the latest calls, the last one last; without results, or anything else that is large."""
        self._driver = driver_for(client)
        self._fix, self._ask, self._negotiate, self._on_decision = fix, ask, negotiate, on_decision
        self._clock = clock
        self._jitter = jitter
        self._patience = Patience(self.policy)
        self._listing = Listing(self._driver, trusted=self.policy.trust_annotations, reads=tuple(reads))
        self._envelopes = False
        self._store: tuple[Live | None, object] = (None, None)
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
        patience = self.policy.deadline if self._driver.interactive else timeout
        made = 0
        while True:
            connection, live, seen = self._open, None, Seen()
            token = watching.set(seen)
            try:
                live = await connection.open(self.policy.timeout)
                with live.calling(timeout, patience) as client:
                    return await send(client)
            except Exception as exc:
                made += 1
                failure = self._read_failure(exc, seen, live)
                if repeat:
                    failure = failure.replace(effect=Effect.NONE)
                    if live is not None and isinstance(exc, OutOfTime):
                        live.retire()
                decision = decide(
                    failure,
                    tool=_READ if repeat else None,
                    history=[failure] * (made - 1),
                    policy=self.policy,
                    now=self._clock.now(),
                )
                wait = self._wait(failure, decision) if repeat else None
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
        """Call a tool, and tell what was tried. It raises only when it is cancelled."""
        if more:
            options |= dict(zip(self._driver.positional, more, strict=False))
        _ = self._open
        if options and (unknown := [option for option in options if option not in self._driver.options]):
            raise TypeError(f"call_tool() has no option {unknown[0]!r}; it has {', '.join(self._driver.options)}.")
        run = self._begin(name, dict(arguments or {}), options)
        report = run.report
        try:
            result, outcome = await self._recover(run)
        finally:
            report.seconds = self._clock.monotonic() - run.started
        if outcome is None:
            report.result = result
        else:
            report.error, report.result = await self._final(run, result, outcome)
        self.reports.append(remembered(report))
        return report

    def _begin(self, name: str, arguments: dict[str, Any], options: dict[str, Any]) -> Run:
        meta = dict(options.pop("meta", None) or {})
        given = options.pop(self._driver.timeout_option, None)
        timeout = given.total_seconds() if isinstance(given, timedelta) else given
        key = meta.get(IDEMPOTENCY_KEY)
        return Run(
            Report(name, arguments),
            options,
            meta,
            timeout or self._driver.timeout,
            self._clock.monotonic(),
            key if isinstance(key, str) else None,
        )

    async def _recover(self, run: Run) -> tuple[Any, Outcome | None]:
        """Call until it works or nothing more can be done; the last result there was, and the failure that is left."""
        report = run.report
        result: Any = None
        outcome: Outcome | None = None
        while True:
            refusal = self._refusal(run)
            if refusal is not None and outcome is not None:
                # There is something better to tell than why it is not called once more.
                return result, outcome
            if refusal is not None:
                self._tell(run, refusal, Decision(Next.GIVE_UP, refusal.message), 0.0, made=False)
                return None, refusal
            began, calls = self._clock.monotonic(), report.calls
            try:
                result, outcome = await self._attempt(run)
            except KeyForgotten:
                self._patience.let_go(report.tool)
                return result, outcome
            except BaseException:
                self._patience.let_go(report.tool)
                raise
            if outcome is None or (isinstance(outcome, ToolError) and not outcome.is_error):
                self._worked(report)
                return result, None
            made = report.calls > calls
            if made and isinstance(outcome, ToolError) and outcome.delivery == "never_sent":
                made, report.calls = False, calls
            self._patience.failed(report.tool, outcome, run.connected, self._clock.monotonic())
            if isinstance(outcome, ToolError):
                said = text_of(result)
                outcome = explained(outcome, report.tool, report.arguments, self._listing.known, said)
            outcome = await self._with_check(run, outcome)
            decision, wait = self._limited(run, outcome, *await self._decide(run, outcome))
            self._tell(run, outcome, decision, self._clock.monotonic() - began, made=made, wait=wait)
            await self._listen(run, report.attempts[-1])
            if not await self._again(run, outcome, decision, wait):
                # What was only seen in a success is still a success.
                return result, None if run.observed else outcome

    # One attempt

    async def _attempt(self, run: Run) -> tuple[Any, Outcome | None]:
        report = run.report
        timeout, patience = self._timeout(run), self._left(run) if self._driver.interactive else None
        seen = Seen()
        seen.patience = patience
        token = watching.set(seen)
        live: Live | None = None
        try:
            run.connected = None
            connection, listing = self._open, self._listing
            run.connected = live = connection.usable or await connection.open(timeout)
            if live.silent and not live.is_asking:
                live.silent = not await listing.is_answered(live, timeout)
                if live.silent:
                    live.retire()
                    run.connected = live = await connection.open(timeout)
            if live is not listing.asked_over or live.asked is None:
                await listing.ask(connection, live, timeout)
                # Not every server survives that.
                run.connected = live = await connection.open(timeout)
            if not listing.knows(report.tool, report.arguments):
                problem = misspelt(report.tool, report.arguments, listing.known)
                if problem is not None:
                    return None, problem
            self._use_key(run, live)
            report.calls += 1
            run.sent = True
            with live.calling(timeout, patience) as client:
                # Where the user may be asked something meanwhile, the connection counts the time.
                limit = timeout if patience is None else patience
                result = await self._driver.send(client, report.tool, report.arguments, limit, run.meta, run.options)
        except KeyForgotten:
            raise
        except Exception as exc:
            return None, self._read_failure(exc, seen, live)
        finally:
            watching.reset(token)
        return result, self._read(run, result)

    def _read(self, run: Run, result: Any) -> Outcome | None:
        """What a result means. A success is one; only of a tool that may be called twice, what plainly looks like a
        passing failure in it is acted on: a fifth of the servers do not mark theirs."""
        run.observed = False
        outcome = read(result, envelopes=self._envelopes)
        if outcome is not None:
            return outcome
        if not self._envelopes and is_envelope(result):
            self._envelopes = True
        if not self._listing.traits(run.report.tool).repeatable:
            return None
        seen = read(result, observe=True)
        run.observed = is_failing(seen, result)
        return seen if run.observed else None

    def _timeout(self, run: Run) -> float:
        return min(run.timeout or self.policy.timeout, self._left(run))

    def _left(self, run: Run) -> float:
        return max(0.001, run.started + self.policy.deadline - self._clock.monotonic())

    def _use_key(self, run: Run, live: Live) -> None:
        """Put the idempotency key on the call where the server honours one."""
        if self._store[0] is not live:
            # What a connection says about keys, it says once.
            self._store = (live, live.honours_keys(META_KEY))
        store = self._store[1]
        if store is None and not run.sent and not run.meta:
            run.was_keyed = False
            return
        if run.is_forgotten(store):
            if not self._listing.traits(run.report.tool).repeatable:
                raise KeyForgotten
            run.forget()
        run.use_key(store)

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
        if live is not None and error.origin == "local" and error.code == "TIMEOUT":
            live.silent = True
        # Where the SDK has not even noticed that the time was up, nothing gets through any more.
        is_stuck = isinstance(exc, TimeoutError) and not isinstance(exc, OutOfTime)
        if live is not None and (is_stuck or (error.origin == "local" and error.code in LOST)):
            live.retire()
        return error

    # What to do about a failure

    async def _decide(self, run: Run, outcome: Outcome) -> tuple[Decision, float | None]:
        """What to do, and how long to wait before the same call is made again; None if it is not."""
        decision = decide(
            outcome,
            tool=await self._traits(run),
            history=run.failures,
            policy=self.policy,
            now=self._clock.now(),
            keyed=run.is_keyed,
        )
        return decision, self._wait(outcome, decision)

    def _wait(self, outcome: Outcome, decision: Decision) -> float | None:
        if not decision.repeats or decision.delay is None or not isinstance(outcome, ToolError):
            return None
        return max(0.0, min(spread(decision.delay, outcome, self._jitter()), self.policy.max_delay))

    def _limited(
        self, run: Run, outcome: Outcome, decision: Decision, wait: float | None
    ) -> tuple[Decision, float | None]:
        """The same, unless something says that enough is enough."""
        if wait is None:
            return decision, None
        now = self._clock.monotonic()
        if now + wait >= run.started + self.policy.deadline:
            why: str | None = f"The next call would come after the deadline of {self.policy.deadline:g} seconds."
        else:
            why = self._patience.objects(run.report.tool, outcome, now, wait)
        if why is None:
            return decision, wait
        return Decision(Next.GIVE_UP, why, delay=decision.delay), None

    async def _again(self, run: Run, outcome: Outcome, decision: Decision, wait: float | None) -> bool:
        """Whether the call is to be made again, after having done what has to be done before."""
        if decision.doubtful or decision.unproven or not self._may_follow(run, outcome):
            return False
        left = run.started + self.policy.deadline - self._clock.monotonic()
        if wait is not None:
            # Again, since whoever listens may have taken all the time, and others what was left of the budget.
            if wait >= left or not self._patience.take(outcome):
                return False
            await self._clock.sleep(wait)
            return True
        if left <= 0:
            return False
        if isinstance(outcome, NeedsInput) or decision.next is Next.ASK:
            return await self._asked(run, outcome, left)
        if decision.next is Next.FIX and self._fix is not None:
            return await self._fixed(run, outcome, left)
        if decision.next is Next.NEGOTIATE and self._negotiate is not None and self._may_repeat(run):
            return bool(await self._use(left, self._negotiate, outcome, decision.holders)) and self._patience.take(
                outcome
            )
        return False

    def _may_follow(self, run: Run, outcome: Outcome) -> bool:
        """Whether a question leads to another call: one that is only quoted comes out of a call that worked."""
        is_question = isinstance(outcome, NeedsInput)
        return not is_question or outcome.standing != "quoted" or self._listing.traits(run.report.tool).repeatable

    async def _asked(self, run: Run, outcome: Outcome, left: float) -> bool:
        # What only the user can change is asked once; a question may lead to another.
        most = _MOST_QUESTIONS if isinstance(outcome, NeedsInput) else 1
        if self._ask is None or run.questions >= most:
            return False
        run.questions += 1
        answer = await self._use(left, self._ask, outcome)
        if isinstance(answer, Mapping):
            run.report.arguments = {**run.report.arguments, **answer}
            return True
        return answer is True and isinstance(outcome, ToolError)

    async def _fixed(self, run: Run, error: Outcome, left: float) -> bool:
        assert self._fix is not None
        better = await self._use(left, self._fix, error, dict(run.report.arguments))
        if not isinstance(better, Mapping) or better == run.report.arguments:
            return False
        run.report.arguments = dict(better)
        return True

    def _may_repeat(self, run: Run) -> bool:
        return len(run.report.attempts) < self.policy.max_attempts

    async def _use(self, left: float, callback: Callable[..., Any], *arguments: Any) -> Any:
        """What a callback answers; None if it raises or takes too long. It never brings the call down."""
        try:
            with anyio.move_on_after(left):
                answer = callback(*arguments)
                return await answer if inspect.isawaitable(answer) else answer
        except asyncio.CancelledError:
            # Ours, or of something that the callback waited for, such as a question that the user closed.
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
        except Exception:
            log.exception("A callback of Recovering raised; the call goes on without its answer.")
        return None

    async def _listen(self, run: Run, attempt: Attempt) -> None:
        if self._on_decision is not None:
            left = run.started + self.policy.deadline - self._clock.monotonic()
            await self._use(max(left, 0.001), self._on_decision, attempt)

    # What is known of the server

    async def _listed(self, run: Run) -> Mapping[str, Any]:
        """The tools. If they could not be listed, a call that was sent and failed is worth one more try."""
        if self._listing.is_missing and run.sent and not run.looked:
            run.looked = True
            await self._listing.try_to_fetch(self._open, None, min(self._timeout(run), LISTING_TIMEOUT))
        live = run.connected
        if live is not None and live.asked is None and not live.ended and run.sent:
            # They have changed meanwhile, and with them perhaps what may be called twice.
            await self._listing.ask(self._open, live, self._timeout(run))
        return self._listing.known

    async def _traits(self, run: Run) -> Traits:
        await self._listed(run)
        return self._listing.traits(run.report.tool)

    def _refusal(self, run: Run) -> ToolError | None:
        """Why a call cannot be made, or had better not be."""
        report = run.report
        if not is_plain(report.arguments) and (problem := unsendable(report.arguments)) is not None:
            return problem
        if not report.tool.isascii() or (run.meta and not is_plain(run.meta)):
            problem = unsendable({**run.meta, "name": report.tool}, "The name of the tool and the `_meta`")
            if problem is not None:
                return problem
        if not self._patience.is_tried:
            return None
        now = self._clock.monotonic()
        return self._patience.refuses(report.tool, report.arguments, now, first=not report.attempts)

    def _worked(self, report: Report) -> None:
        patience = self._patience
        if patience.is_tried:
            patience.worked(report.tool, report.arguments)
            # What only reads changes nothing, so what failed before would fail again.
            if not self._listing.traits(report.tool).reads:
                patience.changed()

    # The end

    def _tell(
        self,
        run: Run,
        outcome: Outcome,
        decision: Decision,
        seconds: float,
        *,
        made: bool = True,
        wait: float | None = None,
    ) -> None:
        report = run.report
        number = len(report.attempts) + 1
        report.attempts.append(
            Attempt(number, report.tool, dict(report.arguments), outcome, decision, seconds, made, wait)
        )

    async def _final(self, run: Run, result: Any, outcome: Outcome) -> tuple[Outcome, Any]:
        """The failure that is left, with what is known by now, and the result that shows it to a model."""
        era = self._era()
        if isinstance(outcome, NeedsInput):
            return outcome, result if result is not None else self._driver.failure(outcome, era)
        report = run.report
        error = await self._truthful(run, outcome, is_answer=result is not None)
        notes: list[str] = []
        if report.calls > 1:
            notes.append(f"It was tried {times_of(report.calls)}.")
        if report.calls:
            times = self._patience.times(report.tool, report.arguments, error, self._clock.monotonic())
            if times > 1:
                notes.append(sharper(error, times))
        # Of a call that may have been done, one step is told, and nothing about trying.
        in_doubt = error.effect in IN_DOUBT
        told = error.replace(next_steps=(*error.next_steps, *notes)) if notes and not in_doubt else error
        if result is None:
            return error, self._driver.failure(told, era)
        if in_doubt and not says_doubt(error, result.content):
            # A reason that sounds as if it would pass must not come first, so what the server wrote is told by us.
            return error, self._driver.with_meta(result, told, text=render(told, "text"))
        # The server's own words stay as they are. Added is only what they do not say.
        if error.legacy:
            notes = next_action(told)
        if in_doubt or (not notes and result.is_error):
            return error, result
        return error, self._driver.with_meta(result, told, note=" ".join(notes))

    async def _truthful(self, run: Run, error: ToolError, *, is_answer: bool) -> ToolError:
        """The last failure, with what all the calls together may have done, and the call that would tell."""
        # The tool's own answer to a key that it knows is about all of them. A gateway's, or our own, is not.
        earlier = () if run.is_keyed and is_answer else run.failures
        error = error if error.tool else error.replace(tool=run.report.tool)
        known: ToolError = await self._with_check(run, in_all(error, await self._traits(run), earlier))
        return known

    async def _with_check(self, run: Run, outcome: Outcome) -> Any:
        """A failure that may have done something, with the call that would tell."""
        if not isinstance(outcome, ToolError) or outcome.verify is not None:
            return outcome
        report, tool = run.report, await self._traits(run)
        if effect_of(outcome, tool) not in IN_DOUBT or tool.reads:
            return outcome
        listing = self._listing
        listed = listing.known.values()
        check = find_check(report.tool, report.arguments, listed, trusted=listing.trusted, reads=listing.reads)
        return outcome if check is None else outcome.replace(verify=check)

    def _era(self) -> str:
        live = self._connection.live if self._connection is not None else None
        version = (
            None
            if live is None or live.ended or not live.ready.is_set()
            else getattr(live.client, "protocol_version", None)
        )
        return version if isinstance(version, str) else "2025-11-25"


def _is_the_clients(exc: Exception, failure: ToolError, seen: Seen) -> bool:
    """Whether an exception is as good as what was read from it: nothing is known that it does not say."""
    if isinstance(exc, (ConnectionError, TimeoutError)) or seen.http is not None or seen.failure is not None:
        return False
    return not (hasattr(exc, "code") and failure.origin == "local")
