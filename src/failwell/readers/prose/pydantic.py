"""pydantic, versions 1 and 2: the text of a ValidationError, and its errors as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from failwell.model import FieldError, Path, pattern
from failwell.model import text as clean
from failwell.schema import PYDANTIC, Of

from .clues import EXACT, MOST_FIELDS, STATED, Finding, invalid, path, quoted, summary

_HEAD: Final = pattern(r"(?:^|: |\n)\d{1,6} validation errors? for ([^\n]{1,200})(?:\n|$)")
_ERROR: Final = pattern(
    r"(?:^|\n)(?P<loc>[^\s][^\n]{0,300})\n {2}(?P<said>[^\n]{1,2000}?)"
    r" [\[(]type=(?P<type>[\w.]{1,80})[,;)\]]"
)
_BARE: Final = pattern(r"(?:^|\n)(?P<loc>[^\s][^\n]{0,300})\n {2}(?P<said>[^\n]{1,2000})")
_SHOULD: Final = pattern(r"(?:Input|Value) should be ([^\[\n]{1,500})")
# What a tool gives back is checked as well, and then the tool is at fault.
_OUTPUT: Final = pattern(r"(?:Output|Response|Result|Reply|Config|Settings)\b\]?\s*$")


def read(text: str) -> Finding | None:
    head = _HEAD.search(text[:2_000])
    if head is None:
        return None
    rest = text[head.end() :]
    found = invalid(_problems(rest), plain=head.start() == 0)
    if _OUTPUT.search(head[1]):
        message = f"The tool's own data are invalid: {summary(found.fields)}" if found else None
        return Finding("INTERNAL_ERROR", STATED, message, plain=head.start() == 0)
    if found is None:
        return Finding("VALIDATION_ERROR", EXACT, plain=head.start() == 0)
    return found._replace(message=summary(found.fields))


def _problems(rest: str) -> Iterator[FieldError]:
    form = _ERROR if "type=" in rest else _BARE
    for match in islice(form.finditer(rest), MOST_FIELDS):
        # Version 1 writes `a -> 0 -> b`.
        loc = match["loc"].replace(" -> ", ".")
        where = () if loc == "__root__" else path(loc)
        yield problem(where, match["said"], match.groupdict().get("type"))


def problem(where: Path, said: str, kind: str | None) -> FieldError:
    row = PYDANTIC.get(kind or "")
    rule, limit = (row.rule, None) if isinstance(row, Of) else row or (None, None)
    should = _SHOULD.match(said)
    options = quoted(should[1]) if should and (rule == "enum" or kind in ("literal_error", "enum")) else ()
    expected = limit if isinstance(limit, str) and rule == "type" else should[1].strip() if should else None
    return FieldError(where, clean(said), expected=expected, options=options, rule=rule)


def errors(data: object) -> Finding | None:
    """`[{"loc": […], "msg": …, "type": …}]`, as FastAPI sends it too."""
    if not (isinstance(data, list) and data and all(_is_error(each) for each in data[:MOST_FIELDS])):
        return None
    found = invalid(problem(_loc(each["loc"]), clean(each["msg"]), each.get("type")) for each in data[:MOST_FIELDS])
    return found and found._replace(message=summary(found.fields))


def _is_error(error: object) -> bool:
    return isinstance(error, dict) and isinstance(error.get("loc"), (list, tuple)) and isinstance(error.get("msg"), str)


def _loc(steps: list[Any]) -> Path:
    # Where in the request it stood is no part of the arguments.
    start = 1 if len(steps) > 1 and steps[0] in ("body", "query", "path", "header") else 0
    return tuple(step if type(step) is int else clean(step) for step in steps[start : start + 20])
