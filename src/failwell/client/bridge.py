"""What a model is told about a failed call, and the waits before the same call is made again.

The bridges to the agent frameworks share it: each brings only how its framework runs a tool and how it marks an error.
What is decided, and in which words it is told, is the engine's of `failwell.recovery`, as it is for `Recovering`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeVar

from failwell.formats import META_KEY, Outcome, keys, to_result
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
from failwell.readers import chain, read, refusal
from failwell.recovery import Ending, Engine, KeyForgotten, Tools, Watch, explain_failure, has_escaped
from failwell.redact import DEFAULT, masked

from .client_events import EventEmitter, log_attempt, send_meta, with_id
from .clock import SYSTEM, Clock

T = TypeVar("T")

ORIGINAL: Final = keys.ORIGINAL
"""The key under which a bridge keeps the blocks of a server's result, where its text says something else."""
_ATTACHED: Final = "_failwell_bridge"
_under_way: ContextVar[BridgedCall | None] = ContextVar("failwell_bridged_call", default=None)


class OtherBlocks(NamedTuple):
    """What goes with a text that takes the place of the first text of a failed result."""

    blocks: list[dict[str, Any]]
    """The other blocks, as the server sent them, with secrets masked."""
    original: list[dict[str, Any]] | None
    """All of them, where the server's own text says what the new one does not."""


@dataclass(frozen=True, slots=True)
class RenderedFailure:
    """A failure that is settled: what to do about it, and the text in which a model reads all of it."""

    outcome: Outcome
    decision: Decision
    text: str
    secrets: tuple[str, ...] = ()
    """What was sent for secret arguments: nothing of it goes on with what the server said."""
    answer: object = None
    """What the server answered last, as far as the bridge can tell."""

    @property
    def is_error(self) -> bool:
        """Whether it is to be marked as an error. A question is none, and neither is a remark."""
        return isinstance(self.outcome, ToolError) and self.outcome.is_error

    @classmethod
    def of(cls, ending: Ending, answer: object = None) -> RenderedFailure:
        return cls(ending.outcome, ending.decision, ending.text, ending.secrets or (), answer)

    def other_blocks(self, blocks: Sequence[Mapping[str, Any]], text: str | None = None) -> OtherBlocks:
        """What of the server's blocks, which are JSON, goes with the text."""
        text = self.text if text is None else text
        shown = [mask(block, self.secrets) for block in blocks]
        first = next((place for place, block in enumerate(shown) if block.get("type") == "text"), None)
        kept = [block for place, block in enumerate(shown) if place != first and not self._tells(text, block)]
        words = str(shown[first].get("text", "")).strip() if first is not None else ""
        return OtherBlocks(kept, shown if words not in text else None)

    def _tells(self, text: str, block: Mapping[str, Any]) -> bool:
        """Whether a block only says the same failure again, for programs or in the same words."""
        if block.get("type") != "text":
            return False
        # Of a call that may have been done one step is told: another text of the server might have it made again.
        in_doubt = isinstance(self.outcome, ToolError) and self.outcome.effect in IN_DOUBT
        if in_doubt or str(block.get("text", "")).strip() in text:
            return True
        found = failure({"content": [block], "isError": True})
        return found is not None and not getattr(found, "legacy", False)

    def result(self, text: str | None = None) -> dict[str, Any]:
        """An MCP result, as JSON, that says it once; what else the server sent in its answer stays."""
        text = self.text if text is None else text
        answer = as_json(self.answer)
        last = answer if isinstance(answer, Mapping) else {}
        rest = self.other_blocks(last.get("content", ()), text)
        kept = {} if rest.original is None else {ORIGINAL: rest.original}
        outcome: Any = to_result(self.outcome, "text")["_meta"]
        return {
            "content": [{"type": "text", "text": text}, *rest.blocks],
            "isError": self.is_error,
            # In place of a question, which is no error, a framework could show its model the structured content.
            "structuredContent": mask(last.get("structuredContent"), self.secrets) if self.is_error else None,
            "_meta": {**mask(last.get("_meta") or {}, self.secrets), **kept, META_KEY: outcome[META_KEY]},
        }

    @property
    def texts(self) -> str:
        """All the texts of that result."""
        return "\n".join(block["text"] for block in self.result()["content"] if block["type"] == "text")


def mask(value: Any, secrets: tuple[str, ...]) -> Any:
    """A JSON value without secrets, nor what was sent for secret arguments."""
    return masked(value, redact=DEFAULT.knowing(secrets).redact) if secrets else masked(value)


def as_json(value: Any) -> Any:
    """An object of an SDK as the JSON it stands for; anything else as it is."""
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(by_alias=True, mode="json", exclude_none=True)
    if hasattr(value, "structured_content"):
        # fastmcp's results are plain objects around the blocks of the SDK.
        content = [as_json(block) for block in value.content]
        return {"content": content, "structuredContent": value.structured_content, "_meta": value.meta}
    return value


def failure(outcome: object) -> Outcome | None:
    """What an outcome means, or None where the call worked, be it with a remark."""
    if isinstance(outcome, BaseException):
        raised = read(outcome)
        return None if raised is None else _with_marks(raised, outcome)
    held = outcome if isinstance(outcome, Mapping) else getattr(outcome, "__dict__", {})
    if not isinstance(held.get("content"), list) and "jsonrpc" not in held:
        # A plain value is what a tool returned: it worked, whatever the value looks like.
        texts = [{"type": "text", "text": outcome}] if isinstance(outcome, str) else []
        structured = outcome if isinstance(outcome, Mapping) else None
        outcome = {"content": texts, "structuredContent": structured, "isError": False}
    found = read(outcome)
    return None if isinstance(found, ToolError) and not found.is_error else found


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
        self.emitter = EventEmitter.of(events)

    def knows(self, tool: object) -> Tools:
        """What is known of the tools, and of this one."""
        traits = Traits.of(tool)
        known = traits if tool is None or isinstance(tool, str) else tool
        listed = self.tools if traits.name in self.tools else {**self.tools, traits.name or "": known}
        return Tools(listed, trusted=self.engine.policy.trust_annotations)

    def settle(
        self, outcome: Outcome, tool: object = None, arguments: Mapping[str, Any] | None = None
    ) -> RenderedFailure:
        """What to tell about a call that nobody makes again. `tool` is what is known of it."""
        known, name = self.knows(tool), Traits.of(tool).name or ""
        if arguments is not None and isinstance(outcome, ToolError):
            outcome = explain_failure(outcome, name, arguments, known.listed, known.traits(name))
        return RenderedFailure.of(self.engine.begin(name, arguments or {}).ending(outcome, known))

    def call(
        self,
        tool: object,
        arguments: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        names: Callable[[str], str] | None = None,
    ) -> BridgedCall:
        """A call that is about to be made. names: by which name the model knows a tool, for frameworks that put
        something before the server's names."""
        return BridgedCall(self, tool, arguments, meta, names)


def attach(tool: Any, what: object, recovering: Callable[[Any], Any]) -> None:
    """Give a framework's tool its bridge, and the class that asks it: `recovering` makes that of the tool's own.

    A class, and no method on the tool: frameworks copy tools to rename them, and a copy has to call for itself.
    """
    if bridge_of(tool) is None:
        tool.__class__ = recovering(type(tool))
    object.__setattr__(tool, _ATTACHED, what)


def bridge_of(tool: Any) -> Any:
    """What a tool was given; None if nothing was."""
    return getattr(tool, _ATTACHED, None)


def call_under_way() -> BridgedCall | None:
    """The call that the code here works on."""
    return _under_way.get()


@contextmanager
def note_outcome() -> Iterator[Callable[[Any], Any]]:
    """Around an MCP call that a framework makes: what it raises is noted, and what it gives, by what this gives."""
    call = _under_way.get()
    outcomes: list[Any] = [] if call is None else call.outcomes

    def note(outcome: Any) -> Any:
        outcomes.append(outcome)
        return outcome

    if call is not None:
        call.is_sent = True
    try:
        yield note
    except Exception as exc:
        note(exc)
        raise


def note_calls(call_tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The way in which a framework makes MCP calls, with their outcomes noted."""

    async def noting(*given: Any, **options: Any) -> Any:
        with note_outcome() as note:
            return note(await call_tool(*given, **options))

    return noting


class BridgedCall:
    """One call that a framework makes, with all the attempts at it."""

    def __init__(
        self,
        bridge: Bridge,
        tool: object,
        arguments: Mapping[str, Any] | None,
        meta: Mapping[str, Any] | None,
        names: Callable[[str], str] | None,
    ) -> None:
        self._names, self._emitter = names, bridge.emitter
        self.tools = bridge.knows(tool)
        self.run = bridge.engine.begin(Traits.of(tool).name or "", arguments or {}, meta)
        self.answer: Any = None
        """What the server answered to the latest attempt, as far as the bridge can tell."""
        self.value: Any = None
        """What the latest attempt returned."""
        self.outcomes: list[Any] = []
        """What the MCP calls of the latest attempt came to, where the bridge notes them."""
        self.is_sent = False
        """Whether there was one."""
        self.is_keyable = False
        """Whether an MCP call is all there is to it, so that the key of that is the key of the whole."""
        self._left: Outcome | None = None
        self._name = None if bridge.emitter is None else bridge.emitter.next_name()

    @property
    def meta(self) -> dict[str, Any]:
        """What is sent with the call that is made now."""
        return with_id(self.run.key.meta, self._name, self.run.report.calls)

    async def attempt(
        self,
        send: Callable[[], Awaitable[T]],
        told: Callable[[RenderedFailure], Any] = lambda failed: failed,
        *,
        answer: Callable[[T], object] | None = None,
        translate: Callable[[Exception], Exception] = lambda exc: exc,
        passes: Callable[[Exception], bool] = lambda exc: False,
        transport: bool = False,
        clock: Clock = SYSTEM,
    ) -> Any:
        """What `send` returns, called again as long as the engine says so, or what `told` makes of its failure.

        answer: what of the returned value the server answered. translate: what an exception of the framework's own
        means. passes: which exceptions are no failures, but a framework's way to say something else. transport: whether
        an exception can only be of the transport.
        """
        run = self.run
        while True:
            refusal = run.refusal(self.tools)
            if refusal is not None:
                # There may be something better to tell than why it is not called once more.
                return told(self._end(self._left or run.record_refusal(refusal)))
            run.sending()
            self.answer, self.value, self.is_sent = None, None, False
            self.outcomes.clear()
            token = _under_way.set(self)
            try:
                with marking(), send_meta(with_id({}, self._name, run.report.calls)):
                    try:
                        self.value = result = await send()
                    except Exception as exc:
                        failed = translate(exc)
                        if passes(failed):
                            raise
                        if all(each is not failed for each in chain(exc)):
                            failed.__cause__ = exc
                        found: Any = failed
                    else:
                        self.answer = None if answer is None else answer(result)
                        found = None if answer is None else failure(self.answer)
                    if found is None:
                        run.worked(self.tools)
                        self._tell(None)
                        return result
                    wait = self._next(found, transport)
            except BaseException:
                run.release()
                raise
            finally:
                _under_way.reset(token)
            if isinstance(wait, RenderedFailure):
                return told(wait)
            await clock.sleep(wait)

    def attempt_sync(self, send: Callable[[], T], *given: Any, **options: Any) -> Any:
        """`attempt` for a call that blocks."""

        async def blocking() -> T:
            return send()

        # Nothing in it waits for a loop, so it runs to its end at once.
        try:
            self.attempt(blocking, *given, clock=_BLOCKING, **options).send(None)
        except StopIteration as ended:
            return ended.value
        raise AssertionError("A blocking call waited for an event loop.")

    async def attempt_result(
        self,
        send: Callable[[], Awaitable[Any]],
        text: Callable[[RenderedFailure], str] = lambda told: told.text,
        **options: Any,
    ) -> Any:
        """`attempt` for a framework that shows its model what an MCP server answered: a failure is a result, too.

        text: what to write of what is told, for frameworks that mark no error.
        """
        from failwell.sdk import CallToolResult

        def told(failed: RenderedFailure) -> Any:
            return CallToolResult.model_validate(failed.result(text(failed)))

        return await self.attempt(send, told, transport=True, answer=lambda sent: sent, **options)

    def last_outcome(self, value: Any) -> Any:
        """What the server said, or the value that the framework has made of it."""
        return self.outcomes[-1] if self.outcomes else value

    def last_failure(self, exc: Exception) -> Exception:
        """What the server said, or its client's transport, where the framework has put it into its own words."""
        if not self.outcomes:
            return exc
        last = self.outcomes[-1]
        self.answer = None if isinstance(last, Exception) else last
        return read_raised(last, transport=True) if isinstance(last, Exception) else failure(last) or exc

    def _next(self, exc: Exception, transport: bool) -> float | RenderedFailure:
        """How long to wait before the call is made again, or what to tell."""
        run, tool = self.run, self.run.report.tool
        if isinstance(exc, KeyForgotten) and self._left is not None:
            # The server that knew the call by its key is gone, so it is not made again.
            run.release()
            return self._end(self._left)
        outcome = read_raised(exc, transport=transport, nature=self.tools.traits(tool).nature)
        run.failed(outcome)
        if isinstance(outcome, ToolError):
            outcome = explain_failure(outcome, tool, run.report.arguments, self.tools.listed, self.tools.traits(tool))
        verdict = run.after(outcome, self.tools)
        log_attempt(run.report.attempts[-1])
        self._left = verdict.outcome
        return verdict.wait if verdict.wait is not None and run.consume_budget(verdict) else self._end(verdict.outcome)

    def _end(self, outcome: Outcome) -> RenderedFailure:
        ending = self.run.ending(outcome, self.tools, is_answer=self.answer is not None)
        if self._names is not None:
            left, told = (_rename_tools(each, self._names) for each in (ending.outcome, ending.shown))
            ending = ending._replace(outcome=left, told=told)
        rendered = RenderedFailure.of(ending, self.answer)
        self._tell(rendered.outcome)
        return rendered

    def _tell(self, outcome: Outcome | None) -> None:
        if self._emitter is not None:
            report = self.run.report
            report.error, report.seconds = outcome, self.run.engine.clock.monotonic() - self.run.started
            self._emitter.emit(report, outcome, self._name)


class _Blocking:
    monotonic, now = SYSTEM.monotonic, SYSTEM.now

    async def sleep(self, seconds: float, /) -> None:
        time.sleep(seconds)


_BLOCKING: Final[Clock] = _Blocking()


def _rename_tools(outcome: Outcome, names: Callable[[str], str]) -> Outcome:
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


def read_raised(exc: Exception, *, transport: bool = False, nature: Nature = Nature.UNMARKED) -> Outcome:
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
        is_own = has_escaped(found) or found.origin is None
        if nature is Nature.WRITE and is_own and not is_refusal_status(found.http_status):
            outcome = found.replace(effect=effect_of_escape(nature), **dict.fromkeys(ADVICE))
    elif nature is Nature.WRITE and outcome is not found and isinstance(outcome, ToolError):
        # Whether the raise stood before or after the work nobody knows: the words stand as they are.
        outcome = outcome.replace(authored=True)
    return _with_marks(outcome, exc, is_refusal=outcome is not found)


def _with_marks(outcome: Outcome, exc: BaseException, *, is_refusal: bool = False) -> Outcome:
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
