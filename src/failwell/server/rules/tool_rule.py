"""Rules that a tool can stand under: who may call it, how often, and how many at a time.

A rule is a decorator, below the framework's own, and holds by itself, whether or not anything is installed. Or it is
given by name: `install(server, rules={"reboot": [rule]})`. One rule on several tools is one budget for all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    aclosing,
    asynccontextmanager,
    contextmanager,
)
from types import CodeType
from typing import Any, ClassVar, Final, TypeVar, cast

from failwell.model import Action, ToolError, frames
from failwell.server.functions import Function, Naming, alike, is_of_kind, naming_of
from failwell.server.served_call import current

F = TypeVar("F", bound=Callable[..., Any])


class Rule:
    """Something that a call has to pass. A rule that does not wait has only `admit`.

    >>> class Weekdays(Rule):
    ...     def admit(self, arguments: Mapping[str, Any]) -> None:
    ...         if arguments["day"] in ("Saturday", "Sunday"):
    ...             raise ToolError("The shop is closed at weekends.", code="UNAVAILABLE")
    >>> @Weekdays()
    ... def order(item: str, day: str) -> str:
    ...     return f"{item} ordered"
    >>> order("tea", day="Monday")
    'tea ordered'
    """

    codes: ClassVar[tuple[str, ...]] = ()
    """What it refuses with, for the manifest."""

    def admit(self, arguments: Mapping[str, Any]) -> None:
        """Let the call pass, or raise the ToolError that says why not."""
        raise NotImplementedError(f"{type(self).__name__} has no admit().")

    def held(self, arguments: Mapping[str, Any]) -> AbstractAsyncContextManager[None]:
        """The rule around one call; the body runs once the call may."""
        return self._admitted_later(arguments)

    def held_sync(self, arguments: Mapping[str, Any]) -> AbstractContextManager[None]:
        """The same where nothing can be awaited."""
        return self._admitted(arguments)

    @asynccontextmanager
    async def _admitted_later(self, arguments: Mapping[str, Any]) -> AsyncIterator[None]:
        self.admit(arguments)
        yield

    @contextmanager
    def _admitted(self, arguments: Mapping[str, Any]) -> Iterator[None]:
        self.admit(arguments)
        yield

    def __call__(self, function: F) -> F:
        """Put the function under the rule. Its name, signature and annotations stay what they were."""
        if not callable(function):
            raise TypeError(
                f"A rule stands on a function, below the framework's own decorator, not on {type(function).__name__}."
            )
        wrap = next((wrap for is_one, wrap in _SHAPES if is_of_kind(is_one, function)), _called)
        ruled = alike(wrap(self, function, naming_of(function)), function)
        ruled.__failwell_rules__ = (self, *rules_of(function))  # type: ignore[attr-defined]
        return cast(F, ruled)


def rules_of(function: object) -> tuple[Rule, ...]:
    """The rules a function stands under, the outermost first."""
    found: tuple[Rule, ...] = getattr(function, "__failwell_rules__", ())
    return found


def is_refused_inside(exc: BaseException, code: CodeType | None) -> bool:
    """Whether a rule refused what a tool with this code had called: by then the tool itself had begun. Where the tool
    asks the rule itself, by `admit`, that is its author's own refusal."""
    steps: list[str] | None = None
    for trace in frames(exc):
        frame = trace.tb_frame
        if frame.f_code is code:
            steps = []
        elif steps is not None and str(frame.f_globals.get("__name__")).startswith(__package__):
            steps.append(frame.f_code.co_name)
    return steps is not None and not _AROUND.isdisjoint(steps) and steps[-1] not in _AROUND


# What is on the way both when a rule refuses and when the function behind it fails.
_AROUND: Final = frozenset({"awaited", "streamed", "yielded", "called", "_finished"})


def _awaited(rule: Rule, function: Function, naming: Naming) -> Function:
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        async with rule.held(naming(args, kwargs)):
            return await function(*args, **kwargs)

    return awaited


def _streamed(rule: Rule, function: Function, naming: Naming) -> Function:
    async def streamed(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async with rule.held(naming(args, kwargs)), aclosing(function(*args, **kwargs)) as items:
            async for item in items:
                yield item

    return streamed


def _yielded(rule: Rule, function: Function, naming: Naming) -> Function:
    def yielded(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with rule.held_sync(naming(args, kwargs)):
            return (yield from function(*args, **kwargs))

    return yielded


def _called(rule: Rule, function: Function, naming: Naming) -> Function:
    def called(*args: Any, **kwargs: Any) -> Any:
        with ExitStack() as holding:
            holding.enter_context(rule.held_sync(naming(args, kwargs)))
            result = function(*args, **kwargs)
            # Another decorator may hide that the function is async; its work has not begun yet.
            return _finished(result, holding.pop_all()) if inspect.isawaitable(result) else result

    return called


async def _finished(result: Awaitable[Any], holding: ExitStack) -> Any:
    with holding:
        return await result


# A generator works while it is read, and so long the rule is held.
_SHAPES: tuple[tuple[Callable[[Any], bool], Callable[[Rule, Function, Naming], Function]], ...] = (
    (inspect.iscoroutinefunction, _awaited),
    (inspect.isasyncgenfunction, _streamed),
    (inspect.isgeneratorfunction, _yielded),
)


class _Deprecated(Rule):
    def __init__(self, remark: ToolError) -> None:
        self.remark = remark

    def admit(self, arguments: Mapping[str, Any]) -> None:
        call = current.get()
        if call is not None:
            call.remarks += (self.remark.replace(),)


def deprecated(
    message: str, *, actions: Iterable[Action | Mapping[str, Any] | str] = (), since: str | None = None
) -> Rule:
    """A rule that refuses nothing: the answer carries the remark that the tool will go away, and what to call instead.

    Outside of a server with `install` nobody reads it, and nothing happens.
    """
    return _Deprecated(
        ToolError(
            message,
            code="DEPRECATED",
            severity="warning",
            actions=list(actions),
            details=None if since is None else {"since": since},
        )
    )
