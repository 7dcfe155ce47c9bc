"""Events as spans at a real receiver: what a relay sends over HTTP, in protobuf."""

from __future__ import annotations

import asyncio
import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from failwell.observe import BadStore, store

APP = str(Path(__file__).with_name("seen_app.py"))
SECRET = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e"


@contextmanager
def receiver() -> Iterator[tuple[str, list[Any]]]:
    """Where it listens, and the spans that it got."""
    spans: list[Any] = []

    class Sink(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert (self.path, self.headers["content-type"]) == ("/v1/traces", "application/x-protobuf")
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers["content-encoding"] == "gzip":
                body = gzip.decompress(body)
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"otlp://127.0.0.1:{server.server_port}", spans
    server.shutdown()
    thread.join()
    server.server_close()


def told(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_a_relay_sends_each_attempt_as_a_span(tmp_path: Path) -> None:
    calls = [("search", {"query": "busy"}), ("pay", {"invoice": "inv_1"}), (f"pay_{SECRET}", {})]

    async def call(url: str) -> None:
        command = ["-m", "failwell.cli", "wrap", "--events", url, "--", sys.executable, APP]
        parameters = StdioServerParameters(command=sys.executable, args=command, env={**os.environ})
        async with Client(stdio_client(parameters)) as client:
            for tool, arguments in calls:
                await client.call_tool(tool, arguments)

    with receiver() as (url, spans):
        asyncio.run(call(url))
    found = sorted(spans, key=lambda span: span.end_time_unix_nano)
    assert [(span.name, span.kind, span.status.code) for span in found] == [
        ("tools/call search", 1, 2),
        ("tools/call search", 1, 2),
        ("tools/call search", 1, 0),
        ("tools/call pay", 1, 2),
        ("tools/call pay_[redacted]", 1, 2),
    ]
    attributes = [told(span) for span in found]
    assert SECRET not in repr(attributes)
    always = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "failwell.seat": "relay"}
    assert [{name: each[name] for name in always} for each in attributes] == [always] * 5
    assert [each["failwell.attempt"] for each in attributes] == [1, 2, 3, 1, 1]
    assert len({each["mcp.session.id"] for each in attributes}) == 1
    assert len({each["failwell.call"] for each in attributes[:3]}) == 1
    varying = {
        name: attributes[3].get(name)
        for name in ("gen_ai.tool.name", "error.type", "failwell.effect", "failwell.decision", "failwell.prevented")
    }
    assert varying == {
        "gen_ai.tool.name": "pay",
        "error.type": "tool_error",
        "failwell.effect": "unknown",
        "failwell.decision": "ask",
        "failwell.prevented": True,
    }
    waits = [
        (each.get("failwell.delay.asked"), each.get("failwell.delay.waited", 0) >= 0.01) for each in attributes[:2]
    ]
    assert waits == [(0.01, True)] * 2
    assert all(isinstance(each["jsonrpc.request.id"], str) for each in attributes if "jsonrpc.request.id" in each)


def test_a_receiver_takes_no_password_in_its_address() -> None:
    with pytest.raises(BadStore, match="OTEL_EXPORTER_OTLP_HEADERS"):
        store("otlp://user:secret@127.0.0.1:9")


def test_whoever_sends_events_on_needs_no_database() -> None:
    program = "import sys; from failwell.observe import store; store('otlp:'); print('sqlalchemy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
