"""Which arguments are secret: where a schema says so, at any depth, and what of them may not be quoted."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Annotated, Any

import mcp
import pytest
from mcp.server import MCPServer
from pydantic import BaseModel, Field

import failwell as fw
import failwell.server
from failwell.redact import MASK, Secrets, secret_paths

HIDDEN = {"type": "string", "writeOnly": True}
LOGIN = {"type": "object", "properties": {"user": {"type": "string"}, "phrase": HIDDEN}}
TREE = {
    "type": "object",
    "properties": {"label": {}, "phrase": HIDDEN, "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
}


def tool(defs: dict[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "$defs": defs or {}}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def mapped(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def nested(depth: int, inner: dict[str, Any]) -> dict[str, Any]:
    for _ in range(depth):
        inner = {"label": "open", "below": [inner]}
    return inner


SENT: list[tuple[str, dict[str, Any], Any]] = [
    ("a list of objects", tool(a=array(LOGIN)), {"a": [{"user": "open", "phrase": "zebra"}]}),
    ("a list of secrets", tool(a=array(HIDDEN)), {"a": ["zebra"], "b": "open"}),
    ("a list that is one", tool(a=array({}) | {"writeOnly": True}), {"a": [["zebra"]], "b": ["open"]}),
    ("maps in maps", tool(a=mapped(mapped(LOGIN))), {"a": {"x": {"y": {"phrase": "zebra", "user": "open"}}}}),
    ("a map of lists", tool(a=mapped(array(HIDDEN))), {"a": {"x": ["zebra"]}, "x": ["open"]}),
    ("names by a pattern", tool(a={"patternProperties": {"^k_": HIDDEN}}), {"a": {"k_1": "zebra"}}),
    ("a tuple", tool(a={"prefixItems": [{"type": "string"}, HIDDEN]}), {"a": ["open", "zebra"]}),
    ("a tuple of old", tool(a={"items": [{"type": "string"}, HIDDEN]}), {"a": ["open", "zebra"]}),
    ("behind a tuple", tool(a={"prefixItems": [{}], "items": LOGIN}), {"a": [{}, {"phrase": "zebra"}]}),
    ("a reference", tool({"L": LOGIN}, a=array({"$ref": "#/$defs/L"})), {"a": [{"phrase": "zebra"}]}),
    ("a chain of them", tool({"A": {"$ref": "#/$defs/B"}, "B": HIDDEN}, a={"$ref": "#/$defs/A"}), {"a": "zebra"}),
    ("one into a branch", tool(a={"anyOf": [LOGIN, {}]}, b={"$ref": "#/properties/a/anyOf/0"}), {"b": {"phrase": "zebra"}}),
    ("one with an escape", tool({"a b/c": HIDDEN}, a={"$ref": "#/$defs/a%20b~1c"}), {"a": "zebra"}),
    ("an anchor", tool({"L": {**LOGIN, "$anchor": "login"}}, a={"$ref": "#login"}), {"a": {"phrase": "zebra"}}),
    ("a dynamic one", tool({"L": {**LOGIN, "$dynamicAnchor": "l"}}, a={"$dynamicRef": "#l"}), {"a": {"phrase": "zebra"}}),
    ("a cycle", tool({"Tree": TREE}, a={"$ref": "#/$defs/Tree"}), {"a": nested(2, {"phrase": "zebra"})}),
    ("the whole again", tool(phrase=HIDDEN, a=array({"$ref": "#"})), {"a": [{"a": [{"phrase": "zebra"}]}]}),
    ("a union", tool(a={"oneOf": [{"type": "null"}, array({"allOf": [{}, LOGIN]})]}), {"a": [{"phrase": "zebra"}]}),
    ("a condition", tool(a={"if": {}, "then": LOGIN}), {"a": {"phrase": "zebra", "user": "open"}}),
    ("a name in a list", tool(a=array({})), {"a": [{"name": "open", "password": "zebra"}]}),
    ("a list under a name", tool(), {"passwords": [["zebra"], {"x": "zebra"}], "names": ["open"]}),
    ("a number", tool(a=array({"type": "integer", "format": "password"})), {"a": [41_592], "b": 90_210}),
    ("a number by its name", tool(), {"a": [{"pin": 41_592, "token": 90_210}]}),
    ("JSON in a text", tool(a=LOGIN), {"a": '{"user": "open", "phrase": "zebra"}'}),
]  # fmt: skip

PARTS: list[tuple[str, Any]] = [
    ("a login", {"authorization": "Bearer zebra-4711"}),
    ("a login by itself", {"with": "Bearer zebra-4711"}),
    ("a login among headers", {"headers": {"Authorization": "Bearer zebra-4711", "Accept": "text/plain"}}),
    ("a header as a text", {"headers": ["Authorization: Bearer zebra-4711", "Accept: text/plain"]}),
    ("a header without a blank", {"header": "X-Api-Key:zebra-4711"}),
    ("a login in base64", {"headers": {"Authorization": "Basic am9lOnplYnJhLTQ3MTE="}}),
    ("a cookie", {"headers": {"Cookie": "theme=dark; sid=zebra-4711"}}),
    ("a name beside its value", {"env": [{"name": "API_KEY", "value": "zebra-4711"}, {"name": "A", "value": "open"}]}),
    ("the password of an address", {"url": "https://joe:zebra-4711@db.example/a?b=c"}),
    ("an address in a text", {"cmd": "git clone https://joe:zebra-4711@git.example/a.git\nls"}),
    ("a parameter of an address", {"url": "https://api.example/v1/a?page=2&api_key=zebra-4711"}),
    ("settings", {"to": "Server=tcp:db;User Id=joe;Password=zebra-4711;"}),
    ("settings behind an address", {"to": "jdbc:sqlserver://db:1433;user=joe;password=zebra-4711"}),
    ("settings with blanks", {"to": "host=db user=joe password='zebra-4711'"}),
    ("a variable", {"env": ["API_KEY=zebra-4711", "MODE=open"]}),
    ("one of several", {"api_keys": "tulip-4711,zebra-4711"}),
    ("logins", {"passwords": "joe:tulip-4711;ann:zebra-4711"}),
    ("base64", {"password_b64": "emVicmEtNDcxMQ=="}),
    ("base64 of JSON", {"credentials": "eyJrZXkiOiAiemVicmEtNDcxMSJ9"}),
    ("a registry", {"npmrc": "//registry.example/:_authToken=zebra-4711"}),
    ("Oracle's way", {"to": "jdbc:oracle:thin:joe/zebra-4711@//db:1521/x"}),
]


@pytest.mark.parametrize("arguments", [row[1] for row in PARTS], ids=[row[0] for row in PARTS])
def test_of_a_value_the_part_that_is_secret_is_one_alone(arguments: Any) -> None:
    told = Secrets().spared("no zebra-4711 here; it is open, at db for joe, with Bearer, page 2, dark.", arguments)
    assert told == f"no {MASK} here; it is open, at db for joe, with Bearer, page 2, dark."


def test_an_authors_words_keep_longer_words_that_hold_a_plain_one() -> None:
    told = Secrets().spared("No orangeade for orange, id 9fabc1234e.", {"password": "orange", "token": "abc123"})
    assert told == f"No orangeade for {MASK}, id 9fabc1234e."


@pytest.mark.parametrize("password", ["dbpassword1", "AcmePass-2026!", "dbpass", "m0ng0pass"])
def test_before_the_host_of_an_address_a_password_is_one_though_it_sounds_like_a_name(password: str) -> None:
    assert Secrets().values({"url": f"postgres://app:{password}@db/main"}) == (password,)


def test_tokens_are_secret_where_they_look_so() -> None:
    assert Secrets().values({"tokens": ["birch-fern-4711-oak"]}) == ("birch-fern-4711-oak",)
    assert Secrets().values({"tokens": ["covid-19", "a longer phrase", 12, None], "max_tokens": 4096}) == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "https://jira.example/browse?key=PROJ-1234&code=en-US"},
        {"url": "https://docs.example/d/1A2b3C4d5E6f7G8h/edit?tab=1"},
        {"url": "postgres://user:password@db/main"},
        {"url": "https://user:${DB_PASSWORD}@db/main"},
        {"url": "https://user:DB_PASSWORD@db/main?token=ACCESS_TOKEN"},
        {"url": "ssh://git@host/a.git"},
        {"note": "Password: must be longer than before"},
        {"note": "Bearer of bad news", "role": "bearer"},
        {"note": "the token: a word of a sentence"},
        {"code": "token = parse(text); key = token.value\nif password == given: pass"},
        {"at": "10:30", "range": "a=1", "filter": "status=open;kind=bug"},
        {"list": [{"name": "colour", "value": "blue-and-green"}, {"key": "PROJ-1", "value": "open door"}]},
    ],
    ids=str,
)
def test_words_and_plain_addresses_are_no_secrets(arguments: dict[str, Any]) -> None:
    assert Secrets().values(arguments) == ()


@pytest.mark.parametrize(("schema", "arguments"), [row[1:] for row in SENT], ids=[row[0] for row in SENT])
def test_what_was_sent_as_a_secret_is_found_and_nothing_else(schema: dict[str, Any], arguments: Any) -> None:
    assert set(Secrets.of(schema).values(arguments)) <= {"zebra", "41592"}
    assert Secrets.of(schema).values(arguments)
    assert Secrets.of(schema).spared("It was zebra, or 41592.", arguments).count(MASK) == 1


def test_the_paths_of_a_tuple_name_the_place() -> None:
    assert secret_paths(tool(a={"prefixItems": [{}, HIDDEN]})) == {("a", 1)}
    assert secret_paths(tool(a=array(mapped(HIDDEN)))) == {("a", "*", "*")}


@pytest.mark.parametrize("depth", [1, 5, 6, 7, 40])
def test_a_secret_is_one_at_any_depth_of_a_schema_that_holds_itself(depth: int) -> None:
    schema = tool({"Tree": TREE}, a={"$ref": "#/$defs/Tree"})
    assert "zebra" in Secrets.of(schema).values({"a": nested(depth, {"phrase": "zebra"})})
    assert Secrets.of(schema).hides(("a", *("below", 0) * depth, "phrase"))
    assert not Secrets.of(schema).hides(("a", *("below", 0) * min(depth, 5), "label"))


def test_a_schema_that_holds_itself_and_no_secret_names_none() -> None:
    open_tree = {"properties": {"label": {}, "below": array({"$ref": "#/$defs/Tree"})}}
    assert secret_paths(tool({"Tree": open_tree}, a={"$ref": "#/$defs/Tree"})) == frozenset()
    assert secret_paths(tool({"Tree": open_tree}, a={"$ref": "#/$defs/Tree"}, b=HIDDEN)) == {("b",)}


def test_definitions_that_multiply_hide_too_much_rather_than_too_little() -> None:
    doubled = {f"D{n}": {"properties": {side: {"$ref": f"#/$defs/D{n + 1}"} for side in "abcdefgh"}} for n in range(10)}
    schema = tool({**doubled, "D10": HIDDEN}, a={"$ref": "#/$defs/D0"}, open={"type": "string"})
    assert len(secret_paths(schema)) < 10_000
    assert Secrets.of(schema).hides(("a", *"hgfedcbahg"))
    assert not Secrets.of(schema).hides(("open",))


def test_a_reference_that_goes_round_in_circles_names_nothing() -> None:
    circle = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    assert secret_paths(tool(circle, a={"$ref": "#/$defs/A"})) == frozenset()


class Account(BaseModel):
    name: str
    phrase: Annotated[str, Field(json_schema_extra={"writeOnly": True})]


class Vault(BaseModel):
    accounts: dict[str, list[Account]]


def sign_in(accounts: list[Account]) -> str:
    raise ValueError(f"No door for {accounts[0].phrase}.")


def open_vault(vault: Vault) -> dict[str, str]:
    raise RuntimeError(f"{vault.accounts['x'][0].phrase} does not fit")


def refuse(accounts: list[Account]) -> str:
    raise fw.ToolError(f"{accounts[0].phrase} is wrong", details={"tried": [accounts[0].phrase]})


ACCOUNT = {"name": "Ann", "phrase": "violet harbour"}
FAILING = [
    (sign_in, {"accounts": [ACCOUNT]}),
    (open_vault, {"vault": {"accounts": {"x": [ACCOUNT]}}}),
    (refuse, {"accounts": [ACCOUNT]}),
    (sign_in, {"accounts": [{**ACCOUNT, "name": 5, "other": ACCOUNT["phrase"]}]}),
]


@pytest.mark.parametrize("format", ["text", "xml", "v1", "typed", "canonical"])
@pytest.mark.parametrize(("failing", "arguments"), FAILING, ids=["raised", "crashed", "refused", "invalid"])
def test_a_secret_in_a_list_leaves_by_no_door_of_a_server(
    failing: Any, arguments: dict[str, Any], format: str, caplog: pytest.LogCaptureFixture
) -> None:
    server: Any = MCPServer("doors", log_level="DEBUG")
    server.tool()(failing)
    failwell.server.install(server, wire={"client": None}, format=format, show_text=True)

    async def main() -> Any:
        async with mcp.Client(server) as client:
            return await client.call_tool(failing.__name__, arguments)

    with caplog.at_level(logging.DEBUG, logger="failwell"):
        result = asyncio.run(main())
    assert result.is_error
    assert "violet harbour" not in json.dumps(result.model_dump(mode="json"))
    told = [record for record in caplog.records if record.name.startswith("failwell")]
    assert told
    assert "violet harbour" not in caplog.text


def build(commit: str, password: str, token: str) -> str:
    raise fw.NotFound(
        f"No commit {commit} in the orangeade of {password}, {token}.", details={"tried": [commit, token]}
    )


def test_a_word_and_a_short_secret_leave_the_ids_of_a_servers_failure_as_they_are() -> None:
    server: Any = MCPServer("builds")
    server.tool()(build)
    failwell.server.install(server, wire={"client": None}, format="canonical")
    sent = {"commit": "9fabc1234e5d6c7b", "password": "orange", "token": "abc123"}

    async def main() -> Any:
        async with mcp.Client(server) as client:
            return await client.call_tool("build", sent)

    told = fw.read(asyncio.run(main()))
    assert isinstance(told, fw.ToolError)
    assert told.message == f"No commit 9fabc1234e5d6c7b in the orangeade of {MASK}, {MASK}."
    assert told.details["tried"] == ["9fabc1234e5d6c7b", MASK]


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\t ", "\r\n"], ids=ascii)
def test_a_secret_is_found_in_json_whatever_stands_before_it(blank: str) -> None:
    arguments = {"body": f'{blank}{{"token": "k3y-8fj2-qq"}}', "count": 3, "flag": True, "none": None}
    assert Secrets().values(arguments) == ("k3y-8fj2-qq",)


@pytest.mark.parametrize(
    "arguments",
    [{"text": "abc", "count": 3, "none": None}, {"text": ""}, {1: "abc"}, {"deep": {"list": ["abc", {"more": "def"}]}}],
    ids=["flat", "empty", "number", "deep"],
)
def test_arguments_of_no_secret_name_hold_no_secret(arguments: dict[Any, Any]) -> None:
    assert Secrets().values(arguments) == ()
    assert Secrets().values({**arguments, "password": "k3y-8fj2-qq"}) == ("k3y-8fj2-qq",)
