"""Without jsonschema-rs every value passes, and no correction is certain."""

from __future__ import annotations

import sys

import pytest

from failwell.readers import call_of
from failwell.schema import Checker, check, check_names, fits


def test_nothing_is_refused_and_nothing_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    schema = {"type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"]}
    assert Checker(schema).fits({"limit": "x"})
    assert not fits(5, {"type": "integer"}, schema)
    assert not check(call_of(schema, {"limit": "5"}))
    strange = check_names(call_of(schema, {"limt": 5}))
    assert [field.rule for field in strange.fields] == ["additionalProperties"]
    assert strange.patch == ()
