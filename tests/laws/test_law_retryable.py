"""Law 4: `retryable` is the catalogue's word, and no change of format changes it; but law 5 comes first.

Of a call that may have been done it is false, whatever the catalogue says, and so it is where a peer forbids.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import (
    CLASSES,
    ERAS,
    EVERY_CODE,
    FORMATS,
    OPEN,
    SHIPPED,
    Laws,
    Private,
    codes,
    denies_its_code,
    errors,
    field_maps,
    in_doubt,
    nested,
    texts,
)

import failwell as fw
from failwell.model import Effect, Kind
from failwell.model import codes as registry
from failwell.model.codes import find

every_code = st.sampled_from((*EVERY_CODE, *Private))
named_codes = st.sampled_from((*SHIPPED, *Laws))


def word(name: str) -> bool:
    info = find(name)
    assert info is not None
    return info.retryable


@pytest.mark.parametrize("code", EVERY_CODE, ids=lambda code: f"{code.catalog}-{code.name}")
def test_every_catalogue_has_its_word(code: fw.Code) -> None:
    for kind in (None, *Kind):
        for effect in (None, *Effect):
            built = code("m", kind=kind, effect=effect)
            assert built.retryable is (code.retryable and not in_doubt(built))
            named = fw.ToolError("m", code=code.name, kind=kind, effect=effect)
            assert named.retryable is (word(code.name) and not in_doubt(named))
    for cls in CLASSES:
        error = cls("m", code=code.name)
        assert error.retryable is (word(code.name) and not in_doubt(error))


@pytest.mark.parametrize("name", sorted({code.name for code in SHIPPED}))
def test_catalogues_that_share_a_name_agree(name: str) -> None:
    """Else the word would depend on which catalogue the reader looks into."""
    words = {catalog[name].retryable for catalog in fw.catalogs.CATALOGS.values() if name in catalog}
    assert words == {word(name)}


@given(every_code, texts, field_maps())
def test_nothing_that_is_passed_changes_it(code: fw.Code, message: str, chosen: dict[str, Any]) -> None:
    chosen.pop("code", None)
    built = code(message, **chosen)
    for error in (built, copy.copy(built), copy.deepcopy(built), pickle.loads(pickle.dumps(built)), built.replace()):
        assert error.retryable is (code.retryable and not in_doubt(error))


@given(named_codes, st.sampled_from(CLASSES), field_maps(), field_maps(), st.one_of(st.none(), st.booleans()))
def test_nothing_that_is_set_later_changes_it(
    code: fw.Code, cls: type[fw.ToolError], first: dict[str, Any], later: dict[str, Any], flag: bool | None
) -> None:
    first["code"] = code.name
    error = cls("m", **first)
    assert error.retryable is (word(code.name) and not in_doubt(error))
    later.pop("code", None)
    changed = error.replace(**later, wire_retryable=flag)
    assert changed.retryable is (word(code.name) and not in_doubt(changed) and flag is not False)
    later.pop("kind", None)
    for name, value in later.items():
        setattr(error, name, value)
        assert error.retryable is (word(code.name) and not in_doubt(error))
    error.code = "NOT_FOUND"
    assert error.retryable is False
    error.code = code.name
    assert error.retryable is (word(code.name) and not in_doubt(error))


@given(st.booleans(), codes)
def test_it_cannot_be_passed(flag: bool, code: str) -> None:
    with pytest.raises(TypeError):
        fw.ToolError("m", code=code, retryable=flag)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        fw.ToolError("m", code=code).retryable = flag  # type: ignore[misc]


@given(named_codes, st.one_of(st.booleans(), texts, st.none()), st.sampled_from(list(Kind)))
def test_a_peer_can_only_forbid(code: fw.Code, flag: object, kind: Kind) -> None:
    """Whatever flag the wire has, a code that is known keeps its word, unless the flag forbids; the reader is told."""
    said = {"code": code.name, "message": "m", "retryable": flag}
    wires: list[dict[str, Any]] = [
        {"kind": "toolError:v1", **said},
        {"success": False, "error": said},
        {"failwell": 1, "kind": kind.value, **said},
        {"code": -32000, "message": "m", "data": {"mcp_error_code": code.name, "retryable": flag}},
        {"code": -32603, "message": "m", "data": {"mcp_error_code": code.name, "failwell": {"retryable": flag}}},
    ]
    for wire in wires:
        error = fw.parse(wire)
        assert isinstance(error, fw.ToolError)
        is_read = "retryable" in wire or "error" in wire
        if flag is False and (is_read or not error.retryable):
            assert error.retryable is False
        else:
            assert error.retryable is (word(code.name) and not in_doubt(error))
        if is_read and flag is not word(code.name) and isinstance(flag, bool) and not in_doubt(error):
            assert error.notes


def step(error: fw.ToolError, how: tuple[str, str, str], **options: Any) -> fw.ToolError:
    door, format, era = how
    sent: Any
    if door == "text":
        sent = fw.render(error, format, **options)
    elif door == "result":
        sent = json.dumps(fw.to_result(error, format, gate="json", era=era, **options, meta=False))
    elif door == "structured":
        sent = fw.to_result(error, "v1" if format == "xml" else format, era=era, **options, meta=False) | {
            "content": []
        }
    elif door == "meta":
        sent = fw.to_result(error, format, era=era, **options)
    else:
        sent = fw.to_jsonrpc(error, era=era, **options)
    back = fw.parse(sent)
    assert isinstance(back, fw.ToolError)
    return back


doors = st.tuples(
    st.sampled_from(("text", "text", "result", "structured", "meta", "response")),
    st.sampled_from(OPEN),
    st.sampled_from(ERAS),
)


@given(errors, st.lists(doors, min_size=1, max_size=5))
@example(fw.NotFound("m", meta=nested(41)), [("text", "typed", ERAS[0])])
def test_no_chain_of_formats_changes_it(error: fw.ToolError, chain: list[tuple[str, str, str]]) -> None:
    back = error
    for how in chain:
        back = step(back, how, carry=True, guard=None)
        assert back.retryable is error.retryable, how
    assert back == error or denies_its_code(error)


@given(errors, st.lists(doors, min_size=1, max_size=3))
def test_no_chain_through_the_guard_changes_it(error: fw.ToolError, chain: list[tuple[str, str, str]]) -> None:
    back = error
    for how in chain:
        back = step(back, how, carry=True)
        assert back.retryable is error.retryable, how


@example(fw.parse({"kind": "toolError:v1", "code": "x" * 20_000, "message": "", "retryable": True}), ["typed"])
@example(
    fw.parse({"kind": "toolError:v1", "code": "x" * 20_000, "message": "", "retryable": False}).replace(
        kind="transient"
    ),
    ["typed"],
)
@given(errors, st.lists(st.sampled_from(FORMATS), min_size=1, max_size=4))
def test_without_carrying_it_changes_only_where_that_is_said(error: fw.ToolError, chain: list[str]) -> None:
    here = error
    for format in chain:
        back = fw.parse(fw.render(here, format), format)
        if not isinstance(back, fw.ToolError):
            break
        if back.retryable is not here.retryable:
            assert "retryable" in fw.losses(here, format)
        here = back


@given(errors, st.sampled_from(ERAS))
def test_in_a_response_it_changes_only_where_that_is_said(error: fw.ToolError, era: str) -> None:
    back = fw.parse(fw.to_jsonrpc(error, era=era))
    assert isinstance(back, fw.ToolError)
    assert back.retryable is error.retryable or "retryable" in fw.losses(error, "jsonrpc")


@given(errors)
def test_formats_with_a_flag_never_lose_it(error: fw.ToolError) -> None:
    """001, 003 and ours say it outright; only a spelling that means another code may change it."""
    for format in ("v1", "envelope", "canonical"):
        back = fw.parse(fw.render(error, format))
        assert isinstance(back, fw.ToolError)
        if find(back.code) is None or back.code == error.code:
            info = find(error.code)
            if info is None or info == error.info:
                assert back.retryable is error.retryable


@pytest.mark.parametrize("code", SHIPPED, ids=lambda code: code.name)
@pytest.mark.parametrize("format", [format for format in OPEN if format != "typed"])
def test_no_contract_changes_a_shipped_code(code: fw.Code, format: str) -> None:
    """No mapping between formats may change it: not even by naming it as lost."""
    error = fw.ToolError("m", code=code.name)
    back = fw.parse(fw.render(error, format))
    assert isinstance(back, fw.ToolError)
    assert "retryable" not in fw.losses(error, format)
    assert back.retryable is (code.retryable and not in_doubt(error))


@pytest.fixture
def shadow() -> Iterator[type[fw.Catalog]]:
    """A declared catalogue whose codes are called as shipped ones are, and say the opposite."""

    class Shadow(fw.Catalog, name="shadow"):
        NOT_FOUND = fw.Code("not_found", retryable=True)
        TIMEOUT = fw.Code("transient", retryable=False)
        CLIENT_ERROR = fw.Code("validation", retryable=True)
        not_found = fw.Code("not_found", retryable=False)
        x_rate_limited = fw.Code("permission", retryable=False)
        RateLimited = fw.Code("transient", retryable=False)
        SERVER_ERROR = fw.Code("internal", retryable=False)
        INTERNAL = fw.Code("internal", retryable=True)
        TRANSIENT = fw.Code("transient", retryable=False)
        VALIDATION_ERROR = fw.Code("validation", retryable=True)

    yield Shadow
    registry._declared.pop(f"{Shadow.__module__}.{Shadow.__qualname__}")
    registry._find.cache_clear()


def test_a_declared_code_comes_before_a_shipped_one(shadow: Any) -> None:
    for code in (*shadow, *SHIPPED):
        mine = shadow.codes.get(code.name, code)
        for kind in (None, *Kind):
            for error in (fw.ToolError("m", code=code.name, kind=kind), mine("m", kind=kind)):
                assert error.retryable is (mine.retryable and not in_doubt(error))
                for format in OPEN:
                    back = fw.parse(fw.render(error, format, carry=True))
                    assert isinstance(back, fw.ToolError)
                    assert back == error or denies_its_code(error), format
                    assert back.retryable is error.retryable
                    plainly = fw.parse(fw.render(error, format))
                    assert isinstance(plainly, fw.ToolError)
                    if plainly.retryable is not error.retryable:
                        assert "retryable" in fw.losses(error, format)


def test_an_error_without_a_code_under_a_shadow(shadow: Any) -> None:
    for cls in CLASSES:
        error = cls("m")
        for format in OPEN:
            assert fw.parse(fw.render(error, format, carry=True, guard=None)) == error
