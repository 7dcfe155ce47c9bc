"""The form in which a failure leaves: a result of the call, or an error of the protocol."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from failwell.formats import (
    FORMATS,
    META_KEY,
    MODERN_ERA,
    UNKNOWN,
    Outcome,
    as_result,
    find_client,
    in_words,
    jsonrpc,
    reasons,
    stated,
    to_wire,
    unplaced_details,
    v1,
)
from failwell.model import COMMON_CODES, IN_DOUBT, Effect, Json, Kind, NeedsInput, Strategy, ToolError
from failwell.redact import Guard
from failwell.schema import Checkers
from failwell.sdk import MCPError, protocol_error

from .declared_failures import INPUT_DECLINED, KEY_CODES
from .exception_reader import own_error
from .options import WIRE_OPTIONS, Envelope, Options
from .replies import promised_remark
from .served_call import FORMAT_KEY, ServedCall, ToolInfo, gate_of

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


class Renderer:
    """Writes the failures of one server."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.form = options.form
        self.is_gated = self.form == _GATED
        self.envelope = options.format if isinstance(options.format, Envelope) else None
        self._checkers = Checkers()
        self.wire = {name: value for name, value in options.wire.items() if name not in WIRE_OPTIONS}
        self.with_meta = self.wire.get("meta", True)
        self.protocol = options.wire.get("protocol", ())
        self._client = options.wire.get("client", "auto")
        self._as_written = options.wire.get("as_written", False)
        self._unplaced: set[tuple[str, tuple[str, ...]]] = set()

    def result(
        self, outcome: Outcome, tool: ToolInfo, call: ServedCall, guard: Guard, *, raised: BaseException
    ) -> dict[str, Any]:
        """The answer as the result of the call, or the protocol error the options ask for, raised.

        The outcome has passed its `guard`; `raised` is what it was read from.
        """
        era = call.era
        error = outcome if isinstance(outcome, ToolError) else None
        own = self._own(error, raised, guard, era) if error is not None and isinstance(raised, MCPError) else None
        # The author raised just this, or read it so by a row of their own: nothing is to be added.
        as_written = isinstance(raised, ToolError) or (error is not None and error.authored)
        if error is not None and self.protocol and self.is_protocol(error):
            found = own or self._contract(_completed(error, as_written), era=era)
            raise protocol_error(found["code"], found["message"], found.get("data"))
        asked_for, is_negotiated = call.wanted_format()
        name = asked_for or self.form
        wire = dict(self.wire)
        if name != self.form:
            wire = {key: value for key, value in wire.items() if key in _GENERAL}
        if (gate := gate_of(tool.schema, call.arguments, is_own=self.is_gated)) is not None:
            wire["gate"] = gate
            if asked_for is None and not FORMATS[name].gated:
                name = _GATED
        client = find_client(call.client_name if self._client == "auto" else self._client)
        if client is UNKNOWN and self._client == "auto":
            client = None
        if gate in ("json", "both") and client is not None and client.structured == "instead":
            # Who asks for the object may see it instead of the text.
            client = replace(client, structured="shown")
        if client is not None and self._client == "auto":
            client = replace(client, chosen=False)
        whole, is_contract = outcome, name == jsonrpc.FORMAT.name
        if self.envelope is not None and name == self.form:
            wire |= self.envelope.settings() | {"strict": self.envelope.strict, "elapsed_ms": int(call.seconds * 1000)}
            if error is not None:
                # The contract's own keys; `_meta` has the id anyway.
                told = raised.correlation_id if isinstance(raised, ToolError) else None
                whole = error.replace(correlation_id=told)
        wire.pop("meta", None)
        if is_contract:
            whole = _completed(whole, as_written)
            if self.form == name:
                wire.setdefault("actionable", True)
        is_terse = FORMATS[name].terse
        if isinstance(whole, NeedsInput):
            words = whole.message if self._as_written and is_terse else in_words(whole)
            if is_terse and FORMATS[name].ask is None:
                known = {each: getattr(whole, each) for each in ("fields", "reason", "suggestions", "options")}
                whole = guard.cut(NeedsInput(words, **known))
                words = whole.message
        else:
            words = in_words(whole)
            is_whole = not is_terse or (as_written and whole.effect in (None, Effect.NONE))
            if is_terse and not (is_whole and (self._as_written or not any(getattr(whole, each) for each in _NEEDED))):
                # The message is all that a model reads. It may be too long now, and has nothing else to hide.
                whole = guard.cut(whole.replace(message=words))
                words = whole.message
        promises = tool.output is not None
        answer = as_result(
            whole,
            name,
            words=words,
            era=era,
            # Who negotiates our extension knows what a failure looks like.
            output_schema=promises and not is_negotiated,
            client=client,
            meta=False,
            form=own if is_contract else None,
            **wire,
        )
        if tool.output is not None and not answer.get("isError"):
            # A result that is no error must have the promised form.
            content = promised_remark(answer["content"][0]["text"], self._checkers(tool.output))
            if content is None:
                # Without the promised data a client would throw, so the flag gives way; the severity stays.
                answer["isError"] = True
            else:
                answer["structuredContent"] = content
        if error is not None and error.details and not wire.get("carry"):
            self._tell_unplaced(error, tool, name)
        answer |= self._meta(outcome, name)
        if self.with_meta and asked_for is not None:
            answer["_meta"][FORMAT_KEY] = name
        # The runner says which kind of result it is, in the era's own words.
        answer.pop("resultType", None)
        return answer

    def _meta(self, outcome: Outcome, format: str) -> dict[str, Any]:
        """The whole error in the `_meta` of its answer; what its form says, it says too."""
        if isinstance(outcome, ToolError):
            outcome = stated(outcome, FORMATS[format])
        return {"_meta": {META_KEY: _timed(outcome, format).to_dict()}} if self.with_meta else {}

    def is_protocol(self, error: ToolError) -> bool:
        """Whether a failure leaves as a JSON-RPC error."""
        return error.is_error if self.protocol == "all" else error.code in self.protocol

    def number(self, error: ToolError, raised: BaseException, era: str) -> int | None:
        """The number with which a failure leaves; None where it leaves without one."""
        if isinstance(raised, MCPError) and (own := self._own(error, raised, None, era)) is not None:
            return int(own["code"])
        has_one = self.form == jsonrpc.FORMAT.name or (self.protocol and self.is_protocol(error))
        return jsonrpc.on_wire(None, error, era) if has_one else None

    def _own(self, error: ToolError, raised: BaseException, guard: Guard | None, era: str) -> dict[str, Any] | None:
        """The JSON-RPC error that the author has raised, as it may leave: with their number, message and data. None
        where they raised none, or what they say is not all there is to say."""
        if not error.authored or error.effect in IN_DOUBT or (own := own_error(raised)) is None:
            return None
        number = jsonrpc.shifted(own.code, era)
        if guard is not None:
            own = without_secrets(protocol_error(own.code, own.message, own.data), guard).error
        return {"code": number, "message": own.message, **({} if own.data is None else {"data": own.data})}

    def attached(
        self,
        error: ToolError,
        about: Mapping[str, Json],
        *,
        era: str = MODERN_ERA,
        number: int | None = None,
        own: Any = None,
    ) -> MCPError:
        """The error as one of the protocol's; `number` is what the specification wants, whatever the contract says;
        `own` is the JSON-RPC error that its author has raised, which keeps number, message and data."""
        guard = self._options.guard
        guarded, text = guard(error), guard.plain
        about = {name: text(value) if isinstance(value, str) else value for name, value in about.items()}
        data: dict[str, Any] = {**about, META_KEY: guarded.to_dict()}
        if own is not None:
            own = without_secrets(protocol_error(own.code, own.message, own.data), guard).error
            theirs = own.data if isinstance(own.data, dict) else {} if own.data is None else {"data": own.data}
            return protocol_error(jsonrpc.shifted(own.code, era), own.message, {**data, **theirs})
        if self.form == jsonrpc.FORMAT.name:
            # Who reads the contract looks for its numbers and keys here too; the whole error is there already.
            wire = self._contract(_completed(guarded), era=era)
            return protocol_error(wire["code"], wire["message"], {**wire["data"], **data})
        if number is None:
            number = -32602 if guarded.kind in (Kind.NOT_FOUND, Kind.VALIDATION) else -32603
        return protocol_error(number, guarded.message, data)

    def common_codes(self) -> tuple[str, ...]:
        """What any tool of this server may answer, whatever it does itself, by the names that its format sends."""
        options, spec = self._options, FORMATS[self.form]
        codes = {*COMMON_CODES, *(KEY_CODES if options.idempotency else ())}
        if options.questions == "missing":
            codes.add(INPUT_DECLINED)
        given = {**self.wire, **({} if self.envelope is None else {"strict": self.envelope.strict})}
        chosen = {name: value for name, value in given.items() if name in spec.options}

        def sent(code: str) -> str:
            back = None if spec.prose else spec.load(to_wire(ToolError(code=code), spec.name, **chosen))
            return back.code or code if isinstance(back, ToolError) else code

        return tuple(sorted(map(sent, codes)))

    def _contract(self, error: Outcome, **options: Any) -> Any:
        """The error object of contract 004, written as the options want that format. The error has been guarded."""
        is_own = self.form == jsonrpc.FORMAT.name
        own = self.wire if is_own else {}
        chosen = {key: value for key, value in own.items() if key not in _OF_RESULTS}
        # Whose format it is, expects the contract and nothing else; others find the rest nowhere but here.
        wanted = {"carry": not is_own, "actionable": True, **chosen, **options}
        return to_wire(error, jsonrpc.FORMAT.name, guard=None, **wanted)

    def _tell_unplaced(self, error: ToolError, tool: ToolInfo, format: str) -> None:
        """Say, once for each tool, which details the form of a contract has no place for: they are in `_meta` alone."""
        unplaced = tuple(unplaced_details(error, format))
        if unplaced and (tool.name, unplaced) not in self._unplaced and len(self._unplaced) < _MOST_TOLD:
            self._unplaced.add((tool.name, unplaced))
            names, how = ", ".join(unplaced), "wire={'carry': True} sends them too"
            log.warning("%s: %s has no place for the details %s; %s.", tool.label, format, names, how)


def without_secrets(exc: MCPError, guard: Guard) -> MCPError:
    """A protocol error without secrets; itself if it has none."""
    held = ToolError(exc.error.message, details=None if exc.error.data is None else {"data": exc.error.data})
    told = replace(guard, fences=False)(held)
    return exc if told is held else protocol_error(exc.error.code, told.message, told.details.get("data"))


def _completed(outcome: Outcome, as_written: bool = False) -> Outcome:
    """A failure with what contract 004 says where its author said nothing: what is wrong with which argument, and how
    long to wait."""
    timed = outcome if as_written else _timed(outcome, jsonrpc.FORMAT.name)
    return timed if isinstance(timed, NeedsInput) else timed.replace(message=reasons(timed))


def _timed(outcome: Outcome, format: str) -> Outcome:
    """The outcome with the wait that the contract of the format means where none is named."""
    wait = FORMATS[format].again.first_delay
    if wait is None or isinstance(outcome, NeedsInput) or outcome.strategy is not Strategy.RETRY:
        return outcome
    return outcome if outcome.retry_after or outcome.reset_at else outcome.replace(retry_after=wait)
