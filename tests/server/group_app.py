"""Grouped tools, served by each framework over each transport: the program of `app.py` with other servers.

python group_app.py {mcpserver|lowlevel|fastmcp} {stdio|http PORT} [--bare] [--options JSON]
python group_app.py nursery PATH
"""

import sys
from typing import Annotated, Any

import app
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from failwell.server.groups.group import Group


class Member(BaseModel):
    email: str
    role: str = "guest"


def projects(context: Any, **options: Any) -> Group:
    """The group that all tests call. What injects a context is the framework's own."""
    group = Group("projects", description="Work with projects.", **options)

    @group.action("list", description="List projects.", annotations=ToolAnnotations(read_only_hint=True))
    async def list_projects(limit: int = 10) -> list[str]:
        return ["apollo", "gemini", "mercury"][:limit]

    @group.action("create", annotations=ToolAnnotations(destructive_hint=False))
    def make(name: str, ctx: context, members: Annotated[tuple[Member, ...], Field(max_length=5)] = ()):
        """Create a project.

        With its first members.
        """
        return {"created": name, "by": type(ctx).__name__, "members": len(members)}

    @group.action(annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=True))
    def delete(id: str, action: str):
        return f"{action} {id}"

    @group.action(description="Always fails.")
    def crash(reason: str = "none"):
        raise RuntimeError(f"{reason} at {app.SECRET}")

    return group


def mcpserver() -> Any:
    from mcp.server.mcpserver import Context, MCPServer

    server = MCPServer(app.NAME, version=app.VERSION)
    projects(Context).add_to(server)
    return server


def fastmcp() -> Any:
    from fastmcp import Context, FastMCP

    server = FastMCP(app.NAME, version=app.VERSION)
    projects(Context).add_to(server)
    return server


if __name__ == "__main__":
    app.SERVERS.update(mcpserver=mcpserver, fastmcp=fastmcp)
    if sys.argv[1] == "nursery":
        app.nurse(sys.argv[2])
    else:
        app.serve(sys.argv[1:])
