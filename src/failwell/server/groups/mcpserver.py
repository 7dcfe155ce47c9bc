"""A group on `mcp.server.MCPServer`: a tool that runs the framework's own tools, one for each action."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError as DeliberateError
from mcp.server.mcpserver.tools.base import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from pydantic import Field, ValidationError

from failwell.formats import render
from failwell.model import ToolError
from failwell.server.replies import convert_result

from .group import Group, entry, name_taken


def bind(group: Group, server: MCPServer[Any]) -> None:
    if server._tool_manager.get_tool(group.name) is not None:
        raise name_taken(group)
    tools = {name: Tool.from_function(each.fn, name=group.name) for name, each in group.actions.items()}
    for tool in tools.values():
        object.__setattr__(tool.fn_metadata, "__class__", _Results)
    bound = group.bound({name: tool.parameters for name, tool in tools.items()})
    server._tool_manager._tools[group.name] = MCPServerGroupTool(
        fn=entry(group),
        name=group.name,
        title=group.title,
        description=group.description,
        parameters=bound.listed,
        fn_metadata=FuncMetadata(arg_model=ArgModelBase),
        is_async=True,
        context_kwarg=None,
        annotations=group.annotations,
        bound=bound,
        tools=tools,
    )


class MCPServerGroupTool(Tool):
    """Finds the action, and has its tool do the rest."""

    bound: Any = Field(exclude=True)
    tools: dict[str, Tool] = Field(exclude=True)

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        try:
            action, own = self.bound.split(arguments)
            tool = self.tools[action]
            if not self.bound.has(action, own):
                raise self.bound.refusal(action, own, _rejection(tool.fn_metadata, own))
        except ToolError as error:
            raise self._deliberate(error) from error
        try:
            return await tool.run(own, context, convert_result)
        except DeliberateError as exc:
            # Exactly this is how the framework refuses arguments; what a body raises has another cause, or type.
            if type(exc) is not DeliberateError or not isinstance(exc.__cause__, ValidationError):
                raise
            refusal = self.bound.refusal(action, own, exc.__cause__)
        raise self._deliberate(refusal) from refusal

    def _deliberate(self, error: ToolError) -> DeliberateError:
        """The framework's own exception, for callers that Failwell does not answer."""
        return DeliberateError(f"Error executing tool {self.name}: {render(error, 'text')}")


class _Results(FuncMetadata):
    """Looks at what an action returned before it is made into a result."""

    def convert_result(self, result: Any) -> Any:
        return convert_result(super().convert_result, result)


def _rejection(metadata: FuncMetadata, arguments: dict[str, Any]) -> ValidationError | None:
    """What the validator has against the arguments, besides their names."""
    try:
        metadata.validate_arguments(arguments)
    except ValidationError as exc:
        return exc
    except Exception:
        # A validator that breaks is found when the names are right.
        pass
    return None
