"""The idempotency key of one call: the same for each attempt, another one for other arguments."""

from __future__ import annotations

import failwell as fw
from failwell.formats.keys import IDEMPOTENCY_KEY
from failwell.recovery.idempotency_key import Key


def test_a_corrected_call_has_a_key_of_its_own() -> None:
    key = Key()
    key.use("store")
    first = key.meta[IDEMPOTENCY_KEY]
    key.renew()
    key.use("store")
    assert key.meta[IDEMPOTENCY_KEY] == first, "nothing was sent with it"
    key.sent = True
    key.renew()
    key.use("store")
    assert key.meta[IDEMPOTENCY_KEY] != first


def test_a_key_that_the_caller_gave_stays() -> None:
    key = Key({IDEMPOTENCY_KEY: "mine"}, sent=True)
    key.renew()
    assert key.meta[IDEMPOTENCY_KEY] == "mine"


def test_a_key_makes_only_the_identical_call_safe() -> None:
    patched = fw.Invalid("Use cents.", patch=[{"op": "set", "path": ["amount"], "value": 500}])
    quoted = patched.replace(standing="quoted", origin="local", effect=None)
    decision = fw.decide(quoted, tool={"name": "pay"}, keyed=True)
    assert decision.unproven or decision.doubtful
