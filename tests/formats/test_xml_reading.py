"""XML as real servers send it: whole, broken, in other blocks, and made to do harm."""

from __future__ import annotations

import pytest

import failwell as fw
from failwell.model import FieldError

WHOLE = (
    '<tool_error code="CONFLICT" severity="warning">\n<message>Paid &amp; &lt;done&gt; &#65;&#x42; &quot;&apos;</message>\n'
    "<recovery>Check it</recovery>\n<available_actions>\n  <action>a</action>\n  <action>b &amp; c</action>\n"
    '</available_actions>\n<details>\n  <detail key="k &quot;1&quot;">v</detail>\n</details>\n'
    "<retry_after>30 seconds</retry_after>\n</tool_error>"
)


def read(text: str) -> fw.ToolError:
    error = fw.parse(text)
    assert isinstance(error, fw.ToolError)
    assert error.format == "xml"
    return error


@pytest.mark.checklist(171, 172)
def test_everything_is_read() -> None:
    error = read(WHOLE)
    assert isinstance(error, fw.Conflict)
    assert error.notes == ()
    assert error == fw.Conflict(
        "Paid & <done> AB \"'",
        severity="warning",
        suggestion="Check it",
        actions=["a", "b & c"],
        details={'k "1"': "v"},
        retry_after=30,
    )


@pytest.mark.checklist(172)
def test_validation_fields_are_read() -> None:
    error = read(
        '<validation_error action="users/create">\n'
        "  <field name=\"email\">Invalid email. You sent: 'a.b. c'. Expected: an address.</field>\n"
        "  <field name=\"items.1.role\">Bad. You sent: 'x'. Valid options: 'admin', 'user'.</field>\n"
        '  <field name="age">Required. You sent: (missing). Expected type: number.</field>\n'
        '  <field name="(root)">Nothing fits.</field>\n'
        "  <recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>\n"
        "</validation_error>"
    )
    assert (error.code, error.kind, error.tool, error.action) == ("VALIDATION_ERROR", "validation", "users", "create")
    assert error.fields == (
        FieldError(("email",), "Invalid email", "a.b. c", "an address"),
        FieldError(("items", 1, "role"), "Bad", "x", options=("admin", "user")),
        FieldError(("age",), "Required", expected="Expected type: number.", rule="required"),
        FieldError((), "Nothing fits."),
    )
    assert error.message == "The arguments are invalid: email, items.1.role, age."
    assert error.suggestion is None


@pytest.mark.checklist(151)
def test_unknown_argument_is_not_called_missing_though_real_servers_do() -> None:
    error = read(
        '<validation_error action="billing/create">\n<field name="(root)">Unrecognized key(s) in object: \'x\' '
        "You sent: (missing). Remove or correct unrecognized fields: 'x'. Check for typos.</field>\n</validation_error>"
    )
    assert "(missing)" not in fw.render(error, "xml")
    assert error.fields == (
        FieldError(
            (),
            "Unrecognized key(s) in object: 'x'",
            expected="Remove or correct unrecognized fields: 'x'. Check for typos.",
        ),
    )


@pytest.mark.parametrize("shown", ["array(2)", "array(0)"])
def test_list_that_was_sent_is_not_read_as_a_text(shown: str) -> None:
    (field,) = read(f'<validation_error><field name="a">Bad. You sent: {shown}.</field></validation_error>').fields
    assert field.sent != shown


@pytest.mark.checklist(155, 173)
@pytest.mark.parametrize("names", ["list, create", "list,create", " list ,\n create "])
def test_comma_list_becomes_calls_with_the_discriminator(names: str) -> None:
    error = read(
        '<tool_error code="MISSING_DISCRIMINATOR"><message>The required field "do" is missing.</message>'
        f"<available_actions>{names}</available_actions></tool_error>"
    )
    assert [(action.tool, action.arguments) for action in error.actions] == [
        ("", {"do": "list"}),
        ("", {"do": "create"}),
    ]


@pytest.mark.checklist(173)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_block_is_found_wherever_it_stands(position: int) -> None:
    blocks = [{"type": "text", "text": '<cache_invalidation cause="x" domains="y" />'}, {"type": "image", "data": ""}]
    blocks.insert(position, {"type": "text", "text": WHOLE})
    error = fw.parse({"content": blocks, "isError": False})
    assert isinstance(error, fw.Conflict)
    assert error.message == "Paid & <done> AB \"'"


@pytest.mark.checklist(173)
@pytest.mark.parametrize(
    "before",
    [
        "\ufeff",
        "  \n",
        '<?xml version="1.0"?>\n',
        "<!-- note -->",
        "<!DOCTYPE tool_error>",
        '<cache_invalidation cause="x"/>\n',
        "<system><tool_error>no</tool_error></system>\n",
    ],
)
def test_framework_blocks_before_the_root_are_passed_over(before: str) -> None:
    assert read(before + WHOLE).message == "Paid & <done> AB \"'"


def test_text_keeps_its_white_space() -> None:
    error = read("<tool_error>\n<message>  padded\r\n </message>\n<recovery>\ta </recovery>\n</tool_error>")
    assert (error.message, error.suggestion) == ("  padded\r\n ", "\ta ")


def test_cdata_is_text_and_comments_are_nothing() -> None:
    error = read("<tool_error><!-- <message>no</message> --><message>a<![CDATA[<b> & ]]&gt;]]>c</message></tool_error>")
    assert error.message == "a<b> & ]]&gt;c"


def test_references_are_resolved_once() -> None:
    assert read("<tool_error><message>&amp;amp;lt; &amp;#65;</message></tool_error>").message == "&amp;lt; &#65;"


@pytest.mark.parametrize("reference", ["&bogus;", "&", "&#x110000;", "&#xD800;", "&#99999999999;", "&#;", "&x"])
def test_broken_references_do_no_harm(reference: str) -> None:
    error = read(f"<tool_error><message>a{reference}b</message></tool_error>")
    assert error.message.startswith("a")
    assert error.message.endswith("b")
    error.message.encode()


@pytest.mark.parametrize(
    ("shown", "delay"),
    [
        ("30 seconds", 30),
        ("1 second", 1),
        ("0.5 seconds", 0.5),
        ("30", 30),
        ("30s", 30),
        ("soon", None),
        ("0 seconds", None),
        ("-1 seconds", None),
        ("NaN seconds", None),
        ("Infinity seconds", None),
        ("1e999 seconds", None),
        ("", None),
    ],
)
def test_delays(shown: str, delay: float | None) -> None:
    error = read(f'<tool_error code="TIMEOUT"><message>m</message><retry_after>{shown}</retry_after></tool_error>')
    assert error.retry_after == delay
    assert bool(error.notes) is (delay is None)


@pytest.mark.parametrize(
    ("severity", "is_error"), [("warning", False), ("WARNING", False), ("fatal", True), ("", True)]
)
def test_severities(severity: str, is_error: bool) -> None:
    assert read(f'<tool_error severity="{severity}"><message>m</message></tool_error>').is_error is is_error


@pytest.mark.parametrize("cut", range(20, len(WHOLE), 7))
def test_truncated_xml_is_read_as_far_as_it_goes(cut: int) -> None:
    error = fw.parse(WHOLE[:cut])
    if ">" in WHOLE[:cut]:
        assert isinstance(error, fw.Conflict)
        assert error.notes[0] == "The element tool_error was never closed."


@pytest.mark.parametrize(
    "text",
    [
        "<html><body>502</body></html>",
        "<tool_errors><message>x</message></tool_errors>",
        "<message>x</message>",
        "<",
        "<>",
        "<tool_error",
        "</tool_error>",
        "a <tool_error><message>x</message></tool_error>",
        "<hydration_alert><message>a <500> & b</message></hydration_alert>",
    ],
)
def test_other_xml_is_not_ours(text: str) -> None:
    assert fw.parse(text) is None


BOMB = (
    '<!DOCTYPE lolz [<!ENTITY lol "lol">'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    + "]><tool_error><message>&l9;</message></tool_error>"
)
EXTERNAL = (
    '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname"><!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]>'
    "<tool_error><message>&f;</message></tool_error>"
)


@pytest.mark.parametrize("text", [BOMB, EXTERNAL])
def test_entities_are_neither_expanded_nor_fetched(text: str) -> None:
    error = fw.parse(text)
    assert error is None or error.message in ("&l9;", "&f;")


def test_the_own_message_of_wrong_arguments_is_what_is_told() -> None:
    assert read("<validation_error><message>bad</message></validation_error>").message == "bad"
    assert read("<validation_error><message> </message></validation_error>").message == "The arguments are invalid."
    said = read('<validation_error><message>bad</message><field name="a">No</field></validation_error>')
    assert (said.message, said.fields[0].path) == ("bad", ("a",))
