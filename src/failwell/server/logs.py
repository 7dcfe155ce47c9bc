"""The frameworks' own log lines, made safe: they print exceptions as they come."""

from __future__ import annotations

import logging
import traceback
from typing import Final

from failwell.guards import Guard
from failwell.readers import chain, named

LOGGERS: Final = (
    "mcp.server.mcpserver.server",
    "mcp.server.fastmcp.server",
    "mcp.server.fastmcp.resources.resource_manager",
    "mcp.server.lowlevel.server",
    "mcp.server.runner",
    "mcp.server.stdio",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
    "mcp.shared.jsonrpc_dispatcher",
    "fastmcp.server.server",
    "fastmcp.server.low_level",
    "fastmcp.tools.function_tool",
    "fastmcp.tools.tool_manager",
    "fastmcp.resources.resource_manager",
    "fastmcp.prompts.prompt_manager",
    "fastmcp.prompts.prompt",
    "fastmcp.prompts.function_prompt",
    "fastmcp.server.mixins.mcp_operations",
    "fastmcp.server.middleware.middleware",
    "fastmcp.errors",
)
"""The loggers that have been seen to print an exception. A filter of a logger does not see its children's lines."""


# What 1.x writes about every request, and a success should not pay for.
_HARMLESS: Final = frozenset({"Processing request of type %s"})


class Masking(logging.Filter):
    """Takes secrets out of a line and its traceback; never keeps a line back."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg in _HARMLESS:
            return True
        try:
            record.msg, record.args = self._guard.plain(record.getMessage()), ()
            if record.exc_info and record.exc_info[1] is not None:
                record.exc_text, record.exc_info = self._guard.plain(_printed(record.exc_info[1])), None
        except Exception:
            record.msg, record.args, record.exc_info = "A log line could not be written.", (), None
        return True


def _printed(exc: BaseException) -> str:
    """A traceback as Python prints it, by readers that a `__str__` cannot hold up."""
    told: list[str] = []
    for each in chain(exc):
        frames = "".join(traceback.format_tb(each.__traceback__))
        told.append(f"Traceback (most recent call last):\n{frames}{named(each)}")
    return "\n\nwhich came from\n\n".join(told)


def mask(guard: Guard) -> None:
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, Masking) for each in logger.filters):
            logger.addFilter(Masking(guard))
