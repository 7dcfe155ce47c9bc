"""What an exception of a tool means: its cause from one table, its effect from mechanism, the words that may be told.

An exception that escapes a tool says nothing about what the tool did before it. So the effect comes from what is known
of the tool, from the places its author marked, and from the author's own word, never from the exception.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from failwell.formats import FORMATS, Outcome, jsonrpc, stated
from failwell.model import (
    ADVICE,
    IN_DOUBT,
    Effect,
    Kind,
    Marks,
    Nature,
    NeedsInput,
    Source,
    ToolError,
    Traits,
    Unmarked,
    effect_of_escape,
    effect_of_raise,
    frames,
    is_frameworks_module,
    is_refusal_status,
    marked_effect,
    marks,
    text,
    withhold_retry,
)
from failwell.observe import new_id
from failwell.readers import (
    applied_schema,
    classify,
    code_of,
    exc_summary,
    exc_text,
    from_error,
    from_pydantic,
    from_schema,
    host_of,
    invalid_json,
    is_of_database,
    refusal,
    shorten_text,
    unexpected,
    with_words,
)
from failwell.redact import Guard, secret_paths
from failwell.schema import anchored, errors_of, known_names, loc_of

from .options import Envelope, Options
from .served_call import URL_ELICITATION, BrokenResult, FailedCall, ToolInfo
from .tool_rules import is_refused_inside

_WORST_FIRST: Final = (Effect.DONE, Effect.PARTIAL, Effect.UNKNOWN)
_MOST_KEPT: Final = 1_000
_MOST_NAMED: Final = 10
_COMPARED: Final = 100
# What writes the result of a tool: it takes nothing back.
_WRITING: Final = ("mcp.server.runner", "_serialize")
# A database that refuses what it was given has not failed.
_OF_DATA: Final = frozenset({Kind.NOT_FOUND, Kind.CONFLICT, Kind.VALIDATION})
# What an exception's text may have got into, beside the message.
_SAID: Final = (*ADVICE, "fields", "details", "conflicts", "legacy", "title")
_WORDS: Final = {"INTERNAL_ERROR": "The tool failed unexpectedly.", "VALIDATION_ERROR": "An argument was rejected."}
# By name: whoever has no SDK may read exceptions, too.
PROTOCOL_ERRORS: Final = frozenset({"mcp.shared.exceptions.MCPError", "mcp.shared.exceptions.McpError"})
_CLIENTS: Final = ("fastmcp.client.", "mcp.client.", "failwell.client.")


class Effects:
    """What failed calls of one server may have changed."""

    def __init__(self, reads: Collection[str] = (), writes: Collection[str] = (), unmarked: Unmarked = "as is") -> None:
        self._reads, self._writes, self._unmarked = tuple(reads), tuple(writes), unmarked
        self._traits: dict[tuple[str, Traits], Traits] = {}

    def traits(self, tool: ToolInfo) -> Traits:
        """What the tool is, by its annotations, the options and its name."""
        key = tool.name, tool.traits
        if (known := self._traits.get(key)) is None:
            named = tool.traits if tool.traits.name is not None else replace(tool.traits, name=tool.name)
            if len(self._traits) >= _MOST_KEPT:
                self._traits.clear()
            known = named.known(reads=self._reads, writes=self._writes, unmarked=self._unmarked)
            self._traits[key] = known
        return known

    def nature(self, tool: ToolInfo) -> Nature:
        return self.traits(tool).nature

    def of(
        self, error: ToolError, tool: ToolInfo, *, source: Source, exc: BaseException, nested: bool = False
    ) -> dict[str, Any]:
        """The changes by which an error says what is known of the effect. `exc` is what was raised: by another tool,
        which this one has called, where it is `nested`."""
        nature, passed = self.traits(tool).nature, marks.get()
        # The tool came to its end, and somebody around it failed.
        has_run = passed is not None and passed.has_run and passed.effect is None
        is_after = has_run and nature is Nature.WRITE
        marked: Effect | None
        if is_after:
            # An author's own code around a tool may have taken its work back, as a transaction does whose commit fails.
            ways = [(each.tb_frame.f_globals.get("__name__"), each.tb_frame.f_code.co_name) for each in frames(exc)]
            marked = Effect.DONE if _WRITING in ways else Effect.UNKNOWN
        elif not nested:
            marked = marked_effect(exc)
        else:
            # Without an exception of its own, only what it has passed.
            marked = None if passed is None else passed.effect or (None if passed.is_complete else Effect.UNKNOWN)
        if error.origin is not None or (has_run and not error.given("effect")):
            # A code that says that nothing was done speaks for what came before the tool.
            source = Source.ESCAPED
        effect = effect_of_raise(error, nature, source, marked)
        if is_after and effect is Effect.NONE:
            # Who stands around a tool that came to its end cannot know that it did nothing.
            effect = marked
        if effect is error.effect and (effect is not None or error.standing == "quoted" or source is Source.STATED):
            return {}
        # What the server knows it states; where it knows nothing, what follows from the kind must not speak.
        changes = _stating(effect)
        if effect in IN_DOUBT and source is not Source.STATED:
            # What a service behind the tool proposes is about another call.
            changes |= dict.fromkeys(ADVICE)
        return changes

    def of_result(self, broken: BrokenResult, tool: ToolInfo) -> dict[str, Any]:
        """The same for a tool that came to its end, and returned what it does not promise."""
        nature, made = self.nature(tool), marks.get()
        effect = effect_of_escape(nature)
        if nature is Nature.READ:
            pass
        elif made is not None and made.effect is not None:
            effect = made.effect
        elif broken.is_tools and nature is Nature.WRITE:
            if made is not None and made.is_complete and tool.marks_effects:
                # It never came to where it says that its effects are, or took them back.
                effect = Effect.NONE
            elif not broken.words and broken.returned not in (None, ""):
                # Whoever returns nothing, or an error, may have left before the work.
                effect = Effect.DONE
        return _stating(effect)

    def of_passed_on(self, error: ToolError, tool: ToolInfo) -> dict[str, Any]:
        """The same for what another server said of another tool, and a tool gives as its own answer."""
        made = marks.get()
        marked = None if made is None else made.effect
        return _stating(effect_of_raise(error, self.nature(tool), Source.ESCAPED, marked))

    def in_all(self, error: ToolError, tool: ToolInfo, made: Marks) -> dict[str, Any]:
        """The changes by which an error says what all runs of the tool in this call may have done."""
        effect, nature = error.effect, self.traits(tool).nature
        if effect not in IN_DOUBT and nature is not Nature.READ:
            worst = [each for each in _WORST_FIRST if each in made.runs]
            if worst and nature is not Nature.IDEMPOTENT:
                effect = worst[0]
            elif effect is Effect.NONE and made.runs != (Effect.NONE,) * len(made.runs):
                # That nothing was done has to be so of each of them.
                effect = effect_of_escape(nature)
        changes = {} if effect is error.effect else _stating(effect) | dict.fromkeys(ADVICE)
        if made.said and effect in IN_DOUBT:
            changes["message"] = with_words(error.message, made.said)
        return changes

    def log_unmarked(self, log: Any, tools: Collection[ToolInfo]) -> None:
        """Tell the author once which tools say nothing about themselves, and what to add."""
        names = [
            tool.name
            for tool in tools
            if replace(self.traits(tool), unmarked="as is").nature is Nature.UNMARKED and not tool.marks_effects
        ]
        if not names:
            return
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        # A handler that breaks is no reason for the first call to fail.
        with suppress(Exception):
            log.warning(
                "Neither annotations nor names tell whether these tools change anything: %s. Say it by annotations "
                "(readOnlyHint, idempotentHint) or by install(reads=[…], writes=[…]).",
                f"{', '.join(names[:_MOST_NAMED])}{more}",
            )


def source_of(error: ToolError, *, is_authors: bool, is_refusal: bool = False) -> Source:
    """Where a failure comes from: its author, a refusal of theirs or of an upstream service, or anywhere else."""
    if is_authors:
        return Source.STATED
    return Source.REFUSED if is_refusal or is_refusal_status(error.http_status) else Source.ESCAPED


def _stating(effect: Effect | None) -> dict[str, Any]:
    return {"effect": effect, "standing": "quoted" if effect is None else None}


class Reader:
    """Reads the exceptions of one server."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._strict = isinstance(options.format, Envelope) and options.format.strict
        self.effects = Effects(options.reads, options.writes, options.unmarked)
        self._guards: dict[int, tuple[Mapping[str, Any], Guard]] = {}
        self.masks = False
        """Whether the author has the framework tell nothing of exceptions but of its own; set by its adapter."""
        self.shows_text = options.show_text
        """Whether the text of any exception is told; set by its adapter where the framework tells it."""

    def read(
        self,
        exc: BaseException,
        tool: ToolInfo,
        arguments: Mapping[str, Any] | None = None,
        *,
        rejected: bool = False,
        nested: bool = False,
        masked: bool = False,
    ) -> FailedCall:
        """What `exc` means to the caller of `tool`.

        `rejected` says that the arguments did not pass the schema, `nested` that another tool failed, which this one
        has called, `masked` that the tool's own server tells nothing of its exceptions.

        Orders to stop never come here: see `reraise_control_flow`.
        """
        outcome: Outcome
        if isinstance(exc, NeedsInput):
            made = marks.get()
            done = None if made is None else made.effect
            # An answer would have the tool run again, from its start: too late once it has done something.
            outcome = exc if done is None else exc.to_error().replace(tool=tool.name, suggestion=None, effect=done)
        elif (own := from_error(exc, context=False)) is not None:
            outcome = self._structured(own, exc, tool, nested)
        else:
            outcome = self._plain(exc, tool, arguments or {}, rejected, nested, masked or self.masks)
        if isinstance(outcome, ToolError):
            changes: dict[str, Any] = {} if outcome.correlation_id is not None else {"correlation_id": new_id()}
            if arguments is not None and (outcome.fields or outcome.patch):
                # A model that reads what is wrong is shown the whole call that it is to make.
                changes["sent"] = arguments
            outcome = outcome.replace(**changes) if changes else outcome
        return FailedCall(outcome, tool, exc, self.guard(tool.schema).hearing(arguments))

    def failed(
        self, outcome: Outcome, tool: ToolInfo, raised: BaseException, arguments: Mapping[str, Any] | None
    ) -> FailedCall:
        """A failure with the guard that knows what was sent."""
        return FailedCall(outcome, tool, raised, self.guard(tool.schema).hearing(arguments))

    def guard(self, schema: Mapping[str, Any] | None) -> Guard:
        """The guard that also knows which arguments of the tool are secret."""
        guard = self._options.guard
        if schema is None:
            return guard
        known = self._guards.get(id(schema))
        if known is None or known[0] is not schema:
            if paths := secret_paths(schema):
                guard = replace(guard, secret_paths=guard.secret_paths | paths)
            if len(self._guards) >= _MOST_KEPT:
                self._guards.clear()
            # With its schema, so that nothing else can have its id.
            known = self._guards[id(schema)] = schema, guard
        return known[1]

    def of_request(self, exc: BaseException, what: str) -> ToolError:
        """What an exception means to whoever reads a resource, gets a prompt, or asks for a completion."""
        error = from_error(exc, context=False)
        if error is None:
            error = classify(exc, table=self._options.table)
            if self.masks and not _may_be_told(exc, error):
                error = _masked(error)
            # Whatever went wrong, these requests only read.
            error.effect = Effect.NONE
            if error.code == "INTERNAL_ERROR":
                error = error.replace(message=f"[{what}] The server failed unexpectedly.")
        return with_correlation_id(error)

    def _structured(self, own: ToolError, exc: BaseException, tool: ToolInfo, nested: bool) -> ToolError:
        """One that is structured already: its author's, or read somewhere else."""
        is_anothers = nested or (own.origin is not None and own.tool is not None)
        changes: dict[str, Any] = {}
        if not own.tool or is_anothers:
            changes = {"tool": tool.name, "action": tool.action if is_anothers else own.action or tool.action}
        if is_anothers and own.kind is Kind.VALIDATION:
            own = as_upstream_error(own)
        # Somebody's reading of an exception, or of a peer's answer, is no word about this tool; an effect given is.
        is_authors = own is exc and not is_anothers and (own.standing is None or own.given("effect"))
        if is_authors:
            # Before the tool has its name from us: what stands in the details by the contract's names comes first.
            own = stated(own, FORMATS[self._options.form])
            changes = {} if own.tool else changes
        # A rule speaks for the tool that stands under it, not for one that has called what does.
        is_authors = is_authors and not is_refused_inside(exc, code_of(tool.function))
        source = source_of(own, is_authors=is_authors)
        changes |= self.effects.of(own, tool, source=source, exc=exc, nested=nested)
        return own.replace(**changes) if changes else own

    def _plain(
        self, exc: BaseException, tool: ToolInfo, sent: Mapping[str, Any], rejected: bool, nested: bool, masked: bool
    ) -> ToolError:
        """Any other exception: by what refused the arguments, by the author's own raise, or by the table."""
        problem = _validation_error(exc)
        error = _of_arguments(exc, problem, tool, sent, rejected, nested) if rejected or problem is exc else None
        is_authors, is_refusal = rejected and error is not None, False
        is_protocols = own_error(exc) is not None
        if error is None:
            table = self._options.table
            # Only a row of the author's own, and a number, count more than what they say to the caller.
            read = classify(exc, table=table) if is_protocols or not table.is_shipped else None
            error = None if nested or (read is not None and read.authored) else refusal(exc, tool.function)
            is_refusal = error is not None
            if error is None:
                error = read or classify(exc, table=table)
                if self._strict and not error.authored and error.kind not in _OF_DATA and is_of_database(exc):
                    # The contract's own code, whatever went wrong in it.
                    error = error.replace(code="db_error", kind=Kind.TRANSIENT, title=None)
                if not error.authored:
                    error = invalid_json(exc, sent) or unexpected(exc, sent, tool.schema, tool=tool.name) or error
            if nested and error.kind is Kind.VALIDATION:
                error = as_upstream_error(error)
        if masked := masked and not rejected and not _may_be_told(exc, error):
            error = _masked(error)
        changes: dict[str, Any] = {
            "tool": tool.name,
            "action": tool.action,
            "debug": _debug(exc, problem, error),
            "cause": exc,
            "correlation_id": error.correlation_id or new_id(),
        }
        # No framework shows what was to stop the whole server.
        is_shown = self.shows_text and isinstance(exc, Exception)
        is_shown = is_shown and not (masked or rejected or error.authored or error.fields)
        words, is_told = shorten_text(exc_text(exc)) if is_shown else "", True
        if error.code == "INTERNAL_ERROR" and not error.authored:
            # What the author raised is told as it is; of a crash, the tool is named, as its framework names it.
            changes["message"] = words if words and is_refusal else f"[{tool.label}] {words or error.message}"
            # Where they are hidden, whoever reads it knows nothing but the cause.
            is_told = bool(words)
        elif words and error.http_status is not None and (host := host_of(exc)) is not None:
            # What an HTTP client says of an answer, its status and its body say better, but for who answered.
            changes["message"] = error.message.replace("The upstream service", host, 1)
        elif words and words.strip("'\"")[:_COMPARED] not in error.message:
            changes["message"] = with_words(error.message, words)
        if isinstance(exc, BrokenResult):
            if words := exc.words:
                changes["message"] = with_words(changes["message"], words)
            return error.replace(**changes, **self.effects.of_result(exc, tool))
        # Whoever wrote the words of another tool wrote them about that one.
        # A JSON-RPC error may be an upstream server's as well: whether it came before the work nobody knows.
        # Contract 004 has no other way to raise its errors: on its servers it is the author's word.
        is_protocols = is_protocols and not error.given("effect") and self._options.form != jsonrpc.FORMAT.name
        is_authors = is_authors or (error.authored and not is_protocols)
        source = source_of(
            error, is_authors=is_authors and not nested, is_refusal=(is_refusal or is_protocols) and not nested
        )
        changes = self.effects.of(error, tool, source=source, exc=exc, nested=nested) | changes
        effect = changes.get("effect", error.effect)
        if source is Source.REFUSED and effect is None and self.effects.traits(tool).nature is Nature.WRITE:
            # Whether the raise stood before or after the work nobody knows.
            return withhold_retry(error, as_written=is_told, **changes)
        return error.replace(**changes)


def _of_arguments(
    exc: BaseException,
    problem: BaseException | None,
    tool: ToolInfo,
    sent: Mapping[str, Any],
    rejected: bool,
    nested: bool,
) -> ToolError | None:
    """What a validator has against arguments of this call, or against data that the tool met."""
    if not rejected:
        # Raised in the body. Its data are the caller's only if they came with the call.
        place = None if nested else anchored(exc, sent)
        if place is None:
            return ToolError("The tool met data that it cannot use.", code="INTERNAL_ERROR")
        return from_pydantic(exc, tool=tool.name, schema=tool.schema, arguments=sent, at=place)
    if problem is None:
        # Its names alone were looked at.
        schema = applied_schema(tool.schema or {}, "reject")
        return None if tool.schema is None else from_schema(schema, sent, tool=tool.name)
    found = None
    if tool.schema is not None:
        known = known_names(tool.schema).keys() | sent.keys()
        if any(not loc or loc[0] not in known for loc in map(loc_of, errors_of(problem))):
            # A tool that was made of another has names of its own for them.
            found = from_schema(tool.schema, sent, tool=tool.name)
    return found or from_pydantic(problem, tool=tool.name, schema=tool.schema, arguments=sent)


def as_upstream_error(error: ToolError) -> ToolError:
    """What was wrong with a call that a tool made is nothing that its own caller could correct."""
    return ToolError(error.message, code="UPSTREAM_ERROR", origin=error.origin, cause=error)


def with_correlation_id(error: ToolError) -> ToolError:
    """The error with an id of its own, by which the log is searched."""
    return error if error.correlation_id is not None else error.replace(correlation_id=new_id())


def _may_be_told(exc: BaseException, error: ToolError) -> bool:
    """Whether the words of an exception leave a server that masks them: FastMCP's own do, and so do those of a row of
    the author's; what a tool returned is no exception."""
    if isinstance(exc, BrokenResult) or any(each.__module__ == "fastmcp.exceptions" for each in type(exc).__mro__):
        return True
    return error.authored and not type(exc).__module__.startswith("mcp.")


def _masked(error: ToolError) -> ToolError:
    """The same failure in words of our own: what it is, and what follows from that."""
    message = _WORDS.get(str(error.code), f"{error.title}.")
    return error.replace(message=message, **dict.fromkeys(_SAID))


def _debug(exc: BaseException, problem: BaseException | None, error: ToolError) -> str | None:
    """What the log is told. A validator's text quotes data, whole or in parts, so of that the places are enough."""
    if error.fields:
        return None
    summary = exc_summary(exc)
    if error.debug is not None and error.debug != summary:
        # What a row of the author's table has to say.
        return text(error.debug)
    if problem is None:
        return summary
    places = sorted({".".join(map(str, loc_of(each))) for each in errors_of(problem)})
    return f"{type(problem).__name__} at {', '.join(places[:20])}"


def _validation_error(exc: BaseException) -> BaseException | None:
    """Pydantic's exception, if this is one or was raised from one."""
    for each in (exc, exc.__cause__):
        if type(each).__name__ == "ValidationError" and type(each).__module__.startswith("pydantic"):
            return each
    return None


def is_clients(exc: BaseException) -> bool:
    """Whether a client of the framework raised it, and not whoever wrote the tool."""
    raised = [trace.tb_frame.f_globals.get("__name__") for trace in frames(exc)][-1:]
    return any(str(name).startswith(_CLIENTS) for name in raised)


def own_error(exc: Any) -> Any:
    """The JSON-RPC error that an author has raised; None for any other exception, and for one of a framework."""
    # A loop, since this is asked of every failure, and a generator is a call for each class.
    for base in type(exc).__mro__:
        if f"{base.__module__}.{base.__qualname__}" in PROTOCOL_ERRORS:
            break
    else:
        return None
    if exc.error.code == URL_ELICITATION:
        return None
    (*_, last) = frames(exc) or (None,)
    is_frameworks = last is not None and is_frameworks_module(str(last.tb_frame.f_globals.get("__name__")))
    return None if is_frameworks or is_clients(exc) else exc.error
