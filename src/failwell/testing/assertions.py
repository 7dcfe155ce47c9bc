"""Assertions about failures and effects, with texts that say what came instead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from failwell.model import NeedsInput, ToolError
from failwell.readers import Http, read
from failwell.recovery import Report

from .ledger import Call, RecordedEffect


def assert_error(
    outcome: object,
    *,
    code: str | None = None,
    kind: str | None = None,
    retryable: bool | None = None,
    recoverable: bool | None = None,
    strategy: str | None = None,
    effect: str | None = None,
    delivery: str | None = None,
    retry_after: float | None = None,
    says: str | None = None,
    names_next_action: bool | None = None,
    http: Http | None = None,
) -> ToolError:
    """The error behind any outcome of a call, which must be one, and be as given; what is not given does not matter.

    `outcome` is what `failwell.read` takes (a result, a response, an exception) or a `Report`. `says` is a part
    of the message.
    `names_next_action` asks whether the error tells the model what to do next: a suggestion, a step, another tool, a
    change to the arguments, a delay.
    """
    __tracebackhide__ = True
    # A report of `Recovering` has read its outcome already.
    error = outcome.error if isinstance(outcome, Report) else read(outcome, http=http)
    if not isinstance(error, ToolError):
        got = "a question to the user" if isinstance(error, NeedsInput) else "a call that worked"
        raise AssertionError(f"expected an error, got {got}: {_short(repr(outcome))}")
    wanted = {
        "code": code,
        "kind": kind,
        "retryable": retryable,
        "recoverable": recoverable,
        "strategy": strategy,
        "effect": effect,
        "delivery": delivery,
        "retry_after": retry_after,
    }
    wrong = [
        f"{name}: expected {_plain(value)!r}, got {_plain(getattr(error, name))!r}"
        for name, value in wanted.items()
        if value is not None and _plain(getattr(error, name)) != _plain(value)
    ]
    if says is not None and says not in error.message:
        wrong.append(f"message: expected it to say {says!r}")
    if names_next_action is not None and names_next_action != bool(named := _next_actions(error)):
        wrong.append(
            "next action: expected one, but there is no suggestion, step, action, patch, accepted value or delay"
            if names_next_action
            else f"next action: expected none, got {', '.join(named)}"
        )
    if wrong:
        found = f"it is: {error.code or 'no code'} ({_plain(error.kind)}): {_short(error.message)}"
        raise AssertionError("\n  ".join(["the error is not as expected:", *wrong, found]))
    return error


class _Watched(Protocol):
    @property
    def calls(self) -> list[Call]: ...
    @property
    def effects(self) -> list[RecordedEffect]: ...


def assert_effects(
    server: _Watched,
    tool: str,
    *,
    times: int | None = None,
    at_most_once_by: str | None = None,
    once_for: Mapping[str, Iterable[Any]] | None = None,
) -> list[RecordedEffect]:
    """The effects that a tool of a scripted server had, which must be as given.

    `at_most_once_by` names the argument for each value of which there may be one effect. `once_for` also says for which
    values there must be one: `once_for={"id": ["inv_1", "inv_2"]}`. Half an effect counts as one.
    """
    __tracebackhide__ = True
    effects = [effect for effect in server.effects if effect.tool == tool]
    wrong: list[str] = []
    if times is not None and len(effects) != times:
        wrong.append(f"{tool} took effect {_times(len(effects))}, not {_times(times)}")
    expected = {name: list(values) for name, values in (once_for or {}).items()}
    for argument in dict.fromkeys([*([at_most_once_by] if at_most_once_by else []), *expected]):
        done: defaultdict[Any, list[RecordedEffect]] = defaultdict(list)
        for effect in effects:
            done[effect.arguments.get(argument)].append(effect)
        wrong += [
            f"{tool} took effect {_times(len(each))} for {argument}={value!r}{_story(server, each)}"
            for value, each in done.items()
            if len(each) > 1
        ]
        values = expected.get(argument, list(done))
        wrong += [f"{tool} never took effect for {argument}={value!r}" for value in values if value not in done]
        wrong += [f"{tool} took effect for {argument}={value!r}, unasked" for value in done if value not in values]
    if wrong:
        raise AssertionError("\n".join(wrong))
    return effects


def _story(server: _Watched, effects: list[RecordedEffect]) -> str:
    """Each call that was counted with these, what it met and what it did."""
    done = {effect.call.id: "a part of the effect" if effect.part else "the effect" for effect in effects}
    lines = [
        f"call {call.attempt}: {f'met {call.fault}' if call.fault else 'worked'}, "
        f"had {done.get(call.id, 'no effect')} at {call.when:%H:%M:%S.%f}"
        for call in server.calls
        if call.tool == effects[0].tool and call.key == effects[0].call.key
    ]
    return "".join(f"\n  {line}" for line in lines)


def _next_actions(error: ToolError) -> list[str]:
    """What the error says to do next."""
    return [
        *([error.suggestion] if error.suggestion else []),
        *error.next_steps,
        *(action.tool or action.description or "an action" for action in error.actions),
        *(f"{change.op} {'.'.join(map(str, change.path))}" for change in error.patch),
        *(f"one of {', '.join(map(str, field.options))}" for field in error.fields if field.options),
        *([f"wait {error.retry_after:g} s"] if error.retry_after else ["wait"] if error.retryable else []),
    ]


def _plain(value: Any) -> Any:
    """Kinds and strategies are compared, and shown, as the texts they are."""
    return getattr(value, "value", value)


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:299] + "…"


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
