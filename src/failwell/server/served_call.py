"""One call of a tool: who makes it, what the tool is, and what a failure of it means."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import is_
from time import perf_counter
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from failwell.formats import FORMATS, GATES, META_KEY, UNKNOWN, Client, Outcome, find_client, keys
from failwell.model import (
    Marks,
    NeedsInput,
    ToolError,
    Traits,
    declared,
    frames,
    is_frameworks_module,
    is_same_tool,
    marks,
    marks_effects,
)
from failwell.readers import code_of, is_stop_request, plain_function, read
from failwell.redact import Guard
from failwell.schema import branches_of, properties_of, resolve

if TYPE_CHECKING:
    from failwell.sdk import CallToolResult

    from .groups.group import Group

EXTENSION: Final = META_KEY
"""The extension by which a client says which formats it reads: `{"formats": ["v1", "text"]}`, the best first."""
FORMAT_KEY: Final = keys.FORMAT
"""The key in the `_meta` of a call by which the client asks for a format for this one answer."""


class ServedCall:
    """What is known of a call while it is answered. Nothing is read of the request before somebody needs it."""

    # Values of the class: hardly any call changes one of them.
    aliases: frozenset[str] = frozenset()
    """Names of its tool further in that the name it was called by does not end in."""
    in_span = True
    """Whether the framework's span is still open where the call is answered."""
    remarks: tuple[ToolError, ...] = ()
    ignored: tuple[str, ...] = ()
    """The arguments that the tool does not have."""
    enveloped = False
    """Whether its answer leaves in an envelope."""
    data: tuple[Any, ...] = ()
    """What the tool returned, as JSON, where that is known and an envelope is to hold it."""
    replied: object = None
    """The result that `reply` made, whose data that is."""
    ungated: Mapping[str, list[Any]] | None = None
    """The blocks of that reply for each gate, where the call named none: the tool may have a default."""
    meta: Mapping[str, Any] | None = None
    outcome: ToolError | NeedsInput | None = None
    """How it ended, where that was no success and no result of the tool's own."""
    tier: str | None = None
    """Of its tool, where a decorator on it says so."""
    returned: Any = ...
    """What its tool returned, where somebody has told."""

    def __init__(self, tool: str, arguments: dict[str, Any], request: Any) -> None:
        self.tool = self.counted = tool
        self.arguments = arguments
        self.request = request
        """The SDK's ServerRequestContext."""
        self.started = perf_counter()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return perf_counter() - self.started

    @property
    def elapsed_ms(self) -> int:
        return int(self.seconds * 1000)

    @property
    def era(self) -> str:
        return str(self.request.protocol_version)

    @property
    def request_id(self) -> str | int | None:
        found: str | int | None = self.request.request_id
        return found

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters as they were sent."""
        return self.request.params or {}

    @property
    def goes_on(self) -> bool:
        """Whether it is made once more with what the user has answered, which the older protocol does not know."""
        request = self.request
        return getattr(request, "may_go_on", True) and "inputResponses" in (request.params or ())

    def is_of(self, name: str) -> bool:
        """Whether its tool has this name: on this server, or on one that is mounted in it."""
        return is_same_tool(self.tool, name) or name in self.aliases

    @property
    def is_clients(self) -> bool:
        """Whether it is the call that the client made, and not one that a tool makes while it is answered. Where a
        server is mounted in another, the client knows its tools by longer names."""
        sent = self.request.params or {}
        name = sent.get("name")
        is_its = name == self.tool or (isinstance(name, str) and is_same_tool(name, self.tool))
        return is_its and (sent.get("arguments") or {}) == self.arguments

    @property
    def sent_meta(self) -> object:
        """The `_meta` that was sent with it."""
        return self.params.get("_meta")

    @property
    def connection(self) -> object:
        """What lasts as long as the client stays connected: where the transport has no sessions, one call."""
        return connection_of(self.request)

    @property
    def client_name(self) -> str | None:
        """Who calls, as `name/version`."""
        sent = self.request.session.client_params
        return None if sent is None else f"{sent.client_info.name}/{sent.client_info.version}"

    @property
    def client(self) -> Client | None:
        """What is known about who calls; None for a client that nobody has looked at."""
        known = find_client(self.client_name)
        return None if known is UNKNOWN else known

    @property
    def extension(self) -> Mapping[str, Any] | None:
        """What the client says about our extension; None if it does not know it."""
        capabilities = self.request.session.client_capabilities
        declared = capabilities.extensions if capabilities is not None else None
        settings = (declared or {}).get(EXTENSION)
        return settings if isinstance(settings, Mapping) else None

    def wanted(self) -> str | None:
        """The format the client asked for: for this call, or when it connected. What does not exist was not asked."""
        sent, extension = (self.request.params or {}).get("_meta"), self.extension
        wanted = [sent.get(FORMAT_KEY)] if isinstance(sent, Mapping) else []
        if extension is not None:
            extended = extension.get("formats")
            wanted += extended if isinstance(extended, list) else [extended]
        return next((name for name in wanted if isinstance(name, str) and name in FORMATS), None)


current: ContextVar[ServedCall | None] = ContextVar("failwell_call", default=None)
"""The call that is being answered: one that a tool makes itself keeps the framework's own exceptions."""


class MiddlewareFrame:
    """A request on its way through middleware that others have put around its handler."""

    raised: BaseException | None = None
    """As what its answer left the handler, where that was no result."""

    def __init__(self, request: Any) -> None:
        self.request = request
        self.marks = Marks()
        """What its tool has passed, however often it was run."""

    def is_of_tool(self, raised: BaseException) -> bool:
        """Whether it was raised by the tool or before it ran, and not by somebody around the tool after that."""
        return not self.marks.has_run and len(self.marks.runs) == (self.raised is raised)


middleware_frame: ContextVar[MiddlewareFrame | None] = ContextVar("failwell_passage", default=None)
"""The request that is under way: between the outermost middleware and the handler there is an author's own."""


def marks_of(request: Any) -> Marks:
    """The marks of the call of a request: the same, where somebody's middleware has it run again."""
    way = middleware_frame.get()
    if way is not None and (way.request is request or _is_same(way.request, request)):
        return way.marks
    return Marks()


def record_exception(request: Any, raised: BaseException) -> None:
    """Say that the answer to a request leaves as this, and not as a result."""
    way = middleware_frame.get()
    if way is not None and _is_same(way.request, request):
        way.raised = raised


def add_alias(name: str, inner: str) -> None:
    """Say that a tool has another name further in: if it is the tool of the call, that one is it, too."""
    call = current.get()
    if call is not None and call.is_of(name) and not call.is_of(inner):
        call.aliases |= {inner}


def mark_finished(name: str, returned: object = ...) -> None:
    """Say that the tool of the call that is being answered came to its end: what fails after that stands around it."""
    call, passed = current.get(), marks.get()
    if call is not None and passed is not None and (call.tool == name or call.is_of(name)):
        passed.has_run = True
        call.returned = returned


def mark_teardown_failed(name: str) -> None:
    """Say that this tool came to its end, and that what it used could not be closed: that may have taken back its work,
    or not."""
    call, passed = current.get(), marks.get()
    if call is not None and passed is not None and call.is_of(name) and passed.effect is None:
        passed.broken += 1


def has_finished(name: str) -> bool:
    """Whether that was said of this tool."""
    call, passed = current.get(), marks.get()
    return call is not None and passed is not None and passed.has_run and call.is_of(name)


def record_failed_run(name: str, outcome: object = None) -> None:
    """Say how a run of a tool failed, as far as that is known: if it is the tool of the call, somebody around it may
    run it again."""
    call, passed = current.get(), marks.get()
    if call is None or passed is None or not call.is_of(name) or isinstance(outcome, NeedsInput):
        return
    passed.runs += (outcome.effect if isinstance(outcome, ToolError) else None,)


def stated_failure(result: CallToolResult) -> ToolError | NeedsInput | None:
    """The failure that an error result states, in its `_meta` or in the form of a contract; None where it has words."""
    found = read(result)
    is_stated = found is not None and (found.standing == "stated" or META_KEY in (result.meta or {}))
    return found if is_stated and not getattr(found, "legacy", False) else None


def record_returned_error(name: str, result: CallToolResult) -> None:
    """The same of a run that returned an error, with what that says."""
    record_failed_run(name, stated_failure(result))
    if (passed := marks.get()) is not None:
        # By its name: whoever only marks effects need not have an SDK.
        passed.said = "\n".join(block.text for block in result.content if block.type == "text")


def is_within(request: Any) -> bool:
    """Whether the call of this request is being answered already: then it is a tool that calls another. What a tool
    asks of a server through a client is a request of its own, though it is begun in the context of the tool."""
    call = current.get()
    if call is None:
        return False
    return _is_same(call.request, request)


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    is_same: bool = one.request_id == other.request_id
    return is_same and connection_of(one) is connection_of(other)


def connection_of(request: Any) -> object:
    session = request.session
    return getattr(session, "_connection", session)


def gate_of(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any], *, is_own: bool = False) -> Any:
    """How a tool with contract 001's `format` argument was asked to answer; None for tools without one.

    The value counts, whether it was sent or is the default. On a server of contract 001 (`is_own`) any argument of that
    name is the contract's; on another one, an argument that offers all three values.
    """
    if schema is None or "format" not in (schema.get("properties") or ()):
        return None
    argument = properties_of(schema).get("format")
    if not isinstance(argument, Mapping):
        return None
    node = resolve(argument, schema)
    offered = [each["enum"] for each in (node, *branches_of(node, schema)) if isinstance(each.get("enum"), list)]
    asked = arguments["format"] if "format" in arguments else argument.get("default")
    if any(all(gate in choices for gate in GATES) for choices in offered):
        return asked if asked in GATES else GATES[0]
    return asked if is_own and asked in GATES else None


URL_ELICITATION: Final = -32042
GROUP: Final = "__failwell_group__"
"""Where a framework's tool has its group: on its function."""

_READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_TRANSFORMS: Final = 20

NOTHING_KNOWN: Final = Traits()


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """What a server says about one of its tools."""

    name: str
    schema: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None
    """The schema of what it promises to return."""
    traits: Traits = NOTHING_KNOWN
    action: str | None = None
    """Which action of a grouped tool was called."""
    function: Any = None
    """What stands behind it, where that is known."""
    description: str | None = None

    @classmethod
    def of(
        cls,
        name: str,
        schema: Any,
        output: Any,
        annotations: Any,
        action: str | None = None,
        function: Any = None,
        description: str | None = None,
    ) -> ToolInfo:
        traits = Traits.of({"annotations": annotations})
        if traits.read_only is None and (mutation := declared(function).mutation) is not None:
            traits = replace(traits, read_only=not mutation)
        return cls(
            name,
            schema if isinstance(schema, Mapping) else None,
            output if isinstance(output, Mapping) else None,
            replace(traits, name=name if action is None else action),
            action,
            function,
            description,
        )

    @classmethod
    def of_tool(cls, name: str, tool: Any, arguments: Mapping[str, Any] | None = None) -> ToolInfo:
        """The same of a tool as a framework keeps it, with its function; of a group, about the action called."""
        function = getattr(tool, "fn", None)
        group: Group | None = getattr(function, GROUP, None)
        if group is not None:
            return group.facts(arguments)
        annotations, output = tool.annotations, getattr(tool, "output_schema", None)
        parts = (function, tool.parameters, output, annotations, tool.description)
        hints = getattr(annotations, "__dict__", annotations) or {}
        known = _known.get((name, id(function)))
        if known is not None and all(map(is_, known.parts, parts)) and known.hints == hints:
            return known.facts
        facts = cls.of(name, tool.parameters, output, annotations, None, function, tool.description)
        if facts.traits.read_only is None and _posts(tool):
            facts = replace(facts, traits=replace(facts.traits, read_only=False))
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[name, id(function)] = _Known(parts, dict(hints), facts)
        return facts

    @property
    def structured(self) -> bool:
        """Whether it promises what it returns."""
        return self.output is not None

    @property
    def marks_effects(self) -> bool:
        """Whether its function says where its effects are: then before that place there are none."""
        code = code_of(self.function)
        return code is not None and marks_effects(code, getattr(plain_function(self.function), "__globals__", {}))

    @property
    def label(self) -> str:
        return self.name if self.action is None else f"{self.name}/{self.action}"


class _Known(NamedTuple):
    """What was found out about a tool, and what it was found out from."""

    parts: tuple[Any, ...]
    hints: dict[str, Any]
    """Apart, since annotations may be changed in their place."""
    facts: ToolInfo


# A server asks for every tool of its own at each failure that leaves something open.
_known: dict[tuple[str, int], _Known] = {}
_MOST_KNOWN: Final = 1000


def _posts(tool: object) -> bool:
    """Whether a tool that FastMCP made from an OpenAPI document sends what is no read, whatever it is called there."""
    method = getattr(getattr(innermost(tool), "_route", None), "method", None)
    return method is not None and str(method).upper() not in _READING_METHODS


def innermost(tool: Any) -> Any:
    """The tool that another was made of, however often it was renamed; the tool itself if it was made of none."""
    for _ in range(_MOST_TRANSFORMS):
        if (inner := getattr(tool, "parent_tool", None)) is None:
            break
        tool = inner
    return tool


def group_of(function: object) -> Group | None:
    """The group whose tool has this function; None for any other tool's."""
    return getattr(function, GROUP, None)


def to_listed(tool: ToolInfo) -> dict[str, Any]:
    """A tool as MCP lists it."""
    traits = tool.traits
    hints = {
        "readOnlyHint": traits.read_only,
        "idempotentHint": traits.idempotent,
        "destructiveHint": traits.destructive,
    }
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.schema, "annotations": hints}


class Abandoned(Exception):
    """Something that a tool waited for was cancelled, though the call itself was not."""


def reraise_control_flow(exc: BaseException) -> BaseException:
    """`exc` as a failure. An order to stop is raised again; a cancellation is one if this call is what is cancelled."""
    if isinstance(exc, Exception) and not isinstance(exc, BaseExceptionGroup):
        return exc
    if isinstance(exc, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            return Abandoned()
    if is_stop_request(exc):
        raise exc
    return exc


# Whose parts with these names run tools.
_FRAMEWORKS: Final = ("mcp.", "fastmcp.")
_RUNNING: Final = ".tools"
# One that was made of another is that one, with other arguments.
_MADE_OF: Final = ".tool_transform"


def runs_another(exc: BaseException, code: CodeType | None) -> bool:
    """Whether an exception came out of a tool that a framework ran for the function with this code, an author's own:
    what it says is said of that tool."""
    is_inside = has_run = False
    for trace in frames(exc):
        frame = trace.tb_frame
        place = str(frame.f_globals.get("__name__"))
        if is_inside and _RUNNING in place and place.startswith(_FRAMEWORKS):
            if place.endswith(_MADE_OF):
                return False
            has_run = True
        elif frame.f_code is code and not is_frameworks_module(place):
            # Anew each time: an exception that is raised again and again carries along the ways that it went before.
            is_inside, has_run = True, False
    return has_run


def is_teardown_failure(exc: BaseException) -> bool:
    """Whether it was raised when FastMCP closed what a tool depends on, after the tool itself had returned."""
    for outer, inner in pairwise(frames(exc)):
        is_closing = inner.tb_frame.f_code.co_name == "__aexit__"
        # With what a block has raised, where it has.
        if (
            is_closing
            and outer.tb_frame.f_globals.get("__name__") == _DEPENDENCIES
            and inner.tb_frame.f_locals.get("typ", inner) is None
        ):
            return True
    return False


_DEPENDENCIES: Final = "fastmcp.server.dependencies"


class BrokenResult(Exception):
    """A tool ran to its end and returned what its output schema does not allow: this, where that is known; else it is
    something that nothing can be made of. Or somebody around the tool did so in its place: then it is not `is_tools`,
    and nobody knows what the tool has done."""

    def __init__(self, returned: object = ..., *, is_tools: bool = True) -> None:
        super().__init__()
        self.returned = returned
        self.is_tools = is_tools

    @property
    def words(self) -> str:
        """What the tool said, where it returned an error in place of what it promised."""
        found = read(self.returned) if isinstance(self.returned, (str, dict)) else None
        return found.message if found is not None else ""


class UnwritableResult(BrokenResult):
    """What a tool returned cannot be written as JSON."""


class FailedCall(NamedTuple):
    """A failure that has been read: what it means, which tool it is of, what was raised, and what must not leave."""

    outcome: Outcome
    tool: ToolInfo
    raised: BaseException
    guard: Guard
    """It knows which arguments of the tool are secret, and what this call was sent for them."""

    def redacted(self) -> Outcome:
        """What it means, as it may leave."""
        return self.guard(self.outcome)
