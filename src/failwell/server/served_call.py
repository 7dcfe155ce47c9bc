"""One call of a tool, and who makes it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from failwell.formats import FORMATS, GATES, META_KEY, UNKNOWN, Client, find_client, keys, load
from failwell.model import Marks, NeedsInput, ToolError, is_same_tool, marks
from failwell.schema import properties_of

if TYPE_CHECKING:
    from failwell.sdk import CallToolResult

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
    data: tuple[Any, ...] = ()
    """What the tool replied with, if it said so by `reply`."""
    meta: Mapping[str, Any] | None = None
    outcome: ToolError | NeedsInput | None = None
    """How it ended, where that was no success and no result of the tool's own."""
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
        sent = self.params.get("_meta")
        for asked in (
            sent.get(FORMAT_KEY) if isinstance(sent, Mapping) else None,
            (self.extension or {}).get("formats"),
        ):
            names = [asked] if isinstance(asked, str) else asked if isinstance(asked, list) else ()
            known = next((name for name in names if isinstance(name, str) and name in FORMATS), None)
            if known is not None:
                return known
        return None


current: ContextVar[ServedCall | None] = ContextVar("failwell_call", default=None)
"""The call that is being answered: one that a tool makes itself keeps the framework's own exceptions."""


class Passage:
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


passage: ContextVar[Passage | None] = ContextVar("failwell_passage", default=None)
"""The request that is under way: between the outermost middleware and the handler there is an author's own."""


def marks_of(request: Any) -> Marks:
    """The marks of the call of a request: the same, where somebody's middleware has it run again."""
    way = passage.get()
    if way is not None and (way.request is request or _is_same(way.request, request)):
        return way.marks
    return Marks()


def left_as(request: Any, raised: BaseException) -> None:
    """Say that the answer to a request leaves as this, and not as a result."""
    way = passage.get()
    if way is not None and _is_same(way.request, request):
        way.raised = raised


def known_as(name: str, inner: str) -> None:
    """Say that a tool has another name further in: if it is the tool of the call, that one is it, too."""
    call = current.get()
    if call is not None and call.is_of(name) and not call.is_of(inner):
        call.aliases |= {inner}


def tool_ended(name: str, returned: object = ...) -> None:
    """Say that the tool of the call that is being answered came to its end: what fails after that stands around it."""
    call, passed = current.get(), marks.get()
    if call is not None and passed is not None and (call.tool == name or call.is_of(name)):
        passed.has_run = True
        call.returned = returned


def left_open(name: str) -> None:
    """Say that this tool came to its end, and that what it used could not be closed: that may have taken back its work,
    or not."""
    call, passed = current.get(), marks.get()
    if call is not None and passed is not None and call.is_of(name) and passed.effect is None:
        passed.broken += 1


def has_ended(name: str) -> bool:
    """Whether that was said of this tool."""
    call, passed = current.get(), marks.get()
    return call is not None and passed is not None and passed.has_run and call.is_of(name)


def run_failed(name: str, outcome: object = None) -> None:
    """Say how a run of a tool failed, as far as that is known: if it is the tool of the call, somebody around it may
    run it again."""
    call, passed = current.get(), marks.get()
    if call is None or passed is None or not call.is_of(name) or isinstance(outcome, NeedsInput):
        return
    passed.runs += (outcome.effect if isinstance(outcome, ToolError) else None,)


def error_returned(name: str, result: CallToolResult) -> None:
    """The same of a run that returned an error, with what that says."""
    stated = (result.meta or {}).get(META_KEY)
    run_failed(name, load(stated) if isinstance(stated, Mapping) else None)
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


def gate_of(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> Any:
    """How a tool with contract 001's `format` argument was asked to answer; None for tools without one."""
    argument = properties_of(schema).get("format")
    choices = argument.get("enum") if isinstance(argument, Mapping) else None
    if not isinstance(choices, list) or len(choices) != len(GATES) or any(choice not in GATES for choice in choices):
        return None
    asked = arguments.get("format")
    return asked if isinstance(asked, str) and asked in GATES else GATES[0]
