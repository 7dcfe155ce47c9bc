"""The queries of the Grafana dashboard, answered by a real Prometheus that asks a real server's metrics."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import prometheus_client
import pytest
from mcp import Client
from mcp.server import MCPServer

import failwell as fw
import failwell.server
from failwell.observe.prometheus import Collector

BOARD = Path(__file__).parents[2] / "docs" / "grafana" / "failwell.json"
PROMETHEUS = shutil.which("prometheus")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROMETHEUS is None or not os.environ.get("FAILWELL_BROWSER"), reason="make browser"),
]


SERIES = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'failwell_tool_calls_total{{tool="pay"}}', values: '0+10x30'}}
      - {{series: 'failwell_tool_failures_total{{tool="pay",kind="transient",code="TIMEOUT"}}', values: '0+5x30'}}
      - {{series: 'failwell_tool_failures_total{{tool="pay",kind="internal",code="CALL_IN_DOUBT"}}', values: '0 0 0+1x28'}}
      - {{series: 'failwell_tool_duration_seconds_bucket{{tool="pay",le="10.0"}}', values: '0+1x30'}}
      - {{series: 'failwell_tool_duration_seconds_bucket{{tool="pay",le="30.0"}}', values: '0+9x30'}}
      - {{series: 'failwell_tool_duration_seconds_bucket{{tool="pay",le="+Inf"}}', values: '0+10x30'}}
      - {{series: 'failwell_tool_calls_total{{tool="search"}}', values: '0+10x30'}}
      - {{series: 'failwell_tool_failures_total{{tool="search",kind="not_found",code="NOT_FOUND"}}', values: '0+9x30'}}
    promql_expr_test:
      - {{expr: 'count by (alertname, tool) (ALERTS{{alertstate="firing"}})', eval_time: 25m, exp_samples: [
          {{labels: '{{alertname="FailwellToolFails", tool="pay"}}', value: 1}},
          {{labels: '{{alertname="FailwellCallHeld", tool="pay"}}', value: 1}},
          {{labels: '{{alertname="FailwellToolSlow", tool="pay"}}', value: 1}}]}}
"""


def test_every_alert_fires_for_the_tool_that_it_is_about_and_no_other(tmp_path: Path) -> None:
    series = tmp_path / "series.yml"
    series.write_text(SERIES.format(rules=BOARD.with_name("failwell.rules.yml")))
    told = subprocess.run(["promtool", "test", "rules", str(series)], capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, ""), told.stdout


def shop() -> MCPServer:
    server = MCPServer("shop", log_level="CRITICAL")

    @server.tool()
    def search(query: str) -> str:
        if query == "busy":
            raise fw.Transient("The index is busy.", code="RATE_LIMITED")
        return "found"

    @server.tool()
    def pay(invoice: str) -> str:
        raise fw.NeedsInput("Which account?", fields=["account"])

    failwell.server.install(server)
    return server


async def called(server: MCPServer) -> None:
    async with Client(server) as client:
        for tool, arguments in (("search", {"query": "x"}), ("search", {"query": "busy"}), ("pay", {"invoice": "i"})):
            await client.call_tool(tool, arguments)


def test_every_query_has_an_answer(tmp_path: Path) -> None:
    server = shop()
    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(lambda: failwell.server.stats(server)))
    metrics, thread = prometheus_client.start_http_server(0, "127.0.0.1", registry)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        here = f"127.0.0.1:{free.getsockname()[1]}"
    target = f"127.0.0.1:{metrics.server_port}"
    scrape = [{"job_name": "shop", "scrape_interval": "200ms", "scrape_timeout": "200ms"}]
    scrape[0]["static_configs"] = [{"targets": [target]}]  # type: ignore[assignment]
    config = tmp_path / "prometheus.yml"
    config.write_text(json.dumps({"scrape_configs": scrape}))
    command = [str(PROMETHEUS), f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    process = subprocess.Popen(
        [*command, f"--web.listen-address={here}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    board = json.loads(BOARD.read_text("utf-8"))
    asked = {target["expr"] for panel in board["panels"] for target in panel["targets"]}
    left, wrong = set(asked), dict[str, Any]()
    try:
        end = time.monotonic() + 60
        while left and not wrong and time.monotonic() < end:
            asyncio.run(called(server))
            for query in sorted(left):
                try:
                    answer = httpx.get(f"http://{here}/api/v1/query", params={"query": query.replace("$tool", ".*")})
                except httpx.TransportError:
                    break
                found = answer.json() if answer.status_code in (200, 400) else {"status": "success", "data": {}}
                if found["status"] != "success":
                    wrong[query] = found
                elif any(float(each["value"][1]) > 0 for each in found["data"].get("result", ())):
                    left.discard(query)
        tools = httpx.get(f"http://{here}/api/v1/label/tool/values", params={"match[]": "failwell_tool_calls_total"})
    finally:
        process.kill()
        process.wait()
        metrics.shutdown()
        metrics.server_close()
        thread.join()
    assert (len(asked), left, wrong) == (8, set(), {})
    assert tools.json()["data"] == ["pay", "search"]
