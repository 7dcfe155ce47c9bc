"""Which read call is proposed to find out whether a write took effect, and which calls never are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from failwell.model import Action
from failwell.readers import Checks


def find_check(tool: Any, arguments: Any, tools: Any, *, trusted: bool = True, reads: Any = ()) -> Action | None:
    """What is found by one that has seen no other call."""
    return Checks(trusted=trusted, reads=reads).find(tool, arguments, tools)


READ = {"readOnlyHint": True}


def tool(name: str, *properties: str, required: tuple[str, ...] = (), **annotations: bool) -> dict[str, Any]:
    """A tool that takes anything by these names."""
    return {
        "name": name,
        "inputSchema": {"type": "object", "properties": {key: {} for key in properties}, "required": list(required)},
        "annotations": annotations,
    }


def typed(name: str, **properties: Any) -> dict[str, Any]:
    """A tool that needs all of these arguments."""
    return {"name": name, "inputSchema": {"properties": properties, "required": list(properties)}}


LISTED = [
    tool("pay", "id", "amount"),
    tool("get_payment", "id", required=("id",), **READ),
    tool("list_invoices", "status", **READ),
    tool("get_invoice", "invoice_id", required=("invoice_id",), **READ),
    tool("delete_invoice", "invoice_id"),
    tool("searchEmails", "to", "text"),
    tool("get_status"),
    tool("mailbox", "to", **READ),
]

MAY_WRITE = """
get_or_create_invoice find_or_create_invoice fetch_and_delete_invoice invoice_search_and_replace get_next_invoice
pop_invoice claim_invoice get_pay_invoice invoice_update show_invoice_to_customer fetch_invoice_into_db weather
""".split()


@pytest.mark.parametrize("name", MAY_WRITE)
def test_an_unmarked_tool_that_may_do_something_is_never_proposed(name: str) -> None:
    assert find_check("pay_invoice", {"id": 1, "invoice_id": 1}, [tool(name, "id", "invoice_id")]) is None


@pytest.mark.parametrize("name", ["get_next_invoice", "get_or_create_invoice", "pop_invoice", "update_invoice"])
def test_an_annotation_does_not_make_a_read_of_what_is_named_a_write(name: str) -> None:
    assert find_check("pay_invoice", {"id": 1}, [tool(name, "id", **READ)]) is None
    assert find_check("pay_invoice", {"id": 1}, [tool(name, "id")], reads=["*"]) is None


def server(**tools: str) -> list[dict[str, Any]]:
    """Tools by name, with the arguments that they need."""
    return [tool(name, *needed.split(), required=tuple(needed.split())) for name, needed in tools.items()]


GIT = server(git_status="repo_path", git_add="repo_path files", git_commit="repo_path message", git_log="repo_path",
             git_reset="repo_path", git_show="repo_path revision", git_create_branch="repo_path branch_name")  # fmt: skip
MEMORY = server(
    create_entities="entities", delete_entities="names", read_graph="", search_nodes="query", open_nodes="names"
)
SLACK = server(slack_post_message="channel_id text", slack_list_channels="", slack_get_channel_history="channel_id",
               slack_get_users="", slack_get_user_profile="user_id")  # fmt: skip
SHOP = server(shop__rent_bike="bike_id", shop__return_bike="bike_id", shop__list_bikes="", shop__get_rental="bike_id")
CART = server(add_to_cart="item_id", view_cart="", get_item="item_id")
CARTS = server(add_to_cart="cart_id item_id", view_cart="cart_id", get_item="item_id")

SERVERS: list[tuple[Any, str, Any, Any]] = [
    (server(invoices_pay="id", invoices_get="id", invoices_list=""), "invoices_pay", {"id": "i"}, ("invoices_get", {"id": "i"})),
    (server(**{"issue-close": "number", "issue-view": "number", "issue-list": ""}), "issue-close", {"number": 4}, ("issue-view", {"number": 4})),
    (server(pay_invoice="id", invoice_get="id"), "pay_invoice", {"id": "i"}, ("invoice_get", {"id": "i"})),
    (server(**{"shop-invoice-pay": "invoice_id", "shop-invoice-get": "id"}), "shop-invoice-pay", {"invoice_id": "i"}, ("shop-invoice-get", {"id": "i"})),
    (server(**{"users.delete": "id", "users.get": "id", "posts.get": "id"}), "users.delete", {"id": 7}, ("users.get", {"id": 7})),
    (SHOP, "shop__rent_bike", {"bike_id": "b"}, ("shop__get_rental", {"bike_id": "b"})),
    (SHOP, "shop__return_bike", {"bike_id": "b"}, ("shop__get_rental", {"bike_id": "b"})),
    (server(restart_service="name", service_status="name", list_hosts=""), "restart_service", {"name": "web"}, ("service_status", {"name": "web"})),
    (CART, "add_to_cart", {"item_id": "i"}, ("view_cart", None)),
    (CARTS, "add_to_cart", {"cart_id": "c", "item_id": "i"}, ("view_cart", {"cart_id": "c"})),
    (GIT, "git_commit", {"repo_path": "/r", "message": "m"}, ("git_log", {"repo_path": "/r"})),
    (GIT, "git_add", {"repo_path": "/r", "files": ["a"]}, ("git_status", {"repo_path": "/r"})),
    (GIT, "git_create_branch", {"repo_path": "/r", "branch_name": "b"}, None),
    (server(write_file="path content", read_file="path", get_file_info="path"), "write_file", {"path": "/a", "content": "x"}, ("read_file", {"path": "/a"})),
    (server(merge_pull_request="owner repo pullNumber", get_pull_request="owner repo pullNumber"), "merge_pull_request", {"owner": "o", "repo": "r", "pullNumber": 3}, ("get_pull_request", {"owner": "o", "repo": "r", "pullNumber": 3})),
    (server(create_issue="owner repo title", list_issues="owner repo", get_issue="owner repo issue_number"), "create_issue", {"owner": "o", "repo": "r", "title": "t"}, ("list_issues", {"owner": "o", "repo": "r"})),
    (MEMORY, "create_entities", {"entities": [{"name": "a"}]}, ("read_graph", None)),
    (SLACK, "slack_post_message", {"channel_id": "C1", "text": "hi"}, ("slack_get_channel_history", {"channel_id": "C1"})),
    (server(create_ticket="title", search_tickets="query"), "create_ticket", {"title": "Broken printer"}, ("search_tickets", {"query": "Broken printer"})),
    (server(create_ticket="title", search_tickets="query"), "create_ticket", {"title": "x; DROP"}, None),
    (server(pay_invoice="payment", get_invoice="invoice_id"), "pay_invoice", {"payment": {"invoice_id": "i"}}, ("get_invoice", {"invoice_id": "i"})),
    (server(pay_invoice="invoice", get_invoice="id"), "pay_invoice", {"invoice": {"id": "i"}}, ("get_invoice", {"id": "i"})),
    (server(send_email="to", list_contacts="", read_docs="", get_weather="to"), "send_email", {"to": "a"}, None),
    (server(pay_invoice="invoice_id customer_id", get_customer="customer_id", get_invoice_pdf="invoice_id"), "pay_invoice", {"invoice_id": "i", "customer_id": "c"}, None),
    (server(rent_bike="bike_id", get_manual="bike_id", get_weather="bike_id"), "rent_bike", {"bike_id": "b"}, None),
    (server(place_order="sku", order_status="order_id", list_orders=""), "place_order", {"sku": "s"}, ("list_orders", None)),
    (server(book_flight="flight_id", get_flight="flight_id", list_bookings=""), "book_flight", {"flight_id": "f"}, ("list_bookings", None)),
    (server(github__create_issue="repo title", linear__list_issues="", github__list_issues="repo"), "github__create_issue", {"repo": "r", "title": "t"}, ("github__list_issues", {"repo": "r"})),
    (server(kv_set="key value", kv_get="key", kv_list=""), "kv_set", {"key": "k", "value": "v"}, ("kv_get", {"key": "k"})),
    (server(acme_pay="x", acme_status="", acme_get_status=""), "acme_pay", {"x": 1}, None),
    (server(remove_user_from_team="user_id team_id", get_user="user_id", get_team="team_id"), "remove_user_from_team", {"user_id": 1, "team_id": 2}, ("get_team", {"team_id": 2})),
]  # fmt: skip


@pytest.mark.parametrize(("listed", "write", "arguments", "found"), SERVERS)
def test_the_call_that_tells_on_servers_of_many_spellings(listed: Any, write: str, arguments: Any, found: Any) -> None:
    expected = None if found is None else Action(found[0], arguments=found[1])
    for turn in range(len(listed)):
        assert find_check(write, arguments, listed[turn:] + listed[:turn]) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("pay", {"id": "p1", "amount": 3}, Action("get_payment", arguments={"id": "p1"})),
        ("delete_invoice", {"invoice_id": 7}, Action("get_invoice", arguments={"invoice_id": 7})),
        # The new invoice has no id yet that could be asked for.
        ("create_invoice", {"total": 3}, Action("list_invoices")),
        # Whom it went to is no identifier of an email, and to search for nothing tells nothing.
        ("sendEmail", {"to": "a@example.com"}, None),
        ("reboot", {}, None),
        ("update_password", {"id": 1}, None),
        ("set_order", {"id": 1}, None),
    ],
)
def test_the_one_about_the_same_thing_that_can_be_called(name: str, arguments: Any, found: Action | None) -> None:
    assert find_check(name, arguments, LISTED) == found


@pytest.mark.parametrize(
    ("write", "arguments", "read", "found"),
    [
        ("set_order", {"id": 1, "status": "paid"}, tool("get_order", "id"), {"id": 1}),
        ("pay_invoice", {"id": "in_1"}, tool("get_invoice", "id"), {"id": "in_1"}),
        ("refund", {"id": 1}, tool("get_refund", "id"), {"id": 1}),
        ("order", {"sku": "a-1"}, tool("list_orders"), None),
        ("book", {"name": "x"}, tool("list_bookings"), None),
        ("invoices.pay", {"id": 1}, tool("invoices.get", "id"), {"id": 1}),
        ("payment_intent_create", {"customer": "cus_1"}, tool("list_payment_intents", "customer"), None),
        ("add_label_to_issue", {"issue_number": 4, "label": "bug"}, tool("get_issue", "issue_number"), {"issue_number": 4}),
        ("add_item", {"cart_id": 1, "item_id": 2}, tool("list_items", "cart_id"), {"cart_id": 1}),
        ("add_item", {"cart_id": 1, "item_id": 2}, tool("get_item", "cart_id", "item_id"), {"cart_id": 1, "item_id": 2}),
        ("set_order_status", {"order_id": 4}, tool("get_order_status", "order_id"), {"order_id": 4}),
        ("transitionJiraIssue", {"issueIdOrKey": "A-1", "issueKey": "A-1"}, tool("getJiraIssue", "issue_key"), {"issue_key": "A-1"}),
    ],
)  # fmt: skip
def test_reads_of_real_servers_are_found(write: str, arguments: Any, read: Any, found: Any) -> None:
    assert find_check(write, arguments, [read]) == Action(read["name"], arguments=found)


@pytest.mark.parametrize(
    ("write", "arguments", "read"),
    [
        # The statement that may have been executed is not sent to a tool that may execute it.
        ("write_query", {"query": "INSERT INTO payments VALUES (1)"}, tool("read_query", "query", required=("query",), **READ)),
        ("write_query", {"query": "x"}, tool("read_query", "query", **READ)),
        ("checkout_cart", {"cart_id": 1}, tool("check_out_cart_now", "cart_id", **READ)),
        ("checkout_cart", {"cart_id": 1}, tool("get_checkout_cart", "cart_id", **READ)),
        ("pay_invoice", {"id": 1}, tool("get_pay_invoice", "id", **READ)),
        ("pay_invoice", {"id": 1}, tool("pay_invoice_status", "id", **READ)),
        ("book_room", {"id": 1}, tool("get_book_room", "id")),
        ("book_room", {"id": 1}, tool("getBookroom", "id")),
        # The channel does not tell whether the message is in it, nor the issue whether the comment is.
        ("send_message_to_channel", {"channel_id": 1}, tool("get_channel", "channel_id", **READ)),
        ("delete_issue_comment", {"id": 1}, tool("get_issue", "id", **READ)),
        # The role is there without the user, and says nothing of whom it was given to.
        ("assign_role", {"user_id": 7, "role": "x"}, tool("get_role", "role", **READ)),
        ("unassign_role", {"user": "u", "role": "x"}, tool("get_role", "role", **READ)),
        # Nobody knows what it was before, or how often it was sent.
        ("increment_counter", {"id": 1}, tool("get_counter", "id", **READ)),
        ("bump_version", {"id": 1}, tool("get_version", "id", **READ)),
        ("resend_email", {"id": 1}, tool("get_email", "id", **READ)),
        ("retry_job", {"id": 1}, tool("get_job", "id", **READ)),
        ("ping_user", {"id": 1}, tool("get_user", "id", **READ)),
        # An account has many payments, and is there without this one.
        ("pay", {"account": "a", "amount": 5}, tool("get_account", "account", **READ)),
        ("pay", {"account_id": "a", "amount": 5}, tool("get_account", "account_id", **READ)),
        ("transfer", {"wallet_id": "a", "amount": 5}, tool("get_wallet", "wallet_id", **READ)),
        ("charge", {"card": "a", "amount": 5}, tool("get_card", "card", **READ)),
        # The item is there without the cart, too, and the user without the team.
        ("add_item", {"cart_id": 1, "item_id": 2}, tool("get_item", "item_id", **READ)),
        ("remove_user_from_team", {"user_id": 1, "team_id": 2}, tool("get_user", "user_id", **READ)),
        # A name that all tools of a server begin with is no thing.
        ("slack_post_message", {"channel_id": "C1"}, tool("slack_get_users", **READ)),
        ("github__create_issue", {"repo": "r"}, tool("github__list_repos", **READ)),
        # An issue says whose it is; a role does not say who has it. The names are the same.
        ("assign_issue", {"issue_id": 1, "user_id": 2}, tool("get_issue", "issue_id", **READ)),
        # Whoever it shows then, it is not user 5.
        ("update_user", {"user_id": 5}, tool("get_user", "username", **READ)),
    ],
)  # fmt: skip
def test_a_read_that_would_do_it_again_or_would_not_tell_is_not_proposed(write: str, arguments: Any, read: Any) -> None:
    assert find_check(write, arguments, [read]) is None


def test_a_tool_that_may_write_is_never_proposed() -> None:
    assert find_check("pay", {"id": 1}, [tool("get_payment", "id", readOnlyHint=False)]) is None
    assert find_check("pay", {"id": 1}, [tool("get_payment", "id", destructiveHint=True)], trusted=False) is None
    assert find_check("pay", {"id": 1}, [tool("get_payment", "id", readOnlyHint=True, destructiveHint=True)]) is None
    assert find_check("pay", {"id": 1}, [tool("refund_payment", "id")]) is None
    assert find_check("pay", {"id": 1}, [tool("refund_payment", "id", **READ)]) is not None
    assert find_check("pay", {"id": 1}, [tool("refund_payment", "id", **READ)], trusted=False) is None


def test_what_is_marked_as_a_read_and_named_as_a_write_is_not_proposed() -> None:
    assert find_check("create_task", {"id": 1}, [tool("get_next_task", "id", **READ)]) is None
    assert find_check("create_task", {"id": 1}, [tool("delete_tasks", "id", **READ)], reads=["*"]) is None


def test_a_name_that_is_listed_twice_is_not_proposed() -> None:
    twice = [tool("get_order", "id", **READ), tool("get_order", "id", readOnlyHint=False)]
    assert find_check("cancel_order", {"id": 1}, twice) is None
    assert find_check("cancel_order", {"id": 1}, twice[::-1]) is None


def test_the_user_says_what_reads() -> None:
    listed = [tool("order_state", "id")]
    assert find_check("cancel_order", {"id": 1}, listed) is None
    for reads in (["order_*"], ("x", "order_stat?"), "order_state"):
        found = find_check("cancel_order", {"id": 1}, listed, trusted=False, reads=reads)
        assert found == Action("order_state", arguments={"id": 1})
    assert find_check("cancel_order", {"id": 1}, listed, reads=["ORDER_*"]) is None
    marked = [tool("order_state", "id", readOnlyHint=False)]
    assert find_check("cancel_order", {"id": 1}, marked, reads=["order_*"]) is None


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [("invoice_id", "id"), ("id", "invoice_id"), ("invoiceId", "invoice_id"), ("id", "invoiceId"), ("invoice", "invoice")],
)  # fmt: skip
def test_an_identifier_by_another_name(sent: str, wanted: str) -> None:
    read = tool("get_invoice", wanted, required=(wanted,))
    assert find_check("pay_invoice", {sent: "in_1"}, [read]) == Action("get_invoice", arguments={wanted: "in_1"})


@pytest.mark.parametrize(
    ("sent", "wanted"), [("customer_id", "id"), ("id", "customer_id"), ("name", "id"), ("id", "key")]
)
def test_an_identifier_of_something_else_is_not_taken(sent: str, wanted: str) -> None:
    assert find_check("pay_invoice", {sent: "in_1"}, [tool("get_invoice", wanted, required=(wanted,), **READ)]) is None


def test_an_id_alone_is_not_that_of_a_list() -> None:
    orders = tool("list_orders", "id", **READ)
    assert find_check("cancel_order", {"id": 1}, [orders]) == Action("list_orders")


FREE = (
    "query sql statement command cmd code script text body message content prompt expression filter q url uri sqlQuery"
    " search_query input data payload title description comment reason where jql regex template api_key password token"
    " idempotency_key page_number card_number json_path to limit amount currency"
).split()


@pytest.mark.parametrize("name", FREE)
def test_free_text_and_statements_are_never_passed_on(name: str) -> None:
    arguments = {"id": 1, name: "SELECT"}
    for marks in (READ, {}):
        needed = tool("get_order", "id", name, required=("id", name), **marks)
        optional = tool("get_order", "id", name, required=("id",), **marks)
        assert find_check("cancel_order", arguments, [needed]) is None
        assert find_check("cancel_order", arguments, [optional]) == Action("get_order", arguments={"id": 1})


@pytest.mark.parametrize(
    "value",
    ["", "two words", "a\tb", "a\n", "x" * 129, "a;b", "a'b", "a*", "$(x)", "`x`", "a|b", "--all", "-x", "a\u00a0b", "a\x00", "\ud800",
     1.5, True, None, [1], {"a": 1}, 10**30],
)  # fmt: skip
def test_only_short_identifiers_are_passed_on(value: Any) -> None:
    read = tool("get_order", "order_id", required=("order_id",), **READ)
    assert find_check("cancel_order", {"order_id": value}, [read]) is None


@pytest.mark.parametrize(
    "value", [7, 0, -3, "7", "-1001234", "a@example.com", "/srv/a_b.txt", "#general", "R_kg==", "ärger", "x" * 128]
)  # fmt: skip
def test_identifiers_are_passed_on_as_they_are(value: Any) -> None:
    read = tool("get_order", "order_id", required=("order_id",), **READ)
    assert find_check("cancel_order", {"order_id": value}, [read]) == Action("get_order", arguments={"order_id": value})


FITS: list[tuple[Any, Any, bool]] = [
    ({"type": "integer"}, 7, True),
    ({"type": "integer"}, "7", False),
    ({"type": "number"}, 7, True),
    ({"type": "string"}, 7, False),
    ({"type": ["string", "null"]}, "a", True),
    ({"type": []}, "a", False),
    ({"type": 7}, "a", False),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "a", True),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 7, False),
    ({"allOf": [{"type": "string"}, {"maxLength": 1}]}, "ab", False),
    ({"enum": ["a", "b"]}, "a", True),
    ({"enum": [True]}, 1, False),
    ({"const": "a"}, "b", False),
    ({"minLength": 3}, "ab", False),
    ({"maxLength": 3}, "abc", True),
    ({"minimum": 1}, 0, False),
    ({"exclusiveMaximum": 7}, 7, False),
    ({"maximum": "7"}, 7, False),
    ({"pattern": "^a+$"}, "a", True),
    ({"pattern": "^a+$"}, "b", False),
    ({"format": "uuid"}, "a", False),
    ({"$ref": "#/$defs/Id"}, "a", False),
    ({"not": {}}, "a", False),
    (True, "a", True),
    (False, "a", False),
    (None, "a", False),
    ("string", "a", False),
]


@pytest.mark.parametrize(("schema", "value", "fits"), FITS)
def test_a_call_that_the_schema_refuses_is_not_proposed(schema: Any, value: Any, fits: bool) -> None:
    found = find_check("cancel_order", {"order_id": value}, [typed("get_order", order_id=schema)])
    assert found == (Action("get_order", arguments={"order_id": value}) if fits else None)


@pytest.mark.parametrize("rule", ["anyOf", "oneOf", "not", "if", "$ref", "minProperties"])
def test_a_schema_that_asks_for_more_than_its_arguments_is_not_guessed_at(rule: str) -> None:
    read = tool("get_order", "id", **READ)
    read["inputSchema"][rule] = []
    assert find_check("cancel_order", {"id": 1}, [read]) is None


def test_the_best_is_found_whatever_the_order_of_the_list() -> None:
    listed = [
        tool("count_orders", **READ),
        tool("list_orders", **READ),
        tool("get_customer_order", "order_id", **READ),
        tool("describe_order", "order_id", **READ),
        tool("get_order", "order_id", **READ),
        tool("get_order_history", "order_id", **READ),
    ]
    for turn in range(len(listed)):
        found = find_check("cancel_order", {"order_id": 1}, listed[turn:] + listed[:turn])
        assert found == Action("get_order", arguments={"order_id": 1})


def test_objects_of_an_sdk_are_read_like_json() -> None:
    marks = SimpleNamespace(read_only_hint=True, destructive_hint=None, idempotent_hint=None)
    schema = {"properties": {"id": {}}, "required": ["id"]}
    for key in ("input_schema", "inputSchema"):
        listed = [
            SimpleNamespace(name="order", annotations=None),
            SimpleNamespace(name="the_order", annotations=marks, **{key: schema}),
        ]
        assert find_check("cancel_order", {"id": 1}, listed) == Action("the_order", arguments={"id": 1})


class Hostile:
    """Whatever is asked of it raises."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(name)


def raising() -> Any:
    yield tool("get_payment", "id", **READ)
    raise RuntimeError


DEEP: Any = {}
for _ in range(5_000):
    DEEP = {"anyOf": [DEEP]}


@pytest.mark.parametrize(
    "listed",
    [[], [{}], [{"name": 7}], [{"name": "get_payment"}], [{"name": "get_payment", "inputSchema": 7}], [None, 3, "x", Hostile()],
     [{"name": "get_payment", "inputSchema": {"properties": [], "required": "id"}}],
     [{"name": "get_payment", "inputSchema": {"properties": {"id": DEEP}, "required": [[], {}]}}],
     [typed("get_payment", id={"enum": 3})], [typed("get_payment", id=Hostile())], 7, None, Hostile()],
)  # fmt: skip
def test_broken_listings_do_no_harm(listed: Any) -> None:
    assert find_check("pay", {"id": 1}, listed) is None


def test_a_list_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    assert find_check("pay", {"id": 1}, raising()) == Action("get_payment", arguments={"id": 1})


@pytest.mark.parametrize("name", ["", "x" * 1_000, "___", "ж", None, 7])
@pytest.mark.parametrize("arguments", [{}, {"id": 1}, None, Hostile(), {7: 1}])
def test_broken_calls_do_no_harm(name: Any, arguments: Any) -> None:
    assert find_check(name, arguments, LISTED) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda at: tool("get_" + "createaction_" * 7 + f"{at}_order", "id"),
        lambda at: tool("getOrder" * 13 + f"N{at}Order", "id"),
        lambda at: tool(f"get_{at}_order", *(f"order_id{n}" for n in range(20)), **READ),
        lambda at: typed(f"get_{at}_order", id={"enum": range(1_000)}),
        lambda at: tool("_" * 10_000, "id"),
        lambda at: tool("get_" + "a" * 10_000, "id"),
    ],
)
def test_ten_thousand_hostile_tools_are_looked_through(make: Any) -> None:
    listed = [make(at) for at in range(10_000)]
    found = find_check("cancel_order", {"id": 1_000_000}, listed)
    assert found is None or found.tool in {each["name"] for each in listed}


@pytest.mark.parametrize("prefix", ["bank_", "my-bank_", "mcp__bank__", "bank.", "bank/"])
def test_what_stands_before_every_name_says_nothing(prefix: str) -> None:
    names = ("pay", "list_orders", "get_payment")
    listed = [tool(prefix + name, "invoice", required=("invoice",)) for name in names]
    found = Action(f"{prefix}get_payment", arguments={"invoice": "in_1"})
    assert find_check(f"{prefix}pay", {"invoice": "in_1"}, listed) == found


def test_a_verb_before_every_name_is_one() -> None:
    listed = [tool(f"delete_{name}", "invoice") for name in ("pay", "get_payment")]
    assert find_check("delete_pay", {"invoice": "in_1"}, listed) is None


def test_what_is_known_of_a_server_s_tools_is_forgotten_when_they_change() -> None:
    checks, listed = Checks(), [tool("pay", "id"), tool("get_payment", "id")]
    found = Action("get_payment", arguments={"id": 1})
    assert checks.find("pay", {"id": 1}, listed) == found
    assert checks.find("pay", {"id": 2}, listed) == Action("get_payment", arguments={"id": 2})
    assert checks.find("pay", {"id": "a b; c"}, listed) is None
    assert checks.find("pay", {}, listed) is None
    assert checks.find("pay", {"id": 1}, [listed[0], tool("refund_payment", "id")]) is None
    assert checks.find("pay", {"id": 1}, listed[:1]) is None
    assert checks.find("pay", {"id": 1}, listed) == found
    assert checks.find("pay", {"id": 1}, [*listed, listed[1]]) is None
