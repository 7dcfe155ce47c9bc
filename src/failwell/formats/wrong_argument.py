"""What is wrong with one argument, in one short sentence, and what belongs in its place.

Contract 002's sentences about an argument are for `xml`. A model does better with these: they say what the argument
must be, and not again what was sent, which a small model would only repeat.
"""

from __future__ import annotations

import json
import re
from typing import Final

from failwell.model import UNSET, FieldError, Json, Path, compact, place_of
from failwell.schema import ranked

# Of the options that are repeated in a placeholder.
_LONGEST_LIST: Final = 80
_LONGEST_NEED: Final = 120
# How near an option has to be to stand first: a small model takes the first one.
_LIKELY: Final = 0.5
_TYPES: Final = {
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_MISSING: Final = frozenset({"required", "missing"})
_UNEXPECTED: Final = frozenset(
    {
        *("unexpected_keyword_argument", "extra_forbidden", "unknown"),
        *("Unexpected keyword argument", "Extra inputs are not permitted", "Unknown argument"),
    }
)
_STRANGE: Final = frozenset({"additionalProperties", "unevaluatedProperties", "unrecognized_keys"})
# What is expected, as contract 002 says it, and as it goes on after "must".
_EXPECTED: Final = tuple(
    (re.compile(form), need)
    for form, need in (
        (r"Minimum length: (.+)\.", "have at least {}"),
        (r"Maximum length: (.+)\.", "have at most {}"),
        (r"Minimum (.+)\.", "have at least {}"),
        (r"Maximum (.+)\.", "have at most {}"),
        (r"Must be >= (.+)\.", "be at least {}"),
        (r"Must be <= (.+)\.", "be at most {}"),
        (r"Must be > (.+)\.", "be more than {}"),
        (r"Must be < (.+)\.", "be less than {}"),
        (r"Must (.+)\.", "{}"),
        (r"Expected exactly: (.+)\.", "be {}"),
        (r"Each item must be unique\.", "have each item only once"),
    )
)
# The same for what validators say by themselves.
_SAID: Final = tuple(
    (re.compile(form, re.IGNORECASE), need)
    for form, need in (
        (r"(?:string|array|object|number|value|input|it|this)?\s*(?:must|should|has to|needs to) ([^.]+)\.?", "{}"),
        (r"ensure this value (.+)", "{}"),
    )
)
# The only thing that may stand there: a text about it in its place would be sent as a text.
_EXACTLY_SAID: Final = "Expected exactly: "
_EXACTLY: Final = re.compile(r"Expected exactly: (true|false|-?\d{1,15}|\"[^\"\\]{1,100}\")\.")
_TYPE_SAID: Final = "Expected type: "
_TYPE: Final = re.compile(r"Expected type: (.+)\.|Expected ([^,]+), received .*", re.DOTALL)
_ALTERNATIVES: Final = re.compile(r"Invalid \w+ value\. Expected (.+?)(?:, received .*)?", re.DOTALL)
_BARE: Final = re.compile(r"[\w./:@+-]{1,60}")
_QUOTED: Final = re.compile(r"'([^'\n]{1,100})'|\"([^\"\n]{1,100})\"")
# What Pydantic says after this is what it found instead, not what it wants.
_FOUND: Final = re.compile(r"^(be a valid URL), (.+)$")
_FOUND_SAID: Final = "be a valid URL, "
_ARTICLE: Final = re.compile(r"^(?:a|an|the) ")


def ordered(problem: FieldError) -> FieldError:
    """The problem with its likeliest option first, for whoever asks for more than one of the words below."""
    options = _likeliest_first(problem) if isinstance(problem.sent, str) else ()
    if len(options) < 2:
        return problem
    return FieldError(problem.path, problem.message, UNSET, problem.expected, options, problem.rule)


def reason(problem: FieldError) -> str:
    """What is wrong with an argument.

    >>> reason(FieldError("status", "Invalid enum value", "opne", options=["closed", "open"], rule="enum"))
    'status must be one of open, closed'
    """
    name = place_of(problem.path)
    if strange := strange_names(problem):
        place = place_of(holder_of(problem))
        holder = f" in {place}" if place else ""
        listed = ", ".join(strange)
        there_is = "There is no argument" if len(strange) == 1 else "There are no arguments"
        return f"{there_is} {listed}{holder}"
    if is_missing(problem):
        lack = f"{name or 'An argument'} is missing"
        need = _need(problem, _likeliest_first(problem)) if problem.options else None
        return f"{lack}: it must {need}" if need else lack
    need = _need(problem, _likeliest_first(problem))
    if need:
        return f"{name or 'The call'} must {need}"
    if not name or problem.message.startswith(f"{name} "):
        return problem.message
    return f"{name}: {problem.message}" if problem.message else f"{name} is not valid"


def placeholder(problem: FieldError) -> Json:
    """What stands in the next call where nobody knows the value: a word that says what belongs there, or the only thing
    that may stand there.

    >>> placeholder(FieldError("limit", "Expected integer, received string", "ten", "Expected type: integer."))
    '<integer>'
    """
    if options := _likeliest_first(problem):
        return f"<one of {_listed(options, _LONGEST_LIST)}>"
    expected = problem.expected or ""
    if expected.startswith(_EXACTLY_SAID) and (exactly := _EXACTLY.fullmatch(expected)):
        only: Json = json.loads(exactly[1])
        return only
    need = _need(problem, options)
    name = next((step for step in reversed(problem.path) if isinstance(step, str)), "argument")
    unknown = f"<{name}>" if is_missing(problem) else f"<corrected {name}>"
    if need is None:
        return unknown
    verb, _, rest = need.partition(" ")
    belongs = _ARTICLE.sub("", rest, count=1) if verb in ("be", "have", "contain") else f"something to {need}"
    belongs = belongs.replace("something to match the pattern ", "text that matches ")
    belongs = belongs.replace("something to not be ", "not ")
    # Of what stands in brackets only an example helps.
    belongs = belongs if "(e.g. " in belongs else belongs.partition(" (")[0]
    return f"<{belongs}>" if len(belongs) <= _LONGEST_NEED else unknown


def is_missing(problem: FieldError) -> bool:
    return problem.rule in _MISSING


def strange_names(problem: FieldError) -> list[str]:
    """The names that a tool does not have, where the problem is about those; they stand in what `holder_of` names."""
    if problem.rule in _STRANGE and (named := _QUOTED.findall(problem.message)):
        return [single or double for single, double in named]
    return [str(problem.path[-1])] if _is_unexpected(problem) else []


def holder_of(problem: FieldError) -> Path:
    """Where strange names stand."""
    return problem.path[:-1] if _is_unexpected(problem) else problem.path


def _is_unexpected(problem: FieldError) -> bool:
    """Whether the problem is put at the strange name itself, as pydantic does it."""
    return bool(problem.path) and (problem.rule in _UNEXPECTED or problem.message in _UNEXPECTED)


def _need(problem: FieldError, options: list[Json]) -> str | None:
    """How the sentence goes on that begins with the argument and "must"."""
    expected, said = problem.expected or "", problem.message
    if options:
        return f"be {_written(options[0])}" if len(options) == 1 else f"be one of {_listed(options)}"
    if expected.startswith(_TYPE_SAID):
        # None of the other forms begins so.
        need = _of_type(expected, said)
    else:
        need = _worded(_EXPECTED, expected, said) or _of_type(expected, said)
    need = need or _worded(_SAID, said, said)
    return _FOUND.sub(r"\1 (found: \2)", need) if need is not None and need.startswith(_FOUND_SAID) else need


def _worded(forms: tuple[tuple[re.Pattern[str], str], ...], words: str, said: str) -> str | None:
    for form, need in forms if words else ():
        if (found := form.fullmatch(words)) is not None:
            told = need.format(*found.groups()).replace("(s)", "s")
            if told.startswith("have at ") and "exactly" in said:
                told = re.sub("at (?:least|most)", "exactly", told, count=1)
            return told
    return None


def _of_type(expected: str, said: str) -> str | None:
    if (found := _TYPE.fullmatch(expected) or _TYPE.fullmatch(said)) is not None:
        return f"be {_typed(found[1] or found[2])}"
    return f"be {_typed(expected)}" if expected and not expected.endswith(".") else None


def _typed(label: str) -> str:
    """The types in words, with what more is said of one: `object with a`."""
    if label in _TYPES:
        return _TYPES[label]
    parts = [name.partition(" ") for name in label.split(" | ")]
    return " or ".join(f"{_TYPES.get(kind, kind)}{space}{more}" for kind, space, more in parts)


def _likeliest_first(problem: FieldError) -> list[Json]:
    options: list[Json] = list(problem.options) or _alternatives(problem)
    if not isinstance(problem.sent, str) or len(options) < 2:
        return options
    near = ranked(problem.sent, [option for option in options if isinstance(option, str)], _LIKELY)
    return [*near, *(option for option in options if option not in near)]


def _alternatives(problem: FieldError) -> list[Json]:
    """The options that stand only in the words: `'a' | 'b'`."""
    said = f"{problem.expected}{problem.message}"
    if "'" not in said and '"' not in said:
        return []
    found = _TYPE.fullmatch(problem.expected or "") or _ALTERNATIVES.fullmatch(problem.message)
    listed = (found[1] or "").split(" | ") if found is not None else []
    quoted = [_QUOTED.fullmatch(each) for each in listed]
    return [each[1] or each[2] for each in quoted if each] if all(quoted) else []


def _listed(options: list[Json], longest: int = 2_000) -> str:
    listed = ""
    for option in options:
        more = f"{listed}, {_written(option)}" if listed else _written(option)
        if len(more) > longest and listed:
            return f"{listed}, …"
        listed = more
    return listed


def _written(option: Json) -> str:
    return option if isinstance(option, str) and _BARE.fullmatch(option) else compact(option)
