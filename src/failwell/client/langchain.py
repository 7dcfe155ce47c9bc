"""For LangChain: tools whose failures come back as a `ToolMessage` with `status="error"` that the model can act on.

tools = recovering(tools)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from failwell.packages import needed

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import Field, ValidationError
except ImportError as problem:
    raise needed(__name__, "langchain", problem) from None

from failwell.model import NeedsInput, Policy, ToolError
from failwell.observe import Events
from failwell.readers import chain, exc_text, from_pydantic, read

from .bridge import ORIGINAL, Bridge, RenderedFailure, failure

T = TypeVar("T", bound="BaseTool | Sequence[BaseTool]")
_COPIED: Final = frozenset(BaseTool.model_fields) - {"handle_tool_error", "handle_validation_error", "args_schema"}


def recovering(tool: T, *, policy: Policy | None = None, events: Events | None = None) -> T:
    """The tool, with failures that are waited out where that is safe, and told to the model where it is not.

    What a server answered is read from the tool's artifact. All the tools of a server belong in one list: then a call
    that may have been done is told with the one that would tell.
    """
    tools: list[BaseTool] = [tool] if isinstance(tool, BaseTool) else [*tool]
    bridge, made = Bridge(policy, tools={each.name: listed_tool(each) for each in tools}, events=events), []
    for each in tools:
        fields = {name: getattr(each, name) for name in _COPIED}
        made.append(_Recovering(**fields, args_schema=each.args_schema, tool=each, bridge=bridge))
    found: Any = made[0] if isinstance(tool, BaseTool) else made
    return found  # type: ignore[no-any-return]


class _Recovering(BaseTool):
    tool: BaseTool
    bridge: Any = Field(exclude=True, repr=False)

    @property
    def tool_call_schema(self) -> Any:
        return self.tool.tool_call_schema

    def get_input_schema(self, config: Any = None) -> Any:
        return self.tool.get_input_schema(config)

    def run(self, tool_input: str | dict[str, Any], *args: Any, **options: Any) -> Any:
        call, how = self._call(tool_input, options.get("tool_call_id"))
        return call.attempt_sync(lambda: self.tool.run(tool_input, *args, **options), **how)

    async def arun(self, tool_input: str | dict[str, Any], *args: Any, **options: Any) -> Any:
        call, how = self._call(tool_input, options.get("tool_call_id"))
        return await call.attempt(lambda: self.tool.arun(tool_input, *args, **options), **how)

    def _run(self, *args: Any, **options: Any) -> Any:
        return self.tool._run(*args, **options)

    def _call(self, given: str | dict[str, Any], call_id: str | None) -> tuple[Any, dict[str, Any]]:
        schema, arguments = self.tool.args_schema, given if isinstance(given, Mapping) else None
        listed = self.bridge.tools.get(self.name) or listed_tool(self.tool)
        call = self.bridge.call(listed, {"": given} if arguments is None else arguments)

        def translate(exc: Exception) -> Exception:
            if isinstance(exc, ValidationError) and isinstance(schema, type) and exc.title == schema.__name__:
                return from_pydantic(exc, tool=self.name, schema=listed.get("inputSchema"), arguments=arguments)
            is_stated = any(isinstance(each, (ToolError, NeedsInput)) for each in chain(exc))
            if not isinstance(exc, ToolException) or is_stated:
                return exc
            # The words of whoever wrote the tool, for the model.
            text = exc_text(exc)
            return read({"content": [{"type": "text", "text": text}], "isError": True}) or ToolError(text)

        def told(failed: RenderedFailure) -> Any:
            text, last, status = failed.text, call.value, "error" if failed.is_error else "success"
            if isinstance(last, ToolMessage):
                rest = failed.other_blocks(_blocks(last))
                more = {**last.additional_kwargs, **({} if rest.original is None else {ORIGINAL: rest.original})}
                content: Any = [{"type": "text", "text": text}, *rest.blocks] if rest.blocks else text
                return last.model_copy(update={"content": content, "status": status, "additional_kwargs": more})
            # Without an id nobody called it as a model does, and there is no message to mark.
            return text if call_id is None else ToolMessage(text, name=self.name, tool_call_id=call_id, status=status)

        return call, {"told": told, "answer": _answer, "translate": translate, "passes": _is_no_failure}


def _answer(result: Any) -> object:
    """What the tool's server said, where what a tool returned holds that."""
    if not isinstance(result, ToolMessage):
        return result
    is_held = hasattr(result.artifact, "content") and failure(result.artifact)
    return result.artifact if is_held else {"content": _blocks(result), "isError": result.status == "error"}


def _blocks(message: ToolMessage) -> list[dict[str, Any]]:
    content = message.content if isinstance(message.content, list) else [message.content]
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]


def _is_no_failure(exc: Exception) -> bool:
    # A tool that cannot be called this way, and what LangGraph says by exceptions: interrupts, and the like.
    return isinstance(exc, NotImplementedError) or any(base.__name__ == "GraphBubbleUp" for base in type(exc).__mro__)


def listed_tool(tool: BaseTool) -> dict[str, Any]:
    """A tool as MCP lists it, with its schema. Adapters put the annotations of MCP into its metadata."""
    metadata = tool.metadata or {}
    described = {"name": tool.name, "annotations": metadata.get("annotations") or metadata}
    try:
        schema: Any = tool.tool_call_schema
        return {**described, "inputSchema": schema if isinstance(schema, dict) else schema.model_json_schema()}
    except Exception:
        # A schema that cannot be written is not needed to call the tool, only to propose it.
        return described


__all__ = ["recovering"]
