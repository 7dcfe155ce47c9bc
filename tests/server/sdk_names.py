"""What the servers of the tests use of the SDK, and of the HTTP client that it brings, in whichever generation."""

from __future__ import annotations

from typing import Any

from failwell.sdk import GENERATION

if GENERATION == 2:
    import httpx2 as httpx
    from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
    from mcp.shared.exceptions import UrlElicitationRequiredError
else:
    import httpx
    from mcp.server.fastmcp.exceptions import ResourceError, ToolError
    from mcp.shared import exceptions

    class ResourceNotFoundError(FileNotFoundError):
        """1.x has no class for it."""

    UrlElicitationRequiredError = getattr(exceptions, "UrlElicitationRequiredError", None)

__all__ = [
    "GENERATION",
    "ResourceError",
    "ResourceNotFoundError",
    "ToolError",
    "UrlElicitationRequiredError",
    "httpx",
    "page_to_visit",
]


def page_to_visit(message: str, url: str, id: str) -> Any:
    """What a server asks the user to open."""
    if GENERATION == 2:
        from mcp_types import ElicitRequestURLParams
    else:
        from mcp.types import ElicitRequestURLParams
    return ElicitRequestURLParams.model_validate({"mode": "url", "message": message, "url": url, "elicitationId": id})
