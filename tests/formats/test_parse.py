"""`parse` finds the failure in whatever came over the wire, and says what it found."""

from __future__ import annotations

import json
from typing import Any

import mcp
import mcp_types
import pytest
from fastmcp.client.client import CallToolResult as ClientResult

import failwell as fw
from failwell.formats import META_KEY
from failwell.model import Action, FieldError, Patch

ERROR = fw.ToolError("Too many requests.", code="RATE_LIMITED", retry_after=30, suggestion="Wait.", details={"k": "v"})
FORMATS = ["typed", "v1", "xml", "envelope", "jsonrpc", "canonical"]


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.checklist(289, 291)
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("carry", [True, False])
def test_format_is_recognised(format: str, carry: bool) -> None:
    text = fw.render(ERROR, format, carry=carry)
    bare = [
        text,
        "\ufeff" + text,
        " \r\n\t" + text + "\n",
        text.encode(),
        b"\xef\xbb\xbf" + text.encode(),
        bytearray(text.encode()),
        memoryview(text.encode()),
        f"Error executing tool search: {text}",
        f"Error calling tool 'search': {text}",
    ]
    stated: list[Any] = [
        {"content": [block(text)], "isError": True},
        {"content": [block("Too many requests."), block(text)], "isError": True},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [block(text)], "isError": True}},
        json.dumps({"content": [block(text)], "isError": True}),
    ]
    quoted = [
        {"content": [block("Something happened."), block(text)], "isError": True},
        {"content": [block(f"Error executing tool search: {text}")], "isError": True},
        {"content": [block(text), {"type": "image", "data": "", "mimeType": "image/png"}], "isError": True},
    ]
    unflagged: list[Any] = [{"content": [block(text)], "isError": False}, {"content": [block(text)]}, [block(text)]]
    # Contract 001 calls its block canonical, and the flag best-effort; contract 003 has its own flag, `success`.
    (stated if format in ("v1", "envelope") else quoted).extend(unflagged)
    if format != "xml":
        bare.append(json.loads(text))
        stated.append({"content": [], "structuredContent": json.loads(text), "isError": True})
    for standing, sources in ((None, bare), ("stated", stated), ("quoted", quoted)):
        # What is only quoted does not prove that nothing was done.
        whole = ERROR if standing != "quoted" else ERROR.replace(standing="quoted")
        for source in sources:
            error = fw.parse(source)
            assert isinstance(error, fw.Transient)
            assert (error.format, error.origin, error.message) == (format, "peer", "Too many requests.")
            assert (error.retry_after, error.standing) == (30, standing)
            if carry:
                assert error == whole
                assert error.effect is whole.effect


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("wanted", [*FORMATS, "text"])
def test_named_format_is_the_only_one_tried(format: str, wanted: str) -> None:
    text = fw.render(ERROR, format)
    error = fw.parse(text, format=wanted)
    if wanted == "text":
        assert isinstance(error, fw.Internal)
        assert (error.message, error.legacy) == (text, True)
    elif wanted == format:
        assert isinstance(error, fw.Transient)
        assert error.format == format
    else:
        assert error is None


@pytest.mark.checklist(291)
@pytest.mark.parametrize(
    ("wire", "format"),
    [
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m", "kind": "toolError:v1"}}, "jsonrpc"),
        ({"kind": "toolError:v1", "code": 5, "message": "m", "success": False}, "v1"),
        ({"success": False, "error": {"code": 5, "message": "m"}}, "envelope"),
        ({"success": False, "error": {"type": "INTERNAL", "message": "m", "recoverable": False}}, "envelope"),
        ({"type": "INTERNAL", "recoverable": False, "code": 5, "message": "m"}, "typed"),
        ({"error": {"type": "INTERNAL", "message": "m", "recoverable": False, "code": 5}}, "typed"),
        ({"code": -32000, "message": "m"}, "jsonrpc"),
    ],
    ids=str,
)
def test_forms_are_tried_in_the_order_that_tells_them_apart(wire: dict[str, Any], format: str) -> None:
    error = fw.parse(wire)
    assert error is not None
    assert (error.format, error.message) == (format, "m")


@pytest.mark.parametrize(
    "source",
    [
        None,
        "",
        "   ",
        "null",
        "[]",
        "{}",
        "7",
        0,
        True,
        b"",
        [],
        {},
        object(),
        ValueError("x"),
        {"content": [block("fine")]},
        {"content": [block("fine")], "isError": False},
        {"content": [], "structuredContent": {"ok": True}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}},
        {"success": True, "data": {"type": "NOT_FOUND", "message": "a row about an error", "recoverable": False}},
        {"type": "text", "text": "hello"},
        {"message": "hello", "kind": "greeting"},
        {"error": None},
        fw.Ok(1),
    ],
)
def test_what_is_no_failure_is_none(source: Any) -> None:
    assert fw.parse(source) is None


def test_outcomes_pass_through() -> None:
    question = fw.NeedsInput("Q?")
    assert fw.parse(ERROR) is ERROR
    assert fw.parse(question) is question
    assert fw.parse(fw.Err(ERROR)) is ERROR


def test_our_own_metadata_counts_before_everything_else() -> None:
    result = {"content": [block(fw.render(fw.Transient("other"), "typed"))], "isError": True}
    error = fw.parse({**result, "_meta": {META_KEY: ERROR.to_dict()}})
    assert isinstance(error, fw.ToolError)
    assert (error, error.format, error.standing, error.notes) == (ERROR, "canonical", "stated", ())


@pytest.mark.parametrize(
    ("shown", "effect"),
    [(fw.NotFound("other"), None), (fw.Transient("other", recoverable=False), None), (fw.Internal("other"), None)],
)
def test_metadata_that_is_bolder_than_what_a_model_was_shown_is_not_acted_on(shown: fw.ToolError, effect: Any) -> None:
    result = {"content": [block(fw.render(shown, "typed"))], "isError": True, "_meta": {META_KEY: ERROR.to_dict()}}
    error = fw.parse(result)
    assert isinstance(error, fw.ToolError)
    assert (error.code, error.format, error.standing, error.effect) == ("RATE_LIMITED", "canonical", "quoted", effect)
    assert error.notes == ("Two errors in one result contradict each other; the more careful one counts.",)


@pytest.mark.parametrize(
    "meta", [None, [], "x", {META_KEY: None}, {META_KEY: "x"}, {META_KEY: {}}, {META_KEY: {"failwell": 9}}]
)
def test_metadata_that_is_not_ours_is_passed_over(meta: Any) -> None:
    error = fw.parse({"content": [block(fw.render(ERROR, "xml"))], "isError": True, "_meta": meta})
    assert error is not None
    assert error.format == "xml"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("carry", [True, False])
def test_sdk_results(format: str, carry: bool) -> None:
    wire = fw.to_result(ERROR, format, carry=carry, gate="both")
    del wire["_meta"]
    content = [mcp_types.TextContent(type="text", text=item["text"]) for item in wire["content"]]
    server = mcp_types.CallToolResult(content=content, structured_content=wire.get("structuredContent"), is_error=True)
    client = ClientResult(content, wire.get("structuredContent"), None, None, True)
    alone = "stated" if format in ("v1", "envelope") else "quoted"
    for result, standing in ((server, "stated"), (client, "stated"), (content, alone)):
        error = fw.parse(result)
        assert isinstance(error, fw.Transient)
        assert (error.format, error.standing) == (format, standing)
        whole = fw.parse(wire)
        assert isinstance(whole, fw.ToolError)
        assert error == whole.replace(standing=standing)


@pytest.mark.parametrize("is_error", [True, False])
def test_sdk_results_without_a_contract(is_error: bool) -> None:
    content = [mcp_types.TextContent(type="text", text="prose")]
    for result in (
        mcp_types.CallToolResult(content=content, is_error=is_error),
        ClientResult(content, None, None, None, is_error),
    ):
        error = fw.parse(result)
        assert (error.message if error else None) == ("prose" if is_error else None)


def test_sdk_results_with_our_metadata() -> None:
    content = [mcp_types.TextContent(type="text", text="prose")]
    meta = {META_KEY: ERROR.to_dict()}
    server = mcp_types.CallToolResult.model_validate({"content": content, "isError": True, "_meta": meta})
    assert fw.parse(server) == ERROR
    assert fw.parse(ClientResult(content, None, meta, None, True)) == ERROR


def test_sdk_protocol_errors() -> None:
    wire = fw.to_jsonrpc(ERROR, id=1)["error"]
    exception = mcp.MCPError(wire["code"], wire["message"], wire["data"])
    response = mcp_types.JSONRPCError.model_validate(fw.to_jsonrpc(ERROR, id=1))
    for source in (exception, exception.error, response):
        error = fw.parse(source)
        assert isinstance(error, fw.Transient)
        assert (error, error.format) == (ERROR, "jsonrpc")


def test_sdk_object_that_cannot_be_read_is_nothing() -> None:
    class Hostile:
        @property
        def error(self) -> None:
            raise RuntimeError("no")

        def model_dump(self, **options: Any) -> None:
            raise RuntimeError("no")

    assert fw.parse(Hostile()) is None


@pytest.mark.parametrize(
    ("wire", "notes"),
    [
        (
            {"type": "INTERNAL", "message": 5, "recoverable": "no", "data": [1]},
            ("data was not an object.", "recoverable was not true or false.", "The message was not a text."),
        ),
        (
            {"kind": "toolError:v1", "code": 5, "message": None, "retryable": "yes", "details": "x"},
            (
                "details was not an object.",
                "The code was not a text.",
                "The message was not a text.",
                "The retryable flag was not true or false.",
            ),
        ),
        (
            {"success": False, "error": {"code": "db_error", "message": "m", "rate_limit_reset": "later"}, "meta": 1},
            ("meta was not an object.", "rate_limit_reset 'later' is no instant."),
        ),
        (
            {"jsonrpc": "2.0", "error": {"code": "x", "message": "m", "data": {"mcp_error_code": 5}}},
            ("The code was not a number.", "mcp_error_code was not a text."),
        ),
    ],
    ids=["typed", "v1", "envelope", "jsonrpc"],
)
def test_what_does_not_fit_is_kept_and_noted(wire: dict[str, Any], notes: tuple[str, ...]) -> None:
    error = fw.parse(wire)
    assert isinstance(error, fw.ToolError)
    assert error.notes == notes


@pytest.mark.parametrize("wire", [{"type": "INTERNAL", "message": {"a": [1]}, "recoverable": False}], ids=str)
def test_message_that_is_no_text_becomes_one(wire: dict[str, Any]) -> None:
    error = fw.parse(wire)
    assert error is not None
    assert error.message == '{"a":[1]}'


@pytest.mark.parametrize("code", ["Überraschung", "a b", "x" * 500, "\x00", "-32001", "💥", "constructor", "__proto__"])
@pytest.mark.parametrize("format", ["v1", "jsonrpc", "canonical"])
def test_unknown_code_is_kept(code: str, format: str) -> None:
    error = fw.parse(fw.render(fw.ToolError("m", code=code, kind="conflict"), format, carry=True, guard=None))
    assert isinstance(error, fw.Conflict)
    assert (error.code, error.retryable) == (code, False)


@pytest.mark.checklist(174)
def test_failure_inside_the_data_of_a_success_is_data() -> None:
    inner = fw.to_result(ERROR, "v1", gate="both")
    data = {
        "rows": [inner, fw.to_jsonrpc(ERROR), json.loads(fw.render(ERROR, "typed"))],
        "xml": fw.render(ERROR, "xml"),
    }
    assert fw.parse({"content": [block(json.dumps(data))], "structuredContent": data, "isError": False}) is None


RICH = fw.Invalid(
    "Three arguments are wrong.",
    code="VALIDATION_ERROR",
    severity="critical",
    tool="users.create",
    fields=[
        FieldError(("a", 0, "b.c"), "Bad", None, "a number", ("x", 1, None), "enum"),
        FieldError(("0",), "Bad", {"deep": ["é", 1.5]}),
        FieldError((), "All of it"),
    ],
    patch=[Patch("rename", ("limt",), to="limit"), Patch("set", ("a", 1), None), Patch("remove", ("x",))],
    actions=[Action("users.schema", "Show it", {"verbose": True}), Action("users.list")],
    effect="unknown",
    verify="users.get",
    strategy="report_and_abort",
    title="Another title",
    retry_after=2.5,
    details={"workspace": "ws", "nested": {"list": [1, [2, {}]]}},
    http_status=422,
    correlation_id="req-1",
)


@pytest.mark.parametrize("error", [ERROR, RICH], ids=["short", "rich"])
@pytest.mark.parametrize("format", ["typed", "v1", "envelope", "jsonrpc", "problem", "canonical"])
@pytest.mark.parametrize("carry", [True, False])
def test_a_text_is_read_like_the_object_in_it(error: fw.ToolError, format: str, carry: bool) -> None:
    # A text that is clean JSON takes a shorter way; what comes out must not differ in anything.
    text = fw.render(error, format, carry=carry)
    assert "\\" not in text
    spelled = json.dumps(json.loads(text))
    halved = text.replace(error.message, error.message + "\\ud83d\\ude00")
    quick, plain, escaped = fw.parse(text), fw.parse(json.loads(text)), fw.parse(spelled)
    assert isinstance(quick, fw.ToolError)
    assert quick.format == format
    assert repr(quick) == repr(plain) == repr(escaped)
    assert quick.to_dict() == plain.to_dict() == escaped.to_dict()
    assert type(quick) is type(plain)
    slow = fw.parse(halved)
    assert slow.message == error.message + "😀"
    assert slow.replace(message=error.message).to_dict() == quick.to_dict()


def test_a_json_rpc_error_can_carry_the_whole_error_in_its_data() -> None:
    mine = fw.NotFound("There is no book 4.", suggestion="Call books.list.", actions=["books.list"])
    data = {"uri": "shop://books/4", "io.github.failwell/tool-error": mine.to_dict()}
    wire = {"code": -32602, "message": "There is no book 4.", "data": data}
    for read in (fw.parse(wire), fw.parse({"jsonrpc": "2.0", "id": 1, "error": wire})):
        assert read == mine
        assert read.format == "canonical"
    assert fw.parse({**wire, "data": {"io.github.failwell/tool-error": 5}}).code == "INVALID_PARAMS"
