"""What is proposed, to find out whether a call took effect, only reads, and says nothing that the call did not say.

Which words write is asked of the lists in `toolname`, which have tests of their own.
"""

from __future__ import annotations

import re
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import jsonschema
from hypothesis import event, given
from hypothesis import strategies as st
from strategies import texts, values

from failwell.model import HANDS_OUT, NOUNS, WRITES, Action, nature_of_name, words_of
from failwell.readers import Checks


def find_check(tool: Any, arguments: Any, tools: Any, *, trusted: bool = True, reads: Any = ()) -> Action | None:
    """What is found by one that has seen no other call."""
    return Checks(trusted=trusted, reads=reads).find(tool, arguments, tools)


READS = "get list read show describe fetch view lookup retrieve count find search".split()
THINGS = "invoice invoices order orders".split()
OTHERS = "payment user issue report status".split()
CONNECTIVES = "and or then by for of".split()
IDENTIFIERS = "id invoice_id orderId name path key invoice".split()
IDENTIFYING = (1, 7, "in_1", "a@b.example", "a b")
FREE = "query sql command code text body message content prompt".split()


def _mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One time in eight the odd one. Beside `one_of`, the many branches of `values` would leave nothing to propose."""
    return st.integers(0, 7).flatmap(lambda number: usual if number else odd)


_actions = st.sampled_from(sorted(WRITES - NOUNS))
_word = st.one_of(st.sampled_from([*THINGS, *OTHERS]), st.sampled_from(READS), _actions, st.sampled_from(CONNECTIVES))


def _camel(words: list[str]) -> str:
    return words[0] + "".join(word.capitalize() for word in words[1:])


_joins = st.sampled_from(["_".join, "-".join, _camel, ".".join, "__".join, lambda words: "_".join(words).upper()])
_composed = st.builds(
    lambda join, first, rest: join([first, *rest]),
    _joins,
    st.one_of(st.sampled_from(READS), st.sampled_from(READS), _word),
    st.lists(_word, min_size=1, max_size=3),
)
# What is dangerous is near what is not: one word that does something, and all else is as it should be.
_near = st.builds("{}_{}_{}".format, st.sampled_from(READS), _actions, st.sampled_from(THINGS))
# Plain names, so that there is something to propose at all.
_plain = st.builds("{}_{}".format, st.sampled_from(READS), st.sampled_from(THINGS))
_names = _mostly(st.one_of(_plain, _near, _composed), texts)

_hint = st.sampled_from((None, True, True, True, False))
_annotations = st.fixed_dictionaries(
    {}, optional={"readOnlyHint": _hint, "destructiveHint": st.sampled_from((None, False, False, True))}
)
_type = st.sampled_from(
    [{}, {"type": "string"}, {"type": "integer"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}, True]
)
_property = _mostly(_type, values)
_argument = st.sampled_from([*IDENTIFIERS, *FREE])


@st.composite
def _schemas(draw: st.DrawFn) -> Any:
    properties = draw(st.dictionaries(_argument, _property, max_size=3))
    needed = st.sampled_from(sorted(properties)) if properties else _argument
    return {"type": "object", "properties": properties, "required": draw(st.lists(needed, max_size=1))}


def _as_object(tool: dict[str, Any]) -> Any:
    marks = tool["annotations"]
    hints = SimpleNamespace(read_only_hint=marks.get("readOnlyHint"), destructive_hint=marks.get("destructiveHint"))
    return SimpleNamespace(name=tool["name"], input_schema=tool["inputSchema"], annotations=hints)


_tool = st.fixed_dictionaries({"name": _names, "inputSchema": _mostly(_schemas(), values), "annotations": _annotations})
_writes = _mostly(
    st.builds("{}_{}".format, st.sampled_from(sorted(WRITES)), st.sampled_from(THINGS)),
    st.sampled_from(sorted(WRITES)) | _names,
)
_calls = st.dictionaries(
    _mostly(_argument, texts),
    _mostly(st.sampled_from([*IDENTIFYING, "DROP TABLE x"]), values),
    min_size=8,
    max_size=16,
)


@given(
    _writes,
    _calls,
    st.lists(_tool, min_size=2, max_size=8),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(), ("*",), ("get_*",)]),
)
def test_what_is_proposed_only_reads(
    write: str, arguments: Any, tools: list[dict[str, Any]], objects: bool, trusted: bool, reads: tuple[str, ...]
) -> None:
    listed = [_as_object(tool) for tool in tools] if objects else tools
    found = find_check(write, arguments, listed, trusted=trusted, reads=reads)
    assert find_check(write, arguments, listed[::-1], trusted=trusted, reads=reads) == found
    kept = Checks(trusted=trusted, reads=reads)
    kept.find(write, dict.fromkeys(arguments, 7), listed)
    assert kept.find(write, arguments, listed) == found
    event("proposed" if found else "nothing proposed")
    if found is None:
        return
    assert found.tool != write
    assert (WRITES - NOUNS).isdisjoint(words_of(found.tool))
    assert HANDS_OUT.isdisjoint(words_of(found.tool))
    (meant,) = (tool for tool in tools if tool["name"] == found.tool)
    marks = meant["annotations"]
    assert marks.get("readOnlyHint") is not False
    assert marks.get("destructiveHint") is not True
    assert (trusted and marks.get("readOnlyHint")) or reads or nature_of_name(found.tool) == "read"
    _came_from_the_call(found, meant["inputSchema"], arguments)


@given(_calls, _schemas())
def test_what_is_sent_came_from_the_call_and_is_no_free_text(arguments: Any, schema: Any) -> None:
    read = {"name": "get_invoice", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    found = find_check("pay_invoice", arguments, [read])
    event("proposed" if found else "nothing proposed")
    if found is not None:
        _came_from_the_call(found, schema, arguments)


def _came_from_the_call(found: Action, schema: Any, arguments: Any) -> None:
    sent, required = found.arguments or {}, schema.get("required", ())
    assert {*required} <= {*sent} <= {*schema.get("properties", ()), *required}
    for name, value in sent.items():
        assert any(type(value) is type(given) and value == given for given in arguments.values())
        # What the thing is called may be searched for, but no statement is passed on.
        if name in ("query", "text") and {"search", "find", "lookup"} & {*words_of(found.tool)}:
            assert all(value != arguments.get(free) or value in IDENTIFYING for free in FREE)
            continue
        assert name not in FREE
        assert isinstance(value, int) or (0 < len(value) <= 128 and not re.search(r"\s", value))
    with suppress(jsonschema.SchemaError):
        # By its own schema, where that is one.
        jsonschema.validate(sent, schema)


@given(
    st.one_of(values, _writes),
    st.one_of(values, _calls),
    st.one_of(values, st.lists(st.one_of(values, _tool), max_size=5)),
)
def test_nothing_raises(write: Any, arguments: Any, tools: Any) -> None:
    found = find_check(write, arguments, tools)
    assert found is None or isinstance(found, Action)
