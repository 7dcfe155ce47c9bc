"""Which words say that what was sent is missing, and which that something else is."""

from __future__ import annotations

import pytest

from failwell.recovery.missing_things import names_missing

SENT = {"invoice_id": "inv_1", "currency": "EUR", "status": "active", "copies": 4}


@pytest.mark.parametrize(
    "text",
    [
        "Invoice inv_1 not found",
        "invoice 'inv_1' was not found.",
        'No such invoice: "inv_1"',
        "inv_1 does not exist",
        "inv_1 doesn't exist",
        "INV_1 could not be found",
        "Not found: inv_1",
        "No invoice with id inv_1",
        "No record found for inv_1",
        "No invoices found for inv_1.",
        "No entry for id inv_1",
        "Could not find invoice inv_1 in the ledger",
        "Failed to find inv_1",
        "Invoice for id inv_1 not found",
        "Unknown currency EUR",
        "Currency EUR is not available",
        "404 Client Error: Not Found for url: https://api.shop/v1/invoices/inv_1",
        "404 Client Error: Not Found for url: https://api.shop/v1/inv_1/",
        "Error on inv_1: not found",
        "Cannot find inv_1 anywhere.",
        "发票inv_1不存在",
        "No such file or directory: '/srv/invoices/inv_1'",
        "Invoice #4 not found",
        "Invoice inv_1 (EUR) not found",
        "The invoice inv_1 that you want to pay is missing",
    ],
)
def test_what_was_sent_is_missing(text: str) -> None:
    assert names_missing(text, "pay", SENT)


@pytest.mark.parametrize(
    "text",
    [
        "Receipt for inv_1 not found",
        "Receipt for invoice inv_1 not found",
        "No receipt found for inv_1",
        "Could not find a template for inv_1",
        "inv_1 receipt is missing",
        "inv_1's receipt was not found",
        "EUR rate not found",
        "'EUR' exchange rate not found",
        "No EUR rate",
        "No active session found",
        "No active session.",
        "EUR rate for inv_1 not found",
        "Customer cus_9 of invoice inv_1 not found",
        "receipt-inv_1.pdf not found",
        "File /srv/receipts/inv_1.pdf not found",
        "File /srv/books/inv_1 not found",
        "404 Not Found for url: https://api.shop/v1/receipts/inv_1",
        "https://api.shop/invoices/inv_1/lines not found",
        "404 Not Found",
        "Template not found",
        "Folder of project inv_1 does not exist",
    ],
)
def test_something_else_is_missing(text: str) -> None:
    assert not names_missing(text, "pay", SENT)


def test_the_words_of_the_call_are_other_names_of_what_was_sent() -> None:
    assert names_missing("Receipt for inv_1 not found", "mail_receipt", SENT)
    assert names_missing("User not found in workspace w_1", "assign", {"user": "u_9", "workspace": "w_1"})
    assert names_missing("Customer for cus_1 not found", "charge", {"id": "cus_1"})
    assert not names_missing("Card for cus_1 not found", "charge", {"id": "cus_1"})
