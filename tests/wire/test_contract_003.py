"""Contract 003 as its author meets it, over a real wire: data, codes, metadata, envelopes of a tool's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from contract_server import HAND_FAILURE, HAND_SUCCESS, VALUES
from contract_wire import ERAS, FRAMEWORKS, Contracts, Servers
from shop_wire import Answer, Json

import failwell as fw

ENVELOPE: Json = {"envelope": {}}
STRICT: Json = {"envelope": {"strict": True}}
VALUED = ("mcpserver", "mcpserver-flat", "fastmcp")
S = fw.catalogs.Social


@pytest.fixture(params=[(kind, era) for kind in VALUED for era in ERAS], ids=" ".join)
def server(request: pytest.FixtureRequest, servers: Servers) -> Contracts:
    kind, era = request.param
    return servers.get(kind, ENVELOPE, era)


@pytest.fixture(params=FRAMEWORKS)
def strict(request: pytest.FixtureRequest, servers: Servers) -> Contracts:
    return servers.get(request.param, STRICT)


def envelope(answer: Answer) -> Json:
    made: Json = json.loads(answer.text)
    return made


def as_json(value: Any) -> Any:
    return value.model_dump() if hasattr(value, "model_dump") else value


@pytest.mark.checklist(430)
@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("tool", ["give", "give_any"])
def test_data_is_what_the_tool_returned(server: Contracts, tool: str, what: str) -> None:
    answer = server.call(tool, what=what)
    made = envelope(answer)
    assert answer.text == json.dumps(
        {"success": True, "data": as_json(VALUES[what]), "meta": made["meta"]}, indent=2, ensure_ascii=False
    )
    assert not answer.failed
    assert set(made["meta"]) == {"tool_version", "elapsed_ms"}


@pytest.mark.checklist(430)
@pytest.mark.parametrize(
    ("tool", "kinds"),
    [
        ("give_list", ["list", "one", "two", "texts", "none_list"]),
        ("give_text", ["text", "json_text", "list_text", "number_text", "empty_text", "lines"]),
        ("give_map", ["map", "result_map", "result_two", "empty_map", "deep"]),
        ("give_user", ["user"]),
    ],
)
def test_data_of_a_declared_type_is_what_the_tool_returned(server: Contracts, tool: str, kinds: list[str]) -> None:
    assert {what: envelope(server.call(tool, what=what))["data"] for what in kinds} == {
        what: as_json(VALUES[what]) for what in kinds
    }


@pytest.mark.checklist(430)
def test_data_is_never_cut(server: Contracts) -> None:
    data = envelope(server.call("give_deep"))["data"]
    for _ in range(60):
        (data,) = data
    assert data == "bottom"


@pytest.mark.checklist(430)
def test_on_the_low_level_server_data_is_what_the_result_holds(servers: Servers) -> None:
    server = servers.get("lowlevel", ENVELOPE)
    assert envelope(server.call("give_map", what="map"))["data"] == VALUES["map"]
    assert envelope(server.call("give_text", what="json_text"))["data"] == VALUES["json_text"]


@pytest.mark.checklist(431)
@pytest.mark.parametrize("what", ["object", "nan", "inside"])
@pytest.mark.parametrize("options", [ENVELOPE, STRICT], ids=["open", "strict"])
@pytest.mark.parametrize("kind", VALUED)
def test_what_cannot_be_written_is_a_serialization_error(servers: Servers, kind: str, options: Json, what: str) -> None:
    answer = servers.get(kind, options).call("give_unwritable", what=what)
    made = envelope(answer)
    assert answer.failed
    assert (made["success"], made["data"]) == (False, None)
    assert (made["error"]["code"], made["error"]["retryable"]) == ("serialization_error", False)
    assert answer.error["code"] == "serialization_error"


CAUSES = {
    "400": "validation_error",
    "401": "x_auth_expired",
    "403": "x_forbidden",
    "404": "not_found",
    "409": "invalid_input",
    "422": "validation_error",
    "429": "x_rate_limited",
    "500": "x_api_error",
    "503": "x_api_error",
    "timeout": "x_network_error",
    "refused": "x_network_error",
    "file": "not_found",
    "value": "validation_error",
    "crash": "serialization_error",
    "locked": "db_error",
    "cannot_open": "db_error",
    "bad_sql": "db_error",
    "own": "x_auth_expired",
    "foreign": "invalid_input",
    "marked": "x_auth_expired",
}


@pytest.mark.checklist(180, 184, 432, 433)
@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("tool", ["get_post", "frobnicate", "send_post"])
def test_the_code_names_the_cause_on_every_tool(strict: Contracts, tool: str, cause: str) -> None:
    answer = strict.call(tool, cause=cause)
    error = envelope(answer)["error"]
    assert error["code"] == CAUSES[cause]
    info = S[CAUSES[cause]]
    assert error["retryable"] is info.retryable


@pytest.mark.checklist(434)
@pytest.mark.parametrize("how", ["map", "text", "result"])
@pytest.mark.parametrize("kind", FRAMEWORKS)
def test_an_envelope_that_a_tool_made_itself_passes_as_it_is(servers: Servers, kind: str, how: str) -> None:
    server = servers.get(kind, ENVELOPE)
    worked = server.call("envelope_by_hand", how=how, ok=True)
    assert (worked.failed, envelope(worked)) == (False, HAND_SUCCESS)
    before = len(server.logged("envelope_by_hand"))
    failed = server.call("envelope_by_hand", how=how, ok=False)
    assert (failed.failed, envelope(failed)) == (True, HAND_FAILURE)
    assert (failed.error["code"], failed.error["retryable"]) == ("x_rate_limited", True)
    assert failed.error["retry_after"] == 30
    assert len(server.logged("envelope_by_hand")) == before + 1
    if how != "map":
        bare = servers.get(kind, None)
        for answer, ok in ((worked, True), (failed, False)):
            assert answer.result["content"] == bare.call("envelope_by_hand", how=how, ok=ok).result["content"]


@pytest.mark.checklist(434)
def test_a_map_that_only_looks_like_an_envelope_is_data(server: Contracts) -> None:
    answer = server.call("nearly_envelope")
    assert not answer.failed
    assert envelope(answer)["data"] == {"success": False, "attempts": 3}


@pytest.mark.checklist(187, 188, 435)
@pytest.mark.parametrize("when", ["2030-01-01T00:00:00Z", "1893456000"])
def test_details_by_the_names_of_the_contract_stand_in_their_places(strict: Contracts, when: str) -> None:
    error = envelope(strict.call("limited", when=when))["error"]
    assert (error["rate_limit_reset"], error["policy_decision"]) == (when, "denied")


@pytest.mark.checklist(436)
def test_words_invite_no_call_that_the_flag_rules_out(strict: Contracts) -> None:
    error = envelope(strict.call("policy_limit"))["error"]
    assert (error["retryable"], error["rate_limit_reset"]) == (False, "2030-01-01T00:00:00Z")
    assert error["message"] == "20 posts are out. Not before 2030-01-01T00:00:00Z."


@pytest.mark.checklist(193, 194, 198)
@pytest.mark.parametrize("kind", FRAMEWORKS)
def test_the_workflow_profile_says_its_mode_in_every_answer(servers: Servers, kind: str) -> None:
    profile = {"profile": "workflow", "mode": "composer", "approval_mode": True}
    server = servers.get(kind, {"envelope": profile})
    answers = [
        server.call("give_map", what="map"),
        server.call("policy_limit"),
        server.call("get_post", cause="404"),
        server.call("no_such_tool"),
    ]
    for answer in answers:
        meta = envelope(answer)["meta"]
        assert (meta["mode"], meta["approval_mode"]) == ("composer", True)
        assert set(meta) == {"tool_version", "elapsed_ms", "mode", "approval_mode"}
