"""What comes out of a framework that ran a tool: what it was raised over, and whether the tool had begun by then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import CodeType
from typing import Final

from failwell.model import frames, is_frameworks_module
from failwell.readers import said
from failwell.server.served_call import runs_another

# Whose exceptions stand for the one that they were raised over.
_FRAMEWORKS: Final = ("mcp.", "fastmcp.", "fastmcp_tasks.")
# What these raise is what a server answered, whatever was under way when they asked it.
_CLIENTS: Final = ("mcp.client.", "fastmcp.client.")
_PROXIES: Final = ("fastmcp.server.proxy", "fastmcp.server.providers.proxy")
_ANSWERED: Final = ("fastmcp.exceptions", "ToolError")
_MOST_LINKS: Final = 20
# The parts of the frameworks that run tools: an author's function that comes below them is a tool that has begun.
_RUNNING: Final = ("mcp.server.fastmcp.tools", "mcp.server.fastmcp.utilities", "fastmcp.tools")
# Where the frameworks hold a call's arguments against a tool, the last thing before they call its function.
_CHECKS: Final = frozenset(
    {
        ("mcp.server.fastmcp.utilities.func_metadata", "call_fn_with_arg_validation"),
        ("fastmcp.tools.tool", "run"),
        ("fastmcp.tools.function_tool", "run"),
        ("fastmcp.tools.function_tool", "_execute"),
        ("fastmcp.tools.function_tool", "coerce_task_arguments"),
        ("fastmcp.tools.function_tool", "_validate_input"),
        ("fastmcp_tasks.components", "coerce_task_arguments"),
    }
)
# A tool that was made of another looks at the names of its arguments before it hands them on.
_FORWARDS: Final = ("fastmcp.tools.tool_transform", "_forward")
# Who may stand between such a place and the validator that it calls: the validator itself, and a thread for it.
_BETWEEN: Final = ("pydantic", "anyio", "fastmcp.utilities.async_utils")
# A decorator that an author has put around the tool, whose check of the result comes after the work.
_DECORATORS: Final = ("pydantic.validate_call_decorator", "pydantic._internal._validate_call", "pydantic.deprecated")

Way = list[tuple[str, CodeType]]
"""The functions that an exception went through, each with the name of its module."""


def links(raised: BaseException) -> Iterator[BaseException]:
    """An exception and what it was raised over, as long as it is a framework that raises over something."""
    for _ in range(_MOST_LINKS):
        yield raised
        under = raised.__cause__
        if under is None and not raised.__suppress_context__ and not _is_raised_in(raised, _CLIENTS):
            under = raised.__context__
        if under is None or not is_frameworks(raised):
            return
        raised = under


def cause_of(raised: BaseException) -> BaseException:
    """What a framework wrapped: whatever it raises over another exception stands for that one."""
    *_, last = links(raised)
    return last


def is_nested(raised: BaseException, code: CodeType | None) -> bool:
    """Whether it came out of another tool, which one with this code has called."""
    if code is None:
        return False
    *wrapped, last = links(raised)
    if any(runs_another(each, code) for each in (*wrapped, last)):
        return True
    # A framework has wrapped it inside the tool.
    return any(code is each and not is_frameworks_module(module) for link in wrapped for module, each in _way(link))


def is_frameworks(exc: BaseException) -> bool:
    """Whether a framework raised it, and no code of an author's."""
    return _is_raised_in(exc, _FRAMEWORKS)


def _is_raised_in(exc: BaseException, modules: tuple[str, ...]) -> bool:
    last = None
    for last in frames(exc):  # noqa: B007
        pass
    return last is not None and str(last.tb_frame.f_globals.get("__name__")).startswith(modules)


def is_of_proxy(exc: BaseException) -> bool:
    """Whether it is what a proxy of FastMCP's makes of an error that the server behind it answered with."""
    if (type(exc).__module__, type(exc).__name__) != _ANSWERED:
        return False
    modules = [module for module, _ in _way(exc)]
    inside = next((number for number, module in enumerate(modules) if module in _PROXIES), None)
    return inside is not None and all(map(is_frameworks_module, modules[inside:]))


def is_masked(raised: BaseException) -> bool:
    """Whether the server of a tool tells nothing of what it raised but that it did."""
    *wrapped, _ = links(raised)
    return any(_MASKED.fullmatch(said(each)) for each in wrapped)


# With what was raised, there is more after a colon.
_MASKED: Final = re.compile(r"Error calling tool ('[^']*'|\"[^\"]*\")")


def is_check_of_arguments(raised: BaseException) -> bool:
    """Whether a framework refused the arguments of a call, before the function of its tool was entered.

    A tool at work may stumble over a validator of the framework's, too: over an answer of the client, or over what it
    sends. So it is not enough that the framework had called the validator: it must have done so in the one place where
    it holds arguments against a tool, and no function of an author's may stand between the framework and that place.
    """
    *wrapped, last = links(raised)
    way = _way(last)
    if _has_begun(way) or any(_has_begun(_way(each)) for each in wrapped):
        return False
    return is_refused_by_forwarding(last) or (_is_pydantic(last) and _is_raised_by_check(way))


def is_refused_by_forwarding(exc: BaseException) -> bool:
    """Whether a tool that FastMCP made of another has refused the names of its arguments, before it calls that one."""
    if not isinstance(exc, TypeError) or not (way := _way(exc)):
        return False
    module, code = way[-1]
    return (module, code.co_name) == _FORWARDS


def _has_begun(way: Way) -> bool:
    """Whether it leads through a function that is no framework's, below the part of one that runs tools."""
    is_running = False
    for module, _ in way:
        if is_running and not is_frameworks_module(module):
            return True
        is_running = is_running or module.startswith(_RUNNING)
    return False


def _is_raised_by_check(way: Way) -> bool:
    is_checking = False
    for module, code in way:
        if (module, code.co_name) in _CHECKS:
            is_checking = True
        elif is_checking and (module.startswith(_DECORATORS) or not module.startswith(_BETWEEN)):
            return False
    return is_checking


def _is_pydantic(exc: BaseException) -> bool:
    return type(exc).__name__ == "ValidationError" and type(exc).__module__.startswith("pydantic")


def _way(exc: BaseException) -> Way:
    return [(str((frame := trace.tb_frame).f_globals.get("__name__")), frame.f_code) for trace in frames(exc)]
