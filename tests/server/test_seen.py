"""What an operator sees of a running server: log records, events, spans, counters; and that nobody else sees it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import anyio
import fastmcp.telemetry
import mcp
import mcp.shared._otel
import pytest
from app import SERVERS as MAKERS
from app import Tool
from features import PRIVATE, SECRET
from features import TOOLS as FEATURES
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from wire import ERAS, SERVERS, Client, Json, Nursery, Wanted, client_of, settled, started

import failwell.server
from failwell.formats import META_KEY
from failwell.observe import otel as telemetry

ID: Final = re.compile(r"[0-9a-f]{12}")


@contextmanager
def listening(nursery: Nursery, server: str, **wanted: Any) -> Iterator[Any]:
    """A server that listens, and a way to become its client."""
    first = Wanted(server, "http", ERAS[0], **wanted)
    process = started(nursery, first)
    clients: list[Client] = []

    def connect(era: str) -> Client:
        clients.append(client_of(process, first._replace(era=era)))
        clients[-1].settled = str
        return clients[-1]

    try:
        yield connect
    finally:
        for client in clients:
            client.close()
        process.close()


CALLS: Final[dict[str, tuple[str, Json]]] = {
    "success": ("echo", {"text": "hi"}),
    "failure": ("find_book", {}),
    "crash": ("crash", {}),
    "device": ("reads_device", {}),
    "question": ("get_pattern_plainly", {"id": "rety"}),
    "wrong arguments": ("echo", {"text": 5}),
    "unknown tool": ("nowhere", {}),
    "rule": ("decorated_ping", {}),
}
EVENTS: Final[dict[str, tuple[str, bool, bool, str | None]]] = {
    "success": ("echo", True, False, None),
    "failure": ("find_book", False, False, "NOT_FOUND"),
    "crash": ("crash", False, False, "INTERNAL_ERROR"),
    "device": ("reads_device", False, False, "DEVICE_ERROR"),
    "question": ("get_pattern_plainly", True, True, None),
    "wrong arguments": ("echo", False, False, "VALIDATION_ERROR"),
    "unknown tool": ("(unknown)", False, False, "UNKNOWN_TOOL"),
    "rule": ("decorated_ping", False, False, "RATE_LIMITED"),
}
LOGGED: Final = {
    "failure": {
        "level": "WARNING",
        "tool_name": "find_book",
        "error_code": -32003,
        "mcp_error_code": "NOT_FOUND",
        "details": "There is no book 1.",
        "context": {"shelf": 3},
    },
    "crash": {
        "level": "ERROR",
        "tool_name": "crash",
        "error_code": -32000,
        "mcp_error_code": "INTERNAL_ERROR",
        "details": f"RuntimeError: {PRIVATE} at postgres://app:[redacted]@db.internal:5432/prod",
        "context": {"error_type": "RuntimeError"},
    },
    "device": {
        "level": "WARNING",
        "tool_name": "reads_device",
        "error_code": -32012,
        "mcp_error_code": "DEVICE_ERROR",
        "details": "The device d_1 said: login admin password=[redacted] refused",
        "context": {"password": "[redacted]", "line": 7},
    },
    "wrong arguments": {
        "level": "WARNING",
        "tool_name": "echo",
        "error_code": -32005,
        "mcp_error_code": "VALIDATION_ERROR",
        "details": "text",
        "context": {},
    },
    "unknown tool": {
        "level": "WARNING",
        "tool_name": "nowhere",
        "error_code": -32601,
        "mcp_error_code": "UNKNOWN_TOOL",
        "details": "There is no tool 'nowhere'.",
        "context": {},
    },
    "rule": {
        "level": "WARNING",
        "tool_name": "decorated_ping",
        "error_code": -32006,
        "mcp_error_code": "RATE_LIMITED",
        "details": "Too many calls: at most 2 in 30 seconds.",
        "context": {"limit": "2 calls in 30 seconds", "current_count": 3},
    },
}


@pytest.mark.checklist(277, 280)
@pytest.mark.parametrize("server", SERVERS)
def test_each_call_is_an_event_and_each_failure_a_record(nursery: Nursery, server: str, tmp_path: Path) -> None:
    """Written by a server whose first hook raises, and whose last log handler does."""
    notes = tmp_path / "notes"
    with (
        listening(nursery, server, setting="watched", notes=notes) as connect,
        listening(nursery, server, setting="none") as plain,
    ):
        one = connect(ERAS[0])
        for number in range(2):
            one.call("decorated_ping", id=f"allowed {number}")
        lines = notes.read_text().splitlines()
        for era in ERAS:
            client, quiet = connect(era), plain(era)
            told = {case: client.call(*call, id=f"{case} {era}") for case, call in CALLS.items()}
            if era == ERAS[0]:
                for case in (name for name in CALLS if name != "rule"):
                    unwatched = quiet.call(*CALLS[case], id=f"{case} {era}")
                    assert settled(told[case].raw) == settled(unwatched.raw)
            new = [json.loads(line) for line in notes.read_text().splitlines()[len(lines) :]]
            lines += new
            events = {each["request_id"].removesuffix(f" {era}"): each for each in new if "tool" in each}
            records = {each["request_id"].removesuffix(f" {era}"): each for each in new if "record" in each}
            assert [each for each in new if "tool" in each] == [*events.values()]
            assert [*events] == [*CALLS]
            assert [*records] == [*LOGGED]
            for case, answer in told.items():
                about = answer.value["result"].get("_meta", {}).get(META_KEY, {})
                mark = about.get("correlation_id")
                tool, ok, asked, code = EVENTS[case]
                assert events[case] == {
                    "tool": tool,
                    "ok": ok,
                    "asked": asked,
                    "code": code,
                    "message": None if code is None else about["message"],
                    "request_id": f"{case} {era}",
                    "correlation_id": mark,
                    "client": "matrix/1",
                    "era": era,
                    "format": "text",
                }
                assert (mark is None) is (case in ("success", "question"))
                if case in LOGGED:
                    assert mark is not None
                    assert ID.fullmatch(mark)
                    said = {name: records[case].pop(name) for name in ("record", "line", "way")}
                    expected = {**LOGGED[case], "request_id": f"{case} {era}", "correlation_id": mark}
                    assert records[case] == expected
                    assert said["record"] == "tool_error"
                    assert said["line"].startswith("tool_error ")
                    assert said["line"].endswith(f" ({mark})") is (case == "crash")
                    assert ("features.py" in (said["way"] or "")) is (case == "crash")
    everything = notes.read_text() + "".join(answer.raw for answer in told.values())
    assert SECRET not in everything
    assert PRIVATE in notes.read_text()
    # FastMCP alone shows a model what was raised.
    shown = [case for case, answer in told.items() if "Ann Lee" in answer.raw or "Elm" in answer.raw]
    assert shown == (["crash"] if server == "fastmcp" else [])


COUNTED: Final = re.compile(r"^failwell_tool_(\w+?)_total\{(.*)\} (\S+)$", re.MULTILINE)


def scraped(port: int) -> dict[tuple[str, ...], float]:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        text = response.read().decode()
    return {(name, *re.findall(r'"([^"]*)"', labels)): float(count) for name, labels, count in COUNTED.findall(text)}


@pytest.mark.checklist(279)
@pytest.mark.parametrize("server", SERVERS)
def test_prometheus_sees_what_happened(nursery: Nursery, server: str) -> None:
    """Fifty calls by eight threads, in both eras: none is lost, none is counted twice."""
    turns = [list(CALLS.items())[number % 6] for number in range(50)]
    with listening(nursery, server, setting="none") as connect:
        clients = [connect(ERAS[number % 2]) for number in range(8)]
        port = int(clients[0].call("metrics_port").value["result"]["content"][0]["text"])

        def work(number: int) -> None:
            for _, call in turns[number::8]:
                clients[number].call(*call)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))
        for number in range(3):
            clients[0].call(f"no such tool {number}")
        counted = scraped(port)
    cases = Counter(case for case, _ in turns)
    assert counted == {
        ("calls", "metrics_port"): 1,
        ("questions", "metrics_port"): 0,
        ("calls", "echo"): cases["success"] + cases["wrong arguments"],
        ("questions", "echo"): 0,
        ("failures", "VALIDATION_ERROR", "validation", "echo"): cases["wrong arguments"],
        ("calls", "find_book"): cases["failure"],
        ("questions", "find_book"): 0,
        ("failures", "NOT_FOUND", "not_found", "find_book"): cases["failure"],
        ("calls", "crash"): cases["crash"],
        ("questions", "crash"): 0,
        ("failures", "INTERNAL_ERROR", "internal", "crash"): cases["crash"],
        ("calls", "reads_device"): cases["device"],
        ("questions", "reads_device"): 0,
        ("failures", "DEVICE_ERROR", "internal", "reads_device"): cases["device"],
        ("calls", "get_pattern_plainly"): cases["question"],
        ("questions", "get_pattern_plainly"): cases["question"],
        ("calls", "(unknown)"): 3,
        ("questions", "(unknown)"): 0,
        ("failures", "UNKNOWN_TOOL", "not_found", "(unknown)"): 3,
    }


SPANS: Final = {
    "find_book": ("OK", "NOT_FOUND", "not_found"),
    "crash": ("ERROR", "INTERNAL_ERROR", "internal"),
    "reads_device": ("ERROR", "DEVICE_ERROR", "internal"),
    "decorated_reboot": ("OK", "FORBIDDEN", "permission"),
}


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(mcp.shared._otel, "_tracer", provider.get_tracer("mcp"))
    monkeypatch.setattr(fastmcp.telemetry, "otel_get_tracer", provider.get_tracer)
    return exporter


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    made = InMemoryMetricReader()
    provider = MeterProvider([made])
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)
    telemetry._failures.cache_clear()
    yield made
    provider.shutdown()
    telemetry._failures.cache_clear()


@pytest.mark.checklist(279)
@pytest.mark.parametrize("framework", SERVERS)
def test_spans_and_metrics_of_a_real_call(
    framework: str, spans: InMemorySpanExporter, reader: InMemoryMetricReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.TOOLS", {fn.__name__: Tool(fn) for fn in FEATURES})
    server = failwell.server.install(MAKERS[framework]())
    marks: dict[str, str] = {}

    async def main() -> None:
        async with mcp.Client(server._mcp_server if framework == "fastmcp" else server) as client:
            await client.call_tool("echo", {"text": "hi"})
            await client.call_tool("get_pattern_plainly", {"id": "rety"})
            for tool in SPANS:
                result = await client.call_tool(tool, {"device_id": "dev-lab-01"} if tool == "decorated_reboot" else {})
                marks[tool] = (result.meta or {})[META_KEY]["correlation_id"]

    anyio.run(main)
    told = [json.loads(span.to_json()) for span in spans.get_finished_spans()]
    marked = {
        span["attributes"]["gen_ai.tool.name"]: (
            span["status"]["status_code"],
            span["attributes"]["failwell.error.code"],
            span["attributes"]["failwell.error.kind"],
        )
        for span in told
        if "failwell.error.code" in span["attributes"]
    }
    assert marked == SPANS
    assert {
        span["attributes"]["gen_ai.tool.name"]: span["attributes"]["failwell.correlation_id"]
        for span in told
        if "failwell.correlation_id" in span["attributes"]
    } == marks
    [question] = [span for span in told if span["attributes"].get("failwell.asked")]
    assert question["status"]["status_code"] == "OK"
    # FastMCP writes what it is told about a failure into its span: what may leave, and no more.
    assert SECRET not in repr(told)
    # What it shows of an exception to the model is no secret.
    assert framework == "fastmcp" or not [word for word in ("Ann Lee", "Elm Street") if word in repr(told)]
    data = reader.get_metrics_data()
    assert data is not None
    points = {
        metric.name: list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert {
        (point.attributes["gen_ai.tool.name"], point.attributes["failwell.error.code"]): point.value
        for point in points["failwell.tool.failures"]
    } == {(tool, code): 1 for tool, (_, code, _) in SPANS.items()}
