"""A size budget per error: structure stays whole, what was cut is said, and what helps recovery is cut last."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from failwell.model.error import ToolError
from failwell.model.plain import Json

MAX_CHARS: Final = 8_000
MAX_TOKENS: Final = 2_000

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


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
    mark = f" …[{len(text) - limit} characters cut]… "
    room = limit - len(mark)
    if room < 8:
        return text[: max(limit - 1, 0)] + "…" if limit > 0 else ""
    tail = room // 3
    return text[: room - tail] + mark + (text[-tail:] if tail else "")


def within(error: ToolError, max_chars: int = MAX_CHARS, max_tokens: int = MAX_TOKENS) -> ToolError:
    """`error`, cut step by step until it fits; the smallest valid error when nothing else does."""

    def fits(candidate: ToolError) -> bool:
        text = _encode(candidate.to_dict(provenance=False))
        return len(text) <= max_chars and estimate_tokens(text) <= max_tokens

    if fits(error):
        return error
    for step in _STEPS:
        error = step(error)
        if fits(error):
            return error
    # The rest is message and suggestion: they share what is left, by halves.
    for length in _lengths(min(max_chars, max_tokens * 4)):
        error = error.replace(
            message=shorten(error.message, length),
            suggestion=shorten(error.suggestion, length) if error.suggestion else None,
        )
        if fits(error):
            return error
    for name in _LAST:
        error = error.replace(**{name: None})
        if fits(error):
            return error
    return error


def _lengths(start: int) -> list[int]:
    lengths = []
    while start > 16:
        start //= 2
        lengths.append(start)
    return lengths


def _limit(texts: int, items: int) -> Callable[[ToolError], ToolError]:
    """Cuts the context: long texts to `texts` characters, long lists to `items` entries."""

    def step(error: ToolError) -> ToolError:
        changes: dict[str, Any] = {}
        for name in ("details", "meta"):
            if error.given(name):
                changes[name] = _trim(dict(getattr(error, name)), texts, items)
        if error.fields:
            kept = [
                {**problem.to_dict(), **_trim_field(problem.to_dict(), texts, items)}
                for problem in error.fields[:items]
            ]
            if len(error.fields) > items:
                kept.append({"path": [], "message": f"{len(error.fields) - items} more problems were cut."})
            changes["fields"] = kept
        for name in ("actions", "conflicts"):
            parts = getattr(error, name)
            if parts:
                changes[name] = [_trim(part.to_dict(), texts, items) for part in parts[:items]]
        if error.next_steps:
            changes["next_steps"] = [shorten(line, texts) for line in error.next_steps[:items]]
        return error.replace(**changes)

    return step


def _trim_field(problem: dict[str, Json], texts: int, items: int) -> dict[str, Json]:
    return {name: _trim(value, texts, items) for name, value in problem.items() if name != "path"}


def _trim(value: Json, texts: int, items: int) -> Json:
    if isinstance(value, str):
        return shorten(value, texts)
    if isinstance(value, dict):
        kept = {shorten(name, texts): _trim(item, texts, items) for name, item in list(value.items())[:items]}
        if len(value) > items:
            kept["…"] = f"{len(value) - items} more were cut"
        return kept
    if isinstance(value, list):
        kept_items = [_trim(item, texts, items) for item in value[:items]]
        return kept_items + ([f"{len(value) - items} more were cut"] if len(value) > items else [])
    return value


def _without(*names: str) -> Callable[[ToolError], ToolError]:
    def step(error: ToolError) -> ToolError:
        gone = [name for name in names if error.given(name)]
        if not gone:
            return error
        error = error.replace(**dict.fromkeys(gone))
        said = f"{', '.join(gone)} cut: too large"
        return error.replace(details={"cut": said}) if "details" in gone else error.with_details(cut=said)

    return step


def _short_texts(length: int) -> Callable[[ToolError], ToolError]:
    names = ("code", "title", "tool", "action", "tier", "correlation_id", "policy_decision")

    def step(error: ToolError) -> ToolError:
        long = {name: shorten(getattr(error, name), length) for name in names if error.given(name)}
        return error.replace(**{name: value for name, value in long.items() if value != getattr(error, name)})

    return step


# What says least about how to go on goes first.
_STEPS: Final[tuple[Callable[[ToolError], ToolError], ...]] = (
    _limit(2000, 50),
    _limit(500, 20),
    _limit(120, 10),
    _short_texts(120),
    _limit(60, 5),
    _without("meta", "details", "conflicts"),
    _limit(60, 3),
    _without("next_steps", "patch", "verify"),
    _without("fields", "actions"),
)
_LAST: Final = (
    "details", "title", "tool", "action", "tier", "correlation_id", "policy_decision", "http_status", "reset_at",
    "suggestion", "severity", "retry_after", "code",
)  # fmt: skip
