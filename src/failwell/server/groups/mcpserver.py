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
from failwell.schema import properties_of
from failwell.server.replies import convert_result
from failwell.server.served_call import group_of

from .group import Group, entry, name_taken


def bind(group: Group, server: MCPServer[Any]) -> None:
    if server._tool_manager.get_tool(group.name) is not None:
        raise name_taken(group)
    tools = {name: Tool.from_function(each.fn, name=group.name) for name, each in group.actions.items()}
    for tool in tools.values():
        object.__setattr__(tool.fn_metadata, "__class__", _Results)
    server._tool_manager._tools[group.name] = MCPServerGroupTool(
        fn=entry(group),
        name=group.name,
        title=group.title,
        description=group.description,
        parameters=group.bind({name: tool.parameters for name, tool in tools.items()}),
        fn_metadata=FuncMetadata(arg_model=ArgModelBase),
        is_async=True,
        context_kwarg=None,
        annotations=group.annotations,
        tools=tools,
    )


class MCPServerGroupTool(Tool):
    """Finds the action, and has its tool do the rest."""

    tools: dict[str, Tool] = Field(exclude=True)

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        group: Any = group_of(self.fn)
        refusal: ToolError
        try:
            action, own = group.split(arguments, self.tools)
            tool = self.tools[action]
            if own.keys() <= properties_of(tool.parameters).keys():
                return await tool.run(own, context, convert_result)
            rejected: Exception | None = None
            try:
                tool.fn_metadata.validate_arguments(own)
            except ValidationError as exc:
                rejected = exc
            except Exception:
                # A validator that breaks is found when the names are right.
                pass
            refusal = group.refusal(action, own, tool.parameters, rejected)
        except ToolError as error:
            # Of the group: what an action raises leaves its tool as the framework's own exception.
            refusal = error
        except DeliberateError as exc:
            # Exactly this is how the framework refuses arguments; what a body raises has another cause, or type.
            if type(exc) is not DeliberateError or not isinstance(exc.__cause__, ValidationError):
                raise
            refusal = group.refusal(action, own, tool.parameters, exc.__cause__)
        # The framework's own exception, for callers that Failwell does not answer.
        raise DeliberateError(f"Error executing tool {self.name}: {render(refusal, 'text')}") from refusal


class _Results(FuncMetadata):
    """Looks at what an action returned before it is made into a result."""

    def convert_result(self, result: Any) -> Any:
        return convert_result(super().convert_result, result)
