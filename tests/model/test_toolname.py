"""What the name of a tool says that it does, and how many names of published servers say it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.model import HANDS_OUT, NOUNS, READS, WRITES, Nature, Traits, nature_of_name, singular, words_of

ANSWERS = Path(__file__).parent.parent / "data" / "answers.jsonl"
# What was called to see what is said of a tool that there is not.
NO_TOOL = "zz_no_such_tool"

READING = """
    get_invoice invoices_get invoices.list invoices/list listInvoices LIST_INVOICES get-invoice invoice-view
    mcp__linear__list_issues shop__get_rental jira_get_issue comments_get comment_get order.list post.list order_status
    service_status refund_status git_log build_info run_search checkInventory analyze_logs list_deploy_keys
    get_paid_invoices pull_request_read list_orders get_order_and_items read_graph
"""
WRITING = """
    create_invoice invoices_pay issue-close order_create orders.cancel shop__rent_bike search__delete_index post_status
    order_pizza add2cart refund charge_card transferFunds git_commit jira_post run_query check_out check_out_cart sign_in_log_in
    get_or_create getOrCreateThread find_and_delete read_then_clear fetch_or_refund search_and_replace findOneAndUpdate
    get_next_task queue_pop getNextJob fetch_claim tasks.next list_add list_remove view_create execute_sql deploy
"""
SILENT = "weather log log_message query query_docs download_paper take_screenshot счёт text_to_image _ ..."
CASES = [
    *((name, "read") for name in READING.split()),
    *((name, "write") for name in WRITING.split()),
    *((name, None) for name in [*SILENT.split(), "", " ", "get_" + "a" * 200]),
]


@pytest.mark.parametrize(("name", "nature"), CASES)
def test_the_first_verb_of_a_closed_list_decides(name: str, nature: str | None) -> None:
    assert nature_of_name(name) == nature


def test_the_lists_are_short_and_do_not_overlap() -> None:
    assert max(len(READS), len(WRITES)) <= 130
    assert READS.isdisjoint(WRITES)
    assert NOUNS <= READS | WRITES
    assert HANDS_OUT <= WRITES


def test_most_names_of_published_servers_say_what_they_do() -> None:
    rows = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    tools = {(row["server"], name) for row in rows if (name := row.get("example_tool")) not in (None, NO_TOOL)}
    counted = Counter(nature_of_name(name) for _, name in tools)
    shares = {nature: round(100 * count / len(tools)) for nature, count in counted.items()}
    assert shares == {"read": 55, "write": 26, None: 19}


@given(
    st.lists(st.sampled_from(["invoice", "customer", "shop"]), max_size=2),
    st.sampled_from(sorted(READS | WRITES)),
    st.lists(st.sampled_from(["lines", "customer"]), min_size=1, max_size=2),
    st.sampled_from(["_", "-", ".", "/", "__"]),
)
def test_the_spelling_does_not_matter(before: list[str], verb: str, after: list[str], sign: str) -> None:
    words = [*before, verb, *after]
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    assert nature_of_name(camel) == nature_of_name(sign.join(words)) == nature_of_name("_".join(words).upper())


@given(st.text())
def test_any_text_is_taken(name: str) -> None:
    assert nature_of_name(name) in ("read", "write", None)
    assert all(singular(word) for word in words_of(name))


@pytest.mark.parametrize(
    ("name", "hints", "nature"),
    [
        ("get_invoice", {}, Nature.NAMED_READ),
        ("pay_invoice", {}, Nature.WRITE),
        ("weather", {}, Nature.UNMARKED),
        ("pay_invoice", {"readOnlyHint": True}, Nature.READ),
        ("get_invoice", {"readOnlyHint": False}, Nature.WRITE),
        ("pay_invoice", {"idempotentHint": True}, Nature.IDEMPOTENT),
        ("get_invoice", {"destructiveHint": True}, Nature.WRITE),
    ],
)
def test_annotations_come_before_the_name(name: str, hints: dict[str, bool], nature: Nature) -> None:
    assert Traits.of({"name": name, "annotations": hints}).nature is nature
