"""The log lines of frameworks, made safe: they print exceptions as they come; and ours, where the handler is theirs."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Iterator
from typing import Any, Final

from failwell.readers import chain, exc_summary
from failwell.redact import Guard, Secrets

from .served_call import current

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
    "fastmcp.server.middleware.authorization",
    "fastmcp.server.middleware.caching",
    "fastmcp.server.middleware.response_limiting",
    "fastmcp.server.middleware.tool_injection",
    "fastmcp.middleware.logging",
    "fastmcp.middleware.structured_logging",
    "fastmcp.requests",
    "fastmcp.structured",
    "fastmcp.retry",
    "fastmcp.timing",
    "fastmcp.timing.detailed",
    "fastmcp.errors",
    "fastmcp.fastmcp_tasks.input_loop",
    "docket.worker",
)
"""The loggers that have been seen to print an exception. A filter of a logger does not see its children's lines."""
# What FastMCP 2.12 put before the names of its modules: this in 2.12.0, that in the later ones.
_PREFIXES: Final = ("FastMCP.", "fastmcp.")


# What 1.x writes about every request, and a success should not pay for.
_HARMLESS: Final = frozenset({"Processing request of type %s"})


# What FastMCP writes about a tool that raised.
_TOLD_TWICE: Final = "Error calling tool "
_IN_SDK: Final = "/mcp/"


# Pydantic's words for an argument, or a key, that there is not.
_UNEXPECTED: Final = frozenset({"unexpected_keyword_argument", "extra_forbidden"})


class Masking(logging.Filter):
    """Takes secrets out of a line and its traceback; never keeps a line back."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg in _HARMLESS:
            return True
        call = current.get()
        if call is not None and record.msg == f"{_TOLD_TWICE}{call.tool!r}":
            # How it came to that, Failwell's own line says, and the name of a tool is no secret.
            record.exc_info = None
            return True
        try:
            if isinstance(record.args, tuple):
                record.args = tuple(map(self._spared, record.args))
            record.msg, record.args = self._guard.plain(record.getMessage()), ()
            if call is not None and record.msg.startswith(_TOLD_TWICE):
                record.exc_info = None
            if record.exc_info and record.exc_info[1] is not None:
                record.exc_text, record.exc_info = self._guard.plain(_printed(record.exc_info[1])), None
        except Exception:
            record.msg, record.args, record.exc_info = "A log line could not be written.", (), None
        return True

    def _spared(self, value: object) -> object:
        """What is put into a line: of pydantic's list of problems, what was sent as far as it may be shown. In a text
        nobody could tell any more for which argument a list or an object was sent."""
        if type(value) is not list or not all(map(_is_problem, value)):
            return value
        is_secret = self._guard.redact.secret_name
        # What nobody takes may be a secret under a misspelt name.
        strange = {each["loc"][-1] for each in value if each.get("type") in _UNEXPECTED and each["loc"]}
        secrets = Secrets(is_name=lambda name: name in strange or is_secret(name))
        return [{**each, "input": secrets.sample(each["input"], each["loc"])} for each in value]


def _is_problem(value: object) -> bool:
    return type(value) is dict and "input" in value and type(value.get("loc")) is tuple


class MaskingOfSdk(Masking):
    """The same for the lines that 1.x writes through the root logger, which belongs to others, too."""

    def filter(self, record: logging.LogRecord) -> bool:
        return super().filter(record) if _IN_SDK in record.pathname.replace("\\", "/") else True


def _printed(exc: BaseException) -> str:
    """A traceback as Python prints it, by readers that a `__str__` cannot hold up."""
    told: list[str] = []
    for each in chain(exc):
        frames = "".join(traceback.format_tb(each.__traceback__))
        told.append(f"Traceback (most recent call last):\n{frames}{exc_summary(each)}")
    return "\n\nwhich came from\n\n".join(told)


def mask(guard: Guard) -> None:
    for name in _all_names():
        logger = logging.getLogger(name)
        if not any(isinstance(each, Masking) for each in logger.filters):
            logger.addFilter(Masking(guard))
    root = logging.getLogger()
    if not any(isinstance(each, MaskingOfSdk) for each in root.filters):
        root.addFilter(MaskingOfSdk(guard))


def _all_names() -> Iterator[str]:
    yield from LOGGERS
    for prefix in _PREFIXES:
        yield from (f"{prefix}{name}" for name in LOGGERS if name.startswith("fastmcp."))


# Whose lines are written plainly: the beginnings of their loggers' names.
_PLAIN: Final = frozenset({"failwell", "mcp", "fastmcp"})


class PlainLines(logging.Filter):
    """Of a handler that draws its lines in columns: writes Failwell's, the SDK's and FastMCP's as they are where no
    terminal is.

    A line that is drawn costs as much as a call, and is broken wherever eighty columns end; 1.x draws one for every
    request, and FastMCP one for every call that it refuses. Their tracebacks are left to the handler, which has its own
    way with them.
    """

    def __init__(self, handler: Any) -> None:
        super().__init__()
        self._handler = handler

    def filter(self, record: logging.LogRecord) -> bool:
        console, whose = self._handler.console, record.name.partition(".")[0]
        if whose not in _PLAIN or console.is_terminal or console.record:
            return True
        if whose != "failwell" and (record.exc_info or record.exc_text):
            return True
        # The last column of the handler's; Failwell's lines name no file.
        place = f" {record.filename}:{record.lineno}" if record.filename else ""
        line = f"{time.strftime('[%x %X]')} {record.levelname:<8} {self._handler.format(record)}{place}\n"
        self._handler.acquire()
        try:
            console.file.write(line)
            console.file.flush()
        except Exception:
            self._handler.handleError(record)
        finally:
            self._handler.release()
        return False


# The handlers that draw lines, as the frameworks make them: whose logger has one, and whether it draws tracebacks.
_DRAWING: Final = (("", True), ("fastmcp", False))


def write_plainly() -> None:
    """Have these lines written as they are by the handlers that the SDK and FastMCP give to everybody; by no other."""
    for name, with_tracebacks in _DRAWING:
        for handler in logging.getLogger(name).handlers:
            is_known = any(isinstance(each, PlainLines) for each in handler.filters)
            if not is_known and _is_frameworks(handler, with_tracebacks):
                handler.addFilter(PlainLines(handler))


def _is_frameworks(handler: Any, with_tracebacks: bool) -> bool:
    is_rich = f"{type(handler).__module__}.{type(handler).__qualname__}" == "rich.logging.RichHandler"
    if not is_rich or handler.rich_tracebacks is not with_tracebacks:
        return False
    return bool(handler.console.stderr) and _format_of(handler) == "%(message)s"


def _format_of(handler: logging.Handler) -> str | None:
    return handler.formatter._fmt if handler.formatter is not None else None
