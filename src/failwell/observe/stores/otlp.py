"""For those who have a backend: each attempt as a span of OpenTelemetry, by the conventions for MCP."""

from __future__ import annotations

import logging
import os
from typing import Any, Final
from urllib.parse import urlsplit

from failwell.model import ToolError
from failwell.observe.counters import pair_of
from failwell.observe.events import CallEvent
from failwell.packages import needed
from failwell.redact import DEFAULT

from .store_url import Address, BadStore

try:
    from opentelemetry import trace
except ImportError as problem:
    raise needed("otlp:", "otlp", problem) from None

log = logging.getLogger("failwell.observe")

_KINDS: Final = {"server": trace.SpanKind.SERVER, "client": trace.SpanKind.CLIENT, "relay": trace.SpanKind.INTERNAL}
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PATH: Final = "/v1/traces"


class Otlp:
    """A hook that sends events as spans; an exporter carries them on, in batches, from a thread of its own.

    `otlp:` sends to the tracer provider that the program has set up; where it has none, and the variables of
    OpenTelemetry name an endpoint, to that. `otlp://host:4318` sends there itself, in protobuf over HTTP.
    """

    def __init__(self, address: Address, provider: Any = None) -> None:
        self.key = os.urandom(16)
        self._own = _own(address) if provider is None else None
        self._tracer = trace.get_tracer("failwell", tracer_provider=provider or self._own)

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until what was told so far is sent, so long at most; whether it is.

        What becomes of it at the program's own provider is not known here."""
        return self._own is None or bool(self._own.force_flush(int(seconds * 1000)))

    def close(self, seconds: float = 5.0) -> None:
        """Send what is left, and end."""
        if self._own is not None:
            self.flush(seconds)
            self._own.shutdown()

    def __call__(self, event: CallEvent) -> None:
        at = int(event.at.timestamp() * 1e9) - int(event.seconds * 1e9)
        for number, each in enumerate(event.tried, 1):
            told = {"failwell.decision": each.decision, "failwell.delay.waited": each.waited}
            self._send(event, each.error, number, at, int(each.seconds * 1e9), told, ok=False)
            at += int((each.seconds + (each.waited or 0.0)) * 1e9)
        told = {
            "failwell.decision": event.decision,
            "failwell.prevented": event.prevented or None,
            "failwell.asked": event.asked or None,
            "failwell.declared": event.declared,
        }
        left = int(event.at.timestamp() * 1e9) - at
        self._send(event, event.error, len(event.tried) + 1, at, left, told, ok=event.ok)

    def _send(
        self,
        event: CallEvent,
        error: ToolError | None,
        attempt: int,
        at: int,
        took: int,
        told: dict[str, Any],
        *,
        ok: bool,
    ) -> None:
        tool = _label(event.tool)
        said: dict[str, Any] = {
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "mcp.protocol.version": event.era,
            "mcp.session.id": event.session,
            "jsonrpc.request.id": None if event.request_id is None else _label(str(event.request_id)),
            "failwell.seat": event.seat,
            "failwell.attempt": attempt,
            "failwell.call": event.fingerprint,
            "failwell.client": _label(event.client) or None,
            "failwell.server": _label(event.server) or None,
            "failwell.trace": event.trace_id,
            **told,
        }
        if error is not None:
            said["failwell.delay.asked"] = error.retry_after
            said["failwell.effect"] = None if error.effect is None else error.effect.value
        if not ok:
            said["error.type"] = "tool_error"
            said["failwell.error.kind"], said["failwell.error.code"] = map(_label, pair_of(error))
        attributes = {name: value for name, value in said.items() if value is not None}
        kind = _KINDS.get(event.seat or "", trace.SpanKind.INTERNAL)
        span = self._tracer.start_span(f"tools/call {tool}", kind=kind, attributes=attributes, start_time=at)
        if not ok:
            span.set_status(trace.StatusCode.ERROR)
        span.end(end_time=at + max(0, took))


def _label(text: str | None) -> str:
    return "" if text is None else DEFAULT.label(text)[:100]


def _own(address: Address) -> Any:
    """A provider of our own, where one is wanted."""
    named = urlsplit(address.path)
    if not named.netloc:
        if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return None
        if not any(os.environ.get(name) for name in _ENDPOINTS):
            log.warning(
                "otlp: sends to the tracer provider of the program, which has none yet; otlp://HOST:4318 sends there"
            )
            return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as problem:
        raise needed("otlp://", "otlp", problem) from None
    if named.netloc and "@" in named.netloc:
        raise BadStore("otlp:// takes no name and password; give headers by OTEL_EXPORTER_OTLP_HEADERS")
    place = named.path if named.path.strip("/") else _PATH
    endpoint = f"http://{named.netloc}{place}" if named.netloc else None
    service = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "failwell"}
    provider = TracerProvider(resource=Resource.create(service))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider
