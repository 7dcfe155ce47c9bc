"""For those who have a backend: each attempt as a span of OpenTelemetry, by the conventions for MCP."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any, Final

from failwell.model import ToolError
from failwell.observe.counters import pair_of
from failwell.observe.events import CallEvent
from failwell.packages import needed

from .address import Address

try:
    from opentelemetry import trace
except ImportError as problem:
    raise needed("otlp:", "otlp", problem) from None

_KINDS: Final = {"server": trace.SpanKind.SERVER, "client": trace.SpanKind.CLIENT, "relay": trace.SpanKind.INTERNAL}


class Otlp:
    """A hook that sends events to the tracer provider of the program, whose exporter carries them on.

    `otlp:` is the provider that the program has set up; its exporter sends in batches, from a thread of its own.
    """

    def __init__(self, address: Address, provider: Any = None) -> None:
        self.key = os.urandom(16)
        self._tracer = trace.get_tracer("failwell", tracer_provider=provider)

    def __call__(self, event: CallEvent) -> None:
        end = _nanoseconds(event.at)
        start = end - int(event.seconds * 1e9)
        at = start
        for number, each in enumerate(event.tried, 1):
            told = {"failwell.decision": each.decision, "failwell.delay.waited": each.waited}
            took = int(each.seconds * 1e9)
            self._send(event, each.error, number, at, at + took, {**told, "failwell.delay.asked": each.asked})
            at += took + int((each.waited or 0.0) * 1e9)
        told = {
            "failwell.decision": event.decision,
            "failwell.delay.asked": None if event.error is None else event.error.retry_after,
            "failwell.prevented": event.prevented or None,
            "failwell.asked": event.asked or None,
        }
        self._send(event, event.error, len(event.tried) + 1, at, end, told, ok=event.ok)

    def _send(
        self,
        event: CallEvent,
        error: ToolError | None,
        attempt: int,
        start: int,
        end: int,
        told: dict[str, Any],
        *,
        ok: bool = False,
    ) -> None:
        said: dict[str, Any] = {
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.tool,
            "mcp.protocol.version": event.era,
            "mcp.session.id": event.session,
            "failwell.seat": event.seat,
            "failwell.attempt": attempt,
            "failwell.call": event.fingerprint,
            **told,
        }
        if not ok:
            said["error.type"] = "tool_error"
            said["failwell.error.kind"], said["failwell.error.code"] = pair_of(error)
            said["failwell.effect"] = None if error is None or error.effect is None else error.effect.value
        attributes = {name: value for name, value in said.items() if value is not None}
        kind = _KINDS.get(event.seat or "", trace.SpanKind.INTERNAL)
        span = self._tracer.start_span(f"tools/call {event.tool}", kind=kind, attributes=attributes, start_time=start)
        if not ok:
            span.set_status(trace.StatusCode.ERROR)
        span.end(end_time=max(start, end))


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1e9)
