"""Which codes a function may fail with, read from its source: what it raises itself, and what it calls raises."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
import textwrap
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final, NamedTuple

from failwell.model import Code, NeedsInput, ToolError, error, find, required
from failwell.readers import DEFAULT, Table, classify, partial_failure

_LARGEST: Final = 1000


class _Object(NamedTuple):
    """Some object of a class that is known only by its class; of None nothing is known."""

    cls: type | None = None


_UNKNOWN: Final = _Object()
# Functions of ours that make an error, with the code they make it with unless they are told another.
_MAKERS: Final[dict[Any, str | None]] = {
    error: None,
    required: "MISSING_REQUIRED_FIELD",
    partial_failure: "PARTIAL_FAILURE",
}


def codes_in(function: Callable[..., Any], table: Table = DEFAULT) -> frozenset[str]:
    """The codes that reading finds. It runs nothing; what is decided only at run time it cannot see.

    Functions and methods of the same package are read too, wherever it is clear from the source which are called.
    """
    module: str = getattr(inspect.unwrap(function), "__module__", "") or ""
    # The author's own package, and nobody else's.
    package = getattr(sys.modules.get(module), "__package__", "") or module
    codes, seen, left = set[Any](), set[Any](), list[Any]([function])
    while left:
        called = left.pop()
        while isinstance(called, functools.partial):
            called = called.func
        called = inspect.unwrap(called)
        plain = getattr(called, "__func__", called)
        code = getattr(plain, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        try:
            nodes = list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(plain)))))
        except (OSError, TypeError, SyntaxError, ValueError):
            continue
        scope = _scope(plain, getattr(called, "__self__", None))
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                home = sys.modules.get(node.module or "")
                scope.update({each.asname or each.name: getattr(home, each.name, _UNKNOWN) for each in node.names})
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                scope.setdefault(node.targets[0].id, _find(node.value, scope))
            elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
                scope.setdefault(node.optional_vars.id, _find(node.context_expr, scope))
        for node in nodes:
            held = scope.get(node.id) if isinstance(node, ast.Name) else None
            if isinstance(held, Mapping) and len(held) <= _LARGEST:
                # The codes in a table that the function looks things up in.
                found = (value.name if isinstance(value, Code) else value for value in held.values())
                codes |= {name for name in found if isinstance(name, str) and find(name, exact=True) is not None}
            call = node if isinstance(node, ast.Call) else None
            raised = node.exc if isinstance(node, ast.Raise) else None
            named = call.func if call is not None else raised if isinstance(raised, (ast.Name, ast.Attribute)) else None
            target = None if named is None else _find(named, scope)
            if isinstance(target, Code):
                codes.add(target.name)
            elif isinstance(target, type) and issubclass(target, ToolError):
                codes.add(_code_given(call, scope) or target._defaults.get("code"))
            elif isinstance(target, FunctionType) and target in _MAKERS:
                codes.add(_code_given(call, scope) or _MAKERS[target])
            elif isinstance(target, type) and issubclass(target, BaseException):
                # About which nothing else is known.
                with suppress(Exception):
                    codes.add(
                        None if issubclass(target, NeedsInput) else classify(target.__new__(target), table=table).code
                    )
            elif isinstance(target, (type, FunctionType, MethodType)):
                place: str = getattr(inspect.unwrap(target), "__module__", None) or ""
                if place == package or place.startswith(f"{package}."):
                    left.append(vars(target).get("__init__") if isinstance(target, type) else target)
    return frozenset(code for code in codes if isinstance(code, str))


def _scope(function: Any, bound: Any) -> dict[str, Any]:
    """The names a function can see, and what they stand for."""
    scope: dict[str, Any] = {**vars(builtins), **getattr(function, "__globals__", {})}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            scope[name] = _UNKNOWN
    code, hints = function.__code__, _hints(function)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    scope.update({name: _typed(hints.get(name)) for name in names})
    if names and names[0] in ("self", "cls"):
        owner: Any = sys.modules.get(function.__module__)
        for part in function.__qualname__.split(".")[:-1]:
            owner = getattr(owner, part, None)
        scope[names[0]] = bound if bound is not None else _Object(owner if isinstance(owner, type) else None)
    return scope


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:
        return {}


def _typed(hint: Any) -> _Object:
    """An object of the type that a hint names."""
    parts = [hint] if isinstance(hint, type) else [part for part in typing.get_args(hint) if isinstance(part, type)]
    parts = [part for part in parts if part is not type(None)]
    return _Object(parts[0]) if len(parts) == 1 else _UNKNOWN


def _find(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """What an expression of names, attributes and calls stands for, without running anything."""
    if isinstance(node, ast.Await):
        return _find(node.value, scope)
    if isinstance(node, ast.Name):
        return scope.get(node.id, _UNKNOWN)
    if isinstance(node, ast.Call):
        made = _find(node.func, scope)
        return _Object(made) if isinstance(made, type) else _typed(_hints(made).get("return"))
    if not isinstance(node, ast.Attribute):
        return _UNKNOWN
    owner = _find(node.value, scope)
    if isinstance(owner, (ModuleType, type)):
        return getattr(owner, node.attr, _UNKNOWN)
    cls = owner.cls if isinstance(owner, _Object) else type(owner)
    found = inspect.getattr_static(owner if cls is type(owner) else cls, node.attr, None) if cls is not None else None
    if isinstance(found, (staticmethod, classmethod)):
        return found.__func__
    if isinstance(found, property):
        return _typed(_hints(found.fget).get("return"))
    if found is None:
        return _typed(_hints(cls).get(node.attr))
    return found


def _code_given(call: ast.Call | None, scope: Mapping[str, Any]) -> str | None:
    """The code that a call gives by keyword."""
    for keyword in call.keywords if call is not None else ():
        if keyword.arg == "code":
            value = keyword.value
            found = value.value if isinstance(value, ast.Constant) else _find(value, scope)
            return found.name if isinstance(found, Code) else found if isinstance(found, str) else None
    return None
