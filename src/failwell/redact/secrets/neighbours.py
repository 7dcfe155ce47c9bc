"""Secrets beside their names: in tables, in pairs of name and value, in the parts of a form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from failwell.model import pattern

from .assignments import PROSE
from .looks import drawn, is_elsewhere, is_stand_in, likely, plausible, random
from .secret_names import PASSWORDS, masks_numbers
from .values import Span, spans

IsSecret = Callable[[str], bool]

_BARS: Final = ("|", "│", "║", "┃")
_DELIMITERS: Final = (*_BARS, "\t", ";", ",")
_RULE: Final = pattern(r"[\s|│║┃+=:─━═┼╪╫╬├┤╞╡╟╢╠╣-]*[-─━═][\s|│║┃+=:─━═┼╪╫╬├┤╞╡╟╢╠╣-]*")
_AROUND: Final = " \t\r`*\"'"
_HEADING: Final = pattern(r"[^\W\d_][\w .%()#/-]{0,40}")
_DATE: Final = pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TYPE: Final = pattern(r"[a-z]+(?: [a-z]+)*\([0-9, ]+\)")
_PLAIN_HEADING: Final = pattern(r"[\w.-]{1,60}")
_MOST_CELLS: Final = 100
# Columns that are only aligned: two words or more, far apart.
_GAP: Final = "  "
_ALIGNED: Final = pattern(r"\s{0,8}\S{1,60} {2,60}\S")
_WORD: Final = pattern(r"\S+(?: \S+)*")


_LINE_END: Final = pattern(r"\r?\n|(?:\\r)?\\n")
# Columns that hold what a name in the same row is set to.
_VALUE_HEADS: Final = frozenset(
    "value values val current actual given default got received input content data sent new old before after effective "
    "wert valor waarde valeur".split()
)
# Of these the values are no words, and a column of them often holds names.
_NAMED_ONES: Final = ("secret", "secrets", "token", "tokens", "credential", "credentials", "auth")
_ONE_WORD: Final = pattern(r"oauth[12]|[a-z]{1,20}(?:[-_.][a-z]{1,20}){0,6}|[A-Z_]{1,20}|[0-9]{1,4}")


class _Head(NamedTuple):
    """The heading of a table: what parts its cells, what they are called, and which of them hold secrets."""

    delimiter: str
    names: tuple[str, ...]
    secret: frozenset[int]
    # Whether it can be nothing but a heading.
    sure: bool


_NO_HEAD: Final = _Head("", (), frozenset(), False)


def tables(text: str, is_secret: IsSecret) -> Iterator[Span]:
    """The cells of a column with a secret's name, and the cells beside one."""
    lines, starts = _lines(text)
    head = _NO_HEAD
    for number, (line, start) in enumerate(zip(lines, starts, strict=True)):
        if head.delimiter and _RULE.fullmatch(line):
            continue
        used = next((each for each in _DELIMITERS if each in line), _GAP if _ALIGNED.match(line) else "")
        cells = list(_cells(line, start, used)) if used and line.count(used) < _MOST_CELLS else []
        if used and used == head.delimiter and (len(cells) == len(head.names) or head.secret):
            yield from _row(text, cells, head, is_secret)
            if len(cells) == 2 and not head.secret and used not in (";", ",") and is_secret(_of(text, cells[0])):
                yield from _beside(text, cells, 0)
            continue
        secret = {n for n, cell in enumerate(cells) if cell.end - cell.start <= 60 and is_secret(_of(text, cell))}
        # The cell beside a name, in any row.
        beside = [cells[n + 1] for n in secret if n + 1 < len(cells) and _is_value(_of(text, cells[n + 1]))]
        further = cells[min(secret) + 2 :] if secret else []
        far = [cell for cell in further if random(shown := _of(text, cell)) and _is_value(shown)]
        if not beside and len(secret) == 1 and used not in (";", ","):
            beside = _beside(text, cells, min(secret))
        if used not in (";", ","):
            yield from (*beside, *far)
        below = lines[number + 1 : number + 3]
        headed = secret and below and not beside and _is_head(text, cells, used, below)
        names = tuple(_of(text, cell).lower() for cell in cells)
        head = (
            _Head(used, names, frozenset(secret if headed else ()), _is_sure(used, names, below)) if used else _NO_HEAD
        )


def _beside(text: str, cells: list[Span], name: int) -> list[Span]:
    """The only other cell of a row that begins with the name of a password."""
    full = [cell for cell in cells if cell.end > cell.start]
    spoken = _of(text, cells[name]).lower().endswith(PASSWORDS)
    if len(full) != 2 or full[0] is not cells[name] or not spoken:
        return []
    return full[1:] if " " not in (shown := _of(text, full[1])) and likely(shown) else []


def _row(text: str, cells: list[Span], head: _Head, is_secret: IsSecret) -> Iterator[Span]:
    """The secrets in a row below a heading."""
    exact = head.sure and len(cells) == len(head.names)
    for index in head.secret:
        cell = cells[index] if index < len(cells) else Span(0, 0, True)
        shown = _of(text, cell)
        word = head.names[index].endswith(_NAMED_ONES) and _ONE_WORD.fullmatch(shown)
        if not word and (may_be(text, cell, is_secret) if exact else _is_value(shown)):
            yield cell
    if head.secret or len(cells) != len(head.names):
        return
    listed = head.delimiter in (";", ",")
    named = next(
        (n for n, cell in enumerate(cells) if cell.end - cell.start <= 60 and is_secret(_of(text, cell))), None
    )
    for column in range(len(cells) if named is None else named + 1, len(cells)):
        other = cells[column]
        shown = _of(text, other)
        if is_elsewhere(shown) or _DATE.match(shown) or _TYPE.fullmatch(shown):
            continue
        if listed or head.names[column].strip("= ") not in _VALUE_HEADS:
            looks = listed and head.names[column] in _VALUE_HEADS
            looks = looks or (not listed and (random(shown) or (drawn(shown) and column - 1 == named)))
            held = looks and _is_value(shown)
        else:
            one = " " not in shown and not is_stand_in(shown.strip("_*-"))
            held = one and any(map(str.isalnum, shown)) and may_be(text, other, is_secret)
        if held:
            yield other


def _lines(text: str) -> tuple[list[str], list[int]]:
    """The lines and where they begin; a line also ends where its end is spelled out."""
    lines, starts, at = [], [], 0
    for end in _LINE_END.finditer(text):
        lines.append(text[at : end.start()])
        starts.append(at)
        at = end.end()
    return [*lines, text[at:]], [*starts, at]


def _is_head(text: str, cells: list[Span], delimiter: str, below: list[str]) -> bool:
    """Whether a line with a secret's name in it is the heading of those below."""
    ruled = bool(_RULE.fullmatch(below[0]))
    counts = [len(list(_cells(line, 0, delimiter))) for line in below]
    titles = [_of(text, cell) for cell in cells]
    if delimiter in _BARS:
        return (ruled or counts[0] == len(cells)) and all(_HEADING.fullmatch(title) for title in titles if title)
    # Something may stand in front of the first one.
    named = titles[1:] if len(titles) > 2 else titles
    heading = _HEADING if delimiter in ("\t", _GAP) or len(titles) > 2 else _PLAIN_HEADING
    if not all(map(heading.fullmatch, named)):
        return False
    return ruled or len(cells) in counts or (len(cells) > 1 and counts[0] > 1)


def _is_sure(delimiter: str, names: tuple[str, ...], below: list[str]) -> bool:
    if delimiter in _BARS:
        return bool(below and _RULE.fullmatch(below[0]))
    return delimiter not in (";", ",") or all(map(_PLAIN_HEADING.fullmatch, names))


def _is_value(shown: str) -> bool:
    return plausible(shown) and not (
        " " in shown or _TYPE.fullmatch(shown) or _DATE.match(shown) or is_elsewhere(shown)
    )


def _cells(line: str, start: int, delimiter: str) -> Iterator[Span]:
    if delimiter == _GAP:
        yield from (Span(start + word.start(), start + word.end(), True) for word in _WORD.finditer(line))
        return
    for cell in line.split(delimiter):
        bare = cell.strip(_AROUND)
        first = start + len(cell) - len(cell.lstrip(_AROUND)) if bare else start
        yield Span(first, first + len(bare), True)
        start += len(cell) + 1


def _of(text: str, span: Span) -> str:
    return text[span.start : span.end]


def may_be(text: str, span: Span, is_secret: IsSecret) -> bool:
    """Whether what stands where a secret would is no word about one, no stand-in, and no name of one."""
    shown = _of(text, span).strip()
    if (
        not any(map(str.isalnum, shown))
        or is_stand_in(shown)
        or is_secret(shown)
        or (shown.isdigit() and len(shown) < 3)
    ):
        return False
    word = PROSE.match(shown)
    return word is None or (word.end() < len(shown) and " " not in shown)


_Q: Final = r"[\"'\\]{0,8}"
_TITLE: Final = pattern(
    r"(?<![A-Za-z])(?:(?P<type>type)|name|key|field|header|param(?:eter)?(?:_?(?:key|name))?|variable|property|option_?(?:name)?|label"
    rf"|(?:instance_?)?path|attribute|column|setting|env){_Q}\s{{0,3}}[:=]\s{{0,3}}\[?\s?{_Q}(?P<name>[\w.$:/-]{{2,100}}+)",
    re.IGNORECASE,
)
_HELD: Final = pattern(
    r"(?<![A-Za-z])(?:(?:parameter|rejected|default|actual|current)?_?value|val|content|input|received|actual|data|got"
    rf"|given|secret_?string){_Q}\s{{0,3}}[:=]\s{{0,3}}(?=[^\s=:])",
    re.IGNORECASE,
)
_NEAR: Final = 240
_OTHER: Final = pattern(r"[{}]|\n[ \t]*-[ \t]|\n[ \t]*\r?\n|</")


def pairs(text: str, is_secret: IsSecret) -> Iterator[Span]:
    """The value beside a name that is given as a value itself: `{"name": "DB_PASSWORD", "value": …}`, in any order."""
    for title in _TITLE.finditer(text):
        if not is_secret(title["name"]) or (title["type"] and title["name"].lower() != "password"):
            continue
        beyond = _OTHER.search(text, title.end(), title.end() + _NEAR)
        held = _HELD.search(text, title.end(), beyond.start() if beyond else title.end() + _NEAR)
        if held is None:
            begin = max(0, title.start() - _NEAR)
            for other in _OTHER.finditer(text, begin, title.start()):
                begin = other.end()
            before = list(_HELD.finditer(text, begin, title.start()))
            held = before[-1] if before else None
        if held is None:
            continue
        for span in spans(text, held.end(), ":"):
            number = not span.quoted and _of(text, span).isdigit() and not masks_numbers(title["name"])
            if may_be(text, span, is_secret) and not number and not _of(text, span).startswith(("$", "{", "%")):
                yield span


_PART: Final = pattern(
    r"\bname=\\{0,3}[\"']?(?P<name>[\w.\[\]-]{1,80}+)\\{0,3}[\"']?(?:;[^\r\n\\]{0,100})?"
    r"(?:(?:\r?\n[\w-]{1,40}:[^\r\n]{0,200}){0,4}(?:\r?\n){2}|(?:(?:\\r)?\\n[\w-]{1,40}:[^\r\n\\]{0,200}){0,4}(?:(?:\\r)?\\n){2})"
    r"(?P<value>(?:[^\r\n\\]|\\(?![rn])){1,4000})"
)


def parts(text: str, is_secret: IsSecret) -> Iterator[Span]:
    """What a form sends under a secret's name, in a body of several parts."""
    for part in _PART.finditer(text):
        if is_secret(part["name"]) and not is_stand_in(part["value"]):
            yield Span(*part.span("value"), True)


Reader = Callable[[str, IsSecret], Iterator[Span]]
# Each with the marks without which there is nothing to read.
READERS: Final[tuple[tuple[tuple[str, ...], Reader], ...]] = (
    ((*_DELIMITERS, _GAP), tables),
    (("value", "val", "content", "input", "received", "actual", "data", "got", "given"), pairs),
    (("name=",), parts),
)


def masked(text: str, found: Iterable[Span], mask: str) -> str:
    """`text` with the spans masked, whatever order they are in."""
    pieces: list[str] = []
    position = 0
    for span in sorted(found):
        if span.start >= position and span.end > span.start:
            pieces += [text[position : span.start], mask]
            position = span.end
    return "".join([*pieces, text[position:]]) if pieces else text
