"""Places that take more than a pattern to read: markup, rows of SQL, the end of a key, a drawing under code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from failwell.model import pattern

from .assignments import PLACEHOLDER, PROSE
from .looks import plausible
from .neighbours import masked
from .values import Span

IsSecret = Callable[[str], bool]
Reader = Callable[[str, IsSecret, str], str]

_TAG: Final = pattern(r"<(?P<name>[A-Za-z][\w.:-]{0,60})(?P<rest>(?:\s[^<>]{0,4000})?)>(?P<text>[^<>]{1,4000}(?=</))?")
_ATTRIBUTE: Final = pattern(r"(?<![\w.:-])([\w.:-]{1,40})(\s{0,3}=\s{0,3}(\\?[\"']))([^\"'<>]{0,2000}?)(?=\3)")
_TITLES: Final = frozenset("name id key property field for".split())
_VALUES: Final = frozenset("value content default".split())
_CDATA: Final = pattern(
    r"(<(?P<name>[A-Za-z][\w.:-]{0,60})(?:\s[^<>]{0,400})?>\s{0,20}<!\[CDATA\[)(?P<text>(?:[^\]]|\](?!\]>)){1,4000})"
)
_KEY_AND_VALUE: Final = pattern(
    r"(<(?P<tag>key|name|dt|td|th|param|field)>\s{0,3}(?P<name>[\w. -]{1,60}?):?\s{0,3}</(?P=tag)>\s{0,40}"
    r"(?:<(?:string|data|value|val|dd|td)>\s{0,10}){1,2})(?P<text>[^<>]{1,4000})",
    re.IGNORECASE,
)

_NAMED_ELEMENT: Final = pattern(
    r"(<\w{1,30}\s(?:[^<>]{0,200}\s)?(?:name|key|id)=\\?[\"'](?P<name>[\w.:-]{1,60})\\?[\"'][^<>]{0,200}>\s{0,20}"
    r"<(?:value|string|val|data)>\s{0,10})(?P<text>[^<>]{1,4000})",
    re.IGNORECASE,
)


def tags(text: str, is_secret: IsSecret, mask: str) -> str:
    """Values of secret names in attributes and elements: `<input name="csrf_token" class="x" value="…">`."""

    def element(match: re.Match[str]) -> str:
        shown = match["text"].strip()
        about = not is_secret(match["name"]) or PLACEHOLDER.fullmatch(shown)
        return match[0] if about or (" " in shown and PROSE.match(shown)) else match[1] + mask

    def tag(match: re.Match[str]) -> str:
        if "=" not in match["rest"]:
            return match[0]
        given = {found[1].lower(): found[4] for found in _ATTRIBUTE.finditer(match["rest"])}
        secret = given.get("type", "").lower() == "password"
        if not (secret or any(is_secret(given[title]) for title in _TITLES & given.keys())):
            return match[0]

        def attribute(found: re.Match[str]) -> str:
            held = found[1].lower() in _VALUES and found[4] and not PLACEHOLDER.fullmatch(found[4])
            return f"{found[1]}{found[2]}{mask}" if held else found[0]

        rest = _ATTRIBUTE.sub(attribute, match["rest"])
        inner = match["text"] or ""
        told = not inner.strip() or match["name"].lower() == "label" or PLACEHOLDER.fullmatch(inner.strip())
        return f"<{match['name']}{rest}>{inner if told else mask}"

    if "<![CDATA[" in text:
        text = _CDATA.sub(element, text)
    if "</" in text:
        text = _NAMED_ELEMENT.sub(element, _KEY_AND_VALUE.sub(element, text))
    return _TAG.sub(tag, text) if "=" in text else text


_END: Final = pattern(r"-{5}END [A-Z0-9 ]{0,40}PRIVATE KEY")
_KEY_LINE: Final = pattern(r"(?:[\w:.\[\] >|-]{0,40}[ >|])?[A-Za-z0-9+/=]{16,200}\s{0,4}")


def key_ends(text: str, is_secret: IsSecret, mask: str) -> str:
    """The lines of a private key whose first line is gone."""
    pieces: list[str] = []
    position = 0
    for end in _END.finditer(text):
        first = end.start()
        while first > position:
            line = text.rfind("\n", position, first - 1) + 1 if first - 1 > position else position
            line = max(line, position)
            if _KEY_LINE.fullmatch(text, line, first) is None:
                break
            first = line
        if first < end.start():
            pieces += [text[position:first], mask, "\n"]
            position = end.start()
    return "".join([*pieces, text[position:]]) if pieces else text


_INSERT: Final = pattern(
    r"\(\s{0,3}(?P<columns>[\w.`\"\[\]]{1,60}(?:\s{0,3},\s{0,20}[\w.`\"\[\]]{1,60}){0,60})\s{0,3}\)"
    r"\s{0,20}VALUES\s{0,20}\(",
    re.IGNORECASE,
)
_PARAMETERS: Final = pattern(r"\[parameters: [\[(]")
_LITERAL: Final = pattern(
    r"\s{0,20}(?:[bNEr]?'(?P<text>(?:[^'\\\r\n]|\\.|''){0,4000})'|(?P<bare>[^,()'\r\n]{1,400})(?:\(\))?)\s{0,3}(?:,|(?=[)\]]))"
)
_MARKS: Final = pattern(r"(?P<name>\w{1,60})[`\"\]]?\s{0,3}=\s{0,3}(?:\?|%s)|(?P<bare>\?|%s)")


def rows(text: str, is_secret: IsSecret, mask: str) -> str:
    """What a statement puts into a column of a secret name, written in it or given as parameters by position."""
    spans: list[tuple[int, int]] = []
    secret: set[int] = set()
    for insert in _INSERT.finditer(text):
        secret = {number for number, name in enumerate(insert["columns"].split(",")) if is_secret(name.strip())}
        if secret:
            spans += _literals(text, insert.end(), secret)
    # The statement stands before its parameters, after the parameters of the one before.
    before = 0
    for given in _PARAMETERS.finditer(text):
        said = text[max(before, text.rfind("[SQL:", before, given.start())) : given.start()]
        before = given.end()
        marks = enumerate(_MARKS.finditer(said)) if not secret else ()
        wanted = secret | {number for number, mark in marks if mark["name"] and is_secret(mark["name"])}
        if wanted:
            spans += _literals(text, given.end(), wanted)
    return masked(text, (Span(start, end, True) for start, end in spans), mask)


def _literals(text: str, at: int, wanted: set[int]) -> list[tuple[int, int]]:
    found = []
    for number in range(max(wanted) + 1):
        literal = _LITERAL.match(text, at)
        if literal is None:
            break
        at = literal.end()
        if number in wanted and literal["text"] and not PLACEHOLDER.fullmatch(literal["text"]):
            found.append(literal.span("text"))
        elif number in wanted and literal["bare"] and plausible(literal["bare"]) and " " not in literal["bare"].strip():
            # Some print a statement with the values in it as they are.
            found.append(literal.span("bare"))
    return found


_KEY_COLUMNS: Final = 400
_KEY_VALUES: Final = 8000
# What a database says after the values; without it they end with a bracket that nothing is glued to.
_KEY_SAID: Final = pattern(r"\) (?:already exists|is not present|is still referenced|conflicts with)")
_KEY_END: Final = pattern(r"\)(?=[\s.,;:\"'»«\\]|$)")
_COLUMN: Final = pattern(r"[\w.]{1,100}")


def keys(text: str, is_secret: IsSecret, mask: str) -> str:
    """The values of secret columns in what a database says about a key: `Key (id, api_token)=(5, …) already exists`."""
    pieces: list[str] = []
    position = 0
    at = text.find(_KEY_IS)
    while at >= 0:
        start = at + len(_KEY_IS)
        following = text.find(_KEY_IS, start)
        columns = _columns(text, max(position, at - _KEY_COLUMNS), at)
        secret = {number for number, column in enumerate(columns) if any(map(is_secret, _COLUMN.findall(column)))}
        limit = min(start + _KEY_VALUES, len(text) if following < 0 else following)
        newline = text.find("\n", start, limit)
        limit = newline if newline >= 0 else limit
        if secret:
            end = _KEY_SAID.search(text, start, limit) or _KEY_END.search(text, start, limit)
            stop = end.start() if end else limit
            values = text[start:stop].split(", ")
            if len(values) != len(columns):
                # There are commas in the values, so that nobody can tell which is which.
                values, secret = [text[start:stop]], {0}
            shown = [mask if n in secret and not PLACEHOLDER.fullmatch(one) else one for n, one in enumerate(values)]
            pieces += [text[position:start], ", ".join(shown)]
            position = stop
        at = following
    return "".join([*pieces, text[position:]]) if pieces else text


_KEY_IS: Final = ")=("


def _columns(text: str, begin: int, end: int) -> list[str]:
    """The names in the brackets that end at `end`, each maybe inside a call."""
    depth, parts, last = 0, [], end
    for at in range(end - 1, begin - 1, -1):
        character = text[at]
        if character == "," and depth == 0:
            parts.append(text[at + 1 : last])
            last = at
        elif character == ")":
            depth += 1
        elif character == "(":
            if depth == 0:
                return [*parts, text[at + 1 : last]][::-1]
            depth -= 1
    return []


_POINTER: Final = pattern(r"(?P<lead>[^\r\n└]{0,400})└ (?P<quote>[\"'])(?P<text>[^\"'\r\n]{1,400})")
_NAME_AT: Final = pattern(r"[A-Za-z_][\w.]{0,60}")


def drawings(text: str, is_secret: IsSecret, mask: str) -> str:
    """The values that loguru and its like draw under the names in a line of code."""
    lines = text.split("\n")
    code = ""
    for number, line in enumerate(lines):
        pointer = _POINTER.match(line)
        if pointer is None:
            code = code if "│" in line or "└" in line else line
            continue
        name = _NAME_AT.match(code, len(pointer["lead"]))
        if name is not None and is_secret(name[0]):
            start, end = pointer.span("text")
            lines[number] = line[:start] + mask + line[end:]
    return "\n".join(lines)


# Each with the words without which there is nothing to read, in lower case.
READERS: Final[tuple[tuple[tuple[str, ...], Reader], ...]] = (
    (("<",), tags),
    (("private key",), key_ends),
    (("values", "[parameters:"), rows),
    ((_KEY_IS,), keys),
    (("└",), drawings),
)
