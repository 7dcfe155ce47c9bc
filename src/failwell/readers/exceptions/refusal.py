"""Whether an exception is the author's word to the caller: raised on purpose, in the author's own code.

`raise ValueError("The amount must be above zero.")` is addressed to whoever called the tool. `int("12,50")` raises the
same class out of a library, says nothing to anybody, and may come after half of the work. The traceback tells them
apart.
"""

from __future__ import annotations

import inspect
from dis import get_instructions, opmap
from functools import lru_cache
from itertools import islice
from pathlib import PurePath
from types import CodeType, TracebackType
from typing import Any, Final

from failwell.model import Kind, ToolError

from .chain import args, exc_text, is_a, shorten_text, underlying
from .exception_table import SHIPPED, operation

_REFUSALS: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (PermissionError, "FORBIDDEN", "This is not allowed"),
    (FileExistsError, "CONFLICT", "It exists already"),
    (FileNotFoundError, "NOT_FOUND", "It does not exist"),
    (LookupError, "NOT_FOUND", "It does not exist"),
    (ValueError, "VALIDATION_ERROR", "An argument was rejected"),
)
_NO_ARGUMENT: Final = frozenset({Kind.TRANSIENT, Kind.CONFLICT})
_RETHROWS: Final = "with_traceback"
_RAISE: Final = opmap["RAISE_VARARGS"]
_MOST_FRAMES: Final = 2_000
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


@lru_cache(1)
def _library() -> tuple[str, ...]:
    """Where the standard library is. To ask takes as long as to import half of this package, and few have to."""
    import sysconfig

    return tuple({path for name in ("stdlib", "platstdlib") if (path := sysconfig.get_paths().get(name)) is not None})


def refusal(exc: BaseException, function: object = None, *, group: BaseException | None = None) -> ToolError | None:
    """What an author says to the caller of `function` by raising `exc`; None if it is not addressed to them.

    One of a `group` that was never raised itself is the word of whoever raised the group.
    """
    row = next(iter([row for row in _REFUSALS if issubclass(type(exc), row[0])]), None)
    raised = exc if group is None or exc.__traceback__ is not None else group
    if not isinstance(exc, Exception) or not _is_raised_by(raised, function) or _has_passed(exc):
        return None
    if row is None or _is_no_argument(exc, row[0]):
        # Of any other type the table tells the cause.
        error = operation(exc)
        return None if error.kind is Kind.TRANSIENT else error.replace(standing="quoted", effect=None)
    _, code, default = row
    told = _words(exc)
    # A bare key or name is no word to anybody, and may be anything.
    is_worded = " " in told.strip() or (is_a(exc, ValueError) and told.strip() != "")
    message = shorten_text(told) if is_worded else f"{default}."
    return ToolError(message, code=code, standing="quoted")


def is_local_word(exc: BaseException) -> bool:
    """Whether it was raised on purpose in code that is nobody's package: the author's, of whichever function."""
    return _is_raised_by(exc, None)


def _has_passed(exc: BaseException) -> bool:
    """Whether an author raised it from a failure that passes: `raise ValueError(f"webhook failed: {e}") from e` looks
    like a refusal, and no argument would mend it."""
    came_from = underlying(exc)
    if came_from is None:
        return False
    try:
        return operation(came_from).kind is Kind.TRANSIENT
    except BaseException:
        # An order to stop, or an exception that cannot be looked at: no word about an argument either.
        return True


def _is_no_argument(exc: BaseException, kind: type[Exception]) -> bool:
    """Whether a library's class that is a `ValueError` by descent alone means something else: a lock that was lost."""
    return kind is ValueError and type(exc) is not ValueError and operation(exc).kind in _NO_ARGUMENT


def _words(exc: BaseException) -> str:
    given = args(exc)
    # A KeyError shows its text in quotes.
    return given[0] if len(given) == 1 and type(given[0]) is str else exc_text(exc)


def _is_raised_by(exc: BaseException, function: object) -> bool:
    last = _last(exc.__traceback__)
    if last is None:
        return False
    code, at = last.tb_frame.f_code, last.tb_lasti
    opcodes = code.co_code
    # With an operand: a bare `raise` passes on what somebody else raised.
    if not 0 <= at < len(opcodes) - 1 or opcodes[at] != _RAISE or not opcodes[at + 1]:
        return False
    if _RETHROWS in code.co_names and _is_rethrown(code, at):
        return False
    return _is_of(code, str(last.tb_frame.f_globals.get("__name__", "")), function)


def _is_rethrown(code: CodeType, at: int) -> bool:
    """Whether the statement is `raise exc.with_traceback(…)`: then where it comes from was taken off, or put on."""
    first, last = next(islice(code.co_positions(), at // 2, None), (None, None))[:2]
    if first is None or last is None:
        # Python was told to keep no lines, so nobody knows.
        return True
    loads = (each.positions for each in get_instructions(code) if each.argval == _RETHROWS)
    return any(each is not None and each.lineno is not None and first <= each.lineno <= last for each in loads)


def _last(trace: TracebackType | None) -> TracebackType | None:
    for _ in range(_MOST_FRAMES):
        if trace is None or trace.tb_next is None:
            return trace
        trace = trace.tb_next
    return None


def _is_of(code: CodeType, module: str, function: object) -> bool:
    """Whether the code stands in the distribution that defines the function."""
    own = code_of(function)
    if own is None:
        return is_local(code.co_filename)
    if own.co_filename == code.co_filename:
        return True
    package = str(getattr(plain_function(function), "__module__", "")).partition(".")[0]
    raiser = module.partition(".")[0]
    if is_local(own.co_filename):
        # A library that was copied beside the author's code is still none of theirs.
        return is_local(code.co_filename) and (raiser == package or raiser not in SHIPPED.packages())
    return package != "" and package == raiser


def code_of(function: object) -> CodeType | None:
    """The code behind a function, a method, a partial or an object that can be called."""
    found = getattr(plain_function(function), "__code__", None)
    return found if isinstance(found, CodeType) else None


def plain_function(function: Any) -> Any:
    """The function behind a method, a partial, a wrapper or an object that can be called."""
    try:
        function = getattr(function, "func", function)
        function = inspect.unwrap(function) if callable(function) else function
        if not hasattr(function, "__code__") and not isinstance(function, type) and callable(function):
            function = type(function).__call__
        return getattr(function, "__func__", function)
    except Exception:
        return None


def is_local(file: str) -> bool:
    """Whether a file is neither of the standard library nor of an installed package."""
    # Modules that Python has built in have no file: `<frozen os>`.
    return not file.startswith((*_library(), "<frozen ")) and _INSTALLED.isdisjoint(PurePath(file).parts)
