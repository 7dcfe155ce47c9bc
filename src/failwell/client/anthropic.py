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

from .bridge import Bridge, failure

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
    result = _as_json(outcome)
    if isinstance(result, Mapping) and "jsonrpc" in result:
        result = result.get("result", result)
    blocks = result.get("content") if isinstance(result, Mapping) else None
    sent = [_as_json(each) for each in blocks] if isinstance(blocks, (list, tuple)) else None
    if found := failure(outcome):
        listed = {name: each for each in tools if (name := Traits.of(each).name)}
        known = listed.get(tool, tool) if isinstance(tool, str) else tool
        told = Bridge(policy, tools=listed).settle(found, known, arguments)
        rest = [_block(each) for each in told.other_blocks(sent or ()).blocks]
        if told.is_error:
            # An error may have nothing but texts.
            others = "(The server also sent: {}, not shown.)".format
            rest = [each if each["type"] == "text" else _text(others(each["type"])) for each in rest]
        content = [_text(told.text), *rest]
    elif sent is None:
        content = [] if result is None else [_text(result)]
    elif not sent and (structured := result.get("structuredContent", result.get("structured_content"))) is not None:
        content = [_text(structured)]
    else:
        content = [_block(each) for each in sent]
    # The API refuses a text that is empty.
    block["content"] = [each for each in content if each != _text("")]
    if found is not None and told.is_error:
        block["is_error"] = True
    return block


def _as_json(value: Any) -> Any:
    """An object of an SDK as the JSON it stands for."""
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(by_alias=True, mode="json", exclude_none=True)
    # fastmcp's results are plain objects around the blocks of the SDK.
    return vars(value) if hasattr(value, "structured_content") else value


def _block(block: Any) -> Content:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "text":
        return _text(block["text"])
    about = block.get("resource") if kind == "resource" else block if kind == "image" else None
    if isinstance(about, Mapping):
        media, data = about.get("mimeType"), about.get("data" if kind == "image" else "blob")
        shape = "image" if media in _IMAGES else "document" if media == "application/pdf" else None
        if isinstance(data, str) and shape is not None:
            source: Any = {"type": "base64", "media_type": media, "data": data}
            made: Any = {"type": shape, "source": source}
            return made  # type: ignore[no-any-return]
        if isinstance(data, str) and str(media).startswith("text/"):
            return _text(base64.b64decode(data).decode("utf-8", "replace"))
        if isinstance(about.get("text"), str):
            return _text(about["text"])
    # What the API has no block for is shown as it is rather than dropped.
    return _text(block)


def _text(value: object) -> Content:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return {"type": "text", "text": text}


__all__ = ["tool_result_block"]
