"""`tool_errors`: the same boundary for plain functions, and for frameworks that have no adapter."""

from __future__ import annotations

import inspect
import logging
from asyncio import Future
from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property, partial
from types import CoroutineType
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, cast, overload

from failwell.formats import Outcome
from failwell.model import NeedsInput, ToolError, Traits, marked_effect, marking, unwrapped
from failwell.observe import log_failure
from failwell.readers import DEFAULT, Table, classify, from_error, refusal
from failwell.redact import DEFAULT as GUARD

from .exception_reader import Effects, source_of
from .functions import Naming, alike, is_of_kind, name_of, own_names, passing
from .generator_steps import Failed, watched, watched_async
from .options import demand
from .served_call import NOTHING_KNOWN, Facts, current

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

    `answer` makes what is returned instead: `failwell.render` for a text, `failwell.to_result` for a result of MCP. It
    is the last item of a generator, sync or async; in a `with` a failure is always raised. What the function was
    called with as a secret (`api_key`) is masked in it, and in the log.
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
        demand(name, value)
    if answer is not None and not callable(answer):
        raise TypeError(f"answer is a function, such as failwell.render, not {answer!r}.")
    chosen = _Chosen(tool_name, tier, answer, table, logger or log)
    return partial(_watched, chosen) if function is None else _watched(chosen, function)


class _Chosen(NamedTuple):
    """How the failures of a function leave it."""

    tool_name: str | None
    tier: str | None
    answer: Callable[[Any], Any] | None
    table: Table
    logger: Any


def _watched(chosen: _Chosen, function: Any) -> Any:
    """The function, method or manager of a context with its failures read."""
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_watched(chosen, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise TypeError(_refused(function))
    if (manager := _MANAGERS.get(getattr(function, "__code__", None))) is not None:
        # Nobody would read an answer that is no item: in a `with` a failure is raised.
        return manager(_watched(chosen._replace(answer=None), function.__wrapped__))
    failures = _Failures(chosen, function)
    wrap = next((wrap for is_one, wrap in _KINDS if is_of_kind(is_one, function)), _called)
    return wrap(function, failures.told)


class _Failures:
    """What becomes of what one function raises."""

    def __init__(self, chosen: _Chosen, function: Callable[..., Any]) -> None:
        self._chosen = chosen
        self._function = function
        self._name = chosen.tool_name or name_of(function)

    @cached_property
    def _passing(self) -> Naming:
        # Looked up by the first failure: most functions never have one.
        return passing(self._function)

    @cached_property
    def _plain_names(self) -> frozenset[str]:
        """What it calls its arguments, if no name stands for a secret; nothing where it takes others, too."""
        names = own_names(self._function)
        return frozenset() if any(map(_SECRETS.is_name, names)) else names

    def _secrets(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
        """What the function was called with as a secret."""
        if self._plain_names >= kwargs.keys() and self._plain_names and all(map(_is_single, (*args, *kwargs.values()))):
            # The quick answer about most calls.
            return ()
        return _SECRETS.values(self._passing(args, kwargs))

    def told(self, exc: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer, or the failure, raised: without the secrets among what the function was called with."""
        chosen, name, served = self._chosen, self._name, current.get()
        secrets = self._secrets(args, kwargs)
        if served is not None:
            served.tier = chosen.tier
        if served is not None and chosen.answer is None and chosen.table is DEFAULT:
            known = _SECRETS.values(served.arguments) if secrets else ()
            if all(secret in known for secret in secrets):
                raise exc
        # Inside a server the tool is the one that was called, whatever it is made of.
        tool = name if served is None else chosen.tool_name
        outcome: Outcome = (
            exc if isinstance(exc, NeedsInput) else meaning(exc, tool, chosen.tier, chosen.table, self._function)
        )
        guard = GUARD.knowing(secrets) if secrets else GUARD
        if isinstance(outcome, ToolError) and outcome is not exc and from_error(exc, context=False) is None:
            outcome = outcome.replace(crashed=True, cause=exc)
        # What nobody sent as a secret is looked through where it leaves.
        left = guard(outcome) if secrets else outcome
        if isinstance(outcome, ToolError) and isinstance(left, ToolError) and served is None and not outcome.logged:
            told = left if secrets else None
            log_failure(chosen.logger, outcome, tool=name, exc=exc, guard=guard, told=told)
        if chosen.answer is None:
            raise left from (None if outcome is exc else exc)
        return chosen.answer(left)


def _is_single(value: object) -> bool:
    """Whether nothing has a name inside it, as in an object or a JSON text."""
    return "{" not in value if type(value) is str else value is None or type(value) in (int, float, bool)


def _awaited(function: Callable[..., Any], failed: Failed) -> Callable[..., Any]:
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        with marking():
            try:
                return unwrapped(await function(*args, **kwargs))
            except (Exception, SystemExit) as exc:
                return failed(exc, args, kwargs)

    return alike(awaited, function)


def _called(function: Callable[..., Any], failed: Failed) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        with marking():
            try:
                result = unwrapped(function(*args, **kwargs))
            except (Exception, SystemExit) as exc:
                return failed(exc, args, kwargs)
        return _finishing(result, failed, args, kwargs) if isinstance(result, _UNFINISHED) else result

    return alike(called, function)


def _finishing(result: Any, failed: Failed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What was returned and is yet to be awaited: that a function is async may be hidden, and its work goes on."""

    async def finished() -> Any:
        with marking():
            try:
                return unwrapped(await result)
            except (Exception, SystemExit) as exc:
                return failed(exc, args, kwargs)

    return result.get_loop().create_task(finished()) if isinstance(result, Future) else finished()


# What else can be awaited may be used for more than that, and stays what it is.
_UNFINISHED: Final = (CoroutineType, Future)
# A generator works while it is read, so each of its steps is watched.
_KINDS: Final = (
    (inspect.isgeneratorfunction, watched),
    (inspect.isasyncgenfunction, watched_async),
    (inspect.iscoroutinefunction, _awaited),
)
# What makes the manager of a context of a generator function, by the code that all such managers share.
_MANAGERS: Final[dict[Any, Callable[[Any], Any]]] = {
    contextmanager(cast(Any, watched)).__code__: contextmanager,
    asynccontextmanager(cast(Any, watched_async)).__code__: asynccontextmanager,
}


def _refused(function: object) -> str:
    if isinstance(function, type):
        return f"tool_errors() takes a function, not the class {function.__name__}; decorate its methods."
    if isinstance(function, str):
        return f"tool_errors() takes a function, not {function!r}; a name is given as tool_name={function!r}."
    hint = "; put it below @property" if isinstance(function, property) else ""
    return f"tool_errors() takes a function, not {type(function).__name__}{hint}."


def meaning(
    exc: BaseException,
    tool: str | None,
    tier: str | None,
    table: Table = DEFAULT,
    function: object = None,
    traits: Traits = NOTHING_KNOWN,
    *,
    refuses: bool = True,
) -> ToolError:
    """The exception as contract 004 reads it; one that is structured already stays what it is.

    `refuses` says that an exception of the author's own code, such as a ValueError, is the word that nothing was done.
    """
    facts = Facts(tool or "", function=function, traits=traits)
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
    source = source_of(error, is_authors=error.authored, is_refusal=refuses and refused is not None)
    error = error.replace(**Effects().of(error, facts, source=source, exc=exc))
    changes: dict[str, Any] = {"tool": tool, "tier": tier, "strategy": error.strategy}
    if error.code == "INTERNAL_ERROR":
        changes["message"] = f"Unexpected error: {type(exc).__name__}"
        changes["details"] = {"error_type": type(exc).__name__}
    if error.code == "TIMEOUT" and error.retry_after is None:
        changes["retry_after"] = _TIMEOUT_DELAY
    return error.replace(**changes)
