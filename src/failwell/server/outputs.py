"""Results that cannot leave as they are: too long for whoever reads them, with text that cannot be written, or errors
with secrets in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import is_
from typing import Any, Final

from failwell.formats import pretty
from failwell.model import ToolError, text
from failwell.redact import Guard, masked, shorten
from failwell.schema import Checker, properties_of
from failwell.sdk import CallToolResult, ContentBlock, TextContent, changed, field

from .served_call import ServedCall

# How long texts and how many items stay, from what hardly shows to what is hardly left.
_PLANS: Final = ((4000, 500), (2000, 200), (1000, 100), (500, 50), (200, 20), (100, 10), (60, 5), (40, 2), (20, 1))
_DEEPEST: Final = 40
# Arguments by which tools usually let themselves be asked for less.
_LESS: Final = (
    *("limit", "max_results", "page_size", "per_page", "count", "top_k", "offset", "page", "cursor"),
    *("start", "end", "filter", "filters", "query", "fields", "select"),
)


def worded(said: str, promised: Checker) -> dict[str, Any] | None:
    """What a tool returns that has nothing but a remark to say: the text in the place that its output schema has for
    one, else the least that the schema allows. None where it wants to see data."""
    least: tuple[dict[str, Any], ...] = ({"result": said}, {"result": None}, {}, {"result": []}, {"result": {}})
    return next((content for content in least if promised.fits(content)), None)


def is_writable(result: Any) -> bool:
    """Whether the texts of a result can be written. A file's name may hold half of a character, and whoever writes that
    to a pipe takes the whole server down."""
    content = getattr(result, "content", None)
    for block in content if isinstance(content, list) else ():
        said = getattr(block, "text", None)
        if type(said) is not str:
            continue
        if not said.isascii():
            try:
                said.encode()
            except UnicodeEncodeError:
                return False
        elif "\\ud" in said and getattr(block, "type", None) == "text":
            # Escaped it can be written, but beside it stands the same as data.
            held = field(result, "structured_content")
            return bool(writable(held) == held)
    return True


def written(result: CallToolResult) -> CallToolResult:
    """A result whose texts can be written: with a replacement character for each half of one."""
    content = [
        block.model_copy(update={"text": text(block.text)}) if isinstance(block, TextContent) else block
        for block in result.content
    ]
    return changed(result, content=content, structured_content=writable(field(result, "structured_content")))


def writable(value: Any) -> Any:
    """Data whose texts can be written."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {writable(name): writable(item) for name, item in value.items()}
    return [writable(item) for item in value] if isinstance(value, list) else value


def discreet(result: CallToolResult, guard: Guard) -> CallToolResult:
    """An error that a tool has built itself, without the secrets in it; the very same if there are none."""
    content = [_discreet(block, guard) for block in result.content]
    changes: dict[str, Any] = {} if all(map(is_, content, result.content)) else {"content": content}
    for name in ("structured_content", "meta"):
        held = field(result, name)
        if held is not None and (told := masked(held, redact=guard.redact)) != held:
            changes[name] = told
    return changed(result, **changes) if changes else result


def _discreet(block: Any, guard: Guard) -> ContentBlock:
    held = block.model_dump(by_alias=True, mode="json", exclude_none=True)
    told = masked(held, redact=guard.redact)
    if told == held:
        return block  # type: ignore[no-any-return]
    try:
        return type(block).model_validate(told)  # type: ignore[no-any-return]
    except ValueError:
        # Without its password an address may be none.
        return TextContent(type="text", text=guard.redact.mask)


def fitted(
    call: ServedCall, result: CallToolResult, most: int, schema: Mapping[str, Any] | None, structured: bool
) -> Any:
    """The result in about `most` characters; itself if it fits. What an output schema promises is never cut."""
    texts = [block for block in result.content if isinstance(block, TextContent)]
    total = sum(len(block.text) for block in texts)
    if total <= most:
        return result
    share = most // len(texts)
    content = [
        block.model_copy(update={"text": _short(block.text, share)}) if isinstance(block, TextContent) else block
        for block in result.content
    ]
    changes: dict[str, Any] = {"content": content}
    held = field(result, "structured_content")
    if held is not None and not structured:
        changes["structured_content"] = pruned(held, most)
    if call.data:
        call.data = (pruned(call.data[0], most),)
    call.remarks += (_remark(total, most, schema),)
    return changed(result, **changes)


def _remark(total: int, most: int, schema: Mapping[str, Any] | None) -> ToolError:
    known = properties_of(schema)
    offered = [name for name in _LESS if name in known]
    how = f"use {' or '.join(offered[:3])}" if offered else "ask for a part of it"
    return ToolError(
        f"The output had {total} characters and was cut to about {most}.",
        code="OUTPUT_CUT",
        kind="validation",
        severity="warning",
        suggestion=f"To see the rest, {how}.",
        details={"characters": total, "max_output": most},
    )


def _short(said: str, limit: int) -> str:
    if len(said) <= limit:
        return said
    if said.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(said)
        except (ValueError, RecursionError):
            return shorten(said, limit)
        encode = pretty if "\n" in said else json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        return encode(pruned(value, limit))
    return shorten(said, limit)


def pruned(value: Any, limit: int) -> Any:
    """JSON data in about `limit` characters: long texts lose their middle, long lists and objects their end."""
    cut = value
    for longest, most in _PLANS:
        cut = _prune(value, longest, most, _DEEPEST)
        if len(json.dumps(cut, ensure_ascii=False)) <= limit:
            break
    return cut


def _prune(value: Any, longest: int, most: int, depth: int) -> Any:
    if isinstance(value, str):
        return shorten(value, longest)
    if depth == 0 and isinstance(value, (dict, list)):
        return f"({len(value)} more)"
    if isinstance(value, dict):
        kept = {name: _prune(item, longest, most, depth - 1) for name, item in list(value.items())[:most]}
        return kept if len(value) <= most else {**kept, "…": f"{len(value) - most} more"}
    if isinstance(value, list):
        items = [_prune(item, longest, most, depth - 1) for item in value[:most]]
        return items if len(value) <= most else [*items, f"…({len(value) - most} more)"]
    return value
