"""The table of cause, effect and next step, row by row, over real wires: tools that really write, and then really raise."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import fastmcp
import mcp
import pytest
from fastmcp import FastMCP
from mcp import StdioServerParameters
from mcp.server import MCPServer
from shop_server import SAYS
from shop_wire import CANONICAL, KEY, MODERN, Answer, Json, Shop, Shops, fresh

import commands
import failwell as fw
import failwell.server
from failwell.client import Recovering

# An SDK that hides the texts of exceptions is asked to show them.
SHOWN: Final[Json] = {"show_text": True, "ruled": True}
SERVERS: Final[dict[str, tuple[str, str, Json]]] = {
    "mcpserver": ("mcpserver", "stdio", SHOWN),
    "lowlevel": ("lowlevel", "stdio", SHOWN),
    "fastmcp": ("fastmcp", "stdio", {"ruled": True}),
    "mcpserver over http": ("mcpserver", "http", SHOWN),
    "fastmcp over http": ("fastmcp", "http", {"ruled": True}),
}
GROUPS: Final[dict[str, tuple[str, str, Json]]] = {
    "mcpserver group": ("mcpserver-group", "stdio", {"show_text": True}),
    "fastmcp group": ("fastmcp-group", "stdio", {}),
}
IN_DOUBT: Final = ("unknown", "partial", "done")
NEVER: Final = (False, False)
# What our own advice has ever begun with. Only what stands behind the author's text is held against it.
INVITES: Final = re.compile(r"(?i)\b(again|retry|correct the|wait \d|look for another)\b")


@pytest.fixture(params=SERVERS)
def shop(request: pytest.FixtureRequest, shops: Shops) -> Shop:
    kind, transport, options = SERVERS[request.param]
    return shops.get(kind, options, transport=transport)


@pytest.fixture(params=GROUPS)
def grouped(request: pytest.FixtureRequest, shops: Shops) -> Shop:
    kind, transport, options = GROUPS[request.param]
    return shops.get(kind, options, transport=transport)


def looking(tool: str, id: str, effect: str | None = None) -> str:
    """The pattern of the step that tells; of what was certainly done, in whole or in part, it tells something else."""
    what = r"[^.]+" if effect in ("partial", "done") else "whether it was"
    return rf'Next: call {tool} with \{{"id": ?"{re.escape(id)}"\}} to see {what}\.'


def in_doubt(tool: str, next_step: str) -> str:
    return rf"{tool} failed part-way \(.+\), so it may have been done already\. {next_step}"


def lost(tool: str, next_step: str) -> str:
    return rf"so (it|{tool}) may have been done already\. {next_step}"


def not_run(tool: str, next_step: str) -> str:
    return rf"{tool} was not run again: the call before may have been done already\. {next_step}"


def assert_held(answer: Answer, tool: str, next_step: str) -> None:
    assert answer.failed
    assert re.fullmatch(not_run(tool, next_step), answer.text), answer.text
    assert answer.flags == NEVER


def assert_not_alarmed(answer: Answer) -> None:
    assert "may have been done" not in answer.text
    assert answer.effect not in IN_DOUBT


@dataclass(frozen=True)
class Row:
    """What a call of a write comes to that has written, and met a cause."""

    cause: str
    code: str | None
    kind: str
    effect: str | None
    words: str
    """`author`: the author's alone; `begins`: the author's first; `says`: the author's in it; `service`; `doubt`."""
    again: str


ROWS: Final = (
    # The author's own code raised a plain exception that refuses: the author's text, nothing added.
    Row("value", "VALIDATION_ERROR", "validation", None, "author", "held"),
    Row("german", "VALIDATION_ERROR", "validation", None, "author", "held"),
    Row("invites", "VALIDATION_ERROR", "validation", None, "author", "held"),
    Row("lookup", "NOT_FOUND", "not_found", None, "author", "held"),
    Row("permission", "FORBIDDEN", "permission", None, "author", "held"),
    Row("runtime", "INTERNAL_ERROR", "internal", None, "author", "held"),
    Row("own", "INTERNAL_ERROR", "internal", None, "author", "held"),
    # An upstream service refused.
    Row("http400", "VALIDATION_ERROR", "validation", None, "service", "held"),
    Row("http401", "UNAUTHORIZED", "permission", None, "service", "held"),
    Row("http403", "FORBIDDEN", "permission", None, "service", "held"),
    Row("http404", "NOT_FOUND", "not_found", None, "service", "held"),
    Row("http409", "CONFLICT", "conflict", None, "service", "held"),
    # Anything else escaped.
    Row("timeout", "TIMEOUT", "transient", "unknown", "doubt", "held"),
    Row("reset", "NETWORK_ERROR", "transient", "unknown", "doubt", "held"),
    Row("http408", "TIMEOUT", "transient", "unknown", "doubt", "held"),
    Row("http425", "UNAVAILABLE", "transient", "unknown", "doubt", "held"),
    Row("http429", "RATE_LIMITED", "transient", "unknown", "doubt", "held"),
    Row("http500", "UPSTREAM_ERROR", "transient", "unknown", "doubt", "held"),
    Row("http503", "UNAVAILABLE", "transient", "unknown", "doubt", "held"),
    Row("division", "INTERNAL_ERROR", "internal", "unknown", "doubt", "held"),
    Row("library", "INTERNAL_ERROR", "internal", "unknown", "doubt", "held"),
    # The author raised a ToolError.
    Row("notfound", "NOT_FOUND", "not_found", "none", "begins", "runs"),
    Row("invalid", "VALIDATION_ERROR", "validation", "none", "begins", "runs"),
    Row("denied", "FORBIDDEN", "permission", "none", "begins", "runs"),
    Row("conflict", "CONFLICT", "conflict", "none", "begins", "runs"),
    Row("passing", "TIMEOUT", "transient", None, "begins", "runs"),
    Row("internal", "INTERNAL_ERROR", "internal", None, "begins", "held"),
    Row("unsaid", None, "internal", None, "begins", "held"),
    Row("says_none", "INTERNAL_ERROR", "internal", "none", "begins", "runs"),
    Row("says_unknown", "TIMEOUT", "transient", "unknown", "says", "held"),
    Row("says_part", "INTERNAL_ERROR", "internal", "partial", "says", "held"),
    Row("says_done", "INTERNAL_ERROR", "internal", "done", "says", "held"),
)


RAISED: Final = {
    "timeout": "The bank did not answer",
    "reset": "Connection reset by peer",
    "division": "division by zero",
    "library": "Expecting property name",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.cause)
class TestOfAWrite:
    def test_cause_and_effect(self, shop: Shop, row: Row) -> None:
        answer = shop.session.call("pay_invoice", fresh(row.cause))
        assert answer.failed
        assert (answer.error.get("code"), answer.error["kind"], answer.effect) == (row.code, row.kind, row.effect)

    def test_the_flags_are_the_causes_own_until_the_call_is_in_doubt(self, shop: Shop, row: Row) -> None:
        answer = shop.session.call("pay_invoice", fresh(row.cause))
        own = row.kind == "transient" and row.effect not in IN_DOUBT
        assert answer.flags == (own, own)
        assert answer.error.get("strategy") != "retry_with_backoff" or own

    def test_the_words(self, shop: Shop, row: Row) -> None:
        id = fresh(row.cause)
        text, said = shop.session.call("pay_invoice", id).text, SAYS.get(row.cause, "")
        match row.words:
            case "author":
                assert text == said
            case "begins":
                assert text.startswith(said)
                assert "may have been done" not in text
            case "says":
                assert said.rstrip(".") in text
                assert not INVITES.search(text.replace(said, ""))
            case "service":
                assert "bank.example" in text
                assert row.cause[4:] in text
                assert not INVITES.search(text)
            case _:
                assert re.fullmatch(in_doubt("pay_invoice", looking("get_invoice", id)), text), text
                # What the framework would have shown of the exception is shown.
                assert RAISED.get(row.cause, "") in text

    def test_the_identical_call_again(self, shop: Shop, row: Row) -> None:
        id = fresh(row.cause)
        first = shop.session.call("pay_invoice", id)
        again = shop.session.call("pay_invoice", id)
        if row.again == "held":
            assert_held(again, "pay_invoice", looking("get_invoice", id, row.effect))
            assert shop.did("pay_invoice", id) == 1
        else:
            assert again.text == first.text
            assert shop.did("pay_invoice", id) == 2


def test_a_rate_that_the_author_states_invites_and_runs(shop: Shop) -> None:
    id = fresh("rate")
    answer = shop.session.call("pay_invoice", id)
    assert (answer.error["code"], answer.flags, answer.error["retry_after"]) == ("RATE_LIMITED", (True, True), 2)
    assert_not_alarmed(answer)
    assert not shop.session.call("pay_invoice", id).held
    assert shop.ran("pay_invoice", id) == 2


@pytest.mark.parametrize("name", ["mcpserver", "fastmcp"])
def test_an_error_of_the_framework_keeps_its_text_and_says_no_effect(shops: Shops, name: str) -> None:
    kind, transport, options = SERVERS[name]
    shop, id = shops.get(kind, options, transport=transport), fresh("sdk")
    answer = shop.session.call("pay_invoice", id)
    assert (answer.text, answer.effect, answer.flags) == (SAYS["sdk"], None, NEVER)
    assert_held(shop.session.call("pay_invoice", id), "pay_invoice", looking("get_invoice", id))
    assert shop.did("pay_invoice", id) == 1


@pytest.mark.parametrize("kind", ["mcpserver", "lowlevel"])
def test_where_the_framework_hides_the_text_of_an_exception_it_stays_hidden(shops: Shops, kind: str) -> None:
    shop, id = shops.get(kind, {}), fresh("runtime")
    answer = shop.session.call("pay_invoice", id)
    assert SAYS["runtime"] not in json.dumps(answer.result)
    assert answer.text
    assert (answer.effect, answer.flags) == (None, NEVER)
    assert shop.session.call("pay_invoice", id).held


class TestRefusedBeforeTheToolRan:
    def test_arguments(self, shop: Shop) -> None:
        for _ in range(2):
            answer = shop.session.call("pay_invoice", arguments={"idd": "ok-1"})
            assert (answer.error["code"], answer.error["kind"], answer.effect) == (
                "VALIDATION_ERROR",
                "validation",
                "none",
            )
            assert re.search(r'Next: call pay_invoice with \{"id": ?"ok-1"\}', answer.text), answer.text
        assert shop.ran("pay_invoice", "ok-1") == 0

    def test_an_unknown_tool(self, shop: Shop) -> None:
        for _ in range(2):
            answer = shop.session.call("pay_invoise", "ok-1")
            assert (answer.error["kind"], answer.effect) == ("not_found", "none")
            assert "pay_invoice" in answer.text
            assert not answer.held
        assert shop.ran("pay_invoice", "ok-1") == 0

    def test_a_rule(self, shop: Shop) -> None:
        shop.session.call("send_telegram", fresh("ok"))
        id = fresh("ok")
        for _ in range(2):
            answer = shop.session.call("send_telegram", id)
            assert (answer.error["code"], answer.effect, answer.flags) == ("RATE_LIMITED", "none", (True, True))
            assert not answer.held
        assert shop.ran("send_telegram", id) == 0


@pytest.mark.parametrize(
    ("cause", "effect", "again"),
    [
        ("before", "none", "runs"),
        ("undone", "none", "runs"),
        ("inside", "unknown", "held"),
        ("refuses", "unknown", "held"),
        ("part", "partial", "held"),
        ("after", "done", "held"),
        ("denies", "done", "held"),
    ],
)
class TestOfAWriteWithMarks:
    def test_cause_effect_and_flags(self, shop: Shop, cause: str, effect: str, again: str) -> None:
        codes = {"refuses": "VALIDATION_ERROR", "denies": "INTERNAL_ERROR", "undone": "NETWORK_ERROR"}
        effect, _ = known(shop, cause, effect, again)
        answer = shop.session.call("settle_invoice", fresh(cause))
        assert (answer.error["code"], answer.effect) == (codes.get(cause, "TIMEOUT"), effect)
        assert answer.flags == ((True, True) if effect == "none" else NEVER)

    def test_the_identical_call_again(self, shop: Shop, cause: str, effect: str, again: str) -> None:
        effect, again = known(shop, cause, effect, again)
        id = fresh(cause)
        shop.session.call("settle_invoice", id)
        answer = shop.session.call("settle_invoice", id)
        if again == "held":
            assert_held(answer, "settle_invoice", looking("get_invoice", id, effect))
        assert shop.ran("settle_invoice", id) == (1 if again == "held" else 2)


def known(shop: Shop, cause: str, effect: str, again: str) -> tuple[str, str]:
    """What a row says of this server. A low-level server's tool is its handler, so that its marks stand in a helper, of
    which nobody knows what was done before."""
    helper = shop.kind == "lowlevel" and cause in ("before", "undone")
    return ("unknown", "held") if helper else (effect, again)


PASSING: Final = {"timeout": "TIMEOUT", "reset": "NETWORK_ERROR", "http429": "RATE_LIMITED", "http503": "UNAVAILABLE"}
LASTING: Final = {"value": "VALIDATION_ERROR", "http404": "NOT_FOUND", "division": "INTERNAL_ERROR"}


@pytest.mark.parametrize(
    ("tool", "prefix"),
    [("get_invoice", "read_"), ("get_order", "read_"), ("set_price", ""), ("frobnicate", "")],
    ids=["read", "named as a read", "idempotent", "unmarked"],
)
@pytest.mark.parametrize("cause", [*PASSING, *LASTING])
def test_of_no_write_the_advice_of_the_cause_holds(shop: Shop, tool: str, prefix: str, cause: str) -> None:
    id = fresh(prefix + cause)
    for _ in range(3):
        answer = shop.session.call(tool, id)
        assert answer.error["code"] == (PASSING | LASTING)[cause]
        assert answer.flags == (cause in PASSING, cause in PASSING)
        assert_not_alarmed(answer)
        assert not answer.held
    assert shop.ran(tool, id) == 3


@pytest.mark.parametrize("cause", ["timeout", "value"])
def test_a_tool_that_is_named_as_a_write_is_one(shop: Shop, cause: str) -> None:
    id = fresh(cause)
    answer = shop.session.call("create_order", id)
    assert answer.effect == ("unknown" if cause == "timeout" else None)
    assert answer.flags == NEVER
    assert_held(shop.session.call("create_order", id), "create_order", looking("get_order", id))
    assert shop.did("create_order", id) == 1


def test_where_no_tool_tells_the_user_is_to_be_asked(shop: Shop) -> None:
    id = fresh("timeout")
    answer = shop.session.call("send_fax", id)
    assert re.fullmatch(in_doubt("send_fax", r"Next: ask the user\."), answer.text), answer.text
    assert_held(shop.session.call("send_fax", id), "send_fax", r"Next: ask the user\.")
    assert shop.did("send_fax", id) == 1


def test_unmarked_tools_can_be_put_under_the_strong_rules(shops: Shops) -> None:
    shop, id = shops.get("fastmcp", {"unmarked": "write"}), fresh("timeout")
    answer = shop.session.call("frobnicate", id)
    assert (answer.effect, answer.flags) == ("unknown", NEVER)
    assert shop.session.call("frobnicate", id).held
    assert shop.ran("frobnicate", id) == 1


class TestTheEndOfTheHold:
    @pytest.mark.parametrize("cause", ["timeout", "value"])
    def test_a_successful_read_ends_it(self, shop: Shop, cause: str) -> None:
        id = fresh(cause)
        shop.session.call("pay_invoice", id)
        assert shop.session.call("pay_invoice", id).held
        assert not shop.session.call("get_invoice", id).failed
        assert not shop.session.call("pay_invoice", id).held
        assert shop.did("pay_invoice", id) == 2
        # What failed again is in doubt again.
        assert shop.session.call("pay_invoice", id).held

    @pytest.mark.parametrize("cause", ["timeout", "value"])
    def test_a_failed_look_does_not(self, shop: Shop, cause: str) -> None:
        id = fresh(cause)
        shop.session.call("pay_invoice", id)
        assert shop.session.call("get_invoice", fresh("read_lookup")).failed
        assert shop.session.call("get_invoice", arguments={}).failed
        assert shop.session.call("pay_invoice", id).held
        assert shop.did("pay_invoice", id) == 1

    @pytest.mark.parametrize(("cause", "held"), [("timeout", True), ("value", False)])
    @pytest.mark.parametrize("other", ["send_fax", "set_price", "frobnicate"])
    def test_another_success_ends_only_what_is_not_said(self, shop: Shop, cause: str, held: bool, other: str) -> None:
        id = fresh(cause)
        shop.session.call("pay_invoice", id)
        assert not shop.session.call(other, fresh("ok")).failed
        assert shop.session.call("pay_invoice", id).held is held
        assert shop.did("pay_invoice", id) == (1 if held else 2)

    def test_another_failure_does_not(self, shop: Shop) -> None:
        id = fresh("value")
        shop.session.call("pay_invoice", id)
        assert shop.session.call("send_fax", fresh("value")).failed
        assert shop.session.call("pay_invoice", id).held

    def test_being_held_does_not(self, shop: Shop) -> None:
        id = fresh("value")
        shop.session.call("pay_invoice", id)
        assert [shop.session.call("pay_invoice", id).held for _ in range(3)] == [True] * 3
        assert shop.did("pay_invoice", id) == 1


class TestWhatIsIdentical:
    def test_other_arguments_are_not(self, shop: Shop) -> None:
        id = fresh("timeout")
        shop.session.call("create_order", arguments={"id": id, "amount": 1})
        assert not shop.session.call("create_order", arguments={"id": id, "amount": 2}).held
        assert shop.did("create_order", id) == 2

    def test_another_tool_is_not(self, shop: Shop) -> None:
        id = fresh("timeout")
        shop.session.call("pay_invoice", id)
        assert not shop.session.call("send_fax", id).held

    @pytest.mark.parametrize("again", ['{"amount": 1, "id": ID}', '{"id": ID, "amount": 1.0}'])
    def test_the_order_of_keys_and_the_kind_of_number_do_not_matter(self, shop: Shop, again: str) -> None:
        id = fresh("timeout")
        shop.session.call("create_order", arguments={"id": id, "amount": 1})
        assert shop.session.call("create_order", arguments=json.loads(again.replace("ID", json.dumps(id)))).held
        assert shop.did("create_order", id) == 1


class TestWhoseHoldItIs:
    @pytest.mark.parametrize("name", ["mcpserver over http", "fastmcp over http"])
    def test_another_session_is_not_held(self, shops: Shops, name: str) -> None:
        kind, transport, options = SERVERS[name]
        shop, id = shops.get(kind, options, transport=transport), fresh("timeout")
        mine, other = shop.begin(), shop.begin()
        mine.call("pay_invoice", id)
        assert not other.call("pay_invoice", id).held
        # Nor is mine ended by a look of theirs.
        assert not other.call("get_invoice", id).failed
        assert mine.call("pay_invoice", id).held
        assert shop.did("pay_invoice", id) == 2

    @pytest.mark.parametrize("framework", ["mcpserver", "fastmcp"])
    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    def test_another_client_in_the_same_process_is_not_held(self, framework: str, mode: str) -> None:
        """The one shortcut here: each client in memory is a connection of its own."""
        server: Any = MCPServer("shop", log_level="CRITICAL") if framework == "mcpserver" else FastMCP("shop")
        paid: list[str] = []

        def pay_invoice(id: str):
            paid.append(id)
            raise TimeoutError

        server.tool()(pay_invoice)
        failwell.server.install(server, wire={"client": None})

        async def pay() -> None:
            made: Any = mcp.Client(server, mode=mode) if framework == "mcpserver" else fastmcp.Client(server, mode=mode)
            async with made as client:
                for _ in range(2):
                    await (client.call_tool if framework == "mcpserver" else client.call_tool_mcp)(
                        "pay_invoice", {"id": "inv_1"}
                    )

        for count in (1, 2):
            asyncio.run(pay())
            assert len(paid) == count

    @pytest.mark.parametrize("name", ["mcpserver over http", "fastmcp over http"])
    def test_without_session_and_login_nothing_is_held(self, shops: Shops, name: str) -> None:
        kind, transport, options = SERVERS[name]
        shop, id = shops.get(kind, options, transport=transport), fresh("timeout")
        session = shop.begin(MODERN)
        assert session.call("pay_invoice", id).effect == "unknown"
        assert not session.call("pay_invoice", id).held
        assert shop.did("pay_invoice", id) == 2

    @pytest.mark.parametrize("kind", ["mcpserver", "fastmcp"])
    def test_over_stdio_the_process_is_the_session_in_the_newer_era(self, shops: Shops, kind: str) -> None:
        shop, id = shops.get(kind, {}, era=MODERN), fresh("timeout")
        shop.session.call("pay_invoice", id)
        assert shop.session.call("pay_invoice", id).held
        assert shop.did("pay_invoice", id) == 1


class TestWithoutTheHold:
    @pytest.mark.parametrize("kind", ["mcpserver", "fastmcp"])
    def test_zero_turns_it_off(self, shops: Shops, kind: str) -> None:
        shop, id = shops.get(kind, {"hold": 0}), fresh("timeout")
        answers = [shop.session.call("pay_invoice", id) for _ in range(2)]
        assert [(each.held, each.effect, each.flags) for each in answers] == [(False, "unknown", NEVER)] * 2
        assert shop.did("pay_invoice", id) == 2

    def test_a_key_answers_by_itself(self, shops: Shops) -> None:
        shop, id = shops.get("fastmcp", {"idempotency": True}), fresh("timeout")
        for key, did in (("a", 1), ("a", 1), ("b", 2), ("b", 2)):
            answer = shop.session.call("pay_invoice", id, meta={KEY: f"{id} {key}"})
            assert answer.failed
            assert not answer.held
            assert shop.did("pay_invoice", id) == did


@pytest.mark.parametrize(("action", "did"), [("accept", 2), ("decline", 1), ("cancel", 1)])
@pytest.mark.parametrize("kind", ["mcpserver", "fastmcp"])
def test_where_no_call_tells_the_user_ends_it(shops: Shops, kind: str, action: str, did: int) -> None:
    shop, id = shops.get(kind, {}, capabilities={"elicitation": {"form": {}}}), fresh("timeout")

    def user(question: Json) -> Json:
        if action != "accept":
            return {"action": action}
        properties = question["requestedSchema"]["properties"]
        content = {name: True if each["type"] == "boolean" else each["enum"][0] for name, each in properties.items()}
        return {"action": "accept", "content": content}

    shop.session.user = user
    shop.session.questions.clear()
    shop.session.call("send_fax", id)
    assert not shop.session.questions
    again = shop.session.call("send_fax", id)
    assert [each["message"] for each in shop.session.questions] == [
        "send_fax may have been done already. Run it again?"
    ]
    assert again.held is (did == 1)
    assert shop.did("send_fax", id) == did


def test_where_a_call_tells_nobody_is_asked(shops: Shops) -> None:
    shop, id = shops.get("mcpserver", {}, capabilities={"elicitation": {"form": {}}}), fresh("timeout")
    shop.session.questions.clear()
    shop.session.call("pay_invoice", id)
    assert shop.session.call("pay_invoice", id).held
    assert not shop.session.questions


class TestOfAGroup:
    @pytest.mark.parametrize(
        ("cause", "code", "effect"),
        [
            ("value", "VALIDATION_ERROR", None),
            ("http404", "NOT_FOUND", None),
            ("timeout", "TIMEOUT", "unknown"),
            ("division", "INTERNAL_ERROR", "unknown"),
            ("internal", "INTERNAL_ERROR", None),
        ],
    )
    def test_an_action_that_writes(self, grouped: Shop, cause: str, code: str, effect: str | None) -> None:
        id = fresh(cause)
        arguments = {"action": "pay", "id": id}
        answer = grouped.session.call("billing", arguments=arguments)
        assert (answer.error["code"], answer.effect, answer.flags) == (code, effect, NEVER)
        if cause == "value":
            assert answer.text == SAYS["value"]
        assert ("so it may have been done already. Next: " in answer.text) is (effect == "unknown")
        again = grouped.session.call("billing", arguments=dict(reversed(arguments.items())))
        assert again.held
        assert again.flags == NEVER
        assert grouped.did("pay", id) == 1

    def test_an_action_that_reads_ends_the_hold(self, grouped: Shop) -> None:
        id = fresh("timeout")
        grouped.session.call("billing", arguments={"action": "pay", "id": id})
        assert not grouped.session.call("billing", arguments={"action": "get", "id": id}).failed
        assert not grouped.session.call("billing", arguments={"action": "pay", "id": id}).held
        assert grouped.did("pay", id) == 2

    def test_an_action_that_reads_is_not_held(self, grouped: Shop) -> None:
        id = fresh("read_timeout")
        for _ in range(2):
            answer = grouped.session.call("billing", arguments={"action": "get", "id": id})
            assert (answer.error["code"], answer.flags) == ("TIMEOUT", (True, True))
            assert_not_alarmed(answer)
        assert grouped.ran("get", id) == 2

    def test_what_the_author_refuses_runs_again(self, grouped: Shop) -> None:
        id = fresh("notfound")
        answers = [grouped.session.call("billing", arguments={"action": "pay", "id": id}) for _ in range(2)]
        assert [(each.error["code"], each.effect, each.held) for each in answers] == [("NOT_FOUND", "none", False)] * 2
        assert grouped.ran("pay", id) == 2


# The code, type or number names the cause in every form; only the flags say that the call may have been done.
FORMS: Final[dict[str, dict[str, Any]]] = {
    "value": {"typed": "VALIDATION", "v1": "CLIENT_ERROR", "envelope": "validation_error", "jsonrpc": -32005},
    "lookup": {"typed": "NOT_FOUND", "v1": "NOT_FOUND", "envelope": "not_found", "jsonrpc": -32003},
    "http403": {"typed": "PERMISSION", "v1": "AUTHENTICATION_ERROR", "envelope": "forbidden", "jsonrpc": -32002},
    "http404": {"typed": "NOT_FOUND", "v1": "NOT_FOUND", "envelope": "not_found", "jsonrpc": -32003},
    "http409": {"typed": "CONFLICT", "v1": "CLIENT_ERROR", "envelope": "conflict", "jsonrpc": -32004},
    "timeout": {"typed": "TRANSIENT", "v1": "NETWORK_ERROR", "envelope": "timeout", "jsonrpc": -32007},
    "reset": {"typed": "TRANSIENT", "v1": "NETWORK_ERROR", "envelope": "network_error", "jsonrpc": -32010},
    "http503": {"typed": "TRANSIENT", "v1": "SERVER_ERROR", "envelope": "unavailable", "jsonrpc": -32010},
    "division": {"typed": "INTERNAL", "v1": "UNKNOWN_ERROR", "envelope": "internal_error", "jsonrpc": -32000},
    "notfound": {"typed": "NOT_FOUND", "v1": "NOT_FOUND", "envelope": "not_found", "jsonrpc": -32003},
    "passing": {"typed": "TRANSIENT", "v1": "NETWORK_ERROR", "envelope": "timeout", "jsonrpc": -32007},
    "says_unknown": {"typed": "TRANSIENT", "v1": "NETWORK_ERROR", "envelope": "timeout", "jsonrpc": -32007},
}
CONTRACTS: Final = ("typed", "v1", "xml", "envelope", "jsonrpc")
BY_CAUSE: Final = {row.cause: row for row in ROWS}


@dataclass(frozen=True)
class Formed:
    """What one form says: the code that names the cause, the flag for programs if it has one, and the words."""

    code: Any
    invites: bool | None
    words: str


def formed(answer: Answer, form: str) -> Formed:
    if form == "xml":
        code = re.match(r'<tool_error(?: code="(\w+)")?', answer.text)
        assert code, answer.text
        words = html.unescape(re.sub(r"<[^>]+>", " ", answer.text))
        return Formed(code[1], None, " ".join(words.split()))
    stated: Json = answer.result.get("structuredContent") or json.loads(answer.text)
    match form:
        case "typed":
            return Formed(stated["type"], stated["recoverable"], stated["message"])
        case "v1":
            return Formed(stated["code"], stated["retryable"], stated["message"])
        case "envelope":
            return Formed(stated["error"]["code"], stated["error"]["retryable"], stated["error"]["message"])
        case _:
            data = stated["data"]
            assert data.get("mcp_error_code") == answer.error.get("code")
            said = {each for each in (data.get("recovery_strategy"),) if each}
            return Formed(
                stated["code"],
                "retry_with_backoff" in said,
                " ".join(each for each in (data["details"], data.get("suggestion")) if each),
            )


@pytest.mark.parametrize("form", CONTRACTS)
@pytest.mark.parametrize("kind", ["mcpserver", "fastmcp"])
class TestInTheFormOfAContract:
    @pytest.mark.parametrize("cause", FORMS)
    def test_a_write(self, shops: Shops, kind: str, form: str, cause: str) -> None:
        row, id = BY_CAUSE[cause], fresh(cause)
        shop = shops.get(kind, {**SERVERS[kind][2], "format": form})
        answer = shop.session.call("pay_invoice", id)
        said = formed(answer, form)
        own = row.kind == "transient" and row.effect not in IN_DOUBT
        assert said.code == FORMS[cause].get(form, row.code)
        assert said.invites in (None, own) or (form == "jsonrpc" and not said.invites)
        assert (answer.error["code"], answer.effect, answer.flags) == (row.code, row.effect, (own, own))
        if row.words == "author":
            assert SAYS[cause] in said.words
            assert not INVITES.search(said.words.replace(SAYS[cause], ""))
        if row.words == "doubt":
            # A form with a place of its own for the next step has the cause in its message.
            assert "failed part-way" in said.words
            assert re.search(lost("pay_invoice", looking("get_invoice", id)), said.words), said.words
        again = shop.session.call("pay_invoice", id)
        assert again.held is (row.again == "held")
        if again.held:
            told = formed(again, form)
            assert re.search(not_run("pay_invoice", looking("get_invoice", id)), told.words), told.words
            assert not told.invites
        assert shop.did("pay_invoice", id) == (1 if row.again == "held" else 2)

    def test_a_read(self, shops: Shops, kind: str, form: str) -> None:
        shop, id = shops.get(kind, {**SERVERS[kind][2], "format": form}), fresh("read_timeout")
        for _ in range(2):
            answer = shop.session.call("get_invoice", id)
            said = formed(answer, form)
            assert said.code == FORMS["timeout"].get(form, "TIMEOUT")
            assert said.invites is not False or form == "jsonrpc"
            assert answer.flags == (True, True)


# Seen from outside: servers that know nothing of Failwell, behind the relay and behind the client.

BARE: Final = ("mcpserver", "lowlevel", "fastmcp")


@contextmanager
def wrapped(kind: str, *options: str) -> Iterator[tuple[Shop, Shop]]:
    """A bare shop behind the relay, and the same one without, to be compared with."""
    # A process for each test: the relay leaves a tool alone that fails again and again.
    behind, bare = Shop(kind, None, wrap=options), Shop(kind, None)
    try:
        yield behind, bare
    finally:
        behind.close()
        bare.close()


class TestBehindTheRelay:
    @pytest.mark.parametrize("cause", ["value", "german", "runtime", "http404", "timeout", "told_words"])
    @pytest.mark.parametrize("kind", BARE)
    def test_a_failure_in_words(self, kind: str, cause: str) -> None:
        with wrapped(kind) as (shop, bare):
            id = fresh(cause)
            own = bare.session.call("pay_invoice", id)
            answer = shop.session.call("pay_invoice", id)
            assert own.failed
            assert answer.text == own.text
            assert answer.effect is None
            assert_held(shop.session.call("pay_invoice", id), "pay_invoice", looking("get_invoice", id))
            assert shop.did("pay_invoice", id) == 1
            assert not shop.session.call("get_invoice", id).failed
            assert not shop.session.call("pay_invoice", id).held
            assert shop.did("pay_invoice", id) == 2

    def test_another_success_ends_what_is_not_said(self) -> None:
        with wrapped("fastmcp") as (shop, _):
            id = fresh("value")
            shop.session.call("pay_invoice", id)
            assert not shop.session.call("send_fax", fresh("ok")).failed
            assert not shop.session.call("pay_invoice", id).held
            assert shop.did("pay_invoice", id) == 2

    @pytest.mark.parametrize(
        ("cause", "effect", "flags", "held"),
        [("told_none", "none", (True, True), False), ("told_unknown", "unknown", NEVER, True)],
    )
    def test_a_failure_that_states_its_effect(
        self, cause: str, effect: str, flags: tuple[bool, bool], held: bool
    ) -> None:
        with wrapped("lowlevel") as (shop, _):
            id = fresh(cause)
            answer = shop.session.call("pay_invoice", id)
            assert (answer.error["code"], answer.effect, answer.flags) == ("TIMEOUT", effect, flags)
            assert shop.session.call("pay_invoice", id).held is held
            assert shop.did("pay_invoice", id) == (1 if held else 2)

    def test_a_contract_that_invites_the_same_call(self) -> None:
        with wrapped("lowlevel") as (shop, _):
            id = fresh("told_retry")
            answer = shop.session.call("pay_invoice", id)
            assert (answer.error["code"], answer.error["kind"]) == ("NETWORK_ERROR", "transient")
            assert shop.did("pay_invoice", id) == 1
            # Whoever stands outside cannot know that nothing was done: the hold protects where a flag invites.
            assert shop.session.call("pay_invoice", id).held
            assert shop.did("pay_invoice", id) == 1

    @pytest.mark.parametrize("form", ["text", *CONTRACTS])
    def test_a_server_that_dies(self, form: str) -> None:
        with wrapped("lowlevel", "--format", form) as (shop, _):
            id = fresh("dies")
            answer = shop.session.call("pay_invoice", id)
            words = answer.text if form == "text" else formed(answer, form).words
            assert (answer.error["kind"], answer.effect, answer.flags) == ("transient", "unknown", NEVER)
            assert re.search(lost("pay_invoice", looking("get_invoice", id)), words), words
            again = shop.session.call("pay_invoice", id)
            assert again.held
            assert again.flags == NEVER
            assert shop.did("pay_invoice", id) == 1

    @pytest.mark.parametrize(("tool", "effect"), [("pay_invoice", "unknown"), ("frobnicate", "unknown")])
    def test_a_lost_answer(self, tool: str, effect: str) -> None:
        with wrapped("lowlevel") as (shop, _):
            id = fresh("dies")
            answer = shop.session.call(tool, id)
            assert (answer.effect, answer.flags) == (effect, NEVER)
            shop.session.call(tool, id)
            # An unmarked tool is not held; neither is its call repeated by the relay itself.
            assert shop.did(tool, id) == (1 if tool == "pay_invoice" else 2)

    def test_a_read_is_made_again_and_never_held(self) -> None:
        with wrapped("fastmcp", "--timeout", "20") as (shop, _):
            id = fresh("read_lookup")
            answers = [shop.session.call("get_invoice", id) for _ in range(2)]
            assert [each.held for each in answers] == [False, False]
            assert_not_alarmed(answers[0])
            assert shop.ran("get_invoice", id) >= 2

    def test_zero_turns_it_off(self) -> None:
        with wrapped("fastmcp", "--hold", "0") as (shop, _):
            id = fresh("value")
            assert [shop.session.call("pay_invoice", id).held for _ in range(2)] == [False, False]
            assert shop.did("pay_invoice", id) == 2

    @pytest.mark.parametrize(("options", "held"), [((), False), (("--unmarked", "write"), True)])
    def test_unmarked(self, options: tuple[str, ...], held: bool) -> None:
        with wrapped("fastmcp", *options) as (shop, bare):
            id = fresh("value")
            assert shop.session.call("frobnicate", id).text == bare.session.call("frobnicate", id).text
            assert shop.session.call("frobnicate", id).held is held
            assert shop.did("frobnicate", id) == (1 if held else 2)

    def test_refused_before_it_was_sent(self) -> None:
        with wrapped("fastmcp") as (shop, _):
            for _ in range(2):
                answer = shop.session.call("pay_invoice", arguments={"idd": "ok-1"})
                assert (answer.error["kind"], answer.effect, answer.held) == ("validation", "none", False)
            assert shop.ran("pay_invoice", "ok-1") == 0


def recovering(kind: str, scenario: Callable[[Recovering, Shop], Any], **options: Any) -> None:
    """Play a scenario with Failwell's client at a bare shop; the shop that is given knows the ledger."""
    ledger = Shop(kind, None)

    async def play() -> None:
        # The same ledger, in a process that the client starts itself.
        command = commands.in_parts(Shop.command(kind, None, "stdio", ledger.ledger))
        policy = fw.Policy(base_delay=0.001, **options)
        async with Recovering(mcp.Client(StdioServerParameters(**command)), policy=policy) as agent:
            await scenario(agent, ledger)

    try:
        asyncio.run(play())
    finally:
        ledger.close()


def answer_of(report: Any) -> Answer:
    return Answer(report.result.model_dump(mode="json", by_alias=True, exclude_none=True))


class TestBehindTheClient:
    @pytest.mark.parametrize("cause", ["value", "german", "http404", "timeout", "told_words"])
    @pytest.mark.parametrize("kind", BARE)
    def test_a_failure_in_words(self, kind: str, cause: str) -> None:
        async def scenario(agent: Recovering, shop: Shop) -> None:
            id = fresh(cause)
            own = shop.session.call("pay_invoice", id)
            assert shop.did("pay_invoice", id) == 1
            report = await agent.call("pay_invoice", {"id": id})
            assert answer_of(report).text == own.text
            assert (report.calls, report.failure.effect) == (1, None)
            again = await agent.call("pay_invoice", {"id": id})
            assert re.fullmatch(not_run("pay_invoice", looking("get_invoice", id)), answer_of(again).text)
            assert (again.ok, again.calls) == (False, 0)
            assert shop.did("pay_invoice", id) == 2
            assert (await agent.call("get_invoice", {"id": id})).ok
            assert (await agent.call("pay_invoice", {"id": id})).calls == 1
            assert shop.did("pay_invoice", id) == 3

        recovering(kind, scenario)

    def test_a_server_that_dies(self) -> None:
        async def scenario(agent: Recovering, shop: Shop) -> None:
            id = fresh("dies")
            report = await agent.call("pay_invoice", {"id": id})
            text = answer_of(report).text
            assert (report.calls, report.failure.effect) == (1, "unknown")
            assert re.search(lost("pay_invoice", looking("get_invoice", id)), text), text
            assert answer_of(await agent.call("pay_invoice", {"id": id})).held
            assert shop.did("pay_invoice", id) == 1
            # A look that fails proves nothing.
            assert not (await agent.call("get_invoice", {"id": fresh("read_lookup")})).ok
            assert answer_of(await agent.call("pay_invoice", {"id": id})).held

        recovering("lowlevel", scenario)

    @pytest.mark.parametrize(("tool", "hold"), [("frobnicate", 300), ("pay_invoice", 0)])
    def test_what_is_not_held_is_not_repeated_either(self, tool: str, hold: float) -> None:
        async def scenario(agent: Recovering, shop: Shop) -> None:
            id = fresh("told_words")
            for calls in (1, 2):
                assert (await agent.call(tool, {"id": id})).calls == 1
                assert shop.did(tool, id) == calls

        recovering("lowlevel", scenario, **({} if hold else {"hold": hold}))

    @pytest.mark.parametrize(("cause", "held"), [("told_none", False), ("told_unknown", True)])
    def test_a_failure_that_states_its_effect(self, cause: str, held: bool) -> None:
        async def scenario(agent: Recovering, shop: Shop) -> None:
            id = fresh(cause)
            report = await agent.call("pay_invoice", {"id": id})
            assert report.failure.effect == cause.removeprefix("told_")
            done = shop.did("pay_invoice", id)
            again = await agent.call("pay_invoice", {"id": id})
            assert answer_of(again).held is held
            assert (shop.did("pay_invoice", id) == done) is held

        recovering("lowlevel", scenario)

    def test_the_order_of_keys_and_the_kind_of_number_do_not_matter(self) -> None:
        async def scenario(agent: Recovering, shop: Shop) -> None:
            id = fresh("told_words")
            await agent.call("create_order", {"id": id, "amount": 1})
            again = await agent.call("create_order", {"amount": 1.0, "id": id})
            assert answer_of(again).held
            assert not answer_of(await agent.call("create_order", {"amount": 2, "id": id})).held
            assert shop.did("create_order", id) == 2

        recovering("lowlevel", scenario)


def test_the_canonical_object_stands_beside_what_is_held(shop: Shop) -> None:
    id = fresh("timeout")
    shop.session.call("pay_invoice", id)
    held = shop.session.call("pay_invoice", id)
    assert held.held
    assert held.result["_meta"][CANONICAL]["message"]
    assert fw.read(held.result) is not None
