"""What is nobody's failure goes through as the bytes that came, whatever it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playbook import TOOLS, Table, frame, result

from failwell.formats import META_KEY
from failwell.relay import Lines, TooLong
from failwell.relay.messages import last_frame

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
WAYS = [
    lambda message: json.dumps(message).encode() + b"\n",
    lambda message: json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n",
    lambda message: json.dumps(dict(reversed(message.items())), indent=None).encode() + b"\r\n",
]


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("way", range(3))
def test_an_answer_that_worked_is_passed_on_byte_for_byte(modern: bool, way: int) -> None:
    table = Table(modern=modern)
    table.call(7, "get_invoice", {"invoice_id": "inv_1"})
    (asked,) = table.sent
    assert json.loads(asked.frame)["params"]["name"] == "get_invoice"
    answer = WAYS[way](result(7, "paid — «ok» \u2028"))
    table.server(answer)
    assert table.frames == [answer]


def test_a_large_answer_is_passed_on_without_being_read() -> None:
    table = Table()
    for way in WAYS:
        table.call(7, "get_invoice", {"invoice_id": "inv_1"})
        answer = way(result(7, "x" * 100_000))
        table.server(answer)
        assert table.frames == [answer]
        table.told()


@pytest.mark.parametrize("own", [False, True])
def test_a_large_list_of_tools_is_known_all_the_same(own: bool) -> None:
    table = Table(connected=False)
    tools = [{**TOOLS[0], "name": f"tool_{number}", "description": "x" * 500} for number in range(100)]
    if own:
        table.call(1, "tool_7", {"invoice_id": "i"})
        (asked,) = table.heard()
    else:
        asked = table.request(1, "tools/list")
        table.client(asked)
    answer = frame({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": tools}})
    table.server(answer)
    assert len(table.protocol.listing.known) == 100
    assert table.frames == ([] if own else [answer])


@given(JSON, JSON, st.sampled_from(["elicitation/create", "sampling/createMessage", "vendor/thing", "tasks/get"]))
def test_what_the_server_asks_and_the_client_answers_goes_through(params: object, answer: object, method: str) -> None:
    table = Table()
    asked = frame({"jsonrpc": "2.0", "id": 1, "method": method, "params": params, "vendor": answer})
    table.server(asked)
    answered = frame({"jsonrpc": "2.0", "id": 1, "result": answer})
    table.client(answered)
    assert table.frames == [asked]
    assert [each.frame for each in table.sent] == [answered]


@given(JSON, st.sampled_from(["resources/read", "vendor/thing", "tasks/result", "completion/complete"]))
def test_other_requests_and_their_answers_go_through(payload: object, method: str) -> None:
    table = Table()
    asked = frame({"jsonrpc": "2.0", "id": "q", "method": method, "params": {"x": payload}, "extra": 1})
    table.client(asked)
    answered = frame({"jsonrpc": "2.0", "id": "q", "result": payload})
    refused = frame({"jsonrpc": "2.0", "id": "q", "error": {"code": -32002, "message": "No.", "data": payload}})
    assert [each.frame for each in table.sent] == [asked]
    table.server(answered)
    table.client(asked)
    table.server(refused)
    assert table.frames == [answered, refused]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 0.5}},
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}},
        {"jsonrpc": "2.0", "method": "notifications/vendor"},
    ],
)
def test_notifications_go_through_both_ways(message: dict[str, object]) -> None:
    table = Table()
    table.client(message)
    table.server(message)
    assert table.heard() == table.told() == [message]


@pytest.mark.parametrize(
    "answer",
    [
        {"resultType": "input_required", "inputRequests": {"a": {}}, "requestState": "v1.x"},
        {"task": {"taskId": "t", "status": "working"}},
        {"content": [], "structuredContent": {"errors": [], "failed": 0}},
    ],
)
def test_a_question_or_a_task_is_no_failure(answer: dict[str, object]) -> None:
    table = Table(modern=True)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    sent = frame({"jsonrpc": "2.0", "id": 1, "result": answer})
    table.server(sent)
    assert table.frames == [sent]


@pytest.mark.parametrize("number", [-32042, -32021, -32022])
def test_what_only_a_client_can_act_on_stays_as_it_is(number: int) -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    sent = frame({"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": "x", "data": {"elicitations": []}}})
    table.server(sent)
    assert table.frames == [sent]


def test_a_batch_is_refused_message_by_message() -> None:
    table = Table()
    pay = table.request(2, "tools/call", {"name": "pay_invoice", "arguments": {"invoice_id": "i"}})
    table.client(frame([table.request(1, "resources/read"), pay, {"jsonrpc": "2.0", "method": "x"}]))
    assert table.heard() == []
    told = table.told()
    assert [(each["id"], each["error"]["code"]) for each in told] == [(1, -32600), (2, -32600)]
    assert told[0]["error"]["message"] == "Batches are not supported; send one message at a time. It was not sent."


def test_a_request_that_cannot_be_read_is_answered_and_not_sent() -> None:
    table = Table()
    deep = b"[" * 100_000 + b"]" * 100_000
    table.client(
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"pay_invoice","arguments":%b}}\n' % deep
    )
    assert table.heard() == []
    (told,) = table.told()
    assert (told["id"], told["error"]["code"]) == (5, -32700)


def test_a_cancellation_reaches_the_server_and_its_answer_the_client() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.heard()
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    table.client(cancelled)
    assert table.heard() == [cancelled]
    table.died()
    assert table.told() == []


def test_two_requests_under_one_id_are_both_answered() -> None:
    table = Table()
    table.client(table.request(1, "vendor/a"))
    table.client(table.request(1, "vendor/b"))
    first, second = table.heard()
    table.server({"jsonrpc": "2.0", "id": second["id"], "result": {"of": "b"}})
    table.server({"jsonrpc": "2.0", "id": first["id"], "result": {"of": "a"}})
    assert table.told() == [
        {"jsonrpc": "2.0", "id": 1, "result": {"of": "b"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"of": "a"}},
    ]


def test_noise_on_stdout_is_kept_out_and_named_once() -> None:
    table = Table()
    for line in (b"Server listening on stdio\n", b"{not json\n", b'"text"\n', b"\n", b"{}\n", b"[1,2]\n", b"[]\n"):
        table.server(line)
    assert table.frames == []
    assert [note.line for note in table.notes] == [
        "pay-server writes to stdout what is no message: Server listening on stdio"
    ]


@pytest.mark.parametrize("sign", [b"\xff", b"\x00", b"\t"])
def test_an_answer_with_a_sign_that_should_not_be_there_is_an_answer(sign: bytes) -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    answer = frame(result(1, "paid?")).replace(b"?", sign)
    table.server(answer)
    assert table.frames == [answer]
    table.call(2, "get_invoice", {"invoice_id": "j"})
    table.server(frame(result(2, "No invoice j?", is_error=True)).replace(b"?", sign))
    assert json.loads(table.frames[1])["result"]["_meta"][META_KEY]["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("asked", "answered"),
    [(1, b"1.0"), (1, b'"1"'), ("1", b"1"), (-7, b'"-7"'), ("1.0", b"1"), (1, b"1.000"), ("007", b"7")],
)
@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("size", [4, 20_000])
def test_an_answer_under_the_same_number_spelt_otherwise_is_one(
    asked: object, answered: bytes, is_error: bool, size: int
) -> None:
    table = Table()
    table.call("other", "get_invoice", {"invoice_id": "i"})
    table.call(asked, "pay_invoice", {"invoice_id": "i"})
    answer = frame(result("$", "x" * size, is_error=is_error))
    table.server(answer.replace(b'"$"', answered))
    (told,) = table.told()
    assert (told["id"], type(told["id"])) == (asked, type(asked))
    assert is_error or told == result(asked, "x" * size)


def test_what_the_relay_asks_by_itself_may_be_answered_in_another_spelling() -> None:
    table = Table()
    table.server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    (asked,) = table.heard()
    table.server({"jsonrpc": "2.0", "id": str(asked["id"]), "result": {"tools": TOOLS}})
    assert [each["method"] for each in table.heard()] == ["tools/call"]


@pytest.mark.parametrize("ids", [(1, "1"), (1, 2)])
def test_an_id_that_may_stand_for_two_requests_or_none_is_nobodys(ids: tuple[object, ...]) -> None:
    table = Table()
    for id in ids:
        table.call(id, "pay_invoice", {"invoice_id": f"{id!r}"})
    for answered in (1.0, 3, "x", None, 1.5) if ids[1] == "1" else (3.0, "3", "x", 1.5):
        table.server(result(answered, "paid"))
    assert [each for each in table.told() if each["id"] is not None] == []
    for id in ids:
        table.server(result(id, f"paid {id!r}"))
    assert table.told() == [result(id, f"paid {id!r}") for id in ids]


def test_answers_that_nobody_asked_for_are_kept_out() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    answer = frame(result(1, "paid"))
    table.server(answer)
    table.server(answer)
    table.server(result("nobody", "x"))
    assert table.frames == [answer]


def own_ids(*ids: object) -> list[object]:
    """The ids of what the relay asks by itself, of a client that uses these: in a handshake that is played again, for
    lists, in a repeat."""
    table = Table(connected=False)
    known = {"protocolVersion": "2025-11-25", "tools": TOOLS}
    for id, method in zip(ids, ("initialize", "tools/list", "logging/setLevel"), strict=False):
        table.client(table.request(id, method, {"level": "info"}))
        table.server({"jsonrpc": "2.0", "id": id, "result": known})
    table.heard()
    table.died()
    table.passes(0)
    found: list[object] = []
    while heard := table.heard():
        for message in heard:
            found.append(message["id"])
            table.server({"jsonrpc": "2.0", "id": message["id"], "result": known})
    table.call(ids[-1], "get_invoice", {"invoice_id": "i"})
    table.server(result(ids[-1], "503 Service Unavailable", is_error=True))
    table.heard()
    table.passes(30)
    (again,) = table.heard()
    table.server(result(again["id"], "paid"))
    assert table.told()[-1]["id"] == ids[-1]
    assert len(found) == len(set(found)) == 3
    return [*found, again["id"]]


def test_what_the_relay_asks_by_itself_has_ids_of_the_clients_kind() -> None:
    """Some servers take only numbers, and only such as fit in 32 bits."""
    for ids in ((0, 1, 2, 3), ("a", 1, 2, 3), (0, "b", "c", 3)):
        assert all(type(each) is int and 1_000_000_000 < each < 2**31 for each in own_ids(*ids))
    assert all(str(each).startswith("failwell-") for each in own_ids("a", "b", "c", "d"))


def test_an_id_that_the_client_uses_is_none_of_the_relays() -> None:
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "503 Service Unavailable", is_error=True))
    table.heard()
    table.passes(30)
    (again,) = table.heard()
    # The client comes to use the same number, and the next ones.
    for id in range(again["id"] - 3, again["id"] + 1):
        table.call(id, "get_invoice", {"invoice_id": str(id)})
    sent = [each["id"] for each in table.heard()]
    assert len({again["id"], *sent}) == 5
    for id in (again["id"], *sent):
        table.server(result(id, f"answer {id}"))
    told = table.told()
    assert [each["id"] for each in told] == [1, *range(again["id"] - 3, again["id"] + 1)]


ANSWER = frame(result(1, "paid")).rstrip()
MANY_DIGITS = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"n":%b}}' % (b"9" * 5_000)


def test_a_number_of_many_digits_passes_byte_for_byte() -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server(MANY_DIGITS + b"\n")
    assert table.frames == [MANY_DIGITS + b"\n"]


@pytest.mark.parametrize("line", [b"INFO " + ANSWER, ANSWER + ANSWER, ANSWER + b" # done", b"[" + ANSWER + b"]"])
def test_a_line_that_is_not_one_message_is_no_answer(line: bytes) -> None:
    table = Table()
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server(line + b"\n")
    table.passes(60)
    assert table.frames == []
    assert len([note for note in table.notes if note.loud]) == 1
    table.died()
    assert "may have been done already" in table.told()[0]["result"]["content"][0]["text"]


def test_what_a_server_wrote_before_it_ended_is_heard_without_a_line_end() -> None:
    assert last_frame(ANSWER) == ANSWER + b"\n"
    for nothing in (b"", b"DEBUG", ANSWER[:-1], ANSWER + ANSWER):
        assert last_frame(nothing) is None


@pytest.mark.parametrize("method", [7, None, ["tools/call"]])
def test_the_answer_to_what_is_no_request_reaches_the_client(method: object) -> None:
    table = Table()
    table.client({"jsonrpc": "2.0", "id": 5, "method": method})
    assert [each["id"] for each in table.heard()] == [5]
    refusal = frame({"jsonrpc": "2.0", "id": 5, "error": {"code": -32600, "message": "Invalid Request"}})
    table.server(refusal)
    assert table.frames == [refusal]


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"") + b"\n"), max_size=6), st.data())
def test_lines_are_told_apart_wherever_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    framing, found = Lines(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += framing.feed(stream[start:end])
    assert found == lines
    assert framing.rest() == b""


def test_a_line_without_end_takes_no_memory() -> None:
    framing = Lines(longest=10)
    assert framing.feed(b"12345") == []
    assert framing.feed(b"6789012345") == []
    assert framing.feed(b"xyz\n12\n34") == [TooLong(b"123456789012345", 19), b"12\n"]
    assert framing.rest() == b"34"


def test_a_message_that_is_too_long_is_said_to_be() -> None:
    table = Table(longest=1000)
    table.client(table.request(1, "tools/call", {"name": "get_invoice", "arguments": {"invoice_id": "i"}}))
    table.do(table.protocol.server(TooLong(b'{"jsonrpc":"2.0","id":1,"result":{"content"', 50_000_000)))
    (told,) = table.told()
    assert "50 MB" in told["result"]["content"][0]["text"]
    table.do(table.protocol.client(TooLong(b'{"jsonrpc":"2.0","id":2,"method":"tools/call"', 9_000_000)))
    (told,) = table.told()
    assert (told["id"], told["error"]["message"]) == (
        2,
        "The message has 9 MB; 0 MB are let through. It was not sent.",
    )
