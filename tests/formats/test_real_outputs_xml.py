"""What the real system behind contract 002 sends: read right, and written the same where it is right."""

from __future__ import annotations

import re
from typing import Any

import pytest

import failwell as fw
from failwell.model import UNSET
from recorded import cases, one

NUMBERS = {"__NaN__": float("nan"), "__Infinity__": float("inf")}
WRITTEN_OTHERWISE = {
    "toolError.actions_emptystr": "an action without a name is none",
    "toolError.sev_bogus": "unknown severities are errors",
    "toolError.sev_empty": "unknown severities are errors",
    "toolError.details_newline": "a line break in a key must survive",
    "toolError.retry_big": "three centuries are no delay",
    "toolError.retry_tiny": "JavaScript writes the exponent in its own way",
    "toolError.code.empty": "an empty code is none",
    "error.msg.crlf": "a carriage return must survive",
    "error.msg.nul": "not XML",
    "error.msg.noncharacter": "not XML",
}


def wire(vector: dict[str, Any]) -> str | None:
    """The text a model would have seen, for outputs that are results."""
    output = vector["output"]
    if isinstance(output, dict) and "content" in output:
        return str(output["content"][0]["text"])
    return None


def made(vector: dict[str, Any]) -> fw.ToolError:
    """The error that was asked for, built our way."""
    args = vector["input"]["args"]
    if vector["input"]["fn"] == "error":
        return fw.error(args["message"], args.get("code"))
    if vector["input"]["fn"] == "required":
        return fw.required(args["field"])
    options = args["options"]
    delay = options.get("retryAfter")
    return fw.ToolError(
        options["message"],
        code=args["code"],
        severity=options.get("severity", "error"),
        suggestion=options.get("suggestion"),
        actions=options.get("availableActions"),
        details=options.get("details"),
        retry_after=NUMBERS.get(delay, delay) if isinstance(delay, str) else delay,
    )


BUILT = [*cases("xml-as-run", "error."), *cases("xml-as-run", "required."), *cases("xml-as-run", "toolError.")]


@pytest.mark.checklist(110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 122, 132)
@pytest.mark.parametrize("vector", BUILT)
def test_flush_layout_is_byte_for_byte_the_real_systems(vector: dict[str, Any]) -> None:
    error, text = made(vector), wire(vector)
    if text is None:
        # It throws on values that are not texts; ours writes them.
        assert "throws" in vector["output"]
        assert isinstance(fw.parse(fw.render(error, "xml")), fw.ToolError)
    elif vector["id"] in WRITTEN_OTHERWISE:
        assert fw.render(error, "xml", layout="flush") != text
    else:
        assert fw.render(error, "xml", layout="flush", guard=None) == text
        assert fw.to_result(error, "xml", layout="flush", meta=False, guard=None) == vector["output"]


@pytest.mark.checklist(171, 172, 173)
@pytest.mark.parametrize("vector", [case for case in BUILT if wire(case.values[0]) is not None])
def test_errors_are_read(vector: dict[str, Any]) -> None:
    error, expected = fw.parse(vector["output"]), made(vector)
    assert isinstance(error, fw.ToolError)
    assert error.format == "xml"
    assert (error.code, error.kind, error.message) == (expected.code, expected.kind, expected.message)
    assert (error.severity, error.is_error) == (expected.severity, vector["output"]["isError"])
    assert (error.suggestion, error.details) == (expected.suggestion, expected.details)
    assert error.retry_after == expected.retry_after or vector["id"] == "toolError.retry_string"
    assert [action for action in error.actions if action.tool] == list(expected.actions)
    assert error.notes == () or vector["id"] == "toolError.retry_big"


def lookup(arguments: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        try:
            arguments = arguments[part]
        except (KeyError, IndexError, TypeError):
            return UNSET
    return (
        {"__NaN__": "nan", "__Infinity__": "inf"}.get(arguments, arguments) if isinstance(arguments, str) else arguments
    )


VALIDATION = [case for case in cases("xml-as-run", "validation.") if isinstance(case.values[0]["output"], str)]
_FIELD = re.compile(r'<field name="([^"]*)">(.*?)</field>', re.DOTALL)


@pytest.mark.checklist(133, 134, 136, 145, 146, 148, 149, 172)
@pytest.mark.parametrize("vector", VALIDATION)
def test_validation_errors_are_read(vector: dict[str, Any]) -> None:
    error = fw.parse(vector["output"])
    assert isinstance(error, fw.Invalid)
    assert (error.format, error.code, f"{error.tool}/{error.action}") == (
        "xml",
        "VALIDATION_ERROR",
        vector["input"]["action"],
    )
    assert error.suggestion is None
    assert error.notes == ()
    texts = dict(_FIELD.findall(vector["output"]))
    assert [field.name for field in error.fields] == list(texts)
    for field in error.fields:
        was = lookup(vector["input"]["args"], field.path) if field.path else UNSET
        if isinstance(was, str) and len(was) > 50:
            assert isinstance(field.sent, str)
            assert was.startswith(field.sent[:40])
        elif not isinstance(was, (list, dict)):
            assert (field.name, field.sent) == (field.name, was)
        assert "You sent" not in field.message
        assert (field.rule == "required") is ("(missing)" in texts[field.name] and field.path != ())


# What the real system shows of these values does not tell what they were.
NOT_SHOWN_WHOLE = (
    "array_",
    "tuple_",
    "object_sent_long",
    "num_nan",
    "num_finite",
    "str_emoji_split",
    "str_quote",
    "str_nasty",
)


@pytest.mark.checklist(135, 151, 152)
@pytest.mark.parametrize(
    "vector",
    [
        case
        for case in VALIDATION
        if not any(name in str(case.id) for name in (*NOT_SHOWN_WHOLE, "num_1e21", "empty_issues"))
    ],
)
def test_validation_errors_are_written_again_with_the_full_stop_they_lack(vector: dict[str, Any]) -> None:
    error = fw.parse(vector["output"])
    assert error is not None
    better = re.sub(r"(?<![.!?]) You sent:", ". You sent:", vector["output"])
    better = re.sub(r'(name="\(root\)">[^<]*?\.) You sent: \(missing\)\.', r"\1", better)
    written = fw.render(error, "xml", layout="flush")
    # A lone sentence keeps the end its author gave it.
    assert written.replace(".</field>", "</field>") == better.replace(".</field>", "</field>")


ROUTING = [case for case in cases("xml-as-run", "routing.") if "tool_error" in (wire(case.values[0]) or "")]


@pytest.mark.checklist(155, 156, 157, 173)
@pytest.mark.parametrize("vector", ROUTING)
def test_routing_errors_are_read_and_written_again(vector: dict[str, Any]) -> None:
    error = fw.parse(vector["output"])
    assert isinstance(error, fw.ToolError)
    text = wire(vector) or ""
    code = re.findall(r'code="(\w+)"', text)[0]
    assert (error.code, error.kind) == (code, "not_found" if code == "UNKNOWN_TOOL" else "validation")
    names = vector["input"].get("actions", [])
    assert [action.arguments for action in error.actions] == [{"action": name} for name in names]
    assert fw.render(error, "xml", layout="flush") == text


CLIENT = cases("xml-as-run", "client.parse.")


@pytest.mark.checklist(171, 172, 173)
@pytest.mark.parametrize("vector", CLIENT)
def test_what_the_real_client_reads_is_read(vector: dict[str, Any]) -> None:
    error, theirs = fw.parse(vector["input"]["response"]), vector["output"]
    assert isinstance(error, fw.ToolError)
    assert error.code == (None if theirs["code"] == "UNKNOWN" else theirs["code"])
    assert error.message.strip() == theirs["message"]
    assert error.severity == theirs["severity"]
    assert [action.tool for action in error.actions] == theirs["availableActions"]
    assert error.suggestion == theirs.get("recovery")


@pytest.mark.checklist(172)
def test_more_is_read_than_by_the_real_client() -> None:
    full = fw.parse(one("xml-as-run", "client.parse.full")["input"]["response"])
    assert isinstance(full, fw.Conflict)
    text = one("xml-as-run", "client.parse.full")["input"]["response"]["content"][0]["text"]
    assert dict(full.details) == dict(re.findall(r'<detail key="(\w+)">([^<]*)</detail>', text))
    assert full.retry_after == float(re.findall(r"<retry_after>(\d+) seconds", text)[0])
    padded = fw.parse(one("xml-as-run", "client.parse.whitespace")["input"]["response"])
    assert padded is not None
    assert padded.message == "  padded  "


@pytest.mark.parametrize(
    "vector",
    [
        case
        for case in cases("xml-as-run")
        if case not in (*BUILT, *VALIDATION, *ROUTING, *CLIENT)
        and not str(case.id).startswith(("builder.", "selfheal."))
    ],
)
def test_everything_else_is_no_failure(vector: dict[str, Any]) -> None:
    if vector["id"] == "routing.validate":
        assert isinstance(fw.parse(vector["output"]), fw.Invalid)
    else:
        assert fw.parse(vector["output"]) is None


@pytest.mark.checklist(165)
@pytest.mark.parametrize(
    ("id", "error"),
    [
        ("builder.warning_retry", fw.ToolError("m", code="X", severity="warning", retry_after=10)),
        ("builder.suggest_last_wins", fw.ToolError("m", code="X", suggestion="two")),
        ("builder.default", fw.ToolError("m", code="X")),
    ],
)
def test_builder_outputs(id: str, error: fw.ToolError) -> None:
    assert fw.to_result(error, "xml", layout="flush", meta=False) == one("xml-as-run", id)["output"]
    assert fw.parse(one("xml-as-run", id)["output"]) == error


@pytest.mark.checklist(165)
def test_builder_adds_up() -> None:
    error = fw.ToolError("m", code="X", actions=["a.list", "b.get"], details={"n": 5, "k": "v"}, severity="critical")
    assert fw.render(error, "xml", layout="flush") == (
        '<tool_error code="X" severity="critical">\n<message>m</message>\n'
        "<available_actions>\n  <action>a.list</action>\n  <action>b.get</action>\n</available_actions>\n"
        '<details>\n  <detail key="n">5</detail>\n  <detail key="k">v</detail>\n</details>\n</tool_error>'
    )


def test_block_that_broken_xml_follows_is_still_read() -> None:
    error = fw.parse(one("xml-as-run", "selfheal.contract")["output"])
    assert isinstance(error, fw.Invalid)
    assert [field.name for field in error.fields] == ["a"]
