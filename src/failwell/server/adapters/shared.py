"""What adapters share: how an exception left a framework, what a server lists, and what its functions return."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from anyio import move_on_after
from pydantic import AliasChoices, AliasPath, ValidationError

from failwell.formats import FORMATS
from failwell.model import ToolError, data_type, frames, is_frameworks_module, unwrapped
from failwell.readers import applied_schema, call_of, check_names, exc_text, extras_policy, from_schema, text_of
from failwell.schema import Checker, Problems, invalid, known_names, open_ended, properties_of, pydantic_problems
from failwell.sdk import CallToolResult, MCPError, field
from failwell.server.boundary import Boundary
from failwell.server.declared_failures import ListedFunction, read_declared
from failwell.server.replies import convert_result
from failwell.server.served_call import (
    BrokenResult,
    ServedCall,
    ToolInfo,
    current,
    innermost,
    reraise_control_flow,
    runs_another,
)

# Whose exceptions stand for the one that they were raised over.
_FRAMEWORKS: Final = ("mcp.", "fastmcp.", "fastmcp_tasks.")
# What these raise is what a server answered, whatever was under way when they asked it.
_CLIENTS: Final = ("mcp.client.", "fastmcp.client.")
_PROXIES: Final = ("fastmcp.server.proxy", "fastmcp.server.providers.proxy")
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
# What FastMCP says of a masked failure; else there is more after a colon.
_MASKED: Final = re.compile(r"Error calling tool ('[^']*'|\"[^\"]*\")")

Way = list[tuple[str, CodeType]]
"""The functions that an exception went through, each with the name of its module."""


def _way(exc: BaseException) -> Way:
    return [(str((frame := trace.tb_frame).f_globals.get("__name__")), frame.f_code) for trace in frames(exc)]


def _links(raised: BaseException) -> Iterator[BaseException]:
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
    *_, last = _links(raised)
    return last


def is_frameworks(exc: BaseException) -> bool:
    """Whether a framework raised it, and no code of an author's."""
    return _is_raised_in(exc, _FRAMEWORKS)


def _is_raised_in(exc: BaseException, modules: tuple[str, ...]) -> bool:
    last = None
    for last in frames(exc):  # noqa: B007
        pass
    return last is not None and str(last.tb_frame.f_globals.get("__name__")).startswith(modules)


def is_nested(raised: BaseException, code: CodeType | None) -> bool:
    """Whether it came out of another tool, which one with this code has called."""
    if code is None:
        return False
    *wrapped, last = _links(raised)
    if any(runs_another(each, code) for each in (*wrapped, last)):
        return True
    # A framework has wrapped it inside the tool.
    return any(code is each and not is_frameworks_module(module) for link in wrapped for module, each in _way(link))


def is_of_proxy(exc: BaseException) -> bool:
    """Whether it is what a proxy of FastMCP's makes of an error that the server behind it answered with."""
    if (type(exc).__module__, type(exc).__name__) != ("fastmcp.exceptions", "ToolError"):
        return False
    modules = [module for module, _ in _way(exc)]
    inside = next((number for number, module in enumerate(modules) if module in _PROXIES), None)
    return inside is not None and all(map(is_frameworks_module, modules[inside:]))


def is_masked(raised: BaseException) -> bool:
    """Whether the server of a tool tells nothing of what it raised but that it did."""
    *wrapped, _ = _links(raised)
    return any(_MASKED.fullmatch(exc_text(each)) for each in wrapped)


def is_check_of_arguments(raised: BaseException) -> bool:
    """Whether a framework refused the arguments of a call, before the function of its tool was entered.

    A tool at work may stumble over a validator of the framework's, too: over an answer of the client, or over what it
    sends. So it is not enough that the framework had called the validator: it must have done so in the one place where
    it holds arguments against a tool, and no function of an author's may stand between the framework and that place.
    """
    ways = [_way(each) for each in _links(raised)]
    if any(map(_has_begun, ways)):
        return False
    last = cause_of(raised)
    if is_refused_by_forwarding(last):
        return True
    if type(last).__name__ != "ValidationError" or not type(last).__module__.startswith("pydantic"):
        return False
    is_checking = False
    for module, code in ways[-1]:
        if (module, code.co_name) in _CHECKS:
            is_checking = True
        elif is_checking and (module.startswith(_DECORATORS) or not module.startswith(_BETWEEN)):
            return False
    return is_checking


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


@dataclass(frozen=True, slots=True)
class CheckedTool:
    """A tool as the server lists it, ready for calls to be held against it."""

    facts: ToolInfo
    known: frozenset[str] | None
    arguments: Checker | None
    output: Checker | None

    @classmethod
    def of(cls, tool: Any, boundary: Boundary) -> CheckedTool:
        schema, output = field(tool, "input_schema"), field(tool, "output_schema")
        options, function = boundary.options, ListedFunction(read_declared(tool))
        return cls(
            ToolInfo.of(tool.name, schema, output, tool.annotations, None, function, tool.description),
            None if open_ended(schema) else frozenset(known_names(schema)),
            Checker(applied_schema(schema, options.extra))
            if options.validate and isinstance(schema, Mapping)
            else None,
            Checker(output) if options.validate and output is not None else None,
        )


class Listings:
    """What the clients of a server were shown: each its own list, since lists may differ and change."""

    def __init__(self, boundary: Boundary) -> None:
        self._boundary = boundary
        self._own: WeakKeyDictionary[Any, _Listing] = WeakKeyDictionary()
        self._latest: _Listing | None = None
        self._rests_until = 0.0

    def remember(self, session: Any, tools: Iterable[Any], *, is_more: bool = False) -> None:
        """A client was shown these tools: `is_more` says that they follow on others, which it was shown before."""
        before = self._of(session)
        known = {} if before is None else before.tools
        held = dict(known) if is_more else {}
        for tool in tools:
            was = known.get(tool.name)
            held[tool.name] = (
                was if was is not None and was[0] == tool else (tool, CheckedTool.of(tool, self._boundary))
            )
        self._own[session] = self._latest = _Listing(held, time.monotonic())

    def _of(self, session: Any) -> _Listing | None:
        """What a client was shown, or what another one was where it has not asked."""
        return (None if session is None else self._own.get(session)) or self._latest

    def find(self, session: Any, name: str) -> CheckedTool | None:
        listing = self._of(session)
        known = None if listing is None else listing.tools.get(name)
        return None if known is None else known[1]

    def all(self, session: Any) -> list[ToolInfo]:
        listing = self._of(session)
        return [] if listing is None else [checked.facts for _, checked in listing.tools.values()]

    async def call(
        self,
        session: Any,
        call: ServedCall,
        arguments: dict[str, Any],
        send: Callable[[dict[str, Any]], Awaitable[Any]],
        list_anew: Callable[[], Awaitable[bool]],
        *,
        validates: bool | None = None,
    ) -> Any:
        """Make a call by `send`, held against what its tool lists. What is refused is refused by what the tool is now.

        `validates` says whether the SDK itself holds arguments against schemas: None where it cannot.
        """
        tool = self.find(session, call.tool)
        problem = self._check(tool, arguments, validates)
        if problem is not None and await list_anew():
            tool = self.find(session, call.tool)
            problem = self._check(tool, arguments, validates)
        if problem is not None:
            raise problem
        result = unwrapped(await send(arguments))
        if tool is None:
            return result
        promised = isinstance(result, CallToolResult) and not field(result, "is_error")
        if tool.output is not None and promised and not tool.output.fits(held := field(result, "structured_content")):
            raise BrokenResult(text_of(result) if held is None else held)
        return result

    def _check(
        self, tool: CheckedTool | None, arguments: Mapping[str, Any], validates: bool | None
    ) -> ToolError | None:
        """What is wrong with the arguments."""
        extra, unknown = str(self._boundary.options.extra), list[str]()
        # An author who has the SDK hold arguments against nothing means it.
        is_asked = validates is not False
        if tool is None:
            return None
        if tool.known is not None and (is_asked or extra != "auto"):
            unknown = [each for each in arguments if each not in tool.known]
        name, problem = tool.facts.name, None
        if unknown:
            schema = tool.facts.schema or {}
            extra = extras_policy(extra, arguments, schema, self._boundary.reader.effects.nature(tool.facts))
            if extra == "reject" and tool.arguments:
                problem = from_schema(applied_schema(schema, extra), arguments, tool=name)
        checker = tool.arguments
        if is_asked and problem is None and checker is not None and checker.is_compiled and not checker.fits(arguments):
            # What is nothing that JSON has fits nothing, and breaks no rule.
            problem = from_schema(checker.schema, arguments, tool=name)
        return problem

    async def renew(self, session: Any, show: Callable[[], Awaitable[Any]]) -> bool:
        """Whether the tools were listed anew by `show`. What the client was shown a moment ago is good enough, and who
        cannot be asked is not held to anything."""
        own = self._own.get(session)
        now = time.monotonic()
        if now < self._rests_until or (own is not None and now - own.at < _FRESH):
            return False
        is_answered = False
        try:
            with move_on_after(PATIENCE):
                await show()
                is_answered = True
        except BaseException as exc:
            # An order to stop is one.
            reraise_control_flow(exc)
        if not is_answered:
            self._rests_until = time.monotonic() + _REST
        return is_answered


class _Listing(NamedTuple):
    tools: dict[str, tuple[Any, CheckedTool]]
    at: float


PATIENCE: Final = 2.0
"""For how many seconds a call waits for the author's own list, which may ask somebody else in turn."""
_REST: Final = 30.0
"""For how many seconds a list that did not come is not asked for again."""
_FRESH: Final = 1.0


def could_mean_unknown(exc: BaseException) -> bool:
    """Whether a handler that was asked for a tool it does not list may have meant just that."""
    if isinstance(exc, ToolError):
        return exc.code == "UNKNOWN_TOOL"
    return isinstance(exc, (ValueError, LookupError, NotImplementedError, MCPError))


def look_at_results(tool: Any, kind: Any) -> None:
    """Have what a tool of the SDK's returns looked at before it is made into a result, where its metadata are of just
    this kind."""
    if type(tool.fn_metadata) is kind:
        object.__setattr__(tool.fn_metadata, "__class__", _returned_failures(kind))  # type: ignore[arg-type]


@cache
def _returned_failures(kind: Any) -> Any:
    class ReturnedFailures(kind):  # type: ignore[misc]
        def convert_result(self, result: Any) -> Any:
            if current.get() is None:
                return super().convert_result(result)
            return convert_result(super().convert_result, result)

    return ReturnedFailures


def list_only_data(manager: Any, func_metadata: Callable[..., Any]) -> None:
    """Give each tool whose function may return a failure the output schema of its data alone. To the SDK, every union
    is something to be wrapped."""
    add = manager.add_tool

    def settle(tool: Any) -> Any:
        meta = tool.fn_metadata
        try:
            hint = inspect.signature(tool.fn, eval_str=True).return_annotation
        except (NameError, ValueError, TypeError):
            return tool
        data = data_type(hint)
        if data is hint or getattr(meta, "output_schema", None) is None:
            return tool

        def returns() -> None: ...

        returns.__name__ = tool.fn.__name__
        returns.__signature__ = inspect.Signature(return_annotation=data)  # type: ignore[attr-defined]
        plain = func_metadata(returns)
        for name in ("output_schema", "output_model", "wrap_output"):
            setattr(meta, name, getattr(plain, name))
        return tool

    manager.add_tool = lambda *args, **given: settle(add(*args, **given))
    for tool in manager.list_tools():
        settle(tool)


def taken_by(tool: Any) -> Mapping[str, Any]:
    """The schema of a tool with all the names by which its function takes arguments: an argument of pydantic's may have
    several, of which a schema lists the first."""
    schema: Mapping[str, Any] = tool.parameters
    listed = properties_of(schema)
    others = [name for name in _names_taken(tool.fn_metadata.arg_model) if name not in listed]
    return {**schema, "properties": {**listed, **{name: {} for name in others}}} if others else schema


@lru_cache(maxsize=1000)
def _names_taken(model: Any) -> tuple[str, ...]:
    def names(alias: object) -> Iterator[str]:
        if isinstance(alias, str):
            yield alias
        elif isinstance(alias, AliasPath):
            yield str(alias.path[0])
        elif isinstance(alias, AliasChoices):
            for each in alias.choices:
                yield from names(each)

    return tuple(name for field in model.model_fields.values() for name in names(field.validation_alias))


def all_problems(tool: Any, arguments: dict[str, Any]) -> ToolError:
    """What is wrong with arguments that the tool does not have, and with the others: one answer for both."""
    problems: list[Problems] = []
    schema = taken_by(tool)
    try:
        tool.fn_metadata.arg_model.model_validate(tool.fn_metadata.pre_parse_json(arguments))
    except ValidationError as exc:
        problems.append(pydantic_problems(exc, call_of(schema, arguments)))
    except Exception:
        # A validator that breaks is found when the names are right.
        pass
    return invalid(*problems, check_names(arguments, schema), tool=tool.name)
