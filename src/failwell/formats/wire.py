"""What the formats share: the shape of a format, JSON text, and building an error from what was read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeGuard

from failwell.model import (
    IN_DOUBT,
    NO_RETRY_RULES,
    PROVENANCE,
    UNWRITTEN,
    Effect,
    Fields,
    Json,
    Kind,
    NeedsInput,
    RetryRules,
    Strategy,
    ToolError,
    compact,
    find,
    plain,
    register_retry_rules,
)

RESERVED: Final = "failwell"
"""The key under which a format keeps what its contract has no word for."""

OBJECT: Final = (dict, Mapping)
"""For `isinstance`: the exact type first, since asking an abstract class takes four times as long."""

FIX_FIELDS: Final = "Fix the fields above and call the tool again. Do not explain the error."
"""Contract 002's advice beside a list of wrong fields."""

pretty: Final = json.JSONEncoder(ensure_ascii=False, indent=2, check_circular=False).encode

Outcome = ToolError | NeedsInput
_DERIVED: Final = ("recoverable", "strategy", "effect", "title")


Blocks = dict[str, Json]


Places = Mapping[str, tuple[str, Callable[[Json], Any]]]
"""A contract's keys for fields of the model: the field, and its value, or None for what makes no sense there."""


class Sign(NamedTuple):
    """How an object of a format is told from all others: it has a key, and `load` makes something of it.

    Signs are tried in the order of their ranks, what can be told for certain first.
    """

    rank: int
    key: str
    load: Callable[[Mapping[str, Any]], Outcome | None]
    is_said: Callable[[Mapping[str, Any]], bool] | None = None
    """For an object that is a whole answer: whether it states the failure. Otherwise it is quoted."""
    is_whole: Callable[[Mapping[str, Any]], bool] | None = None
    """Whether the object is nothing but the failure. An error that stands in somebody's data is quoted."""


@dataclass(frozen=True, slots=True)
class Format:
    """One wire format: how an error becomes a wire value (an object, or a text for `xml` and `text`) and back, and all
    that anybody else has to know about it."""

    name: str
    contract: str
    dump: Callable[..., Json]
    load: Callable[..., Outcome | None]
    encode: Callable[[Any], str]
    options: tuple[str, ...] = ()
    ask: Callable[[NeedsInput], Json] | None = None
    stow: Callable[..., Json] | None = None
    places: Places = field(default_factory=dict)
    """Keys of its open map that are fields of the model: a detail of that name stands in the field's place."""
    take: Callable[[dict[str, Json], Places], dict[str, Any]] | None = None
    """Takes these fields out of an open map, where that is more than one key for each."""

    # How it is told from the others
    signs: tuple[Sign, ...] = ()
    """For objects: the keys by which one is found."""
    bare: Callable[[Mapping[str, Any]], Outcome | None] | None = None
    """For an object that was handed over by itself, and that no sign tells."""
    start: str = ""
    """For texts: the character with which one begins."""
    prose: bool = False
    """Whether it is plain sentences, which nothing can tell from a text that is no error."""
    last_counts: bool = False
    """Whether of several in one result the last one counts."""
    attaches: bool = False
    """Whether its details may hold the whole canonical error."""
    own_words: frozenset[str] = frozenset()
    """What it says itself, beside whether it passes, of making the call again: `recoverable`, `strategy`."""
    worded: Literal["number", "label"] | None = None
    """Where its code means something else to each server, so that the words say more: it is a number, or any text."""
    unflagged: bool = False
    """Whether a result that is nothing but its object is a failure without `isError`, too."""
    marked: bool = False
    """Whether a text block that is its object is that failure without `isError`, whatever stands beside it."""
    severity_of_result: bool = False
    """Whether an error without a severity in a success is a warning."""

    # How a result is dressed
    gate: Literal["markdown", "json", "both"] = "json"
    """Which block is sent where nobody chose: the one for people (`markdown`) or the one for programs (`json`)."""
    gated: bool = True
    """Whether it has JSON for a tool's `format` argument to choose."""
    terse: bool = False
    """Whether it has no place for what is wrong with which argument, or for what to do, so that the message says it."""
    dress: Callable[[Outcome, Blocks, Blocks, str | None], None] | None = None
    """What its contract adds to the two blocks; the last argument goes before a message that stands alone, or is None
    where the block for people says everything."""
    room: str | None = None
    """The key of its object under which all details stand, but for those that only the reserved key has room for."""
    whole: bool = False
    """Whether its object says everything, so that it may stand instead of the text."""
    closed: bool = False
    """Whether its contract refuses arguments that a tool does not have."""
    is_failure: bool = False
    """Whether there are no remarks in it: what is no success is an error, whatever its severity."""
    remarks: bool = False
    """Whether a remark beside a success is written in it, not in plain sentences."""
    question: Mapping[str, Any] = field(default_factory=dict)
    """The options with which a question leaves as an error, where it has no questions."""

    again: RetryRules = NO_RETRY_RULES
    """What its contract says about making a call again."""
    schema: str = ""
    """The file of its schema; by default its name, as JSON Schema."""

    def __post_init__(self) -> None:
        register_retry_rules(self.name, self.again)


def build(
    format: str,
    message: object,
    fields: dict[str, Any],
    *,
    kind: Kind | None = None,
    retryable: object = None,
    notes: list[str] | None = None,
) -> ToolError:
    """The error a peer sent. `retryable` is the flag on the wire; it counts only for codes nobody knows."""
    notes = [] if notes is None else notes
    code = fields.get("code")
    if code is not None and not isinstance(code, str):
        notes.append("The code was not a text.")
        fields["code"] = code = None
    info = find(code)
    if fields.get("effect") is not None and Effect.of(fields["effect"]) is None:
        notes.append("The effect is none that is known, so the call may have been done.")
        fields["effect"] = Effect.UNKNOWN
    flag = retryable if isinstance(retryable, bool) else None
    if kind is None:
        kind = info.kind if info else Kind.TRANSIENT if flag else Kind.INTERNAL
    if not isinstance(message, str):
        notes.append("The message was not a text.")
        message = as_text(message)
    if retryable is not None and flag is None:
        notes.append("The retryable flag was not true or false.")
    if fields.get("standing") != "quoted":
        # How an error was said is for its reader to tell. Only that it was less than stated, its writer knows.
        fields.pop("standing", None)
    given = {**fields, "code": code, "kind": kind, "origin": "peer", "format": format, "wire_retryable": flag}
    error = ToolError(message, **given)
    # What follows from the code and the kind anyway was not stated: it would read as if the author insisted.
    for name in _DERIVED:
        if error.given(name) and error._given[name] == error.default(name):
            error._given.pop(name)
    if error.is_declined:
        notes.append(f"The peer said retryable: false, which the code {error.code} does not; the peer's word counts.")
    elif flag and not error.retryable:
        is_code = error.effect not in IN_DOUBT
        why = f", which the code {error.code} rules out" if is_code else " of a call that may have been done already"
        notes.append(f"The peer said retryable: true{why}.")
    if notes:
        error.notes = tuple(notes)
    return error


def restore(
    error: ToolError,
    carried: object,
    again: Callable[..., Outcome | None],
    ways: Iterable[Mapping[str, Any]] = ({},),
    apart: Mapping[str, Json] = MappingProxyType({}),
) -> ToolError:
    """`error` with the fields that travelled under the reserved key put back.

    They fill gaps, and never contradict the form around them: what the whole error would write must read the same as
    what stands there, in one of the `ways` in which the form can be written. `again` writes an error in the form, and
    reads that; `apart` names what the writer adds to the form whatever the error says.
    """
    if carried is None or not isinstance(carried, OBJECT):
        return error
    # Each name takes a reading of its own where they do not fit together, so only those that mean something count.
    carried = {name: value for name, value in carried.items() if name in _CARRIED}
    if not carried:
        return error
    beside = dict(apart)
    form = error._says() | beside

    def fits(whole: ToolError | None) -> bool:
        if whole is None or (error.effect in IN_DOUBT and whole.effect not in IN_DOUBT):
            return False
        written = [whole]
        if whole.effect is Effect.UNKNOWN:
            # Of an answer that was lost the form says so in other words, and what became of the call is not carried.
            written.append(whole.replace(delivery="unanswered"))
        backs = (again(each, **way) for each in written for way in ways)
        return any(isinstance(back, ToolError) and back._says() | beside == form for back in backs)

    whole = _filled(error, carried)
    if whole is not None and fits(whole):
        return _no_bolder(_noted(whole, error), error)
    whole = error
    for names in _TOGETHER:
        part = {name: carried[name] for name in names if name in carried}
        if part and fits(filled := _filled(whole, part)):
            whole = filled or whole
    for name, value in carried.items():
        if name not in _BEFORE and fits(filled := _filled(whole, {name: value})):
            whole = filled or whole
    whole = _no_bolder(_noted(whole, error), error)
    if whole.effect not in IN_DOUBT and Effect.of(carried.get("effect")) in IN_DOUBT:
        return doubted(whole)
    return whole.note("What was carried contradicts the form around it; the form counts.")


def doubted(error: ToolError) -> ToolError:
    """An error beside which stands that its call may have been done: the more careful of the two counts."""
    known = error.replace(effect=Effect.UNKNOWN)
    return known.note(_DOUBTED) if _permits(error) else known


_DOUBTED: Final = "Something in the answer says that the call may have been done; the careful reading counts."


def _no_bolder(whole: ToolError, form: ToolError) -> ToolError:
    """What only the carried fields would permit was said beside the answer, not by it."""
    if not _permits(whole) or _permits(form):
        return whole
    return whole.replace(standing="quoted", effect=whole.effect)


def _permits(error: ToolError) -> bool:
    """Whether an error says anything for which its call might be made a second time."""
    return error.retryable or error.effect is Effect.NONE or error.strategy in (Strategy.RETRY, Strategy.FIX)


# What `ToolError._says` has names for.
_UNCARRIED: Final = frozenset({*PROVENANCE, *UNWRITTEN}) - {"standing"}
_CARRIED: Final = frozenset({*Fields.__annotations__, "message", "retryable"}) - _UNCARRIED
# In this order: what the call may have done changes what the code may say.
_TOGETHER: Final = (("effect", "verify"), ("code", "kind", "title"))
_BEFORE: Final = frozenset(name for names in _TOGETHER for name in names)


def _filled(error: ToolError, carried: Mapping[str, Any]) -> ToolError | None:
    from . import canonical

    data = error.to_dict()
    if "code" in carried and not error.given("title"):
        data.pop("title", None)
    for name, value in carried.items():
        if value is None:
            data.pop(name, None)
        else:
            data[name] = value
    data[RESERVED] = 1
    whole = canonical.load(data)
    if not isinstance(whole, ToolError):
        return None
    flag = error._given.get("wire_retryable")
    if flag is None and (whole.info is None or carried.get("retryable") is False):
        return whole.replace(format=error.format)
    # The form's own flag, not the one that follows from it. A form that has none says what the code says.
    return whole.replace(format=error.format, wire_retryable=flag)


def _noted(whole: ToolError, error: ToolError) -> ToolError:
    notes = tuple(dict.fromkeys((*error.notes, *whole.notes)))
    return whole if notes == whole.notes else whole.replace(notes=notes)


def _finite(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else str(number)


# Without the two searches for white space that `decode` makes around every value.
_decode: Final = json.JSONDecoder(parse_constant=_finite, parse_float=_finite).raw_decode


def read_json(source: str) -> Json:
    """The JSON value in `source`, or None for anything that is not JSON. What JSON has no number for comes as text."""
    source = source.strip(" \t\r\n")
    try:
        value, end = _decode(source)
        return value if end == len(source) else None
    except RecursionError:
        return None
    except ValueError as problem:
        if "integer string conversion" not in str(problem):
            return None
    try:
        # Python refuses to read integers of thousands of digits; as texts they do no harm.
        return json.loads(source, parse_int=lambda digits: int(digits) if len(digits) < 1000 else digits)
    except (ValueError, RecursionError):
        return None


# What may stand around an error under the key `error` without being the answer itself.
_AROUND: Final = frozenset({"error", "isError", "ok", "success", "data", "meta", "_meta", "failwell", "jsonrpc", "id"})


def is_only_error(data: Mapping[str, Any]) -> bool:
    """Whether an object with the key `error` holds nothing else: what was done may stand beside it."""
    return data.keys() <= _AROUND and not data.get("data")


def as_text(value: object) -> str:
    """A text, whatever stood in its place."""
    if isinstance(value, str):
        return value
    return "" if value is None else compact(plain(value))


def brief(value: object) -> str:
    """A value in a note: short, whatever it is."""
    shown = repr(value) if isinstance(value, str) else as_text(value)
    return shown if len(shown) <= 80 else shown[:79] + "…"


def whole(delay: float) -> int:
    """A delay in whole units, never shorter than it was, but for the noise of floating point."""
    return max(1, math.ceil(round(delay, 6)))


def open_details(error: ToolError, own: Container[str] = ()) -> dict[str, Json]:
    """The details that may stand beside the contract's `own` keys."""
    return {name: value for name, value in error.details.items() if name != RESERVED and name not in own}


def take_fields(context: dict[str, Json], places: Places) -> dict[str, Any]:
    """The fields of an error that a contract's keys are; these are taken out."""
    fields: dict[str, Any] = {}
    for name, (place, value_of) in places.items():
        if name in context and place not in fields and (value := value_of(context[name])) is not None:
            fields[place] = value
            del context[name]
    return fields


def stated(error: ToolError, spec: Format) -> ToolError:
    """The error with the details that are named as fields of the contract in these fields, where it has no value of its
    own there: every carrier of one answer says the same."""
    if not error.details or not spec.places:
        return error
    left = {
        name: value
        for name, value in error.details.items()
        if name in spec.places and not error.given(spec.places[name][0])
    }
    free = set(left)
    if not left or not (found := (spec.take or take_fields)(left, spec.places)):
        return error
    used = free - left.keys()
    return error.replace(**found, details={name: each for name, each in error.details.items() if name not in used})


def only_if(fits: Callable[[Json], bool]) -> Callable[[Json], Any]:
    return lambda value: value if fits(value) else None


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def is_text(value: Json) -> bool:
    return isinstance(value, str) and value != ""


def is_texts(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(is_text(item) for item in value)


def is_objects(value: Json) -> TypeGuard[list[dict[str, Json]]]:
    if not isinstance(value, list) or not value:
        return False
    for item in value:  # noqa: SIM110 - all() takes longer to set up than to look at the two or three there are
        if not isinstance(item, dict):
            return False
    return True


def kept_map(value: object, notes: list[str], name: str) -> dict[str, Json]:
    """`value` where an object belongs; anything else is kept under its key, with a note."""
    if value is None:
        return {}
    if isinstance(value, OBJECT):
        return dict(value)
    notes.append(f"{name} was not an object.")
    return {name: value}


def stow_in(key: str, dump: Callable[..., dict[str, Json]]) -> Callable[..., Json]:
    """`dump` with what the format cannot say kept in the object under `key`."""

    def stow(error: ToolError, carried: dict[str, Json], **options: Any) -> Json:
        wire = dump(error, **options)
        wire[key] = {**(wire.get(key) or {}), RESERVED: carried}
        return wire

    return stow
