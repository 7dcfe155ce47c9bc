"""A size budget per error: structure stays whole, what was cut is said, and what helps recovery is cut last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from failwell.model import Json, NeedsInput, ToolError, pattern

from .fence import CLOSE, OPEN, is_fenced

MAX_CHARS: Final = 8_000
MAX_TOKENS: Final = 2_000

encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_NAMES: Final = ("title", "tool", "action", "tier", "correlation_id", "policy_decision", "format")


def estimate_tokens(text: str) -> int:
    """About how many tokens a model reads: four ASCII characters to one, every other character for itself."""
    if text.isascii():
        return -(-len(text) // 4)
    ascii_count = len(text.encode("ascii", "ignore"))
    return -(-ascii_count // 4) + len(text) - ascii_count


def shorten(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, its beginning and its end, with a word about what is missing."""
    if len(text) <= limit:
        return text
    if is_fenced(text) and limit > len(OPEN) + 12:
        inner = text[len(OPEN) : -len(CLOSE)]
        return f"{OPEN}{' '.join(shorten(inner, limit - len(OPEN) - len(CLOSE)).split())}{CLOSE}"
    marks = list(CUT.finditer(text))
    room = limit - len(cut_mark(len(text) + sum(int(earlier[1]) for earlier in marks)))
    if room < 8:
        return text[: limit - 1] + "…" if limit > 0 else ""
    tail = room // 3
    head, end = text[: room - tail], text[len(text) - tail :]
    # A word about an earlier cut is not cut in half, and what it counts is counted again.
    for earlier in marks:
        if earlier.start() < len(head) < earlier.end():
            head = head[: earlier.start()]
        if earlier.start() < len(text) - len(end) < earlier.end():
            end = text[earlier.end() :]
    # A mask that is cut in half would look like something to mask again.
    if (opened := head.rfind("[", -11)) >= 0 and "]" not in head[opened:]:
        head = head[:opened]
    if (closed := end.find("]", 0, 11)) >= 0 and "[" not in end[:closed]:
        end = end[closed + 1 :]
    # Nor is an escape, of which half would be read with what comes after it.
    head = head[: _escape(text, len(head)).start]
    end = text[_escape(text, len(text) - len(end)).stop :]
    return head + left_out(text[len(head) : len(text) - len(end)]) + end


CUT: Final = pattern(r" …\(([0-9]{1,18}) characters cut\)… ")
# In code and JSON, of which some take two, in addresses, and in markup.
_ESCAPE: Final = pattern(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)"
    r"|%[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3}|%[0-9a-fA-F]{2}|&#?\w{2,8};",
)
_LONGEST_ESCAPE: Final = 12


def _escape(text: str, at: int) -> slice:
    """Where an escape begins and ends that a cut at `at` would part; the place itself where there is none."""
    begin = max(0, at - _LONGEST_ESCAPE)
    while begin and text[begin - 1] == "\\" and at - begin < 100:
        begin -= 1
    for escape in _ESCAPE.finditer(text, begin, at + _LONGEST_ESCAPE):
        if escape.start() < at < escape.end():
            return slice(*escape.span())
    return slice(at, at)


def cut_mark(count: int) -> str:
    return f" …({count} characters cut)… "


def is_cut(value: object) -> bool:
    """Whether something was cut out of a text."""
    return isinstance(value, str) and "characters cut)…" in value


def left_out(gone: str) -> str:
    """The word for what is left out, with what had been left out of it before."""
    return cut_mark(full_length(gone))


def full_length(text: str) -> int:
    """How long a text was before anything was cut out of it."""
    return len(text) + sum(int(earlier[1]) - len(earlier[0]) for earlier in CUT.finditer(text))


def ends(text: str, longest: int) -> str:
    """Both ends of a text that is longer than twice that, with a word about the rest."""
    return text if len(text) <= 2 * longest else text[:longest] + left_out(text[longest:-longest]) + text[-longest:]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How much of each part stays: of the context (details, meta, conflicts, notes, debug), which says least about how
    to go on, and of what does (fields, options, actions, next steps, patch)."""

    context: tuple[int, int] | None
    recovery: tuple[int, int] | None
    message: int | None = None


_PLANS: Final = (
    _Plan((2000, 50), (2000, 100)),
    _Plan((500, 20), (2000, 100)),
    _Plan((120, 10), (2000, 100)),
    _Plan((60, 4), (2000, 100)),
    _Plan(None, (2000, 100)),
    _Plan(None, (500, 30)),
    _Plan(None, (200, 10)),
    _Plan(None, (120, 5)),
    _Plan(None, (80, 2)),
    *(_Plan(None, (80, 2), length) for length in (4000, 2000, 1000, 500)),
    _Plan(None, (60, 1), 300),
    *(_Plan(None, None, length) for length in (200, 120, 80, 60, 40, 30, 20, 12, 8, 4, 2, 1, 0)),
)


def within(error: ToolError, max_chars: int = MAX_CHARS, max_tokens: int = MAX_TOKENS) -> ToolError:
    """`error`, cut by the first plan that makes it fit; the smallest valid error when none does."""
    if _fits(error, max_chars, max_tokens):
        return error
    smallest = error
    for plan in _PLANS:
        smallest = _cut(error, plan)
        if _fits(smallest, max_chars, max_tokens):
            return smallest
    for gone in (("details",), _NAMES, ("suggestion", "http_status", "reset_at")):
        smallest = smallest.replace(**dict.fromkeys(gone))
        if _fits(smallest, max_chars, max_tokens):
            return smallest
    if smallest.is_error:
        smallest = smallest.replace(severity=None)
    # A code that somebody knows decides what an agent does; one that nobody knows is only a name.
    return smallest if smallest.info else smallest.replace(code=None)


def _fits(error: ToolError, max_chars: int, max_tokens: int) -> bool:
    text = encode_json(error.to_dict())
    if error.debug is not None:
        text += encode_json(error.debug)
    return len(text) <= max_chars and estimate_tokens(text) <= max_tokens


def _cut(error: ToolError, plan: _Plan) -> ToolError:
    said: list[str] = []
    changes: dict[str, Any] = _names(error)
    for name in ("details", "meta", "debug"):
        if error.given(name):
            whole = getattr(error, name)
            changes[name] = None if plan.context is None else _trim(whole, *plan.context)
            if changes[name] != whole and plan.context is None:
                said.append(name)
    for name in ("conflicts", "notes"):
        parts = getattr(error, name)
        kept = () if plan.context is None else parts[: plan.context[1]]
        _count(said, name, parts, kept)
        changes[name] = [shorten(note, 200) if isinstance(note, str) else note for note in kept]
    texts, items = plan.recovery or (0, 0)
    for name in ("actions", "next_steps", "patch", "fields"):
        parts = getattr(error, name)
        kept = tuple(part for part in parts[:items] if name == "fields" or len(encode_json(_plain(part))) <= texts + 80)
        _count(said, name, parts, kept)
        changes[name] = [_short_field(part.to_dict(), texts, items) for part in kept] if name == "fields" else kept
    if error.verify is not None and len(encode_json(error.verify.to_dict())) > max(texts, 60) + 80:
        # That the effect is not known followed from there being a call that tells.
        changes |= {"verify": None, "effect": error.effect}
        said.append("verify")
    if plan.message is not None:
        changes["message"] = shorten(error.message, plan.message)
        changes["suggestion"] = shorten(error.suggestion or "", plan.message) or None
    else:
        changes["message"] = shorten(error.message, 6000)
        changes["suggestion"] = shorten(error.suggestion or "", 6000) or None
    if said and (plan.message is None or plan.message >= 60):
        changes["details"] = {**(changes.get("details") or {}), "cut": ", ".join(said)}
    # An answer of no is an answer; anything else that is empty is not there.
    stated = {name: value if value or value is False else None for name, value in changes.items()}
    return error.replace(**{**stated, "message": changes["message"]})


def _names(error: ToolError) -> dict[str, Any]:
    """Names that are no names any more are cut; what followed from a code is stated before the code is."""
    changes: dict[str, Any] = {}
    for name in _NAMES:
        if error.given(name) and len(getattr(error, name)) > 200:
            changes[name] = shorten(getattr(error, name), 200)
    if error.code is not None and len(error.code) > 200:
        changes |= {
            "strategy": error.strategy,
            "effect": error.effect,
            "recoverable": error.recoverable,
            "wire_retryable": error.retryable,
            "code": shorten(error.code, 120),
        }
    return changes


def _count(said: list[str], name: str, parts: tuple[Any, ...], kept: tuple[Any, ...]) -> None:
    if len(kept) < len(parts):
        said.append(f"{len(parts) - len(kept)} of {len(parts)} {name.replace('_', ' ')}")


def _plain(part: Any) -> Json:
    return part.to_dict() if hasattr(part, "to_dict") else part


def _short_field(problem: dict[str, Json], texts: int, items: int) -> dict[str, Json]:
    short = {**problem, "message": shorten(problem["message"], texts)}
    if "sent" in problem:
        short["sent"] = _trim(problem["sent"], min(texts, 200), items)
    if "expected" in problem:
        short["expected"] = shorten(problem["expected"], texts)
    if "options" in problem:
        # Half an option is a wrong one.
        short["options"] = [option for option in problem["options"][: items * 2] if len(encode_json(option)) <= texts]
    return short


def _trim(value: Json, texts: int, items: int) -> Json:
    if isinstance(value, str):
        return shorten(value, texts)
    if isinstance(value, int) and value.bit_length() > 64:
        return shorten(str(value), texts)
    if isinstance(value, dict):
        kept = {shorten(name, texts): _trim(item, texts, items) for name, item in list(value.items())[:items]}
        return kept | ({"…": f"{len(value) - items} more were cut"} if len(value) > items else {})
    if isinstance(value, list):
        kept_items = [_trim(item, texts, items) for item in value[:items]]
        gone: Json = f"{len(value) - items} more were cut"
        # Whoever reads a list of objects finds nothing else in it.
        gone = {"…": gone} if all(isinstance(item, dict) for item in kept_items) else gone
        return [*kept_items, gone] if len(value) > items else kept_items
    return value


def question_within(question: NeedsInput, max_chars: int, max_tokens: int) -> NeedsInput:
    """The same for a question: choices go first, then the fields, then the text."""
    data = question.to_dict()

    def fits() -> bool:
        text = encode_json(data)
        return len(text) <= max_chars and estimate_tokens(text) <= max_tokens

    for items, texts in ((50, 1000), (20, 500), (10, 200), (5, 120), (2, 60), (0, 60), (0, 20), (0, 0)):
        if fits():
            break
        data["message"] = shorten(question.message, max(texts * 4, 40)) + (" …(some choices cut)" if texts else "")
        data["reason"] = shorten(question.reason or "", texts)
        data["fields"] = [shorten(name, 100) for name in question.fields[: max(items, 1)]]
        data["notes"] = [shorten(note, texts) for note in question.notes[:items]]
        data["suggestions"] = {
            shorten(name, 100): [_trim(value, texts, items) for value in values[:items]]
            for name, values in list(question.suggestions.items())[:items]
        }
        data["options"] = [
            option.to_dict() for option in question.options[:items] if len(encode_json(option.to_dict())) <= texts + 80
        ]
        data = {name: value for name, value in data.items() if value}
    return changed_question(question, data)


def changed_question(question: NeedsInput, data: dict[str, Json]) -> NeedsInput:
    if data == question.to_dict():
        return question
    new = NeedsInput(
        data.get("message", ""),
        fields=data.get("fields", ()),
        reason=data.get("reason"),
        suggestions=data.get("suggestions"),
        options=data.get("options", ()),
        notes=data.get("notes", ()),
        format=question.format,
    )
    same = question.__class__.__new__(question.__class__)
    same.__dict__.update({**question.__dict__, **new.__dict__})
    same.args = (new.message,)
    return same
