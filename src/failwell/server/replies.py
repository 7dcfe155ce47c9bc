"""What a call that worked answers: gated as contract 001 has it, or in contract 003's envelope, or with a remark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from failwell.formats import FORMATS, GATES, META_KEY, pretty, render, success
from failwell.model import plain
from failwell.redact import Guard
from failwell.sdk import CallToolResult, ContentBlock, TextContent, changed, field
from failwell.sdk import result as result_of

from .envelopes import Envelope
from .served_call import ServedCall, current

Gate = Literal["markdown", "json", "both"]
_WRAPPED: Final = {"result"}


def reply(
    data: object, *, markdown: str | None = None, meta: Mapping[str, Any] | None = None, gate: Gate | None = None
) -> CallToolResult:
    """The result of a tool that answers people and programs: a text, the data as JSON, or both, as the caller asked.

    The caller asks with the tool's `format` argument, where it offers `markdown`, `json` and `both`; a tool without one
    answers in `markdown`. `meta` is for contract 003: `pagination`, `retry_count`, `provider_backend`, `rollback`.
    """
    if gate is not None and gate not in GATES:
        raise ValueError(f"There is no gate {gate!r}; use 'markdown', 'json' or 'both'.")
    sent = plain(data)
    call = current.get()
    if call is not None:
        call.data, call.meta = (sent,), dict(meta or {})
        if gate is None and isinstance(call.arguments.get("format"), str):
            asked = call.arguments["format"]
            gate = asked if asked in GATES else None
    chosen = gate or GATES[0]
    texts = []
    if chosen != "json":
        texts.append(markdown if markdown is not None else sent if isinstance(sent, str) else _listed(sent))
    if chosen != "markdown":
        texts.append(pretty(sent))
    return result_of(
        [TextContent(type="text", text=text) for text in texts],
        structured_content=sent if isinstance(sent, dict) else None,
    )


def tool_result(
    content: str | ContentBlock | Sequence[ContentBlock] | Mapping[str, Any],
    *,
    is_error: bool = False,
    meta: Mapping[str, Any] | None = None,
) -> CallToolResult:
    """Contract 004's `format_tool_result`: a text, a block or several, with `isError` and `_meta`."""
    several = isinstance(content, Sequence) and not isinstance(content, str)
    blocks = [
        TextContent(type="text", text=each) if isinstance(each, str) else each
        for each in (content if several else [content])
    ]
    return result_of(blocks, is_error=is_error, meta=dict(meta) if meta else None)


def _listed(value: Any) -> str:
    """Data for people, where the tool has no words of its own."""
    if isinstance(value, dict):
        return "\n".join(f"- **{name}**: {_inline(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "\n".join(f"- {_inline(item)}" for item in value)
    return _inline(value)


def _inline(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def enveloped(call: ServedCall, result: CallToolResult, envelope: Envelope, structured: bool) -> CallToolResult:
    """A result in the envelope. What the tool's output schema promises stays in `structuredContent`."""
    texts = [block for block in result.content if isinstance(block, TextContent)]
    rest = [block for block in result.content if not isinstance(block, TextContent)]
    data = call.data[0] if call.data else _data(result, texts)
    wire = success(data, call.meta, **envelope.now(), elapsed_ms=call.elapsed_ms)
    changes: dict[str, Any] = {"content": [TextContent(type="text", text=pretty(wire)), *rest]}
    if not structured:
        changes["structured_content"] = wire
    return changed(result, **changes)


def _data(result: CallToolResult, texts: list[TextContent]) -> Any:
    held = field(result, "structured_content")
    text = "\n".join(block.text for block in texts)
    read = _value(text)
    if held is not None:
        # A framework puts what is no object under this key; the text shows whether it did.
        return held["result"] if held.keys() == _WRAPPED and read != held else held
    # A framework makes a block of each item of a list.
    items = [_value(block.text) for block in texts] if read is None else []
    if items and all(isinstance(item, (dict, list)) for item in items):
        return items
    # A text is a text, and "1.10" no number.
    return read if isinstance(read, (dict, list)) else text or None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def remarked(call: ServedCall, result: CallToolResult, guard: Guard, format: str) -> CallToolResult:
    """The result with what there is to say about the call beside it: in words, or as contract 002 has remarks."""
    format = format if FORMATS[format].remarks else "text"
    remarks = [guard(remark) for remark in call.remarks]
    # Nothing about how to call again: the call worked.
    texts = [render(remark.replace(fields=(), patch=()), format, guard=None) for remark in remarks]
    content = [*result.content, *(TextContent(type="text", text=text) for text in texts)]
    meta = {**(result.meta or {}), META_KEY: remarks[0].to_dict()}
    return changed(result, content=content, meta=meta)
