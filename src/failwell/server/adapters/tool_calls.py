"""The tools of one server of the SDK, functions or a list, and a call of one. Both generations of the SDK use it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from anyio import move_on_after
from pydantic import AliasChoices, AliasPath, ValidationError

from failwell.model import ToolError, data_type, frames, unwrapped
from failwell.observe import UNKNOWN
from failwell.readers import applied_schema, call_of, check_names, code_of, extras_policy, from_schema, text_of
from failwell.schema import (
    Checker,
    Problems,
    has_names,
    invalid,
    known_names,
    open_ended,
    properties_of,
    pydantic_problems,
    unknown_names,
)
from failwell.sdk import CallToolResult, MCPError, field
from failwell.server.boundary import Boundary, FrameworkCall
from failwell.server.declared_failures import ListedFunction, read_declared
from failwell.server.replies import convert_result, report_unknown_arguments
from failwell.server.served_call import (
    BrokenResult,
    FailedCall,
    ServedCall,
    ToolInfo,
    connection_of,
    current,
    group_of,
    has_finished,
    reraise_control_flow,
)

from .shared import cause_of

Send = Callable[[dict[str, Any]], Awaitable[Any]]

PATIENCE: Final = 2.0
"""For how many seconds a call waits for the author's own list, which may ask somebody else in turn."""
_REST: Final = 30.0
"""For how many seconds a list that did not come is not asked for again."""
_FRESH: Final = 1.0


class ServedTools:
    """The tools of one server, and how calls of them are answered. Each kind of server has one of its own."""

    def __init__(self, server: Any, boundary: Boundary) -> None:
        self.server = server
        self.boundary = boundary

    async def find(self, name: str, request: Any = None, arguments: Mapping[str, Any] | None = None) -> ToolInfo | None:
        """What a tool is, a group by the action that these arguments choose; None if there is none of that name."""
        raise NotImplementedError

    async def all(self, request: Any = None) -> list[ToolInfo]:
        raise NotImplementedError

    def run(self, call: ServedCall, arguments: dict[str, Any], send: Send) -> Awaitable[Any]:
        """Make the call with these arguments, or with what is left of them; `send` makes it."""
        return send(arguments)

    def is_unknown(self, call: ServedCall, raised: BaseException) -> bool:
        """Whether what was raised says that there is no such tool, where none was found."""
        return True

    def explain(self, raised: BaseException, tool: ToolInfo) -> tuple[BaseException, dict[str, bool]]:
        """What a tool raised, under whatever a framework raised over it, and how it came about."""
        return raised, {}


class ToolCall(FrameworkCall):
    """A call of a tool, which `send` makes."""

    __slots__ = ("call", "send", "tools")

    def __init__(self, tools: Any, call: ServedCall, send: Send) -> None:
        self.tools = tools
        self.call = call
        self.send = send

    def run(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        made: Awaitable[Any] = self.tools.run(self.call, arguments, self.send)
        return made

    async def facts(self) -> ToolInfo:
        call = self.call
        return await self.tools.find(call.tool, call.request, call.arguments) or ToolInfo(call.tool)

    async def read(self, raised: BaseException) -> FailedCall:
        call, tools = self.call, self.tools
        boundary: Boundary = tools.boundary
        known = await tools.find(call.tool, call.request, call.arguments)
        if known is None and not has_finished(call.tool) and tools.is_unknown(call, raised):
            return boundary.no_such_tool(call, [each.name for each in await tools.all(call.request)], raised)
        call.counted = call.tool
        tool = known or ToolInfo(call.tool)
        cause, how = tools.explain(raised, tool)
        return boundary.read(cause, tool, call.arguments, era=call.era, **how)


class FunctionTools(ServedTools):
    """The tools of an MCPServer, by either of its names: functions with the models that the SDK made of them."""

    kind: Any = None
    """The class of the SDK's that makes results of what functions return; None where there is none."""
    errors: Any = ()
    """What 2.x raises over what a tool has raised: over the author's own, and over a crash."""

    async def find(self, name: str, request: Any = None, arguments: Mapping[str, Any] | None = None) -> ToolInfo | None:
        tool = self.server._tool_manager.get_tool(name)
        return None if tool is None else ToolInfo.of_tool(name, tool, arguments)

    async def all(self, request: Any = None) -> list[ToolInfo]:
        return [ToolInfo.of_tool(tool.name, tool) for tool in self.server._tool_manager.list_tools()]

    def explain(self, raised: BaseException, tool: ToolInfo) -> tuple[BaseException, dict[str, bool]]:
        code, rejected, nested = code_of(tool.function), False, False
        while isinstance(raised, self.errors) and raised.__cause__ is not None:
            is_crash = isinstance(raised, self.errors[1])
            if not is_crash and not str(raised).startswith("Error executing tool "):
                break
            # Another tool, called by this one, fails after this one has begun.
            nested = nested or code in [trace.tb_frame.f_code for trace in frames(raised)]
            rejected = not is_crash and isinstance(raised.__cause__, ValidationError) and not nested
            raised = raised.__cause__
        return raised, {"rejected": rejected, "nested": nested}

    def run(self, call: ServedCall, arguments: dict[str, Any], send: Send) -> Awaitable[Any]:
        tool = self.server._tool_manager.get_tool(call.tool)
        if tool is None:
            return send(arguments)
        if self.kind is not None and type(tool.fn_metadata) is self.kind:
            object.__setattr__(tool.fn_metadata, "__class__", _returned_failures(self.kind))  # type: ignore[arg-type]
        # A group looks at its arguments itself, once it knows the action.
        if has_names(arguments, tool.parameters) or group_of(tool.fn) is not None:
            return send(arguments)
        return self._run_without_unknown(call, tool, arguments, send)

    async def _run_without_unknown(self, call: ServedCall, tool: Any, arguments: dict[str, Any], send: Send) -> Any:
        schema: Mapping[str, Any] = tool.parameters
        # An argument of pydantic's may have several names, of which a schema lists the first.
        if others := [name for name in _names_taken(tool.fn_metadata.arg_model) if name not in properties_of(schema)]:
            schema = {**schema, "properties": {**properties_of(schema), **{name: {} for name in others}}}
        if has_names(arguments, schema):
            return await send(arguments)
        facts, options = ToolInfo.of_tool(call.tool, tool), self.boundary.options
        extra = extras_policy(options.extra, arguments, schema, self.boundary.reader.effects.nature(facts))
        if extra == "reject":
            problems: list[Problems] = []
            try:
                tool.fn_metadata.arg_model.model_validate(tool.fn_metadata.pre_parse_json(arguments))
            except ValidationError as exc:
                problems.append(pydantic_problems(exc, call_of(schema, arguments)))
            except Exception:
                # A validator that breaks is found when the names are right.
                pass
            raise invalid(*problems, check_names(arguments, schema), tool=tool.name)
        result = await send(arguments)
        report_unknown_arguments(call, unknown_names(arguments, schema))
        return result


@cache
def _returned_failures(kind: Any) -> Any:
    """A class that looks at what a tool returned before it is made into a result."""

    class ReturnedFailures(kind):  # type: ignore[misc]
        def convert_result(self, result: Any) -> Any:
            if current.get() is None:
                return super().convert_result(result)
            return convert_result(super().convert_result, result)

    return ReturnedFailures


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


@dataclass(frozen=True, slots=True)
class _CheckedTool:
    """A tool as the server lists it, ready for calls to be held against it."""

    listed: Any
    facts: ToolInfo
    known: frozenset[str] | None
    arguments: Checker | None
    output: Checker | None

    @classmethod
    def of(cls, tool: Any, boundary: Boundary) -> _CheckedTool:
        schema, output = field(tool, "input_schema"), field(tool, "output_schema")
        options, function = boundary.options, ListedFunction(read_declared(tool))
        is_checked = options.validate and isinstance(schema, Mapping)
        return cls(
            tool,
            ToolInfo.of(tool.name, schema, output, tool.annotations, None, function, tool.description),
            None if open_ended(schema) else frozenset(known_names(schema)),
            Checker(applied_schema(schema, options.extra)) if is_checked else None,
            Checker(output) if options.validate and output is not None else None,
        )


class _Listing(NamedTuple):
    tools: dict[str, _CheckedTool]
    at: float


class ListedTools(ServedTools):
    """What a low-level server lists, and the calls that are held against it. Each client was shown a list of its own,
    since lists may differ and change."""

    validates = True
    """Whether the SDK holds arguments against schemas: an author who has it hold them against nothing means it."""

    def __init__(self, server: Any, boundary: Boundary, show: Callable[[Any], Awaitable[Any]]) -> None:
        super().__init__(server, boundary)
        self._show = show
        """Has the handler of `tools/list` show all tools for a request."""
        self._own: WeakKeyDictionary[Any, _Listing] = WeakKeyDictionary()
        self._latest: _Listing | None = None
        self._rests_until = 0.0

    def remember(self, session: Any, tools: Iterable[Any], *, is_more: bool = False) -> None:
        """A client was shown these tools: `is_more` says that they follow on others, which it was shown before."""
        before = self._own.get(session) or self._latest
        known = {} if before is None else before.tools
        held = dict(known) if is_more else {}
        for tool in tools:
            was = known.get(tool.name)
            is_same = was is not None and was.listed == tool
            held[tool.name] = was if was is not None and is_same else _CheckedTool.of(tool, self.boundary)
        self._own[session] = self._latest = _Listing(held, time.monotonic())

    def _shown(self, request: Any) -> dict[str, _CheckedTool]:
        """What a client was shown, or what another one was where it has not asked."""
        own = None if request is None else self._own.get(connection_of(request))
        listing = own or self._latest
        return {} if listing is None else listing.tools

    def get(self, name: str, request: Any = None) -> ToolInfo:
        """A tool as it was shown."""
        tool = self._shown(request).get(name)
        return ToolInfo(name) if tool is None else tool.facts

    async def find(self, name: str, request: Any = None, arguments: Mapping[str, Any] | None = None) -> ToolInfo | None:
        tool = self._shown(request).get(name)
        if tool is None and await self._list_anew(request):
            tool = self._shown(request).get(name)
        return None if tool is None else tool.facts

    def request_now(self) -> Any:
        """The request that is being answered."""
        call = current.get()
        return None if call is None else call.request

    async def all(self, request: Any = None) -> list[ToolInfo]:
        request = request or self.request_now()
        if not self._shown(request):
            await self._list_anew(request)
        return [tool.facts for tool in self._shown(request).values()]

    def is_unknown(self, call: ServedCall, raised: BaseException) -> bool:
        """Whether a handler that was asked for a tool that it does not list may have meant just that."""
        raised = cause_of(raised)
        if isinstance(raised, ToolError) and raised.code != "UNKNOWN_TOOL":
            return False
        meant = isinstance(raised, (ToolError, ValueError, LookupError, NotImplementedError, MCPError))
        return meant and bool(self._shown(call.request))

    async def run(self, call: ServedCall, arguments: dict[str, Any], send: Send) -> Any:
        """What is refused is refused by what the tool is now."""
        tool = self._shown(call.request).get(call.tool)
        if tool is None and await self._list_anew(call.request):
            tool = self._shown(call.request).get(call.tool)
        problem = self._check(tool, arguments)
        if problem is not None and await self._list_anew(call.request):
            tool = self._shown(call.request).get(call.tool)
            problem = self._check(tool, arguments)
        if problem is not None:
            raise problem
        if tool is None:
            call.counted = UNKNOWN
        result = unwrapped(await send(arguments))
        if tool is None:
            return result
        promised = isinstance(result, CallToolResult) and not field(result, "is_error")
        if tool.output is not None and promised and not tool.output.fits(held := field(result, "structured_content")):
            raise BrokenResult(text_of(result) if held is None else held)
        return result

    def _check(self, tool: _CheckedTool | None, arguments: Mapping[str, Any]) -> ToolError | None:
        """What is wrong with the arguments."""
        if tool is None:
            return None
        extra, unknown = str(self.boundary.options.extra), list[str]()
        if tool.known is not None and (self.validates or extra != "auto"):
            unknown = [each for each in arguments if each not in tool.known]
        name, problem = tool.facts.name, None
        if unknown:
            schema = tool.facts.schema or {}
            extra = extras_policy(extra, arguments, schema, self.boundary.reader.effects.nature(tool.facts))
            if extra == "reject" and tool.arguments:
                problem = from_schema(applied_schema(schema, extra), arguments, tool=name)
        checker = tool.arguments
        if self.validates and problem is None and checker and checker.is_compiled and not checker.fits(arguments):
            # What is nothing that JSON has fits nothing, and breaks no rule.
            problem = from_schema(checker.schema, arguments, tool=name)
        return problem

    async def _list_anew(self, request: Any) -> bool:
        """Whether the tools were listed anew. What the client was shown a moment ago is good enough, and who cannot be
        asked is not held to anything."""
        now = time.monotonic()
        own = None if request is None else self._own.get(connection_of(request))
        if request is None or now < self._rests_until or (own is not None and now - own.at < _FRESH):
            return False
        is_answered = False
        try:
            with move_on_after(PATIENCE):
                await self._show(request)
                is_answered = True
        except BaseException as exc:
            # An order to stop is one.
            reraise_control_flow(exc)
        if not is_answered:
            self._rests_until = time.monotonic() + _REST
        return is_answered
