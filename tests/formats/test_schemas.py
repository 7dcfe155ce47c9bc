"""The published schemas: they are valid, what we render keeps to them, and what breaks a contract is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from lxml import etree
from test_contract_examples_jsonrpc import EXAMPLES

import failwell as fw
from failwell.formats import FORMATS, META_KEY, to_wire
from failwell.formats.envelope import success
from failwell.formats.table import SCHEMAS, schema
from failwell.model import UNWRITTEN, Action, Effect, FieldError, Kind, Option, Patch, Severity, Strategy
from failwell.model.fields import Fields
from recorded import one, vectors

JSON_SCHEMAS = tuple(name for name in SCHEMAS if name != "xml")
PARSED: dict[str, dict[str, Any]] = {name: json.loads(schema(name)) for name in JSON_SCHEMAS}
VALIDATORS = {name: Draft202012Validator(found) for name, found in PARSED.items()}
RESPONSE = Draft202012Validator({**PARSED["jsonrpc"], "$ref": "#/$defs/response"})
RELAX_NG = etree.RelaxNG(etree.fromstring(schema("xml").encode()))
PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
ERAS = ("2025-11-25", "2026-07-28")
WORKFLOW = {"profile": "workflow", "mode": "composer", "approval_mode": True, "elapsed_ms": 7}


def complaints(name: str, wire: Any) -> list[str]:
    """What the schema of a format has against a wire value; nothing when it is in order."""
    if name == "xml":
        try:
            document = etree.fromstring(wire.encode(), PARSER)
        except etree.XMLSyntaxError as problem:
            return [str(problem)]
        return [] if RELAX_NG.validate(document) else [str(RELAX_NG.error_log)]
    return [f"{list(found.absolute_path)}: {found.message}" for found in VALIDATORS[name].iter_errors(wire)]


def rendered(outcome: fw.ToolError | fw.NeedsInput, name: str, **options: Any) -> Any:
    """The wire value as a reader gets it: through its text."""
    text = fw.render(outcome, name, **options)
    return text if name in ("xml", "text") else json.loads(text)


def test_every_format_has_a_schema() -> None:
    assert tuple(FORMATS) == SCHEMAS


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"^There is no schema 'nope'; use one of: typed, v1, xml, .*, canonical\.$"):
        schema("nope")


@pytest.mark.parametrize("name", ["../typed", "typed.json", "", "TYPED"])
def test_a_name_is_never_a_path(name: str) -> None:
    with pytest.raises(ValueError):
        schema(name)


@pytest.mark.parametrize("name", JSON_SCHEMAS)
def test_the_schema_is_valid_and_in_draft_2020_12(name: str) -> None:
    Draft202012Validator.check_schema(PARSED[name])
    assert PARSED[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("name", [name for name in JSON_SCHEMAS if name != "typed"])
def test_the_schema_says_what_it_is(name: str) -> None:
    assert PARSED[name]["$id"] == f"urn:failwell:schema:{name}:1"
    assert PARSED[name]["title"]
    assert PARSED[name]["description"].endswith(".")


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_prints_on_any_terminal(name: str) -> None:
    assert schema(name).isascii()
    assert schema(name).endswith("}\n" if name != "xml" else "</grammar>\n")


@pytest.mark.parametrize("name", JSON_SCHEMAS)
def test_every_reference_leads_somewhere(name: str) -> None:
    for reference in _references(PARSED[name]):
        assert reference.removeprefix("#/$defs/") in PARSED[name]["$defs"]


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


@pytest.mark.checklist(9)
def test_the_typed_schema_is_the_one_of_the_contract() -> None:
    assert PARSED["typed"] == one("contracts-verbatim", "000.schema")["output"]


def test_the_canonical_schema_knows_every_field() -> None:
    known = PARSED["canonical"]["$defs"]["toolError"]["properties"]
    assert set(known) == (set(Fields.__annotations__) - {*UNWRITTEN}) | {
        "failwell",
        "message",
        "retryable",
    }


@pytest.mark.checklist(3, 4, 5, 6, 7, 8)
@pytest.mark.parametrize(
    "vector",
    [pytest.param(v, id=v["id"]) for v in vectors("contracts-verbatim") if v["id"].startswith("000.schema.case.")],
)
def test_the_contract_says_what_is_valid(vector: dict[str, Any]) -> None:
    assert (not complaints("typed", vector["input"]["value"])) is vector["output"]["valid"]


def _examples() -> Iterator[Any]:
    for vector in vectors("contracts-verbatim"):
        id, output = vector["id"], vector["output"]
        if id.startswith("000.wire."):
            yield pytest.param("typed", output, id=id)
        elif id.startswith("001.") and isinstance(output, dict) and "structuredContent" in output:
            yield pytest.param("v1", output["structuredContent"], id=id)
        elif id.startswith("002.xml."):
            yield pytest.param("xml", output, id=id)
    for _, wire in EXAMPLES:
        yield pytest.param("jsonrpc", wire, id=f"004.{wire['data']['mcp_error_code']}")
    for vector in vectors("envelope-as-run"):
        if isinstance(vector["output"], str) and '"success"' in vector["output"]:
            yield pytest.param("envelope", json.loads(vector["output"]), id=vector["id"])
    for vector in vectors("v1-as-run"):
        output = vector["output"]
        found = output.get("structuredContent", output) if isinstance(output, dict) else {}
        if found.get("kind") in ("toolError:v1", "needsInput:v1") and isinstance(found.get("message"), str):
            yield pytest.param("v1", found, id=vector["id"])


@pytest.mark.parametrize(("name", "wire"), list(_examples()))
def test_what_the_contracts_show_is_valid(name: str, wire: Any) -> None:
    assert complaints(name, wire) == []


RFC_EXAMPLE = {
    "type": "https://example.net/validation-error",
    "title": "Your request is not valid.",
    "errors": [
        {"detail": "must be a positive integer", "pointer": "#/age"},
        {"detail": "must be 'green', 'red' or 'blue'", "pointer": "#/profile/color"},
    ],
}


def test_a_problem_as_the_rfc_writes_it_is_valid() -> None:
    assert complaints("problem", RFC_EXAMPLE) == []


@pytest.mark.checklist(246, 247)
@pytest.mark.parametrize(
    "data",
    [
        {},
        {"device_id": "dev-lab-01", "routeros_error": "connect ETIMEDOUT 192.168.1.1:443", "retry_after": 60},
        {"device_id": "dev-lab-01", "limit": "3 requests per device", "current_count": 5},
        {"field": "ip_address", "value": "192.168.1.999", "expected": "Valid IPv4 or IPv6 address"},
        {"errors": [{"field": "device_id", "message": "Required field missing"}]},
        {"suggestions": ["Use registry/list"], "available_device_count": 0},
        {
            "recovery_strategy": "user_action_required",
            "suggestion": "Enable it.",
            "next_steps": ["Use registry/update"],
            "alternatives": [{"tool": "registry/list", "description": "List", "arguments": {"environment": "lab"}}],
        },
        {"_debug_details": "the whole story", "failwell": {"severity": "warning", "code": None}},
    ],
    ids=lambda data: ",".join(data) or "bare",
)
def test_the_keys_of_contract_004_are_valid(data: dict[str, Any]) -> None:
    wire = {"code": -32010, "message": "Label", "data": {"mcp_error_code": "X", "details": "d", **data}}
    assert complaints("jsonrpc", wire) == []
    assert list(RESPONSE.iter_errors({"jsonrpc": "2.0", "id": "req-001", "error": wire})) == []


READ = [
    pytest.param(error, id=f"{name}:{vector['id']}")
    for name in ("typed-as-run", "v1-as-run", "xml-as-run", "envelope-as-run", "jsonrpc-as-run")
    for vector in vectors(name)
    if isinstance(error := fw.parse(vector["output"]), (fw.ToolError, fw.NeedsInput))
]


@pytest.mark.parametrize("outcome", READ)
def test_real_outputs_are_valid_in_every_format(outcome: fw.ToolError | fw.NeedsInput) -> None:
    for name in SCHEMAS:
        if name == "problem" and (getattr(outcome, "http_status", None) or 0) > 599:
            continue  # a deviation, listed below
        options = {"elapsed_ms": 1} if name == "envelope" else {}
        assert complaints(name, rendered(outcome, name, **options)) == []
        assert complaints(name, rendered(outcome, name, carry=True, **options)) == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_shipped_code_is_valid_in_every_format(name: str) -> None:
    for catalog in fw.catalogs.CATALOGS.values():
        for code in catalog:
            assert complaints(name, rendered(code("It failed."), name)) == []


CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=12),
    st.sampled_from(
        ["", " ", "\n", "\x00", "a\rb", "]]>", "<b>&amp;", "\ud800", "\ufffe", '"', "'", "x" * 60, "{wait}"]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=2)),
    max_leaves=4,
)
# The contracts' own keys come up as well, where an author's detail could be taken for one of them.
KEYS = st.one_of(
    TEXTS,
    st.sampled_from(
        "failwell retry_after retryAfter statusCode conflicts details suggestion suggestions next_steps alternatives "
        "field value expected errors tool_name tool_tier recovery_strategy mcp_error_code _debug_details".split()
    ),
)
PATHS = st.lists(st.one_of(TEXTS, st.integers(-1, 3)), max_size=3)
ACTIONS = st.builds(Action, TEXTS, st.none() | TEXTS, st.none() | st.dictionaries(TEXTS, VALUES, max_size=2))
CODES = st.one_of(
    st.sampled_from([code.name for catalog in fw.catalogs.CATALOGS.values() for code in catalog]),
    st.sampled_from(["InvoiceAlreadyPaid", "-32050", "a b", "x.y/z", "\u540d\u524d"]),
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "code": CODES,
    "kind": st.sampled_from(list(Kind)),
    "title": TEXTS,
    "severity": st.sampled_from([*Severity, None]),
    "recoverable": st.booleans(),
    "strategy": st.sampled_from(list(Strategy)),
    "retry_after": st.one_of(st.integers(-1, 100), st.floats(), st.floats(0, 1)),
    "reset_at": st.datetimes(),
    "suggestion": TEXTS,
    "next_steps": st.lists(TEXTS, max_size=2),
    "actions": st.lists(ACTIONS, max_size=2),
    "fields": st.lists(
        st.one_of(
            st.builds(FieldError, PATHS, TEXTS),
            st.builds(FieldError, PATHS, TEXTS, VALUES, TEXTS, st.lists(VALUES, max_size=2), TEXTS),
        ),
        max_size=2,
    ),
    "patch": st.lists(st.builds(Patch, st.sampled_from(["set", "rename", "remove"]), PATHS, VALUES, TEXTS), max_size=2),
    "conflicts": st.lists(
        st.dictionaries(st.sampled_from(["agent_id", "pattern", "held_by", "since"]), VALUES), max_size=2
    ),
    "effect": st.sampled_from(list(Effect)),
    "verify": ACTIONS,
    "details": st.dictionaries(KEYS, VALUES, max_size=3),
    "http_status": st.integers(99, 599),
    "policy_decision": TEXTS,
    "tool": TEXTS,
    "action": TEXTS,
    "tier": TEXTS,
    "correlation_id": TEXTS,
    "meta": st.dictionaries(st.sampled_from(["tool_version", "pagination", "shard", "failwell"]), VALUES, max_size=2),
    "origin": st.sampled_from(["peer", "local"]),
    "confidence": st.floats(),
    "legacy": st.booleans(),
    "notes": st.lists(TEXTS, max_size=1),
    "debug": VALUES,
}
ERRORS = st.builds(
    lambda message, fields: fw.ToolError(message, **fields), TEXTS, st.fixed_dictionaries({}, optional=FIELDS)
)
QUESTIONS = st.builds(
    fw.NeedsInput,
    TEXTS.filter(str.strip),
    fields=st.lists(TEXTS, max_size=2),
    reason=st.none() | TEXTS,
    suggestions=st.none() | st.dictionaries(TEXTS, st.lists(VALUES, max_size=2), max_size=2),
    options=st.lists(
        st.one_of(TEXTS, st.builds(Option, TEXTS, VALUES, st.none() | TEXTS, st.none() | TEXTS)), max_size=2
    ),
    notes=st.lists(TEXTS, max_size=1),
)
OUTCOMES = st.one_of(ERRORS, ERRORS, QUESTIONS)
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "xml": ({"layout": "indent"}, {"layout": "flush"}),
    "envelope": ({"elapsed_ms": 0}, {"elapsed_ms": 7, "strict": True}, {"elapsed_ms": 7, "profile": "api"}, WORKFLOW),
    "jsonrpc": tuple({"era": era, "actionable": told, "debug": told} for era in ERAS for told in (False, True)),
}


@pytest.mark.parametrize("name", SCHEMAS)
@given(outcome=OUTCOMES, carry=st.booleans())
def test_whatever_is_rendered_is_valid(name: str, outcome: fw.ToolError | fw.NeedsInput, carry: bool) -> None:
    for options in OPTIONS.get(name, ({},)):
        assert complaints(name, rendered(outcome, name, carry=carry, **options)) == []


@given(outcome=OUTCOMES)
def test_the_object_in_the_metadata_is_valid_with_all_it_says_about_its_origin(
    outcome: fw.ToolError | fw.NeedsInput,
) -> None:
    assert complaints("canonical", fw.to_result(outcome)["_meta"][META_KEY]) == []


@pytest.mark.checklist(246)
@given(outcome=OUTCOMES, era=st.sampled_from(ERAS), id=st.none() | st.integers() | TEXTS)
def test_a_response_is_valid_and_always_names_its_code(
    outcome: fw.ToolError | fw.NeedsInput, era: str, id: int | str | None
) -> None:
    wire = json.loads(json.dumps(fw.to_jsonrpc(outcome, id, era=era)))
    assert list(RESPONSE.iter_errors(wire)) == []
    assert isinstance(wire["error"]["data"]["mcp_error_code"], str)
    assert isinstance(wire["error"]["data"]["details"], str)


@pytest.mark.parametrize(
    "options", [{}, {"profile": "api", "elapsed_ms": 0}, WORKFLOW], ids=["bare", "api", "workflow"]
)
@given(value=VALUES)
def test_successes_in_the_envelope_are_valid(options: dict[str, Any], value: Any) -> None:
    assert complaints("envelope", json.loads(json.dumps(success(value, **options)))) == []


ODD = [
    pytest.param("envelope", fw.ToolError("m", correlation_id="c"), {}, id="meta without elapsed_ms"),
    pytest.param("envelope", fw.ToolError("m", meta={"elapsed_ms": 1, "mode": "autopilot"}), {}, id="mode alone"),
    pytest.param("envelope", fw.ToolError("m", meta={"elapsed_ms": 1e300}), {}, id="elapsed_ms beyond 64 bits"),
    pytest.param("envelope", fw.ToolError("m", code="-"), {}, id="code of separators"),
    pytest.param(
        "envelope",
        fw.parse({"failwell": 1, "kind": "validation", "message": "m", "retryable": True}),
        {},
        id="validation_error that is retryable",
    ),
    pytest.param("jsonrpc", fw.ToolError("m", code="--5"), {}, id="code that is almost a number"),
    pytest.param("jsonrpc", fw.ToolError("m", details={"device_id": 5}), {}, id="device_id that is no text"),
    pytest.param("jsonrpc", fw.ToolError("m", details={"routeros_error": {}}), {}, id="routeros_error that is no text"),
    pytest.param("problem", fw.ToolError("m", http_status=600), {}, id="status beyond 599"),
    pytest.param("text", fw.NeedsInput(""), {}, id="empty question"),
    pytest.param("text", fw.ToolError("", code="-", severity="warning"), {}, id="empty warning"),
]


@pytest.mark.parametrize(("name", "outcome", "options"), ODD)
def test_odd_values_leave_in_the_contracts_form(name: str, outcome: Any, options: dict[str, Any]) -> None:
    assert complaints(name, to_wire(outcome, name, **options)) == []


TYPED = {"type": "NOT_FOUND", "message": "m", "recoverable": False}
TOOL_ERROR = {"kind": "toolError:v1", "code": "NOT_FOUND", "message": "m"}
NEEDS_INPUT = {
    "kind": "needsInput:v1",
    "type": "elicitation",
    "message": "Which?",
    "needsInput": {"fields": ["id"], "reason": "It is missing."},
}
REASON = {"code": "not_found", "message": "m", "retryable": False}
FAILURE = {"success": False, "data": None, "error": REASON}
META = {"tool_version": "1.0", "elapsed_ms": 1}
DATA = {"mcp_error_code": "NOT_FOUND", "details": "d"}
RPC = {"code": -32003, "message": "Not Found", "data": DATA}
CANONICAL = fw.ToolError("m", code="NOT_FOUND").to_dict()
QUESTION = fw.NeedsInput("Which?", fields=["id"]).to_dict()


def without(wire: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in wire.items() if key != name}


RIGHT: list[tuple[str, Any]] = [
    ("typed", TYPED),
    ("typed", {**TYPED, "data": {"": None, "anything": [1, {"goes": True}], "failwell": {"code": "X"}}}),
    ("v1", TOOL_ERROR),
    ("v1", NEEDS_INPUT),
    ("envelope", FAILURE),
    ("envelope", {**FAILURE, "meta": META}),
    ("jsonrpc", RPC),
    ("problem", RFC_EXAMPLE),
    ("canonical", CANONICAL),
    ("canonical", QUESTION),
    ("text", "It failed."),
    ("xml", '<tool_error code="A" severity="error"><message>m</message></tool_error>'),
    ("xml", '<validation_error><field name="a">b</field><recovery>r</recovery></validation_error>'),
]


@pytest.mark.checklist(8, 102)
@pytest.mark.parametrize(("name", "wire"), RIGHT)
def test_what_the_wrong_ones_are_made_from_is_right(name: str, wire: Any) -> None:
    assert complaints(name, wire) == []


WRONG: dict[str, list[Any]] = {
    "typed": [
        without(TYPED, "type"),
        without(TYPED, "message"),
        without(TYPED, "recoverable"),
        {**TYPED, "type": "RATE_LIMITED"},
        {**TYPED, "type": "not_found"},
        {**TYPED, "type": "Not_Found"},
        {**TYPED, "message": 1},
        {**TYPED, "message": None},
        {**TYPED, "recoverable": "false"},
        {**TYPED, "recoverable": 0},
        {**TYPED, "data": []},
        {**TYPED, "data": None},
        {**TYPED, "code": "NOT_FOUND"},
        {**TYPED, "failwell": {}},
        "NOT_FOUND",
    ],
    "v1": [
        {**TOOL_ERROR, "kind": "toolError:v2"},
        {**TOOL_ERROR, "kind": "patternDetails:v0"},
        {**TOOL_ERROR, "kind": "tool_error:v1"},
        without(TOOL_ERROR, "kind"),
        without(TOOL_ERROR, "code"),
        without(TOOL_ERROR, "message"),
        {**TOOL_ERROR, "code": 404},
        {**TOOL_ERROR, "retryable": "yes"},
        {**TOOL_ERROR, "details": "a text"},
        {**TOOL_ERROR, "details": {"statusCode": "404"}},
        {**TOOL_ERROR, "details": {"failwell": 1}},
        {**TOOL_ERROR, "statusCode": 404},
        {**TOOL_ERROR, "kind": "needsInput:v1"},
        {**NEEDS_INPUT, "kind": "toolError:v1"},
        {**NEEDS_INPUT, "type": "question"},
        {**NEEDS_INPUT, "needsInput": {"fields": "id", "reason": "r"}},
        {**NEEDS_INPUT, "needsInput": {"fields": ["id"]}},
        {**NEEDS_INPUT, "options": [{"value": 1}]},
        without(NEEDS_INPUT, "needsInput"),
        [],
    ],
    "envelope": [
        without(FAILURE, "success"),
        without(FAILURE, "data"),
        without(FAILURE, "error"),
        {**FAILURE, "success": True},
        {**FAILURE, "success": "false"},
        {"success": True},
        {"success": True, "data": 1, "error": None},
        {**FAILURE, "error": "a text"},
        {**FAILURE, "error": without(REASON, "retryable")},
        {**FAILURE, "error": {**REASON, "code": "NotFound"}},
        {**FAILURE, "error": {**REASON, "code": "not found"}},
        {**FAILURE, "error": {**REASON, "retryable": True}},
        {**FAILURE, "error": {**REASON, "code": "db_error"}},
        {**FAILURE, "error": {**REASON, "rate_limit_reset": 1772020800}},
        {**FAILURE, "error": {**REASON, "rate_limit_reset": "soon"}},
        {**FAILURE, "error": {**REASON, "retry_after_ms": 0}},
        {**FAILURE, "error": {**REASON, "retry_after_ms": 1.5}},
        {**FAILURE, "error": {**REASON, "policy_decision": False}},
        {**FAILURE, "error": {**REASON, "suggestion": "s"}},
        {**FAILURE, "meta": without(META, "tool_version")},
        {**FAILURE, "meta": without(META, "tool_version")},
        {**FAILURE, "meta": {**META, "elapsed_ms": -1}},
        {**FAILURE, "meta": {**META, "mode": "autopilot"}},
        {**FAILURE, "meta": {**META, "approval_mode": True}},
        {**FAILURE, "meta": {**META, "mode": "manual", "approval_mode": True}},
        {**FAILURE, "meta": {**META, "failwell": "s"}},
        {**FAILURE, "failwell": {}},
    ],
    "jsonrpc": [
        without(RPC, "code"),
        without(RPC, "message"),
        {**RPC, "code": "-32003"},
        {**RPC, "code": -32003.5},
        {**RPC, "message": None},
        {**RPC, "data": []},
        {**RPC, "data": without(DATA, "mcp_error_code")},
        {**RPC, "data": without(DATA, "details")},
        {**RPC, "data": {**DATA, "mcp_error_code": -32003}},
        {**RPC, "data": {**DATA, "details": {"a": 1}}},
        {**RPC, "data": {**DATA, "retry_after": 1.5}},
        {**RPC, "data": {**DATA, "retry_after": 0}},
        {**RPC, "data": {**DATA, "retry_after": "60"}},
        {**RPC, "data": {**DATA, "device_id": 1}},
        {**RPC, "data": {**DATA, "routeros_error": None}},
        {**RPC, "data": {**DATA, "recovery_strategy": "retry"}},
        {**RPC, "data": {**DATA, "next_steps": "one"}},
        {**RPC, "data": {**DATA, "alternatives": ["registry/list"]}},
        {**RPC, "data": {**DATA, "errors": [{"field": "a"}]}},
        {**RPC, "data": {**DATA, "field": "a", "expected": 1}},
        {**RPC, "data": {**DATA, "failwell": []}},
        {**RPC, "retryable": False},
        {"jsonrpc": "2.0", "id": 1, "error": RPC},
    ],
    "problem": [
        {**RFC_EXAMPLE, "type": "not found"},
        {**RFC_EXAMPLE, "type": None},
        {**RFC_EXAMPLE, "title": 1},
        {**RFC_EXAMPLE, "status": "404"},
        {**RFC_EXAMPLE, "status": 99},
        {**RFC_EXAMPLE, "status": 600},
        {**RFC_EXAMPLE, "detail": ["m"]},
        {**RFC_EXAMPLE, "errors": {"age": "must be positive"}},
        {**RFC_EXAMPLE, "errors": [{"detail": "d"}]},
        {**RFC_EXAMPLE, "errors": [{"detail": "d", "pointer": "/age"}]},
        {**RFC_EXAMPLE, "errors": [{"detail": "d", "pointer": "#/~2"}]},
        {**RFC_EXAMPLE, "kind": "missing"},
        {**RFC_EXAMPLE, "retryable": "no"},
        {**RFC_EXAMPLE, "retry_after": -1},
        {**RFC_EXAMPLE, "actions": ["list"]},
        "about:blank",
    ],
    "canonical": [
        without(CANONICAL, "failwell"),
        without(CANONICAL, "kind"),
        without(CANONICAL, "message"),
        without(CANONICAL, "retryable"),
        {**CANONICAL, "failwell": 2},
        {**CANONICAL, "kind": "NOT_FOUND"},
        {**CANONICAL, "severity": "fatal"},
        {**CANONICAL, "strategy": "retry"},
        {**CANONICAL, "effect": "maybe"},
        {**CANONICAL, "retry_after": 0},
        {**CANONICAL, "retry_after": "30"},
        {**CANONICAL, "reset_at": "2026-01-01T00:00:00+01:00"},
        {**CANONICAL, "http_status": 42},
        {**CANONICAL, "confidence": 1.5},
        {**CANONICAL, "origin": "moon"},
        {**CANONICAL, "fields": [{"path": "a.b", "message": "m"}]},
        {**CANONICAL, "fields": [{"path": [1.5], "message": "m"}]},
        {**CANONICAL, "patch": [{"op": "move", "path": ["a"]}]},
        {**CANONICAL, "actions": [{"description": "d"}]},
        {**CANONICAL, "next_steps": []},
        {**CANONICAL, "details": []},
        {**CANONICAL, "debug": "a stack trace"},
        {**CANONICAL, "surprise": 1},
        {**CANONICAL, "outcome": "needs_input"},
        {**QUESTION, "outcome": "failed"},
        {**QUESTION, "fields": [1]},
        {**QUESTION, "kind": "validation"},
        {**QUESTION, "options": ["a"]},
        without(QUESTION, "message"),
    ],
    "text": ["", " \n", None, 1, True, ["It failed."], {"message": "m"}],
    "xml": [
        "<tool_error/>",
        "<error><message>m</message></error>",
        "<tool_error><message>m</message>",
        "<tool_error>m</tool_error>",
        '<tool_error code=""><message>m</message></tool_error>',
        '<tool_error severity="fatal"><message>m</message></tool_error>',
        '<tool_error kind="internal"><message>m</message></tool_error>',
        "<tool_error><message>m</message><message>n</message></tool_error>",
        "<tool_error><message><b>m</b></message></tool_error>",
        "<tool_error><recovery>r</recovery><message>m</message></tool_error>",
        "<tool_error><message>m</message><available_actions/></tool_error>",
        "<tool_error><message>m</message><available_actions>a, b</available_actions></tool_error>",
        '<tool_error code="UNKNOWN_ACTION" severity="error"><message>m</message>'
        "<available_actions>a, b</available_actions></tool_error>",
        "<tool_error><message>m</message><details><entity_id>1</entity_id></details></tool_error>",
        "<tool_error><message>m</message><details><detail>1</detail></details></tool_error>",
        "<tool_error><message>m</message><retry_after>30</retry_after></tool_error>",
        "<tool_error><message>m</message><retry_after>0 seconds</retry_after></tool_error>",
        "<tool_error><message>m</message><retry_after>-1 seconds</retry_after></tool_error>",
        "<tool_error><message>m</message><retry_after>NaN seconds</retry_after></tool_error>",
        "<validation_error><recovery>r</recovery></validation_error>",
        '<validation_error><field name="a">b</field></validation_error>',
        "<validation_error><field>b</field><recovery>r</recovery></validation_error>",
        '<validation_error><message>m</message><field name="a">b</field><recovery>r</recovery></validation_error>',
    ],
}


@pytest.mark.checklist(3, 4, 5, 6, 7, 8, 102, 246, 247)
@pytest.mark.parametrize(
    ("name", "wire"),
    [pytest.param(name, wire, id=f"{name}-{n}") for name in WRONG for n, wire in enumerate(WRONG[name])],
)
def test_what_breaks_a_contract_is_refused(name: str, wire: Any) -> None:
    assert complaints(name, wire) != []


@pytest.mark.parametrize("id", [True, [], {}])
def test_a_response_with_an_id_that_is_none_is_refused(id: Any) -> None:
    assert list(RESPONSE.iter_errors({"jsonrpc": "2.0", "id": id, "error": RPC})) != []


@pytest.mark.parametrize("name", ["v1", "envelope", "jsonrpc", "canonical"])
def test_the_reserved_key_is_described(name: str) -> None:
    assert '"description": "Reserved: ' in schema(name)
