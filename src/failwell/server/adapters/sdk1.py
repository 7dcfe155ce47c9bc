"""Version 1 of the SDK: what its low-level server and everything that is built on it have in common.

The SDK's own handler of `tools/call` makes a text of every exception. It is used with another function to call, which
notes what was raised, so that its way with results stays as it is. All handlers are wrapped where the server looks them
up, so that it does not matter when they are registered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from types import CellType, FunctionType, SimpleNamespace
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import mcp.types
from mcp.server.lowlevel.server import request_ctx  # type: ignore[attr-defined]

from failwell.formats import Outcome
from failwell.model import Effect, Nature, ToolError, marks, unwrapped
from failwell.readers import code_of, from_schema, said
from failwell.sdk import IS_ERROR, field
from failwell.server import framework_rows  # noqa: F401  (the frameworks' own exceptions)
from failwell.server.absent import no_such
from failwell.server.boundary import Boundary, FrameworkCall
from failwell.server.declared_failures import publishing
from failwell.server.served_call import (
    EXTENSION,
    BrokenResult,
    Facts,
    Failed,
    ServedCall,
    current,
    is_torn_down,
    left_open,
    run_failed,
    taken,
)

from .background import whole_results
from .listed import settings
from .raised import cause_of, is_check_of_arguments, is_frameworks, is_masked, is_nested, is_of_proxy
from .wrong_messages import check_streams

types: Any = mcp.types
Handler = Callable[[Any], Awaitable[Any]]
Wrapper = Callable[[Handler], Handler]
LATEST: Final = str(types.LATEST_PROTOCOL_VERSION)
_SPOKEN: Final[list[str]] = import_module("mcp.shared.version").SUPPORTED_PROTOCOL_VERSIONS


class HandlerNote:
    """What became of one call inside the SDK's handler."""

    # Values of the class: most calls change two of them.
    runs: tuple[BaseException, ...] = ()
    """What each run of the tool has raised: somebody's middleware may have it run again."""
    entered = False
    raised: BaseException | None = None
    refused: BaseException | None = None
    """What kept the SDK from looking up the tool: it asks the server's own list, past middleware."""
    returned: Any = None
    told: BaseException | None = None
    """What the handler is to answer in its own way, without a call of the tool."""


_noting: ContextVar[HandlerNote | None] = ContextVar("failwell_noting", default=None)


def run_raised(name: str, exc: BaseException) -> None:
    """Say what a run of a tool has raised; arguments that were refused were no run."""
    note, call = _noting.get(), current.get()
    if note is not None and call is not None and call.is_of(name) and not is_check_of_arguments(exc):
        note.runs += (cause_of(exc),)


class _Introduction(NamedTuple):
    """What a client of 1.x said of itself when it connected, by the names that 2.x has for it."""

    sent: Any
    params: SimpleNamespace | None
    capabilities: SimpleNamespace | None

    @classmethod
    def of(cls, session: Any) -> _Introduction:
        sent = getattr(session, "client_params", None)
        known = _introduced.get(session)
        if known is None or known.sent is not sent:
            known = _introduced[session] = cls._read(sent)
        return known

    @classmethod
    def _read(cls, sent: Any) -> _Introduction:
        if sent is None:
            return cls(None, None, None)
        said = getattr(sent, "capabilities", None)
        asks = getattr(said, "elicitation", None)
        if asks is not None:
            # Before there were two ways to ask, whoever could be asked at all took forms.
            ways = asks if isinstance(asks, Mapping) else asks.model_dump()
            asks = SimpleNamespace(form=ways.get("form"), url=ways.get("url"))
        extensions = getattr(said, "extensions", None)
        capabilities = None if said is None else SimpleNamespace(elicitation=asks, extensions=extensions)
        return cls(sent, SimpleNamespace(client_info=sent.clientInfo), capabilities)


# It is said once, and asked at each failure: pydantic takes its time for what a model does not have.
_introduced: WeakKeyDictionary[Any, _Introduction] = WeakKeyDictionary()


class OlderSession:
    """A session of 1.x by the names that 2.x has for what the boundary asks of it."""

    __slots__ = ("_context", "client_capabilities", "client_params")

    def __init__(self, context: Any) -> None:
        self._context = context
        _, self.client_params, self.client_capabilities = _Introduction.of(context.session)

    @property
    def _connection(self) -> Any:
        return self._context.session

    @property
    def can_send_request(self) -> bool:
        return hasattr(self._context.session, "elicit")

    async def elicit_form(self, message: str, schema: Any, *, related_request_id: Any) -> Any:
        return await self._context.session.elicit(message, schema, related_request_id)

    async def report_progress(self, progress: float, total: float, message: str) -> None:
        token = getattr(self._context.meta, "progressToken", None)
        if token is not None:
            await self._context.session.send_progress_notification(
                token, progress, total, message=message, related_request_id=str(self._context.request_id)
            )


def session_now() -> Any:
    """Who is spoken to; in the place of nobody, something that is gone at once."""
    context = request_ctx.get(None)
    return _Nobody() if context is None else context.session


class _Nobody:
    """Outside of any request."""


def _is_within() -> bool:
    """Whether the call of the present request is being answered already."""
    call = current.get()
    return call is not None and getattr(call.request, "_context", None) is request_ctx.get()


class OlderRequest:
    """A request of 1.x by the names that 2.x has for what the boundary asks of it. Nothing is read before somebody
    needs it."""

    may_go_on = False
    _session: OlderSession | None = None

    def __init__(self, context: Any) -> None:
        self._context = context

    @property
    def request_id(self) -> Any:
        return self._context.request_id

    @property
    def request(self) -> Any:
        return getattr(self._context, "request", None)

    @property
    def session(self) -> OlderSession:
        self._session = self._session or OlderSession(self._context)
        return self._session

    @property
    def params(self) -> Mapping[str, Any]:
        meta = self._context.meta
        return {} if meta is None else {"_meta": meta.model_dump(by_alias=True, exclude_none=True)}

    @property
    def protocol_version(self) -> str:
        sent = getattr(self._context.session, "client_params", None)
        asked = LATEST if sent is None else str(sent.protocolVersion)
        return asked if asked in _SPOKEN else LATEST


def request_now() -> OlderRequest | None:
    """The request that is being answered."""
    context = request_ctx.get(None)
    return None if context is None else OlderRequest(context)


class Handlers(dict[type, Handler]):
    """The handlers of a server, each given out with what is wrapped around it."""

    def __init__(self, handlers: Mapping[type, Handler], wrappers: Mapping[type, Wrapper]) -> None:
        super().__init__(handlers)
        self._wrappers = wrappers
        self._made: dict[type, tuple[Handler, Handler]] = {}

    def __getitem__(self, kind: type) -> Handler:
        return self._wrapped(kind, super().__getitem__(kind))

    def get(self, kind: type, default: Any = None) -> Any:
        # So the SDK asks, at each request.
        handler, known = super().get(kind), self._made.get(kind)
        if known is not None and known[0] is handler:
            return known[1]
        return default if handler is None else self._wrapped(kind, handler)

    def _wrapped(self, kind: type, handler: Handler) -> Handler:
        known = self._made.get(kind)
        if known is None or known[0] is not handler:
            wrap = self._wrappers.get(kind)
            known = self._made[kind] = (handler, handler if wrap is None else wrap(handler))
        return known[1]


class FrameworkTools:
    """The tools of one server, and how calls of them are answered. Each framework has one of its own."""

    def __init__(self, server: Any, boundary: Boundary) -> None:
        self.server = server
        self.boundary = boundary

    async def facts(self, name: str, arguments: Mapping[str, Any] | None = None) -> Facts | None:
        """What a tool is; None if there is none of that name."""
        raise NotImplementedError

    async def all(self) -> list[Facts]:
        raise NotImplementedError

    def run(self, call: ServedCall, arguments: dict[str, Any], send: Callable[..., Awaitable[Any]]) -> Awaitable[Any]:
        """Make the call with these arguments, or with what is left of them; `send` makes it. `is_checked` says that
        they need not be held against the schema once more."""
        return send(arguments)

    def shown(self, request: Any, result: Any) -> None:
        """A client, or the SDK itself, was shown these tools."""

    def rejected(self, raised: BaseException) -> bool:
        """Whether what was raised is the framework's word that the arguments do not fit."""
        return False

    def unknown(self, raised: BaseException, tool: Facts | None) -> bool:
        """Whether what was raised says that there is no such tool."""
        return tool is None

    def has_ended(self, name: str) -> bool:
        """Whether a tool came to its end, where a call of it has a result: somebody around it may have answered."""
        return True

    async def stands_for_another(self, name: str) -> bool:
        """Whether a tool is only another name of one on another server."""
        return False

    def call(self, handler: Handler) -> Handler:
        boundary = self.boundary
        skip = frozenset(boundary.options.skip)
        noted = Noted(handler, noting(handler), noting(handler, validate_input=False))

        async def guarded(request: Any) -> Any:
            params = request.params
            name = params.name
            if name in skip or _is_within():
                return await handler(request)
            call = ServedCall(name, params.arguments or {}, OlderRequest(request_ctx.get()))
            known = _OlderCall(self, noted, call, request)
            try:
                result = await boundary.handle(call, known)
            except _PassedOn:
                return await known.without_secrets()
            last = known.last
            # Made as it is: to hold it against all that a server may answer takes as long as to write it.
            return last if last is not None and result is last.root else types.ServerResult.model_construct(result)

        return guarded

    async def refused(self, call: ServedCall, result: Any) -> BaseException:
        """What the SDK found wrong with the arguments, in better words than its own."""
        tool = await self.facts(call.tool, call.arguments)
        found = (
            None if tool is None or tool.schema is None else from_schema(tool.schema, call.arguments, tool=tool.name)
        )
        text = next((block.text for block in result.content if block.type == "text"), "")
        return found or ValueError(text)


class Noted(NamedTuple):
    """The SDK's handler of `tools/call`, as it is and with notes of what became of a call."""

    bare: Handler
    checked: Handler
    unchecked: Handler
    """It holds no arguments against a schema."""


class _OlderCall(FrameworkCall):
    """A call that the SDK's handler makes."""

    __slots__ = ("_call", "_handlers", "_note", "_request", "_sent", "_tools", "last")

    def __init__(self, tools: FrameworkTools, handlers: Noted, call: ServedCall, request: Any) -> None:
        self._tools = tools
        self._handlers = handlers
        self._call = call
        self._request = request
        self._sent = call.arguments
        self._note: HandlerNote | None = None
        self.last: Any = None
        """What the handler answered last."""

    def run(self, arguments: dict[str, Any]) -> Awaitable[Any]:
        return self._tools.run(self._call, arguments, self._send)

    async def _send(self, arguments: dict[str, Any], *, is_checked: bool = False) -> Any:
        asked, handlers = self._request, self._handlers
        if arguments is not self._sent:
            params = asked.params.model_copy(update={"arguments": arguments})
            asked = asked.model_copy(update={"params": params})
        note = self._note = HandlerNote()
        token = _noting.set(note)
        try:
            last = self.last = await (handlers.unchecked if is_checked else handlers.checked)(asked)
        except _Escaped:
            last = self.last = None
        finally:
            _noting.reset(token)
        if note.raised is not None:
            raise note.raised
        result = last.root
        if getattr(result, IS_ERROR, None) is not True or handlers.checked is handlers.bare:
            return result
        if not note.entered:
            raise note.refused or await self._tools.refused(self._call, result)
        if result == note.returned:
            return result
        if _is_error_result(note.returned):
            # Before 1.19 the SDK stumbles over a result that a tool has built itself.
            return note.returned
        # The SDK's word about what the tool returned, or somebody in its place.
        raise BrokenResult(data_in(note.returned), is_tools=self._tools.has_ended(self._call.tool))

    async def as_it_is(self) -> Any:
        """The SDK's own answer."""
        if self.last is None and self._note is not None and self._note.raised is not None:
            note = HandlerNote()
            note.told = self._note.raised
            token = _noting.set(note)
            try:
                self.last = await self._handlers.unchecked(self._request)
            finally:
                _noting.reset(token)
        return self.last

    async def without_secrets(self) -> Any:
        """The same, of another server's words."""
        last = await self.as_it_is()
        told = await self._tools.boundary.without_secrets(self._call, last.root, self)
        return last if told is last.root else types.ServerResult.model_construct(told)

    async def facts(self) -> Facts:
        call = self._call
        return await self._tools.facts(call.tool, call.arguments) or Facts(call.tool)

    async def read(self, raised: BaseException) -> Failed:
        call, tools = self._call, self._tools
        name, boundary = call.tool, tools.boundary
        tool = await tools.facts(name, call.arguments)
        has_run = (passed := marks.get()) is not None and passed.has_run
        if not has_run and tools.unknown(raised, tool):
            return boundary.no_such_tool(call, [each.name for each in await tools.all()], raised)
        runs = () if self._note is None else self._note.runs
        is_proxys = not has_run and is_of_proxy(raised) and all(each is raised for each in runs)
        if is_proxys and await tools.stands_for_another(name):
            # What the server behind it says stands as it is, but for secrets.
            raise _PassedOn
        cause = cause_of(raised)
        for earlier in (each for each in runs if each is not cause):
            run_failed(name, earlier if getattr(earlier, "origin", None) is None else None)
        if is_torn_down(cause) and boundary.reader.effects.nature(tool or Facts(name)) is not Nature.READ:
            left_open(name)
        nested = is_nested(raised, code_of(tool.function) if tool is not None else None)
        failed = boundary.read(
            cause,
            tool or Facts(name),
            call.arguments,
            era=call.era,
            rejected=not nested and tools.rejected(raised),
            nested=nested,
            masked=is_masked(raised),
        )
        return failed._replace(outcome=untried(failed.outcome)) if self._is_untried else failed

    @property
    def _is_untried(self) -> bool:
        """Whether the SDK has given up before it called anybody."""
        handlers, note = self._handlers, self._note
        return note is not None and not note.entered and handlers.checked is not handlers.bare

    async def stands_for_another(self) -> bool:
        return await self._tools.stands_for_another(self._call.tool)


def untried(outcome: Outcome) -> Outcome:
    """The failure of a call of which it is known that nothing has run."""
    if not isinstance(outcome, ToolError) or outcome.effect is Effect.NONE:
        return outcome
    return outcome.replace(effect=Effect.NONE, standing=None)


class _PassedOn(Exception):
    """The server behind a proxy has answered."""


class _Escaped(BaseException):
    """A tool has raised something, which is noted. The SDK, which makes an answer of exceptions, lets this one pass."""


def setting(handler: Handler, name: str) -> bool | None:
    """What the author has set for the SDK's own handler; None where it knows of no such thing."""
    names: tuple[str, ...] = getattr(getattr(handler, "__code__", None), "co_freevars", ())
    cells: tuple[CellType, ...] = getattr(handler, "__closure__", None) or ()
    return next((bool(cell.cell_contents) for each, cell in zip(names, cells, strict=True) if each == name), None)


def noting(handler: Handler, **settings: bool) -> Handler:
    """The SDK's handler of `tools/call`, with a note of what the function that it calls has raised, and with some of
    its settings changed; a handler of somebody's own as it is."""
    code = getattr(handler, "__code__", None)
    closure = getattr(handler, "__closure__", None)
    if code is None or closure is None or "func" not in code.co_freevars:
        return handler
    place = code.co_freevars.index("func")
    function = closure[place].cell_contents

    async def noted(*given: Any, **options: Any) -> Any:
        note = _noting.get()
        if note is None:
            return await function(*given, **options)
        if note.told is not None:
            raise note.told
        note.entered = True
        try:
            note.returned = unwrapped(await function(*given, **options))
        except Exception as exc:
            note.raised = exc
            raise _Escaped from None
        except BaseException as exc:
            note.raised = exc
            raise
        return note.returned

    changed = {name: CellType(value) for name, value in {"func": noted, **settings}.items()}
    cells = tuple(changed.get(name, cell) for name, cell in zip(code.co_freevars, closure, strict=True))
    made = FunctionType(code, handler.__globals__, code.co_name, handler.__defaults__, cells)
    made.__kwdefaults__ = handler.__kwdefaults__
    return made


@dataclass(frozen=True, slots=True)
class Named:
    """What is asked for by a name, resources or prompts, as far as a framework tells."""

    kind: str
    names: Callable[[], Awaitable[list[str]]] | None = None
    """What there is."""
    check: Callable[[Any], Awaitable[ToolError | None]] | None = None
    """What is wrong with a request."""

    def wrap(self, boundary: Boundary) -> Wrapper:
        kind = self.kind

        def wrapped(handler: Handler) -> Handler:
            async def guarded(request: Any) -> Any:
                if _is_within():
                    return await handler(request)
                params = request.params
                what = str(params.uri) if kind == "resource" else params.name
                try:
                    problem = await self.check(params) if self.check is not None else None
                    if problem is not None:
                        raise problem
                    return await handler(request)
                except BaseException as exc:
                    failed = cause_of(taken(exc))
                if is_absent(failed, kind):
                    failed = no_such(kind, what, await self._names())
                about = {"uri" if kind == "resource" else "name": what}
                raise boundary.request_error(failed, what, about, request_now())

            return guarded

        return wrapped

    async def _names(self) -> list[str]:
        try:
            return [] if self.names is None else await self.names()
        except Exception:
            return []


_RESOURCES: Final = Named("resource")
_PROMPTS: Final = Named("prompt")


def install_on(
    server: Any,
    boundary: Boundary,
    tools: FrameworkTools,
    *,
    resources: Named = _RESOURCES,
    prompts: Named = _PROMPTS,
) -> None:
    """Put the boundary on a low-level server of 1.x, which tells the text of any exception."""
    boundary.listed = tools.all
    boundary.reader.shows_text = True
    wrappers: dict[type, Wrapper] = {
        types.CallToolRequest: tools.call,
        types.ReadResourceRequest: resources.wrap(boundary),
        types.GetPromptRequest: prompts.wrap(boundary),
        types.CompleteRequest: _completing(boundary),
    }
    if (asks_for_task := getattr(types, "GetTaskPayloadRequest", None)) is not None:
        wrappers[asks_for_task] = whole_results
    wrappers[types.ListToolsRequest] = _publishing(tools) if boundary.options.publish else _listing(tools)
    server.request_handlers = Handlers(server.request_handlers, wrappers)
    _advertise(server, boundary)
    check_streams(server, boundary)


def is_absent(exc: BaseException, kind: str) -> bool:
    """Whether a framework says that it has no such resource or prompt."""
    return is_frameworks(exc) and said(exc).startswith(f"Unknown {kind}")


def _completing(boundary: Boundary) -> Wrapper:
    def wrap(handler: Handler) -> Handler:
        async def guarded(request: Any) -> Any:
            try:
                return await handler(request)
            except BaseException as exc:
                failed = cause_of(taken(exc))
            name = request.params.argument.name
            raise boundary.request_error(failed, name, {"argument": name}, request_now())

        return guarded

    return wrap


def _listing(tools: FrameworkTools) -> Wrapper:
    """The handler of `tools/list`, with a note of what it raised to the SDK, which asks it before it calls a tool."""

    def wrap(handler: Handler) -> Handler:
        async def listing(request: Any) -> Any:
            try:
                result = await handler(request)
            except Exception as exc:
                note = _noting.get()
                if note is not None and not note.entered:
                    note.refused = exc
                raise
            tools.shown(request, result.root)
            return result

        return listing

    return wrap


def _publishing(tools: FrameworkTools) -> Wrapper:
    async def function(name: str) -> Any:
        found = await tools.facts(name)
        return None if found is None else found.function

    def wrap(handler: Handler) -> Handler:
        handler = _listing(tools)(handler)

        async def listed(_: Any, request: Any) -> Any:
            return (await handler(request)).root

        published = publishing(function)(listed)

        async def listing(request: Any) -> Any:
            return types.ServerResult(await published(None, request))

        return listing

    return wrap


def _advertise(server: Any, boundary: Boundary) -> None:
    """Say in the handshake which formats there are."""
    original = server.get_capabilities

    def get_capabilities(*given: Any, **options: Any) -> Any:
        capabilities = original(*given, **options)
        changes = {
            place: {**(getattr(capabilities, place, None) or {}), EXTENSION: settings(boundary)}
            for place in ("experimental", "extensions")
        }
        return capabilities.model_copy(update=changes)

    server.get_capabilities = get_capabilities


def _is_error_result(returned: Any) -> bool:
    return isinstance(returned, types.CallToolResult) and field(returned, "is_error") is True


def data_in(returned: Any) -> Any:
    """What a tool returned, out of what frameworks hand to the SDK: blocks and data, what is no object put into one."""
    data = returned[1] if isinstance(returned, tuple) and len(returned) == 2 else returned
    return data["result"] if isinstance(data, dict) and data.keys() == {"result"} else data
