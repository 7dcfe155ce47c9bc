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
from collections.abc import Iterable, Mapping
from typing import Any, Final

from failwell.packages import needed

try:
    from anthropic.types import ToolResultBlockParam
    from anthropic.types.tool_result_block_param import Content
except ImportError as problem:
    raise needed(__name__, "anthropic", problem) from None

from failwell.model import Policy, Traits

from .bridge import Bridge, as_json, failure

_NOT_SHOWN: Final = "(The server also sent: {}, not shown.)"
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

    tool: the tool as the server lists it, or its name. arguments: what it was called with. tools: all that the server
    lists; one of them may tell whether the call was done.

    >>> tool_result_block("toolu_1", ConnectionRefusedError())["is_error"]
    True
    """
    result, failed = as_json(outcome), False
    if isinstance(result, Mapping) and "jsonrpc" in result:
        result = result.get("result", result)
    blocks = result.get("content") if isinstance(result, Mapping) else None
    sent = [as_json(each) for each in blocks] if isinstance(blocks, (list, tuple)) else None
    found = failure(outcome)
    if found is not None:
        listed = {name: each for each in tools if (name := Traits.of(each).name)}
        known = listed.get(tool, tool) if isinstance(tool, str) else tool
        told = Bridge(policy, tools=listed).settle(found, known, arguments)
        content = [_text(told.text), *map(_block, told.other_blocks(sent or ()).blocks)]
        if failed := told.is_error:
            # An error may have nothing but texts.
            content = [each if each["type"] == "text" else _text(_NOT_SHOWN.format(each["type"])) for each in content]
    elif sent:
        content = [_block(each) for each in sent]
    else:
        # A value, or a result that has nothing but that.
        value = result if sent is None else result.get("structuredContent", result.get("structured_content"))
        content = [] if value is None else [_text(value)]
    # The API refuses a text that is empty.
    content = [each for each in content if each != _text("")]
    block: ToolResultBlockParam = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
    return {**block, "is_error": True} if failed else block


def _block(block: Any) -> Content:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "text":
        return _text(block["text"])
    about = block.get("resource") if kind == "resource" else block if kind == "image" else None
    if isinstance(about, Mapping):
        media, data = about.get("mimeType"), about.get("data" if kind == "image" else "blob")
        shape = "image" if media in _IMAGES else "document" if media == "application/pdf" else None
        if isinstance(data, str) and shape is not None:
            made: Any = {"type": shape, "source": {"type": "base64", "media_type": media, "data": data}}
            return made  # type: ignore[no-any-return]
        if isinstance(data, str) and str(media).startswith("text/"):
            return _text(base64.b64decode(data).decode("utf-8", "replace"))
    # What the API has no block for is shown as it is rather than dropped.
    shown = about.get("text") if isinstance(about, Mapping) else None
    return _text(shown if isinstance(shown, str) else block)


def _text(value: object) -> Content:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return {"type": "text", "text": text}


__all__ = ["tool_result_block"]
