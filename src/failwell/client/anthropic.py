"""For the Anthropic API: any outcome of a tool call as the block that answers a `tool_use`.

try:
    outcome = await client.call_tool(block.name, block.input)
except Exception as exc:
    outcome = exc
messages.append({"role": "user", "content": [tool_result_block(block.id, outcome)]})
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from failwell.packages import needed

try:
    from anthropic.types import ImageBlockParam, TextBlockParam, ToolResultBlockParam
    from anthropic.types.tool_result_block_param import Content
except ImportError as problem:
    raise needed(__name__, "anthropic", problem) from None

from failwell.model import Policy, Traits

from .bridge import failure, settle
from .content import beside

_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def tool_result_block(
    tool_use_id: str,
    outcome: object,
    *,
    tool: object = None,
    policy: Policy | None = None,
    arguments: Mapping[str, Any] | None = None,
    tools: Iterable[Any] = (),
) -> ToolResultBlockParam:
    """The block for a result, a value or an exception: content where the call worked, a marked text where it failed,
    and after it what else the server sent.

    `tool` is the tool as the server lists it, or its name: a failure is told differently if the call can be repeated
    safely. `arguments` are what it was called with, and `tools` all that the server lists: one of them may tell whether
    the call was done.

    >>> tool_result_block("toolu_1", ConnectionRefusedError())["is_error"]
    True
    """
    block: ToolResultBlockParam = {"type": "tool_result", "tool_use_id": tool_use_id}
    if found := failure(outcome):
        listed = {name: each for each in tools if (name := Traits.of(each).name)}
        known = listed.get(tool, tool) if isinstance(tool, str) else tool
        told = settle(found, tool=known, policy=policy, arguments=arguments, tools=listed)
        _, blocks = _parts(outcome)
        rest = [_block(each) for each in beside(told.text, blocks or (), told.secrets, in_doubt=told.in_doubt).blocks]
        shown = [_as_text(each) for each in rest] if told.is_error else rest
        block["content"] = [_text(told.text), *_filled(shown)]
        if told.is_error:
            block["is_error"] = True
        return block
    block["content"] = _content(outcome)
    return block


def _content(outcome: object) -> list[Content]:
    result, blocks = _parts(outcome)
    if blocks is None:
        return [] if result is None else [_text(_written(result))]
    if not blocks and (structured := result.get("structuredContent", result.get("structured_content"))) is not None:
        return [_text(_written(structured))]
    return _filled([_block(block) for block in blocks])


def _parts(outcome: object) -> tuple[Any, list[Any] | None]:
    """A result as JSON, and its blocks if it has any."""
    data = _json(outcome)
    result = data.get("result", data) if isinstance(data, Mapping) and "jsonrpc" in data else data
    blocks = result.get("content") if isinstance(result, Mapping) else None
    if not isinstance(blocks, Sequence) or isinstance(blocks, str):
        return result, None
    return result, [_json(block) for block in blocks]


def _filled(blocks: list[Content]) -> list[Content]:
    # The API refuses a text that is empty.
    return [block for block in blocks if block != _text("")]


def _as_text(block: Content) -> Content:
    """A block that an error may have: the API takes only texts."""
    return block if block["type"] == "text" else _text(f"(The server also sent: {block['type']}, not shown.)")


def _json(value: Any) -> Any:
    """An object of an SDK as the JSON it stands for."""
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(by_alias=True, mode="json", exclude_none=True)
    # fastmcp's results are plain objects around the blocks of the SDK.
    return vars(value) if hasattr(value, "structured_content") else value


def _block(block: Any) -> Content:
    make = _BLOCKS.get(block.get("type")) if isinstance(block, Mapping) else None
    found = make(block) if make is not None else None
    # What the API has no block for is shown as it is rather than dropped.
    return found if found is not None else _text(_written(block))


def _text(text: str) -> TextBlockParam:
    return {"type": "text", "text": text}


def _image(data: object, kind: object) -> ImageBlockParam | None:
    if not isinstance(data, str) or kind not in _IMAGES:
        return None
    source: Any = {"type": "base64", "media_type": kind, "data": data}
    return {"type": "image", "source": source}


def _resource(resource: Mapping[str, Any]) -> Content | None:
    kind, blob = resource.get("mimeType"), resource.get("blob")
    if kind == "application/pdf" and isinstance(blob, str):
        return {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": blob}}
    if image := _image(blob, kind):
        return image
    text = resource.get("text")
    if not isinstance(text, str) and isinstance(blob, str) and str(kind).startswith("text/"):
        text = base64.b64decode(blob).decode("utf-8", "replace")
    return _text(text) if isinstance(text, str) else None


_BLOCKS: Final[dict[Any, Callable[[Mapping[str, Any]], Content | None]]] = {
    "text": lambda block: _text(block["text"]),
    "image": lambda block: _image(block.get("data"), block.get("mimeType")),
    "resource": lambda block: _resource(block.get("resource", {})),
}


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


__all__ = ["tool_result_block"]
