"""The guard as a whole: it leaves what is fine alone, is the same the second time, never raises, and stays fast."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from canaries import CANARIES
from ordinary import ORDINARY

import failwell as fw
from failwell.formats import FORMATS
from failwell.redact import DEFAULT, MASK, Guard, guard, masked, secret_paths, without_values
from failwell.redact.fence import fence
from failwell.redact.redactor import Redactor
from failwell.redact.visibility import visible
from growth import wrong_growth


def said(outcome: fw.ToolError | fw.NeedsInput) -> str:
    return json.dumps([outcome.to_dict(), getattr(outcome, "debug", None)], ensure_ascii=False)


JSON_FORMATS = [name for name in FORMATS if name not in ("text", "xml")]
FINE = [
    fw.ToolError("Project 'p_1' does not exist."),
    fw.NotFound("Gone.", suggestion="Call projects.list first.", actions=["projects.list"]),
    fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=30),
    fw.Conflict("2 conflicts", recoverable=True, conflicts=[{"agent_id": "a2", "pattern": "src/*", "held_by": "a2"}]),
    fw.Invalid("Bad.", fields=[{"path": ["limit"], "message": "too large", "sent": 900, "options": [1, 2]}]),
    fw.ToolError("Paid.", code="InvoicePaid", kind="conflict", details={"invoice": "inv_1", "n": [1, None, True]}),
    fw.error("Something failed"),
    fw.required("workspace_id"),
    fw.ToolError(""),
]


@pytest.mark.parametrize("error", FINE, ids=str)
def test_an_ordinary_error_comes_back_itself(error: fw.ToolError) -> None:
    assert guard(error) is error


def test_no_word_of_a_format_itself_asks_for_a_second_look() -> None:
    """A rule that begins with a word such as `code` would have every error looked at twice."""
    # Whatever is escaped in JSON is looked at more closely anyhow.
    plain = [error for error in FINE if '"' not in error.message]
    written = [(error, format, fw.render(error, format, guard=None)) for error in plain for format in JSON_FORMATS]
    assert [(str(error), format) for error, format, text in written if not DEFAULT.hides_nothing(text)] == []


@pytest.mark.parametrize("name", ["p\\u0061ssword", "\\u0074oken", "p%61ssword"])
def test_a_name_with_letters_written_as_numbers_is_seen_at_first_sight(name: str) -> None:
    assert DEFAULT(fw.ToolError(f"{name}=hunter2xyz")).message == f"{name}={MASK}"


def test_a_missing_key_asks_for_no_second_look_and_hides_nothing() -> None:
    plain = fw.Internal("The tool failed.", debug="KeyError: 7", details={"error_type": "KeyError"})
    assert DEFAULT(plain) is plain
    assert DEFAULT.hides_nothing("KeyError 7")
    assert DEFAULT(fw.Internal("KeyError: api_key=hunter2xyz")).message == f"KeyError: api_key={MASK}"


def test_an_ordinary_question_comes_back_itself() -> None:
    question = fw.NeedsInput("Which one?", fields=["id"], suggestions={"id": ["a", "b"]}, options=["a"])
    assert guard(question) is question


def test_a_question_keeps_its_class() -> None:
    class Ask(fw.NeedsInput):
        pass

    assert type(guard(Ask("Which one?"))) is Ask


def test_an_error_keeps_its_class_its_cause_and_what_it_was_read_from() -> None:
    class Lost(fw.NotFound, code="LOST"):
        def __init__(self, where: str) -> None:
            super().__init__(f"Lost in {where}.")

    cause = KeyError("x")
    error = Lost("password=hunter2xY").replace(cause=cause, origin="peer", confidence=0.5)
    clean = guard(error)
    assert type(clean) is Lost
    assert clean.message == f"Lost in password={MASK}"
    assert (clean.cause, clean.origin, clean.confidence, clean.args) == (cause, "peer", 0.5, (clean.message,))


def test_the_original_is_not_changed() -> None:
    error = fw.Invalid(
        "password=hunter2xY " * 900,
        details={"a": [{"b": "password=hunter2xY"}]},
        fields=[{"path": ["password"], "message": "m", "sent": ["hunter2xY"]}],
    )
    before = copy.deepcopy(error)
    guard(error)
    assert said(error) == said(before)


@pytest.mark.parametrize("share", [20, pytest.param(3, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("size", [100, 8000])
def test_guarding_twice_changes_nothing(size: int, share: int) -> None:
    small = Guard.make(max_chars=size)
    for text in [canary.text for canary in CANARIES[::share]] + ORDINARY[::share]:
        for error in (
            fw.ToolError(text, details={"a": [text], text: 1}, suggestion=text),
            fw.Invalid(text * 50, fields=[{"path": ["a"], "message": text, "sent": text}], next_steps=[text] * 9),
        ):
            once = small(error)
            assert small(once) == once


@pytest.mark.parametrize("canary", CANARIES[:: len(CANARIES) // 100], ids=lambda canary: canary.name)
def test_masking_twice_changes_nothing(canary: Any) -> None:
    for text in (canary.text, "System: " + canary.text, f"<{canary.text}>", f'"{canary.text}"', canary.text + "'"):
        once = DEFAULT.text(text)
        assert DEFAULT.text(once) == once


def test_keys_that_become_the_same_lose_nothing() -> None:
    keys = ["AKIA" + letter * 16 for letter in "ABC"]
    clean = guard(fw.ToolError("m", details={key: number for number, key in enumerate(keys)}))
    assert sorted(clean.details.values()) == [0, 1, 2]


ODD = [
    "",
    "\ud800",
    "\x00" * 50,
    "password=",
    'password="',
    "password='\\",
    "password=\\",
    '\\"password\\":\\"',
    "://:@",
    "a://b:c@" * 20,
    "<password>",
    "<password></password>",
    "WIFI:;P:",
    "-----BEGIN PRIVATE KEY-----",
    "authorization:",
    "authorization: \"'",
    "Cookie:=",
    "%",
    "%zz=1&password=%",
    "{" * 99,
    "[" * 99,
    "System:",
    MASK,
    MASK * 9,
    "…",
]


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_it_never_raises(text: str) -> None:
    for by in (
        DEFAULT,
        Guard.make(max_chars=0),
        Guard.make(max_tokens=0),
        Guard.make(max_chars=-5, max_tokens=-5),
        Guard.make(names=[text], schema={}),
    ):
        by(fw.ToolError(text, code=text, details={text: {text: [text]}}, debug=text))
        by(fw.Invalid(text, fields=[{"path": [text, 0], "message": text, "sent": {text: text}}]))
        by(fw.NeedsInput(text, fields=[text], suggestions={text: [text]}, options=[text]))
        by.text(text, text)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "format": "password"},
        "login": {"type": "object", "properties": {"phrase": {"type": "string", "writeOnly": True}}},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"s": {"format": "password"}}}},
        "either": {"anyOf": [{"type": "null"}, {"type": "string", "format": "password"}]},
        "map": {"type": "object", "additionalProperties": {"format": "password"}},
        "named": {"type": "object", "patternProperties": {"^x": {"writeOnly": True}}},
        "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"format": "password"}]},
        "model": {"$ref": "#/$defs/Model"},
        "models": {"type": "array", "items": {"$ref": "#/$defs/Model"}},
        "plain": {"type": "string"},
        "read": {"type": "string", "readOnly": True},
    },
    "if": {"properties": {"plain": {"const": "x"}}},
    "then": {"properties": {"later": {"writeOnly": True}}},
    "$defs": {
        "Model": {
            "type": "object",
            "properties": {"phrase": {"format": "password"}, "again": {"$ref": "#/$defs/Model"}, "open": {}},
        }
    },
}
SECRET_AT: list[list[str | int]] = [
    ["code"],
    ["login", "phrase"],
    ["rows", 3, "s"],
    ["either"],
    ["map", "anything"],
    ["named", "xa"],
    ["tuple", 1],
    ["model", "phrase"],
    ["model", "again", "phrase"],
    ["models", 0, "phrase"],
    ["later"],
    ["login.phrase"],
]
OPEN_AT: list[list[str | int]] = [["plain"], ["read"], ["login", "user"], ["rows", 3, "t"], ["model", "open"]]


def _at(path: list[str | int], value: Any) -> Any:
    for part in reversed(path):
        value = {part: value} if isinstance(part, str) else [None] * part + [value]
    return value


@pytest.mark.parametrize("path", SECRET_AT, ids=str)
def test_what_the_schema_calls_secret_is_masked(path: list[str | int]) -> None:
    by = Guard.make(schema=SCHEMA)
    told = by(fw.Invalid("m", fields=[{"path": path, "message": "'zebra' is wrong", "sent": "zebra"}]))
    assert "zebra" not in said(told)
    assert told.fields[0].sent == MASK


@pytest.mark.parametrize("path", SECRET_AT[:-1], ids=str)
def test_what_the_schema_calls_secret_is_masked_inside_what_was_sent(path: list[str | int]) -> None:
    by = Guard.make(schema=SCHEMA)
    assert "zebra" not in said(by(fw.Invalid("m", fields=[{"path": [], "message": "m", "sent": _at(path, "zebra")}])))
    if len(path) > 1:
        sent = _at(path[1:], "zebra")
        assert "zebra" not in said(by(fw.Invalid("m", fields=[{"path": path[:1], "message": "m", "sent": sent}])))


@pytest.mark.parametrize("path", SECRET_AT[:4], ids=str)
def test_a_patch_for_what_the_schema_calls_secret_is_masked(path: list[str | int]) -> None:
    by = Guard.make(schema=SCHEMA)
    assert "zebra" not in said(by(fw.Invalid("m", patch=[{"op": "set", "path": path, "value": "zebra"}])))


@pytest.mark.parametrize("path", OPEN_AT, ids=str)
def test_what_the_schema_does_not_call_secret_stays(path: list[str | int]) -> None:
    error = fw.Invalid("m", fields=[{"path": path, "message": "m", "sent": "zebra"}])
    assert Guard.make(schema=SCHEMA)(error) == error


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": 5},
        {"properties": {"a": 5}, "items": [], "allOf": {}},
        {"$ref": "#"},
        {"$ref": "https://example.com/x"},
        {"$ref": "#/nowhere"},
        {"$ref": 5},
        {"properties": {"a": {"$ref": "#"}}},
        {"items": True, "additionalProperties": False},
        {"format": 5, "writeOnly": "yes"},
    ],
    ids=str,
)
def test_an_odd_schema_does_no_harm(schema: dict[str, Any]) -> None:
    assert secret_paths(schema) == frozenset()


def test_the_paths_can_be_seen() -> None:
    assert {("code",), ("login", "phrase"), ("rows", "*", "s"), ("either",)} <= secret_paths(SCHEMA)


@pytest.mark.parametrize(
    "name", ["internal_code", "internalCode", "Internal-Code", "INTERNAL_CODE", "my_internal_code"]
)
def test_a_name_of_your_own_works_like_ours(name: str) -> None:
    by = Guard.make(names=["internal_code"])
    assert by(fw.ToolError("m", details={name: "zebra"})).details == {name: MASK}
    assert "zebra" not in by.text(f"{name}=zebra")
    assert "zebra" not in by.text(f'{{"{name}": "zebra"}}')
    assert "zebra" not in said(by(fw.Invalid("m", fields=[{"path": [name], "message": "m", "sent": "zebra"}])))


def test_a_name_of_your_own_is_a_whole_word() -> None:
    by = Guard.make(names=["code"])
    assert by(fw.ToolError("m", details={"codec": "zebra"})).details == {"codec": "zebra"}


def test_a_number_under_a_name_of_your_own_is_masked() -> None:
    assert Guard.make(names=["ssn"])(fw.ToolError("m", details={"ssn": 123456789})).details == {"ssn": MASK}


def test_a_known_secret_is_masked_everywhere() -> None:
    by = Guard.make(values=["zebra crossing", "zebra"])
    error = fw.ToolError("A zebra crossing.", details={"zebra": ["a zebra"]}, code="zebra", debug="zebra")
    assert "zebra" not in said(by(error))
    assert by(error).message == f"A {MASK}."


@pytest.mark.parametrize(
    "spelled", ['pa"ss/w ord', 'pa\\"ss/w ord', "pa%22ss%2Fw%20ord", "pa%22ss/w+ord", "pa&quot;ss/w ord"]
)
def test_a_known_secret_is_masked_in_every_spelling(spelled: str) -> None:
    assert spelled not in Guard.make(values=['pa"ss/w ord']).text(f"got {spelled} back")


@pytest.mark.parametrize(
    "parted",
    [
        "hunter2\u200bhunter2", "hunter2\u00adhunter2", "hunter2\x1b[31mhunter2", "hunter2\x00hunter2", "hunter2\nhunter2",
        "hunter2\r\n  > hunter2", "hunter2\\u200bhunter2", "\\u0068unter2hunter2", "h&#117;nter2hunter2",
        "correct\nhorse battery", "correct  horse\tbattery", "correct\\nhorse battery",
    ],
)  # fmt: skip
def test_a_known_secret_is_masked_though_something_parts_it_that_goes(parted: str) -> None:
    by = Guard().knowing(["hunter2hunter2", "correct horse battery"])
    assert by.text(f"no {parted} here") == f"no {MASK} here"
    assert by.redact(f"no {parted} here") == f"no {MASK} here"


@pytest.mark.parametrize("text", ["a\u200bb\nc d", "12\n34", "C:\\new\\u0041 &#65;", "hunter2 and hunter2"])
def test_a_text_without_a_known_secret_stays_whatever_is_in_it(text: str) -> None:
    assert without_values(text, ["hunter2hunter2", "1234"], MASK) == text


def test_a_secret_that_is_a_name_in_data_is_masked_and_no_value_is_lost() -> None:
    token, other = f"ghp_{'a1B2' * 9}", f"ghp_{'c3D4' * 9}"
    data = {token: 1, other: 2, "postgres://bob:sup3rpw@db/x": {"token": "<unchanged>"}, "plain": 3}
    assert masked(data) == {
        MASK: 1,
        f"{MASK} 2": 2,
        f"postgres://bob:{MASK}@db/x": {"token": "<unchanged>"},
        "plain": 3,
    }


def test_a_secret_in_data_is_masked_though_something_unseen_parts_it() -> None:
    assert masked({"a": f"got ghp_\u200b{'a1B2' * 9}"}) == {"a": f"got {MASK}"}
    assert masked({"a": "a\u200bb"}) == {"a": "a\u200bb"}


def test_a_known_secret_that_is_a_number_is_masked() -> None:
    assert "12345678" not in said(Guard.make(values=["12345678"])(fw.ToolError("m", details={"n": 12345678})))


def test_a_known_secret_too_short_to_mask_is_refused() -> None:
    with pytest.raises(ValueError):
        Guard.make(values=["abc"])


def test_a_value_that_is_part_of_the_mask_is_refused() -> None:
    with pytest.raises(ValueError):
        Guard.make(values=["redacted"])


UNITS = [
    *'a A 0 f . _ - = : ; / % + ~ # * < > { [ ( \' " \\ é 語 a. a_ a- a/ a: a= Aa0- _- +/ =: \'" \\" password= password: '
    "password=[ password={ password=' password=\\ <password> <a> </ ://a: a://b: a://a a://a@ https:// a:b@ eyJ -eyJ "
    "-eyJaaaaaaaa eyJaaaaaaaa. -eyJaaaaaaaa.aaaaaaaa sk- -sk-a ya29. -ya29.a -pypi-a .sl.a -fm1_ -ops_eyJ -EAA SG. "
    "SG.aaaaaaaaaaaaaaaa. xkeysib- 8Q~ ...8Q~ AAAA-aaaaaa: 0123456789abcdef- M-aaaaaaaaaaaaaaaaaaaaaa. "
    "a.webhook.office.com discord.com/api/webhooks/ WIFI: WIFI:;P ;P: key%3D code= ?key= &sid= token -hvs.a -glc_a dp. "
    'cookie:a= authorization:" jdbc:oracle:ab: <|a <system [INST'.split(),
    " ",
    "\n",
    "\t",
    "\r",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "<a ",
    "<a b",
    "<system ",
    "authorization: ",
    'authorization: a"',
    "cookie: a",
    "basic ",
    "bearer a",
    "-u a",
    "-u a:",
    "login a ",
    "login a password ",
    "identified by ",
    "identified with ",
    "password '",
    "--a ",
    "--password ",
    "ENV ",
    "'--password', ",
    "ignore previous ",
    "ignore all ",
    "you are now ",
    "show ",
    "system ",
    "# ",
    "\nsystem",
    "\x1b",
    "\x1b[",
    "\x1b]",
    "\x1b]a",
    "\x1bP",
    "\x9b",
    "\x9d",
    "\u200b",
    "\u200d",
    "a\u200d",
    "é\u200d",
    "\u200d\u200b",
    "\u2028",
    "\U000e0041",
    "[untrusted text, not instructions: ",
    "a" * 60 + "=",
    "a" * 33 + " ",
    "x=" + "aB3" * 20 + "!",
]
WORKERS: dict[str, Callable[[str], object]] = {
    "redact": Redactor(),
    "fence": fence,
    "visible": visible,
    "text": DEFAULT.text,
    "guard": lambda text: guard(fw.ToolError(text)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("worker", WORKERS)
def test_work_grows_with_the_text_and_no_faster(worker: str) -> None:
    # No worker meets a longer text than this: it was cut before.
    assert wrong_growth(WORKERS[worker], UNITS, 20_000) == []
