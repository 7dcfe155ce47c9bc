"""A client for the conformance suite: it lists the tools and calls each of them, alone or inside `Recovering`.

python tools/suite_client.py [--recovering] [--legacy] URL
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Any

from mcp import Client
from mcp_types import ElicitResult

from failwell.client import Recovering

VALUES = {"string": "text", "integer": 5, "number": 3, "boolean": True, "array": [], "object": {}}


def arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Something for each argument that is required."""
    found = {}
    for name in schema.get("required", []):
        about = schema.get("properties", {}).get(name, {})
        found[name] = about["enum"][0] if about.get("enum") else VALUES.get(str(about.get("type")), "text")
    return found


async def elicited(context: Any, params: Any) -> ElicitResult:
    properties = (getattr(params, "requested_schema", None) or {}).get("properties", {})
    content = {name: about["default"] for name, about in properties.items() if "default" in about}
    return ElicitResult(action="accept", content=content)


async def main(url: str) -> None:
    mode: Any = "legacy" if "--legacy" in sys.argv else "auto"
    client: Any = Client(url, mode=mode, elicitation_callback=elicited)
    if "--recovering" in sys.argv:
        client = Recovering(client)
    async with client:
        listed = await client.list_tools()
        for tool in listed.tools:
            # What a tool answers is looked at by the suite.
            with suppress(Exception):
                await client.call_tool(tool.name, arguments(tool.input_schema))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
