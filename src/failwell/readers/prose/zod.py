"""zod, versions 3 and 4: issues as JSON, and the one-line forms that SDKs make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from re import IGNORECASE
from typing import Any, Final

from failwell.model import FieldError, Path, pattern, plain
from failwell.model import text as clean

from .clues import MOST_FIELDS, Finding, invalid, path, quoted

# What an issue of either version begins with: an issue is told by it even without the words around.
_STARTS: Final = (
    r"Invalid input(?:: expected|:?(?= at |[;.\n]|$))|Invalid option: expected|Invalid enum value\. Expected"
    r"|Expected \w{1,20}, received|Required(?= at |[;,.\n]|$)|Unrecognized keys?(?:\(s\) in object)?:"
    r"|Too (?:small|big): expected|(?:String|Array|Number|Set|Date|BigInt) must "
    r"|Invalid literal value, expected|Invalid discriminator value|Invalid (?:string|number|key|element|union)\b"
    r"|Invalid (?:url|email|uuid|datetime|date|regex|cuid|ip|base64)(?= at |[;,.\n]|$)"
    r"|Invalid (?:URL|email address|UUID|ISO \w{1,10})"
)
_NAME: Final = r"[\w$.\[\]()-]{1,120}"
_ISSUE: Final = pattern(
    rf"(?:(?P<before>{_NAME}): )?(?P<said>(?:{_STARTS})[^\n;]{{0,600}}?)"
    rf"(?:(?: at |\s{{1,4}}→ at )[\"'`]?(?P<after>{_NAME})[\"'`]?)?(?=$|[;\n]|\. Please|, (?:{_NAME}: )?(?:{_STARTS}))"
)
_LEAD: Final = pattern(
    r"(?:input )?validation error: |(?:✖ )|invalid arguments|invalid input|invalid parameters|"
    r"(?:[\w ]{0,40}['\"`][^'\"`\n]{1,100}['\"`] )?(?:parameter )?validation failed|validation error|zod\w{0,10}error",
    IGNORECASE,
)
# The name of the tool before the issues looks like the name of an argument.
_CALLED: Final = pattern(
    r"(?:arguments|parameters|input) for [^:\n]{1,150}:\s{0,3}|validation failed:\s{0,3}", IGNORECASE
)
_NAMED: Final = pattern(rf"Invalid (?P<before>{_NAME}): (?P<said>(?:{_STARTS})[^\n;]{{0,500}})")
_KINDS: Final = pattern(r"expected (?:a |an )?([\w ]{1,40}?)(?:, received| to |$)", IGNORECASE)

# The rule that a message speaks of, by how it begins.
_RULES: Final = (
    ("Required", "required"),
    ("Unrecognized", "additionalProperties"),
    ("Invalid option", "enum"),
    ("Invalid enum", "enum"),
    ("Invalid discriminator", "discriminator"),
    ("Invalid literal", "const"),
    ("Too small", "minimum"),
    ("Too big", "maximum"),
    ("Expected ", "type"),
    ("Invalid input: expected", "type"),
)


def problem(where: Path, said: str, issue: Mapping[str, Any] | None = None) -> Iterator[FieldError]:
    """The problems of one issue: one, or one for each key that nobody knows."""
    said = clean(said).strip()
    issue = issue or {}
    rule = next((name for start, name in _RULES if said.startswith(start)), None)
    if "received undefined" in said or issue.get("received") == "undefined":
        rule = "required"
    if rule == "additionalProperties":
        keys = issue.get("keys")
        for key in (keys if isinstance(keys, list) else quoted(said))[:MOST_FIELDS]:
            yield FieldError((*where, clean(key)), said, rule=rule)
        return
    options = issue.get("options") or issue.get("values")
    if not isinstance(options, list):
        options = quoted(said.partition(", received")[0]) if rule in ("enum", "const", "discriminator") else []
    expected = issue.get("expected")
    if not isinstance(expected, str):
        kinds = _KINDS.search(said) if rule in ("type", "required") else None
        expected = kinds[1].strip() if kinds else None
    yield FieldError(where, said, expected=expected, options=[plain(option) for option in options[:50]], rule=rule)


def issues(data: object) -> Finding | None:
    """A list of issues as zod itself writes it."""
    if not (isinstance(data, list) and data and all(_is_issue(each) for each in data[:MOST_FIELDS])):
        return None
    return invalid(each for issue in data[:MOST_FIELDS] for each in _problems(issue))


def _is_issue(issue: object) -> bool:
    return (
        isinstance(issue, dict)
        and isinstance(issue.get("path"), list)
        and isinstance(issue.get("code"), str)
        and isinstance(issue.get("message"), str)
    )


def _problems(issue: dict[str, Any]) -> Iterator[FieldError]:
    steps = issue["path"]
    # The request's own envelope is no part of the arguments.
    for lead in (["params", "arguments"], ["params"]):
        if steps[: len(lead)] == lead and len(steps) > len(lead):
            steps = steps[len(lead) :]
    where = tuple(step if type(step) is int else clean(step) for step in steps[:20])
    yield from problem(where, issue["message"], issue)


def one_line(text: str) -> Finding | None:
    """`Invalid input: expected string, received undefined at path`, and its relatives."""
    text = text[:6_000]
    if text.startswith("Invalid ") and (found := _NAMED.match(text)):
        where = () if found["before"] == "(root)" else path(found["before"])
        return invalid(problem(where, found["said"]), plain=True)
    lead = _LEAD.match(text)
    called = _CALLED.search(text[:500]) if lead else None
    start = called.end() if called else 0
    found = _ISSUE.search(text, start) if lead else _ISSUE.match(text)
    if found is None:
        return None
    problems = (
        each
        for match in islice(_ISSUE.finditer(text, found.start()), MOST_FIELDS)
        for each in problem(_where(match["before"], match["after"]), match["said"])
    )
    return invalid(problems, plain=lead is not None)


def _where(before: str | None, after: str | None) -> Path:
    written = after or before or ""
    return () if written == "(root)" else path(written)
