"""`tool_errors`: the same boundary for plain functions, and for frameworks that have no adapter."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar, overload

from failwell.model import IN_DOUBT, NeedsInput, ToolError, Traits, marked_effect, marking, unwrapped
from failwell.observe import log_failure
from failwell.readers import DEFAULT, Table, classify, from_error, refusal

from .aftermath import Aftermath
from .facts import NOTHING_KNOWN, Facts
from .generator_steps import watched, watched_async
from .options import level_of
from .served_call import current

log = logging.getLogger("failwell.server")

P = ParamSpec("P")
R = TypeVar("R")
_TIMEOUT_DELAY: Final = 60


@overload
def tool_errors(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool_errors(
    *,
    tool_name: str | None = None,
    tier: str | None = None,
    answer: Callable[[Any], Any] | None = None,
    table: Table = DEFAULT,
    logger: Any = None,
    log_level: int | str = "WARNING",
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool_errors(
    function: Callable[P, R] | None = None,
    /,
    *,
    tool_name: str | None = None,
    tier: str | None = None,
    answer: Callable[[Any], Any] | None = None,
    table: Table = DEFAULT,
    logger: Any = None,
    log_level: int | str = "WARNING",
) -> Any:
    """Whatever the function raises leaves it as a ToolError; what it returns as one is raised.

    `answer` makes what is returned instead: `failwell.render` for a text, `failwell.to_result` for a result of MCP. It
    is the last item of a generator, sync or async.
    Each failure is a record of `logger`, as of a server with `install`; inside one, the server writes it.

    >>> @tool_errors(tool_name="system/get-overview", tier="fundamental", answer=str)
    ... def overview(device: str) -> str:
    ...     raise PermissionError(device)
    >>> overview("dev-lab-01")
    '[PERMISSION] This is not allowed.'
    """

    level = level_of(log_level)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = tool_name or getattr(function, "__name__", None)

        def failed(exc: BaseException) -> Any:
            outcome = exc if isinstance(exc, NeedsInput) else meaning(exc, name, tier, table, function)
            if isinstance(outcome, ToolError):
                if outcome is not exc and from_error(exc, context=False) is None:
                    outcome = outcome.replace(crashed=True, cause=exc)
                if current.get() is None and not outcome.logged:
                    log_failure(logger or log, outcome, tool=name or "", exc=exc, level=level)
            if answer is None:
                raise outcome from (None if outcome is exc else exc)
            return answer(outcome)

        if inspect.isgeneratorfunction(function):
            return watched(function, failed)
        if inspect.isasyncgenfunction(function):
            return watched_async(function, failed)
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with marking():
                    try:
                        return unwrapped(await function(*args, **kwargs))
                    except (Exception, SystemExit) as exc:
                        return failed(exc)

            return awaited

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with marking():
                try:
                    return unwrapped(function(*args, **kwargs))
                except (Exception, SystemExit) as exc:
                    return failed(exc)

        return called

    return decorate if function is None else decorate(function)


def meaning(
    exc: BaseException,
    tool: str | None,
    tier: str | None,
    table: Table = DEFAULT,
    function: object = None,
    traits: Traits = NOTHING_KNOWN,
) -> ToolError:
    """The exception as contract 004 reads it; one that is structured already stays what it is."""
    facts = Facts(tool or "", function=function, traits=traits)
    own = from_error(exc, context=False)
    if own is not None:
        # One of a group, or somebody's reading of an exception, is no word about this tool; an effect given is.
        is_authors = own is exc and (own.standing is None or own.given("effect"))
        if is_authors and marked_effect(exc) not in IN_DOUBT:
            # What its author says is all that is known: here no tool is listed, so its nature is not.
            return own
        return own.replace(**Aftermath().of(own, facts, is_authors=is_authors, exc=exc))
    error = classify(exc, table=table)
    refused = None if error.authored else refusal(exc, function)
    error = refused or error
    error = error.replace(**Aftermath().of(error, facts, is_authors=refused is not None or error.authored, exc=exc))
    changes: dict[str, Any] = {"tool": tool, "tier": tier, "strategy": error.strategy}
    if error.code == "INTERNAL_ERROR":
        changes["message"] = f"Unexpected error: {type(exc).__name__}"
        changes["details"] = {"error_type": type(exc).__name__}
    if error.code == "TIMEOUT" and error.retry_after is None:
        changes["retry_after"] = _TIMEOUT_DELAY
    return error.replace(**changes)
