"""Our own words about wrong arguments, as a server of ours sends them and others pass them on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from failwell.formats import effect_in
from failwell.model import FieldError, pattern

from .clues import Finding, invalid, path

_STEP: Final = pattern(r"(?:^|[.)!?] )(Next: call \S{1,200} with(?:out)? [^\n]{1,4000}\.)$")
_LONGEST: Final = 8_000
_NAME: Final = r"(?P<name>[\w\[\].-]{1,200})"
# What is said of an argument, the rule that it breaks, and how what it must be is told.
_ONE_OF: Final = pattern(rf"{_NAME} (?:is missing: it )?must be one of (?P<options>[^\n]{{1,2000}}?)(?:\. |\.?$)")
_MUST: Final = pattern(rf"{_NAME} (?P<need>must [^\n]{{1,300}}?)(?:\. |\.?$)")
_MISSING: Final = pattern(rf"{_NAME} is missing(?:: |\. |\.?$)")
_STRANGE: Final = pattern(r"There (?:is no argument|are no(?: arguments)?) (?P<names>[^\n]{1,500}?)(?:\. |\.?$)")
_SAID: Final = pattern(rf"{_NAME}: (?P<said>[^\n]{{1,300}}?)(?:\. |\.?$)")
_OPTION: Final = pattern(r'"((?:[^"\\]|\\.){0,200})"|([^\s,"…]{1,100})')


def read(text: str) -> Finding | None:
    step = _STEP.search(text) if len(text) <= _LONGEST and "Next: call " in text else None
    if step is None or effect_in(text) is not None:
        return None
    reasons = text[: step.start(1)].strip()
    found = invalid(_problems(reasons), message=reasons)
    return None if found is None else found._replace(code="VALIDATION_ERROR", suggestion=step[1])


def _problems(reasons: str) -> Iterator[FieldError]:
    for one_of in _ONE_OF.finditer(reasons):
        options = [quoted or bare for quoted, bare in _OPTION.findall(one_of["options"])]
        yield FieldError(path(one_of["name"]), "Invalid enum value", options=options, rule="enum")
    named = {one_of["name"] for one_of in _ONE_OF.finditer(reasons)}
    for missing in _MISSING.finditer(reasons):
        if missing["name"] not in named:
            yield FieldError(path(missing["name"]), "Required", rule="required")
    for must in _MUST.finditer(reasons):
        if must["name"] not in named and must["name"] != "it":
            yield FieldError(path(must["name"]), must["need"])
    if (said := _SAID.match(reasons)) is not None:
        yield FieldError(path(said["name"]), said["said"])
    for strange in _STRANGE.finditer(reasons):
        names = ", ".join(f"'{name}'" for name in strange["names"].split(", "))
        yield FieldError((), f"Unrecognized key(s) in object: {names}", rule="additionalProperties")
