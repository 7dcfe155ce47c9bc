"""What is no request is answered with the contract's numbers, on both transports, in both eras, by all three servers."""

from __future__ import annotations

import asyncio
import json
from http.client import HTTPConnection
from typing import Any, Final

import pytest
from wire import ERAS, LEGACY, MODERN, PATIENCE, SERVERS, Client, Http, Nursery, Stdio, Wanted, connected

from failwell.server import Options
from failwell.server.adapters.wrong_messages import CheckedPosts
from failwell.server.boundary import Boundary

Json = dict[str, Any]

PARSE: Final = (-32700, "Parse error", "PARSE_ERROR")
REQUEST: Final = (-32600, "Invalid Request", "INVALID_REQUEST")
METHOD: Final = (-32601, "Method not found", "METHOD_NOT_FOUND")
PARAMS: Final = (-32602, "Invalid params", "INVALID_PARAMS")
VERSION: Final = 'The field "jsonrpc" must be exactly "2.0".'
NO_METHOD: Final = 'The field "method" must be a text.'
NO_ID: Final = 'The field "id" must be a text, a number or null.'
WHOLE_ID: Final = 'The field "id" must be a text or a whole number.'


def answer(id: Any, of: tuple[int, str, str], details: str, **more: Any) -> Json:
    number, message, code = of
    data = {"mcp_error_code": code, "details": details, **more}
    return {"jsonrpc": "2.0", "id": id, "error": {"code": number, "message": message, "data": data}}


WRONG: Final[dict[str, Json]] = {
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/li': answer(None, PARSE, "The message is not JSON."),
    "hello": answer(None, PARSE, "The message is not JSON."),
    "5": answer(None, REQUEST, "A request must be a JSON object."),
    "[]": answer(None, REQUEST, "A request must be a JSON object; send one message at a time."),
    '[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]': answer(
        None, REQUEST, "A request must be a JSON object; send one message at a time."
    ),
    '{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}': answer(1, REQUEST, VERSION),
    '{"jsonrpc": 2.0, "id": "a", "method": "tools/list"}': answer("a", REQUEST, VERSION),
    '{"id": 2, "method": "tools/list"}': answer(2, REQUEST, VERSION),
    '{"jsonrpc": "1.0", "id": 3, "method": "tools/list", "result": {}, "error": {}}': answer(3, REQUEST, VERSION),
    '{"jsonrpc": "2.0", "id": 4}': answer(4, REQUEST, NO_METHOD),
    '{"jsonrpc": "2.0", "id": "b", "method": 5}': answer("b", REQUEST, NO_METHOD),
    '{"jsonrpc": "2.0"}': answer(None, REQUEST, NO_METHOD),
    '{"jsonrpc": "2.0", "id": null, "method": "tools/list"}': answer(None, REQUEST, WHOLE_ID),
    '{"jsonrpc": "2.0", "id": true, "method": "tools/list"}': answer(None, REQUEST, NO_ID),
    '{"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"}': answer(1.5, REQUEST, WHOLE_ID),
    '{"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/list"}': answer(None, REQUEST, NO_ID),
    '{"jsonrpc": "2.0", "id": [1], "method": "acme/own"}': answer(None, REQUEST, NO_ID),
    '{"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": [1]}': answer(
        5, PARAMS, 'The field "params" must be an object.'
    ),
    '{"jsonrpc": "2.0", "id": 6, "method": "tools/list", "params": "all"}': answer(
        6, REQUEST, 'The field "params" must be an object or a list.'
    ),
}
# By the letter of JSON-RPC nobody is owed an answer: no id and a method, or an answer to nothing.
UNANSWERED: Final = {
    '{"jsonrpc": "2.0", "method": "tools/list"}': "A message without an id is a notification, and is not answered.",
    '{"jsonrpc": "1.0", "method": "tools/list"}': VERSION,
    '{"jsonrpc": "2.0", "id": 7, "error": {"message": "no number"}}': None,
}
# Nothing is wrong with these, and nobody says a word.
FINE: Final = (
    '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}}',
    '{"jsonrpc": "2.0", "method": "acme/own", "params": {}}',
    '{"jsonrpc": "2.0", "id": 8, "result": {}}',
)
# What the methods themselves refuse.
REFUSED: Final[dict[str, tuple[str, Json, tuple[int, str, str], str, Json]]] = {
    "no method": ("tools/cull", {}, METHOD, "The method 'tools/cull' does not exist.", {"method": "tools/cull"}),
    "no name": ("tools/call", {}, PARAMS, 'The parameter "name" must be a text.', {}),
    "a list": (
        "tools/call",
        {"name": "release", "arguments": []},
        PARAMS,
        'The parameter "arguments" must be an object.',
        {},
    ),
    "no uri": (
        "resources/read",
        {},
        PARAMS,
        "Invalid parameters: uri.",
        {"errors": [{"field": "uri", "message": "Required"}]},
    ),
}
AGAIN: Final = "Another request with this id has not been answered yet; use a new id."


def posted(client: Http, text: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", client.process.port, timeout=PATIENCE)
    connection.request("POST", "/mcp", text.encode(), client._headers({"method": "tools/list", "params": {}}))
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


class Talk:
    """What a client is answered to a message that need not be one."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked = 0

    def __call__(self, text: str) -> Json | None:
        client = self._client
        if isinstance(client, Http):
            status, body = posted(client, text)
            assert status == (400 if body else 202), (text, body)
            return json.loads(body) if body else None  # type: ignore[no-any-return]
        assert isinstance(client, Stdio)
        self._asked += 1
        client.passed.clear()
        client.send(text)
        # What is answered to the next message comes after what is answered to this one.
        assert "result" in client.ask("tools/list", {}, id=f"next {self._asked}").value
        assert len(client.passed) <= 1, client.passed
        return client.passed[0] if client.passed else None


def lines_of(client: Client) -> list[str]:
    """The lines of the log, whatever stands before and after them, and wherever they were wrapped."""
    words = " ".join(client.process.errors.read_text().split())
    return words.split("tool_error ")[1:]


@pytest.mark.checklist(219, 222, 223, 224, 225, 226, 227, 281, 282, 283, 284)
@pytest.mark.parametrize("server", SERVERS)
def test_what_is_no_request_is_answered(nursery: Nursery, server: str) -> None:
    wanted = [Wanted(server, transport, era, setting="none") for transport in ("stdio", "http") for era in ERAS]
    with connected(nursery, *wanted) as clients:
        for client in clients:
            over_http, said = isinstance(client, Http), Talk(client)
            for text, expected in WRONG.items():
                assert said(text) == expected, text
            lines = lines_of(client)
            data = [expected["error"]["data"] for expected in WRONG.values()]
            told = [f"{each['mcp_error_code']}: {each['details']}" for each in data]
            # After a line there may be the beginning of the next, in the words of whoever prints it.
            assert [line.partition(": ")[2][: len(each)] for line, each in zip(lines, told, strict=True)] == told
            for text in UNANSWERED:
                found = said(text)
                # A post has to be answered somehow; nobody's id is in it.
                assert found is None or (over_http and found["id"] is None), text
            assert len(lines_of(client)) == len(lines) + len(UNANSWERED)
            for text in FINE[: 2 if client.era == MODERN else 3]:
                assert said(text) is None, text
            assert len(lines_of(client)) == len(lines) + len(UNANSWERED)
            for id, (method, params, of, details, more) in REFUSED.items():
                assert client.ask(method, params, id=id).value == {
                    name: value for name, value in answer(id, of, details, **more).items() if name != "id"
                }
            assert len(lines_of(client)) == len(lines) + len(UNANSWERED) + len(REFUSED)
            if isinstance(client, Http) and client.era != MODERN:
                # What clients know a lost session by: they begin another one.
                client._session = "forgotten"
                status, body = posted(client, '{"jsonrpc": "2.0", "id": 9, "method": "tools/list"}')
                assert (status, json.loads(body)["error"]) == (404, {"code": -32600, "message": "Session not found"})


@pytest.mark.checklist(219, 223, 225)
@pytest.mark.parametrize("server", SERVERS)
def test_an_id_is_used_once_at_a_time(server: str, nursery: Nursery) -> None:
    wanted = [Wanted(server, "stdio", era, setting="none") for era in ERAS]
    with connected(nursery, *wanted, Wanted(server, "http", LEGACY, setting="none")) as (*streams, http):
        for client in streams:
            assert isinstance(client, Stdio)
            client.send(json.dumps(client.request("tools/call", {"name": "decorated_work", "arguments": {}}, "twice")))
            second = client.exchange(json.dumps(client.request("tools/list", {}, "twice")), "twice")
            assert second.value == {"jsonrpc": "2.0", "error": answer("", REQUEST, AGAIN)["error"]}
            # The first one is answered all the same, and then the id is free.
            assert "result" in client.exchange(_released(client), "twice").value
            assert "result" in client.ask("tools/list", {}, id="twice").value
        assert isinstance(http, Http)
        first = HTTPConnection("127.0.0.1", http.process.port, timeout=PATIENCE)
        first.request("POST", "/mcp", json.dumps(_call("decorated_work", 1)), http._headers({}))
        # The stream begins when the request has been read.
        response = first.getresponse()
        status, body = posted(http, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
        assert (status, json.loads(body)) == (400, answer(1, REQUEST, AGAIN))
        posted(http, json.dumps(_call("release", 2)))
        assert b"worked" in response.read()
        first.close()


def _call(tool: str, id: int) -> Json:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}}


def _released(client: Client) -> str:
    return json.dumps(client.request("tools/call", {"name": "release", "arguments": {}}, "release"))


async def transport_of_1x(scope: Any, receive: Any, send: Any) -> None:
    """Reads a body as the transport of version 1 does, which takes bytes that are no text for a mistake of its own."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    try:
        json.loads(body)
        status = 202
    except json.JSONDecodeError:
        status = 400
    except ValueError:
        status = 500
    said = json.dumps({"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32603, "message": "codec"}}).encode()
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": said})


@pytest.mark.parametrize("parts", [[b"\xff\xfe"], [b"\xff\xfe", b"x"], [b"\x80"], [b'{"a": "', b"\xc3", b'"}']])
def test_bytes_that_are_no_text_are_the_callers_mistake(parts: list[bytes]) -> None:
    sent: list[Any] = []
    left = [{"type": "http.request", "body": part, "more_body": part is not parts[-1]} for part in parts]

    async def receive() -> Any:
        return left.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    app = CheckedPosts(transport_of_1x, Boundary(Options()))
    asyncio.run(app({"type": "http", "method": "POST", "headers": []}, receive, send))
    start, body = sent
    assert (start["status"], json.loads(body["body"])) == (400, answer(None, PARSE, "The message is not JSON."))
