"""Secrets beside their names: in tables, in pairs of name and value, in the parts of a form, in what validators say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from failwell.model import pattern

from .assignments import PROSE
from .secret_names import masks_numbers
from .values import Span, full_name, is_stand_in, plausible, random, spans

IsSecret = Callable[[str], bool]

_DELIMITERS: Final = "|│║┃\t;,"
_RULE: Final = pattern(r"[\s|│║┃+=:─━═┼╪╫╬├┤╞╡╟╢╠╣-]*[-─━═][\s|│║┃+=:─━═┼╪╫╬├┤╞╡╟╢╠╣-]*")
_AROUND: Final = " \t\r`*\"'"
_HEADING: Final = pattern(r"[^\W\d_][\w .%()#/-]{0,40}")
_TYPE: Final = pattern(r"[a-z]+(?: [a-z]+)*\([0-9, ]+\)")
_PLAIN_HEADING: Final = pattern(r"[\w.-]{1,60}")
_MOST_CELLS: Final = 100
# Columns that are only aligned: two words or more, far apart.
_GAP: Final = "  "
_ALIGNED: Final = pattern(r"\s{0,8}\S{1,60} {2,60}\S")
_WORD: Final = pattern(r"\S+(?: \S+)*")


def tables(text: str, is_secret: IsSecret) -> Iterator[Span]:
    """The cells of a column with a secret's name, and the cell beside one."""
    lines = text.split("\n")
    delimiter, columns, count, at = "", frozenset[int](), 0, 0
    for number, line in enumerate(lines):
        start, at = at, at + len(line) + 1
        if delimiter and _RULE.fullmatch(line):
            continue
        used = next((each for each in _DELIMITERS if each in line), _GAP if _ALIGNED.match(line) else "")
        cells = list(_cells(line, start, used)) if used and line.count(used) < _MOST_CELLS else []
        if used and used == delimiter and len(cells) == count:
            yield from (cells[index] for index in columns if _may_be(text, cells[index], is_secret))
            continue
        below = lines[number + 1 : number + 2]
        secret = {n for n, cell in enumerate(cells) if cell.end - cell.start <= 60 and is_secret(_of(text, cell))}
        # The cell beside a name, in any row.
        beside = [cells[n + 1] for n in secret if n + 1 < len(cells) and _is_value(_of(text, cells[n + 1]))]
        if used not in (";", ","):
            yield from beside
        headed = bool(secret and below) and not beside and _is_head(text, cells, used, below[0], first=not delimiter)
        delimiter, columns, count = (
            (used, frozenset(secret if headed else ()), len(cells)) if used else ("", frozenset(), 0)
        )


def _is_head(text: str, cells: list[Span], delimiter: str, below: str, first: bool) -> bool:
    ruled = bool(_RULE.fullmatch(below))
    if delimiter in ("|", "│", "║", "┃"):
        return ruled and all(_HEADING.fullmatch(shown) for cell in cells if (shown := _of(text, cell)))
    heading = _HEADING if delimiter in ("\t", _GAP) else _PLAIN_HEADING
    if not first or not all(heading.fullmatch(_of(text, cell)) for cell in cells):
        return False
    return ruled or len(list(_cells(below, 0, delimiter))) == len(cells)


def _is_value(shown: str) -> bool:
    return plausible(shown) and " " not in shown and not _TYPE.fullmatch(shown)


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


def _may_be(text: str, span: Span, is_secret: IsSecret) -> bool:
    """Whether what stands where a secret would is no word about one, no stand-in, and no name of one."""
    shown = _of(text, span).strip()
    if not shown or is_stand_in(shown) or is_secret(shown) or (shown.isdigit() and len(shown) < 3):
        return False
    word = PROSE.match(shown)
    return word is None or (word.end() < len(shown) and " " not in shown)


_Q: Final = r"[\"'\\]{0,8}"
_TITLE: Final = pattern(
    r"(?<![A-Za-z])(?:name|key|field|header|param(?:eter)?(?:_?(?:key|name))?|variable|property|option_?(?:name)?|label"
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
        if not is_secret(title["name"]):
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
            if _may_be(text, span, is_secret) and not number and not _of(text, span).startswith(("$", "{", "%")):
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


_IDENTIFIER: Final = pattern(r"[\w$.\[\]/-]{2,200}+")
_CLOSERS: Final = {"'": "'", '"': '"', "`": "`", "«": "»", "“": "”", "[": "]", "‘": "’"}
# A validator's words about a value that it quotes, after the name of what it was sent for.
_QUOTES_IT: Final = pattern(
    r"[\"'`)»”]{0,2}+(?:[^\r\n\"'`«“.;!?\[]|[.;!?](?=[^\s])){0,100}?"
    r"\b(?:value|got|received|input|but was|given|actual)\b\s{0,2}(?:is\s|was\s|of\s)?"
    r"[:=]?\s{0,2}\(?(?:(?P<quote>[\"'`«“‘\[])|(?=[A-Za-z_.-]{0,60}[0-9@#$%^&!+~*])(?P<bare>[\w@#$%^&!+~*.-]{6,200}))",
    re.IGNORECASE,
)
# The value itself, right behind the name, or a few words behind it.
_TELLS_IT: Final = pattern(
    r"[\"'`)]{0,2}+(?:\s(?:provided|given|supplied|used|has|been|set|changed|reset|to|from|guess|now|is|was|not"
    r"|valid|invalid|found|rejected|expired|unknown|value"
    r"|lautet|ist|es|est|é|är|jest|incorrect[ao]?|incorreta|wrong|falsch|inv[aá]lid[ao]|de acceso)){0,4}"
    r":?\s{1,2}[(\"'`“«]{0,2}(?P<value>[^\s\"'`()“”«»]{6,400})",
    re.IGNORECASE,
)
# And before the name.
_QUOTED_BEFORE: Final = pattern(
    r"(?P<said>\b(?:value|input)[:=]?\s{1,2})?\(?(?P<quote>[\"'`])(?P<value>[^\"'`\r\n]{1,120})(?P=quote)\)?\s"
    r"(?:(?P<valid>(?:is|was)\s(?:not\s)?(?:an?\s)?(?:in)?valid(?:\sfor)?)|(?:for|at|in|as|of|on)(?:\s(?:the|a|your))?"
    r"(?:\s(?:field|parameter|argument|property|key|attribute|option|header|path|column|variable|setting))?)\s[\"'`(]?$",
    re.IGNORECASE,
)
# Names of what people say to each other, and words behind a number that make it a rule: `8-64 characters`.
_SPOKEN: Final = ("password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "contraseña", "senha", "pwd")
_A_SENTENCE: Final = pattern(r"\s(?:characters?|chars|letters|digits|bytes|bits)\b")
_SETTING: Final = pattern(r"[A-Za-z_.-]{2,40}[=(]")
_HEX: Final = pattern(r"[0-9A-F]{8,64}|[0-9a-f]{40}")
_SPOKEN_OF: Final = ("unexpected ", "expected ", "next ", "missing ", "no ", "lexer ")


def sentences(text: str, is_secret: IsSecret) -> Iterator[Span]:
    """What validators and others say about a secret: the name, a few words, and the value, in any order."""
    for found in _IDENTIFIER.finditer(text):
        bare = found[0].rstrip("./[]-")
        end = found.start() + len(bare)
        name = full_name(text, found.start(), end)
        if not is_secret(name):
            continue
        if quoted := _QUOTES_IT.match(text, end):
            if quoted["bare"]:
                shown = quoted["bare"].rstrip(".,;:!?")
                span = Span(quoted.start("bare"), quoted.start("bare") + len(shown), plausible(shown))
            else:
                span = Span(quoted.end(), _closing(text, quoted.end(), _CLOSERS[quoted["quote"]]), True)
            if span.quoted and span.end > span.start and _may_be(text, span, is_secret):
                yield span
        before = text[max(0, found.start() - 12) : found.start()].lower()
        told = _TELLS_IT.match(text, end)
        if told and not before.endswith(_SPOKEN_OF):
            value = told["value"].rstrip(".,;:!?")
            # Another setting, or the number of a key, which is no key.
            spoken = name.lower().endswith(_SPOKEN) and plausible(value)
            other = _SETTING.match(value) or (name.lower().endswith("key") and _HEX.fullmatch(value))
            if (spoken or random(value.lstrip("$@:%"))) and not other and not _A_SENTENCE.match(text, told.end()):
                yield Span(told.start("value"), told.start("value") + len(value), True)
        begin = max(0, found.start() - 220)
        if asked := _QUOTED_BEFORE.search(text[begin : found.start()]):
            span = Span(begin + asked.start("value"), begin + asked.end("value"), True)
            sure = asked["said"] or (asked["valid"] and not name.lower().endswith("token"))
            if (sure or plausible(asked["value"])) and _may_be(text, span, is_secret):
                yield span


def _closing(text: str, start: int, mark: str) -> int:
    line = text.find("\n", start, start + 400)
    return text.find(mark, start, line if line >= 0 else start + 400)


Reader = Callable[[str, IsSecret], Iterator[Span]]
# Each with the marks without which there is nothing to read.
READERS: Final[tuple[tuple[tuple[str, ...], Reader], ...]] = (
    ((*"|│║┃\t;,", _GAP), tables),
    (("value", "val", "content", "input", "received", "actual", "data", "got", "given"), pairs),
    (("name=",), parts),
    ((" ", "'", '"'), sentences),
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
