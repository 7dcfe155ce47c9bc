"""What a call that worked answers: gated as contract 001 has it, or in contract 003's envelope, or with a remark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

from pydantic_core import PydanticSerializationError, to_jsonable_python

from failwell.formats import FORMATS, GATES, META_KEY, pretty, render, success
from failwell.model import unwrapped
from failwell.redact import Guard
from failwell.sdk import GENERATION, CallToolResult, ContentBlock, TextContent, changed, field
from failwell.sdk import result as result_of

from .options import Envelope
from .outputs import writable
from .served_call import BrokenResult, ServedCall, UnwritableResult, current

Gate = Literal["markdown", "json", "both"]
T = TypeVar("T")
_WRAPPED: Final = {"result"}
_STRUCTURED: Final = "structured_content" if GENERATION == 2 else "structuredContent"
_FRAMEWORKS: Final = ("mcp", "mcp_types", "fastmcp", "fastmcp_slim")
_ENVELOPE: Final = frozenset({"success", "data", "error", "meta"})


def reply(
    data: object, *, markdown: str | None = None, meta: Mapping[str, Any] | None = None, gate: Gate | None = None
) -> CallToolResult:
    """The result of a tool that answers people and programs: a text, the data as JSON, or both, as the caller asked.

    The caller asks with the tool's `format` argument, where it offers `markdown`, `json` and `both`; a tool without one
    answers in `markdown`. `meta` is for contract 003: `pagination`, `retry_count`, `provider_backend`, `rollback`.
    """
    if gate is not None and gate not in GATES:
        raise ValueError(f"There is no gate {gate!r}; use 'markdown', 'json' or 'both'.")
    sent = _json(data)
    call = current.get()
    if call is not None:
        call.data, call.meta = (sent,), dict(meta or {})
    if call is not None and gate is None and call.arguments.get("format") in GATES:
        gate = call.arguments["format"]
    said = markdown if markdown is not None else sent if isinstance(sent, str) else _listed(sent)
    people, programs = TextContent(type="text", text=said), TextContent(type="text", text=pretty(sent))
    blocks: dict[str, list[Any]] = {"markdown": [people], "json": [programs], "both": [people, programs]}
    made = result_of(blocks[gate or GATES[0]], structured_content=sent if isinstance(sent, dict) else None)
    if call is not None:
        call.replied = made
        if gate is None and "format" not in call.arguments:
            call.ungated = blocks
    return made


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


def converted(convert: Callable[[Any], T], returned: Any) -> T:
    """What a framework makes of what a tool returned. A failure in that is raised; of data an envelope is to hold just
    this, and not what the framework has made of it."""
    value = unwrapped(returned)
    call = current.get()
    try:
        result = convert(value)
        if call is not None and call.enveloped and value is not call.replied:
            call.data = () if _is_content(value) else (_data(value, getattr(result, _STRUCTURED, None)),)
        return result
    except (PydanticSerializationError, UnwritableResult) as exc:
        raise UnwritableResult(value) from exc
    except Exception as exc:
        # The tool has done its work by now.
        raise BrokenResult(value) from exc


def _is_content(value: object) -> bool:
    """Whether it is for the framework to say what it is: a result, a block, a picture."""
    some = value if isinstance(value, (list, tuple)) else (value,)
    return any(type(each).__module__.partition(".")[0] in _FRAMEWORKS for each in some)


def _data(value: object, held: dict[str, Any] | None) -> Any:
    """The data that a framework has made of a value: what it holds as data, else the value itself."""
    if held is None:
        return _json(value)
    if held.keys() == _WRAPPED:
        # It puts what is no object under this key, and nothing says whether it did.
        raw = to_jsonable_python(value, fallback=str)
        if not isinstance(raw, dict) or raw.keys() != _WRAPPED or held["result"] == raw:
            return _json(held["result"])
    return _json(held)


def _json(value: object) -> Any:
    """A value as JSON, all of it; raises where that cannot be."""
    try:
        data = to_jsonable_python(value, by_alias=True)
        text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    except (PydanticSerializationError, ValueError, RecursionError) as exc:
        raise UnwritableResult(value) from exc
    try:
        text.encode()
    except UnicodeEncodeError:
        return writable(data)
    return data


def envelope_in(call: ServedCall, result: CallToolResult) -> tuple[dict[str, Any] | None, CallToolResult]:
    """The envelope that a tool has made itself, if it has, and the result with just that: contract 003's own functions
    return one, or its text."""
    made = call.data[0] if call.data else None
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    if not isinstance(made, dict) and len(texts) == len(result.content) == 1 and texts[0][:1] == "{":
        made = _read(texts[0])
        return (made if _is_envelope(made) else None), result
    if not _is_envelope(made):
        return None, result
    return made, changed(result, content=[TextContent(type="text", text=pretty(made))])


def _is_envelope(made: Any) -> bool:
    if not isinstance(made, dict) or not made.keys() <= _ENVELOPE or "data" not in made:
        return False
    if made.get("success") is True:
        return made.get("error") is None
    error = made.get("error")
    return made.get("success") is False and isinstance(error, dict) and isinstance(error.get("code"), str)


def enveloped(
    call: ServedCall, result: CallToolResult, envelope: Envelope, output: Mapping[str, Any] | None
) -> CallToolResult:
    """A result in the envelope. What the tool's output schema promises stays in `structuredContent`."""
    texts = [block for block in result.content if isinstance(block, TextContent)]
    rest = [block for block in result.content if not isinstance(block, TextContent)]
    held = field(result, "structured_content")
    if call.data:
        (data,) = call.data
    elif held is not None:
        # FastMCP says in the schema that it has put what is no object under this key.
        data = held["result"] if (output or {}).get("x-fastmcp-wrap-result") and held.keys() == _WRAPPED else held
    else:
        # A text is a text, whatever it looks like.
        data = "\n".join(block.text for block in texts) if texts else None
    wire = success(data, call.meta, **envelope.now(), elapsed_ms=call.elapsed_ms)
    changes: dict[str, Any] = {"content": [TextContent(type="text", text=pretty(wire)), *rest]}
    if output is None:
        changes["structured_content"] = wire
    return changed(result, **changes)


def _read(text: str) -> Any:
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
