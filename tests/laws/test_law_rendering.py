"""Law 1: rendering never raises, is deterministic, and is always well-formed, whatever the strings hold."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from functools import partial
from typing import Any, NoReturn
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    ADDRESS,
    BARE,
    CLASSES,
    ERAS,
    FORMATS,
    HUGE,
    JSON,
    MONSTERS,
    SENSIBLE,
    UNPRINTABLE,
    Point,
    Undecided,
    codes,
    errors,
    field_maps,
    monsters,
    outcomes,
    paths,
    questions,
    texts,
    values,
)

import failwell as fw
from failwell.model import IN_DOUBT, Action, Conflicting, FieldError, Option, Patch

_ROOTS = {"tool_error", "validation_error"}
_ELEMENTS = {"message", "recovery", "available_actions", "details", "retry_after", "field"}


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    assert len(found) == len(pairs), "a key stands there twice"
    return found


def well_formed(wire: str, format: str) -> Any:
    """What the text says to a reader that knows nothing of us."""
    assert type(wire) is str
    wire.encode("utf-8")
    if format in JSON:
        found = json.loads(wire, parse_constant=refuse, object_pairs_hook=unique)
        assert isinstance(found, dict)
        return found
    if format == "xml":
        root = ElementTree.fromstring(wire)
        assert root.tag in _ROOTS
        assert {child.tag for child in root} <= _ELEMENTS
        for child in root:
            assert {inner.tag for inner in child} <= {"detail", "action"}
        return root
    return wire


def as_json(value: Any) -> str:
    """JSON as a peer would write it: no NaN, nothing that UTF-8 cannot hold."""
    wire = json.dumps(value, allow_nan=False, ensure_ascii=False)
    wire.encode("utf-8")
    return wire


@given(outcomes, st.booleans())
def test_every_format_is_well_formed(outcome: fw.ToolError | fw.NeedsInput, carry: bool) -> None:
    for format in FORMATS:
        well_formed(fw.render(outcome, format, carry=carry, **BARE), format)
        well_formed(fw.render(outcome, format, carry=carry), format)


@given(questions)
def test_questions_are_well_formed_in_every_format(question: fw.NeedsInput) -> None:
    for format in FORMATS:
        well_formed(fw.render(question, format), format)
        as_json(fw.to_result(question, format))


@given(errors, st.booleans())
def test_the_same_error_gives_the_same_bytes(error: fw.ToolError, carry: bool) -> None:
    twins = (copy.copy(error), copy.deepcopy(error), error.replace(), pickle.loads(pickle.dumps(error)))
    for format in FORMATS:
        wire = fw.render(error, format, carry=carry)
        assert all(fw.render(twin, format, carry=carry) == wire for twin in (error, *twins))


@given(st.sampled_from(CLASSES), st.one_of(texts, values), field_maps())
def test_the_same_fields_give_the_same_bytes(cls: type[fw.ToolError], message: object, chosen: dict[str, Any]) -> None:
    one, two = cls(message, **chosen), cls(message, **dict(reversed(chosen.items())))
    for format in FORMATS:
        assert fw.render(one, format) == fw.render(two, format)


@given(st.one_of(texts, monsters), field_maps(anything=monsters), st.sampled_from(CLASSES))
def test_no_value_can_break_an_error(message: object, chosen: dict[str, Any], cls: type[fw.ToolError]) -> None:
    error = cls(message, **chosen)
    for format in FORMATS:
        well_formed(fw.render(error, format), format)
    str(error), repr(error)


@pytest.mark.parametrize("name", ["message", *SENSIBLE])
def test_no_field_can_be_broken_by_any_monster(name: str) -> None:
    broken = []
    for monster in (*MONSTERS, *UNPRINTABLE):
        try:
            error = fw.ToolError(**{name: monster})
            for format in FORMATS:
                well_formed(fw.render(error, format), format)
        except Exception as problem:
            broken.append(f"{type(monster).__name__}: {problem!r:.100}")
    assert not broken


@given(paths, st.one_of(texts, values), st.one_of(texts, values))
def test_no_value_can_break_a_part(path: Any, one: Any, two: Any) -> None:
    error = fw.Invalid(
        "m",
        fields=[FieldError(path, one, two, one, two, one)],
        patch=[Patch(one, path, two, one)],
        actions=[Action(one, two, one)],
        conflicts=[Conflicting(one, two, one, two)],
        verify=Action(two, one, two),
    )
    question = fw.NeedsInput(one, fields=two, reason=one, options=[Option(one, two, one, two)], suggestions=two)
    for format in FORMATS:
        well_formed(fw.render(error, format), format)
        well_formed(fw.render(question, format), format)


@given(errors, st.booleans(), st.booleans(), st.sampled_from(ERAS), st.sampled_from((None, "markdown", "json", "both")))
def test_results_are_well_formed(error: fw.ToolError, carry: bool, schema: bool, era: str, gate: Any) -> None:
    for format in FORMATS:
        result = fw.to_result(error, format, gate=gate, era=era, carry=carry, output_schema=schema)
        as_json(result)
        # Contract 003 knows no remark: what is no success is an error.
        assert result["isError"] is (error.is_error or format == "envelope")
        assert all(block["type"] == "text" and isinstance(block["text"], str) for block in result["content"])
        assert as_json(result) == as_json(
            fw.to_result(error, format, gate=gate, era=era, carry=carry, output_schema=schema)
        )


@given(errors, st.booleans(), st.booleans(), st.booleans(), st.sampled_from(ERAS))
def test_responses_are_well_formed(error: fw.ToolError, carry: bool, actionable: bool, debug: bool, era: str) -> None:
    response = fw.to_jsonrpc(error, id=7, era=era, carry=carry, actionable=actionable, debug=debug)
    as_json(response)
    number = response["error"]["code"]
    assert type(number) is int
    assert isinstance(response["error"]["message"], str)
    if era == "2026-07-28":
        assert not -32099 <= number <= -32000


@given(errors, codes)
def test_every_option_is_well_formed(error: fw.ToolError, code: str) -> None:
    well_formed(fw.render(error, "xml", layout="flush"), "xml")
    well_formed(fw.render(error, "xml", layout="flush", carry=True), "xml")
    well_formed(fw.render(error, "envelope", strict=True, elapsed_ms=3), "envelope")
    well_formed(fw.render(error, "envelope", profile="api"), "envelope")
    well_formed(fw.render(error, "envelope", profile="workflow", mode="composer", approval_mode=True), "envelope")


@given(errors)
def test_xml_says_each_thing_once(error: fw.ToolError) -> None:
    root = well_formed(fw.render(error, "xml", **BARE), "xml")
    tags = [child.tag for child in root]
    if root.tag == "validation_error":
        assert tags == ["field"] * len(error.fields) + ["recovery"]
    else:
        assert tags[0] == "message"
        assert len(tags) == len(set(tags))
        # The contract has no flag for programs, so that an effect in doubt stands among the details.
        told = {"effect"} if error.effect in IN_DOUBT and error.is_error else set()
        assert len(root.findall("details/detail")) == len((error.details.keys() | told) - {"failwell"})


@pytest.mark.parametrize("huge", HUGE, ids=["ascii", "mixed"])
@pytest.mark.parametrize("format", FORMATS)
def test_huge_texts(huge: str, format: str) -> None:
    error = fw.Invalid(
        huge, code=huge, title=huge, suggestion=huge, fields=[((huge,), huge)], details={huge: huge}, next_steps=[huge]
    )
    well_formed(fw.render(error, format), format)
    well_formed(fw.render(error, format, carry=True), format)
    well_formed(fw.render(error, format, carry=True, **BARE), format)


@pytest.mark.parametrize("format", FORMATS)
def test_no_memory_address_leaves(format: str) -> None:
    def function() -> None: ...

    things = [
        function,
        (n for n in ()),
        iter([]),
        object(),
        Point(function, {}.items),
        partial(function),
        {}.get,
        map(str, ()),
    ]
    for thing in things:
        error = fw.ToolError("m", details={"a": thing}, fields=[{"path": "a", "message": "b", "sent": thing}])
        assert not ADDRESS.search(fw.render(error, format, carry=True)), thing
        assert not ADDRESS.search(fw.render(fw.ToolError(thing), format)), thing


def test_the_order_of_a_set_does_not_show() -> None:
    program = (
        "import failwell as fw; from failwell.formats import FORMATS; words = {f'w{n}' for n in range(50)} | {1, 2.5, None, ('a', 'b'), frozenset('xyz')};"
        "print(*(fw.render(fw.Invalid('m', details={'a': words, 'b': [words]}, "
        "fields=[{'path': 'a', 'message': 'm', 'options': frozenset('abc'), 'sent': words}]), f)"
        " for f in FORMATS))"
    )
    assert_same_for_every_seed(program)


def test_the_order_of_a_set_does_not_show_in_a_text() -> None:
    program = (
        "import failwell as fw; from failwell.formats import FORMATS; words = frozenset(f'w{n}' for n in range(9));"
        "print(*(fw.render(fw.ToolError(words, suggestion=words, details={words: 1}), f) for f in FORMATS))"
    )
    assert_same_for_every_seed(program)


def assert_same_for_every_seed(program: str) -> None:
    seen = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1


def test_a_map_that_is_neither_true_nor_false() -> None:
    # What an array of numpy does.
    assert fw.ToolError("m", details=Undecided()).details == {"value": "<Undecided>"}


HALVES = ("\ud800", "\udfff", "&#xD800;", "\ud83d\ude00", "\ude00\ud83d")


@given(st.sampled_from(HALVES), st.sampled_from(HALVES))
def test_half_a_character_in_an_attribute_is_written_in_every_format(one: str, two: str) -> None:
    for wire in (
        f'<tool_error code="A{one}B" severity="{two}"><message>m{two}</message><detail key="{one}">{two}</detail></tool_error>',
        f'<validation_error action="t/{one}"><field name="{two}">{one}</field></validation_error>',
    ):
        error = fw.parse(wire)
        assert isinstance(error, fw.ToolError)
        for format in FORMATS:
            well_formed(fw.render(error, format, carry=True), format)
            well_formed(fw.render(error, format, carry=True, guard=None), format)
