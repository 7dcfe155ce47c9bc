"""What the server was given as a secret, by us or by the caller, is in no part of a failure."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from playbook import TOOLS, Table, frame, result

from failwell.formats import META_KEY, keys
from failwell.model import ToolError
from failwell.redact import MASK
from failwell.relay import answers, failures
from failwell.relay.given_secrets import told_address
from failwell.relay.web.http_server import RemoteServer

GIVEN = {
    "GITHUB_TOKEN": "plainlookingvalue77",
    "DB_PASSWORD": 'zebra/"x"',
    "API_KEY": "short",
    "APP_SECRET": "production",
}


@pytest.mark.parametrize("form", ["result", "error", "json"])
def test_a_secret_that_the_server_was_given_is_masked_wherever_it_turns_up(form: str) -> None:
    table = Table(env=GIVEN)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    words = 'Error: connect ECONNREFUSED with plainlookingvalue77 and zebra/"x", a short one in production'
    answer: dict[str, Any] = result(1, words, is_error=form == "result")
    if form == "error":
        answer = {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {"code": -32603, "message": words, "data": {"k_plainlookingvalue77": 1}},
        }
    elif form == "json":
        answer = result(1, json.dumps({"error": words}).replace("/", "\\/"), is_error=True)
    table.server(answer)
    (told,) = table.frames
    assert b"plainlookingvalue77" not in told
    assert b"zebra" not in told
    assert b"short one in production" in told
    meta = json.loads(told)["result"]["_meta"]
    assert meta[answers.ORIGINAL]["redacted"] is True


def test_where_one_is_and_where_a_secret_is_kept_are_no_secrets(tmp_path: Path) -> None:
    (tmp_path / "key.json").touch()
    kept = {"PWD": "/srv/gone", "OLDPWD": "/srv/gone", "APP_CREDENTIALS": str(tmp_path / "key.json")}
    table = Table(env=kept, command=f"serve /srv/gone/x {tmp_path}/key.json")
    table.died()
    assert table.notes[0].line.startswith(f"serve /srv/gone/x {tmp_path}/key.json ended")


HEADERS = {
    "Authorization": "Bearer tulipword",
    "Proxy-Authorization": "Basic am9lOnBlb255d29yZA==",
    "X-Api-Key": "roseword",
    "X-Shop": "daisyword",
    "Cookie": "theme=dark; sid=lilyword",
    "X-Region": "eu-west-1",
    "X-GitHub-Api-Version": "2022-11-28",
    "Accept": "application/json",
    "User-Agent": "shopbot/1.0",
    "X-Env": "production",
    "X-Short": "blue",
    "X-Kind": "project",
}
URL = "https://joe:ivyword7@api.example/s/9f8a7b6c5d4e3f2a1b0c/mcp?token=elmword7"
SENT = ["tulipword", "am9lOnBlb255d29yZA==", "peonyword", "roseword", "daisyword", "lilyword", "9f8a7b6c5d4e3f2a1b0c"]
PLAIN = [
    "dark",
    "eu-west-1",
    "2022-11-28",
    "application/json",
    "shopbot/1.0",
    "production",
    "blue",
    "project",
    "Bearer",
]


@pytest.mark.parametrize("form", ["result", "error", "http", "other"])
def test_what_a_server_behind_an_address_is_sent_is_masked_and_what_says_nothing_is_not(form: str) -> None:
    table = Table(headers=HEADERS, url=URL, remote=True, command="https://api.example/s/9f8a7b6c5d4e3f2a1b0c/mcp")
    words = " | ".join(["refused: Bearer", *SENT, "ivyword7", "elmword7", *PLAIN])
    if form == "other":
        table.client(table.request(1, "resources/read", {"uri": "a:b"}))
    else:
        table.call(1, "get_invoice", {"invoice_id": "i"})
    if form == "result":
        table.server(result(1, words, is_error=True))
    elif form == "http":
        table.do(table.protocol.failed(b"1", ToolError(words, code="UNAUTHORIZED", details={"body": words})))
    else:
        table.server({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": words}})
    (told,) = table.frames
    assert [each for each in [*SENT, "ivyword7", "elmword7"] if each.encode() in told] == []
    assert [each for each in PLAIN if each.encode() not in told] == []


def test_an_address_is_told_without_what_is_secret_in_its_path_and_known_by_it() -> None:
    paths = ("/s/Zk48842qqw12", "/key/Zk48842", "/v2")
    told = [RemoteServer(URL.replace("/s/9f8a7b6c5d4e3f2a1b0c", path)) for path in paths]
    assert [told_address(each.url) for each in told] == [
        f"https://api.example/s/{MASK}/mcp", f"https://api.example/key/{MASK}/mcp", "https://api.example/v2/mcp",
    ]  # fmt: skip
    # Two that differ in nothing else are two servers, with keys of their own.
    assert told[0].place == "https://api.example/s/Zk48842qqw12/mcp"


FORMS: dict[str, Callable[[str], str]] = {
    "as an address": lambda text: quote(text),
    "as an address, all of it": lambda text: quote(text, safe=""),
    "as an address, in small letters": lambda text: re.sub("%..", lambda each: each[0].lower(), quote(text, safe="")),
    "as JavaScript does": lambda text: quote(text, safe=";/?:@&=+$,#!*'()"),
    "in base64": lambda text: b64encode(text.encode()).decode(),
    "in base64, after a name": lambda text: b64encode(f"joe:{text}".encode()).decode(),
    "in base64 for addresses": lambda text: urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "in JSON in JSON": lambda text: json.dumps(json.dumps(text))[3:-3],
    "in markup": lambda text: escape(text),
    "in hex": lambda text: text.encode().hex(),
    "in HEX": lambda text: text.encode().hex().upper(),
    "in hex, with colons": lambda text: text.encode().hex(":"),
    "in HEX, with colons": lambda text: text.encode().hex(":").upper(),
    "in hex, with blanks": lambda text: text.encode().hex(" "),
    "in hex, as code writes bytes": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "as an address, with each letter": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "as an address in an address": lambda text: quote(quote(text, safe=""), safe=""),
    "in JSON of PHP in JSON": lambda text: json.dumps(json.dumps(text)[1:-1].replace("/", "\\/"))[1:-1],
    "in capitals": str.upper,
    "in small letters": str.lower,
    "in code": lambda text: repr(text)[1:-1],
    "in code, as bytes": lambda text: repr(text.encode())[2:-1],
    "in code, as bytes, in JSON": lambda text: json.dumps(repr(text.encode())[2:-1])[1:-1],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_masked_in_each_form_that_programs_write_it_in(form: str) -> None:
    secret = "Tr0ub/4dör&3\\~"
    table = Table(env={"SHOP_API_TOKEN": secret})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    written = FORMS[form](secret)
    table.server(result(1, f"GET https://api.example/v1/x/{written}/y refused", is_error=True))
    (told,) = table.told()
    assert written not in json.dumps(told, ensure_ascii=False)
    assert written[8:-4] not in json.dumps(told)
    assert MASK in told["result"]["content"][0]["text"]


def test_in_letters_of_another_size_a_short_secret_or_a_word_may_be_something_else() -> None:
    table = Table(env={"DB_PASSWORD": "Orders2024", "API_TOKEN": "GardenHouses"})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "no table orders2024 in gardenhouses", is_error=True))
    assert "no table orders2024 in gardenhouses" in table.told()[0]["result"]["content"][0]["text"]


@pytest.mark.parametrize("place", ["error", "_meta", "structuredContent"])
def test_a_secret_is_masked_where_it_is_a_name(place: str) -> None:
    table = Table(env={"DB_PASSWORD": "plainword", "OTHER_PASSWORD": "otherword"})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    named = {"plainword": [["x"]], "otherword": 2, "text": 3}
    answer: dict[str, Any] = result(1, "refused", is_error=True)
    if place == "error":
        answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "x", "data": named}}
    else:
        answer["result"][place] = named
    table.server(answer)
    (told,) = table.told()
    assert "plainword" not in json.dumps(told)
    assert "otherword" not in json.dumps(told)
    kept = json.loads(told["result"]["_meta"][answers.ORIGINAL]["frame"])
    kept = kept["error"]["data"] if place == "error" else kept["result"][place]
    assert kept == {MASK: [["x"]], f"{MASK}_": 2, "text": 3}


@pytest.mark.parametrize("place", ["structuredContent", "vendor", "_meta", "data"])
def test_what_is_a_secret_by_its_looks_leaves_as_no_name(place: str) -> None:
    token = f"ghp_{'a1B2' * 9}"
    named = {
        token: "revoked",
        "postgres://bob:sup3rpw@db/x": "down",
        "/home/ann/x.txt": 1,
    }
    table = Table()
    table.call(1, "get_invoice", {"invoice_id": "i"})
    answer: dict[str, Any] = result(1, "failed", is_error=True)
    if place == "data":
        answer = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "failed", "data": named}}
    else:
        answer["result"][place] = named
    table.server(answer)
    (told,) = table.told()
    assert not [word for word in (token, "sup3rpw") if word in json.dumps(told)]
    expected = {MASK: "revoked", f"postgres://bob:{MASK}@db/x": "down", "/home/ann/x.txt": 1}
    kept = json.loads(told["result"]["_meta"][answers.ORIGINAL]["frame"])
    assert (kept["error"]["data"] if place == "data" else kept["result"][place]) == expected
    assert place == "data" or expected.items() <= told["result"][place].items()


@pytest.mark.parametrize("schema", [{"type": "object", "properties": {}}, TOOLS[1]["inputSchema"]])
@pytest.mark.parametrize("name", ["/home/ann/hidden/x.txt", "hidden/x", "hidden.x"])
def test_what_is_no_argument_of_a_tool_is_none_of_its_next_call(name: str, schema: dict[str, Any]) -> None:
    table = Table()
    table.client(table.request("again", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "again", "result": {"tools": [{"name": "look", "inputSchema": schema}]}})
    table.told()
    table.call(1, "look", {} if not schema["properties"] else {"invoice_id": "i"})
    answer = result(1, "failed", is_error=True)
    answer["result"]["structuredContent"] = {"errors": {name: "ENOENT"}}
    table.server(answer)
    words = table.told()[0]["result"]["content"][0]["text"]
    assert "Next: call look" not in words
    assert "home" not in words


@pytest.mark.parametrize("parted", ["\u200b", "\u00ad", "\x1b[31m", "\x00", "\n", "\\u200b", "\\x1b[31m"])
@pytest.mark.parametrize("given", ["server", "caller"])
def test_a_secret_is_masked_though_something_parts_it_that_goes(given: str, parted: str) -> None:
    table = Table(env={"GITHUB_TOKEN": "hunter2hunter2"} if given == "server" else {}, validate="off")
    table.call(
        1,
        "pay_invoice",
        {"invoice_id": "i", "password": "hunter2hunter2"} if given == "caller" else {"invoice_id": "i"},
    )
    sent = result(1, f"bad token hunter2{parted}hunter2", is_error=True)
    sent["result"]["structuredContent"] = {"said": f"hunter2{parted}hunter2"}
    table.server(sent)
    (told,) = table.told()
    assert "hunter2" not in json.dumps(told)
    assert told["result"]["_meta"][answers.ORIGINAL]["redacted"] is True


def test_a_success_is_no_failure_whatever_it_holds() -> None:
    table = Table(env=GIVEN)
    table.call(1, "get_invoice", {"invoice_id": "i"})
    sent = frame(result(1, "paid with plainlookingvalue77"))
    table.server(sent)
    assert table.frames == [sent]


def test_a_server_that_ends_does_not_tell_what_it_was_given() -> None:
    table = Table(env=GIVEN)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.died(3, "x" * 280 + " Error: plainlookingvalue77 refused\n")
    assert b"plainlooking" not in table.frames[0]
    assert not [note for note in table.notes if "plainlooking" in note.line]


@pytest.mark.parametrize("word", ["SECRETTOK", "hunter2", "Zebra", "x9", "MYSECRET"])
def test_what_follows_an_option_for_a_secret_is_not_told(word: str) -> None:
    line = f"serve --token {word} --password={word} -p {word} API_KEY={word} --auth --port 80"
    told = failures.command_line(line.split(" "))
    assert told == (f"serve --token {MASK} --password={MASK} -p {MASK} API_KEY={MASK} --auth --port 80")


@pytest.mark.parametrize(
    "line",
    ["--password hunter2zz -phunter2zz", "--user joe:hunter2zz hunter2zz", "--url db://a:hunter2zz@h/ hunter2zz"],
)
def test_what_is_a_secret_in_one_place_of_a_command_is_one_in_all_and_on_stderr(line: str) -> None:
    table = Table(command=f"serve {line} -p 8080 --port 8080", connected=False)
    table.died(3, "Error: login with -p hunter2zz refused on 8080\n")
    assert not [note for note in table.notes if "hunter2zz" in note.line]
    assert table.notes[-1].line.endswith(f"it said: Error: login with -p {MASK} refused on 8080")
    assert f"-p {MASK} --port 8080 ended" in table.notes[-1].line


OPTIONS = [
    ["--header", "Authorization: Bearer birch-fern-4711-oak"],
    ["--header", "Authorization:Bearer birch-fern-4711-oak"],
    ["--header=X-Api-Key: birch-fern-4711-oak"],
    ["-H", "X-Api-Key: birch-fern-4711-oak"],
    ["--db", "postgres://u:birch-fern-4711-oak@h/x"],
    ["https://h/mcp?token=birch-fern-4711-oak&x=1"],
    ["--connection-string", "Server=x;Password=birch-fern-4711-oak;"],
    ["--key", "birch-fern-4711-oak"],
    ["--openai-key=birch-fern-4711-oak"],
    ["--auth", "user:birch-fern-4711-oak"],
    ["-u", "user:birch-fern-4711-oak"],
    ["--config", '{"apiKey": "birch-fern-4711-oak"}'],
    ["--secret:birch-fern-4711-oak"],
    ["/password:birch-fern-4711-oak"],
    ["sh", "-c", "curl --token birch-fern-4711-oak x"],
    ["--password", "birch fern oak"],
    ["--cookie", "theme=dark; session=birch-fern-4711-oak"],
    ["--dsn", "bob/birch-fern-4711-oak@h"],
    ["--dsn=bob/birch-fern-4711-oak@h"],
    ["--webhook-url", "https://hooks.example/T0/birch-fern-4711-oak"],
]


@pytest.mark.parametrize(
    "words",
    [["-pzQ7vplumK3t9"], ["-t", "zQ7vplumK3t9"], ["-k", "zQ7vplumK3t9"], ["--license", "zQ7vplumK3t9"], ["--licence=zQ7vplumK3t9"], ["/p:zQ7vplumK3t9"]],
    ids=" ".join,
)  # fmt: skip
def test_what_looks_drawn_is_known_behind_options_that_are_not_always_for_a_secret(words: list[str]) -> None:
    given = ("serve", *words, "--verbose")
    table = Table(command=" ".join(given), words=given)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server(result(1, "bad value zQ7vplumK3t9", is_error=True))
    assert "zQ7vplumK3t9" not in json.dumps(table.told()[0])
    table.died(1, "Error: zQ7vplumK3t9\n")
    assert not [note for note in table.notes if "zQ7vplumK3t9" in note.line]
    assert table.notes[-1].line.split(" ended")[0].endswith(" --verbose")


@pytest.mark.parametrize("flag", ["-t", "-k"])
def test_a_drawn_word_with_digits_in_two_places_is_known_behind_a_flag_and_not_told(flag: str) -> None:
    table = Table(command=f"serve {flag} Xk29mqPz71", words=("serve", flag, "Xk29mqPz71"), connected=False)
    table.died(1, "Error: Xk29mqPz71\n")
    assert [note.line for note in table.notes] == [
        f"serve {flag} {MASK} ended with exit code 1 before it answered; it said: Error: {MASK}"
    ]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_a_secret_is_known_wherever_it_stands_on_the_command_line(words: list[str], last: bool) -> None:
    given = ("serve", *words) if last else ("serve", *words, "--verbose", "-H", "X-Tenant: acme")
    table = Table(command=" ".join(given), words=given)
    table.call(1, "pay_invoice", {"invoice_id": "i"})
    table.server(result(1, "bad value birch-fern-4711-oak, or birch fern oak", is_error=True))
    secret = "birch fern oak" if "birch fern oak" in words else "birch-fern-4711-oak"
    assert secret not in json.dumps(table.told()[0])
    table.died(1, f"Error: {secret}\n")
    assert not [note for note in table.notes if secret in note.line]
    assert last or table.notes[-1].line.split(" ended")[0].endswith(" --verbose -H X-Tenant: acme")


def test_what_is_no_secret_on_a_command_line_is_known_by_nothing() -> None:
    words = (
        "python",
        "-u",
        "server.py",
        "-u",
        "1000:1000",
        "--key",
        "certs/tls-2.key",
        "--sort-key",
        "created",
        "--at=10:30",
        "-pl",
        "-t",
        "3f2a9c7d1e4b",
        "-k",
        "HTTP2Server1Login",
        "--license",
        "Apache-2.0",
    )
    table = Table(command=" ".join(words), words=words)
    table.call(1, "get_invoice", {"invoice_id": "i"})
    said = "server.py: 1000, certs/tls-2.key, created at 10:30 under Apache-2.0 by 3f2a9c7d1e4b in HTTP2Server1Login"
    table.server(result(1, said, is_error=True))
    assert said in table.told()[0]["result"]["content"][0]["text"]
    table.died()
    assert table.notes[0].line.startswith(" ".join(words))


VARIABLES = {
    "OPENAI_KEY": "birch-fern-4711-oak",
    "AUTHORIZATION": "Bearer birch-fern-4711-oak",
    "AUTH_HEADER": "Bearer birch-fern-4711-oak",
    "MCP_HEADERS": "Authorization: Bearer birch-fern-4711-oak",
    "OPENAPI_MCP_HEADERS": '{"Authorization": "Bearer birch-fern-4711-oak", "X-V": "1"}',
    "DATABASE_URL": "postgres://app:birch-fern-4711-oak@db/main",
    "REDIS_URL": "redis://:birch-fern-4711-oak@r/0",
    "DB_CONNECTION_STRING": "Server=x;Password=birch-fern-4711-oak;",
    "SENTRY_DSN": "https://birch-fern-4711-oak@sentry.example/4",
    "SLACK_WEBHOOK_URL": "https://hooks.slack.example/services/T0/B0/birch-fern-4711-oak",
    "GOOGLE_JSON": '{"private_key": "birch-fern-4711-oak"}',
    "API_KEYS": "other-key-1,birch-fern-4711-oak",
    "SERVICE_PASSWORDS": "ann:other-key-1;bob:birch-fern-4711-oak",
    "HEADERS": "Accept: json\nX-Api-Key: birch-fern-4711-oak",
    "OPTS": "--user bob --password birch-fern-4711-oak",
    "CONFIG_YAML": "db:\n  host: db\n  password: 'birch-fern-4711-oak'\n",
    "KUBECONFIG_DATA": "users:\n- user:\n  - token: birch-fern-4711-oak\n",
    "NPMRC": "//registry.npmjs.org/:_authToken=birch-fern-4711-oak",
    "NPMRC_FILE": "save-exact=true\n//registry.npmjs.org/:_authToken=birch-fern-4711-oak\n",
    "DATASOURCE": "jdbc:oracle:thin:scott/birch-fern-4711-oak@//db:1521/main",
    "ORACLE_DSN": "scott/birch-fern-4711-oak@db:1521/main",
    "SSHPASS": "birch-fern-4711-oak",
    "DB_PASSWORD_BASE64": b64encode(b"birch-fern-4711-oak").decode(),
    "API_KEY_B64": b64encode(b"birch-fern-4711-oak").decode(),
    "ACCOUNT": b64encode(b'{"private_key": "birch-fern-4711-oak"}').decode(),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_of_a_variable_the_part_that_is_secret_is_known_alone(name: str) -> None:
    table = Table(env={name: VARIABLES[name]})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "login with birch-fern-4711-oak refused by db, hooks.slack.example and main", is_error=True))
    told = table.told()[0]
    assert "birch-fern-4711-oak" not in json.dumps(told)
    assert f"login with {MASK} refused by db, hooks.slack.example and main" in told["result"]["content"][0]["text"]


DRAWN = {
    "TOKENS": '{"a": "Lw83nvTq55", "b": "Xk29mqPz71"}',
    "ADMIN_TOKENS": "Lw83nvTq55,Xk29mqPz71",
    "SIGNING_SALT": "Xk29mqPz71",
}


@pytest.mark.parametrize("name", DRAWN)
def test_under_a_name_that_stands_for_other_things_too_what_looks_drawn_is_known(name: str) -> None:
    table = Table(env={name: DRAWN[name]})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, "key Xk29mqPz71 rejected", is_error=True))
    assert "Xk29mqPz71" not in json.dumps(table.told()[0])


LINES = [b64encode(bytes(range(start, start + 48))).decode() for start in (7, 60, 120)]
PEM = "\n".join(["-----BEGIN PRIVATE KEY-----", *LINES, "-----END PRIVATE KEY-----", ""])
ACCOUNT = json.dumps(
    {"type": "service_account", "project_id": "shop-12", "private_key": PEM, "client_email": "a@b.iam"}
)
ENCODED: dict[str, Callable[[str], str]] = {
    "base64": lambda text: b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "an address": lambda text: quote(text, safe=""),
    "an address, with each letter": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "code": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
}


@pytest.mark.parametrize("form", ENCODED)
@pytest.mark.parametrize(
    "name", ["SERVICE_ACCOUNT", "GOOGLE_APPLICATION_CREDENTIALS_JSON", "GCP_JSON", "GOOGLE_CREDENTIALS"]
)
def test_a_login_in_json_is_masked_as_a_whole_in_each_form_that_hides_its_parts(name: str, form: str) -> None:
    table = Table(env={name: ACCOUNT})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    written = ENCODED[form](ACCOUNT)
    table.server(result(1, f"cannot parse {written}", is_error=True))
    told = table.told()[0]
    assert written[:100] not in json.dumps(told)
    assert f"cannot parse {MASK}" in told["result"]["content"][0]["text"]


@pytest.mark.parametrize("name", ["GOOGLE_CREDENTIALS_B64", "SERVICE_ACCOUNT_KEY_B64", "SA_B64"])
@pytest.mark.parametrize(
    "quoted", [b64encode(ACCOUNT.encode()).decode(), ACCOUNT, LINES[1]], ids=["whole", "decoded", "line"]
)
def test_what_a_variable_holds_in_base64_is_known_encoded_and_decoded(name: str, quoted: str) -> None:
    table = Table(env={name: b64encode(ACCOUNT.encode()).decode()})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, f"cannot parse {quoted}", is_error=True))
    told = json.dumps(table.told()[0])
    assert quoted[:50] not in told
    assert LINES[1] not in told


@pytest.mark.parametrize("held", [PEM, PEM.replace("\n", "\\n"), PEM.replace("\n", "\r\n"), ACCOUNT])
def test_each_line_of_a_private_key_is_known_and_of_a_certificate_none(held: str) -> None:
    for given in (held, held.replace("PRIVATE KEY", "CERTIFICATE")):
        table = Table(env={"TLS_FILE": given.replace("private_key", "body") if given != held else given})
        table.call(1, "get_invoice", {"invoice_id": "i"})
        table.server(result(1, f"bad line {LINES[1]}", is_error=True))
        assert (LINES[1] in json.dumps(table.told()[0])) is (given != held)


NAME_LIKE = [
    "dbpassword1", "mysecret123", "supersecretkey99", "AcmePass-2026!", "dbpass", "m0ng0pass", "m0ng0%40pass", "win95rocks",
]  # fmt: skip
ADDRESSES = {
    "DATABASE_URL": "postgres://app:{}@db.internal/main",
    "MONGO_URI": "mongodb+srv://u:{}@cluster/x",
    "REDIS_URL": "redis://:{}@h:6379/0",
    "CALLBACK": "https://h.example/x?token={}&a=1",
    "DB_SETTINGS": "Server=x;Password={};",
}


# Behind `=` may stand the name of something, so there has to be more to it.
PLACED = [
    (name, password)
    for name, text in ADDRESSES.items()
    for password in NAME_LIKE
    if "@" in text or password not in ("dbpass", "win95rocks")
]


@pytest.mark.parametrize(("name", "password"), PLACED)
def test_a_password_that_sounds_like_the_name_of_one_is_known_by_its_place(name: str, password: str) -> None:
    shown = unquote(password) if name != "DB_SETTINGS" else password
    table = Table(env={name: ADDRESSES[name].format(password)})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    table.server(result(1, f"authentication failed, tried {shown}", is_error=True))
    assert shown not in json.dumps(table.told()[0])


@pytest.mark.parametrize(
    "word", ["password", "secret", "PASSWD", "default", "postgres", "DB_PASSWORD", "xxxxxx", "<password>"]
)
def test_a_bare_word_for_a_password_is_none(word: str) -> None:
    table = Table(env={"DATABASE_URL": f"postgres://app:{word}@db/main"})
    table.call(1, "get_invoice", {"invoice_id": "i"})
    said = f"no {word} was told, see the manual about passwords and secrets"
    table.server(result(1, said, is_error=True))
    assert said in table.told()[0]["result"]["content"][0]["text"]


def test_variables_that_only_sound_like_secrets_hold_none() -> None:
    plain = {
        "SORT_KEY": "created_at",
        "SSL_KEY": "certs/tls-2.key",
        "HOME_URL": "https://joe@example.org/a1b2c3",
        "EXAMPLE_URL": "postgres://user:password@db/main",
        "NODE_OPTIONS": "--require ./trace-2.js -t build2 -k HTTP2Server1",
        "SYSTEM_PROMPT": "Be kind.\nPassword: never\nToken: a word\nsession: morning2",
        "BASH_FUNC_x%%": '() { local token=$1\n password="$2"\n if [ -z "$token" ]; then secret=$(cat x-1); fi\n}',
        "TOKENS": "4096,8192",
        "HASH_SALT": "table-salt",
        "PACKAGES": "org/pkg2024@1.2.3",
        "AUTHS": "basic,digest",
    }
    table = Table(env=plain)
    table.call(1, "get_invoice", {"invoice_id": "i"})
    said = "no password for joe: created_at, certs/tls-2.key, a1b2c3, trace-2.js, build2, HTTP2Server1, never, morning2, 4096, "
    said += "table-salt, pkg2024, digest"
    table.server(result(1, said, is_error=True))
    assert said in table.told()[0]["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"authorization": "Bearer birch-fern-4711-oak"},
        {"headers": {"Authorization": "Bearer birch-fern-4711-oak"}},
        {"tokens": ["birch-fern-4711-oak"]},
        {"env": [{"name": "API_KEY", "value": "birch-fern-4711-oak"}]},
        {"url": "https://u:birch-fern-4711-oak@h/"},
    ],
    ids=str,
)
def test_of_an_argument_the_part_that_is_secret_is_in_no_part_of_a_failure(arguments: dict[str, Any]) -> None:
    table = Table(validate="off")
    table.call(1, "get_invoice", {"invoice_id": "i", **arguments})
    table.server(result(1, "login with birch-fern-4711-oak refused", is_error=True))
    (told,) = table.told()
    assert "birch-fern-4711-oak" not in json.dumps(told)
    assert f"login with {MASK} refused" in told["result"]["content"][0]["text"]


def test_what_was_sent_as_a_secret_is_in_no_part_of_a_failure() -> None:
    table = Table(connected=False)
    table.connect()
    secret = {"type": "object", "properties": {"phrase": {"type": "string", "writeOnly": True}}}
    table.client(table.request("again", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "again", "result": {"tools": [{"name": "open", "inputSchema": secret}]}})
    table.told()
    table.call(1, "open", {"phrase": "blue horse"})
    table.server(result(1, "refused for blue horse today", is_error=True))
    (told,) = table.told()
    assert "blue horse" not in json.dumps(told)
    assert told["result"]["_meta"]["io.github.failwell/original"]["redacted"] is True


TWICE: dict[str, str] = {
    "an error": '"error":{"code":-32000,"message":"first KEY"},"error":{"code":-32000,"message":"second"}',
    "an error of the protocol": '"error":{"code":-32601,"message":"first KEY"},"error":{"code":-32601,"message":"second"}',
    "a result": '"result":{"isError":true,"content":[{"type":"text","text":"KEY"}],"content":[{"type":"text","text":"x"}]}',
    "a member": '"result":{"isError":true,"content":[{"type":"text","text":"KEY","text":"x"}]}',
    "our own words": '"result":{"isError":true,"isError":true,"content":[{"type":"text","text":"KEY","text":"x"}],'
    '"_meta":{"META":{"failwell":1,"kind":"not_found","message":"x"}}}',
}


@pytest.mark.parametrize("form", TWICE)
@pytest.mark.parametrize("secret", ["hunter2hunter2", "\\u0068unter2hunter2", "/home/ann/x.py"])
@pytest.mark.parametrize("tool", ["pay_invoice", ""])
def test_what_stands_under_a_name_that_comes_again_does_not_leave(form: str, secret: str, tool: str) -> None:
    table = Table(env={"API_KEY": "hunter2hunter2"})
    if tool:
        table.call(1, tool, {"invoice_id": "i"})
    else:
        table.client(table.request(1, "resources/read"))
    members = TWICE[form].replace("KEY", secret).replace("META", META_KEY)
    table.server(f'{{"jsonrpc":"2.0","id":1,{members}}}\n'.encode())
    (sent,) = table.frames
    told = json.loads(sent)
    if tool or "error" in told:
        assert not [each for each in (b"unter2", b"/home/ann") if each in sent]
    original = told.get("result", {}).get("_meta", {}).get(keys.ORIGINAL)
    assert original is None or original["redacted"] is True


def test_an_answer_keeps_its_id_though_it_looks_like_a_secret_that_was_sent() -> None:
    table = Table()
    secret = {"type": "object", "properties": {"pin": {"type": "integer", "format": "password"}}}
    table.client(table.request("again", "tools/list"))
    table.server({"jsonrpc": "2.0", "id": "again", "result": {"tools": [{"name": "open", "inputSchema": secret}]}})
    table.told()
    table.call(848201, "open", {"pin": 848201})
    # What only the client can act on passes as it is.
    table.server({"jsonrpc": "2.0", "id": 848201, "error": {"code": -32042, "message": "Log in, not with 848201"}})
    (told,) = table.told()
    assert (told["id"], told["error"]["message"]) == (848201, "Log in, not with [redacted]")


LOGIN = {"user": "ann", "password": "plum-Kettle-42"}


def logged_in(table: Table, arguments: dict[str, Any]) -> None:
    """A call with a secret that worked."""
    table.call(1, "login", arguments)
    table.server(result(1, "welcome"))
    table.told()


@pytest.mark.parametrize(
    "quoted", [LOGIN["password"], b64encode(b"ann:plum-Kettle-42").decode(), quote("plum-Kettle-42 "), "PLUM-KETTLE-42"]
)
def test_what_an_earlier_call_sent_as_a_secret_is_in_no_part_of_a_later_failure(quoted: str) -> None:
    table = Table(validate="off")
    logged_in(table, LOGIN)
    table.call(2, "query", {"q": "all"})
    table.server(result(2, f"auth failed for ann with {quoted}", is_error=True))
    assert quoted.strip("=") not in json.dumps(table.told())


@pytest.mark.parametrize("word", ["invoice", "connect", "database", "password", "plum"])
def test_a_word_that_others_use_too_is_a_secret_of_its_own_call_alone(word: str) -> None:
    table = Table(validate="off")
    logged_in(table, {"password": word})
    table.call(2, "query", {"q": "all"})
    said = "No connection to the database for the invoice, a plum and its password"
    table.server(result(2, said, is_error=True))
    assert said in table.told()[0]["result"]["content"][0]["text"]


def test_a_plain_word_is_a_secret_in_later_failures() -> None:
    table = Table(validate="off")
    logged_in(table, {"password": "sunshine"})
    table.call(2, "query", {"q": "all"})
    table.server(result(2, "auth failed for ann with sunshine", is_error=True))
    assert "sunshine" not in json.dumps(table.told())


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        ("orange", "The orangeade, oranges and storangement of ann are sold out"),
        ("abc123", "No build of commit 9fabc1234e5d6c7b8a9f0e1d2c3b4a5968778695"),
    ],
)
@pytest.mark.parametrize("is_later", [False, True])
def test_a_word_or_a_short_secret_leaves_longer_words_and_ids_as_they_are(
    secret: str, said: str, is_later: bool
) -> None:
    table = Table(validate="off")
    if is_later:
        logged_in(table, {"password": secret})
    table.call(2, "query", {"q": "all"} if is_later else {"password": secret})
    table.server(result(2, f"{said}; refused with {secret}.", is_error=True))
    (told,) = table.told()
    words = told["result"]["content"][0]["text"]
    assert f"{said}; refused with {MASK}." in words
    kept = json.loads(told["result"]["_meta"][answers.ORIGINAL]["frame"])
    assert kept["result"]["content"][0]["text"] == f"{said}; refused with {MASK}."


@pytest.mark.parametrize("is_later", [False, True])
def test_a_secret_of_mixed_signs_is_masked_inside_of_longer_words(is_later: bool) -> None:
    table = Table(validate="off")
    if is_later:
        logged_in(table, {"token": "kV7q2Zx9"})
    table.call(2, "query", {"q": "all"} if is_later else {"token": "kV7q2Zx9"})
    table.server(result(2, "refused: xkV7q2Zx9y and ?token=kV7q2Zx9&x=1", is_error=True))
    assert "kV7q2Zx9" not in json.dumps(table.told())


NOISE = {"alone": b"trying %s now\n", "before a message": b'trying %s now {"jsonrpc":"2.0","id":9,"result":{}}\n'}


@pytest.mark.parametrize("form", NOISE)
@pytest.mark.parametrize("word", ["sunshine", "tulip garden", "database", "plum"])
@pytest.mark.parametrize("is_over", [False, True])
def test_the_line_about_noise_tells_no_secret_of_any_call(form: str, word: str, is_over: bool) -> None:
    table = Table(validate="off")
    table.call(1, "login", {"nested": {"password": word}})
    if is_over:
        table.server(result(1, "welcome"))
    table.server(NOISE[form] % word.encode())
    (line,) = [note.line for note in table.notes if "what is no message" in note.line]
    assert word not in line
    assert f"trying {MASK} now" in line


@pytest.mark.parametrize("form", [str, lambda value: b64encode(f"ann:{value}".encode()).decode(), quote])
def test_a_server_that_dies_tells_no_secret_of_any_call_that_was_with_it(form: Callable[[str], str]) -> None:
    secret = "tea pot/42"
    table = Table(validate="off")
    table.call(1, "login", {"password": secret})
    table.call(2, "query", {"q": "all"})
    table.died(3, f"fatal: cannot log in with {form(secret)}\n")
    answers = table.told()
    assert {each["id"] for each in answers} == {1, 2}
    for told in (json.dumps(answers), str([note.line for note in table.notes])):
        assert form(secret).strip("=") not in told
        assert "fatal: cannot log in with" in told


@pytest.mark.parametrize("name", ["card_number", "cardNumber", "credit_card", "ccNumber", "ssn"])
@pytest.mark.parametrize("number", ["4111-1111-1111-1111", 4111111111111111])
@pytest.mark.parametrize("is_later", [False, True])
def test_a_number_that_stands_for_money_or_a_person_is_in_no_part_of_a_failure(
    name: str, number: str | int, is_later: bool
) -> None:
    table = Table(validate="off")
    if is_later:
        logged_in(table, {name: number})
    table.call(2, "query", {"q": "all"} if is_later else {name: number})
    table.server(result(2, f"declined: {number}", is_error=True))
    assert str(number) not in json.dumps(table.told())


@pytest.mark.parametrize("secret", ["plum-Kettle-42-teapot", "4111111111111111", "Xk29mqPz71Lw83nv"])
@pytest.mark.parametrize("how", ["given", "sent", "sent earlier"])
def test_three_quarters_of_a_known_secret_are_in_no_part_of_a_failure(secret: str, how: str) -> None:
    table = Table(validate="off", env={"API_KEY": secret} if how == "given" else {})
    if how == "sent earlier":
        logged_in(table, {"password": secret})
    table.call(2, "query", {"password": secret} if how == "sent" else {"q": "all"})
    begin = secret[: -(-len(secret) * 3 // 4)]
    table.server(result(2, f"refused for {begin}... today", is_error=True))
    told = json.dumps(table.told())
    assert begin not in told
    assert f"refused for {MASK}... today" in told
