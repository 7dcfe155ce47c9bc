"""What FastMCP runs in the background: a worker calls the functions of tools, past middleware and past a tool's own
run, and keeps what they raise until somebody asks for it, in another process perhaps. So the failure is read where the
worker calls the function, and only what may leave is kept."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
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


def in_background(
    boundary: Boundary, component: Any, answer: Answer, era: str, name: str | None = None
) -> Function | None:
    """The function of a tool, prompt or resource as a worker is to call it; None where it is to be left alone. It is
    known by this name, if it is given one."""
    function, name = component.fn, name or str(component.name)
    if hasattr(function, _READS):
        return None
    tool = ToolInfo.of_tool(name, component) if hasattr(component, "output_schema") else None
    signature = inspect.signature(function)
    # Nobody in particular asks: whoever started the task is not known to the worker.
    nobody = SimpleNamespace(client_params=None, client_capabilities=None)
    request = SimpleNamespace(protocol_version=era, params={}, session=nobody, request_id=None, may_go_on=False)

    async def run(*given: Any, **options: Any) -> Any:
        token = marks.set(made := Marks())
        try:
            value = function(*given, **options)
            value = await value if inspect.isawaitable(value) else value
            return value if tool is None else unwrapped(value)
        except BaseException as exc:
            raised = reraise_control_flow(exc)
        finally:
            made.is_over = True
            marks.reset(token)
        if tool is None:
            failed = boundary.request_error(raised, name, {}, request).error
            words = [{"type": "text", "text": failed.message}]
            return answer(CallToolResult.model_validate({"content": words, "isError": True, "_meta": failed.data}))
        # Beside what the worker adds for it to depend on.
        added = signature.parameters.keys() - properties_of(tool.schema).keys()
        own = {each: value for each, value in options.items() if each not in added}
        call = ServedCall(name, to_jsonable_python(own, fallback=repr), request)
        call.in_span = False
        *_, last = (None, *frames(raised))
        if isinstance(raised, TypeError) and last and last.tb_frame.f_code is run.__code__ and tool.schema is not None:
            # The function could not even be called with these arguments.
            found = from_schema(applied_schema(tool.schema, "reject"), call.arguments, tool=name)
            raised = raised if found is None else found.replace(effect="none")
        return answer(await boundary.answer_around(call, raised, tool, made))

    functools.update_wrapper(run, function)
    # Whoever injects dependencies looks for the parameters here.
    run.__signature__ = signature  # type: ignore[attr-defined]
    setattr(run, _READS, True)
    return run


def guard_tasks(server: Any, boundary: Boundary, answer: Answer, era: str) -> None:
    """Have what a server of FastMCP 3 or newer gives to its worker read its own failures."""
    original = server.get_tasks

    def guard(component: Any) -> Any:
        function = in_background(boundary, component, answer, era) if hasattr(component, "fn") else None
        return component if function is None else component.model_copy(update={"fn": function})

    twins = Twins(guard)

    async def get_tasks() -> list[Any]:
        return [twins(each) for each in await original()]

    server.get_tasks = get_tasks


class TaskFailure(Exception):
    """A failure as the worker of FastMCP 2 and 3 keeps it, which takes only exceptions for one. It is written down by
    pickle, so it has nothing but its arguments: words, and the result."""

    def __str__(self) -> str:
        # FastMCP makes a text of it, and nothing else: who answers is to have the rest.
        if (asked := _asked.get()) is not None:
            asked.append(self)
        return str(self.args[0])


_asked: ContextVar[list[TaskFailure] | None] = ContextVar("failwell_asked", default=None)


def as_failure(result: CallToolResult) -> Any:
    words = "\n".join(block.text for block in result.content if block.type == "text")
    raise TaskFailure(words, result.model_dump(by_alias=True, mode="json", exclude_none=True))


def whole_results(handler: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """The handler of `tasks/result` of FastMCP 2 and 3, with the whole of a failure in place of its words."""

    async def answer_task(request: Any) -> Any:
        failures: list[TaskFailure] = []
        token = _asked.set(failures)
        try:
            answer = await handler(request)
        finally:
            _asked.reset(token)
        if not failures or not isinstance(answer.root, CallToolResult):
            return answer
        kept = failures[-1].args[1]
        meta = {**(answer.root.meta or {}), **kept.get("_meta", {})}
        return type(answer)(CallToolResult.model_validate({**kept, "_meta": meta}))

    return answer_task
