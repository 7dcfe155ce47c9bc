"""A scripted server's life: counting, dying and coming back, and what is on the wire byte by byte."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

import failwell as fw
from failwell.formats import FORMATS
from failwell.testing import Fault, Script, ScriptedServer, Tool, scripted

PAY = Tool("pay", effect=True, key="id")
COMMAND = [sys.executable, "-m", "failwell.testing.scripted"]
LEGACY = "2025-11-25"
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(id: str, number: int = 1) -> dict[str, Any]:
    """A call as the newer era sends it: nothing has to come before it."""
    params = {"name": "pay", "arguments": {"id": id}, "_meta": MODERN_META}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def asked(process: subprocess.Popen[str], *frames: dict[str, Any], lines: int = 1) -> list[str]:
    """The lines that come back; the client leaves when it has them, and the server with it."""
    assert process.stdin
    assert process.stdout
    process.stdin.write("".join(f"{json.dumps(frame)}\n" for frame in frames))
    process.stdin.flush()
    came = [line for line in (process.stdout.readline() for _ in range(lines)) if line]
    process.stdin.close()
    came += process.stdout.readlines()
    process.wait()
    return [line.rstrip("\n") for line in came]


def posted(url: str, frame: dict[str, Any]) -> tuple[http.client.HTTPResponse, bytes]:
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "pay",
    }
    with contextlib.closing(connection):
        connection.request("POST", f"/{path}", json.dumps(frame), headers)
        response = connection.getresponse()
        return response, response.read()


def is_refused(server: ScriptedServer) -> bool:
    port = int(server.url.rpartition(":")[2].partition("/")[0])
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass
    return False


def wait_until(true: Any) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


# What is on the wire.


def test_over_stdio_the_lines_are_what_the_script_says() -> None:
    plan = {"twice": [Fault.twice()], "noise": [Fault.noise("Connecting ...")], "half": [Fault.cut(midway=True)]}
    with scripted(Script(Tool("pay", key="id", plan=plan))) as server:
        with started(server.command) as process:
            twice, again = asked(process, call("twice"), lines=2)
        with started(server.command) as process:
            noise, answer = asked(process, call("noise"), lines=2)
        assert json.loads(twice)["id"] == json.loads(again)["id"] == 1
        assert noise == "Connecting ..."
        assert json.loads(answer)["result"]["structuredContent"] == {"ok": True, "attempt": 1}
        assert "order" not in answer
        with started(server.command) as process:
            (half,) = asked(process, call("half"))
            assert process.returncode == 0
        assert half.startswith('{"jsonrpc"')
        with pytest.raises(json.JSONDecodeError):
            json.loads(half)


def test_a_crash_over_stdio_ends_the_process_with_its_code() -> None:
    script = Script(Tool("pay", key="id", faults=[Fault.crash(code=3)]))
    with scripted(script) as server, started(server.command) as process:
        assert asked(process, call("a")) == []
        assert process.returncode == 3


def test_over_http_status_headers_and_body_are_what_the_script_says() -> None:
    faults = [
        Fault.http(503, {"Retry-After": "7", "Content-Type": "application/problem+json"}, '{"title": "Down"}'),
        Fault.http(502),
        Fault.twice(),
        Fault.garbage("<html>"),
    ]
    with scripted(Script(Tool("pay", faults=faults)), "http") as server:
        response, body = posted(server.url, call("a"))
        assert (response.status, response.headers["Retry-After"]) == (503, "7")
        assert (response.headers["Content-Type"], body) == ("application/problem+json", b'{"title": "Down"}')
        response, body = posted(server.url, call("a"))
        assert (response.status, body) == (502, b"Bad Gateway")
        response, body = posted(server.url, call("a"))
        assert response.headers["Content-Type"] == "text/event-stream"
        assert [json.loads(line[6:])["id"] for line in body.decode().splitlines() if line.startswith("data: ")] == [
            1,
            1,
        ]
        assert posted(server.url, call("a"))[1] == b"<html>"


# What is counted.


def test_faults_are_met_in_order_by_calls_of_the_same_key() -> None:
    faults = [Fault.text("one"), Fault.text("two")]
    script = Script(
        Tool("pay", effect=True, key="id", faults=faults, plan={"b": []}), Tool("check", key="id", reads="pay")
    )

    async def play() -> list[str]:
        async with scripted(script) as server, server.mcp() as client:
            said = [
                await client.call_tool(tool, {"id": id})
                for tool, id in [
                    ("pay", "a"),
                    ("pay", "b"),
                    ("pay", "c"),
                    ("pay", "a"),
                    ("check", "a"),
                    ("pay", "a"),
                    ("check", "a"),
                ]
            ]
            assert [(each.call.key, each.attempt) for each in server.effects] == [("b", 1), ("a", 3)]
        return [each.content[0].text for each in said]  # type: ignore[union-attr]

    assert anyio.run(play) == [
        "one",
        '{"ok": true, "attempt": 1}',
        "one",
        "two",
        '{"ok": true, "attempt": 1, "done": false, "times": 0}',
        '{"ok": true, "attempt": 3}',
        '{"ok": true, "attempt": 2, "done": true, "times": 1}',
    ]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_no_attempt_is_counted_twice_however_many_call_at_once(transport: Any) -> None:
    async def play() -> None:
        async with scripted(Script(Tool("pay", effect=True)), transport) as server:

            async def agent() -> None:
                async with server.mcp() as client, anyio.create_task_group() as tasks:
                    for _ in range(20):
                        tasks.start_soon(client.call_tool, "pay", {})

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(agent)
            assert [each.attempt for each in server.calls] == list(range(1, 61))
            assert sorted(each.attempt for each in server.effects) == list(range(1, 61))

    anyio.run(play)


def test_tools_are_listed_with_what_the_script_says_about_them() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    out = {"type": "object", "properties": {"paid": {"type": "boolean"}}}
    script = Script(
        Tool("pay", idempotent=True, destructive=False, description="Pay it.", input_schema=schema),
        Tool("look", read_only=True, output_schema=out, answer={"paid": True}),
        Tool("plain"),
    )

    async def play() -> None:
        async with scripted(script) as server, server.mcp() as client:
            pay, look, plain = (await client.list_tools()).tools
            assert (pay.description, pay.input_schema) == ("Pay it.", schema)
            assert pay.annotations is not None
            assert (pay.annotations.idempotent_hint, pay.annotations.destructive_hint) == (True, False)
            assert pay.annotations.read_only_hint is None
            assert look.annotations is not None
            assert (look.annotations.read_only_hint, look.output_schema) == (True, out)
            assert (plain.annotations, plain.input_schema) == (None, {"type": "object"})
            assert (await client.call_tool("look", {})).structured_content == {"paid": True}
            with pytest.raises(MCPError, match="Unknown tool: nothing"):
                await client.call_tool("nothing", {})

    anyio.run(play)


def test_an_error_leaves_in_the_format_that_was_asked_for() -> None:
    error = fw.NotFound(
        "No invoice inv_1.", code="NOT_FOUND", suggestion="Call list_invoices.", actions=["list_invoices"]
    )
    faults = [Fault.error(error, format=name, meta=False) for name in FORMATS]
    faults += [Fault.error(error, format="jsonrpc", protocol=True)]

    async def play() -> None:
        async with scripted(Script(Tool("pay", faults=faults))) as server, server.mcp() as client:
            for name in FORMATS:
                result = await client.call_tool("pay", {})
                expected = fw.to_result(error, name, era="2026-07-28", meta=False)
                assert [block.text for block in result.content] == [block["text"] for block in expected["content"]]  # type: ignore[union-attr,index,call-overload]
            with pytest.raises(MCPError) as raised:
                await client.call_tool("pay", {})
            assert raised.value.data["mcp_error_code"] == "NOT_FOUND"

    anyio.run(play)


# Dying and coming back.


def test_over_http_a_server_that_dies_is_back_on_the_same_port_and_goes_on_where_it_was() -> None:
    faults = [Fault.crash(at="after"), Fault.text("second"), Fault.crash()]
    with scripted(Script(Tool("pay", effect=True, faults=faults)), "http") as server:
        url = server.url
        for expected in (b"", b"second", b"", b'"attempt":4'):
            try:
                _, body = posted(url, call("a"))
            except (http.client.RemoteDisconnected, ConnectionResetError):
                body = b""
            assert expected in body
            assert bool(expected) == bool(body)
        assert server.url == url
        assert [each.attempt for each in server.effects] == [1, 4]


def test_a_server_that_is_to_stay_away_refuses_connections_until_it_is_back() -> None:
    with scripted(Script(Tool("pay", faults=[Fault.crash()])), "http", restart_after=3600) as server:
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            posted(server.url, call("a"))
        wait_until(lambda: is_refused(server))
        server.restart()
        assert b'"attempt":2' in posted(server.url, call("a"))[1]
    with scripted(Script(Tool("pay", faults=[Fault.crash()])), "http", restart_after=0.01) as server:
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            posted(server.url, call("a"))
        wait_until(lambda: any(each.attempt > 1 for each in server.calls) or answers(server))


def answers(server: ScriptedServer) -> bool:
    try:
        return posted(server.url, call("a"))[0].status == 200
    except (http.client.RemoteDisconnected, ConnectionError):
        return False


def test_a_server_that_was_killed_stays_away_until_it_is_started() -> None:
    with scripted(Script(PAY), "http") as server:
        posted(server.url, call("a"))
        server.kill()
        assert is_refused(server)
        server.start()
        assert b'"attempt":2' in posted(server.url, call("a"))[1]
        with pytest.raises(RuntimeError, match="is running"):
            server.start()
    with scripted(Script(PAY)) as server:
        with started(server.command) as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(call("a")) + "\n")
            process.stdin.flush()
            assert '"attempt":1' in process.stdout.readline()
            server.kill()
            assert process.stdout.readline() == ""
            assert process.wait(60) == 1
        refused = subprocess.run(server.command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert (refused.returncode, refused.stderr) == (1, "The scripted server has been stopped.\n")
        server.restart()
        with started(server.command) as process:
            assert '"attempt":2' in asked(process, call("a"))[0]


def test_a_client_that_is_killed_takes_its_server_with_it() -> None:
    with scripted(Script(Tool("pay", faults=[Fault.hang()]))) as server, started(server.command) as process:
        assert process.stdin
        process.stdin.write(json.dumps(call("a")) + "\n")
        process.stdin.flush()
        wait_until(lambda: server.calls)
        os.kill(process.pid, signal.SIGKILL)
        assert process.stdout
        # Only the server could still hold it.
        assert process.stdout.readline() == ""


def test_nothing_runs_on_when_the_owner_dies(tmp_path: Path) -> None:
    program = """if True:
        import os
        from failwell.testing import Script, Tool, scripted
        server = scripted(Script(Tool("pay")), "http").__enter__()
        print(server.url, flush=True)
        os._exit(0)
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    server = scripted(Script(PAY), "http")
    server._port = int(done.stdout.rpartition(":")[2].partition("/")[0])
    wait_until(lambda: is_refused(server))


def test_what_happened_is_kept_in_a_directory_and_can_be_read_afterwards(tmp_path: Path) -> None:
    for attempt in (1, 2):
        with scripted(Script(PAY), directory=tmp_path) as server, started(server.command) as process:
            asked(process, call("a"))
        assert [(each.attempt, each.arguments) for each in server.effects] == [
            (number, {"id": "a"}) for number in range(1, attempt + 1)
        ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "script.json", "stderr.txt"]
    with scripted(Script(Tool("other")), directory=tmp_path) as server:
        assert [each.tool for each in server.calls] == ["pay", "pay"]


# From other languages.


def test_a_script_written_by_hand_runs_on_stdio(tmp_path: Path) -> None:
    faults = [
        {"fault": "crash", "code": 9, "at": "after"},
        {"fault": "http", "status": 503},
        {"fault": "error", "format": "v1", "error": {"failwell": 1, "message": "Busy.", "code": "UNAVAILABLE"}},
    ]
    tool = {"name": "pay", "effect": True, "faults": faults}
    (tmp_path / "script.json").write_text(json.dumps({"tools": [tool]}))
    for code, text in ((9, ""), (0, "503"), (0, "Busy."), (0, "attempt")):
        with started([*COMMAND, str(tmp_path)]) as process:
            assert text in "".join(asked(process, call("a")))
            assert process.returncode == code
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["call", "effect", "call", "call", "call", "effect"]


def test_a_script_written_by_hand_runs_on_http(tmp_path: Path) -> None:
    faults = [{"fault": "http", "status": 503}, {"fault": "crash", "code": 1}]
    (tmp_path / "script.json").write_text(json.dumps({"tools": [{"name": "pay", "faults": faults}]}))
    with started([*COMMAND, str(tmp_path), "--http", "0"]) as process:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        assert posted(url, call("a"))[0].status == 503
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            posted(url, call("a"))
        assert b'"attempt":3' in posted(url, call("a"))[1]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (None, "No such file"),
        ("[]", "must be an object with a list of tools"),
        ("{", "Expecting"),
        ('{"tools": [{}]}', "A tool has a name"),
        ('{"tools": [{"name": "a", "efect": true}]}', "not ['efect']"),
        ('{"tools": [{"name": "a", "faults": [{"fault": "explode"}]}]}', "There is no fault 'explode'"),
        ('{"tools": [{"name": "a", "faults": [{"fault": "http"}]}]}', "must say: status"),
        ('{"tools": [{"name": "a", "faults": [{"fault": "error", "error": {}, "format": "v1"}]}]}', "canonical form"),
        ('{"tools": [{"name": "a", "faults": [7]}]}', "'int' object"),
    ],
)
def test_a_script_that_is_wrong_is_refused_in_one_line(tmp_path: Path, script: str | None, problem: str) -> None:
    if script is not None:
        (tmp_path / "script.json").write_text(script)
    done = subprocess.run([*COMMAND, str(tmp_path)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


# What cannot be.


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Fault.crash(at="sometimes"), "not 'sometimes'"),  # type: ignore[arg-type]
        (lambda: Fault.malformed("odd"), "There is no malformed answer 'odd'"),
        (lambda: Fault.error(fw.Internal("x"), format="yaml"), "There is no format 'yaml'"),
        (lambda: Tool("pay", plan={"a": []}), "which argument is the key"),
        (lambda: Tool("pay", output_schema={}), "must say what it answers"),
        (lambda: Script(Tool("a"), Tool("a")), "the same name"),
        (lambda: Script(Tool("a", reads="b")), "which the script does not have"),
        (lambda: scripted(Script(), "tcp"), "'stdio' or 'http'"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_said_when_it_is_written(make: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        make()


def test_a_server_has_a_url_or_a_command() -> None:
    with pytest.raises(RuntimeError, match="has a command"):
        _ = scripted(Script()).url
    with pytest.raises(RuntimeError, match="has a URL"):
        _ = scripted(Script(), "http").command


def test_a_script_is_the_same_after_it_was_saved(tmp_path: Path) -> None:
    script = Script(
        Tool("pay", key="id", faults=[Fault.http(503, {"Retry-After": "1"}), Fault.twice()], plan={"a": [Fault.cut()]}),
        Tool("ask", faults=[Fault.error(fw.NeedsInput("Which one?"), format="v1")], reads="pay"),
    )
    script.save(tmp_path)
    assert Script.load(tmp_path).tools == script.tools


# A sample through FastMCP's client.


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_fastmcps_client_meets_the_same_faults(transport: Any, mode: str) -> None:
    from fastmcp.exceptions import ToolError

    plan = {
        "error": [Fault.error(fw.NotFound("No such invoice."))],
        "protocol": [Fault.protocol(-31010, "Quota")],
        "crash": [Fault.crash(at="after")],
    }

    async def play() -> None:
        async with scripted(Script(Tool("pay", effect=True, key="id", plan=plan)), transport) as server:
            async with server.fastmcp(mode=mode) as client:
                with pytest.raises(ToolError, match="No such invoice"):
                    await client.call_tool("pay", {"id": "error"})
                with pytest.raises(MCPError, match="Quota"):
                    await client.call_tool("pay", {"id": "protocol"})
            with contextlib.suppress(Exception):
                async with server.fastmcp(mode=mode) as client:
                    with pytest.raises(MCPError, match="Connection closed"):
                        await client.call_tool("pay", {"id": "crash"})
            async with server.fastmcp(mode=mode) as client:
                assert (await client.call_tool("pay", {"id": "crash"})).data == {"ok": True, "attempt": 2}
            assert [each.attempt for each in server.effects] == [1, 2]

    anyio.run(play)
