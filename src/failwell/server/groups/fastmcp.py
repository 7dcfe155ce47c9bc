"""A group on FastMCP: a tool that runs the framework's own function tools, one for each action."""

from __future__ import annotations

import logging
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError as FastMCPToolError
from fastmcp.exceptions import ValidationError as RejectedArguments
from fastmcp.tools.base import Tool, ToolResult
from fastmcp.tools.function_tool import FunctionTool
from pydantic import Field, ValidationError

from failwell.formats import render
from failwell.model import ToolError
from failwell.server.replies import convert_result
from failwell.server.served_call import group_of

from .group import Group, entry, name_taken


def bind(group: Group, server: FastMCP[Any]) -> None:
    components = server._local_provider._components.values()
    if any(isinstance(each, Tool) and each.name == group.name for each in components):
        raise name_taken(group)
    tools = {name: _ActionTool.from_function(each.fn, name=group.name) for name, each in group.actions.items()}
    server.add_tool(
        FastMCPGroupTool(
            fn=entry(group),
            name=group.name,
            title=group.title,
            description=group.description,
            parameters=group.bind({name: tool.parameters for name, tool in tools.items()}),
            annotations=group.annotations,
            tools=tools,
        )
    )


class _ActionTool(FunctionTool):
    def convert_result(self, raw_value: Any) -> ToolResult:
        return convert_result(super().convert_result, raw_value)


class FastMCPGroupTool(FunctionTool):
    """Finds the action, and has its tool do the rest."""

    tools: dict[str, FunctionTool] = Field(exclude=True)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        group: Any = group_of(self.fn)
        try:
            action, own = group.split(arguments, self.tools)
        except ToolError as error:
            raise GroupRefusal(render(error, "text"), log_level=logging.INFO) from error
        try:
            return await self.tools[action].run(own)
        except RejectedArguments as exc:
            if not isinstance(exc.__cause__, ValidationError):
                raise
            refusal = group.refusal(action, own, self.tools[action].parameters, exc.__cause__)
        raise GroupRefusal(render(refusal, "text"), log_level=logging.INFO) from refusal


class GroupRefusal(FastMCPToolError):
    """A call that a group turned down before any action ran, as the framework's own, for callers that Failwell does not
    answer; the error is its cause."""
