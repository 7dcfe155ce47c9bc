"""What an agent should do about a failure, and why: one pure function over tables.

The law it keeps: a call that may have had an effect is not repeated unless the tool is read-only or idempotent, nothing
can have run, or whoever stated the failure gave it a code by which the same call may succeed later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from math import inf, nextafter
from sys import float_info
from typing import Any, Final, NamedTuple

from .codes import IN_DOUBT, STRATEGY_OF_KIND, Effect, Kind, Severity, Strategy
from .fields import DELIVERIES, NOTHING_RAN, Delivery
from .json_values import instant
from .needs import NeedsInput
from .parts import Action, Patch
from .tool import Traits
from .tool_error import ToolError


@dataclass(frozen=True, slots=True)
class RetryRules:
    """What the contract of a format says about making a call again. The default leaves everything to the error."""

    final: bool = False
    """Whether the format says `recoverable`, and false means that the call is in vain."""
    asks: bool = False
    """Whether the contract has the user act wherever the call is not to be made again."""
    relayed: bool = False
    """Whether the writer has looked at its tool, so that a quoted error is more than words on the way."""
    plans: bool = False
    """Whether the format says by a strategy what to do, so that nothing else is made of its kind."""
    first_delay: float | None = None
    """The first wait in seconds, if the contract names one."""


NO_RETRY_RULES: Final = RetryRules()
_RETRY_RULES: Final[dict[str, RetryRules]] = {}


def register_retry_rules(format: str, rules: RetryRules) -> None:
    _RETRY_RULES[format] = rules


def retry_rules_of(format: str | None) -> RetryRules:
    """The rules of a format by its name; none for one that nobody knows."""
    return _RETRY_RULES.get(format or "", NO_RETRY_RULES)


class Next(StrEnum):
    """What to do next. The values are for programs; they are never shown to a model."""

    RETRY = "retry"
    FIX = "fix"
    ALTERNATIVE = "alternative"
    NEGOTIATE = "negotiate"
    VERIFY = "verify"
    ASK = "ask"
    GIVE_UP = "give_up"
    PROCEED = "proceed"


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient an agent is."""

    max_attempts: int = 3
    """Calls in all, the first one included, before a failure that could be retried is given up."""

    max_fixes: int = 1
    """How often wrong arguments are corrected."""

    base_delay: float = 1.0
    """The first wait in seconds where the server names none; it doubles with each attempt."""

    max_delay: float = 300.0
    """A longer wait is not worth it: the agent gives up and says when it would have been possible."""

    trust_annotations: bool = True
    """Whether the tool's own word on being read-only or idempotent counts. It is a hint, not a proof: say False for
    servers you do not run yourself."""

    timeout: float = 60.0
    """How many seconds one call may take. There is always a limit: a call without one can wait for ever."""

    deadline: float = 600.0
    """How many seconds a call may take in all, with its repetitions, its waits and the questions it leads to."""

    circuit_breaker: bool = True
    """Whether what fails again and again is left alone for a while: a tool after five failures in a row, a call that
    has failed twice in the same way, and a server that was given twenty repetitions."""

    hold: float = 300.0
    """For how many seconds a write that may have been done already is not run again before the agent has looked; 0 is
    never."""

    def __post_init__(self) -> None:
        for name, (kind, least, most, words) in _LIMITS.items():
            value = getattr(self, name)
            if (
                isinstance(value, bool) is not (kind is bool)
                or not isinstance(value, kind)
                or not least <= value <= most
            ):
                raise ValueError(f"{name} {words}, not {value!r}.")

    def first_wait(self, error: ToolError) -> float:
        """How many seconds to wait after a first failure that names no delay: the contract's number, else our own."""
        # Words alone do not speak the contract of the format that they stand in.
        delay = None if error.legacy else retry_rules_of(error.format).first_delay
        return self.base_delay if delay is None else delay


_NUMBER: Final = (int, float)
_SECONDS: Final = (_NUMBER, nextafter(0, 1), float_info.max, "is a number of seconds above zero")
# An endless wait is longer than any that is worth it: a way to say that nothing is tried again.
_WAIT: Final = (_NUMBER, 0, inf, "is a number of seconds, 0 or more")
_FLAG: Final = (bool, False, True, "is True or False")
_LIMITS: Final[dict[str, tuple[Any, float, float, str]]] = {
    "max_attempts": (int, 1, inf, "is a whole number, at least 1"),
    "max_fixes": (int, 0, inf, "is a whole number, 0 or more"),
    **dict.fromkeys(("base_delay", "max_delay"), _WAIT),
    **dict.fromkeys(("timeout", "deadline"), _SECONDS),
    **dict.fromkeys(("trust_annotations", "circuit_breaker"), _FLAG),
    "hold": (_NUMBER, 0, float_info.max, "is a number of seconds, 0 or more"),
}
# Made once, as it is checked when it is made.
_DEFAULT: Final = Policy()


class Decision(NamedTuple):
    """The next step and its reason."""

    next: Next
    reason: str
    """One line."""
    delay: float | None = None
    attempts_left: int = 0
    patch: tuple[Patch, ...] = ()
    calls: tuple[Action, ...] = ()
    holders: tuple[str, ...] = ()
    log: str = ""
    """What to write into the log about it, where contract 000 asks for that."""
    doubtful: bool = False
    """Whether the call may have done something already: then it is not to be made again, by anybody, unseen."""
    unproven: bool = False
    """Whether only words say how the call failed: then no program makes it again, corrected or not, but whoever has
    read the words may."""

    @property
    def repeats(self) -> bool:
        """Whether a program makes the same call again."""
        return self.next is Next.RETRY and not self.unproven


_BY_KIND: Final = {
    Kind.TRANSIENT: Next.RETRY,
    Kind.VALIDATION: Next.FIX,
    Kind.NOT_FOUND: Next.ALTERNATIVE,
    Kind.CONFLICT: Next.NEGOTIATE,
    Kind.PERMISSION: Next.ASK,
    Kind.INTERNAL: Next.GIVE_UP,
}
_BY_STRATEGY: Final = {
    Strategy.RETRY: Next.RETRY,
    Strategy.FIX: Next.FIX,
    Strategy.USER_ACTION: Next.ASK,
    Strategy.ABORT: Next.GIVE_UP,
}


def decide(
    error: ToolError | NeedsInput,
    *,
    tool: object = None,
    delivery: Delivery | None = None,
    history: Sequence[ToolError] = (),
    policy: Policy | None = None,
    now: datetime | None = None,
    keyed: bool = False,
) -> Decision:
    """What to do about `error`.

    `tool` is what is known of the tool that was called, `delivery` whether the call was sent and answered (answered
    unless the error was made on this side), `history` the failures of earlier attempts at the same call, oldest first.
    `keyed` says that the call carries an idempotency key which the server honours: it can be repeated safely.

    >>> decide(ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30)).delay
    30
    """
    if delivery is not None and delivery not in DELIVERIES:
        raise ValueError(f"There is no delivery {delivery!r}; use one of: {', '.join(DELIVERIES)}.")
    rules = policy or _DEFAULT
    if isinstance(error, NeedsInput):
        return Decision(Next.ASK, f"The call needs an answer from the user: {_sentence(error.message)}")
    if not error.is_error:
        return Decision(Next.PROCEED, "It is an advisory: the call itself worked.", calls=error.actions)
    delivery, effect, checks = delivery or error.delivery, error.effect, _checks(error)
    if error.severity is Severity.CRITICAL:
        why = f"It is critical, so the user has to know before anything else is done: {_sentence(error.message)}"
        return Decision(Next.GIVE_UP, why, calls=checks, log=_log_of(error), doubtful=effect in IN_DOUBT)
    if effect is Effect.DONE:
        why = "The call took effect before it failed, so it must not be made again."
        return Decision(Next.GIVE_UP, why, calls=checks, doubtful=True)
    if effect is Effect.PARTIAL:
        return _resume(error)

    called = Traits.of(tool).known(trusted=rules.trust_annotations)
    # The same key helps where there was no answer, or only somebody's words on the way.
    is_relayed = error.standing != "quoted" or retry_rules_of(error.format).relayed
    is_keyed = keyed and (error.origin == "local" or not is_relayed)
    # It is the key of this very call: one with other arguments is another call.
    is_keyed = is_keyed and _wanted(_harmless(error)) is not Next.FIX
    if delivery in NOTHING_RAN or called.repeatable or is_keyed:
        error, history = _harmless(error), [_harmless(earlier) for earlier in history]
        return _take(_wanted(error), error, history, rules, now)
    if effect is Effect.UNKNOWN:
        return _verify(error, "The server cannot tell whether the call took effect")
    if delivery == "unanswered":
        return _verify(error, "The call was sent and never answered, so it may have taken effect")
    wanted = _wanted(error)
    if wanted is Next.ALTERNATIVE and error.actions:
        # The call itself is no way out, whoever names it.
        others = [action for action in error.actions if action.tool not in (error.tool, called.name)]
        if len(others) < len(error.actions):
            error = error.replace(actions=others)
            wanted = _wanted(error)
    # What was made on this side says nothing for whoever runs the tool.
    is_inferred = error.standing == "quoted" or error.legacy or (error.origin == "local" and effect is None)
    if wanted is Next.RETRY and effect is None and (not error.retryable or (is_inferred and called.writes)):
        return _verify(error, "Nothing says that the call may be made twice")
    return _take(wanted, error, history, rules, now)._replace(unproven=is_inferred)


def _harmless(error: ToolError) -> ToolError:
    """The error where it does not matter whether the call was done: it says again what its code says.

    Of a call that may have been done every wire says that it is not to be made again: that flag does not count either.
    """
    return error.replace(effect=None, verify=None, wire_retryable=None) if error.effect in IN_DOUBT else error


def _wanted(error: ToolError) -> Next:
    """The step that the error asks for."""
    strategy, kind, rules = error.strategy, error.kind, retry_rules_of(error.format)
    if error.is_declined:
        return Next.ASK if rules.asks else Next.GIVE_UP
    names_way = bool(error.actions or error.suggestion or error.next_steps)
    if strategy is not STRATEGY_OF_KIND[kind] or (rules.plans and kind is Kind.CONFLICT):
        wanted = _BY_STRATEGY[strategy]
    elif kind is not Kind.CONFLICT or error.conflicts:
        wanted = _BY_KIND[kind]
    # With nobody to negotiate with: what the error names as a way out, else to wait, as contract 000 says. A code of
    # its own that is not retryable says that waiting does not help: an invoice that is paid stays paid.
    elif error.fields or error.patch:
        wanted = Next.FIX
    elif names_way:
        wanted = Next.ALTERNATIVE
    else:
        may_pass = error.code in (None, "CONFLICT") or error.retryable or error.retry_after
        wanted = Next.RETRY if may_pass else Next.ASK
    if wanted is Next.GIVE_UP and strategy is error.default("strategy"):
        if error.retryable:
            wanted = Next.RETRY
        elif names_way and error.info is None:
            # That it is given up is only what follows from a code that no catalogue knows; a way out was named.
            wanted = Next.ALTERNATIVE
    if wanted is not Next.RETRY:
        return wanted
    # The same call once more, unless something says that it is in vain. TLS_ERROR and the like are of the passing kind,
    # but the catalogue says that waiting does not help.
    if kind is Kind.TRANSIENT and not (error.retryable and error.recoverable):
        return Next.GIVE_UP
    if rules.final and not error.recoverable and kind is not Kind.CONFLICT:
        return Next.GIVE_UP
    return Next.ASK if rules.asks and not error.retryable else Next.RETRY


def _take(step: Next, error: ToolError, history: Sequence[ToolError], policy: Policy, now: datetime | None) -> Decision:
    """The decision for a step, with its reason."""
    if step is Next.RETRY:
        return _retry(error, len(history) + 1, policy, now)
    if step is Next.FIX:
        fixed = sum(_wanted(earlier) is Next.FIX for earlier in history)
        log = f"bad input: {error.message}"
        if fixed >= policy.max_fixes:
            times = "once" if fixed == 1 else f"{fixed} times"
            return Decision(Next.GIVE_UP, f"The arguments were corrected {times} and are still refused.", log=log)
        where = "the patch says how" if error.patch else "see the fields" if error.fields else "see the message"
        why, left = f"The arguments are wrong; {where}.", policy.max_fixes - fixed
        return Decision(step, why, attempts_left=left, patch=error.patch, calls=error.actions, log=log)
    if step is Next.ALTERNATIVE:
        names = ", ".join(action.tool for action in error.actions if action.tool)
        other = "see the suggestion" if error.suggestion else "skip it or look for another"
        way = f"try {_line(names)}" if names else other
        why = "It does not exist" if error.kind is Kind.NOT_FOUND else "The same call would not help"
        return Decision(step, f"{why}; {way}.", calls=error.actions, patch=error.patch)
    if step is Next.NEGOTIATE:
        holders = tuple(dict.fromkeys(conflict.holder for conflict in error.conflicts if conflict.holder))
        who = _line(", ".join(holders)) or "the holder"
        return Decision(step, f"Ask {who} to release it.", calls=error.actions, holders=holders)
    if step is Next.ASK:
        return Decision(step, f"Only the user can change this: {_sentence(error.message)}", calls=error.actions)
    why = "It is unstructured, so nothing tells how to go on" if error.legacy else "Calling again would not help"
    return Decision(step, f"{why}: {_sentence(error.message)}", calls=error.actions, log=_log_of(error))


def _retry(error: ToolError, made: int, policy: Policy, now: datetime | None) -> Decision:
    left = policy.max_attempts - made
    if left <= 0:
        return Decision(Next.GIVE_UP, f"{made} of {policy.max_attempts} attempts failed.")
    if error.retry_after is not None:
        delay = error.retry_after
    elif error.reset_at is not None:
        delay = max(0.0, (error.reset_at - (instant(now) or datetime.now(UTC))).total_seconds())
    else:
        first = policy.first_wait(error)
        delay = min(first * 2.0 ** min(made - 1, 32), max(policy.max_delay, first))
    if delay > policy.max_delay:
        why = f"It asks to wait {_span(delay)}, longer than the {_round(policy.max_delay)} allowed."
        return Decision(Next.GIVE_UP, why, delay=delay)
    why = f"{_line(error.title)}: the same call may work in {_span(delay)}."
    return Decision(Next.RETRY, why, delay=delay, attempts_left=left)


def _verify(error: ToolError, doubt: str) -> Decision:
    checks, log = _checks(error), _log_of(error)
    if checks:
        return Decision(Next.VERIFY, f"{doubt}; {_line(checks[0].tool)} tells.", calls=checks, log=log, doubtful=True)
    why = f"{doubt}, and no call is known that would tell; ask before making it again."
    return Decision(Next.ASK, why, log=log, doubtful=True)


def _resume(error: ToolError) -> Decision:
    if checks := _checks(error):
        why = "Part of it was done; find out which, and do only the rest."
        return Decision(Next.VERIFY, why, calls=checks + error.actions, doubtful=True)
    if error.patch:
        return Decision(Next.FIX, "Part of it was done; the patch asks only for the rest.", patch=error.patch)
    others = tuple(action for action in error.actions if error.may_repeat or action.tool != error.tool)
    if others:
        return Decision(Next.ALTERNATIVE, "Part of it was done; go on from there.", calls=others)
    return Decision(Next.ASK, "Part of it was done, so the call must not be made again as it is.", doubtful=True)


def _checks(error: ToolError) -> tuple[Action, ...]:
    return (error.verify,) if error.verify else ()


def _log_of(error: ToolError) -> str:
    """What contract 000 has an agent log before it gives up: what broke, and what nobody can read."""
    if error.legacy:
        return f"unstructured error: {error.message}"
    return f"internal error: {error.message}" if error.kind is Kind.INTERNAL else ""


def _line(words: str) -> str:
    return " ".join(words.split())


def _sentence(message: str) -> str:
    first = _line(message)
    return (first if len(first) <= 200 else first[:199] + "…") or "no reason given"


def _round(delay: float) -> str:
    return f"{delay:.0f}" if delay >= 10 or float(delay).is_integer() else f"{delay:.1f}"


def _span(delay: float) -> str:
    return "1 second" if delay == 1 else f"{_round(delay)} seconds"
