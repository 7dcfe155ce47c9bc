"""For LangChain: tools whose failures come back as a `ToolMessage` with `status="error"` that the model can act on.

tools = recovering(tools)

@tool
def find_user(id: int) -> str: ...

find_user.handle_tool_error = find_user.handle_validation_error = tell
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

from failwell.packages import needed

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import PrivateAttr, ValidationError
except ImportError as problem:
    raise needed(__name__, "langchain", problem) from None

from failwell.formats import Outcome
from failwell.model import NeedsInput, Policy, ToolError
from failwell.observe import Events
from failwell.readers import chain, from_pydantic, read, said

from .bridge import Bridge, Course, Told, attempted, attempted_sync, failure, raised, settle
from .content import ORIGINAL, beside

if TYPE_CHECKING:
    # Older versions do not have them.
    from langchain_core.tools import ArgsSchema
    from langchain_core.utils.pydantic import TypeBaseModel

_COPIED: Final = frozenset(BaseTool.model_fields) - {"handle_tool_error", "handle_validation_error", "args_schema"}


@overload
def recovering(tool: BaseTool, *, policy: Policy | None = None, events: Events | None = None) -> BaseTool: ...


@overload
def recovering(
    tool: Sequence[BaseTool], *, policy: Policy | None = None, events: Events | None = None
) -> list[BaseTool]: ...


def recovering(
    tool: BaseTool | Sequence[BaseTool], *, policy: Policy | None = None, events: Events | None = None
) -> BaseTool | list[BaseTool]:
    """The tool, with failures that are waited out where that is safe, and told to the model where it is not.

    An exception, a result that says it failed, and a failure sent as a success all become one marked message. Artifacts
    are kept. A tool of an MCP server may have the server's result as its artifact: then that is what is read.

    Give it all the tools of a server at once, as a list: then they share what the server is worth, and a call that may
    have been done is told with the one that would tell.
    """
    if isinstance(tool, BaseTool):
        return _around(tool, policy, Bridge(policy, tools={tool.name: listed_tool(tool)}, events=events))
    bridge = Bridge(policy, tools={each.name: listed_tool(each) for each in tool}, events=events)
    return [_around(each, policy, bridge) for each in tool]


def _around(tool: BaseTool, policy: Policy | None, bridge: Bridge) -> BaseTool:
    fields = {name: getattr(tool, name) for name in _COPIED}
    made = _Recovering(**fields, args_schema=tool.args_schema, tool=tool, policy=policy)
    made._bridge = bridge
    return made


def tell(error: Exception) -> str:
    """The text for a tool that raised, to be given as `handle_tool_error` and as `handle_validation_error`.

    >>> print(tell(ToolException("User 7 not found")))
    User 7 not found
    """
    found = from_pydantic(error) if isinstance(error, ValidationError) else raised(_worded(error))
    return settle(found).text


class _Recovering(BaseTool):
    tool: BaseTool
    policy: Policy | None = None
    _bridge: Bridge = PrivateAttr(default_factory=Bridge)

    @property
    def tool_call_schema(self) -> ArgsSchema:
        return self.tool.tool_call_schema

    def get_input_schema(self, config: RunnableConfig | None = None) -> TypeBaseModel:
        return self.tool.get_input_schema(config)

    def run(self, tool_input: str | dict[str, Any], *args: Any, **options: Any) -> Any:
        last: Any = None

        def call() -> Any:
            nonlocal last
            last = None
            try:
                last = self.tool.run(tool_input, *args, **options)
            except Exception as exc:
                if (failed := self._failed(exc, tool_input)) is not exc:
                    raise failed from exc
                raise
            return self._checked(last)

        result = attempted_sync(call, passes=_is_no_failure, course=self._course(tool_input))
        return self._answer(result, last, options) if isinstance(result, Told) else result

    async def arun(self, tool_input: str | dict[str, Any], *args: Any, **options: Any) -> Any:
        last: Any = None

        async def call() -> Any:
            nonlocal last
            last = None
            try:
                last = await self.tool.arun(tool_input, *args, **options)
            except Exception as exc:
                if (failed := self._failed(exc, tool_input)) is not exc:
                    raise failed from exc
                raise
            return self._checked(last)

        result = await attempted(call, passes=_is_no_failure, course=self._course(tool_input))
        return self._answer(result, last, options) if isinstance(result, Told) else result

    def _course(self, given: str | dict[str, Any]) -> Course:
        tool = self._bridge.tools.get(self.name) or _described(self.tool)
        return Course(self._bridge, tool, given if isinstance(given, Mapping) else {"": given})

    def _run(self, *args: Any, **options: Any) -> Any:
        return self.tool._run(*args, **options)

    def _failed(self, exc: Exception, arguments: object) -> Exception:
        schema = self.tool.args_schema
        if isinstance(exc, ValidationError) and isinstance(schema, type) and exc.title == schema.__name__:
            given = arguments if isinstance(arguments, Mapping) else None
            return from_pydantic(exc, tool=self.name, arguments=given)
        return _worded(exc)

    def _checked(self, result: Any) -> Any:
        if found := _returned(result):
            raise found
        return result

    def _answer(self, told: Told, last: Any, options: Mapping[str, Any]) -> Any:
        status = "error" if told.is_error else "success"
        if isinstance(last, ToolMessage):
            rest = beside(told.text, _blocks(last), told.secrets, in_doubt=told.in_doubt)
            content: Any = [{"type": "text", "text": told.text}, *rest.blocks] if rest.blocks else told.text
            kept = {} if rest.original is None else {ORIGINAL: rest.original}
            more = {**last.additional_kwargs, **kept}
            return last.model_copy(update={"content": content, "status": status, "additional_kwargs": more})
        call = options.get("tool_call_id")
        # Without an id nobody called it as a model does, and there is no message to mark.
        return told.text if call is None else ToolMessage(told.text, name=self.name, tool_call_id=call, status=status)


def _is_no_failure(exc: Exception) -> bool:
    """A tool that cannot be called this way, and what LangGraph says by exceptions: interrupts, and the like."""
    return isinstance(exc, NotImplementedError) or any(base.__name__ == "GraphBubbleUp" for base in type(exc).__mro__)


def _worded(exc: Exception) -> Exception:
    """A `ToolException` as the words it is, of whoever wrote the tool, for the model; any other as it is."""
    if not isinstance(exc, ToolException) or any(isinstance(each, (ToolError, NeedsInput)) for each in chain(exc)):
        return exc
    found = read({"content": [{"type": "text", "text": said(exc)}], "isError": True})
    return found or ToolError(said(exc))


def _returned(result: Any) -> Outcome | None:
    """The failure in what a tool returned; None for what worked, and for what is no message."""
    if not isinstance(result, ToolMessage):
        return failure(result)
    if hasattr(result.artifact, "content") and (found := failure(result.artifact)):
        return found
    return failure({"content": _blocks(result), "isError": result.status == "error"})


def _blocks(message: ToolMessage) -> list[dict[str, Any]]:
    content = message.content if isinstance(message.content, list) else [message.content]
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]


def _described(tool: BaseTool) -> dict[str, Any]:
    """A tool as MCP lists it. Adapters put the annotations of MCP into its metadata."""
    metadata = tool.metadata or {}
    return {"name": tool.name, "annotations": metadata.get("annotations") or metadata}


def listed_tool(tool: BaseTool) -> dict[str, Any]:
    """A tool as MCP lists it, with its schema."""
    try:
        schema: Any = tool.tool_call_schema
        return {**_described(tool), "inputSchema": schema if isinstance(schema, dict) else schema.model_json_schema()}
    except Exception:
        # A schema that cannot be written is not needed to call the tool, only to propose it.
        return _described(tool)


__all__ = ["recovering", "tell"]
