"""What OpenTelemetry is told of a failure: the code and the kind, and never a text."""

from __future__ import annotations

import asyncio
import builtins
import json
from collections.abc import Iterator
from typing import Any

import mcp
import mcp.shared._otel
import pytest
from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import failwell as fw
from failwell.observe import UNKNOWN, mark_failure
from failwell.observe import otel as telemetry

CALLERS = ["validation", "not_found", "permission", "conflict"]
OURS = ["transient", "internal"]


class Spans:
    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("test")

    def ended(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def marked(self, error: fw.ToolError | None, **given: Any) -> ReadableSpan:
        """A span on which a failure is marked, and on which a framework then says its own word."""
        with self.tracer.start_as_current_span("tools/call"):
            mark_failure(error, tool="pay", **given)
        return self.ended()[-1]


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    made = InMemoryMetricReader()
    provider = MeterProvider([made])
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)
    monkeypatch.setattr(telemetry, "_tools", telemetry._Labels(5))
    monkeypatch.setattr(telemetry, "_codes", telemetry._Labels(5))
    telemetry._failures.cache_clear()
    yield made
    provider.shutdown()
    telemetry._failures.cache_clear()


def measured(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], Any]]]:
    data = reader.get_metrics_data()
    if data is None:
        return {}
    return {
        metric.name: [(dict(point.attributes or {}), point) for point in metric.data.data_points]
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


@pytest.mark.parametrize("kind", CALLERS + OURS)
def test_a_span_says_what_went_wrong_and_never_the_text(kind: str, spans: Spans) -> None:
    error = fw.ToolError("Ann's card was refused.", kind=kind, code="CARD", correlation_id="1f0c2d3e4a5b")
    span = spans.marked(error, action="refund")
    assert dict(span.attributes or {}) == {
        "failwell.tool.action": "refund",
        "failwell.error.code": "CARD",
        "failwell.error.kind": kind,
        "failwell.error.strategy": error.strategy.value,
        "failwell.correlation_id": "1f0c2d3e4a5b",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
        "error.type": "tool_error",
    }
    status = (StatusCode.OK, None) if kind in CALLERS else (StatusCode.ERROR, "CARD")
    assert (span.status.status_code, span.status.description) == status
    assert "Ann" not in span.to_json()


@pytest.mark.checklist(170)
@pytest.mark.parametrize("text", ["Success: done.", "INTERNAL crash, timeout", "not found"])
def test_the_status_comes_from_the_code_whatever_the_text_says(text: str, spans: Spans) -> None:
    assert spans.marked(fw.Conflict(text)).status.status_code is StatusCode.OK
    assert spans.marked(fw.Transient(text)).status.status_code is StatusCode.ERROR


def test_what_the_framework_has_said_already_stands(spans: Spans) -> None:
    with spans.tracer.start_as_current_span("s", attributes={"gen_ai.tool.name": "theirs", "error.type": "-32602"}):
        mark_failure(fw.NotFound("no"), tool="ours")
    attributes = spans.ended()[0].attributes or {}
    assert (attributes["gen_ai.tool.name"], attributes["error.type"]) == ("theirs", "-32602")


def test_a_question_is_no_failure(spans: Spans, reader: InMemoryMetricReader) -> None:
    span = spans.marked(None, asked=True)
    assert dict(span.attributes or {}) == {
        "failwell.asked": True,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "pay",
    }
    assert span.status.status_code is StatusCode.OK
    assert measured(reader) == {}


def test_an_advisory_leaves_the_status_alone(spans: Spans) -> None:
    span = spans.marked(fw.Transient("Slow today.", severity="warning"))
    assert span.status.status_code is StatusCode.UNSET
    assert "error.type" not in (span.attributes or {})


def test_a_result_that_says_itself_that_it_failed_is_an_error(spans: Spans) -> None:
    span = spans.marked(None)
    assert (span.status.status_code, (span.attributes or {})["error.type"]) == (StatusCode.ERROR, "tool_error")


@pytest.mark.checklist(279)
def test_failures_are_counted_by_tool_kind_and_code(reader: InMemoryMetricReader) -> None:
    for _ in range(3):
        mark_failure(fw.NotFound("no"), tool="find")
    mark_failure(fw.ToolError("no", code="C" * 1000), tool="pay")
    mark_failure(None, tool="pay")
    assert [(labels, point.value) for labels, point in measured(reader)["failwell.tool.failures"]] == [
        ({"gen_ai.tool.name": "find", "failwell.error.kind": "not_found", "failwell.error.code": "NOT_FOUND"}, 3),
        ({"gen_ai.tool.name": "pay", "failwell.error.kind": "internal", "failwell.error.code": UNKNOWN}, 1),
        ({"gen_ai.tool.name": "pay", "failwell.error.kind": UNKNOWN, "failwell.error.code": UNKNOWN}, 1),
    ]


def test_labels_are_bounded(reader: InMemoryMetricReader) -> None:
    for number in range(50):
        mark_failure(fw.ToolError("no", code=f"C{number}"), tool=f"t{number}")
    points = measured(reader)["failwell.tool.failures"]
    assert sum(point.value for _, point in points) == 50
    assert len(points) == 6
    assert points[-1][0] == {
        "gen_ai.tool.name": UNKNOWN,
        "failwell.error.kind": "internal",
        "failwell.error.code": UNKNOWN,
    }


def test_without_opentelemetry_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *rest)

    telemetry._trace.cache_clear()
    monkeypatch.setattr(builtins, "__import__", absent)
    try:
        mark_failure(fw.NotFound("no"), tool="t")
    finally:
        monkeypatch.undo()
        telemetry._trace.cache_clear()


def test_a_span_that_raises_is_not_felt(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def is_recording(self) -> bool:
            raise OSError("exporter gone")

    monkeypatch.setattr("opentelemetry.trace.get_current_span", Broken)
    mark_failure(fw.NotFound("no"), tool="t")


ERRORS = {
    "missing": fw.NotFound("Ann's order does not exist."),
    "busy": fw.Transient("Ann has to wait."),
}


def test_on_the_span_of_a_real_server(spans: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    """OK is final: the SDK's middleware says ERROR after it, for every result that says isError."""
    monkeypatch.setattr(mcp.shared._otel, "_tracer", spans.tracer)
    server = MCPServer("test", log_level="CRITICAL")

    @server.tool()
    def pay(case: str) -> CallToolResult:
        mark_failure(ERRORS[case], tool="pay")
        return CallToolResult(content=[TextContent(type="text", text=ERRORS[case].message)], is_error=True)

    async def ask() -> None:
        async with mcp.Client(server) as client:
            for case in ERRORS:
                await client.call_tool("pay", {"case": case})

    asyncio.run(ask())
    told = [json.loads(span.to_json()) for span in spans.ended()]
    told = [span for span in told if span["name"] == "tools/call pay" and span["kind"] == "SpanKind.SERVER"]
    assert [span["status"]["status_code"] for span in told] == ["OK", "ERROR"]
    assert [span["attributes"]["failwell.error.code"] for span in told] == ["NOT_FOUND", "UNAVAILABLE"]
    assert {span["attributes"]["error.type"] for span in told} == {"tool_error"}
    assert "Ann" not in repr(told)
