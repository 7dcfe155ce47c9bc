"""What adapters share: how an exception left a framework, twins of its components, and requests without results."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import CodeType
from typing import Any, Final

from failwell.formats import FORMATS
from failwell.model import frames, is_frameworks_module
from failwell.readers import exc_text
from failwell.server.boundary import Boundary
from failwell.server.served_call import innermost, reraise_control_flow
from failwell.server.wrong_requests import no_such

# Whose exceptions stand for the one that they were raised over.
_FRAMEWORKS: Final = ("mcp.", "fastmcp.", "fastmcp_tasks.")
# What these raise is what a server answered, whatever was under way when they asked it.
_CLIENTS: Final = ("mcp.client.", "fastmcp.client.")
_PROXIES: Final = ("fastmcp.server.proxy", "fastmcp.server.providers.proxy")
_MOST_LINKS: Final = 20
# One that was made of another is that one, with other arguments.
_MADE_OF: Final = ".tool_transform"
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
# What FastMCP says of a masked failure; else there is more after a colon.
_MASKED: Final = re.compile(r"Error calling tool ('[^']*'|\"[^\"]*\")")

Way = list[tuple[str, CodeType]]
"""The functions that an exception went through, each with the name of its module."""


def _way(exc: BaseException) -> Way:
    return [(str((frame := trace.tb_frame).f_globals.get("__name__")), frame.f_code) for trace in frames(exc)]


def trail(raised: BaseException) -> list[tuple[BaseException, Way]]:
    """An exception and what it was raised over, as long as it is a framework that raises over something: whatever that
    raises over another exception stands for that one."""
    found: list[tuple[BaseException, Way]] = []
    while len(found) < _MOST_LINKS:
        way = _way(raised)
        found.append((raised, way))
        module, under = way[-1][0] if way else "", raised.__cause__
        if under is None and not raised.__suppress_context__ and not module.startswith(_CLIENTS):
            under = raised.__context__
        if under is None or not module.startswith(_FRAMEWORKS):
            break
        raised = under
    return found


def cause_of(raised: BaseException) -> BaseException:
    """What a framework wrapped."""
    return trail(raised)[-1][0]


def is_nested(links: list[tuple[BaseException, Way]], code: CodeType | None) -> bool:
    """Whether an exception came out of another tool, which one with this code, an author's own, has called: what it
    says is said of that tool."""
    for number, (_, way) in enumerate(links if code is not None else (), 1):
        is_inside = has_run = False
        for module, each in way:
            if each is code and not is_frameworks_module(module):
                # Anew each time: an exception that is raised again and again carries along the ways that it went.
                is_inside, has_run = True, False
            elif is_inside and ".tools" in module and module.startswith(_FRAMEWORKS):
                has_run = not module.endswith(_MADE_OF)
                if not has_run:
                    break
        # Or a framework has wrapped it inside the tool.
        if has_run or (is_inside and number < len(links)):
            return True
    return False


def is_of_proxy(exc: BaseException) -> bool:
    """Whether it is what a proxy of FastMCP's makes of an error that the server behind it answered with."""
    if (type(exc).__module__, type(exc).__name__) != ("fastmcp.exceptions", "ToolError"):
        return False
    modules = [module for module, _ in _way(exc)]
    inside = next((number for number, module in enumerate(modules) if module in _PROXIES), None)
    return inside is not None and all(map(is_frameworks_module, modules[inside:]))


def is_masked(links: list[tuple[BaseException, Way]]) -> bool:
    """Whether the server of a tool tells nothing of what it raised but that it did."""
    return any(_MASKED.fullmatch(exc_text(each)) for each, _ in links[:-1])


def is_refusal(links: list[tuple[BaseException, Way]]) -> bool:
    """Whether a framework refused the arguments of a call, before the function of its tool was entered.

    A tool at work may stumble over a validator of the framework's, too: over an answer of the client, or over what it
    sends. So it is not enough that the framework had called the validator: it must have done so in the one place where
    it holds arguments against a tool, and no function of an author's may stand between the framework and that place.
    """
    for _, way in links:
        is_running = False
        for module, _ in way:
            if is_running and not is_frameworks_module(module):
                return False
            is_running = is_running or module.startswith(_RUNNING)
    last, way = links[-1]
    if isinstance(last, TypeError) and way and (way[-1][0], way[-1][1].co_name) == _FORWARDS:
        return True
    if type(last).__name__ != "ValidationError" or not type(last).__module__.startswith("pydantic"):
        return False
    is_checking = False
    for module, code in way:
        if (module, code.co_name) in _CHECKS:
            is_checking = True
        elif is_checking and (module.startswith(_DECORATORS) or not module.startswith(_BETWEEN)):
            return False
    return is_checking


_MOST_COMPONENTS: Final = 1_000


class Twins:
    """What was made of each component of a server, once. The component is kept with it, so that nothing else can have
    its id."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._made: dict[int, tuple[Any, Any]] = {}

    def __call__(self, component: Any) -> Any:
        known = self._made.get(id(component))
        if known is None or known[0] is not component:
            made = self._make(component)
            if len(self._made) >= _MOST_COMPONENTS:
                self._made.clear()
            known = self._made[id(component)] = (component, made)
        return known[1]


def twin_of(component: Any, kind: type, owner: Any) -> Any:
    """A copy of a component of FastMCP 3 or 4, of another class, with whom that finds, and the name further in."""
    copy = component.__copy__()
    object.__setattr__(copy, "__class__", kind)
    copy.__dict__["_failwell"] = owner
    copy.__dict__["_failwell_inner"] = getattr(innermost(component), "_original_name", None)
    return copy


def named_like(made: type, kind: type) -> type:
    """Nobody should be able to tell the difference, least of all a span."""
    made.__name__, made.__qualname__, made.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return made


def settings(boundary: Boundary) -> dict[str, Any]:
    """What the server says about the extension: the formats it can answer in, the one it does, and its keys."""
    keys = {} if boundary.idempotency is None else {"idempotency": boundary.idempotency.settings}
    return {"version": "1", "formats": list(FORMATS), "default": boundary.options.form, **keys}


_PLACES: Final = {"resource": "uri", "prompt": "name", "completion": "argument"}


async def answer_request(
    boundary: Boundary,
    kind: str,
    what: str,
    request: Any,
    run: Callable[[], Awaitable[Any]],
    *,
    names: Callable[[], Any] | None = None,
) -> Any:
    """Make a request that has no result to put a failure in: for a resource, a prompt or a completion. `names` lists
    what there is."""
    try:
        return await run()
    except BaseException as exc:
        links = trail(reraise_control_flow(exc))
    failed = links[-1][0]
    if names is not None and any(
        exc_text(each).startswith(f"Unknown {kind}") and _is_frameworks(way) for each, way in links
    ):
        known: list[str] = []
        with suppress(Exception):
            listed = names()
            known = [str(each) for each in (await listed if inspect.isawaitable(listed) else listed)]
        failed = no_such(kind, what, known)
    raise boundary.request_error(failed, what, {_PLACES[kind]: what}, request)


def _is_frameworks(way: Way) -> bool:
    return bool(way) and way[-1][0].startswith(_FRAMEWORKS)
