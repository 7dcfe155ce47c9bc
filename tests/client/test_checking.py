"""Which read call is proposed to find out whether a write took effect."""

from __future__ import annotations

from typing import Any

import pytest

import failwell as fw
from failwell.client.checking import find_check


def tool(name: str, *properties: str, required: tuple[str, ...] = (), **annotations: bool) -> dict[str, Any]:
    return {
        "name": name,
        "inputSchema": {"properties": {key: {} for key in properties}, "required": list(required)},
        "annotations": annotations,
    }


READ = {"readOnlyHint": True}
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


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("pay", {"id": "p1", "amount": 3}, fw.Action("get_payment", arguments={"id": "p1"})),
        ("delete_invoice", {"invoice_id": 7}, fw.Action("get_invoice", arguments={"invoice_id": 7})),
        # The new invoice has no id yet that could be asked for.
        ("create_invoice", {"total": 3}, fw.Action("list_invoices")),
        ("sendEmail", {"to": "a@example.com"}, fw.Action("searchEmails", arguments={"to": "a@example.com"})),
        ("reboot", {}, None),
        ("update_password", {"id": 1}, None),
    ],
)
def test_the_one_about_the_same_thing_that_can_be_called(name: str, arguments: Any, found: fw.Action | None) -> None:
    assert find_check(name, arguments, LISTED) == found


def test_a_tool_that_may_write_is_never_proposed() -> None:
    assert find_check("pay", {"id": 1}, [tool("get_payment", "id", readOnlyHint=False)]) is None
    assert find_check("pay", {"id": 1}, [tool("refund_payment", "id")]) is None
    assert find_check("pay", {"id": 1}, [tool("refund_payment", "id", **READ)]) is not None
    assert find_check("pay", {"id": 1}, [tool("refund_payment", "id", **READ)], trusted=False) is None


@pytest.mark.parametrize(
    "listed",
    [[], [{}], [{"name": 7}], [{"name": "get_payment"}], [{"name": "get_payment", "inputSchema": 7}], [None, 3, "x"],
     [{"name": "get_payment", "inputSchema": {"properties": [], "required": "id"}}]],
)  # fmt: skip
def test_broken_listings_do_no_harm(listed: Any) -> None:
    assert find_check("pay", {"id": 1}, listed) in (None, fw.Action("get_payment"))
