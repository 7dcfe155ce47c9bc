"""For langchain-mcp-adapters: a client whose tools fail in words that the model can act on.

client = recovering(MultiServerMCPClient({"shop": {"transport": "http", "url": "https://example.com/mcp"}}))
agent = create_agent(model, await client.get_tools())
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from failwell.packages import lacks

try:
    from langchain_mcp_adapters.client import MultiServerMCPClient
except ImportError as problem:
    raise lacks(__name__, "langchain-mcp-adapters", problem) from None

from failwell.model import Policy
from failwell.observe import Events

from .bridge import Bridge
from .langchain import listed_tool

C = TypeVar("C", bound=MultiServerMCPClient)


def recovering(client: C, *, policy: Policy | None = None, events: Events | None = None) -> C:
    """The same client, whose tools now wait failures out where that is safe, and tell the others to the model.

    It adds an interceptor after those that are there: they run once for a call, and see what is told. What the calls of
    a server have shown is kept with the client.
    """
    bridges: dict[str, Bridge] = {}
    # Of the class: to ask again changes the policy, and does not repeat the repetitions.
    plain = partial(type(client).get_tools, client)
    others = [each for each in client.tool_interceptors if getattr(each, "__module__", None) != __name__]

    def prefix(server: str) -> str:
        return f"{server}_" if client.tool_name_prefix else ""

    async def intercept(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        bridge = bridges.setdefault(request.server_name, Bridge(policy, events=events))
        tool, before = bridge.tools.get(request.name, request.name), prefix(request.server_name)
        return await bridge.call(tool, request.args, names=before.__add__).attempt_result(lambda: handler(request))

    async def get_tools(*, server_name: str | None = None) -> list[Any]:
        names = [*client.connections] if server_name is None else [server_name]
        found = await asyncio.gather(*(plain(server_name=name) for name in names))
        for name, tools in zip(names, found, strict=True):
            listed = [{**listed_tool(tool), "name": tool.name.removeprefix(prefix(name))} for tool in tools]
            bridges.setdefault(name, Bridge(policy, events=events)).tools = {tool["name"]: tool for tool in listed}
        return [tool for tools in found for tool in tools]

    # One list of ours: whoever gave theirs may use it elsewhere.
    client.tool_interceptors = [*others, intercept]
    client.get_tools = get_tools
    return client


__all__ = ["recovering"]
