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
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from failwell.model import Code, NeedsInput, ToolError, error, find, required
from failwell.readers import DEFAULT, Table, classify, partial_failure

_DEEPEST: Final = 12
_LARGEST: Final = 1000
_UNKNOWN: Final = object()


class _Instance:
    """Some object of a class that is known only by its class."""

    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls = cls


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
    reader = _Reader(_home(function), table)
    reader.read(function)
    return frozenset(reader.codes)


def _home(function: Callable[..., Any]) -> str:
    """The package whose functions are read: the author's own, and nobody else's."""
    module: str = getattr(inspect.unwrap(function), "__module__", "") or ""
    package = getattr(sys.modules.get(module), "__package__", "") or ""
    return package or module


class _Reader:
    def __init__(self, home: str, table: Table) -> None:
        self.codes: set[str] = set()
        self._home = home
        self._table = table
        self._seen: set[Any] = set()

    def read(self, function: Any, depth: int = 0) -> None:
        while isinstance(function, functools.partial):
            function = function.func
        function = inspect.unwrap(function)
        bound = getattr(function, "__self__", None)
        plain = getattr(function, "__func__", function)
        code = getattr(plain, "__code__", None)
        if code is None or code in self._seen or depth > _DEEPEST:
            return
        self._seen.add(code)
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(plain)))
        except (OSError, TypeError, SyntaxError, ValueError):
            return
        scope = _scope(plain, bound)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                _import(node, plain, scope)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                scope.setdefault(node.targets[0].id, self._made(node.value, scope))
            elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
                scope.setdefault(node.optional_vars.id, self._made(node.context_expr, scope))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._called(_find(node.func, scope), node, scope, depth)
            elif isinstance(node, ast.Raise) and isinstance(node.exc, (ast.Name, ast.Attribute)):
                self._called(_find(node.exc, scope), None, scope, depth)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._looked_up(scope.get(node.id))

    def _looked_up(self, held: Any) -> None:
        """The codes in a table that the function looks things up in."""
        if isinstance(held, Mapping) and len(held) <= _LARGEST:
            for value in held.values():
                name = value.name if isinstance(value, Code) else value
                if isinstance(name, str) and find(name, exact=True) is not None:
                    self.codes.add(name)

    def _made(self, node: ast.expr, scope: Mapping[str, Any]) -> Any:
        """What a variable holds: an object of the class that is called, or the thing itself."""
        if isinstance(node, ast.Await):
            node = node.value
        if isinstance(node, ast.Call):
            made = _find(node.func, scope)
            if isinstance(made, type):
                return _Instance(made)
            hints = _hints(made) if callable(made) else {}
            return _typed(hints.get("return"))
        return _find(node, scope)

    def _called(self, target: Any, call: ast.Call | None, scope: Mapping[str, Any], depth: int) -> None:
        if isinstance(target, Code):
            self.codes.add(target.name)
        elif isinstance(target, type) and issubclass(target, ToolError):
            self._add(_passed(call, scope) or target._defaults.get("code"))
        elif isinstance(target, type) and issubclass(target, NeedsInput):
            return
        elif _is_maker(target):
            self._add(_passed(call, scope) or _MAKERS[target])
        elif isinstance(target, type) and issubclass(target, BaseException):
            self._add(_meaning(target, self._table))
        elif isinstance(target, type) and self._is_own(target):
            self.read(vars(target).get("__init__"), depth + 1)
        elif isinstance(target, (FunctionType, MethodType)) and self._is_own(target):
            self.read(target, depth + 1)

    def _add(self, code: object) -> None:
        if isinstance(code, str):
            self.codes.add(code)

    def _is_own(self, target: Any) -> bool:
        module = getattr(inspect.unwrap(target), "__module__", None) or ""
        return module == self._home or module.startswith(self._home + ".")


def _is_maker(target: Any) -> bool:
    return isinstance(target, FunctionType) and target in _MAKERS


def _scope(function: Any, bound: Any) -> dict[str, Any]:
    """The names a function can see, and what they stand for."""
    scope: dict[str, Any] = {**vars(builtins), **getattr(function, "__globals__", {})}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            scope[name] = cell.cell_contents
        except ValueError:
            scope[name] = _UNKNOWN
    for name, hint in _hints(function).items():
        if name != "return":
            scope[name] = _typed(hint)
    names = function.__code__.co_varnames[: function.__code__.co_argcount + function.__code__.co_kwonlyargcount]
    for name in names:
        scope.setdefault(name, _UNKNOWN)
        if name not in _hints(function):
            scope[name] = _UNKNOWN
    if names and names[0] in ("self", "cls"):
        owner = _owner(function)
        scope[names[0]] = bound if bound is not None else _Instance(owner) if owner is not None else _UNKNOWN
    return scope


def _owner(function: Any) -> type | None:
    """The class a method is written in."""
    place: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split(".")[:-1]:
        place = getattr(place, part, None)
    return place if isinstance(place, type) else None


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:
        return {}


def _typed(hint: Any) -> Any:
    """An object of the type that a hint names."""
    if isinstance(hint, type):
        return _Instance(hint)
    parts = [part for part in typing.get_args(hint) if isinstance(part, type) and part is not type(None)]
    return _Instance(parts[0]) if len(parts) == 1 and typing.get_origin(hint) is not None else _UNKNOWN


def _find(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """What an expression of names and attributes stands for."""
    if isinstance(node, ast.Name):
        return scope.get(node.id, _UNKNOWN)
    if isinstance(node, ast.Attribute):
        return _attribute(_find(node.value, scope), node.attr)
    if isinstance(node, ast.Call):
        made = _find(node.func, scope)
        return _Instance(made) if isinstance(made, type) else _UNKNOWN
    return _UNKNOWN


def _attribute(owner: Any, name: str) -> Any:
    if owner is _UNKNOWN:
        return _UNKNOWN
    if isinstance(owner, _Instance):
        found = inspect.getattr_static(owner.cls, name, _UNKNOWN)
        if isinstance(found, (staticmethod, classmethod)):
            return found.__func__
        if isinstance(found, property):
            return _typed(_hints(found.fget).get("return"))
        return _typed(_hints(owner.cls).get(name)) if found is _UNKNOWN else found
    if isinstance(owner, (ModuleType, type)) or not _is_computed(owner, name):
        return getattr(owner, name, _UNKNOWN)
    return _typed(_hints(type(owner)).get(name))


def _is_computed(owner: Any, name: str) -> bool:
    """Whether looking would run somebody's code."""
    found = inspect.getattr_static(owner, name, None)
    return found is None or isinstance(found, (property, functools.cached_property, BuiltinFunctionType))


def _import(node: ast.ImportFrom, function: Any, scope: dict[str, Any]) -> None:
    """Names that a function imports for itself, as far as the module is loaded."""
    name = node.module or ""
    if node.level:
        base = function.__globals__.get("__package__", "").split(".")
        base = base[: len(base) - node.level + 1]
        name = ".".join([*base, *([name] if name else [])])
    module = sys.modules.get(name)
    for alias in node.names:
        found = getattr(module, alias.name, sys.modules.get(f"{name}.{alias.name}", _UNKNOWN))
        scope[alias.asname or alias.name] = found


def _passed(call: ast.Call | None, scope: Mapping[str, Any]) -> str | None:
    """The code that a call gives by keyword."""
    for keyword in call.keywords if call is not None else ():
        if keyword.arg == "code":
            if isinstance(keyword.value, ast.Constant):
                return keyword.value.value if isinstance(keyword.value.value, str) else None
            found = _find(keyword.value, scope)
            return found.name if isinstance(found, Code) else found if isinstance(found, str) else None
    return None


def _meaning(exception: type[BaseException], table: Table) -> str | None:
    """The code that the classifiers make of an exception of this class, about which nothing else is known."""
    try:
        return classify(exception.__new__(exception), table=table).code
    except Exception:
        return None
