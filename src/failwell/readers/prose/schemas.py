"""Validators that speak in one sentence: jsonschema, ajv, Go's and Rust's. One row for each sentence."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from re import IGNORECASE
from typing import Any, Final

from failwell.model import FieldError, pattern
from failwell.model import text as clean

from .clues import MOST_FIELDS, Finding, invalid, path, quoted

# A value; a name in quotes; a path as ajv writes it; what a value must do.
_V: Final = r"(?:'[^'\n]{0,300}'|\"[^\"\n]{0,300}\"|[^\s'\"]{1,300})"
_Q: Final = r"['\"`](?P<name>[^'\"`\n]{1,200})['\"`]"
_AT: Final = r"(?P<at>(?:data|params|arguments)?[/.][\w./\[\]-]{1,120})"
_ROOT: Final = r"(?P<at>(?:data|params|arguments)?[\w./\[\]-]{0,120})"
_MUST: Final = r"(?:must|should)"
_TYPE: Final = r"(?:string|number|integer|int|float|bool|boolean|array|object|list|map|null)"
_ONE_OF: Final = r"expected (?:one of )?(?P<options>`[^\n]{1,1000})"
_ARGUMENT: Final = r"(?:parameter|argument|field|property|input|option|param)"
# The name of an argument in front of that word, where no other word stands.
_NAMED: Final = (
    r"\b(?!(?:the|an?|this|that|each|one|any|every|some|same|first|last|required|missing|optional|invalid|unknown|extra"
    r"|following|or|and|of|for|no|is|are|all|its|your|tool|function|input|query) )(?P<name>[A-Za-z]\w{0,60})"
)

# The rule that is broken, and how it is said. In a sentence `name` (or `names`) is the argument, `at` the path to it,
# `expected` and `options` are what should have come. Of two that fit, the first counts.
_JSONSCHEMA: Final = (
    ("required", rf"{_Q} is a required property"),
    ("additionalProperties", r"Additional properties are not allowed \((?P<names>[^()\n]{1,500}?) w(?:as|ere) "),
    ("type", rf"{_V} is not of type (?P<expected>'\w{{1,20}}'(?:, '\w{{1,20}}'){{0,6}})"),
    ("enum", rf"{_V} is not one of \[(?P<options>[^\]\n]{{0,2000}})\]?"),
    ("const", r"(?P<options>'[^'\n]{1,200}') was expected"),
    ("anyOf", r"is not valid under any of the given schemas"),
    ("pattern", rf"{_V} does not match (?P<expected>'[^'\n]{{1,300}}')"),
    ("format", rf"{_V} is not a (?P<expected>'[^'\n]{{1,60}}')"),
    ("minimum", r"is less than (?:or equal to )?the minimum of (?P<expected>-?[\d.]{1,30})"),
    ("maximum", r"is greater than (?:or equal to )?the maximum of (?P<expected>-?[\d.]{1,30})"),
    ("minLength", rf"{_V} (?:is too short|should be non-empty)"),
    ("maxLength", rf"{_V} (?:is too long|is expected to be empty)"),
)
_AJV: Final = (
    ("required", rf"{_ROOT} {_MUST} have required property {_Q}"),
    ("type", rf"{_AT} {_MUST} be (?P<expected>{_TYPE}(?:,\w{{4,10}}){{0,5}})\b"),
    (
        "enum",
        rf"{_AT} {_MUST} be equal to (?:one of the allowed values|constant)(?:: (?P<options>[^\n]{{1,1000}}))?",
    ),
    ("additionalProperties", rf"{_ROOT} {_MUST} NOT have additional properties(?:: {_Q})?"),
    (
        None,
        r"(?P<at>(?:data|params|arguments)[/.][\w./\[\]-]{1,120}|(?:\A|(?<=[\s:]))/[\w./-]{1,120})"
        rf" {_MUST} (?P<expected>(?:NOT |be |match |pass )[^\n,;]{{1,200}})",
    ),
)
_GO: Final = (
    (
        "type",
        r"json: cannot unmarshal \w{1,20} into Go (?:struct field [\w/*\[\]-]{1,100}\.(?P<name>[\w.-]{1,200})|value)"
        r" of type (?P<expected>[\w.*\[\]{} ]{1,80}\w)",
    ),
    ("additionalProperties", rf"json: unknown field {_Q}"),
    (
        "tag",
        r"Key: '(?:[\w\[\]]{1,100}\.)?(?P<name>[\w.\[\]]{1,200})' "
        r"Error:Field validation for '[^'\n]{1,100}' failed on the '(?P<tag>\w{1,40})' tag",
    ),
    ("required", rf"(?:missing|no|empty) required {_ARGUMENT}s?:? {_Q}"),
    ("required", rf"required {_ARGUMENT} {_Q} (?:is |was )?(?:missing|not (?:found|set|provided|specified))"),
    ("type", rf"{_ARGUMENT} {_Q} (?:is not|must be|should be) (?P<expected>an? {_TYPE})\b"),
    ("required", rf"{_ARGUMENT} {_Q} is (?:a )?required\b"),
    ("required", rf"{_NAMED} {_ARGUMENT} (?:is )?(?:required|missing)\b"),
    ("type", rf"{_NAMED} {_ARGUMENT} (?:must|should) be (?P<expected>an? {_TYPE})\b"),
    ("type", rf"unable to parse value for {_Q}: [^\n]{{1,200}}? not type (?P<expected>\"\w{{1,20}}\")"),
    ("required", r"required: missing propert(?:y|ies): \[(?P<names>[^\]\n]{1,500})\]"),
    (
        "type",
        r"validating (?:root|/properties/(?P<name>[\w./-]{1,200})): type: [^\n]{1,300}? has type \"\w{1,20}\","
        r" want (?:one of )?(?P<expected>\"\w{1,20}\"|[\w\", ]{1,100})",
    ),
    ("additionalProperties", r"unexpected additional properties \[(?P<names>[^\]\n]{1,500})\]"),
    ("type", r"strconv\.\w{1,20}: parsing \"[^\"\n]{0,200}\": (?:invalid syntax|value out of range)"),
)
_SERDE: Final = (
    ("required", r"missing field `(?P<name>[^`\n]{1,200})`"),
    ("additionalProperties", rf"unknown field `(?P<name>[^`\n]{{1,200}})`, (?:{_ONE_OF}|there are no fields)"),
    ("enum", rf"unknown variant `[^`\n]{{0,200}}`, (?:{_ONE_OF}|there are no variants)"),
    (
        "type",
        r"(?:(?P<name>[\w.\[\]]{1,200}): )?invalid (?:type|value|length): [^\n]{1,300}?,"
        r" expected (?P<expected>[^\n]{1,200}?)(?= at line \d|[.;]?\s*$|[.;\n])",
    ),
    ("required", r"[Ii]nvalid arguments for [\w.-]{1,80}: (?P<name>[A-Za-z][\w.]{0,80}): required\b"),
    (
        "type",
        r"[Ii]nvalid arguments for [\w.-]{1,80}: (?P<name>[A-Za-z][\w.]{0,80}): expected (?P<expected>[\w ]{1,40}?)"
        r"[;,] got\b",
    ),
    ("additionalProperties", r"duplicate field `(?P<name>[^`\n]{1,200})`"),
)
_SENTENCES: Final = tuple((rule, pattern(form)) for rule, form in (*_JSONSCHEMA, *_AJV, *_GO, *_SERDE))
# A word of each sentence; looking for all of them costs less than trying one of the patterns.
_CHEAP: Final = pattern(
    r"property|properties|is not (?:of type|one of|a '|valid)|was expected|does not match|the (?:min|max)imum of"
    r"|is too "
    r"|should be|must be|must |should |json: |failed on the|required (?:p|a|f|i|o)|arameter|rgument|validating "
    r"|strconv|missing field|unknown (?:field|variant)|invalid (?:type|value|length): |duplicate field|is expected to"
)
_INSTANCE: Final = pattern(r"On instance((?:\[[^\]\n]{1,100}\]){1,20}):")
_BRACKETED: Final = pattern(r"\[([^\]\n]{1,100})\]")
_ROOTS: Final = ("data", "params", "arguments")
_LEAD: Final = pattern(
    r"(?:input )?validation error: |invalid (?:arguments|parameters|params)|failed to (?:parse|deserialize)", IGNORECASE
)


def read(text: str) -> Finding | None:
    text = text[:4_000]
    if _CHEAP.search(text) is None:
        return None
    for rule, form in _SENTENCES:
        if found := form.search(text):
            problems = [
                each for match in islice(form.finditer(text), MOST_FIELDS) for each in _problems(rule, match, text)
            ]
            plain = found.start() == 0 or _LEAD.match(text) is not None
            return invalid(problems, plain=plain)
    return None


def _problems(rule: str | None, match: Any, text: str) -> Iterator[FieldError]:
    found = {name: value for name, value in match.groupdict().items() if value is not None}
    said = clean(match[0]).strip()
    if rule == "tag":
        rule = "required" if found["tag"] == "required" else found["tag"]
    at = path(found.get("at", ""))
    at = at[1:] if at and at[0] in _ROOTS else at
    if not at and (instance := _INSTANCE.search(text)):
        at = path(".".join(part.strip("'\"") for part in _BRACKETED.findall(instance[1])))
    options = quoted(found["options"]) if "options" in found else ()
    expected = found.get("expected")
    expected = expected.replace("'", "").replace('"', "").strip() if expected else None
    names = quoted(found["names"]) if "names" in found else (found["name"],) if "name" in found else ("",)
    for name in names or ("",):
        where = (*at, *(path(name) if "." in name and "tag" not in found else (name,))) if name else at
        yield FieldError(where, said, expected=expected, options=options, rule=rule)


def ajv_errors(data: object) -> Finding | None:
    """The list of errors as ajv itself gives it."""
    if not (isinstance(data, list) and data and all(_is_error(each) for each in data[:MOST_FIELDS])):
        return None
    return invalid(_ajv_problem(each) for each in data[:MOST_FIELDS])


def _is_error(error: object) -> bool:
    return isinstance(error, dict) and isinstance(error.get("keyword"), str) and isinstance(error.get("message"), str)


def _ajv_problem(error: dict[str, Any]) -> FieldError:
    where = path(clean(error.get("instancePath") or error.get("dataPath") or ""))
    given = error.get("params")
    params: dict[str, Any] = given if isinstance(given, dict) else {}
    name = params.get("missingProperty") or params.get("additionalProperty")
    options = params.get("allowedValues")
    return FieldError(
        (*where, clean(name)) if isinstance(name, str) else where,
        clean(error["message"]),
        expected=params["type"] if isinstance(params.get("type"), str) else None,
        options=options[:50] if isinstance(options, list) else (),
        rule=error["keyword"],
    )
