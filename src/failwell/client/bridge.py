"""What a model is told about a failed call, and the waits before the same call is made again.

The bridges to the agent frameworks share it: each brings only how its framework runs a tool and how it marks an error.
What is decided, and in which words it is told, is the engine's of `failwell.recovery`, as it is for `Recovering`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from failwell.formats import Outcome, render
from failwell.model import (
    ADVICE,
    IN_DOUBT,
    Action,
    Decision,
    Effect,
    Nature,
    Policy,
    ToolError,
    Traits,
    effect_of_escape,
    is_refusal_status,
    marked_effect,
    marking,
)
from failwell.observe import Events
from failwell.readers import read, refusal
from failwell.recovery import Ending, Engine, KeyForgotten, Run, Tools, Watch, explained, has_escaped

from .call_id import sent_with
from .logbook import write_down
from .seat import Seat, with_id
from .system_clock import SYSTEM, Clock

T = TypeVar("T")

_PLACE: Final = "_failwell_bridge"


@dataclass(frozen=True, slots=True)
class Told:
    """A failure that is settled: what to do about it, and the text in which a model reads all of it."""

    outcome: Outcome
    decision: Decision
    text: str
    secrets: tuple[str, ...] = ()
    """What was sent for secret arguments: nothing of it goes on with what the server said."""

    @property
    def is_error(self) -> bool:
        """Whether it is to be marked as an error. A question is none, and neither is a remark."""
        return isinstance(self.outcome, ToolError) and self.outcome.is_error

    @property
    def in_doubt(self) -> bool:
        """Whether the call may have been done already."""
        return isinstance(self.outcome, ToolError) and self.outcome.effect in IN_DOUBT

    @classmethod
    def of(cls, ending: Ending) -> Told:
        return cls(ending.outcome, ending.decision, ending.text, ending.secrets or ())


def told(outcome: Outcome) -> str:
    """The text for a model. It is guarded, and enough by itself.

    >>> print(told(ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30)))
    Too many requests. Wait 30 seconds, then make the same call again.
    """
    return render(outcome, "text")


def failure(outcome: object) -> Outcome | None:
    """What an outcome means, or None where the call worked, be it with a remark.

    A plain value is what a tool returned: it worked, whatever the value looks like.
    """
    found = read(outcome if isinstance(outcome, BaseException) or _is_answer(outcome) else _returned(outcome))
    if isinstance(outcome, BaseException) and found is not None:
        return _marked(found, outcome)
    return None if isinstance(found, ToolError) and not found.is_error else found


def _is_answer(value: object) -> bool:
    """Whether it is a result or a response, of an SDK or as JSON."""
    if isinstance(value, Mapping):
        return isinstance(value.get("content"), list) or "jsonrpc" in value
    return isinstance(getattr(value, "content", None), list) or hasattr(value, "jsonrpc")


def _returned(value: object) -> dict[str, Any]:
    """A value as the result that an MCP server would make of it."""
    texts = [{"type": "text", "text": value}] if isinstance(value, str) else []
    return {"content": texts, "structuredContent": value if isinstance(value, Mapping) else None, "isError": False}


def settle(
    outcome: Outcome,
    *,
    tool: object = None,
    policy: Policy | None = None,
    arguments: Mapping[str, Any] | None = None,
    tools: Mapping[str, Any] | None = None,
) -> Told:
    """What to tell about a call that nobody makes again.

    tool: what is known of it. arguments, tools: what it was called with, and what else the server lists, by name, among
    which may be the call that would tell whether it was done.
    """
    bridge = Bridge(policy, tools=tools)
    known, name = bridge.knows(tool), Traits.of(tool).name or ""
    if arguments is not None and isinstance(outcome, ToolError):
        outcome = explained(outcome, name, arguments, known.listed, known.traits(name))
    run = bridge.engine.begin(name, arguments or {})
    return Told.of(run.ending(outcome, known))


class Bridge:
    """What a bridge keeps of the tools it stands before, from one call to the next: of one server, or of one tool.

    tools: all the tools of the server by their names, as MCP lists them, where the framework tells.
    events: where each call is written down.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        clock: Watch = SYSTEM,
        tools: Mapping[str, Any] | None = None,
        events: Events | None = None,
    ) -> None:
        self.engine = Engine(policy, clock, random.random)
        self.tools: Mapping[str, Any] = tools or {}
        self.seat = Seat.at(events)

    def knows(self, tool: object) -> Tools:
        """What is known of the tools, and of this one."""
        traits = Traits.of(tool)
        known = traits if tool is None or isinstance(tool, str) else tool
        listed = self.tools if traits.name in self.tools else {**self.tools, traits.name or "": known}
        return Tools(listed, trusted=self.engine.policy.trust_annotations)


def put_on(tool: Any, bridge: Bridge, recovering: Callable[[Any], Any]) -> None:
    """Give a framework's tool its bridge, and the class that asks it: `recovering` makes that of the tool's own.

    A class, and no method on the tool: frameworks copy tools to rename them, and a copy has to call for itself.
    """
    if not hasattr(tool, _PLACE):
        tool.__class__ = recovering(type(tool))
    setattr(tool, _PLACE, bridge)


def bridge_of(tool: Any) -> Bridge:
    """The bridge that a tool was given."""
    found: Bridge = getattr(tool, _PLACE)
    return found


class Course:
    """The attempts at one call, for whoever makes them: what to tell before one, and after one that failed."""

    def __init__(
        self,
        bridge: Bridge,
        tool: object,
        arguments: Mapping[str, Any] | None,
        meta: Mapping[str, Any] | None = None,
        names: Callable[[str], str] | None = None,
    ) -> None:
        """names: by which name the model knows a tool, for frameworks that put something before the server's names."""
        self._names = names
        self.tools = bridge.knows(tool)
        self.run: Run = bridge.engine.begin(Traits.of(tool).name or "", arguments or {}, meta)
        self.is_answered = False
        """Whether the latest attempt got a result of the tool, as far as the bridge can tell."""
        self._left: Outcome | None = None
        self._seat = bridge.seat
        self._name = None if bridge.seat is None else bridge.seat.next()

    @property
    def meta(self) -> dict[str, Any]:
        """What is sent with the call that is made now."""
        return with_id(self.run.key.meta, self._name, self.run.report.calls)

    @property
    def id(self) -> dict[str, Any]:
        """By what other seats know the call that is made now; nothing where nobody keeps events."""
        return with_id({}, self._name, self.run.report.calls)

    def done(self, outcome: Outcome | None = None) -> None:
        """The call has ended, with this failure or with none: it is told to whoever keeps events."""
        if self._seat is not None:
            report = self.run.report
            report.error, report.seconds = outcome, self.run.engine.clock.monotonic() - self.run.started
            self._seat.tell(report, outcome, self._name)

    def begins(self) -> Told | None:
        """What to tell instead of making the call; None if it is made."""
        refusal = self.run.refusal(self.tools)
        if refusal is None:
            self.is_answered = False
            self.run.sending()
            return None
        # There may be something better to tell than why it is not called once more.
        return self.ends(self._left or self.run.refused(refusal))

    def failed(self, outcome: Outcome) -> float | Told:
        """How long to wait before the call is made again, or what to tell."""
        run = self.run
        run.failed(outcome)
        if isinstance(outcome, ToolError):
            tool = run.report.tool
            outcome = explained(outcome, tool, run.report.arguments, self.tools.listed, self.tools.traits(tool))
        verdict = run.after(outcome, self.tools)
        write_down(run.report.attempts[-1])
        self._left = verdict.outcome
        if verdict.wait is not None and run.takes(verdict):
            return verdict.wait
        return self.ends(verdict.outcome)

    def raised(self, exc: Exception, *, transport: bool = False) -> float | Told:
        """The same for what the call raised."""
        if isinstance(exc, KeyForgotten) and self._left is not None:
            # Whoever knew the call by its key is gone, so it is not made again.
            self.run.let_go()
            return self.ends(self._left)
        nature = self.tools.traits(self.run.report.tool).nature
        return self.failed(raised(exc, transport=transport, nature=nature))

    def ends(self, outcome: Outcome) -> Told:
        ending = self.run.ending(outcome, self.tools, is_answer=self.is_answered)
        if self._names is None:
            return Told.of(ending)
        outcome, told = _renamed(ending.outcome, self._names), _renamed(ending.shown, self._names)
        return Told.of(ending._replace(outcome=outcome, told=told))


def _renamed(outcome: Outcome, names: Callable[[str], str]) -> Outcome:
    """An outcome that names the tools as the model knows them: the one that failed, and those that help."""
    if not isinstance(outcome, ToolError):
        return outcome

    def renamed(action: Action) -> Action:
        return replace(action, tool=names(action.tool))

    return outcome.replace(
        tool=names(outcome.tool) if outcome.tool else None,
        verify=renamed(outcome.verify) if outcome.verify else None,
        actions=tuple(renamed(action) for action in outcome.actions),
    )


def raised(exc: Exception, *, transport: bool = False, nature: Nature = Nature.UNMARKED) -> Outcome:
    """What an exception means; `transport` says that it can only be of the transport that carries the call.

    Out of a function it may be the author's own refusal, which keeps its words; what merely escaped leaves open what
    the function did before, by what the tool is.
    """
    found = read(exc, transport=transport)
    assert found is not None  # an exception is never a success
    outcome = (refusal(exc) or found) if has_escaped(found) else found
    is_read = not transport and outcome is found and found is not exc
    if is_read and isinstance(found, ToolError) and (has_escaped(found) or found.origin != "local"):
        # One of a group, a cause, or what another server said: out of a function, that is no word about this call.
        outcome = found.replace(effect=None, standing="quoted")
        if (
            nature is Nature.WRITE
            and (has_escaped(found) or found.origin is None)
            and not is_refusal_status(found.http_status)
        ):
            outcome = found.replace(effect=effect_of_escape(nature), **dict.fromkeys(ADVICE))
    elif nature is Nature.WRITE and outcome is not found and isinstance(outcome, ToolError):
        # Whether the raise stood before or after the work nobody knows: the words stand as they are.
        outcome = outcome.replace(authored=True)
    return _marked(outcome, exc, is_refusal=outcome is not found)


def _marked(outcome: Outcome, exc: BaseException, *, is_refusal: bool = False) -> Outcome:
    """What an exception means, with what its author's marks say of the call."""
    place = marked_effect(exc)
    if place is None or not isinstance(outcome, ToolError) or outcome.origin == "peer":
        return outcome
    is_said = outcome is exc and outcome.given("effect")
    if is_said and not (outcome.effect is Effect.NONE and place in (Effect.PARTIAL, Effect.DONE)):
        # What its author states stands, unless the marks prove it false.
        return outcome
    # A refusal that stands before the marks is as good as one that was said.
    advice = dict.fromkeys(ADVICE) if place in IN_DOUBT and not is_refusal else {}
    return outcome.replace(effect=place, standing=None, **advice)


def _none(exc: Exception) -> bool:
    return False


async def attempted(
    call: Callable[[], Awaitable[T]],
    *,
    tool: object = None,
    policy: Policy | None = None,
    clock: Clock = SYSTEM,
    passes: Callable[[Exception], bool] = _none,
    transport: bool = False,
    course: Course | None = None,
) -> T | Told:
    """What the call returns, made again as long as the engine says so, or what to tell about its failure.

    `call` raises what went wrong, also the `ToolError` that it read from a result. `passes` says which exceptions are
    no failures, but a framework's way to say something else. `course` knows the calls before this one.
    """
    course = course or Course(Bridge(policy, clock=clock), tool, None)
    while True:
        if (refused := course.begins()) is not None:
            course.done(refused.outcome)
            return refused
        with marking(), sent_with(course.id):
            try:
                result = await call()
            except Exception as exc:
                if passes(exc):
                    course.run.let_go()
                    raise
                verdict = course.raised(exc, transport=transport)
            except BaseException:
                course.run.let_go()
                raise
            else:
                course.run.worked(course.tools)
                course.done()
                return result
        if isinstance(verdict, Told):
            course.done(verdict.outcome)
            return verdict
        await clock.sleep(verdict)


def attempted_sync(
    call: Callable[[], T],
    *,
    tool: object = None,
    policy: Policy | None = None,
    passes: Callable[[Exception], bool] = _none,
    course: Course | None = None,
) -> T | Told:
    """`attempted` for a call that blocks."""
    course = course or Course(Bridge(policy), tool, None)
    while True:
        if (refused := course.begins()) is not None:
            course.done(refused.outcome)
            return refused
        with marking(), sent_with(course.id):
            try:
                result = call()
            except Exception as exc:
                if passes(exc):
                    course.run.let_go()
                    raise
                verdict = course.raised(exc)
            except BaseException:
                course.run.let_go()
                raise
            else:
                course.run.worked(course.tools)
                course.done()
                return result
        if isinstance(verdict, Told):
            course.done(verdict.outcome)
            return verdict
        time.sleep(verdict)
