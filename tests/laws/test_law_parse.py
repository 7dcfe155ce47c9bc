"""`parse` takes anything: it never raises, it answers in linear time, and what it read can be sent on."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import (
    BIG,
    ERAS,
    FORMATS,
    HOSTILE_KEYS,
    MONSTERS,
    NASTY,
    UNPRINTABLE,
    WIRE_TEXTS,
    Dumb,
    codes,
    json_values,
    nested,
    outcomes,
    texts,
    values,
)

import failwell as fw
from failwell.formats import META_KEY
from growth import ending, outgrown, steps


def read(source: object) -> None:
    """Read it in every way, and send on what was read."""
    for format in (None, *FORMATS):
        found = fw.parse(source, format)
        assert found is None or isinstance(found, (fw.ToolError, fw.NeedsInput))
        if format is None and found is not None:
            send_on(found)


def send_on(outcome: fw.ToolError | fw.NeedsInput) -> None:
    for format in FORMATS:
        fw.render(outcome, format).encode()
        fw.render(outcome, format, carry=True, guard=None).encode()
    json.dumps(fw.to_result(outcome, "v1", gate="both"), allow_nan=False)
    json.dumps(fw.to_jsonrpc(outcome, era=ERAS[1]), allow_nan=False)
    json.dumps(outcome.to_dict(), allow_nan=False)
    str(outcome), repr(outcome)
    fw.decide(outcome)


MARKUP = (
    *NASTY,
    *WIRE_TEXTS,
    "<tool_error>",
    "<tool_error ",
    '<tool_error code="X" severity="critical">',
    "</tool_error>",
    "<validation_error>",
    '<validation_error action="a/b">',
    "</validation_error>",
    "<message>",
    "</message>",
    "<recovery>",
    "<available_actions>",
    "</available_actions>",
    "<action>",
    "<details>",
    "</details>",
    '<detail key="failwell">{"code":1}</detail>',
    '<detail key="failwell">',
    "<retry_after>",
    "5 minutes",
    "1e999 s",
    "--1 ms",
    "</retry_after>",
    '<field name="',
    '<field name="a.0.b">',
    '<field name="' + "9" * 5000 + '">',
    "</field>",
    "You sent: ",
    "You sent: " + "9" * 5000 + ".",
    "You sent: (missing). ",
    "Valid options: ",
    "Expected: ",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<!DOCTYPE a [<!ENTITY b 'c'>]>",
    "&b;",
    "&#1114112;",
    "&#x110000;",
    "<cache_invalidation/>",
    "/>",
    '"',
    "'",
    ">",
    "<",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"failwell":1',
    '"kind":',
    "1e999",
    "9" * 5000,
    "Infinity",
)
markup = st.lists(st.one_of(st.sampled_from(MARKUP), texts), max_size=8).map("".join)
inside = st.one_of(
    markup.map("<tool_error>{}</tool_error>".format),
    markup.map("<tool_error {}".format),
    markup.map("<validation_error>{}</validation_error>".format),
    markup.map('<validation_error><field name="a">{}</field></validation_error>'.format),
    markup.map('<validation_error><field name="{}">b</field></validation_error>'.format),
    markup.map("<tool_error><retry_after>{}</retry_after></tool_error>".format),
    markup.map('<tool_error><details><detail key="failwell">{}</detail></details></tool_error>'.format),
    markup.map('{{"type":"NOT_FOUND","message":{}}}'.format),
)


@given(st.one_of(texts, markup, inside))
def test_any_text(source: str) -> None:
    read(source)


@given(
    st.one_of(
        st.binary(),
        markup.map(lambda source: source.encode("utf-16", "surrogatepass")),
        st.sampled_from((b"\xef\xbb\xbf<tool_error/>", b"\xff\xfe{\x00}\x00", b"\x00" * 10)),
    )
)
def test_any_bytes(source: bytes) -> None:
    for kind in (bytes, bytearray, memoryview):
        read(kind(source))


KEYS = tuple(
    dict.fromkeys(
        [
            *("failwell", "outcome", "kind", "code", "message", "title", "severity", "retryable", "recoverable"),
            *("strategy", "retry_after", "reset_at", "suggestion", "next_steps", "actions", "fields", "patch"),
            *("conflicts", "effect", "verify", "details", "http_status", "policy_decision", "tool", "action", "tier"),
            *("correlation_id", "meta", "origin", "format", "confidence", "legacy", "notes", "type", "data", "success"),
            *("error", "jsonrpc", "id", "result", "content", "isError", "is_error", "structuredContent", "_meta"),
            *("structured_content", "needsInput", "reason", "suggestions", "options", "rate_limit_reset"),
            *("retry_after_ms", "text", "path", "field", "sent", "op", "to", "value", META_KEY, *HOSTILE_KEYS),
        ]
    )
)
WORDS = (
    1,
    True,
    False,
    "toolError:v1",
    "needsInput:v1",
    "needs_input",
    "NOT_FOUND",
    "TRANSIENT",
    "conflict",
    "2.0",
    "set",
    "rename",
    -32603,
    -31003,
    BIG,
    "9" * 5000,
    float("nan"),
    float("inf"),
    1e308,
    [],
    {},
    [[]],
    [{}],
    {"a": {}},
    None,
    "",
    "--5",
    0,
    -1,
    0.5,
    nested(200),
)
_wire_leaf = st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS), texts, codes, json_values)
wire_maps = st.recursive(
    st.dictionaries(st.sampled_from(KEYS), _wire_leaf, max_size=6),
    lambda inner: st.dictionaries(
        st.sampled_from(KEYS), st.one_of(_wire_leaf, inner, inner, st.lists(inner, max_size=2)), max_size=6
    ),
    max_leaves=4,
)
HOLDERS = ("error", "data", "details", "meta", "needsInput")
HEADS: tuple[dict[str, Any], ...] = (
    {"failwell": 1, "message": "m"},
    {"failwell": 1, "message": "m", "kind": "validation", "code": "X"},
    {"failwell": 1, "outcome": "needs_input", "message": "m"},
    {"kind": "toolError:v1", "message": "m", "details": {}},
    {"kind": "needsInput:v1", "message": "m", "needsInput": {}},
    {"success": False, "error": {"code": "a", "message": "m"}, "meta": {}},
    {"success": False, "error": None},
    {"type": "NOT_FOUND", "message": "m", "recoverable": True},
    {"type": "NOT_FOUND", "message": "m", "data": {}},
    {"code": -32000, "message": "m", "data": {"mcp_error_code": "X", "details": "d"}},
    {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "m"}},
    {"content": [], "isError": True},
    {},
)


@st.composite
def wire_objects(draw: st.DrawFn, leaf: st.SearchStrategy[Any] = _wire_leaf) -> dict[str, Any]:
    """An object that is nearly one of ours: some keys have another value, some are gone."""
    found = dict(draw(st.sampled_from(HEADS)))
    found |= draw(wire_maps)
    for holder in HOLDERS:
        if draw(st.integers(0, 3)) == 3:
            inner = found.get(holder)
            found[holder] = {**(inner if isinstance(inner, dict) else {}), **draw(wire_maps)}
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=2)):
        found[key] = draw(leaf)
    return found


@given(wire_objects())
def test_any_object(source: dict[str, Any]) -> None:
    read(source)


@given(wire_objects())
def test_any_object_as_text(source: dict[str, Any]) -> None:
    try:
        text = json.dumps(source)
    except ValueError:
        return
    read(text)
    fw.parse(f"Error executing tool x: {text}")


@given(wire_objects(leaf=values))
def test_any_object_of_python_values(source: dict[Any, Any]) -> None:
    read(source)


@pytest.mark.parametrize("key", KEYS)
def test_each_key_with_each_word(key: str) -> None:
    broken = []
    for head in HEADS:
        for word in (*WORDS, 10**5000, Dumb(), {1}, b"x"):
            for place in (None, *(name for name in HOLDERS if name in head)):
                source: dict[str, Any] = dict(head)
                if place is None:
                    source[key] = word
                else:
                    inner = source.get(place)
                    source[place] = {**(inner if isinstance(inner, dict) else {}), key: word}
                try:
                    found = fw.parse(source)
                    if found is not None:
                        for format in ("canonical", "jsonrpc", "xml"):
                            fw.render(found, format, guard=None).encode()
                except Exception as problem:
                    broken.append(f"{head!s:.60} {place} {key}={type(word).__name__}: {problem!r:.80}")
    assert not broken, f"{len(broken)}, such as {broken[:3]}"


blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.one_of(texts, markup, st.sampled_from(WIRE_TEXTS))}),
    wire_maps,
    _wire_leaf,
    wire_objects().map(lambda found: {"type": "text", "text": _try_json(found)}),
    st.builds(SimpleNamespace, text=st.one_of(texts, st.none())),
)


def _try_json(value: object) -> str:
    try:
        return json.dumps(value)
    except ValueError:
        return "{"


@given(
    st.lists(blocks, max_size=3),
    st.fixed_dictionaries(
        {},
        optional={
            "isError": st.one_of(st.booleans(), _wire_leaf),
            "is_error": st.booleans(),
            "structuredContent": st.one_of(wire_objects(), _wire_leaf),
            "structured_content": wire_objects(),
            "_meta": st.one_of(st.fixed_dictionaries({META_KEY: wire_objects()}), wire_maps, _wire_leaf),
            "meta": wire_maps,
            "resultType": _wire_leaf,
        },
    ),
)
def test_any_result(content: list[Any], rest: dict[str, Any]) -> None:
    result = {"content": content, **rest}
    read(result)
    fw.parse({"jsonrpc": "2.0", "id": 1, "result": result})
    fw.parse(content)


@given(values)
def test_any_python_value(source: object) -> None:
    read(source)


class Raising:
    """Whatever is asked of it, it breaks."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class Dumping:
    def __init__(self, found: object) -> None:
        self.found = found

    def model_dump(self, **options: Any) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Holding(Exception):
    def __init__(self, error: object) -> None:
        self.error = error


@given(wire_objects())
@example({"failwell": 1, "outcome": "needs_input", "message": "m", "fields": "9" * 5000})
def test_any_object_of_an_sdk(source: dict[str, Any]) -> None:
    read(Dumping(source))
    fw.parse(Holding(Dumping(source)))
    fw.parse(Holding(source))
    fw.parse(SimpleNamespace(**{str(key): value for key, value in source.items()}))
    read(SimpleNamespace(content=[SimpleNamespace(text=source), source, None, 1], is_error=True, meta=source))


def test_objects_that_break() -> None:
    broken = []
    for source in (Raising(), Dumping(RuntimeError()), Holding(Raising()), RuntimeError("x"), *MONSTERS, *UNPRINTABLE):
        try:
            read(source)
        except Exception as problem:
            broken.append(f"{type(source).__name__}: {problem!r:.100}")
    assert not broken


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A real wire text with slices deleted, doubled, moved, flipped, or replaced by something else."""
    options: dict[str, Any] = {"carry": draw(st.booleans())}
    wire = fw.render(draw(outcomes), draw(st.sampled_from([name for name in FORMATS if name != "text"])), **options)[
        :4000
    ]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(wire)))
        end = min(len(wire), start + draw(st.integers(0, 40)))
        piece = wire[start:end]
        how = draw(st.sampled_from(("delete", "double", "insert", "flip", "cut", "swap", "word")))
        if how == "delete":
            wire = wire[:start] + wire[end:]
        elif how == "double":
            wire = wire[:end] + piece + wire[end:]
        elif how == "insert":
            wire = wire[:start] + draw(st.sampled_from(MARKUP)) + wire[start:]
        elif how == "flip":
            wire = wire[:start] + "".join(chr(ord(letter) ^ 1) for letter in piece) + wire[end:]
        elif how == "cut":
            wire = wire[:end]
        elif how == "swap":
            wire = wire[end:] + piece + wire[:start]
        else:
            old, new = (
                draw(st.sampled_from(('"m', "true", "false", "null", '":"', "{", "[", "error", "1"))),
                draw(st.sampled_from(("null", "[]", "{}", "1", '"x"', "true", "<", "-1e400"))),
            )
            wire = wire.replace(old, new, 1)
    return wire


@given(damaged())
def test_damaged_texts(source: str) -> None:
    read(source)


@st.composite
def damaged_objects(draw: st.DrawFn) -> Any:
    """A real wire object in which some values were replaced by others."""
    outcome = draw(outcomes)
    found = json.loads(
        fw.render(outcome, draw(st.sampled_from(("typed", "v1", "envelope", "jsonrpc", "canonical"))), carry=True)
    )
    found = draw(st.sampled_from((found, fw.to_result(outcome, "v1", gate="both"), fw.to_jsonrpc(outcome, carry=True))))
    found = json.loads(json.dumps(found))
    for _ in range(draw(st.integers(1, 3))):
        holder = found
        while holder:
            key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
            if isinstance(holder[key], (dict, list)) and holder[key] and draw(st.booleans()):
                holder = holder[key]
                continue
            holder[key] = draw(_wire_leaf)
            break
    return found


@given(damaged_objects())
def test_damaged_objects(source: Any) -> None:
    read(source)


N = 200_000
PIECES = (
    "<message>",
    "</message>",
    "<message></message>",
    "<message",
    "<message ",
    "<message a=",
    '<message a="',
    "<message '",
    "<details>",
    "<detail>",
    "<detail key='",
    "<details><detail>",
    "<field>",
    '<field name="a">',
    "<action>",
    "<available_actions>",
    "<a>",
    "<a></a>",
    "<a ",
    "<a/>",
    "<!--",
    "<!---->",
    "-->",
    "<![CDATA[",
    "<![CDATA[]]>",
    "]]>",
    "<?",
    "<??>",
    "<!DOCTYPE",
    "<!DOCTYPE>",
    "&amp;",
    "&",
    "&#",
    "&#x1",
    '{"a":',
    "[",
    '"',
    "'",
    "\\",
    "a",
    "a ",
    "a.",
    "a=",
    "a='",
    'a="b" ',
    " ",
    "\n",
    "9",
    ",",
    "You sent: '",
    "You sent: ",
    "Valid options: ",
    "Expected: ",
    'field "',
    "Error executing tool x: ",
    "Error executing tool ",
    "<tool_error>",
    "<tool_error ",
    "<tool_error></tool_error>",
    "<validation_error>",
    "\ufeff",
    "\ud800",
)
FRAMES = (
    "{}",
    "<{}",
    "<tool_error>{}",
    "<tool_error>{}</tool_error>",
    "<tool_error {}>",
    "<tool_error {}",
    "<tool_error><message {}>x</message></tool_error>",
    "<tool_error><message>{}</message></tool_error>",
    "<tool_error><retry_after>{}</retry_after></tool_error>",
    "<tool_error><available_actions>{}</available_actions></tool_error>",
    "<tool_error><details>{}</details></tool_error>",
    "<validation_error>{}</validation_error>",
    '<validation_error><field name="a">{}</field></validation_error>',
    '<validation_error><field name="a">You sent: {}</field></validation_error>',
    "<validation_error><field name='{}'>a</field></validation_error>",
    "Error executing tool {}",
    '{{"type":"NOT_FOUND","message":{}',
)


@pytest.mark.parametrize("frame", FRAMES)
def test_work_grows_with_the_text(frame: str) -> None:
    def both(text: str) -> None:
        fw.parse(text)
        fw.parse({"content": [{"type": "text", "text": text}], "isError": True})

    def framed(piece: str) -> Callable[[int], str]:
        return lambda length: frame.replace("{{", "{").replace("{}", piece * (length // len(piece) + 1))

    grows = [outgrown(both, framed(piece), 500) for piece in PIECES]
    assert [each for each in grows if each is not None] == []
    with ending():
        for piece in PIECES:
            fw.parse(framed(piece)(N))


@pytest.mark.parametrize("piece", ["<message>", "&amp;", '{"a":', "<![CDATA[", "You sent: '", "<details>", "a"])
def test_linear_work_by_the_piece(piece: str) -> None:
    with ending():
        fw.parse(piece * N)
        fw.parse(f"<tool_error>{piece * N}</tool_error>")
        fw.parse(f'<validation_error><field name="a">{piece * N}</field></validation_error>')
        fw.parse({"content": [{"type": "text", "text": piece * N}], "isError": True})


def test_linear_work_in_blocks() -> None:
    def work(many: int) -> None:
        found = fw.parse({"content": [{"type": "text", "text": WIRE_TEXTS[0]}] * many, "isError": True})
        assert isinstance(found, fw.ToolError)

    work(1)
    assert steps(lambda: work(4_000)) <= 5 * steps(lambda: work(1_000))


@pytest.mark.parametrize("depth", [10, 100, 400, 900, 1_500, 3_000, 10_000, 100_000])
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        '{"type":"NOT_FOUND","recoverable":false,"message":{}}',
        '{"type":"NOT_FOUND","recoverable":false,"message":"m","data":{}}',
        '{"kind":"toolError:v1","message":"m","code":{},"details":{}}',
        '{"failwell":1,"message":{},"kind":{},"details":{"a":{}},"fields":{},"actions":[{"arguments":{}}]}',
        '{"failwell":1,"message":"m","code":{}}',
        '{"success":false,"error":{}}',
        '{"success":false,"error":{"code":"a","message":"m","rate_limit_reset":{}}}',
        '{"code":1,"message":"m","data":{}}',
        '{"code":1,"message":"m","data":{"mcp_error_code":{}}}',
        '<tool_error><details><detail key="failwell">{}</detail></details></tool_error>',
        '<tool_error><details><detail key="failwell">{"details":{"a":{}}}</detail></details></tool_error>',
        '<validation_error><field name="a">You sent: {}.</field></validation_error>',
    ],
)
def test_deep_json(frame: str, depth: int) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        read(frame.replace("{}", opening * depth + "1" + closing * depth))


@pytest.mark.parametrize("many", [1, 3, 60])
def test_long_numbers(many: int) -> None:
    digits = "9" * (many * 100)
    for key in KEYS:
        for head in ('"failwell":1,"message":"m"', '"type":"NOT_FOUND","message":"m"', '"kind":"toolError:v1"'):
            read(f"{{{head},{json.dumps(key)}:{digits}}}")
            read(f"{{{head},{json.dumps(key)}:[{digits}.{digits}e{digits[:5]}]}}")
    read(f'{{"code":{digits},"message":"m"}}')
    read(f"<tool_error><retry_after>{digits}</retry_after></tool_error>")
    read(f'<validation_error><field name="{digits}">You sent: {digits}.</field></validation_error>')
