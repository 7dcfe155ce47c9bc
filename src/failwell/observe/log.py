"""One structured log record for each failure, named `tool_error`: for the standard library, and for structlog."""

from __future__ import annotations

import logging
import os
import traceback
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import CodeType, TracebackType
from typing import Any, Final, NamedTuple

from failwell.formats import default_code, number_of
from failwell.model import Json, Kind, Severity, ToolError, pattern, plain_map, text
from failwell.redact import DEFAULT, Guard

EVENT: Final = "tool_error"
_log = logging.getLogger("failwell")
_METHODS: Final = {
    logging.CRITICAL: "critical",
    logging.ERROR: "error",
    logging.WARNING: "warning",
    logging.INFO: "info",
    logging.DEBUG: "debug",
}
_LONGEST_NAME: Final = 200
_MOST_FIELDS: Final = 10
_DEEPEST_TRACEBACK: Final = 20
_FRAMEWORK: Final = pattern(r"[/\\](?:mcp|fastmcp|anyio|pydantic|failwell|asyncio)[/\\]")


def log_failure(
    logger: Any,
    error: ToolError,
    *,
    tool: str,
    exc: BaseException | None = None,
    guard: Guard = DEFAULT,
    action: str | None = None,
    request_id: str | int | None = None,
    correlation_id: str | None = None,
    number: int | None = None,
    context: Mapping[str, Any] | None = None,
    level: int = logging.WARNING,
    told: ToolError | None = None,
    said: str | None = None,
) -> None:
    """Write one record about a failed call: a line for what was to be expected, the way there, too, for what was not.

    `logger` is a `logging.Logger` or `LoggerAdapter`, or a structlog logger. `exc` is what was raised. `number` is the
    JSON-RPC error number; without one it is the code's own. `context` stands in the record beside the error's details.
    `level` is that of what was to be expected; a crash, and what its author calls critical, is an error. Nothing is put
    into words when nobody listens, no secret is printed, and a logger that raises is not felt. `told` is the error as
    the caller is told, where it has passed the guard already; `said` stands in the line instead of what the error says.
    """
    with suppress(Exception):
        if error.crashed:
            exc = error.__cause__ or exc
        planned = isinstance(exc, ToolError) or error.authored
        crash = exc is not None and error.kind is Kind.INTERNAL and not planned
        level = logging.ERROR if crash or error.severity is Severity.CRITICAL else level
        standard = isinstance(logger, (logging.Logger, logging.LoggerAdapter))
        if not standard:
            logger = logger.bind()
        if not _listens(logger, level):
            return
        told = guard(error) if told is None else told
        names = {
            "request_id": request_id,
            "tool_name": tool,
            "action": action,
            "mcp_error_code": error.code or default_code(error),
            "correlation_id": correlation_id or error.correlation_id,
        }
        fields: dict[str, Json] = {
            # What the guard has left as it was needs no second look.
            **_guarded(names, said or _told(error), guard, looked=told is error and not said),
            "error_code": number_of(error) if number is None else number,
            "kind": error.kind.value,
            "strategy": error.strategy.value,
            "context": _context(error, context, guard) if context else dict(told.details),
            "error": told.to_dict(),
        }
        led = _masked_way(exc, guard) if crash and exc is not None else None
        if standard:
            _write(logger, level, fields, led)
        else:
            # structlog's own name for a traceback that is text already.
            _method(logger, level)(EVENT, **fields, **({"exception": led} if led else {}))


def logged(
    error: ToolError,
    *,
    tool: str,
    logger: Any = None,
    guard: Guard = DEFAULT,
    **about: Any,
) -> ToolError:
    """Make an error and write it down in one step: the error with an id by which the log knows it.

    What is raised so in a server with `install` is not written down a second time. `about` is what `log_failure` takes.

    >>> error = logged(ToolError("Order o_1 is paid.", code="ORDER_PAID"), tool="pay", level=logging.DEBUG)
    >>> error.code, error.correlation_id is not None
    ('ORDER_PAID', True)
    """
    known = error if error.correlation_id is not None else error.replace(correlation_id=new_id())
    log_failure(_log if logger is None else logger, known, tool=tool, guard=guard, **about)
    known.logged = True
    return known


def new_id() -> str:
    """A random name for one failure, to be told by a user and found in the log.

    From the system, not from `random`: a server that seeds that would give the same names again.
    """
    return os.urandom(6).hex()


def _method(logger: Any, level: int) -> Any:
    """The method of a structlog logger: the nearest below the level that has one."""
    return getattr(logger, next((name for at, name in _METHODS.items() if at <= level), "debug"))


def way(exc: BaseException) -> str:
    """The frames that led to it, from the tool on: how a framework calls a tool is no news. May quote secrets."""
    return "".join(traceback.format_tb(_beginning(exc))).rstrip()


def _beginning(exc: BaseException) -> TracebackType | None:
    last: deque[TracebackType] = deque(maxlen=_DEEPEST_TRACEBACK)
    step = exc.__traceback__
    while step is not None:
        last.append(step)
        step = step.tb_next
    # Looked for before anything is read: the lines of the frames before it are in files that nobody needs.
    own = next((each for each in last if not _FRAMEWORK.search(each.tb_frame.f_code.co_filename)), None)
    return own or (last[0] if last else None)


def _masked_way(exc: BaseException, guard: Guard) -> str:
    """The same as it may be printed. What crashes crashes in the same places over and over, and of a place only the
    lines of its files are told, so it is read and looked through once. A guard that knows what a call was sent must not
    stay."""
    if not guard.is_lasting:
        return guard.plain(way(exc))
    places: list[tuple[CodeType, int]] = []
    step = _beginning(exc)
    while step is not None:
        places.append((step.tb_frame.f_code, step.tb_lasti))
        step = step.tb_next
    key = (id(guard), *((id(code), at) for code, at in places))
    known = _ways.get(key)
    if known is None:
        if len(_ways) >= _MOST_WAYS:
            _ways.clear()
        # Kept with what it was found by, so that nothing else can have their ids.
        known = _ways[key] = _Way(guard.plain(way(exc)), guard, places)
    return known.told


class _Way(NamedTuple):
    """What was printed of one way to a crash."""

    told: str
    guard: Guard
    places: list[tuple[CodeType, int]]


_ways: dict[tuple[Any, ...], _Way] = {}
_MOST_WAYS: Final = 200


def _listens(logger: Any, level: int) -> bool:
    """Whether a record of this level goes anywhere; yes for a logger that cannot be asked."""
    # Of the class, since structlog's generic logger makes a log line of any method it is asked for.
    for name in ("isEnabledFor", "is_enabled_for"):
        ask = getattr(type(logger), name, None)
        if ask is not None:
            return bool(ask(logger, level))
    return True


def _told(error: ToolError) -> str:
    # Of wrong arguments the names are enough.
    names = ", ".join([problem.name for problem in error.fields[:_MOST_FIELDS]]) if error.fields else ""
    return names or text(error.debug) or error.message


def _guarded(names: dict[str, Any], details: str, guard: Guard, *, looked: bool) -> dict[str, Json]:
    """What is printed of a failure: the names on one line each, and no secret in any of it."""
    # One look first; most often there is nothing to mask.
    lines = {name: text(value) for name, value in names.items() if isinstance(value, str)}
    whole = " ".join(lines.values())
    if " ".join(whole.split()) != whole or len(whole) > _LONGEST_NAME or not guard.hides_nothing(whole):
        lines = {name: guard.label(line) for name, line in lines.items()}
    return {**names, **lines, "details": details if looked else guard.text(details)}


def _line(told: str) -> str:
    """One line: what a caller sends must not look like a line of the log."""
    return " ".join(told.split())


def _context(error: ToolError, more: Mapping[str, Any] | None, guard: Guard) -> dict[str, Json]:
    said = {**error.details, **plain_map(more)}
    # As the details of an error, which the guard reads name by name, and cuts where they have no end.
    return dict(guard(ToolError(details=said)).details)


def _write(
    logger: logging.Logger | logging.LoggerAdapter[Any], level: int, fields: dict[str, Json], led: str | None
) -> None:
    message: Any = f"{EVENT} %s: %s: %s%s"
    label = fields["tool_name"] if fields["action"] is None else f"{fields['tool_name']}/{fields['action']}"
    # What was to be expected stays short enough for one line of a terminal: a handler that wraps lines takes its time.
    mark = fields["correlation_id"] if level > logging.WARNING else None
    args = (label, fields["mcp_error_code"], _line(fields["details"]), "" if mark is None else f" ({mark})")
    more: dict[str, Any] = {}
    while isinstance(logger, logging.LoggerAdapter):
        # Its own way to pass on `extra` would put the adapter's in the place of ours.
        message, given = logger.process(message, {"extra": {}})
        more = {**(given.get("extra") or {}), **more}
        logger = logger.logger
    # Made by hand: `extra` raises for names that the application's own record factory has given already. It names no
    # file: the failure is the tool's, and where this one is called says nothing.
    record = logger.makeRecord(logger.name, level, "", 0, message, args, None, EVENT)
    for name, value in {**more, **fields}.items():
        record.__dict__.setdefault(name, value)
    record.exc_text = led
    logger.handle(record)
