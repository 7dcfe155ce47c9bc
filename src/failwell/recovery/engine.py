"""What is to become of a call: whether it may be made, what to do after it failed, and what to tell in the end.

Nothing here calls, waits or reads the time by itself. Whoever drives it does: a client, a bridge, a relay.

    run = engine.begin("pay", {"id": 7})
    while (refusal := run.refusal(tools)) is None:
        run.sending()
        …make the call; if it worked: run.worked(tools), and that was it
        run.failed(error)
        verdict = run.after(error, tools)
        if not run.consume_budget(verdict):
            return run.ending(verdict.outcome, tools)
        …wait for verdict.wait seconds
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from failwell.formats import Outcome, render, usual_action, wait_step
from failwell.model import (
    IN_DOUBT,
    Decision,
    Kind,
    Nature,
    NeedsInput,
    Next,
    Policy,
    ToolError,
    Traits,
    decide,
    effect_seen,
)
from failwell.redact import DEFAULT

from .attempts import in_all, is_in_words, is_undone, of_this_call, spread
from .hold import Held, Hold, leaves_in_doubt
from .idempotency_key import Key, KeyForgotten
from .report import Attempt, Report
from .retry_limits import DONE_BEFORE, UNLIMITED, Limits, RetryLimits, repeat_note, times_of, way_out
from .tools import Tools

# Attempts in all while a server that was there before cannot be reached: it is being started anew, and to wait for that
# can do no harm, since what was never sent is no call. It counts where anything is retried at all.
_MOST_UNSENT: Final = 5
# A server that answers every answer with another question is not going to be content.
_MOST_QUESTIONS: Final = 5
# What a request is that changes nothing by the protocol's own word, whatever the server is trusted with.
_READ: Final = Traits(read_only=True, told=True)


class Watch(Protocol):
    """A clock that is only looked at. Whoever drives the engine waits by means of their own."""

    def monotonic(self) -> float:
        """Seconds since some moment; it never goes back."""

    def now(self) -> datetime:
        """The time of day, with its zone."""


class Verdict(NamedTuple):
    """What to do after a failure."""

    outcome: Outcome
    """The failure, with the call that would tell whether it was done."""
    decision: Decision
    wait: float | None
    """How many seconds to wait before the same call is made again; None if it is not."""


class Ending(NamedTuple):
    """What to tell about a call that failed in the end."""

    outcome: Outcome
    """What is left, with what all the calls together may have done."""
    decision: Decision
    told: Outcome
    """The same with the notes."""
    notes: tuple[str, ...] = ()
    """What is to be said beside what the server says."""
    sent: Mapping[str, Any] | None = None
    """What it was sent."""
    secrets: tuple[str, ...] | None = None
    """What of that is secret, where it was looked through."""

    @property
    def in_doubt(self) -> bool:
        """Whether the call may have been done."""
        return isinstance(self.outcome, ToolError) and self.outcome.effect in IN_DOUBT

    @property
    def shown(self) -> Outcome:
        """What is told, for a model: what was sent is not quoted at length."""
        if not isinstance(self.told, ToolError):
            return self.told
        guard = DEFAULT.hearing(self.sent, is_plain=self.secrets == ())
        return self.told if guard is DEFAULT else guard(self.told)

    @property
    def text(self) -> str:
        """All of it in words. It is guarded, and enough by itself."""
        return render(self.shown, "text")


class Engine:
    """What the calls of one server have shown so far, and what follows from it for the next one.

    jitter: gives a number from 0 to 1, by which waits are spread. hold: the one of the session, where several processes
    serve it. limits: how many failures are enough, unless the policy knows no limits.
    """

    def __init__(
        self,
        policy: Policy | None,
        clock: Watch,
        jitter: Callable[[], float],
        hold: Hold | None = None,
        limits: Limits | None = None,
    ) -> None:
        if policy is not None and not isinstance(policy, Policy):
            raise TypeError(f"policy is a failwell.Policy, such as Policy(max_attempts=2), not {policy!r}.")
        self.policy = policy or Policy()
        self.clock = clock
        self.bounds = (limits or Limits()) if self.policy.circuit_breaker else UNLIMITED
        self.limits = RetryLimits(self.policy, self.bounds)
        self.hold = Hold(self.policy.hold) if hold is None else hold
        self.is_reached = False
        """Whether the server has ever done what it was asked to, or said something about it."""
        self._jitter = jitter

    def __deepcopy__(self, memo: object) -> Engine:
        # Frameworks copy tools. What is known of a server is one thing, however many hold it.
        return self

    def begin(self, tool: str, arguments: Mapping[str, Any], meta: Mapping[str, Any] | None = None) -> Run:
        """A call that is about to be made; `meta` is what goes with it, with an idempotency key if there is one."""
        now = self.clock.monotonic()
        return Run(self, Report(tool, dict(arguments)), now, Key(dict(meta) if meta else {}), now)

    def wait(self, outcome: Outcome, decision: Decision) -> float | None:
        """How long to wait before the same call is made again; None if it is not."""
        if not decision.repeats or decision.delay is None or not isinstance(outcome, ToolError):
            return None
        return max(0.0, min(spread(decision.delay, outcome, self._jitter()), self.policy.max_delay))

    def policy_for(self, outcome: Outcome, history: Sequence[ToolError]) -> Policy:
        """How patient to be with a failure: more so while the server is away that was there before. What could not be
        sent to it is none of the calls that it is worth."""
        policy = self.policy
        if not _is_unsent(outcome) or not self.is_reached:
            return policy
        sent = sum(not _is_unsent(each) for each in history)
        if policy.max_attempts < 2 or sent >= policy.max_attempts:
            return policy
        return replace(policy, max_attempts=max(policy.max_attempts, _MOST_UNSENT))

    def wait_to_read(self, failure: ToolError, earlier: Sequence[ToolError], left: float) -> float | None:
        """The same for a request that changes nothing and is no call of a tool, with how it failed before, and the
        seconds that are left before its deadline."""
        now, policy = self.clock.now(), self.policy_for(failure, earlier)
        wait = self.wait(failure, decide(failure, tool=_READ, history=earlier, policy=policy, now=now))
        return None if wait is None or wait >= left else wait


def _is_unsent(outcome: Outcome) -> bool:
    return isinstance(outcome, ToolError) and outcome.delivery == "never_sent"


@dataclass(slots=True)
class Run:
    """One call of the agent while it is under way, with all the attempts at it."""

    engine: Engine
    report: Report
    started: float
    key: Key = field(default_factory=Key)
    began: float = 0.0
    """When the present attempt began."""
    _made: bool = False
    _is_keyed: bool = False
    _questions: int = 0
    _secrets: tuple[Mapping[str, Any], Tools, tuple[str, ...]] | None = None

    @property
    def failures(self) -> list[ToolError]:
        return [attempt.error for attempt in self.report.attempts if isinstance(attempt.error, ToolError)]

    @property
    def left(self) -> float:
        """How many seconds are left before the deadline; below zero after it."""
        return self.started + self.engine.policy.deadline - self.engine.clock.monotonic()

    # Before an attempt

    def refusal(self, tools: Tools) -> ToolError | None:
        """Why the call had better not be made now, or None.

        Then it must be, and what came of it be said: by `worked`, by `failed`, or by `release`.
        """
        report, limits = self.report, self.engine.limits
        self.began, self._made, self._is_keyed = self.engine.clock.monotonic(), False, False
        if (held := self.held(tools)) is not None:
            return held.answer()
        is_first = not report.attempts
        return limits.refuses(report.tool, report.arguments, self.began, first=is_first) if limits.has_failed else None

    def held(self, tools: Tools) -> Held | None:
        """The call that this one would repeat while it is in doubt."""
        report = self.report
        if report.attempts:
            return None
        held = self.engine.hold.find(report.tool, report.arguments, self.engine.clock.monotonic())
        return held and held.with_check(lambda: tools.check_of(report.tool, report.arguments))

    def release_hold(self) -> None:
        """The user says that the call may be run again."""
        self.engine.hold.release(self.report.tool, self.report.arguments)

    def record_refusal(self, why: ToolError) -> ToolError:
        """Note that the call was not made at all."""
        decision = decide(why) if why.effect in IN_DOUBT else Decision(Next.GIVE_UP, " ".join(why.message.split()))
        self._note(why, decision, made=False)
        return why

    def use_key(self, store: str | None, tools: Tools) -> None:
        """Put an idempotency key on the call, if the server has a store that knows it; it raises `KeyForgotten`."""
        if self.key.is_forgotten(store):
            if not tools.traits(self.report.tool).repeatable:
                raise KeyForgotten
            self.key.forget()
        self.key.use(store)
        self._is_keyed = True

    def sending(self) -> None:
        """The call is made."""
        self.report.calls += 1
        self._made = True

    def answered_questions(self, rounds: int) -> None:
        """The same attempt was sent again with answers, as often as the server asked for input in its result."""
        self.report.calls += rounds
        self.report.rounds += rounds

    # After it

    def worked(self, tools: Tools) -> None:
        report, limits = self.report, self.engine.limits
        self.engine.is_reached = True
        reads = tools.traits(report.tool).reads
        self.engine.hold.succeeded(self.began, reads=reads)
        if limits.has_failed:
            # What only reads changes nothing, so what failed before would fail again.
            limits.succeed(report.tool, report.arguments, changed=not reads)

    def release(self) -> None:
        """The attempt was given up before it told anything."""
        self.engine.limits.release(self.report.tool)

    def failed(self, outcome: Outcome, connection: object = None) -> bool:
        """The attempt failed, over this connection if one is known. Whether that is better left for a new one."""
        # What did nothing, by its server's own word, has given its key back.
        self.key.sent = self.key.sent or (self._made and not is_undone(outcome))
        is_unsent = _is_unsent(outcome)
        self.engine.is_reached = self.engine.is_reached or (self._made and not is_unsent)
        if self._made and is_unsent:
            self._made = False
            self.report.calls -= 1
        elif self._made and not self._is_keyed:
            self.key.lose()
        return self.engine.limits.fail(self.report.tool, outcome, connection, self.engine.clock.monotonic())

    def after(self, outcome: Outcome, tools: Tools) -> Verdict:
        """What to do about the failure."""
        if isinstance(outcome, ToolError):
            outcome = of_this_call(outcome, self.report.tool)
        if secrets := self.secrets_in(tools):
            outcome = DEFAULT.knowing(secrets)(outcome)
        outcome = self._with_check(outcome, tools)
        decision, engine = self._decide(outcome, tools, self.failures), self.engine
        wait = engine.wait(outcome, decision)
        if wait is not None:
            why = engine.limits.objects(self.report.tool, outcome, engine.clock.monotonic(), wait)
            if wait >= self.left:
                why = f"The next call would come after the deadline of {engine.policy.deadline:g} seconds."
            if why is not None:
                decision, wait = Decision(Next.GIVE_UP, why, delay=decision.delay), None
        self._note(outcome, decision, wait, made=self._made)
        return Verdict(outcome, decision, wait)

    def _decide(self, outcome: Outcome, tools: Tools, history: Sequence[ToolError]) -> Decision:
        engine = self.engine
        return decide(
            outcome,
            tool=tools.traits(self.report.tool),
            history=history,
            policy=engine.policy_for(outcome, history),
            now=engine.clock.now() if isinstance(outcome, ToolError) and outcome.given("reset_at") else None,
            keyed=self.key.is_known,
        )

    def secrets_in(self, tools: Tools) -> tuple[str, ...]:
        """What of the arguments is secret: looked through once."""
        known, arguments = self._secrets, self.report.arguments
        if known is None or known[0] is not arguments or known[1] is not tools:
            known = self._secrets = arguments, tools, tools.secrets_in(self.report.tool, arguments)
        return known[2]

    def may_follow(self, verdict: Verdict, tools: Tools) -> bool:
        """Whether another call may be thought of at all, with the same arguments or with others."""
        outcome, decision, _ = verdict
        if decision.doubtful or decision.unproven:
            return False
        # A question that is only quoted comes out of a call that worked.
        is_quoted = isinstance(outcome, NeedsInput) and outcome.standing == "quoted"
        return not is_quoted or tools.traits(self.report.tool).repeatable

    def consume_budget(self, verdict: Verdict) -> bool:
        """Whether the same call is made again, after the wait: then that is taken from the budget.

        It is looked at once more, since others may have taken what was left, and whoever listens all the time.
        """
        return verdict.wait is not None and verdict.wait < self.left and self.engine.limits.take(verdict.outcome)

    def may_negotiate(self) -> bool:
        """Whether it is worth talking to those who hold what the call needs."""
        return len(self.report.attempts) < self.engine.policy.max_attempts

    def negotiated(self, verdict: Verdict) -> bool:
        """Whether the call is made again because they gave way."""
        return self.engine.limits.take(verdict.outcome)

    def asks(self, outcome: Outcome) -> bool:
        """Whether the user is asked: once for what only they can change, while a question may lead to another."""
        most = _MOST_QUESTIONS if isinstance(outcome, NeedsInput) else 1
        self._questions += 1
        return self._questions <= most

    # The end

    def ending(self, outcome: Outcome, tools: Tools, *, is_answer: bool = False) -> Ending:
        """What to tell of the failure that is left. `is_answer` says that it is what the tool itself answered."""
        if not isinstance(outcome, ToolError):
            return Ending(outcome, self._last_decision(outcome, tools), outcome)
        error = self._in_all(outcome, tools, is_answer=is_answer)
        self._hold(error, tools)
        decision, notes = self._last_decision(error, tools), self._notes(error, tools)
        about = self.report.arguments, self.secrets_in(tools)
        steps = () if error.effect in IN_DOUBT else self._steps(error, notes, tools)
        # What is said of trying must not take the place of what there is to do.
        told = error.replace(next_steps=(*error.next_steps, *notes, *steps)) if notes or steps else error
        return Ending(error, decision, told, notes, *about)

    def _hold(self, error: ToolError, tools: Tools) -> None:
        """Hold a write that may have been done. A key answers by itself."""
        report, engine = self.report, self.engine
        is_write = tools.traits(report.tool).writes and not self.key.is_known
        if not report.tries or not is_write or not leaves_in_doubt(error):
            return
        check = error.verify or tools.check_of(report.tool, report.arguments)
        engine.hold.failed(report.tool, report.arguments, error, check, engine.clock.monotonic())

    def _steps(self, error: ToolError, notes: Sequence[str], tools: Tools) -> tuple[str, ...]:
        """What there is to do, where nobody says so: how long is waited differs only where anybody waits."""
        if is_in_words(error):
            # Words are passed on as they are; of what may be done twice, the wait is known.
            is_passing = error.retryable and tools.traits(self.report.tool).repeatable
            return (wait_step(error, self.engine.policy),) if is_passing else ()
        if not (notes or error.retryable):
            return ()
        usual, mine = usual_action(error, self.engine.policy) or ("", "")
        if not mine or (not notes and usual == mine) or DONE_BEFORE in notes:
            return ()
        return () if any(note.endswith(way_out(error)) for note in notes) else (mine,)

    def _last_decision(self, outcome: Outcome, tools: Tools) -> Decision:
        """What is decided is what is told: once more, where it is told that the call may have been done."""
        last = self.report.attempts[-1].decision if self.report.attempts else None
        in_doubt = isinstance(outcome, ToolError) and outcome.effect in IN_DOUBT
        if last is not None and not in_doubt:
            return last
        found = self._decide(outcome, tools, self.failures[:-1])
        # Whether it is made again was decided before, by more than this.
        return last if last is not None and found.repeats else found

    def _in_all(self, error: ToolError, tools: Tools, *, is_answer: bool) -> ToolError:
        """The last failure, with what all the calls together may have done, and the call that would tell."""
        # The tool's own answer to a key that it knows is about all of them. A gateway's, or our own, is not.
        earlier = () if self.key.is_known and is_answer else self.failures
        tool = self.report.tool
        error = error if error.tool or not tool else error.replace(tool=tool)
        known = in_all(error, tools.traits(tool), earlier)
        if known.sent is None and (known.fields or known.patch) and not is_in_words(known):
            known = known.replace(sent=tools.shown(tool, self.report.arguments))
        if known.effect not in IN_DOUBT:
            return known
        checked = self._with_check(known, tools)
        assert isinstance(checked, ToolError)
        return checked

    def _notes(self, error: ToolError, tools: Tools) -> tuple[str, ...]:
        """What is said of trying: nothing where one step is told, or where only whoever wrote the words knows more."""
        report = self.report
        if not report.tries:
            return ()
        now = self.engine.clock.monotonic()
        times = self.engine.limits.count(report.tool, report.arguments, error, now)
        if error.effect in IN_DOUBT or (is_in_words(error) and not tools.traits(report.tool).repeatable):
            return ()
        notes = [f"It was tried {times_of(report.tries)}."] if report.tries > 1 else []
        if times > 1:
            notes.append(repeat_note(error, times, self.engine.bounds))
        # What is missing by now, or there by now, may be so since a try before it was done.
        is_idempotent = tools.traits(report.tool).nature is Nature.IDEMPOTENT
        is_lost = any(each.delivery == "unanswered" for each in self.failures[:-1])
        if is_idempotent and is_lost and error.kind in (Kind.NOT_FOUND, Kind.CONFLICT):
            notes.append(DONE_BEFORE)
        return tuple(notes)

    def _with_check(self, outcome: Outcome, tools: Tools) -> Outcome:
        """A failure that may have done something, with the call that would tell."""
        if not isinstance(outcome, ToolError) or outcome.verify is not None:
            return outcome
        report = self.report
        tool = tools.traits(report.tool)
        if tool.reads or effect_seen(outcome, tool) not in IN_DOUBT:
            return outcome
        check = tools.check_of(report.tool, report.arguments)
        return outcome if check is None else outcome.replace(verify=check)

    def _note(self, outcome: Outcome, decision: Decision, wait: float | None = None, *, made: bool) -> None:
        report, seconds = self.report, self.engine.clock.monotonic() - self.began
        number, arguments = len(report.attempts) + 1, dict(report.arguments)
        report.attempts.append(Attempt(number, report.tool, arguments, outcome, decision, seconds, made, wait))
