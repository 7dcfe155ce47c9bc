"""What the checker makes of words that are good and unusual, and of bad ones that look well."""

from __future__ import annotations

import pytest

from failwell.check.named_things import Roster, arguments_named, stated
from failwell.check.vain_repeats import invites_same, promises_passing
from failwell.check.wording import says_nothing, unfinished

TOOLS = Roster(
    [
        {"name": "get_invoice", "inputSchema": {"properties": {"invoice_id": {"type": "string"}}}},
        {"name": "list_invoices", "description": "All of them, as find_rows would have them."},
        {"name": "projects", "inputSchema": {"properties": {"action": {"enum": ["list", "close"]}}}},
    ]
)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("There is no such invoice. Call find_all_invoices_v2 to see the ids.", "find_all_invoices_v2"),
        ("Look it up with invoice_search and use that.", "invoice_search"),
        ("Find it by calling `listAllInvoices`.", "listAllInvoices"),
        ("Use the 'directory' tool.", "directory"),
        ("Did you mean list_bills? Call that.", "list_bills"),
    ],
)
def test_a_tool_that_is_not_there(text: str, tool: str) -> None:
    assert TOOLS.lacks(text) == tool


@pytest.mark.parametrize(
    "text",
    [
        "Call list_invoices, listInvoices or billing.list_invoices.",
        "Call projects.list first.",
        "Call tools/list, or list_tools of your client.",
        "Call get_invoice with invoice_number, search_query or read_only.",
        "Use the get_report endpoint of the web API.",
        "Ask the operator to run fetch_invoices in the console.",
        "Run get_all.py on the host.",
        "Do not call get_everything.",
        "We failed to call get_everything.",
        "Use find_rows.",
        "Use get_rows=true, or GET_ROWS.",
        "Ask reception_desk if unsure.",
    ],
)
def test_what_is_no_tool_or_is_there(text: str) -> None:
    assert TOOLS.lacks(text) is None


def test_fields_name_tools_and_the_one_that_failed_is_none_of_them() -> None:
    told = {
        "error": {"tool": "get", "suggestedTools": ["find", "list"], "actions": [{"tool": "search"}]},
        "next_tool": {"name": "show"},
    }
    assert list(stated(told)) == ["find", "list", "search", "show"]


@pytest.mark.parametrize(
    "text",
    [
        "Please attempt this request once more.",
        "The desk is busy. Please repeat your call.",
        "No such invoice. Try again.",
        "Simply send the same again.",
    ],
)
def test_the_same_call_is_asked_for(text: str) -> None:
    assert invites_same(text)


@pytest.mark.parametrize(
    "text",
    [
        "The same call would fail again.",
        "Repeating this request is pointless; pick another id.",
        "Please try again with an id from list_invoices.",
        "Correct it and retry.",
        "limit must be at most 40. Please try again.",
        "Don't repeat this call.",
        "Once you have the right, make the same call again.",
    ],
)
def test_another_call_is_asked_for(text: str) -> None:
    assert not invites_same(text)


def test_what_is_new_may_be_waited_for() -> None:
    assert not promises_passing("None yet. If you have just made it, wait a minute; otherwise call list_invoices.")
    assert promises_passing("If the problem stays, try again later.")


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("No invoice %s.", "%s"),
        ("Call ${tool} to see them.", "${tool}"),
        ("Did you mean: []", "Did you mean: []"),
        ("Call undefined to see them.", "Call undefined"),
        ("Call list_invoices with {} to see them.", None),
        ("The path has the form /{owner}/{repo}.", None),
        ("id must be a string, not null.", None),
        ("Did you mean inv_1?", None),
    ],
)
def test_places_that_were_never_filled_in(text: str, gap: str | None) -> None:
    assert unfinished(text) == gap


def test_a_text_breaks_off_in_a_name() -> None:
    assert TOOLS.cut("Call list_invo") == "list_invo"
    assert [TOOLS.cut(text) for text in ("Call list_invoices", "Call list_invoices.", "It is inv_1", "")] == [None] * 4


def test_what_is_called_an_argument() -> None:
    text = "The argument 'isbn' is wrong. Send the \"page\" parameter. An argument: 'x'. Give 'y'."
    assert [name for name, _ in arguments_named(text)] == ["isbn", "page"]


@pytest.mark.parametrize(
    "text", ["404 Not Found", "HTTP 400 Bad Request", "Request failed with status code 404", "401"]
)
def test_a_status_says_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["HTTP 404: invoice 7 not found", "404: no invoice 7", "Not Found"])
def test_a_status_with_words_says_something(text: str) -> None:
    assert not says_nothing(text)
