"""`xml`: contract 002, `<tool_error>` and `<validation_error>`.

No XML parser: the reader knows the contract's dozen elements, cannot be made to expand or fetch anything, runs in
linear time, and also reads the broken XML that real servers send.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from failwell.model import (
    IN_DOUBT,
    UNSET,
    Action,
    FieldError,
    Json,
    Kind,
    Path,
    ToolError,
    compact,
    pattern,
    positive,
    seconds,
    shown,
)
from failwell.model import text as encodable

from .crosswalk import default_code
from .doubt import recovery as recovery_of
from .wire import FIX_FIELDS, RESERVED, Format, brief, build, read_json, restore

ROUTING: Final = frozenset({"MISSING_DISCRIMINATOR", "INVALID_DISCRIMINATOR", "UNKNOWN_ACTION"})
"""Codes of a grouped tool that could not find out what was wanted; the contract writes them in a form of their own."""

_MISSING: Final = "MISSING_REQUIRED_FIELD"
_STRUCTURAL: Final = ROUTING | {_MISSING}
_REQUIRED = pattern(r'Required field "(.*)" is missing\.', re.DOTALL)

_ILLEGAL = pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", "\r": "&#13;"})
_ATTRIBUTE_ESCAPES: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
)


def escape(value: str) -> str:
    """Element text: `&` and `<`, and what would otherwise not come back or not be XML at all."""
    return _ILLEGAL.sub("\ufffd", value).translate(_TEXT_ESCAPES).replace("]]>", "]]&gt;")


def escape_attribute(value: str) -> str:
    """Attribute text: all five special characters, and white space that a reader would fold."""
    return _ILLEGAL.sub("\ufffd", value).translate(_ATTRIBUTE_ESCAPES)


def dump(error: ToolError, *, layout: str = "indent", carried: dict[str, Json] | None = None) -> str:
    if layout not in ("indent", "flush"):
        raise ValueError(f"There is no layout {layout!r}; use 'indent' or 'flush'.")
    rows = (_validation_rows if is_validation(error) else _tool_error_rows)(error, carried)
    if layout == "flush":
        # The form of the system behind the contract: only what is two levels down is indented.
        rows = [(max(depth - 1, 0), row) for depth, row in rows]
    return "\n".join("  " * depth + row for depth, row in rows)


def is_validation(error: ToolError) -> bool:
    """Whether the contract writes the error as `<validation_error>`."""
    return bool(error.fields) and error.kind is Kind.VALIDATION and error.code not in _STRUCTURAL


def missing_field(code: str | None, message: str) -> str | None:
    """The argument that the contract's sentence for a missing one names."""
    told = _REQUIRED.fullmatch(message) if code == _MISSING else None
    return told and told[1]


def _validation_rows(error: ToolError, carried: dict[str, Json] | None) -> list[tuple[int, str]]:
    # The contract's tools are `users.create` to whoever calls them, and `users/create` here.
    where = f"{error.tool or ''}/{error.action}" if error.action else (error.tool or "").replace(".", "/")
    where = where.removeprefix("/")
    rows = [(0, f'<validation_error action="{escape_attribute(where)}">' if where else "<validation_error>")]
    rows += [
        (1, f'<field name="{escape_attribute(problem.name)}">{escape(field_text(problem))}</field>')
        for problem in error.fields
    ]
    told = recovery_of(error) if error.effect in IN_DOUBT else _mending(error.suggestion)
    rows.append((1, f"<recovery>{escape(told)}</recovery>"))
    rows += _detail_rows([], carried)
    rows.append((0, "</validation_error>"))
    return rows


def _mending(suggestion: str | None) -> str:
    """What the contract says to do about wrong arguments, unless their author says something else; a question alone is
    nothing to do."""
    if suggestion is None:
        return FIX_FIELDS
    return f"{suggestion} {FIX_FIELDS}" if suggestion.endswith("?") else suggestion


def _tool_error_rows(error: ToolError, carried: dict[str, Json] | None) -> list[tuple[int, str]]:
    routing = error.code in ROUTING
    attributes = ""
    code = error.code
    if code is None and error.given("severity") and error.kind is not Kind.INTERNAL:
        # The kind has no place of its own, and an agent acts on it.
        code = default_code(error)
    if code is not None:
        attributes = f' code="{escape_attribute(code)}"'
    if error.given("severity") and not routing:
        attributes += f' severity="{error.severity.value}"'
    rows = [(0, f"<tool_error{attributes}>"), (1, f"<message>{escape(error.message)}</message>")]
    # Without a word about it, a model makes a call again that may have been done.
    told = recovery_of(error) if error.is_error else error.suggestion or ""
    if error.next_steps:
        # The contract has one place for what to do.
        told = " ".join(step if step[-1] in ".!?" else f"{step}." for step in (told, *error.next_steps) if step)
    recovery = [(1, f"<recovery>{escape(told)}</recovery>")] if told else []
    if routing:
        if error.actions:
            names = ", ".join(_choice(action) for action in error.actions)
            rows.append((1, f"<available_actions>{escape(names)}</available_actions>"))
        rows += recovery
    else:
        rows += recovery
        if error.actions:
            rows.append((1, "<available_actions>"))
            rows += [(2, f"<action>{escape(action.tool)}</action>") for action in error.actions]
            rows.append((1, "</available_actions>"))
    details = {name: value for name, value in error.details.items() if name != RESERVED}
    if error.effect in IN_DOUBT and error.is_error:
        # The contract has no flag for programs that read nothing else.
        details["effect"] = error.effect.value
    rows += _detail_rows(
        [(name, value if isinstance(value, str) else compact(value)) for name, value in details.items()], carried
    )
    if error.retry_after is not None:
        rows.append((1, f"<retry_after>{error.retry_after} seconds</retry_after>"))
    rows.append((0, "</tool_error>"))
    return rows


def _detail_rows(details: list[tuple[str, str]], carried: dict[str, Json] | None) -> list[tuple[int, str]]:
    if carried is not None:
        # In ASCII, since XML cannot hold every character there is.
        details = [*details, (RESERVED, json.dumps(carried, separators=(",", ":")))]
    if not details:
        return []
    rows = [f'<detail key="{escape_attribute(name)}">{escape(value)}</detail>' for name, value in details]
    return [(1, "<details>"), *((2, row) for row in rows), (1, "</details>")]


def _choice(action: Action) -> str:
    """What to put into the discriminator: the action's argument, or its bare name."""
    if action.arguments and len(action.arguments) == 1:
        (value,) = action.arguments.values()
        if isinstance(value, str):
            return value
    return action.tool


def field_text(problem: FieldError) -> str:
    """The contract's sentence about one argument: what is wrong, what was sent, what is expected."""
    parts = []
    if problem.sent is not UNSET:
        parts.append(f"You sent: {shown(problem.sent)}.")
    elif problem.rule in ("required", "missing"):
        parts.append("You sent: (missing).")
    if problem.options:
        parts.append(f"Valid options: {', '.join(shown(option, cut=False) for option in problem.options)}.")
    if problem.expected:
        parts.append(problem.expected if problem.expected.endswith(".") else f"Expected: {problem.expected}.")
    message = problem.message
    if parts and message and message[-1] not in ".!?":
        message += "."
    return " ".join([message, *parts] if message else parts)


_EFFECTS: Final = frozenset(effect.value for effect in IN_DOUBT)

_OPEN = pattern(
    r"<(message|recovery|available_actions|action|details|detail|retry_after|field)"
    r"((?:\s(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)?)>"
)
_ROOT = pattern(r"<(tool_error|validation_error)((?:\s(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)?)/?>")
_BLOCK = pattern(r"<([A-Za-z_][\w.-]{0,60})(?:\s[^<>]*)?>")
_ATTRIBUTE = pattern(r"(?<![\w.-])([A-Za-z_][\w.-]{0,60})\s{0,8}=\s{0,8}(?:\"([^\"]*)\"|'([^']*)')")
_REFERENCE = pattern(r"&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|(amp|lt|gt|quot|apos));")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_OPTION = pattern(r"'[^']*'|\"[^\"]*\"|[^\s,'\"][^,'\"]*")
_OPTIONS = pattern(r"Valid options: ((?:'[^']*'|\"[^\"]*\"|[^\s,'\".]+)(?:, (?:'[^']*'|\"[^\"]*\"|[^\s,'\".]+))*)\.")
_INDEX = pattern(r"[0-9]{1,9}")
_LIST = pattern(r"array\(\d{1,9}\)")
_DURATION = pattern(r"\s*([0-9.eE+-]{1,30})\s*(?:s|sec(?:ond)?s?)?\s*")


def load(text: str) -> ToolError | None:
    # First of all, since the attributes of the root are read from here, too.
    text = encodable(text)
    start = _find_root(text)
    if start is None:
        return None
    root = start[1]
    end = text.find(f"</{root}>", start.end())
    body = _plain_sections(text[start.end() : end if end >= 0 else len(text)])
    attributes = _attributes(start[2])
    notes = [] if end >= 0 or start[0].endswith("/>") else [f"The element {root} was never closed."]
    if root == "validation_error":
        return _load_validation(attributes, body, notes)
    return _load_tool_error(attributes, body, notes)


def _find_root(text: str) -> re.Match[str] | None:
    """The contract's root element, behind any blocks the framework puts before it."""
    position = 0
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if match := _ROOT.match(text, position):
            return match
        for opening, closing in (("<?", "?>"), ("<!--", "-->"), ("<!DOCTYPE", ">")):
            if text.startswith(opening, position):
                end = text.find(closing, position)
                break
        else:
            block = _BLOCK.match(text, position)
            if block is None:
                return None
            closing = ">" if block[0].endswith("/>") else f"</{block[1]}>"
            end = text.find(closing, position)
        if end < 0:
            return None
        position = end + len(closing)


def _load_tool_error(attributes: dict[str, str], body: str, notes: list[str]) -> ToolError | None:
    message = ""
    recovery: str | None = None
    actions: list[dict[str, Json]] = []
    details: dict[str, str] = {}
    delay: float | None = None
    choices: list[str] = []
    for name, attribute, inner in _scan(body):
        if name == "message":
            message = unescape(inner)
        elif name == "detail":
            details[_attributes(attribute).get("key", "")] = unescape(inner)
        elif name == "action":
            if inner:
                actions.append({"tool": unescape(inner)})
        elif name == "recovery":
            recovery = unescape(inner)
        elif name == "available_actions":
            choices += [choice for part in unescape(inner).split(",") if (choice := part.strip())]
        elif name == "retry_after":
            delay = _duration(inner)
            if delay is None:
                notes.append(f"retry_after {brief(inner)} is no delay.")
    if choices:
        # The text does not say which tool it came from; the reader of the call knows.
        field = _discriminator(message)
        actions += [{"tool": "", "arguments": {field: choice}} for choice in choices]
    carried = details.pop(RESERVED, None)
    code = attributes.get("code") or None
    missing = missing_field(code, message)
    error = build(
        "xml",
        message,
        {
            "code": code,
            "severity": attributes.get("severity"),
            "suggestion": recovery,
            "effect": details.pop("effect", None) if details.get("effect") in _EFFECTS else None,
            "actions": actions,
            "fields": None if missing is None else (FieldError((missing,), "Required", rule="required"),),
            "details": details,
            "retry_after": delay,
        },
        notes=notes,
    )
    return error if carried is None else restore(error, read_json(carried), _again)


def _asked(recovery: str | None) -> str | None:
    """What is said about wrong arguments besides the contract's own sentence."""
    if recovery == FIX_FIELDS:
        return None
    return recovery.removesuffix(f" {FIX_FIELDS}") if recovery and recovery.endswith(f"? {FIX_FIELDS}") else recovery


def _load_validation(attributes: dict[str, str], body: str, notes: list[str]) -> ToolError:
    tool, _, action = attributes.get("action", "").partition("/")
    problems = []
    message = ""
    recovery: str | None = None
    carried: str | None = None
    for name, attribute, inner in _scan(body):
        if name == "field":
            problems.append(read_field(_attributes(attribute).get("name") or "(root)", unescape(inner)))
        elif name == "message":
            # The contract has none here, and servers write one.
            message = unescape(inner).strip()
        elif name == "recovery":
            recovery = unescape(inner)
        elif name == "detail" and _attributes(attribute).get("key") == RESERVED:
            carried = unescape(inner)
    named = ", ".join(dict.fromkeys(problem.name for problem in problems if problem.path))
    error = build(
        "xml",
        message or (f"The arguments are invalid: {named}." if named else "The arguments are invalid."),
        {
            "code": "VALIDATION_ERROR",
            "fields": problems,
            "suggestion": _asked(recovery),
            "tool": tool,
            "action": action,
        },
        kind=Kind.VALIDATION,
        notes=notes,
    )
    return error if carried is None else restore(error, read_json(carried), _again)


def _again(error: ToolError) -> ToolError | None:
    return load(dump(error))


def path_from(name: str) -> Path:
    """The path behind a dotted name."""
    if name.isidentifier():
        return (name,)
    if name == "(root)":
        return ()
    return tuple(int(part) if _INDEX.fullmatch(part) else part for part in name.split("."))


def read_field(name: str, sentence: str) -> FieldError:
    """The argument a sentence of `field_text` speaks of, as far as it can be told from the sentence."""
    path = path_from(name)
    message, said, rest = sentence.partition("You sent: ")
    sent: Json = UNSET
    rule: str | None = None
    if said:
        sent, rule, rest = _read_sent(rest)
    elif " Valid options: " in sentence:
        message, _, rest = sentence.partition("Valid options: ")
        rest = f"Valid options: {rest}"
    else:
        return FieldError(path, sentence)
    message = message.rstrip()
    if not path:
        # The arguments as a whole are never missing; some servers say so of every problem that is not one field's.
        rule = None
    options: tuple[Json, ...] = ()
    if rest.startswith("Valid options: "):
        listed = _OPTIONS.match(rest)
        if listed is None:
            return FieldError(path, sentence)
        options = tuple(_read_value(option) for option in _OPTION.findall(listed[1]))
        rest = rest[listed.end() :].strip()
    expected: str | None = rest or None
    if rest.startswith("Expected: "):
        expected = rest.removeprefix("Expected: ").removesuffix(".")
    return FieldError(path, message.removesuffix("."), sent, expected, options, rule)


def _read_sent(rest: str) -> tuple[Json, str | None, str]:
    """The value, whether it was missing, and what follows it."""
    if rest[:1] in ("'", '"'):
        end = rest.find(rest[0] + ".", 1)
        if end > 0:
            return rest[1:end], None, rest[end + 2 :].strip()
    shown_value, dot, after = rest.partition(". ")
    if not dot:
        shown_value, after = rest.removesuffix("."), ""
    if shown_value == "(missing)":
        return UNSET, "required", after.strip()
    if _LIST.fullmatch(shown_value):
        return UNSET, None, after.strip()
    return _read_value(shown_value), None, after.strip()


def _read_value(shown_value: str) -> Json:
    if len(shown_value) >= 2 and shown_value[0] == shown_value[-1] and shown_value[0] in "'\"":
        return shown_value[1:-1]
    found = read_json(shown_value)
    return shown_value if found is None and shown_value != "null" else found


def _scan(body: str) -> Iterator[tuple[str, str, str]]:
    """The elements that hold text, wherever they stand: name, attributes, content. One that is never closed ends where
    the next one begins."""
    position = 0
    unclosed: set[str] = set()
    while match := _OPEN.search(body, position):
        name, attributes, start = match[1], match[2], match.end()
        position = start
        if attributes.endswith("/"):
            yield name, attributes, ""
            continue
        end = -1 if name in unclosed else body.find(f"</{name}>", start)
        if end >= 0:
            position = end + len(name) + 3
        else:
            unclosed.add(name)
            following = _OPEN.search(body, start)
            position = end = following.start() if following else len(body)
        inner = body[start:end]
        if name in ("details", "available_actions") and _OPEN.search(inner):
            yield from _scan(inner)
        else:
            yield name, attributes, inner


def _plain_sections(body: str) -> str:
    """`body` without comments, and with CDATA sections as ordinary text."""
    for opening, closing, change in (("<!--", "-->", None), ("<![CDATA[", "]]>", escape)):
        if opening not in body:
            continue
        pieces = []
        position = 0
        while (start := body.find(opening, position)) >= 0:
            end = body.find(closing, start + len(opening))
            if end < 0:
                break
            pieces.append(body[position:start])
            if change:
                pieces.append(change(body[start + len(opening) : end]))
            position = end + len(closing)
        body = "".join([*pieces, body[position:]])
    return body


def unescape(value: str) -> str:
    """Text with its character references resolved; unknown ones stay as they are."""
    return _REFERENCE.sub(_character, value) if "&" in value else value


def _character(match: re.Match[str]) -> str:
    hexadecimal, decimal, name = match.groups()
    if name:
        return _NAMED[name]
    number = int(hexadecimal, 16) if hexadecimal else int(decimal)
    return chr(number) if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else "\ufffd"


def _attributes(source: str) -> dict[str, str]:
    return {match[1]: unescape(match[2] if match[2] is not None else match[3]) for match in _ATTRIBUTE.finditer(source)}


def _discriminator(message: str) -> str:
    quoted = re.search(r'field "([^"]{1,100})"', message)
    return quoted[1] if quoted else "action"


def _duration(source: str) -> float | int | None:
    match = _DURATION.fullmatch(unescape(source))
    return None if match is None else seconds(positive(match[1]))


def _stow(error: ToolError, carried: dict[str, Json], **options: str) -> str:
    return dump(error, carried=carried, **options)


FORMAT: Final = Format(
    "xml",
    "002, self-healing XML",
    dump,
    load,
    str,
    options=("layout",),
    stow=_stow,
    start="<",
    severity_of_result=True,
    gated=False,
    remarks=True,
    closed=True,
    schema="xml.rng",
)
