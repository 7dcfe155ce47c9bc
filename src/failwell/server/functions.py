"""What stands behind a decorator: which kind of function it is, how it calls what it is given, what it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Any

Function = Callable[..., Any]
Naming = Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]


def inner_function(function: Any) -> Any:
    """What a partial function calls."""
    while isinstance(function, partial):
        function = function.func
    return function


def is_of_kind(is_one: Callable[[Any], bool], function: Function) -> bool:
    """Whether it is such a function, or an object that is called like one."""
    inner = inner_function(function)
    return is_one(inner) or is_one(type(inner).__call__)


def name_of(function: Function) -> str:
    """Its own name; of a partial function that of what it calls, of an object that of its class."""
    inner = inner_function(function)
    return getattr(function, "__name__", None) or getattr(inner, "__name__", None) or type(inner).__name__


def naming_of(function: Function, *, defaults: bool = True) -> Naming:
    """How the arguments of a call get their names: looked up once, and nothing is bound anew for each call.

    A call that does not fit the signature passes; the function itself says so in Python's own words.
    """
    parameters = inspect.signature(function).parameters.values()
    places = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    rest = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), None)
    usual = {each.name: each.default for each in parameters if defaults and each.default is not each.empty}

    def named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        found = {**usual, **kwargs, **dict(zip(places, args, strict=False))}
        if rest is not None:
            found[rest] = args[len(places) :]
        return found

    return named


def alike(wrapper: Function, function: Function) -> Function:
    """The wrapper with the name, signature and annotations of what it is around."""
    wraps(function)(wrapper)
    if not hasattr(function, "__name__"):
        # Partial functions and callable objects have no name and no annotations, and frameworks ask for both.
        wrapper.__name__ = wrapper.__qualname__ = name_of(function)
        wrapper.__doc__ = inner_function(function).__doc__
        signature = None
        # With its annotations read, where they can be: some stand for what only a type checker imports.
        for eval_str in (False, True):
            with suppress(Exception):
                signature = inspect.signature(function, eval_str=eval_str)
        if signature is None:
            return wrapper
        hints = {each.name: each.annotation for each in signature.parameters.values()}
        hints["return"] = signature.return_annotation
        wrapper.__annotations__ = {name: hint for name, hint in hints.items() if hint is not signature.empty}
        wrapper.__signature__ = signature  # type: ignore[attr-defined]
    return wrapper


def passing(function: Function) -> Naming:
    """How what was passed with a call gets its names, and nothing else: of a partial function also what it passes."""
    partials: list[partial[Any]] = []
    inner: Any = function
    while isinstance(inner, partial):
        partials.append(inner)
        inner = inner.func
    try:
        named = naming_of(inner, defaults=False)
    except Exception:
        # One that is built in may have no signature, and annotations may name what is not there.
        def named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
            return kwargs

    def passed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        for each in partials:
            args, kwargs = (*each.args, *args), {**each.keywords, **kwargs}
        return named(args, kwargs)

    return passed
