"""`tool_errors`: the same boundary for plain functions, and for frameworks that have no adapter."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import cache, partial
from types import CoroutineType
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, overload

from failwell.formats import Outcome
from failwell.model import NeedsInput, ToolError, marked_effect, marking, unwrapped
from failwell.observe import log_failure
from failwell.readers import DEFAULT, Table, classify, from_error, refusal
from failwell.redact import DEFAULT as GUARD

from .exception_reader import Effects, source_of
from .functions import alike, is_of_kind, name_of, passing
from .options import check_option
from .served_call import ToolInfo, current

log = logging.getLogger("failwell.server")

P = ParamSpec("P")
R = TypeVar("R")
_TIMEOUT_DELAY: Final = 60
_SECRETS: Final = GUARD.secrets


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
) -> Any:
    """Whatever the function raises leaves it as a ToolError; what it returns as one is raised.

    `answer` makes what is returned instead: `failwell.render` for a text, `failwell.to_result` for a result of MCP.
    What the function was called with as a secret (`api_key`) is masked in it, and in the log.
    Each failure is a record of `logger`, as of a server with `install`. Inside one the decorator changes nothing: the
    server reads the exception, and writes the record. Only an `answer`, a `table` of one's own, and secrets that the
    server was not sent still count there.

    >>> @tool_errors(tool_name="system/get-overview", tier="fundamental", answer=str)
    ... def overview(device: str) -> str:
    ...     raise PermissionError(device)
    >>> overview("dev-lab-01")
    '[PERMISSION] This is not allowed.'
    """

    for name, value in (("logger", logger), ("table", table)):
        check_option(name, value)
    if answer is not None and not callable(answer):
        raise TypeError(f"answer is a function, such as failwell.render, not {answer!r}.")
    failures = _Failures(tool_name, tier, answer, table, logger or log)
    return failures.decorate if function is None else failures.decorate(function)


class _Failures(NamedTuple):
    """How the failures of a function leave it."""

    tool_name: str | None
    tier: str | None
    answer: Callable[[Any], Any] | None
    table: Table
    logger: Any

    def decorate(self, function: Any) -> Any:
        """The function or method with its failures read."""
        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(self.decorate(function.__func__))
        if isinstance(function, type):
            raise TypeError(f"tool_errors() takes a function, not the class {function.__name__}; decorate its methods.")
        if isinstance(function, str):
            raise TypeError(
                f"tool_errors() takes a function, not {function!r}; a name is given as tool_name={function!r}."
            )
        if not callable(function):
            hint = "; put it below @property" if isinstance(function, property) else ""
            raise TypeError(f"tool_errors() takes a function, not {type(function).__name__}{hint}.")
        if is_of_kind(inspect.isgeneratorfunction, function) or is_of_kind(inspect.isasyncgenfunction, function):
            raise TypeError("tool_errors() takes a function that returns its result, not a generator.")
        # Looked up by the first failure: most functions never have one.
        naming = cache(partial(passing, function))

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with marking():
                try:
                    return unwrapped(await function(*args, **kwargs))
                except (Exception, SystemExit) as exc:
                    return self._fail(function, exc, naming()(args, kwargs))

        async def finished(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            with marking():
                try:
                    return unwrapped(await result)
                except (Exception, SystemExit) as exc:
                    return self._fail(function, exc, naming()(args, kwargs))

        def called(*args: Any, **kwargs: Any) -> Any:
            with marking():
                try:
                    result = unwrapped(function(*args, **kwargs))
                except (Exception, SystemExit) as exc:
                    return self._fail(function, exc, naming()(args, kwargs))
            # What is yet to be awaited: that a function is async may be hidden.
            return finished(result, args, kwargs) if isinstance(result, CoroutineType) else result

        return alike(awaited if is_of_kind(inspect.iscoroutinefunction, function) else called, function)

    def _fail(self, function: Callable[..., Any], exc: BaseException, sent: dict[str, Any]) -> Any:
        """The answer, or the failure, raised: without the secrets among what the function was called with."""
        served, secrets = current.get(), _SECRETS.values(sent)
        if served is not None:
            served.tier = self.tier
            if self.answer is None and self.table is DEFAULT:
                known = _SECRETS.values(served.arguments) if secrets else ()
                if all(secret in known for secret in secrets):
                    raise exc
        name = self.tool_name or name_of(function)
        # Inside a server the tool is the one that was called, whatever it is made of.
        tool = name if served is None else self.tool_name
        outcome: Outcome = exc if isinstance(exc, NeedsInput) else meaning(exc, tool, self.tier, self.table, function)
        guard = GUARD.knowing(secrets) if secrets else GUARD
        if isinstance(outcome, ToolError) and outcome is not exc and from_error(exc, context=False) is None:
            outcome = outcome.replace(crashed=True, cause=exc)
        # What nobody sent as a secret is looked through where it leaves.
        left = guard(outcome) if secrets else outcome
        if isinstance(outcome, ToolError) and isinstance(left, ToolError) and served is None and not outcome.logged:
            told = left if secrets else None
            log_failure(self.logger, outcome, tool=name, exc=exc, guard=guard, told=told)
        if self.answer is None:
            raise left from (None if outcome is exc else exc)
        return self.answer(left)


def meaning(
    exc: BaseException,
    tool: str | None,
    tier: str | None,
    table: Table = DEFAULT,
    function: object = None,
) -> ToolError:
    """The exception as contract 004 reads it; one that is structured already stays what it is."""
    facts = ToolInfo(tool or "", function=function)
    own = from_error(exc, context=False)
    if own is not None:
        # One of a group, or somebody's reading of an exception, is no word about this tool; an effect given is.
        is_authors = own is exc and (own.standing is None or own.given("effect"))
        if is_authors and marked_effect(exc) is None:
            # What its author says is all that is known: here no tool is listed, so its nature is not.
            return own
        return own.replace(**Effects().of(own, facts, source=source_of(own, is_authors=is_authors), exc=exc))
    error = classify(exc, table=table)
    refused = None if error.authored else refusal(exc, function)
    error = refused or error
    source = source_of(error, is_authors=error.authored, is_refusal=refused is not None)
    error = error.replace(**Effects().of(error, facts, source=source, exc=exc))
    changes: dict[str, Any] = {"tool": tool, "tier": tier, "strategy": error.strategy}
    if error.code == "INTERNAL_ERROR":
        changes["message"] = f"Unexpected error: {type(exc).__name__}"
        changes["details"] = {"error_type": type(exc).__name__}
    if error.code == "TIMEOUT" and error.retry_after is None:
        changes["retry_after"] = _TIMEOUT_DELAY
    return error.replace(**changes)
