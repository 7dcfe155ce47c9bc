"""The shipped catalogues say what the contracts say, and users declare their own."""

from __future__ import annotations

import copy
import json
import pickle
from collections import defaultdict
from collections.abc import Iterator

import pytest

import failwell as fw
from failwell.formats.jsonrpc import check_request
from failwell.model import Effect, Kind, Strategy, codes
from failwell.model.catalogs import CATALOGS, V1, Core, JsonRpc, Social, Typed, Xml  # fmt: skip
from failwell.model.codes import find, upper_snake
from recorded import cases, one


@pytest.fixture(autouse=True)
def _own_declarations() -> Iterator[None]:
    before = dict(codes._declared)
    yield
    codes._declared.clear()
    codes._declared.update(before)
    codes._find.cache_clear()


def social(name: str) -> fw.Code:
    return Social[name]


@pytest.mark.checklist(181, 182)
@pytest.mark.parametrize("vector", cases("contracts-verbatim", "003.code."))
def test_each_social_code_is_as_contract_003_prints_it(vector: dict) -> None:  # type: ignore[type-arg]
    code = social(vector["input"]["args"])
    assert {"category": code.category, "retryable": code.retryable, "description": code.description} == vector["output"]


@pytest.mark.checklist(180, 181, 183)
def test_the_social_set_is_closed() -> None:
    assert {code.name for code in Social} == {param.values[0]["input"]["args"] for param in cases("contracts-verbatim", "003.code.")}  # fmt: skip
    assert len(Social) == 27
    assert [code.name for code in Social if code.retryable] == one("contracts-verbatim", "003.retryable_set")["output"]
    assert {code.category for code in Social} == {
        "X API", "Database", "Validation", "LLM", "Media", "Thread", "Policy", "Context", "Resource", "Internal",
    }  # fmt: skip


@pytest.mark.checklist(180)
def test_strict_maps_every_shipped_code_into_the_social_set() -> None:
    for code in (code for catalog in CATALOGS.values() for code in catalog):
        assert json.loads(fw.render(code("m"), "envelope", strict=True))["error"]["code"] in Social
    assert json.loads(fw.render(fw.Internal("m", code="InvoicePaid"), "envelope"))["error"]["code"] == "invoice_paid"


@pytest.mark.checklist(185, 186)
@pytest.mark.parametrize("name", Social.codes)
def test_each_social_code_leads_back_to_itself(name: str) -> None:
    code = Social[name]
    sent = json.loads(fw.render(code("m"), "envelope"))
    assert sent == {
        "success": False,
        "data": None,
        "error": {"code": name, "message": "m", "retryable": code.retryable},
    }
    assert Social[str(code)] is Social[sent["error"]["code"]] is getattr(Social, name) is code
    assert find(name) is code
    assert fw.ToolError("m", code=str(code)).info is code


@pytest.mark.checklist(59, 60, 61, 62, 63, 64, 65)
def test_contract_001_has_six_codes_of_which_two_retry() -> None:
    assert {code.name: code.retryable for code in V1} == {
        "NETWORK_ERROR": True,
        "SERVER_ERROR": True,
        "CLIENT_ERROR": False,
        "NOT_FOUND": False,
        "AUTHENTICATION_ERROR": False,
        "UNKNOWN_ERROR": False,
    }
    for code in V1:
        sent = json.loads(fw.render(fw.ToolError("m", code=code.name), "v1"))
        assert sent == {"kind": "toolError:v1", "code": code.name, "message": "m", "retryable": code.retryable}


@pytest.mark.checklist(59, 65)
@pytest.mark.parametrize(
    ("code", "written", "retryable"),
    [(None, "UNKNOWN_ERROR", False), ("TIMEOUT", "NETWORK_ERROR", True), ("RATE_LIMITED", "RATE_LIMITED", True), ("Mine", "Mine", False)],
)  # fmt: skip
def test_contract_001_maps_core_codes_and_keeps_the_rest(code: str | None, written: str, retryable: bool) -> None:
    sent = json.loads(fw.render(fw.ToolError("m", code=code), "v1"))
    assert sent == {"kind": "toolError:v1", "code": written, "message": "m", "retryable": retryable}


@pytest.mark.checklist(1)
def test_contract_000_has_six_types() -> None:
    assert {code.name: code.kind for code in Typed} == {kind.value.upper(): kind for kind in Kind}


@pytest.mark.checklist(121)
def test_contract_002_has_ten_codes_and_the_structural_ones() -> None:
    ten = {"CONFLICT", "DEPRECATED", "FORBIDDEN", "INTERNAL_ERROR", "NOT_FOUND", "RATE_LIMITED", "SERVER_BUSY", "TIMEOUT", "UNAUTHORIZED", "VALIDATION_ERROR"}  # fmt: skip
    assert ten <= set(Xml.codes)
    assert set(list(Xml.codes)[:10]) == ten
    assert set(Xml.codes) >= {"MISSING_REQUIRED_FIELD", "MISSING_DISCRIMINATOR", "INVALID_DISCRIMINATOR", "UNKNOWN_ACTION", "UNKNOWN_TOOL"}  # fmt: skip


RPC = [
    pytest.param(*row, marks=pytest.mark.checklist(line), id=row[0])
    for line, row in {
        224: ("PARSE_ERROR", -32700, "Parse error", "fix_and_retry"),
        225: ("INVALID_REQUEST", -32600, "Invalid Request", "fix_and_retry"),
        226: ("METHOD_NOT_FOUND", -32601, "Method not found", "fix_and_retry"),
        227: ("INVALID_PARAMS", -32602, "Invalid params", "fix_and_retry"),
        228: ("JSONRPC_INTERNAL_ERROR", -32603, "Internal error", "report_and_abort"),
        229: ("INTERNAL_ERROR", -32000, "Internal Error", "report_and_abort"),
        230: ("UNAUTHORIZED", -32001, "Unauthorized", "user_action_required"),
        231: ("FORBIDDEN", -32002, "Forbidden", "user_action_required"),
        232: ("NOT_FOUND", -32003, "Not Found", "fix_and_retry"),
        233: ("CONFLICT", -32004, "Conflict", "fix_and_retry"),
        234: ("VALIDATION_ERROR", -32005, "Validation Error", "fix_and_retry"),
        235: ("RATE_LIMITED", -32006, "Rate Limited", "retry_with_backoff"),
        236: ("TIMEOUT", -32007, "Timeout", "retry_with_backoff"),
        237: ("DEVICE_UNREACHABLE", -32010, "Device Unreachable", "retry_with_backoff"),
        238: ("DEVICE_AUTH_FAILED", -32011, "Device Authentication Failed", "user_action_required"),
        239: ("DEVICE_ERROR", -32012, "Device Error", "report_and_abort"),
        240: ("DEVICE_UNSUPPORTED", -32013, "Device Unsupported", "report_and_abort"),
        241: ("INVALID_CONFIGURATION", -32020, "Invalid Configuration", "report_and_abort"),
        242: ("UNSAFE_OPERATION", -32021, "Unsafe Operation", "report_and_abort"),
        243: ("PLAN_NOT_APPROVED", -32030, "Plan Not Approved", "user_action_required"),
        244: ("PLAN_EXPIRED", -32031, "Plan Expired", "user_action_required"),
    }.items()
]


@pytest.mark.checklist(259, 263)
@pytest.mark.parametrize(("name", "number", "title", "strategy"), RPC)
def test_each_jsonrpc_code_has_its_number_title_and_strategy(name: str, number: int, title: str, strategy: str) -> None:
    code = JsonRpc[name]
    assert (code.number, code.title, code.strategy) == (number, title, strategy)
    assert fw.to_jsonrpc(fw.ToolError("m", code=name), id=1) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": number, "message": title, "data": {"mcp_error_code": name, "details": "m"}},
    }


@pytest.mark.checklist(225, 227, 281)
def test_a_bad_request_is_answered_with_the_codes_number() -> None:
    bad = {"jsonrpc": "1.0", "id": 1, "method": "tools/call"}, {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    errors = [check_request(message) for message in bad]
    assert [error and fw.to_jsonrpc(error)["error"]["code"] for error in errors] == [-32600, -32602]


@pytest.mark.checklist(226)
def test_an_unknown_tool_is_a_result_or_an_error_as_the_author_likes() -> None:
    error = Core.UNKNOWN_TOOL("m")
    assert fw.to_result(error, "xml")["isError"] is True
    assert fw.to_jsonrpc(error)["error"]["code"] == -32601


@pytest.mark.checklist(245, 259)
def test_jsonrpc_codes_stand_in_their_range() -> None:
    assert len(JsonRpc) == len({code.number for code in JsonRpc}) == 21
    starts = {"General": -32000, "Device": -32010, "Configuration": -32020, "Plan": -32030}
    for code in JsonRpc:
        assert code.number is not None
        if code.category in starts:
            assert starts[code.category] - 10 < code.number <= starts[code.category]
        else:
            assert (code.category, code.number < -32099) == ("JSON-RPC", True)
    assert sum(code.category == "JSON-RPC" for code in JsonRpc) == 5


def shared() -> dict[str, list[fw.Code]]:
    """Codes of the same name, also in another spelling, in more than one shipped catalogue."""
    found = defaultdict(list)
    for catalog in CATALOGS.values():
        for code in catalog:
            found[upper_snake(code.name)].append(code)
    return {name: same for name, same in found.items() if len(same) > 1}


@pytest.mark.parametrize("name", shared())
def test_catalogues_that_share_a_code_agree_on_it(name: str) -> None:
    same = shared()[name]
    assert len({(code.kind, code.retryable, code.strategy, code.effect) for code in same}) == 1
    assert len({code.title for code in same}) == 1
    assert len({code.number for code in same if code.number is not None}) <= 1


LIMITS = ("RATE_LIMITED", "x_rate_limited", "SERVER_BUSY", "TOO_MANY_REQUESTS", "RESOURCE_EXHAUSTED")


@pytest.mark.parametrize("code", [code for catalog in CATALOGS.values() for code in catalog], ids=lambda code: f"{code.catalog}.{code}")  # fmt: skip
def test_each_shipped_effect_is_the_one_decided(code: fw.Code) -> None:
    refused = code.kind in ("validation", "not_found", "permission", "conflict")
    if code.name in ("thread_partial_failure", "PARTIAL_FAILURE"):
        assert code.effect is Effect.PARTIAL
    elif code.name in ("IDEMPOTENCY_UNFINISHED", "OUTCOME_UNKNOWN", "CALL_IN_DOUBT"):
        assert code.effect is Effect.UNKNOWN
    elif refused or code.name in LIMITS:
        assert code.effect is Effect.NONE
    else:
        assert code.effect is None


@pytest.mark.checklist(259, 263)
def test_each_shipped_code_is_complete() -> None:
    assert list(CATALOGS) == ["core", "typed", "v1", "xml", "social", "jsonrpc", "standard"]
    for name, catalog in CATALOGS.items():
        assert catalog.catalog == name
        for code in catalog:
            assert code.catalog == name
            assert code.title
            assert code.description
            assert isinstance(code.strategy, Strategy)
    assert all(code.number is not None for code in Core)


def test_a_declared_catalogue_is_a_collection_of_its_codes() -> None:
    class BillingErrors(fw.Catalog):
        INVOICE_PAID = fw.Code("conflict", "It has been paid.", http_status=409)
        card = fw.Code("permission", name="CardDeclined")

    assert BillingErrors.catalog == "billing_errors"
    assert [code.name for code in BillingErrors] == ["INVOICE_PAID", "CardDeclined"]
    assert len(BillingErrors) == 2
    assert (BillingErrors.INVOICE_PAID in BillingErrors, "CardDeclined" in BillingErrors, "card" in BillingErrors) == (
        True,
        True,
        False,
    )
    assert BillingErrors["CardDeclined"] is BillingErrors.card
    assert {"INVOICE_PAID", "card"} <= set(dir(BillingErrors))
    assert (
        fw.Code(
            "conflict",
            "It has been paid.",
            name="INVOICE_PAID",
            title="Invoice Paid",
            http_status=409,
            catalog="billing_errors",
        )
        == BillingErrors.INVOICE_PAID
    )
    with pytest.raises(KeyError):
        BillingErrors["nothing"]


def test_a_declared_code_is_found_by_its_text() -> None:
    assert fw.ToolError("m", code="SEAT_TAKEN").info is None

    class Seats(fw.Catalog, name="seats"):
        SEAT_TAKEN = fw.Code("conflict", retryable=True, strategy="user_action_required", effect="unknown")

    error = fw.ToolError("m", code="SEAT_TAKEN")
    # A code may say that it passes and that the call may have been done: then the call is not to be made again.
    assert (type(error), error.retryable, error.strategy, error.effect, error.info) == (
        fw.Conflict,
        False,
        Strategy.USER_ACTION,
        Effect.UNKNOWN,
        Seats.SEAT_TAKEN,
    )
    assert (Seats.catalog, error) == ("seats", Seats.SEAT_TAKEN("m"))
    assert fw.ToolError("m", code="SEAT_TAKEN", effect="none").retryable


def test_the_authors_catalogue_comes_before_core() -> None:
    class Mine(fw.Catalog):
        NOT_FOUND = fw.Code("transient", "It shows up later.")

    error = fw.ToolError("m", code="NOT_FOUND")
    assert (type(error), error.retryable, error.info) == (fw.Transient, True, Mine.NOT_FOUND)
    assert Core.NOT_FOUND("m").retryable is False


def test_declaring_a_catalogue_again_replaces_it() -> None:
    def declare(kind: str) -> type[fw.Catalog]:
        class Again(fw.Catalog):
            AGAIN = fw.Code(kind)

        return Again

    first, second = declare("conflict"), declare("transient")
    assert first["AGAIN"] != second["AGAIN"]
    assert fw.ToolError("m", code="AGAIN").info is second["AGAIN"]


def test_a_catalogue_can_stay_unregistered() -> None:
    class Hidden(fw.Catalog, register=False):
        HIDDEN = fw.Code("conflict")

    assert find("HIDDEN") is None
    assert Hidden.HIDDEN("m").info is Hidden.HIDDEN


def test_a_catalogue_can_extend_another() -> None:
    class Base(fw.Catalog):
        ONE = fw.Code("conflict")
        TWO = fw.Code("conflict")

    class More(Base):
        TWO = fw.Code("internal")
        THREE = fw.Code("internal")

    assert [(code.name, code.kind.value) for code in More] == [("ONE", "conflict"), ("TWO", "internal"), ("THREE", "internal")]  # fmt: skip
    assert len(Base) == 2
    assert More.ONE is Base.ONE


def test_two_codes_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="SAME"):

        class Doubled(fw.Catalog):
            A = fw.Code("conflict", name="SAME")
            B = fw.Code("transient", name="SAME")


def test_an_error_keeps_the_catalogue_it_was_built_from() -> None:
    class First(fw.Catalog):
        CLASH = fw.Code("conflict")

    class Second(fw.Catalog):
        CLASH = fw.Code("transient")

    error = Second.CLASH("m", details={"a": 1})
    for twin in (
        error,
        copy.copy(error),
        copy.deepcopy(error),
        pickle.loads(pickle.dumps(error)),
        error.replace(tier="x"),
    ):
        assert (twin.info, twin.retryable, type(twin)) == (Second.CLASH, True, fw.Transient)
    assert First.CLASH("m").retryable is False


def test_a_wrong_kind_is_refused_where_the_catalogue_is_declared() -> None:
    with pytest.raises(ValueError, match="'conflicts' is not a valid kind; use one of: not_found, conflict"):

        class Wrong(fw.Catalog):
            OOPS = fw.Code("conflicts")
