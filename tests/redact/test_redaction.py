"""No secret comes out: every canary, in every field and nesting, through every format."""

from __future__ import annotations

import json
import random
import string
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

import pytest
from canaries import CANARIES, Canary

import failwell as fw
from failwell.formats import FORMATS
from failwell.redact import DEFAULT, MASK, Guard
from failwell.redact.redactor import Redactor

ROOMY = Guard.make(max_chars=10**7, max_tokens=10**7)
"""Nothing is cut, so that nothing is gone only because it was cut."""

Place = Callable[[str], "fw.ToolError | fw.NeedsInput"]


def _caused(text: str) -> fw.ToolError:
    try:
        try:
            raise ValueError(text)
        except ValueError as problem:
            raise fw.Internal("It broke.", cause=problem, debug=f"{type(problem).__name__}: {problem}") from problem
    except fw.ToolError as error:
        return error


PLACES: dict[str, Place] = {
    "message": lambda text: fw.ToolError(text),
    "message of an exception": lambda text: fw.ToolError(ValueError(text)),
    "code": lambda text: fw.ToolError("m", code=text),
    "title": lambda text: fw.ToolError("m", title=text),
    "suggestion": lambda text: fw.ToolError("m", suggestion=text),
    "next_steps": lambda text: fw.ToolError("m", next_steps=["First.", text]),
    "action tool": lambda text: fw.ToolError("m", actions=[text]),
    "action description": lambda text: fw.ToolError("m", actions=[{"tool": "t", "description": text}]),
    "action arguments": lambda text: fw.ToolError("m", actions=[{"tool": "t", "arguments": {"q": [text]}}]),
    "action argument name": lambda text: fw.ToolError("m", actions=[{"tool": "t", "arguments": {text: 1}}]),
    "field path": lambda text: fw.Invalid("m", fields=[{"path": ["a", text], "message": "wrong"}]),
    "field message": lambda text: fw.Invalid("m", fields=[{"path": ["a"], "message": text}]),
    "field sent": lambda text: fw.Invalid("m", fields=[{"path": ["a"], "message": "wrong", "sent": text}]),
    "field sent, nested": lambda text: fw.Invalid(
        "m", fields=[{"path": ["a"], "message": "wrong", "sent": {"b": [{"c": text}]}}]
    ),
    "field expected": lambda text: fw.Invalid("m", fields=[{"path": ["a"], "message": "wrong", "expected": text}]),
    "field options": lambda text: fw.Invalid("m", fields=[{"path": ["a"], "message": "wrong", "options": [text]}]),
    "field rule": lambda text: fw.Invalid("m", fields=[{"path": ["a"], "message": "wrong", "rule": text}]),
    "patch path": lambda text: fw.Invalid("m", patch=[{"op": "remove", "path": [text]}]),
    "patch value": lambda text: fw.Invalid("m", patch=[{"op": "set", "path": ["a"], "value": {"b": text}}]),
    "patch to": lambda text: fw.Invalid("m", patch=[{"op": "rename", "path": ["a"], "to": text}]),
    "conflict": lambda text: fw.Conflict("m", conflicts=[{"agent_id": text, "pattern": text, "held_by": text}]),
    "conflict extra": lambda text: fw.Conflict("m", conflicts=[{"held_by": {"who": [text]}, "since": text}]),
    "verify": lambda text: fw.Transient(
        "m", effect="unknown", verify={"tool": text, "description": text, "arguments": {"id": text}}
    ),
    "details": lambda text: fw.ToolError("m", details={"a": text}),
    "details, deep": lambda text: fw.ToolError("m", details={"a": [{"b": [[{"c": text}]]}, 1]}),
    "details key": lambda text: fw.ToolError("m", details={"a": {text: True}}),
    "details bytes": lambda text: fw.ToolError("m", details={"body": text.encode()}),
    "meta": lambda text: fw.ToolError("m", meta={"correlation_id": text, "rollback": {"b": text}}),
    "policy_decision": lambda text: fw.Denied("m", policy_decision=text),
    "tool": lambda text: fw.Invalid("m", tool=text, fields=[("a", "wrong")]),
    "action": lambda text: fw.Invalid("m", action=text, fields=[("a", "wrong")]),
    "tier": lambda text: fw.ToolError("m", tier=text),
    "correlation_id": lambda text: fw.ToolError("m", correlation_id=text),
    "notes": lambda text: fw.ToolError("m", notes=[text]),
    "format": lambda text: fw.ToolError("m", format=text),
    "debug": lambda text: fw.ToolError("m", debug={"trace": [text]}),
    "cause": _caused,
    "question": lambda text: fw.NeedsInput(text, reason=text),
    "question fields": lambda text: fw.NeedsInput("m", fields=[text]),
    "question suggestions": lambda text: fw.NeedsInput("m", fields=["a"], suggestions={"a": [text], text: ["b"]}),
    "question options": lambda text: fw.NeedsInput(
        "m", options=[{"label": text, "value": {"v": text}, "description": text, "field": text}]
    ),
    "question notes": lambda text: fw.NeedsInput("m", notes=[text]),
}


def everywhere(text: str) -> fw.ToolError:
    """One error that says `text` wherever it can say anything."""
    return fw.Invalid(
        text,
        code="Custom",
        title=text,
        suggestion=text,
        next_steps=[text],
        actions=[{"tool": text, "description": text, "arguments": {text: [text]}}],
        fields=[
            {"path": [text], "message": text, "sent": [text], "expected": text, "options": [text], "rule": text},
            {"path": ["a"], "message": "Not this: " + text, "sent": text},
        ],
        patch=[{"op": "set", "path": [text], "value": text}, {"op": "rename", "path": ["a"], "to": text}],
        conflicts=[{"agent_id": text, "pattern": text, "held_by": text, "more": [text]}],
        effect="unknown",
        verify={"tool": text, "arguments": {text: text}},
        details={text: {"in": [text]}},
        policy_decision=text,
        tool=text,
        action=text,
        tier=text,
        correlation_id=text,
        meta={text: text, "rollback": text},
        notes=[text],
        debug=[text],
    )


def ways_out(outcome: fw.ToolError | fw.NeedsInput, guard: Guard = ROOMY, carries: Any = (True,)) -> Iterator[str]:
    """Everything anybody could read of it."""
    clean = guard(outcome)
    yield str(clean)
    yield repr(clean)
    # Guarded once is enough: that every way out asks the guard has a test of its own.
    more: dict[str, Any] = {"guard": None}
    for carry in carries:
        for format in FORMATS:
            yield fw.render(clean, format, carry=carry, **more)
        yield json.dumps(fw.to_jsonrpc(clean, 1, debug=True, carry=carry, **more), ensure_ascii=False)
        yield json.dumps(fw.to_result(clean, "v1", gate="both", carry=carry, **more), ensure_ascii=False)
    yield json.dumps(fw.to_result(clean, "text", **more), ensure_ascii=False)


def spellings(secret: str) -> set[str]:
    return {secret, json.dumps(secret, ensure_ascii=False)[1:-1], escape(secret), repr(secret)[1:-1]}


def whole(clean: fw.ToolError | fw.NeedsInput) -> str:
    """All that a guarded error holds."""
    return json.dumps([clean.to_dict(), getattr(clean, "debug", None)], ensure_ascii=False)


def leaks(outcome: fw.ToolError | fw.NeedsInput, secret: str, **more: Any) -> list[str]:
    forms = spellings(secret)
    return [out[:300] for out in ways_out(outcome, **more) if any(form in out for form in forms)]


def _families() -> dict[str, list[Canary]]:
    found: dict[str, list[Canary]] = defaultdict(list)
    for canary in CANARIES:
        found[canary.name.split("/")[0]].append(canary)
    return found


FAMILIES = _families()
PLAIN = [canaries[0] for canaries in FAMILIES.values()]
BARE = [canary for canary in CANARIES if canary.name.endswith("/line") and canary.text.count("\n") == 2]
"""Shapes that give themselves away without any words about them."""


def test_there_are_canaries_enough() -> None:
    assert len(FAMILIES) >= 40
    assert len(BARE) >= 40
    assert all(canary.secret in canary.text for canary in CANARIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_canary_comes_out_of_any_format(family: str) -> None:
    """Of each family the first one in every format: what is the same in the others leaves by the same way."""
    first, *others = FAMILIES[family]
    assert leaks(everywhere(first.text), first.secret) == [], first.name
    for canary in others:
        said = whole(ROOMY(everywhere(canary.text)))
        assert not any(form in said for form in spellings(canary.secret)), canary.name


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_no_canary_of_a_family_comes_out_of_any_format(family: str) -> None:
    for canary in FAMILIES[family][1:]:
        assert leaks(everywhere(canary.text), canary.secret) == [], canary.name


@pytest.mark.parametrize("carry", [True, False])
def test_no_canary_comes_out_with_the_default_budget(carry: bool) -> None:
    for canary in PLAIN[::4]:
        assert leaks(everywhere(canary.text), canary.secret, guard=DEFAULT, carries=[carry]) == [], canary.name


@pytest.mark.parametrize("format", FORMATS)
def test_every_way_out_asks_the_guard(format: str) -> None:
    for canary in (*PLAIN[[*FORMATS].index(format) :: 90], *PLAIN[-2:]):
        error = everywhere(canary.text)
        outs = [
            *(fw.render(error, format, carry=carry) for carry in (True, False)),
            *(json.dumps(fw.to_result(error, format, carry=carry, gate="both")) for carry in (True, False)),
            json.dumps(fw.to_jsonrpc(error, 1, debug=True)),
            "".join(fw.losses(error, format)),
        ]
        assert not any(form in out for out in outs for form in spellings(canary.secret)), canary.name


@pytest.mark.checklist(293)
@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("place", PLACES)
def test_no_canary_comes_out_of_any_place(place: str, share: int) -> None:
    """Each place with one canary in four, others in the next place; with all of them in `make thorough`."""
    turn = [*PLACES].index(place) % share
    for canary in PLAIN[turn::share]:
        said = whole(ROOMY(PLACES[place](canary.text)))
        assert not any(form in said for form in spellings(canary.secret)), canary.name
    for canary in PLAIN[turn :: 20 * share]:
        assert leaks(PLACES[place](canary.text), canary.secret, carries=[False, True]) == [], canary.name


GLUES = {
    "spaces": (" ", " "),
    "quotes": ('"', '"'),
    "brackets": ("[", "]"),
    "angles": ("<", ">"),
    "equals": ("x=", "&y=1"),
    "colon": ("x:", ":"),
    "slashes": ("/", "/"),
    "dots": (".", "."),
    "hyphens": ("-", "-"),
    "underscores": ("_", "_"),
    "letters of other scripts": ("错误", "错误"),
    "accents": ("é", "é"),
    "emoji": ("🔑", "🔑"),
    "zero width": ("\u200b", "\u200b"),
    "a colour": ("\x1b[31m", "\x1b[0m"),
    "a newline written out": ("\\n", "\\n"),
    "a tab written out": ("\\t", "\\t"),
    "a quote written out": ("\\u0022", "\\u0022"),
    "a percent escape": ("%20", "%20"),
    "an entity": ("&quot;", "&quot;"),
}


@pytest.mark.parametrize("glue", GLUES)
def test_neighbours_do_not_hide_a_secret(glue: str) -> None:
    left, right = GLUES[glue]
    missed = [
        canary.name
        for canary in BARE
        for text in (left + canary.secret, canary.secret + right, left + canary.secret + right)
        if canary.secret in DEFAULT.text(f"It failed: {text} (see the log)")
    ]
    assert sorted(set(missed)) == []


UNMISTAKABLE = (
    "github-personal github-fine-grained gitlab-personal slack-bot stripe-secret anthropic openai-project npm "
    "google-api-key sendgrid digitalocean-pat shopify-access jwt-three-parts"
).split()


@pytest.mark.parametrize("name", UNMISTAKABLE)
def test_letters_glued_to_an_unmistakable_token_do_not_hide_it(name: str) -> None:
    secret = FAMILIES[name][0].secret
    assert secret not in DEFAULT.text(f"The key{secret} was refused.")
    assert secret not in DEFAULT.text(f"The 0{secret} was refused.")


@pytest.mark.parametrize(
    "invisible", ["\u200b", "\u00ad", "\u2060", "\u200d", "\ufe0f", "\U000e0041", "\x1b[1m", "\u202e"]
)
def test_what_cannot_be_seen_does_not_split_a_secret(invisible: str) -> None:
    for canary in BARE:
        hidden = canary.secret[:2] + invisible + canary.secret[2:8] + invisible + canary.secret[8:]
        clean = DEFAULT.text(f"It failed: {hidden}.")
        assert canary.secret[8:] not in clean, canary.name


def test_two_secrets_side_by_side_both_go() -> None:
    for one, two in pairwise(BARE):
        clean = DEFAULT.text(f"tried {one.secret},{two.secret}")
        assert one.secret not in clean, (one.name, two.name)
        assert two.secret not in clean, (one.name, two.name)


def test_what_stands_around_a_secret_stays() -> None:
    assert DEFAULT.text("Login failed for postgres://app:hunter2@db/main after 3 s.") == (
        f"Login failed for postgres://app:{MASK}@db/main after 3 s."
    )
    assert DEFAULT.text('{"user": "ada", "password": "hunter2", "limit": 5}') == (
        f'{{"user": "ada", "password": "{MASK}", "limit": 5}}'
    )
    assert DEFAULT.text("export A=1 DB_PASSWORD=hunter2 B=2") == f"export A=1 DB_PASSWORD={MASK} B=2"


SECRET = "hunter2" + "xY9"
WRITTEN = {
    "comparison": 'if password == "§":',
    "a word, then punctuation": "password=a!§",
    "quoted words that begin like prose": 'password="the §"',
    "quoted with an apostrophe": "password='it\\'s §'",
    "a dollar sign": "password=$§",
    "an at sign": "password=@§",
    "yaml block": "password: |\n  §\nuser: ada",
    "yaml folded": "password: >-\n  §\nuser: ada",
    "yaml tag": "password: !!str §",
    "triple quotes": 'password = """§"""',
    "rust debug": 'Config { user: "ada", password: Some("§") }',
    "python repr of a wrapper": "Config(user='ada', password=Secret('§'))",
    "json list": '{"password": ["§"]}',
    "json object": '{"password": {"value": "§"}}',
    "json text in json in json": '{\\\\\\"password\\\\\\": \\\\\\"§\\\\\\"}',
    "json as html": "{&quot;password&quot;:&quot;§&quot;}",
    "json in a url": "body=%7B%22password%22%3A%22§%22%7D",
    "form with brackets": "user[name]=ada&user[password]=§",
    "name and value apart": '{"name": "password", "value": "§"}',
    "xml attribute pair": '<add key="Password" value="§"/>',
    "after another script": "请输入password=§",
    "after a digit": "1password=§",
    "wide alignment": "password      = §",
    "arrow": "password -> §",
    "double quotes in a sentence": 'The password "§" is wrong.',
    "typographic quotes": "password: “correct §”",
    "url password with a quote": "postgres://app:it's§@db/main",
    "go dsn": "ada:§@tcp(db:3306)/main",
    "mysql flag": "mysql -uroot -p§ main",
    "sshpass": "sshpass -p § ssh root@host",
    "a mask somebody else put there": 'password="[redacted] §"',
    "header in a list": "{'authorization': ['§']}",
    "cookie in a list": '{"set-cookie": ["sid=§; Path=/"]}',
}


@pytest.mark.parametrize("way", WRITTEN)
def test_a_password_is_masked_however_it_is_written(way: str) -> None:
    text = WRITTEN[way].replace("§", SECRET)
    assert SECRET not in DEFAULT.text(text)
    assert leaks(fw.ToolError(text, details={"log": text}), SECRET) == []


def test_a_scheme_with_letters_only_is_masked() -> None:
    assert "dXNlcjpwYXNz" not in DEFAULT.text("Sent Basic dXNlcjpwYXNz and got 401.")


def _draw(alphabet: str, length: int, seed: str) -> str:
    rng = random.Random(f"fresh:{seed}")
    return "".join(rng.choice(alphabet) for _ in range(length))


ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"


def _uuid(seed: str) -> str:
    drawn = _draw(HEX, 32, seed)
    return "-".join((drawn[:8], drawn[8:12], drawn[12:16], drawn[16:20], drawn[20:]))


FRESH = {
    "elevenlabs": "sk" + "_" + _draw(HEX, 48, "eleven"),
    "stripe organisation": "sk" + "_org_live_" + _draw(ALNUM, 40, "stripeorg"),
    "heroku": "HR" + "KU-AA" + _draw(ALNUM, 58, "heroku"),
    "circleci": "CCI" + "PAT_" + _draw(ALNUM, 22, "cci") + "_" + _draw(HEX, 40, "cci2"),
    "contentful": "CF" + "PAT-" + _draw(ALNUM, 43, "cfpat"),
    "dynatrace": "dt0" + "c01." + _draw(BASE32, 24, "dt") + "." + _draw(BASE32, 64, "dt2"),
    "hubspot": "pat" + "-na1-" + _uuid("hubspot"),
    "prefect": "pn" + "u_" + _draw(ALNUM, 36, "pnu"),
    "shippo": "shippo" + "_live_" + _draw(HEX, 40, "shippo"),
    "sourcegraph": "sg" + "p_" + _draw(HEX, 40, "sgp"),
    "resend": "re" + "_" + _draw(ALNUM, 8, "re") + "_" + _draw(ALNUM, 24, "re2"),
    "neon": "na" + "pi_" + _draw(ALNUM, 64, "napi"),
    "bedrock": "AB" + "SK" + _draw(ALNUM, 128, "absk"),
    "nvidia": "nv" + "api-" + _draw(ALNUM, 64, "nvapi"),
    "apify": "apify" + "_api_" + _draw(ALNUM, 36, "apify"),
    "duffel": "duffel" + "_live_" + _draw(ALNUM, 43, "duffel"),
    "flutterwave": "FLW" + "SECK_TEST-" + _draw(HEX, 32, "flw") + "-X",
    "mongodb atlas": "mdb" + "_sa_sk_" + _draw(ALNUM, 40, "mdb"),
    "plaid": "access" + "-sandbox-" + _uuid("plaid"),
    "typeform": "tf" + "p_" + _draw(ALNUM, 44, "tfp"),
    "bitcoin wallet": "xp" + "rv9s21ZrQH143K" + _draw(ALNUM, 95, "xprv"),
    "bcrypt hash": "$2b" + "$12$" + _draw(ALNUM, 53, "bcrypt"),
    "shadow hash": "$6" + "$" + _draw(ALNUM, 16, "shadow") + "$" + _draw(ALNUM, 86, "shadow2"),
    "okta": "SS" + "WS 00" + _draw(ALNUM, 40, "okta"),
}


@pytest.mark.parametrize("shape", FRESH)
def test_shapes_that_no_canary_has_are_masked(shape: str) -> None:
    assert FRESH[shape] not in DEFAULT.text(f"It failed with {FRESH[shape]} here.")


def test_a_putty_key_is_masked() -> None:
    body = _draw(ALNUM, 64, "ppk")
    text = f"PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPrivate-Lines: 2\n{body}\n{body[:20]}\nPrivate-MAC: 0a"
    assert body not in DEFAULT.text(text)


@pytest.mark.parametrize("shift", range(24))
def test_a_cut_does_not_part_a_secret_from_its_name(shift: int) -> None:
    text = "x " * 40_000 + "password: hunter2xY9 " + "y" * shift + " " + "y " * 7985
    assert SECRET not in DEFAULT.text(text)


@pytest.mark.parametrize("after", [7_000, 7_500, 7_900])
def test_a_cut_does_not_part_a_private_key_from_its_first_line(after: int) -> None:
    lines = [_draw(ALNUM, 64, f"pem{number}") for number in range(30)]
    dashes = "-" * 5
    key = "\n".join([f"{dashes}BEGIN PRIVATE" + f" KEY{dashes}", *lines, f"{dashes}END PRIVATE" + f" KEY{dashes}"])
    clean = DEFAULT.text("x " * 40_000 + key + "\n" + "y " * after)
    assert [line for line in lines if line in clean] == []


def test_a_secret_in_the_middle_of_a_megabyte_does_not_come_out() -> None:
    for canary in PLAIN[::10]:
        for around in ("word " * 100_000, "x" * 500_000, "\n" * 70_000):
            assert canary.secret not in DEFAULT.text(f"{around} {canary.text}\n{around}"), canary.name


def test_the_redactor_alone_masks_what_the_guard_masks() -> None:
    redact = Redactor()
    assert [canary.name for canary in CANARIES if canary.secret in redact(canary.text)] == []


def test_a_canary_alone_is_worth_a_closer_look() -> None:
    """The guard leaves ordinary errors alone after a glance; no canary may pass at a glance."""
    missed = [canary.name for canary in CANARIES if canary.secret in fw.Guard()(fw.ToolError(canary.text)).message]
    assert missed == []


@pytest.mark.parametrize(
    "address", ["https://api.example.com/v1/feed?token=§", "wss://h/ws?a=1&token=§", "GET /x?token=§"]
)
def test_a_token_in_an_address_is_no_parsers_though_it_is_written_in_capitals(address: str) -> None:
    for secret in ("SECRETQUERY", "TOPSECRET_KEY"):
        text = f"{address.replace('§', secret)} failed"
        assert secret not in DEFAULT.text(text)
        assert secret not in fw.Guard()(fw.ToolError(text)).message
    # That is what a parser says.
    assert DEFAULT.text("unexpected token=RBRACE line=3") == "unexpected token=RBRACE line=3"
