"""Which read call is proposed to find out whether a write took effect, and which calls never are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from failwell.model import Action
from failwell.model.toolname import parsed
from failwell.readers.hints.verify import Checks, find_check, is_named_read

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

# Names of tools in public servers, and names that servers of that kind have. All of them read.
READING = """
get_issue list_issues get_pull_request list_pull_requests get_commit list_commits list_branches list_tags get_release_by_tag
list_releases get_file_contents list_workflow_runs get_workflow_run get_me search_repositories get_team_members
list_discussions get_gist list_code_scanning_alerts get_label list_customers list_invoices list_payment_intents
retrieve_balance list_refunds list_disputes list_coupons search_stripe_resources retrieve_customer get_charge list_tables
describe_table list_databases list_schemas read_file read_multiple_files list_directory list_allowed_directories
get_file_info search_files list-collections collection.describe find count list_pods pods.list describe_pod get_events
list_api_resources list_projects get_project list_teams get_user list_cycles list_comments get_document getJiraIssue
getTransitionsForJiraIssue searchJiraIssuesUsingJql getConfluencePage lookupJiraAccountId list_channels
conversations:list get_channel_history get_thread_replies get_chat list_chats get_history list_contacts get_message_context
get_email list_folders search_emails list_containers inspect_container list_images list_networks fetch_container_stats
get_order get_order_status list_order_items get_refund get_transfer get_booking get_template get_settings get_address
github__get_issue mcp__linear__list_issues invoices.get invoices/list getInvoice GetInvoice GET_INVOICE get-invoice
get_loan_status list_loans get_cash_balance get_taxi_status get_approval_status list_approvals get_card list_cards
show_order get_code get_time show_config read_resource
""".split()

# All of these begin (or seem to begin) with a verb that reads, and write, hand out or make something, or may do so.
DOING = [
    *"""
get_or_create get_or_create_customer getOrCreateThread find_or_create_user fetch_and_delete listAndArchive read_and_clear
retrieve_payment_and_capture find_and_modify findOneAndUpdate search_and_replace find_replace get_then_delete fetch_or_refund
get_next_task fetch_next_job claim_next_task get_task_and_claim list_pop get_pop read_queue get_from_queue queue.get
queue__fetch read_stream retrieve_queue_message fetch_poll_results get_updates getUpdates telegram-get-updates receive_message
consume_messages get_lease take_screenshot get_ack get_shift get_unread_emails fetch_unread_emails read_email read_messages
get_new_address getNewAddress get_temporary_credentials get_access_token get_session_token get_token fetch_otp get_nonce
get_presigned_url get_upload_url get_lock get_invite_link show_notification show_alert_dialog showMessage view_once
list_add list_push list_append list_set list_remove list_nft list_item list_token list_copy search_run count_down
get_set get_delete get_del get_reset_link get_refresh read_mark_seen view_create find_insert describe_update get_out
get_nextjob get_taskclaim fetch_cleanupjob get_autocreate fetch_remote fetch_branch git__fetch fetch_origin
check_out check_in check_out_cart_now check_item check_inbox query read_query_exec export_chat_invite download_media
getinvoice ge_t_invoice invoice_get jira_get_issue kubectl_get get&delete get_счёт
get_paid getPaid fetch fetch_payment count_me_in get_invoice_paid get_order_shipped get_report_built list.frobnicate update.get delete/get_user create__list
get_money getCash get_loan fetch_cash get_taxi find_taxi get_approval get_manager_approval get_one_time_code
getOneTimePassword read_card read_card_number show_ad showAds show_video_ad show_survey
""".split(),
    *("get invoice", "get\u00a0invoice", "get_invoice\n", "", " ", "get_" + "a" * 200, "_", "..."),
]


@pytest.mark.parametrize("name", READING)
def test_a_name_that_plainly_reads(name: str) -> None:
    assert is_named_read(name)


@pytest.mark.parametrize("name", DOING)
def test_a_name_that_does_not_plainly_read(name: str) -> None:
    assert not is_named_read(name)


@pytest.mark.parametrize("name", [name for name in READING if name not in ("find", "count", "get_me")])
def test_an_unmarked_tool_whose_name_reads_is_proposed_for_a_write_of_the_same_thing(name: str) -> None:
    thing = parsed(name).head
    # To search for nothing tells nothing; of what was allowed somebody may be doing the allowing.
    found = None if name.startswith(("search", "lookup", "list_allowed")) else Action(name)
    assert find_check(f"delete_{thing}", {}, [tool(name)]) == found


@pytest.mark.parametrize(
    "name",
    """show_invoice_to_customer fetch_invoice_into_db get_invoice_signed get_invoice_printed get_invoice_unlocked
    get_paid_invoice get_invoice_print view_invoice_pdf get_sent_invoice read_invoice_aloud""".split(),
)
def test_a_name_that_might_do_something_to_the_thing_is_not_proposed_unmarked(name: str) -> None:
    assert find_check("pay_invoice", {"id": "inv_1"}, [tool(name, "id")]) is None


def test_what_is_marked_may_be_named_otherwise() -> None:
    marked = {**tool("get_paid_invoice", "id"), "annotations": {"readOnlyHint": True}}
    assert find_check("pay_invoice", {"id": "inv_1"}, [marked]) == Action("get_paid_invoice", arguments={"id": "inv_1"})


@pytest.mark.parametrize("name", DOING)
@pytest.mark.parametrize(
    "write", ["pay_invoice", "create_task", "delete_user", "send_message", "set_token", "queue_job"]
)
def test_an_unmarked_tool_that_may_do_something_is_never_proposed(write: str, name: str) -> None:
    ids = {"id": 1, "name": "a", "path": "a", "task_id": 1, "invoice_id": 1}
    assert find_check(write, ids, [tool(name, *ids)]) is None


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
        ("write_file", {"path": "/tmp/a.txt", "content": "hello"}, tool("read_file", "path", required=("path",)), {"path": "/tmp/a.txt"}),
        ("merge_pull_request", {"owner": "o", "repo": "r", "pullNumber": 3}, tool("get_pull_request", "owner", "repo", "pullNumber", required=("owner", "repo", "pullNumber")), {"owner": "o", "repo": "r", "pullNumber": 3}),
        ("create_issue", {"owner": "o", "repo": "r", "title": "t"}, tool("list_issues", "owner", "repo", "labels", required=("owner", "repo")), {"owner": "o", "repo": "r"}),
        ("invoices.pay", {"id": 1}, tool("invoices.get", "id"), {"id": 1}),
        ("payment_intent_create", {"customer": "cus_1"}, tool("list_payment_intents", "customer"), {"customer": "cus_1"}),
        ("add_label_to_issue", {"issue_number": 4, "label": "bug"}, tool("get_issue", "issue_number"), {"issue_number": 4}),
        ("add_item", {"cart_id": 1, "item_id": 2}, tool("list_items", "cart_id"), {"cart_id": 1}),
        ("add_item", {"cart_id": 1, "item_id": 2}, tool("get_item", "cart_id", "item_id"), {"cart_id": 1, "item_id": 2}),
        ("assign_issue", {"issue_id": 1, "user_id": 2}, tool("get_issue", "issue_id"), {"issue_id": 1}),
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
    ({"pattern": "^a+$"}, "a", False),
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


def test_a_pattern_that_the_value_was_held_against_is_not_run_again() -> None:
    schema = {"type": "string", "pattern": "^(a+)+$", "format": "uuid"}
    listed = [typed("cancel_order", order_id=schema), typed("get_order", order_id=schema)]
    value = "a" * 100
    assert find_check("cancel_order", {"order_id": value}, listed) == Action("get_order", arguments={"order_id": value})


@pytest.mark.parametrize("rule", ["anyOf", "oneOf", "allOf", "not", "if", "$ref", "minProperties", "dependentRequired"])
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
    # Of a name that only some have, nobody knows what it means.
    assert find_check(f"{prefix}pay", {"invoice": "in_1"}, [*listed, tool("ping")]) is None


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
