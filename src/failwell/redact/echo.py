"""What was sent, quoted back: once in a text, and not at length."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import quote, quote_plus

from failwell.model import Json

from .length import CUT, ends, left_out, shorten

LONGEST: Final = 200
# A secret is known by less.
_KNOWN_BY: Final = 24
# Of an argument without end, and of a text, both ends are compared.
_KNOWN: Final = 24_000
_MARGIN: Final = 4_000
_MOST_VALUES: Final = 2_000
_MOST_ITEMS: Final = 10_000
_MOST_TEXTS: Final = 10


class _Form(NamedTuple):
    """A way in which something that was sent may be quoted."""

    which: int
    text: str
    secret: bool

    @property
    def most(self) -> int:
        """How much of it may be quoted."""
        return _KNOWN_BY if self.secret else LONGEST

    @property
    def piece(self) -> int:
        """By how much of it a quotation is found: one that is too long has such a piece at a multiple of the rest."""
        return 12 if self.secret else 40


class _Quotation(NamedTuple):
    start: int
    end: int
    form: _Form


@dataclass(frozen=True, slots=True)
class Echoes:
    """What was sent with one call and is too long to be quoted whole; each with whether it is a secret."""

    sent: tuple[tuple[Json, bool], ...]
    # Made when there is a text that could quote something.
    _forms: list[_Form] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, arguments: Mapping[str, Any], secrets: Iterable[str] = ()) -> Echoes:
        long = tuple(secret for secret in secrets if len(secret) > LONGEST)
        texts = [(text, text.startswith(long)) for text in islice(_long_texts(arguments), _MOST_TEXTS)]
        whole = [(value, False) for value in islice(arguments.values(), _MOST_TEXTS) if isinstance(value, (dict, list))]
        return cls((*texts, *whole))

    @property
    def shortest(self) -> int:
        """The length up to which no text needs looking at."""
        return _KNOWN_BY if any(secret for _, secret in self.sent) else LONGEST

    def told(self, text: str, clean: Callable[[str], str], masked: Callable[[str], str], mask: str) -> str:
        """`text` cleaned, with each argument quoted once, and cut where it is long, with a word about what is left out.

        A cut would part a secret from its name. So it comes after the masks, and what was sent gets the same ones.
        """
        if not self._forms:
            self._forms.extend(_ways(self.sent))
        text = ends(text, 3 * _KNOWN)
        found = _quotations(text, self._forms)
        if not found:
            return clean(text)
        # Of what is cut anyway so much is looked through as a secret at the ends may need.
        ready = _with(text, found, lambda run, said: mask if run.form.secret else ends(said, _MARGIN))
        told = clean(ready)
        quoted = [run.form._replace(text=part) for run in found if not run.form.secret for part in _parts(text, run)]
        if told != ready:
            quoted = [form._replace(text=masked(form.text)) for form in quoted]
        seen: set[int] = set()

        def bounded(run: _Quotation, said: str) -> str:
            again = run.form.which in seen
            seen.add(run.form.which)
            return left_out(said) if again else shorten(said, LONGEST)

        return masked(_with(told, _quotations(told, quoted), bounded))


def _quotations(text: str, forms: Iterable[_Form]) -> list[_Quotation]:
    return _joined(text, sorted(run for form in forms for run in _runs(text, form)))


def _with(text: str, runs: Iterable[_Quotation], change: Callable[[_Quotation, str], str]) -> str:
    shown, end = "", 0
    for run in runs:
        shown += text[end : run.start] + change(run, text[run.start : run.end])
        end = run.end
    return shown + text[end:]


def _parts(text: str, run: _Quotation) -> tuple[str, ...]:
    said = text[run.start : run.end]
    return (said,) if len(said) <= 2 * _MARGIN else (said[:_MARGIN], said[-_MARGIN:])


def _ways(sent: Iterable[tuple[Json, bool]]) -> Iterator[_Form]:
    for which, (value, secret) in enumerate(sent):
        known = 3 * _KNOWN if secret else _KNOWN
        ways = _ways_of_text(ends(value, known)) if isinstance(value, str) else _ways_of_data(value)
        yield from (_Form(which, way, secret) for way in dict.fromkeys(ways) if len(way) > LONGEST)


def _runs(text: str, form: _Form) -> Iterator[_Quotation]:
    """Where `text` says the same as the form for longer than it may."""
    whole, at, piece = form.text, 0, form.piece
    step = form.most - piece
    # Most quote an argument from its beginning; looked for by that, it is found where it begins.
    begin = text.find(whole[:piece])
    while at + piece <= len(text):
        if 0 <= begin < at:
            begin = text.find(whole[:piece], at)
        if 0 <= begin <= at + step:
            at, there = begin, 0
        else:
            there = whole.find(text[at : at + piece])
        if there < 0:
            at += step
            continue
        start = at - _same_before(text, at, whole, there, step)
        end = at + _same_after(text, at, whole, there)
        if end - start > form.most:
            yield _Quotation(start, end, form)
        at = max(end, at + 1)


def _same_after(text: str, at: int, whole: str, there: int) -> int:
    """How long two texts say the same from two places on."""
    low, high = 0, min(len(text) - at, len(whole) - there)
    while low < high:
        middle = (low + high + 1) // 2
        if text[at + low : at + middle] == whole[there + low : there + middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_before(text: str, at: int, whole: str, there: int, most: int) -> int:
    """How long two texts said the same up to two places; what lies further back has been looked at."""
    count = 0
    while count < min(at, there, most) and text[at - count - 1] == whole[there - count - 1]:
        count += 1
    return count


def _joined(text: str, runs: list[_Quotation]) -> list[_Quotation]:
    """The quotations in their order; of two that overlap, or that a cut in one has parted, one is made."""
    joined: list[_Quotation] = []
    for run in runs:
        before = joined[-1] if joined else None
        # With the spaces around a cut, which may be taken for those of the quotation.
        between = text[before.end - 1 : run.start + 1] if before else ""
        parted = len(between) < LONGEST and CUT.search(between) and before and run.form.which == before.form.which
        if before and (run.start < before.end or parted):
            secret = before.form if before.form.secret else run.form
            joined[-1] = _Quotation(before.start, max(before.end, run.end), secret)
        else:
            joined.append(run)
    return joined


def _ways_of_text(text: str) -> Iterator[str]:
    """As it is, on one line, in code, in JSON, in an address."""
    yield text
    yield " ".join(text.split())
    yield repr(text)[1:-1]
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield quote(text, safe="", errors="replace")
    yield quote(text, errors="replace")
    yield quote_plus(text, errors="replace")


def _ways_of_data(value: Json) -> Iterator[str]:
    if isinstance(value, list) and len(value) > 2 * _MOST_ITEMS:
        value = value[:_MOST_ITEMS] + value[-_MOST_ITEMS:]
    try:
        yield ends(str(value), _KNOWN)
        yield ends(json.dumps(value), _KNOWN)
        yield ends(json.dumps(value, separators=(",", ":"), ensure_ascii=False), _KNOWN)
    except (TypeError, ValueError, RecursionError):
        return


def _long_texts(arguments: object) -> Iterator[str]:
    waiting: list[object] = [arguments]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, str):
            if len(value) > LONGEST:
                yield value
        elif isinstance(value, Mapping):
            waiting += islice(value.values(), _MOST_VALUES)
        elif isinstance(value, (list, tuple)):
            waiting += value[:_MOST_VALUES]
