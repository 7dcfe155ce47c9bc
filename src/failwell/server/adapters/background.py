"""What FastMCP runs in the background: a worker calls the functions of tools, past middleware and past a tool's own
run, and keeps what they raise until somebody asks for it, in another process perhaps. So the failure is read where the
worker calls the function, and only what may leave is kept."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, Final

from pydantic_core import to_jsonable_python

from failwell.model import Marks, frames, marks, unwrapped
from failwell.readers import applied_schema, from_schema
from failwell.schema import properties_of
from failwell.sdk import CallToolResult
from failwell.server.boundary import Boundary
from failwell.server.served_call import ServedCall, ToolInfo, reraise_control_flow

from .shared import Twins

Function = Callable[..., Awaitable[Any]]
Answer = Callable[[CallToolResult], Any]
"""What a function gives its worker for a failure: it returns what is kept, or raises it."""

# On a function: that its failures are read.
_READS: Final = "__failwell_background__"
# Nobody in particular asks: whoever started the task is not known to the worker.
_NOBODY: Final = SimpleNamespace(client_params=None, client_capabilities=None)


def in_background(
    boundary: Boundary, component: Any, answer: Answer, era: str, name: str | None = None
) -> Function | None:
    """The function of a tool, prompt or resource as a worker is to call it; None where it is to be left alone. It is
    known by this name, if it is given one."""
    function, name = component.fn, name or str(component.name)
    if hasattr(function, _READS):
        return None
    made = (_tool if hasattr(component, "output_schema") else _read)(boundary, component, name, answer, era)
    # Whoever injects dependencies looks for the parameters here.
    made.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    setattr(made, _READS, True)
    return made


def _tool(boundary: Boundary, tool: Any, name: str, answer: Answer, era: str) -> Function:
    function, facts = tool.fn, ToolInfo.of_tool(name, tool)
    # What the worker adds for it to depend on.
    added = inspect.signature(function).parameters.keys() - properties_of(facts.schema).keys()

    @functools.wraps(function)
    async def run(*given: Any, **options: Any) -> Any:
        token = marks.set(made := Marks())
        try:
            return unwrapped(await _result(function, given, options))
        except BaseException as exc:
            raised = reraise_control_flow(exc)
        finally:
            made.is_over = True
            marks.reset(token)
        sent = {name: value for name, value in options.items() if name not in added}
        call = ServedCall(facts.name, to_jsonable_python(sent, fallback=repr), _request(era))
        call.in_span = False
        raised = _refused(raised, facts, call.arguments)
        return answer(await boundary.answer_around(call, raised, facts, made))

    return run


def _read(boundary: Boundary, component: Any, name: str, answer: Answer, era: str) -> Function:
    function = component.fn

    @functools.wraps(function)
    async def read(*given: Any, **options: Any) -> Any:
        try:
            return await _result(function, given, options)
        except BaseException as exc:
            raised = reraise_control_flow(exc)
        failed = boundary.request_error(raised, name, {}, _request(era)).error
        told = {"content": [{"type": "text", "text": failed.message}], "isError": True, "_meta": failed.data}
        return answer(CallToolResult.model_validate(told))

    return read


async def _result(function: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    value = function(*given, **options)
    return await value if inspect.isawaitable(value) else value


def _request(era: str) -> Any:
    return SimpleNamespace(protocol_version=era, params={}, session=_NOBODY, request_id=None, may_go_on=False)


def _refused(raised: BaseException, tool: ToolInfo, arguments: Mapping[str, Any]) -> BaseException:
    """What was raised; what is wrong with the arguments, where the function could not even be called with them."""
    *_, last = (None, *frames(raised))
    is_called = last is None or last.tb_frame.f_code is not _result.__code__
    if is_called or not isinstance(raised, TypeError) or tool.schema is None:
        return raised
    found = from_schema(applied_schema(tool.schema, "reject"), arguments, tool=tool.name)
    return raised if found is None else found.replace(effect="none")


def guard_tasks(server: Any, boundary: Boundary, answer: Answer, era: str) -> None:
    """Have what a server of FastMCP 3 or newer gives to its worker read its own failures."""
    original = server.get_tasks

    def guarded(component: Any) -> Any:
        function = in_background(boundary, component, answer, era) if hasattr(component, "fn") else None
        return component if function is None else component.model_copy(update={"fn": function})

    twins = Twins(guarded)

    async def get_tasks() -> list[Any]:
        return [twins(each) for each in await original()]

    server.get_tasks = get_tasks


class TaskFailure(Exception):
    """A failure as the worker of FastMCP 2 and 3 keeps it, which takes only exceptions for one. It is written down by
    pickle, so it has nothing but its arguments."""

    def __init__(self, words: str, result: dict[str, Any]) -> None:
        super().__init__(words, result)

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = self.args[1]
        return found

    def __str__(self) -> str:
        # FastMCP makes a text of it, and nothing else: who answers is to have the rest.
        if (heard := _heard.get()) is not None:
            heard.append(self)
        return str(self.args[0])


_heard: ContextVar[list[TaskFailure] | None] = ContextVar("failwell_heard", default=None)


def as_failure(result: CallToolResult) -> Any:
    words = "\n".join(block.text for block in result.content if block.type == "text")
    raise TaskFailure(words, result.model_dump(by_alias=True, mode="json", exclude_none=True))


def whole_results(handler: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """The handler of `tasks/result` of FastMCP 2 and 3, with the whole of a failure in place of its words."""

    async def answered(request: Any) -> Any:
        heard: list[TaskFailure] = []
        token = _heard.set(heard)
        try:
            answer = await handler(request)
        finally:
            _heard.reset(token)
        if not heard or not isinstance(answer.root, CallToolResult):
            return answer
        kept = heard[-1].result
        meta = {**(answer.root.meta or {}), **kept.get("_meta", {})}
        return type(answer)(CallToolResult.model_validate({**kept, "_meta": meta}))

    return answered
