"""Which names stand for secrets: whole words, in every spelling, and nothing that only looks alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from canaries import NAMED, NOT_SECRET_NAMES

import failwell as fw
from failwell.redact import MASK, Guard, guard
from failwell.redact.secret_names import is_secret_name, masks_numbers


def said(error: fw.ToolError | fw.NeedsInput, by: Guard | None = None) -> str:
    clean = (by or guard)(error)
    return json.dumps([clean.to_dict(), getattr(clean, "debug", None)], ensure_ascii=False)


def value_under(name: str, value: Any, by: Guard | None = None) -> Any:
    return (by or guard)(fw.ToolError("m", details={name: value})).details[name]


@pytest.mark.parametrize(("name", "value"), NAMED, ids=lambda part: str(part))
def test_a_value_under_a_secret_name_is_masked(name: str, value: str) -> None:
    assert value_under(name, value) == MASK
    assert value_under(name, [value, {"inner": value}]) == [MASK, {"inner": MASK}]
    deep = guard(fw.ToolError("m", details={"a": [{"b": {name: value}}]}))
    assert deep.details == {"a": [{"b": {name: MASK}}]}
    for place in ("sent", "value"):
        problem = {"path": ["user", name], "message": "wrong", place: value}
        assert guard(fw.Invalid("m", fields=[problem])).fields[0].sent == MASK
    assert guard(fw.Invalid("m", patch=[{"op": "set", "path": [name], "value": value}])).patch[0].value == MASK
    action = guard(fw.ToolError("m", actions=[{"tool": "t", "arguments": {name: value}}])).actions[0]
    assert action.arguments == {name: MASK}
    assert guard(fw.ToolError("m", meta={name: value})).meta == {name: MASK}
    assert guard(fw.ToolError("m", debug={name: value})).debug == {name: MASK}
    assert guard(fw.NeedsInput("m", suggestions={name: [value]})).suggestions == {name: [MASK]}


@pytest.mark.parametrize(("name", "value"), NOT_SECRET_NAMES, ids=lambda part: str(part))
def test_a_value_under_a_name_that_only_looks_alike_stays(name: str, value: str) -> None:
    assert value_under(name, value) == value
    error = fw.Invalid("m", fields=[{"path": [name], "message": "wrong", "sent": value}])
    assert guard(error).fields[0].sent == value


SECRET_NAMES = (
    "passWord PassWord pass_word passphrase pass_phrase password_v2 passwordV2 dbpass db_pass pgpass rootpwd userpwd "
    "clientsecret appsecret refreshtoken idtoken sessiontoken csrftoken securitytoken secretaccesskey masterkey "
    "signingkey session_key sessionKey auth_code authCode authorization_code pin pinCode cvv cvc pat otp otp_code "
    "JSESSIONID PHPSESSID connect.sid mnemonic seed_phrase seedPhrase security_code pw x-functions-key "
    "backup_codes recovery_codes API_KEY_B64 credentials_b64 apiKeyB64 API_KEY_BASE64 SSHPASS sshpass"
).split()


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_spellings_people_use_are_known(name: str) -> None:
    assert value_under(name, "zebra-crossing") == MASK


HARMLESS = (
    "passwordless tokenize tokens token_count secretariat keystroke passage bypass_reason compass pattern patient "
    "options otpauth_supported cvs pinned pinterest spinner authoritative cookiecutter key_count pass_count bearing "
    "plan_b64 b64 basic session_count credential_kind credentials_url password_hint_enabled author_name"
).split()


@pytest.mark.parametrize("name", HARMLESS)
def test_words_that_only_contain_a_name_are_harmless(name: str) -> None:
    assert value_under(name, "zebra-crossing") == "zebra-crossing"


@pytest.mark.parametrize("name", ["cvv", "cvc", "pat", "otp", "jwt", "pwd", "auth", "bearer", "cookie"])
def test_a_short_name_alone_is_enough(name: str) -> None:
    """Nothing else in the error is worth a closer look, so only the name can ask for one."""
    assert is_secret_name(name)
    assert said(fw.ToolError("m", details={name: "zebra"})).count("zebra") == 0


@pytest.mark.parametrize("value", ["true", "false", "null", "", "required", "missing", "None"])
def test_a_value_that_says_nothing_stays(value: str) -> None:
    assert value_under("password", value) == value


@pytest.mark.parametrize("value", [True, False, None])
def test_flags_under_a_secret_name_stay(value: object) -> None:
    assert value_under("password", value) is value


@pytest.mark.parametrize("name", ["password", "pin", "otp", "cvv", "secret", "user_pwd"])
def test_a_number_can_be_a_password(name: str) -> None:
    assert masks_numbers(name)
    assert value_under(name, 4711) == MASK


@pytest.mark.parametrize("name", ["token_count", "tokens", "max_tokens", "key", "auth_attempts", "password_length"])
def test_a_number_about_tokens_stays(name: str) -> None:
    assert value_under(name, 4711) == 4711


@pytest.mark.parametrize(
    "apart",
    [
        {"headers": [{"name": "Authorization", "value": "zebra-crossing"}]},
        {"env": [{"key": "DB_PASSWORD", "value": "zebra-crossing"}]},
        {"headers": [["Authorization", "zebra-crossing"], ["Accept", "text/html"]]},
        {"argv": ["deploy", "--password", "zebra-crossing", "--verbose"]},
        {"argv": ["deploy", "--password=zebra-crossing"]},
    ],
    ids=["name and value", "key and value", "pairs", "arguments", "one argument"],
)
def test_a_name_beside_its_value_is_a_name_too(apart: dict[str, Any]) -> None:
    assert "zebra" not in said(fw.ToolError("m", details=apart))
    assert "zebra" not in said(fw.ToolError("m", actions=[{"tool": "t", "arguments": apart}]))


def test_an_answer_for_a_secret_field_is_masked() -> None:
    question = fw.NeedsInput("m", options=[{"label": "Stored", "value": "zebra-crossing", "field": "password"}])
    assert "zebra" not in said(question)


def problem(**more: Any) -> dict[str, Any]:
    return {"path": ["password"], "message": "wrong", **more}


@pytest.mark.checklist(153)
@pytest.mark.parametrize(
    "fields",
    [
        [problem(sent="zebra", message="'zebra' is too short")],
        [problem(message="'zebra' is too short")],
        [problem(message='"zebra" is too short')],
        [problem(options=["zebra"])],
        [problem(path=["credentials", "user"], sent="zebra")],
        [problem(path=["password", "value"], sent="zebra")],
        [problem(path=["user.password"], sent="zebra")],
        [problem(path=["passwords", 0], sent="zebra")],
        [problem(path=["user"], sent={"name": "ada", "password": "zebra"})],
    ],
    ids=lambda fields: ",".join(fields[0]) + ":" + ".".join(map(str, fields[0]["path"])),
)
def test_nothing_about_a_secret_argument_shows_its_value(fields: list[dict[str, Any]]) -> None:
    assert "zebra" not in said(fw.Invalid("m", fields=fields))


@pytest.mark.parametrize(
    "more",
    [
        {"suggestion": "Use something longer than 'zebra'."},
        {"details": {"input": "zebra"}},
        {"debug": "ValueError: 'zebra' is too short"},
        {"next_steps": ["Replace zebra."]},
    ],
    ids=lambda more: next(iter(more)),
)
def test_a_value_known_to_be_secret_is_masked_wherever_it_is_quoted(more: dict[str, Any]) -> None:
    assert "zebra" not in said(fw.Invalid("m", fields=[problem(sent="zebra")], **more))


def test_the_message_that_quotes_a_secret_value_is_masked() -> None:
    assert "zebra" not in said(fw.Invalid("Input 'zebra' is too short.", fields=[problem(sent="zebra")]))


def test_a_quoted_number_is_masked() -> None:
    assert "471100" not in said(fw.Invalid("m", fields=[problem(sent=471100, message="471100 is not a string")]))


def test_a_short_value_is_masked_in_its_message() -> None:
    assert "'abc'" not in said(fw.Invalid("m", fields=[problem(sent="abc", message="'abc' is too short")]))


def test_what_was_wrong_is_still_said() -> None:
    clean = guard(fw.Invalid("m", fields=[problem(sent="zebra", message="It has to have 8 characters.", rule="min")]))
    assert clean.fields[0].to_dict() == {
        "path": ["password"],
        "message": "It has to have 8 characters.",
        "rule": "min",
        "sent": MASK,
    }
