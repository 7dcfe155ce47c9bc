"""Failures in OpenTelemetry, on the span that the framework has opened, by the conventions for MCP and generative AI.

Needs `opentelemetry-api` alone, which comes with `mcp`; without it, or without a provider, nothing happens.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import Any, Final

from failwell.model import Kind, ToolError
from failwell.redact import DEFAULT

from .counters import MOST_CODES, MOST_TOOLS, UNKNOWN, pair_of
from .events import CallEvent

# Whoever is on call is not woken by a caller's mistake, just as a 404 does not make an HTTP server's span an error.
_CALLERS: Final = frozenset({Kind.VALIDATION, Kind.NOT_FOUND, Kind.PERMISSION, Kind.CONFLICT})


TRACE_NAMES: Final = ("traceparent", "tracestate")
"""By which a message, or a request over HTTP, says to which trace it belongs."""


class _Labels:
    """The values of one label, the first that came; the rest are all UNKNOWN, since each one is a series to keep."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()
        self._lock = Lock()

    def __call__(self, value: str) -> str:
        value = DEFAULT.label(value)
        if value in self._known:
            return value
        with self._lock:
            if len(self._known) >= self._most:
                return UNKNOWN
            self._known.add(value)
        return value


_tools, _codes = _Labels(MOST_TOOLS), _Labels(MOST_CODES)


def mark_failure(error: ToolError | None, *, tool: str, action: str | None = None, asked: bool = False) -> None:
    """Say on the current span what went wrong, and count it. To be called before the framework ends the span.

    Never the message: it may quote what a user said. A question to the user (`asked`) is no failure.
    """
    mark_span(error, tool=tool, action=action, asked=asked)
    if not asked:
        count_failure(error, tool=tool)


def mark_span(error: ToolError | None, *, tool: str, action: str | None = None, asked: bool = False) -> None:
    """The first half, for frameworks whose span has ended when the answer is made."""
    with suppress(Exception):
        if (trace := _trace()) is not None and (span := trace.get_current_span()).is_recording():
            _mark(trace, span, error, tool, action, asked)


def count_failure(error: ToolError | None, *, tool: str) -> None:
    """The second half."""
    with suppress(Exception):
        if "opentelemetry.metrics" not in sys.modules:
            return  # Nobody reads meters, and the import takes longer than the whole failure.
        kind, code = pair_of(error)
        labels = {"gen_ai.tool.name": _tools(tool), "failwell.error.kind": kind, "failwell.error.code": _codes(code)}
        _failures().add(1, labels)


def is_tracing() -> bool:
    """Whether somebody in this process wants to know of spans."""
    if "opentelemetry.trace" not in sys.modules or (trace := _trace()) is None:
        return False
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def trace_call(event: CallEvent, said: Mapping[str, Any]) -> None:
    """A span for a call that was passed on and has ended, in the trace that the call says it belongs to."""
    with suppress(Exception):
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        trace = _trace()
        told = {name: said[name] for name in TRACE_NAMES if isinstance(said.get(name), str)}
        end = int(event.at.timestamp() * 1e9)
        span = trace.get_tracer("failwell").start_span(
            f"tools/call {DEFAULT.label(event.tool)}",
            context=TraceContextTextMapPropagator().extract(told),
            kind=trace.SpanKind.SERVER,
            start_time=end - int(event.seconds * 1e9),
            attributes={
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": DEFAULT.label(event.tool),
                "failwell.attempts": event.attempts,
            },
        )
        if not event.ok or event.asked:
            _mark(trace, span, event.error, event.tool, event.action, event.asked)
        span.end(end)


def current_trace() -> str | None:
    """The trace that the present span belongs to; None without one."""
    try:
        if (trace := _trace()) is None:
            return None
        known = trace.get_current_span().get_span_context()
        return format(known.trace_id, "032x") if known.is_valid else None
    except Exception:
        return None


def _mark(trace: Any, span: Any, error: ToolError | None, tool: str, action: str | None, asked: bool) -> None:
    said: dict[str, Any] = {"failwell.tool.action": action, "failwell.asked": asked or None}
    if error is not None:
        said["failwell.error.kind"], said["failwell.error.code"] = pair_of(error)
        said["failwell.error.strategy"] = error.strategy.value
        said["failwell.correlation_id"] = error.correlation_id
    usual = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    failed = not asked and (error is None or error.is_error)
    if failed:
        usual["error.type"] = "tool_error"
    # The framework's own word stands where there is one.
    has = getattr(span, "attributes", None) or {}
    said |= {name: value for name, value in usual.items() if name not in has}
    told = {name: DEFAULT.label(value) if isinstance(value, str) else value for name, value in said.items()}
    span.set_attributes({name: value for name, value in told.items() if value is not None})
    if asked or (error is not None and error.kind in _CALLERS and failed):
        # The last word on a span: the framework sets ERROR for every result that says isError, after this.
        span.set_status(trace.StatusCode.OK)
    elif failed:
        span.set_status(trace.StatusCode.ERROR, told.get("failwell.error.code"))


@cache
def _trace() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace


@cache
def _failures() -> Any:
    from opentelemetry import metrics

    return metrics.get_meter("failwell").create_counter(
        "failwell.tool.failures", "{failure}", "Failed tool calls, by what went wrong."
    )
