"""Reading `<tool_error>` and `<validation_error>`.

No XML parser: the reader knows the contract's dozen elements, cannot be made to expand or fetch anything, runs in
linear time, and also reads the broken XML that real servers send.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from failwell.model import (
    IN_DOUBT,
    UNSET,
    FieldError,
    Json,
    Kind,
    Path,
    ToolError,
    pattern,
    positive,
    seconds,
)
from failwell.model import text as encodable

from .wire import FIX_FIELDS, RESERVED, brief, build, read_json, restore
from .xml_writer import dump, escape, missing_field

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
_ONLY = pattern(r" ([a-z]+)=\"([^\"]*)\"")
_LEAF = pattern(
    r"<(message|recovery|available_actions|action|detail|retry_after|field)((?: [a-z]+=\"[^\"<>]*\")?)>([^<]*)</\1>"
)
_OPTION = pattern(r"'[^']*'|\"[^\"]*\"|[^\s,'\"][^,'\"]*")
_OPTIONS = pattern(r"Valid options: ((?:'[^']*'|\"[^\"]*\"|[^\s,'\".]+)(?:, (?:'[^']*'|\"[^\"]*\"|[^\s,'\".]+))*)\.")
_INDEX = pattern(r"[0-9]{1,9}")
_LIST = pattern(r"array\(\d{1,9}\)")
_DURATION = pattern(r"\s*([0-9.eE+-]{1,30})\s*(m?s|milliseconds?|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?)?\s*")
_UNITS: Final = {"ms": 0.001, "mi": 60.0, "m": 60.0, "h": 3600.0, "ho": 3600.0}


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
    for name, attribute, inner in _leaves(body):
        if name == "message":
            message = unescape(inner)
        elif name == "detail":
            details[_name(attribute, "key")] = unescape(inner)
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
    for name, attribute, inner in _leaves(body):
        if name == "field":
            problems.append(read_field(_name(attribute, "name") or "(root)", unescape(inner)))
        elif name == "message":
            # The contract has none here, and servers write one.
            message = unescape(inner).strip()
        elif name == "recovery":
            recovery = unescape(inner)
        elif name == "detail" and _name(attribute, "key") == RESERVED:
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


def _leaves(body: str) -> list[tuple[str, str, str]]:
    """The elements that hold text, wherever they stand: name, attributes, content."""
    leaves = _LEAF.findall(body)
    containers = body.count("<details>") + ("<available_actions>\n" in body)
    if body.count("<") == 2 * (len(leaves) + containers):
        return leaves
    # Not as the contract writes it, or broken: look more slowly.
    return list(_scan(body))


def _scan(body: str) -> Iterator[tuple[str, str, str]]:
    """The same for any text. An element that is never closed ends where the next one begins."""
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


def _name(attributes: str, wanted: str) -> str:
    """The one attribute an element has, or the wanted one among several."""
    only = _ONLY.fullmatch(attributes)
    if only and only[1] == wanted:
        return unescape(only[2])
    return _attributes(attributes).get(wanted, "")


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
    if match is None:
        return None
    unit = match[2] or "s"
    scale = 0.001 if unit.startswith(("ms", "mil")) else _UNITS.get(unit[:2], _UNITS.get(unit, 1.0))
    number = positive(match[1])
    return None if number is None else seconds(number * scale)
