"""One call of a tool: who makes it, what the tool is, and what a failure of it means."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import is_
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from failwell.formats import FORMATS, GATES, META_KEY, Outcome, keys
from failwell.model import (
    Effect,
    Marks,
    NeedsInput,
    ToolError,
    Traits,
    declared,
    frames,
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
    """What is known of a call while it is answered."""

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
        self.era = str(request.protocol_version)
        self.started = perf_counter()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return perf_counter() - self.started

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
    def client_name(self) -> str | None:
        """Who calls, as `name/version`."""
        sent = self.request.session.client_params
        return None if sent is None else f"{sent.client_info.name}/{sent.client_info.version}"

    def wanted_format(self) -> tuple[str | None, bool]:
        """The format the client asked for, for this call or when it connected, and whether it knows our extension. What
        does not exist was not asked for."""
        sent = (self.request.params or {}).get("_meta")
        wanted = [sent.get(FORMAT_KEY)] if isinstance(sent, Mapping) else []
        capabilities = self.request.session.client_capabilities
        extension = ((capabilities.extensions if capabilities is not None else None) or {}).get(EXTENSION)
        if is_known := isinstance(extension, Mapping):
            extended = extension.get("formats")
            wanted += extended if isinstance(extended, list) else [extended]
        for name in wanted:
            if isinstance(name, str) and name in FORMATS:
                return name, is_known
        return None, is_known


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


middleware_frame: ContextVar[MiddlewareFrame | None] = ContextVar("failwell_frame", default=None)
"""The request that is under way: between the outermost middleware and the handler there is an author's own."""


def frame_of(request: Any) -> MiddlewareFrame:
    """The frame of a request: the same, where somebody's middleware has it run again; a new one where there is none."""
    frame = middleware_frame.get()
    is_its = frame is not None and (frame.request is request or _is_same(frame.request, request))
    return frame if frame is not None and is_its else MiddlewareFrame(request)


def add_alias(name: str, inner: str) -> None:
    """Say that a tool has another name further in: if it is the tool of the call, that one is it, too."""
    call = current.get()
    if call is not None and call.is_of(name) and not call.is_of(inner):
        call.aliases |= {inner}


def _marks_of(name: str) -> tuple[ServedCall, Marks] | None:
    """The call that is being answered, if this is its tool, and what that has passed."""
    call, passed = current.get(), marks.get()
    return (call, passed) if call is not None and passed is not None and call.is_of(name) else None


def mark_finished(name: str, returned: object = ...) -> None:
    """Say that the tool of the call that is being answered came to its end: what fails after that stands around it."""
    if (found := _marks_of(name)) is not None:
        call, passed = found
        passed.has_run, call.returned = True, returned


def mark_teardown_failed(name: str) -> None:
    """Say that this tool came to its end, and that what it used could not be closed: that may have taken back its work,
    or not."""
    if (found := _marks_of(name)) is not None and found[1].effect is None:
        found[1].broken += 1


def has_finished(name: str) -> bool:
    """Whether that was said of this tool."""
    return (found := _marks_of(name)) is not None and found[1].has_run


def record_failed_run(name: str, outcome: object = None) -> None:
    """Say how a run of a tool failed, as far as that is known: if it is the tool of the call, somebody around it may
    run it again."""
    if (found := _marks_of(name)) is not None and not isinstance(outcome, NeedsInput):
        effects: tuple[Effect | None, ...] = (outcome.effect if isinstance(outcome, ToolError) else None,)
        found[1].runs += effects


def record_returned_error(name: str, result: CallToolResult) -> None:
    """The same of a run that returned an error, with what that says."""
    record_failed_run(name, stated_failure(result))
    if (passed := marks.get()) is not None:
        # By its name: whoever only marks effects need not have an SDK.
        passed.said = "\n".join(block.text for block in result.content if block.type == "text")


def stated_failure(result: CallToolResult) -> ToolError | NeedsInput | None:
    """The failure that an error result states, in its `_meta` or in the form of a contract; None where it has words."""
    found = read(result)
    is_stated = found is not None and (found.standing == "stated" or META_KEY in (result.meta or {}))
    return found if is_stated and not getattr(found, "legacy", False) else None


def is_within(request: Any) -> bool:
    """Whether the call of this request is being answered already: then it is a tool that calls another. What a tool
    asks of a server through a client is a request of its own, though it is begun in the context of the tool."""
    call = current.get()
    return call is not None and _is_same(call.request, request)


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    is_same: bool = one.request_id == other.request_id
    return is_same and connection_of(one) is connection_of(other)


def connection_of(request: Any) -> object:
    """What lasts as long as the client stays connected: where the transport has no sessions, one call."""
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
_MOST_KNOWN: Final = 1_000

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
        # Apart, since annotations may be changed in their place.
        hints = getattr(annotations, "__dict__", annotations) or {}
        known = _known.get((name, id(function)))
        if known is not None and all(map(is_, known[0], parts)) and known[1] == hints:
            return known[2]
        info = cls.of(name, tool.parameters, output, annotations, None, function, tool.description)
        # What FastMCP made from an OpenAPI document says by its method whether it is a read.
        method = getattr(getattr(innermost(tool), "_route", None), "method", None)
        if info.traits.read_only is None and method is not None and str(method).upper() not in _READING_METHODS:
            info = replace(info, traits=replace(info.traits, read_only=False))
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[name, id(function)] = parts, dict(hints), info
        return info

    @property
    def marks_effects(self) -> bool:
        """Whether its function says where its effects are: then before that place there are none."""
        code = code_of(self.function)
        return code is not None and marks_effects(code, getattr(plain_function(self.function), "__globals__", {}))

    @property
    def label(self) -> str:
        return self.name if self.action is None else f"{self.name}/{self.action}"

    def to_listed(self) -> dict[str, Any]:
        """The tool as MCP lists it."""
        traits = self.traits
        hints = {
            "readOnlyHint": traits.read_only,
            "idempotentHint": traits.idempotent,
            "destructiveHint": traits.destructive,
        }
        return {"name": self.name, "description": self.description, "inputSchema": self.schema, "annotations": hints}


# By name and function: a server asks for every tool of its own at each failure that leaves something open.
_known: dict[tuple[str, int], tuple[tuple[Any, ...], dict[str, Any], ToolInfo]] = {}


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


def is_teardown_failure(exc: BaseException) -> bool:
    """Whether it was raised when FastMCP closed what a tool depends on, after the tool itself had returned."""
    for outer, inner in pairwise(frames(exc)):
        is_closing = inner.tb_frame.f_code.co_name == "__aexit__"
        is_framework = outer.tb_frame.f_globals.get("__name__") == "fastmcp.server.dependencies"
        # With what a block has raised, where it has.
        if is_closing and is_framework and inner.tb_frame.f_locals.get("typ", inner) is None:
            return True
    return False


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
