"""Checked by mypy, never run: what a user of the library sees from their editor."""

from typing import assert_type

import failwell as fw
from failwell.model import Action, Effect, Kind


class Billing(fw.Catalog):
    INVOICE_PAID = fw.Code("conflict", "The invoice has been paid already.")


def find(key: str) -> fw.Result[int]:
    return fw.Ok(1) if key else fw.Err(fw.NotFound("No such user."))


paid = Billing.INVOICE_PAID("Invoice inv_1 was paid on 3 May.", retry_after=3)
assert_type(paid, fw.ToolError)
assert_type(paid.kind, Kind)
assert_type(paid.code, str | None)
assert_type(paid.retryable, bool)
assert_type(paid.effect, Effect | None)
assert_type(paid.actions, tuple[Action, ...])
assert_type(fw.NotFound("x", suggestion="y", retry_after=3), fw.NotFound)
assert_type(fw.parse("x"), fw.ToolError | fw.NeedsInput | None)

found = find("u")
if found.ok:
    assert_type(found.value, int)
else:
    assert_type(found.error, fw.ToolError)

try:
    raise fw.Denied("no")
except PermissionError:
    pass
