"""What says that something failed, and is no call that is under way, passes as the server put it: without secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playbook import TOOLS, Table, frame, result

from failwell.idempotency import KeysInMemory
from failwell.model import ToolError
from failwell.redact import MASK

GIVEN = {"API_KEY": "Zq8mPx3vLw92TtRk"}
GITHUB = f"ghp_{'a1B2' * 9}"
WORDS = f"key Zq8mPx3vLw92TtRk and {GITHUB} rejected at /home/bob/app/x.py"
SAFE = f"key {MASK} and {MASK} rejected at /home/bob/app/x.py"
FAILED: dict[str, Any] = {"isError": True, "content": [{"type": "text", "text": WORDS}]}
ERROR: dict[str, Any] = {"code": -32603, "message": WORDS}
TASK: dict[str, Any] = {"taskId": "786512e2-9e0d", "status": "failed", "statusMessage": WORDS, "ttl": 60000}
CREATED = "2026-01-01T00:00:00Z"
FORMS: dict[str, dict[str, Any]] = {
    "a result": {"result": FAILED},
    "a task that was cancelled": {"result": {**TASK, "status": "CANCELLED"}},
    "a task with an error": {"result": {"taskId": "1", "status": "working", "error": {"message": WORDS}}},
    "a flag in words": {"result": {**FAILED, "isError": "true"}},
    "a number as a flag": {"result": {**FAILED, "isError": 1}},
    "no content": {"result": {"isError": True, "structuredContent": {"why": WORDS}}},
    "an error": {"error": ERROR},
    "an error beside a result": {"result": {}, "error": ERROR},
    "an error that is a text": {"error": WORDS},
    "an error that says nothing": {"error": {}, "why": WORDS},
}
TASKS: dict[str, dict[str, Any]] = {
    "tasks/result": {"result": FAILED},
    "tasks/get": {"result": TASK},
    "tasks/get with its error": {"result": {**TASK, "resultType": "complete", "error": ERROR}},
    "tasks/get with its result": {"result": {**TASK, "status": "completed", "statusMessage": "", "result": FAILED}},
    "tasks/list": {"result": {"tasks": [{"taskId": "1", "status": "working"}, TASK]}},
    "tasks/cancel": {"error": ERROR},
}


def check(table: Table) -> Any:
    """What the client was told: all that the server said, but for what must not leave."""
    (told,) = table.told()
    assert not [word for word in ("Zq8mPx", "ghp_") if word in json.dumps(told)]
    return told


def cancel(table: Table, id: int) -> None:
    table.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tool", ["pay_invoice", "get_invoice"])
def test_a_call_that_was_given_up_and_fails_all_the_same(form: str, tool: str) -> None:
    table = Table(env=GIVEN)
    table.call(1, tool, {"invoice_id": "i"})
    cancel(table, 1)
    sent = {"jsonrpc": "2.0", "id": 1, **FORMS[form]}
    table.server(sent)
    assert check(table) == json.loads(json.dumps(sent).replace(WORDS, SAFE))


def test_what_a_call_that_was_given_up_sent_as_a_secret_is_not_quoted() -> None:
    login = {"name": "login", "inputSchema": {"type": "object", "properties": {"password": {"type": "string"}}}}
    table = Table()
    table.client(table.request("again", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "again", "result": {"tools": [*TOOLS, login]}})
    table.told()
    table.call(1, "login", {"password": "zebra"})
    cancel(table, 1)
    table.server(result(1, "no zebra here", is_error=True))
    assert table.told() == [result(1, f"no {MASK} here", is_error=True)]


@pytest.mark.parametrize("form", FORMS)
def test_a_failure_under_no_id(form: str) -> None:
    table = Table(env=GIVEN)
    sent = {"jsonrpc": "2.0", "id": None, **FORMS[form]}
    table.server(sent)
    assert check(table) == json.loads(json.dumps(sent).replace(WORDS, SAFE))


@pytest.mark.parametrize("form", TASKS)
def test_a_task_that_failed(form: str) -> None:
    table = Table(env=GIVEN)
    table.client(table.request(1, form.split()[0], {"taskId": "786512e2-9e0d"}))
    sent = {"jsonrpc": "2.0", "id": 1, **TASKS[form]}
    table.server(sent)
    assert check(table) == json.loads(json.dumps(sent).replace(WORDS, SAFE))


@pytest.mark.parametrize("made", [{"task": TASK}, {**TASK, "resultType": "task"}])
def test_a_task_that_has_failed_when_it_is_made(made: dict[str, Any]) -> None:
    table = Table(env=GIVEN)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    sent = {"jsonrpc": "2.0", "id": 1, "result": made}
    table.server(sent)
    assert check(table) == json.loads(json.dumps(sent).replace(WORDS, SAFE))


@pytest.mark.parametrize("method", ["notifications/tasks/status", "notifications/tasks"])
def test_word_of_a_task_that_failed(method: str) -> None:
    table = Table(env=GIVEN)
    sent = {"jsonrpc": "2.0", "method": method, "params": {**TASK, "createdAt": CREATED}}
    table.server(sent)
    assert check(table) == json.loads(json.dumps(sent).replace(WORDS, SAFE))


def test_a_task_is_known_by_its_id_whatever_that_looks_like() -> None:
    table = Table()
    table.client(table.request(1, "tasks/get", {"taskId": GITHUB}))
    table.server({"jsonrpc": "2.0", "id": 1, "result": {**TASK, "taskId": GITHUB}})
    assert table.told()[0]["result"]["taskId"] == GITHUB


PLAIN: list[tuple[str, dict[str, Any]]] = [
    ("tasks/result", {"result": {"isError": True, "content": [{"type": "text", "text": "No such invoice."}]}}),
    ("tasks/result", {"result": {"isError": False, "content": [{"type": "text", "text": WORDS}]}}),
    ("tasks/get", {"result": {"taskId": "1", "status": "failed", "statusMessage": "No such invoice."}}),
    ("tasks/get", {"result": {"taskId": "1", "status": "working", "statusMessage": WORDS}}),
    ("tasks/list", {"result": {"tasks": [{"taskId": "1", "status": "completed", "statusMessage": WORDS}]}}),
    ("orders/get", {"result": {"status": "failed", "note": WORDS}}),
    ("resources/read", {"result": {"contents": [{"text": WORDS}]}, "error": None}),
    ("vendor/a", {"error": {"code": -32601, "message": "Method not found", "data": {"a": 1}}}),
    ("vendor/a", {"result": WORDS}),
]


@pytest.mark.parametrize(("method", "said"), PLAIN)
@pytest.mark.parametrize("pad", [0, 70_000])
def test_what_hides_nothing_or_has_not_failed_leaves_as_the_bytes_that_came(
    method: str, said: dict[str, Any], pad: int
) -> None:
    table = Table(env=GIVEN)
    table.client(table.request(1, method, {"taskId": "1"}))
    sent = b'{ "pad": "%b",' % (b"ab " * (pad // 3)) + frame({"id": 1, **said})[1:]
    table.server(sent)
    assert table.frames == [sent]


def test_word_of_a_task_that_goes_on_leaves_as_it_came() -> None:
    table = Table(env=GIVEN)
    sent = frame({"method": "notifications/tasks/status", "params": {**TASK, "status": "working"}})
    table.server(sent)
    assert table.frames == [sent]


def test_of_a_very_long_failure_the_ends_of_its_texts_are_left_and_pictures_whole() -> None:
    table = Table(env=GIVEN)
    table.client(table.request(1, "tasks/result", {"taskId": "1"}))
    picture = {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo" * 9000}
    text = f"{WORDS} {'and so on ' * 9000}{WORDS}"
    table.server(
        {"jsonrpc": "2.0", "id": 1, "result": {**FAILED, "content": [{"type": "text", "text": text}, picture]}}
    )
    first, second = check(table)["result"]["content"]
    assert second == picture
    assert first["text"].startswith(SAFE)
    assert first["text"].endswith(SAFE)
    assert len(first["text"]) < 20_000


DEEP = b"[" * 5000 + b"]" * 5000


@pytest.mark.parametrize("given_up", [True, False])
def test_a_failure_that_cannot_be_read_leaves_without_its_words(given_up: bool) -> None:
    table = Table(env=GIVEN)
    if given_up:
        table.call(1, "pay_invoice", {"invoice_id": "i"})
        cancel(table, 1)
    else:
        table.client(table.request(1, "tasks/result", {"taskId": "1"}))
    words = json.dumps(WORDS).encode()
    table.server(b'{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":%b,"a":%b}}\n' % (words, DEEP))
    assert check(table)["error"]["message"] == "The server says that this failed, in words that cannot be read."


@pytest.mark.parametrize("method", ["tasks/get", ""])
def test_a_failure_that_is_nested_too_deeply_to_be_looked_at_stops_nothing_else(method: str) -> None:
    table = Table(env=GIVEN)
    nested: Any = WORDS
    for _ in range(700):
        nested = [nested]
    if method:
        table.client(table.request(1, method, {"taskId": "1"}))
        table.server({"jsonrpc": "2.0", "id": 1, "result": {**TASK, "more": nested}})
    else:
        table.server({"jsonrpc": "2.0", "method": "notifications/tasks", "params": {**TASK, "more": nested}})
    assert not [word for word in (b"Zq8mPx", b"ghp_") if word in b"".join(table.frames)]
    table.told()
    table.call(2, "get_invoice", {"invoice_id": "i"})
    table.server(result(2, "paid"))
    assert table.told() == [result(2, "paid")]


def test_the_kept_answer_of_a_call_that_was_given_up_has_no_secret_in_it() -> None:
    table = Table(env=GIVEN, keys=KeysInMemory())
    key = {"io.github.failwell/idempotency-key": "k1"}
    table.call(1, "pay_invoice", {"invoice_id": "i"}, meta=key)
    cancel(table, 1)
    table.server({"jsonrpc": "2.0", "id": 1, "result": FAILED})
    check(table)
    table.call(2, "pay_invoice", {"invoice_id": "i"}, meta=key)
    assert check(table)["result"]["content"][0]["text"] == SAFE


def test_what_a_gateway_answers_to_what_is_no_call_leaves_without_what_must_not() -> None:
    table = Table(env=GIVEN, remote=True)
    table.client(table.request(1, "tasks/get", {"taskId": "1"}))
    table.do(table.protocol.failed(b"1", ToolError(WORDS, code="INTERNAL_ERROR", details={"body": WORDS})))
    assert check(table)["error"]["message"] == SAFE
