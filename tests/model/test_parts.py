"""The small values an error is made of: read from anything, written as JSON, and patches applied."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_plain import ODD

import failwell as fw
from failwell.model import UNSET, Action, Conflicting, FieldError, Option, Patch, apply_patch
from failwell.model.parts import all_of, path_of

PARTS: tuple[Any, ...] = (Action, FieldError, Patch, Conflicting, Option)
WHOLE: list[Any] = [
    Action("list", "See all", {"limit": 5}),
    Action("list", arguments={}),
    Action(""),
    FieldError(("items", 0, "a.b"), "is bad", None, "a number", (1, None), "type"),
    FieldError((), "m"),
    FieldError(("a",), "m", {"deep": [1]}),
    Patch("set", ("a", 0), None),
    Patch("rename", ("limt",), to="limit"),
    Patch("remove", ("x",)),
    Conflicting("a1", "src/*", "a2", {"since": 3}),
    Conflicting(),
    Option("Retry", {"id": 1}, "Calls again", "id"),
    Option("None", None),
]
parts = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)


@parts
@pytest.mark.parametrize("name", ODD)
def test_no_value_makes_a_part_raise(part: Any, name: str) -> None:
    raised = {}
    for field in part.__dataclass_fields__:
        if field == "op":
            continue
        try:
            made = part(**{field: ODD[name]()})
            json.dumps(made.to_dict(), allow_nan=False, ensure_ascii=False).encode()
            assert repr(made)
            assert getattr(made, "name", "x")
        except Exception as problem:
            raised[field] = problem
    assert raised == {}


@parts
@pytest.mark.parametrize("name", ODD)
def test_no_value_makes_reading_a_part_raise(part: Any, name: str) -> None:
    raised = {}
    for key in ("", *part.__dataclass_fields__, "name", "loc", "msg"):
        value = {key: ODD[name]()} if key else ODD[name]()
        try:
            made = part.of(value)
            assert made is None or json.dumps(made.to_dict(), allow_nan=False, ensure_ascii=False).encode()
        except Exception as problem:
            raised[key] = problem
    assert raised == {}


@pytest.mark.parametrize("part", WHOLE, ids=repr)
def test_a_part_survives_its_own_json(part: Any) -> None:
    assert type(part).of(json.loads(json.dumps(part.to_dict()))) == part
    assert type(part).of(part) is part
    assert pickle.loads(pickle.dumps(part)) == part
    with pytest.raises(AttributeError):
        setattr(part, next(iter(part.__dataclass_fields__)), None)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("list", Action("list")),
        ({"tool": "list", "description": "All", "arguments": {"a": {1}}}, Action("list", "All", {"a": [1]})),
        ({"name": "list"}, Action("list")),
        ({"description": "Ask someone"}, Action("", "Ask someone")),
        ({"tool": "list", "arguments": "x"}, Action("list")),
        ({}, None),
        ("", None),
        (None, None),
    ],
)
def test_an_action_is_read_from_what_authors_write(value: object, wanted: object) -> None:
    assert Action.of(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("is bad", FieldError((), "is bad")),
        (("email", "is bad"), FieldError(("email",), "is bad")),
        ((["items", 0], "is bad"), FieldError(("items", 0), "is bad")),
        ({"field": "email", "message": "is bad", "value": 3}, FieldError(("email",), "is bad", 3)),
        ({"loc": ["body", 1], "msg": "is bad"}, FieldError(("body", 1), "is bad")),
        ({"path": "a.b", "message": "m", "options": "x"}, FieldError(("a.b",), "m", options=("x",))),
        ({"path": ["a"], "message": "m", "sent": None}, FieldError(("a",), "m", None)),
        ({}, FieldError()),
        (None, None),
    ],
)
def test_a_field_error_is_read_from_what_peers_write(value: object, wanted: object) -> None:
    assert FieldError.of(value) == wanted


@pytest.mark.checklist(148, 149)
def test_the_name_of_a_field_joins_its_path() -> None:
    assert FieldError(("items", 1, "qty"), "m").name == "items.1.qty"
    assert FieldError((), "m").name == "(root)"


def test_an_argument_that_was_not_sent_differs_from_a_sent_none() -> None:
    assert FieldError(("a",), "m").to_dict() == {"path": ["a"], "message": "m"}
    assert FieldError(("a",), "m", None).to_dict() == {"path": ["a"], "message": "m", "sent": None}
    assert FieldError(("a",), "m").sent is UNSET


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("a.b", ("a.b",)), (3, (3,)), (["a", 0, True, None], ("a", 0, "True", "")), ((), ()), (None, ()), ({"a": 1}, ('{"a": 1}',))],
)  # fmt: skip
def test_a_path_is_names_and_indexes(value: object, wanted: object) -> None:
    assert path_of(value) == wanted


def test_equal_options_are_equal_in_any_order_they_were_put_into_a_set() -> None:
    assert FieldError(("a",), "m", options={0, 8}) == FieldError(("a",), "m", options={8, 0})  # type: ignore[arg-type]


@pytest.mark.checklist(19)
def test_a_conflict_tells_who_holds_what() -> None:
    said = {"agent_id": "agent-2", "pattern": "src/*.go", "held_by": "agent-2"}
    assert Conflicting.of(said) == Conflicting("agent-2", "src/*.go", "agent-2")
    assert Conflicting("agent-2", "src/*.go", "agent-2").to_dict() == said
    assert [conflict and conflict.holder for conflict in map(Conflicting.of, ("a", {"agent_id": "b"}, {"held_by": {"id": 1}}))] == ["a", "b", None]  # fmt: skip
    odd = {"held_by": {"id": 1}, "since": 3}
    assert Conflicting.of(odd) == Conflicting(extra=odd)
    assert Conflicting.of(odd).to_dict() == odd  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("retry", Option("retry", "retry")),
        (3, Option("3", 3)),
        ({"value": 3}, Option("3", 3)),
        ({"label": "Retry", "value": "r", "field": "id"}, Option("Retry", "r", field="id")),
        ({"label": "Retry"}, Option("Retry", "Retry")),
        (None, None),
    ],
)
def test_an_option_is_read_from_what_authors_write(value: object, wanted: object) -> None:
    assert Option.of(value) == wanted


def test_a_patch_of_no_known_operation_is_not_kept() -> None:
    assert [Patch.of(value) for value in ({"op": "explode"}, {}, "set", None)] == [None] * 4
    error = fw.ToolError("m", patch=[Patch("explode", ("a",)), {"op": "move"}, {"op": "remove", "path": "a"}])  # type: ignore[arg-type]
    assert error.patch == (Patch("remove", ("a",)),)


def test_a_patch_whose_operation_is_no_word_at_all_is_not_kept() -> None:
    kept = {name for name in ODD if fw.ToolError("m", patch=[Patch(ODD[name](), ("a",))]).patch}
    assert kept == set()


def test_what_cannot_be_read_is_left_out() -> None:
    assert all_of(Action, ["a", None, "", {}, Action("b")]) == (Action("a"), Action("b"))
    assert all_of(Action, {"tool": "a"}) == (Action("a"),)
    assert all_of(Action, None) == ()


@pytest.mark.parametrize(
    ("patch", "wanted"),
    [
        (Patch("set", ("a",), 2), {"a": 2, "items": [{"q": 1}, 5], "limt": 3}),
        (Patch("set", ("new",), None), {"a": 1, "items": [{"q": 1}, 5], "limt": 3, "new": None}),
        (Patch("set", ("items", 0, "q"), 9), {"a": 1, "items": [{"q": 9}, 5], "limt": 3}),
        (Patch("set", ("items", 1), 6), {"a": 1, "items": [{"q": 1}, 6], "limt": 3}),
        (Patch("remove", ("items", 0)), {"a": 1, "items": [5], "limt": 3}),
        (Patch("remove", ("a",)), {"items": [{"q": 1}, 5], "limt": 3}),
        (Patch("rename", ("limt",), to="limit"), {"a": 1, "items": [{"q": 1}, 5], "limit": 3}),
        (Patch("rename", ("items", 0, "q"), to="qty"), {"a": 1, "items": [{"qty": 1}, 5], "limt": 3}),
    ],
    ids=repr,
)
def test_a_patch_makes_its_change_in_a_copy(patch: Patch, wanted: dict[str, Any]) -> None:
    sent = {"a": 1, "items": [{"q": 1}, 5], "limt": 3}
    fixed = apply_patch(sent, [patch])
    assert fixed == wanted
    assert list(fixed) == list(wanted)
    assert sent == {"a": 1, "items": [{"q": 1}, 5], "limt": 3}


@pytest.mark.parametrize(
    "patch",
    [
        Patch("set", (), 5),
        Patch("set", ("a",)),
        Patch("set", ("items", 0)),
        Patch("set", ("items", 9), 5),
        Patch("set", ("items", -1), 5),
        Patch("set", ("items", "x"), 5),
        Patch("set", ("a", "b"), 5),
        Patch("set", ("none", "b"), 5),
        Patch("remove", ("none",)),
        Patch("remove", ()),
        Patch("rename", ("none",), to="x"),
        Patch("rename", ("a",)),
        Patch("rename", ("a",), to="b"),
        Patch("rename", ("items", 0), to="x"),
        Patch("explode", ("a",)),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_a_change_that_does_not_fit_is_left_out(patch: Patch) -> None:
    assert apply_patch({"a": 1, "b": 2, "items": [1]}, [patch]) == {"a": 1, "b": 2, "items": [1]}


def test_changes_are_made_in_order() -> None:
    patch = [Patch("rename", ("x",), to="y"), Patch("set", ("y",), 2), Patch("remove", ("z",))]
    assert apply_patch({"x": 1, "z": 3}, patch) == {"y": 2}


def test_a_patched_value_is_not_shared_with_the_patch() -> None:
    patch = Patch("set", ("a",), [1])
    apply_patch({}, [patch])["a"].append(2)
    assert patch.value == [1]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
patches = st.builds(
    Patch,
    st.sampled_from(["set", "rename", "remove"]),
    st.lists(st.text(max_size=2) | st.integers(-2, 3), max_size=4),
    json_values | st.just(UNSET),
    st.none() | st.text(max_size=2),
)


@given(st.dictionaries(st.text(max_size=2), json_values), st.lists(patches, max_size=4))
def test_no_patch_breaks_the_arguments(sent: dict[str, Any], changes: list[Patch]) -> None:
    before = json.dumps(sent)
    json.dumps(apply_patch(sent, changes))
    assert json.dumps(sent) == before
