"""What an exception means, and the form in which it leaves. Nothing here runs a call."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from failwell.formats import (
    FORMATS,
    META_KEY,
    MODERN_ERA,
    Client,
    Outcome,
    as_result,
    find_client,
    in_words,
    jsonrpc,
    to_wire,
    unplaced_details,
    v1,
)
from failwell.model import ADVICE, Effect, Json, Kind, NeedsInput, Source, Strategy, ToolError, text, unsaid
from failwell.observe import log_failure, new_id
from failwell.readers import (
    classify,
    code_of,
    from_error,
    from_pydantic,
    from_schema,
    misread,
    named,
    refusal,
    said,
    shorten_text,
    strictly,
    unexpected,
)
from failwell.redact import Guard, cited, secret_paths
from failwell.schema import BySchema, Checkers, anchored, errors_of, known_names, loc_of
from failwell.sdk import MCPError, protocol_error

from .declared_failures import COMMON, INPUT_DECLINED, UNDECLARED_KEY, is_undeclared, ruled, said_of
from .effects import Effects, source_of
from .envelopes import Envelope
from .facts import URL_ELICITATION, BrokenResult, Facts, Failed
from .once.repeats import CODES, Once
from .options import Options
from .outputs import worded
from .rules.tool_rule import is_refused_inside
from .served_call import FORMAT_KEY, ServedCall, gate_of

log = logging.getLogger("failwell.server")

# What a terse format leaves out, and a model needs.
_NEEDED: Final = (
    *("fields", "suggestion", "next_steps", "actions", "patch"),
    *("conflicts", "verify", "retry_after", "reset_at"),
)
# Whose JSON a tool's `format` argument chooses where the server's own format has none: that of the contract which has
# such an argument.
_GATED: Final = v1.FORMAT.name
# Options of `to_result` that are not one format's own.
_GENERAL: Final = frozenset({"carry", "gate", "meta", "prefix"})
_OF_RESULTS: Final = _GENERAL - {"carry"}
_MOST_TOLD: Final = 1000
_COMPARED: Final = 100
# Not JSON, no request, no such method.
_OF_REQUESTS: Final = frozenset({-32700, -32600, -32601})
_INTERNAL_ERROR: Final = -32603


class Answering:
    """The way from exceptions to answers."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.form = options.form
        self._envelope = options.format if isinstance(options.format, Envelope) else None
        self.once = Once.of(options.idempotency)
        self._checkers = Checkers()
        self._unplaced: set[tuple[str, tuple[str, ...]]] = set()
        self._guards = BySchema(self._guard_of)
        self.effects = Effects(options.reads, options.writes, options.unmarked)
        self._level = options.level
        self.masks = False
        """Whether the author has the framework tell nothing of exceptions but of its own; set by its adapter."""
        self.shows_text = options.show_text
        """Whether the text of any exception is told; set by its adapter where the framework tells it."""

    def is_protocol(self, exc: MCPError, era: str) -> bool:
        """Whether the error stays one of the protocol's. A page to visit has no number of its own any more."""
        if exc.error.code == URL_ELICITATION and era >= MODERN_ERA:
            return False
        return exc.error.code in self.options.protocol_numbers

    def failure(
        self,
        exc: BaseException,
        tool: Facts,
        arguments: Mapping[str, Any] | None = None,
        *,
        era: str,
        rejected: bool = False,
        nested: bool = False,
        masked: bool = False,
    ) -> Failed:
        """What `exc` means to the caller of `tool`.

        `rejected` says that the arguments did not pass the schema, `nested` that another tool failed, which this one
        has called, `masked` that the tool's own server tells nothing of its exceptions.

        Raises what is no failure: business between client and server. Orders to stop never come here: see `taken`.
        """
        if isinstance(exc, MCPError) and self.is_protocol(exc, era):
            raise self.safe(exc)
        if isinstance(exc, NeedsInput):
            done = self.effects.passed()
            # An answer would have the tool run again, from its start: too late once it has done something.
            outcome: Outcome = (
                exc if done is None else exc.to_error().replace(tool=tool.name, suggestion=None, effect=done)
            )
        else:
            outcome = self._meaning(exc, tool, arguments or {}, rejected, nested, masked or self.masks)
        if isinstance(outcome, ToolError):
            outcome = identified(outcome)
            if arguments is not None and (outcome.fields or outcome.patch):
                # A model that reads what is wrong is shown the whole call that it is to make.
                outcome = outcome.replace(sent=arguments)
        return self.failed(outcome, tool, exc, arguments)

    def failed(
        self, outcome: Outcome, tool: Facts, raised: BaseException, arguments: Mapping[str, Any] | None
    ) -> Failed:
        """A failure with the guard that knows what was sent."""
        return Failed(outcome, tool, raised, self._guard(tool.schema).hearing(arguments))

    def safe(self, exc: MCPError) -> MCPError:
        """A protocol error without secrets; itself if it has none."""
        if exc.error.code == URL_ELICITATION:
            # The page is for the user, and its address must work.
            return exc
        held = ToolError(exc.error.message, details=None if exc.error.data is None else {"data": exc.error.data})
        guard = replace(self.options.guard, fences=False)
        masked = guard(held)
        if masked is held:
            return exc
        return protocol_error(exc.error.code, masked.message, masked.details.get("data"))

    def _meaning(
        self,
        exc: BaseException,
        tool: Facts,
        arguments: Mapping[str, Any],
        rejected: bool,
        nested: bool,
        masked: bool,
    ) -> Outcome:
        own = from_error(exc, context=False)
        if own is not None:
            changes: dict[str, Any] = {}
            is_heard = own.origin is not None and own.tool is not None
            is_anothers = nested or is_heard
            if not own.tool or is_anothers:
                changes = {"tool": tool.name, "action": tool.action if is_anothers else own.action or tool.action}
            if is_anothers and own.kind is Kind.VALIDATION:
                own = _anothers(own)
            # Somebody's reading of an exception, or of a peer's answer, is no word about this tool; an effect given is.
            is_said = own.standing is None or own.given("effect")
            is_authors = own is exc and is_said and not is_anothers
            # A rule speaks for the tool that stands under it, not for one that has called what does.
            is_authors = is_authors and not is_refused_inside(exc, code_of(tool.function))
            source = source_of(own, is_authors=is_authors)
            changes |= self.effects.of(own, tool, source=source, exc=exc, nested=nested)
            return own.replace(**changes) if changes else own
        error, is_told = None, True
        is_authors = is_refusal = False
        if rejected:
            problem = exc if _is_pydantic(exc) else exc.__cause__
            if problem is not None and _is_pydantic(problem):
                if tool.schema is not None and _is_of_others(problem, tool.schema, arguments):
                    # A tool that was made of another has names of its own for them.
                    error = from_schema(tool.schema, arguments, tool=tool.name)
                error = error or from_pydantic(problem, tool=tool.name, schema=tool.schema, arguments=arguments)
            elif tool.schema is not None:
                # Its names alone were looked at.
                error = from_schema(strictly(tool.schema, "reject"), arguments, tool=tool.name)
            is_authors = error is not None
        elif _is_pydantic(exc):
            # Raised in the body. Its data are the caller's only if they came with the call.
            place = None if nested else anchored(exc, arguments)
            error = (
                from_pydantic(exc, tool=tool.name, schema=tool.schema, arguments=arguments, at=place)
                if place is not None
                else ToolError("The tool met data that it cannot use.", code="INTERNAL_ERROR")
            )
        if error is None:
            table = self.options.table
            # Only a row of the author's own counts more than what they say to the caller.
            read = None if table.is_shipped else classify(exc, table=table)
            is_unread = read is None or not read.authored
            error = refusal(exc, tool.function) if is_unread and not nested else None
            is_refusal = error is not None
            if error is None:
                error = read or classify(exc, table=table)
                if not error.authored:
                    found = misread(exc, arguments) or unexpected(exc, arguments, tool.schema, tool=tool.name)
                    error = found or error
            if nested and error.kind is Kind.VALIDATION:
                error = _anothers(error)
        masked = masked and not rejected and not _may_be_told(exc, error)
        if masked:
            error = _unsaid(error)
        changes = {
            "tool": tool.name,
            "action": tool.action,
            "debug": _debug(exc, error),
            "cause": exc,
            "correlation_id": error.correlation_id or new_id(),
        }
        # No framework shows what was to stop the whole server.
        is_shown = self.shows_text and issubclass(type(exc), Exception)
        is_shown = is_shown and not (masked or rejected or error.authored or error.fields)
        words = shorten_text(said(exc)) if is_shown else ""
        if error.code == "INTERNAL_ERROR" and not error.authored:
            # What the author raised is told as it is; of a crash, the tool is named, as its framework names it.
            changes["message"] = words if words and is_refusal else f"[{tool.label}] {words or error.message}"
            # Where they are hidden, whoever reads it knows nothing but the cause.
            is_told = bool(words)
        elif words and words.strip("'\"")[:_COMPARED] not in error.message:
            changes["message"] = f"{error.message} {cited(words)}"
        if isinstance(exc, BrokenResult):
            if words := exc.words:
                changes["message"] = f"{changes['message']} {cited(words)}"
            effect = self.effects.of_result(exc, tool)
            return error.replace(**changes, effect=effect, standing="quoted" if effect is None else None)
        # Whoever wrote the words of another tool wrote them about that one.
        source = source_of(
            error, is_authors=(is_authors or error.authored) and not nested, is_refusal=is_refusal and not nested
        )
        error = error.replace(**(self.effects.of(error, tool, source=source, exc=exc, nested=nested) | changes))
        if source is Source.REFUSED and error.effect is None and self.effects.traits(tool).writes:
            # Whether the raise stood before or after the work nobody knows.
            error = unsaid(error, as_written=is_told)
        return error

    def result(
        self, outcome: Outcome, tool: Facts, call: ServedCall, guard: Guard, *, as_written: bool = False
    ) -> dict[str, Any]:
        """The answer as the result of the call, or the protocol error the options ask for, raised.

        The outcome has passed its `guard`. `as_written` says that the author raised just this, or read it so by a row
        of their own: nothing has to be said that they did not say.
        """
        options, era = self.options, call.era
        if isinstance(outcome, ToolError) and outcome.code in options.protocol:
            raise self.protocol_error(outcome, era=era)
        asked_for = call.wanted()
        own = self.form
        name = asked_for or own
        wire = {key: value for key, value in options.wire.items() if name == own or key in _GENERAL}
        if (gate := gate_of(tool.schema, call.arguments)) is not None:
            wire["gate"] = gate
            if asked_for is None and not FORMATS[name].gated:
                name = _GATED
        client = self._client(call)
        if gate in ("json", "both") and client is not None and client.structured == "instead":
            # Who asks for the object may see it instead of the text.
            client = replace(client, structured="shown")
        if self._envelope is not None and name == own:
            wire |= self._envelope.now() | {"strict": self._envelope.strict, "elapsed_ms": call.elapsed_ms}
        with_meta = wire.pop("meta", True)
        terse = FORMATS[name].terse
        said = _referred(outcome) if options.show_reference else outcome
        words = in_words(said)
        whole = said
        if terse and self._says_too_little(said, name, as_written):
            # It may be too long now, and has nothing else to hide.
            whole = guard.cut(_worded(said, words))
            words = whole.message
        answer = as_result(
            whole,
            name,
            words=words,
            era=era,
            # Who negotiates our extension knows what a failure looks like.
            output_schema=tool.structured and call.extension is None,
            client=client,
            meta=False,
            **wire,
        )
        if tool.output is not None and answer.get("isError") is False and isinstance(outcome, ToolError):
            # A result that is no error must have the promised form.
            content = worded(answer["content"][0]["text"], self._checkers(tool.output))
            if content is None:
                return self.result(outcome.replace(severity="error"), tool, call, guard, as_written=as_written)
            answer["structuredContent"] = content
        elif tool.structured:
            # A question has no such form.
            answer["isError"] = True
        if isinstance(outcome, ToolError) and outcome.details and not wire.get("carry"):
            self._tell_unplaced(outcome, tool, name)
        if options.check_declared and isinstance(outcome, ToolError) and self._is_undeclared(outcome, tool):
            answer["_meta"] = {**answer.get("_meta", {}), UNDECLARED_KEY: outcome.code}
        if with_meta:
            answer["_meta"] = {META_KEY: _timed(outcome, name).to_dict(), **answer.get("_meta", {})}
            if asked_for is not None:
                answer["_meta"][FORMAT_KEY] = name
        # The runner says which kind of result it is, in the era's own words.
        answer.pop("resultType", None)
        return answer

    def _says_too_little(self, outcome: Outcome, format: str, as_written: bool) -> bool:
        """Whether the message has to say everything, in a format whose message is all that a model reads of it."""
        if isinstance(outcome, NeedsInput):
            return FORMATS[format].ask is None
        is_enough = self.options.as_written or not any(getattr(outcome, name) for name in _NEEDED)
        return not (as_written and is_enough and outcome.effect in (None, Effect.NONE))

    def _tell_unplaced(self, error: ToolError, tool: Facts, format: str) -> None:
        """Say, once for each tool, which details the form of a contract has no place for: they are in `_meta` alone."""
        unplaced = tuple(unplaced_details(error, format))
        if unplaced and (tool.name, unplaced) not in self._unplaced and len(self._unplaced) < _MOST_TOLD:
            self._unplaced.add((tool.name, unplaced))
            names, how = ", ".join(unplaced), "wire={'carry': True} sends them too"
            log.warning("%s: %s has no place for the details %s; %s.", tool.label, format, names, how)

    def _is_undeclared(self, error: ToolError, tool: Facts) -> bool:
        if not self.undeclared(error, tool):
            return False
        log.warning("%s sends %s, which it does not declare; add it to raises(…).", tool.label, error.code)
        return True

    def undeclared(self, error: ToolError, tool: Facts) -> bool:
        """Whether a tool that declares its codes sends one that it does not declare."""
        named = (*self.options.rules.get("*", ()), *self.options.rules.get(tool.name, ()))
        codes = (*ruled((tool.function,)), *(code for rule in named for code in rule.codes), *CODES)
        return is_undeclared(error, said_of(tool.function), codes)

    def common_codes(self) -> tuple[str, ...]:
        """What any tool of this server may answer, whatever it does itself, by the names that its format sends."""
        options = self.options
        codes = {*COMMON, *(CODES if self.once is not None else ())}
        if options.on_missing == "ask":
            codes.add(INPUT_DECLINED)
        spec = FORMATS[options.form]
        given = {**options.wire, **({} if self._envelope is None else {"strict": self._envelope.strict})}
        chosen = {name: value for name, value in given.items() if name in spec.options}

        def sent(code: str) -> str:
            back = None if spec.prose else spec.load(to_wire(ToolError(code=code), spec.name, **chosen))
            return back.code or code if isinstance(back, ToolError) else code

        return tuple(sorted(map(sent, codes)))

    def _format(self, call: ServedCall) -> str:
        """The format of an answer to this call: what the client asked for, or the author's."""
        return call.wanted() or self.form

    def _client(self, call: ServedCall) -> Client | None:
        named = self.options.client
        return call.client if named == "auto" else find_client(named)

    def protocol_error(self, error: ToolError, *, era: str) -> MCPError:
        """The failure as a JSON-RPC error in the form of contract 004."""
        wire = self._contract(error, era=era)
        return protocol_error(wire["code"], wire["message"], wire.get("data"))

    def _contract(self, error: ToolError, **options: Any) -> Any:
        """The error object of contract 004, written as the options want that format. The error has been guarded."""
        own = self.options.wire if self.form == jsonrpc.FORMAT.name else {}
        chosen = {key: value for key, value in own.items() if key not in _OF_RESULTS}
        wanted = {"carry": True, "actionable": True, **chosen, **options}
        return to_wire(error, jsonrpc.FORMAT.name, guard=None, **wanted)

    def log(
        self,
        error: ToolError,
        tool: str,
        exc: BaseException | None,
        request_id: str | int | None,
        *,
        guard: Guard | None = None,
        action: str | None = None,
        told: ToolError | None = None,
    ) -> None:
        """Write a failure down, unless its author did."""
        if not error.logged:
            options = self.options
            log_failure(
                options.logger or log,
                error,
                tool=tool,
                exc=exc,
                guard=guard or options.guard,
                action=action,
                request_id=request_id,
                level=self._level,
                told=told,
            )

    def request_error(self, exc: BaseException, what: str, about: Mapping[str, Json], request: Any = None) -> MCPError:
        """A failed read, prompt or completion: the specification's number, and the whole error in the data.

        `request` is the SDK's, which knows its id and its era; None where nobody is spoken to.
        """
        if isinstance(exc, MCPError):
            number = exc.error.code
            if number in self.options.protocol_numbers or number in _OF_REQUESTS or _is_ours(exc):
                return self.safe(exc)
            if number == _INTERNAL_ERROR and exc.__cause__ is not None:
                # A framework's word for a crash.
                exc = exc.__cause__
        error = from_error(exc, context=False)
        if error is None:
            error = classify(exc, table=self.options.table)
            if self.masks and not _may_be_told(exc, error):
                error = _unsaid(error)
            # Whatever went wrong, these requests only read.
            error.effect = Effect.NONE
            if error.code == "INTERNAL_ERROR":
                error = error.replace(message=f"[{what}] The server failed unexpectedly.")
        error = identified(error)
        self.log(error, what, exc, None if request is None else request.request_id)
        return self.attached(
            error, about, era=MODERN_ERA if request is None else request.protocol_version or MODERN_ERA
        )

    def attached(
        self, error: ToolError, about: Mapping[str, Json], *, era: str = MODERN_ERA, number: int | None = None
    ) -> MCPError:
        """The error as one of the protocol's; `number` is what the specification wants, whatever the contract says."""
        guarded = self.options.guard(error)
        text = self.options.guard.plain
        about = {name: text(value) if isinstance(value, str) else value for name, value in about.items()}
        data: dict[str, Any] = {**about, META_KEY: guarded.to_dict()}
        if self.form == jsonrpc.FORMAT.name:
            # Who reads the contract looks for its numbers and keys here too; the whole error is there already.
            wire = self._contract(guarded, carry=False, era=era)
            data = {**wire["data"], **data}
            if number is None:
                return protocol_error(wire["code"], wire["message"], data)
        if number is None:
            number = -32602 if guarded.kind in (Kind.NOT_FOUND, Kind.VALIDATION) else -32603
        return protocol_error(number, guarded.message, data)

    def _guard(self, schema: Mapping[str, Any] | None) -> Guard:
        """The guard that also knows which arguments of the tool are secret."""
        return self.options.guard if schema is None else self._guards(schema)

    def _guard_of(self, schema: Mapping[str, Any]) -> Guard:
        guard, paths = self.options.guard, secret_paths(schema)
        return replace(guard, secret_paths=guard.secret_paths | paths) if paths else guard


def _anothers(error: ToolError) -> ToolError:
    """What was wrong with a call that a tool made is nothing that its own caller could correct."""
    return ToolError(cited(error.message), code="UPSTREAM_ERROR", origin=error.origin, cause=error)


def _may_be_told(exc: BaseException, error: ToolError) -> bool:
    """Whether the words of an exception leave a server that masks them: FastMCP's own do, and so do those of a row of
    the author's; what a tool returned is no exception."""
    if isinstance(exc, BrokenResult) or any(each.__module__ == _TOLD for each in type(exc).__mro__):
        return True
    return error.authored and not type(exc).__module__.startswith("mcp.")


_TOLD: Final = "fastmcp.exceptions"


def _unsaid(error: ToolError) -> ToolError:
    """The same failure in words of our own: what it is, and what follows from that."""
    message = _WORDS.get(str(error.code), f"{error.title}.")
    return error.replace(message=message, **dict.fromkeys(_SAID))


# What an exception's text may have got into, beside the message.
_SAID: Final = (*ADVICE, "fields", "details", "conflicts", "legacy", "title")
_WORDS: Final = {"INTERNAL_ERROR": "The tool failed unexpectedly.", "VALIDATION_ERROR": "An argument was rejected."}


def _debug(exc: BaseException, error: ToolError) -> str | None:
    """What the log is told. A validator's text quotes data, whole or in parts, so of that the places are enough."""
    if error.fields:
        return None
    if error.debug is not None and error.debug != named(exc):
        # What a row of the author's table has to say.
        return text(error.debug)
    problem = exc if _is_pydantic(exc) else exc.__cause__
    if problem is not None and _is_pydantic(problem):
        places = sorted({".".join(map(str, loc_of(each))) for each in errors_of(problem)})
        return f"{type(problem).__name__} at {', '.join(places[:20])}"
    return named(exc)


def identified(error: ToolError) -> ToolError:
    """The error with an id of its own, by which the log is searched."""
    return error if error.correlation_id is not None else error.replace(correlation_id=new_id())


def _worded(outcome: Outcome, words: str) -> Outcome:
    """The outcome with these words as its message."""
    if isinstance(outcome, ToolError):
        return outcome.replace(message=words)
    known = {name: getattr(outcome, name) for name in ("fields", "reason", "suggestions", "options")}
    return NeedsInput(words, **known)


def _timed(outcome: Outcome, format: str) -> Outcome:
    """The outcome with the wait that the contract of the format means where none is named."""
    wait = FORMATS[format].again.first_delay
    if wait is None or isinstance(outcome, NeedsInput) or outcome.strategy is not Strategy.RETRY:
        return outcome
    return outcome if outcome.retry_after or outcome.reset_at else outcome.replace(retry_after=wait)


def _referred(outcome: Outcome) -> Outcome:
    """The outcome with a message that names the line in the log."""
    if isinstance(outcome, NeedsInput) or outcome.correlation_id is None:
        return outcome
    return outcome.replace(message=f"{outcome.message} (Reference: {outcome.correlation_id}.)".lstrip())


def _is_pydantic(exc: BaseException) -> bool:
    return type(exc).__name__ == "ValidationError" and type(exc).__module__.startswith("pydantic")


def _is_of_others(problem: BaseException, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Whether pydantic complains of something that is no argument of the tool by any name."""
    known = known_names(schema).keys() | arguments.keys()
    return any(not loc or loc[0] not in known for loc in map(loc_of, errors_of(problem)))


def _is_ours(exc: MCPError) -> bool:
    return isinstance(exc.error.data, dict) and META_KEY in exc.error.data
