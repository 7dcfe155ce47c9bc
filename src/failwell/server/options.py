"""What a server author can choose."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Literal, NamedTuple, TypedDict, get_args

from failwell.formats import FORMATS, to_result
from failwell.idempotency import KeyStore
from failwell.model import ToolError, Unmarked
from failwell.observe import Events
from failwell.readers import DEFAULT as ROWS
from failwell.readers import Table
from failwell.recovery import SECONDS
from failwell.redact import DEFAULT as GUARD
from failwell.redact import Guard

from .envelopes import Envelope
from .tool_rules import Rule

Extra = Literal["auto", "reject", "warn", "allow"]
UnknownTool = Literal["result", "protocol"]
OnMissing = Literal["error", "ask"]
Questions = Literal["ask", "result"]

PROTOCOL_NUMBERS: Final = frozenset({-32020, -32021, -32022, -32042})
"""Numbers that are between client and server, and tell a model nothing: wrong headers, a missing capability, an unknown
version, a page the user has to visit. That a request is no request is said before any tool runs; a tool that says so
passes on what somebody else said to it."""


MIN_OUTPUT: Final = 200
# Options of `to_result` that no server has: what it says there, it knows of the call.
_OF_CALLS: Final = frozenset({"era", "client", "output_schema", "guard", "words"})
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How failures leave a server.

    format: the form of the failure, the name of one of the formats, or an `Envelope`, which successes are put in too. A
        client that asks for another one by negotiation gets that.
    client: who is answered, as `name/version`: what it shows its model decides what is sent. `"auto"` is the name the
        client connects by, None is nobody in particular.
    on_missing: missing required arguments are an error, or a question to the user where the client can ask.
    questions: a `NeedsInput` is put to the user where the client can ask ("ask"), or is the result of the call whoever
        calls ("result"), as contract 001 has it.
    rules: rules for tools by name, such as `{"search": [limit(concurrency=2)]}`; `"*"` stands for all.
    idempotency: whether a call with an idempotency key is done once, however often it is made: True keeps the keys in
        memory, a store such as `KeysOnDisk("keys.db")` where you say.
    publish: list with each tool, under `_meta`, what `failwell.raises` declares about it.
    check_declared: for tests: a code that a tool sends and does not declare is logged, and marked in `_meta`.
    max_output: how many characters a successful result may have; longer ones are cut, and say so.
    as_written: whether the message of an author's own error leaves as they wrote it, in the formats whose message is
        all that a model reads of it (`typed`, `v1`, `envelope`). Unless asked for, it says there what else the error
        has to say: what to do, and how long to wait. Of a call that may have been done it always says so.
    show_reference: whether the text names the failure's correlation id, which is in the log and in `_meta` anyway.
    logger: where failures are written, a logger of `logging` or of structlog; "failwell.server" unless given.
    log_level: of which level a failure is that was to be expected, by name or number; a crash is an ERROR.
    hooks: called with a `failwell.observe.CallEvent` after every call.
    events: where each call is written down: the address of a store such as `sqlite:///events.db`, or a hook.
    telemetry: whether spans and counters of OpenTelemetry are told about failures.
    extra: what becomes of arguments the tool does not have: refused, ignored with a warning, or ignored. By default,
        "auto", they are refused where to ignore one could do harm or hides a mistake: on a tool that changes things,
        where the name is near that of a missing argument, where it promises restraint (`dry_run`, `confirm`, `limit`),
        and where the schema or the contract of the format (002) forbids it; else they are ignored, and named in the
        `_meta` of the result.
    unknown_tool: a call of no tool is answered by a result, which the model sees, or by a protocol error.
    validate: whether arguments and results are held against the listed schemas where the framework does not do so.
    protocol: codes that leave as JSON-RPC errors instead of results, because no model can act on them; "all" for every
        failure, as contract 004 has it.
    protocol_numbers: the MCPErrors of tools that stay protocol errors; others become results.
    table: rows of your own, asked before the shared ones (`failwell.classify.table()`).
    skip: names of tools that are left as they are.
    reads: names of tools that only read, with `*` for anything: `["get_*"]`.
    writes: names of tools that change something, where their annotations and names do not say so.
    unmarked: what holds for tools of which neither annotations nor names nor these lists tell what they are: "as is",
        the advice of the failure's cause, or "write", the strong rules of writes.
    hold: for how many seconds an identical call of a write that may have been done already is not run again, unless
        the agent has looked; 0 turns it off.
    show_text: send the text of any exception, as FastMCP does by itself and `mcp` 2 does not.
    guard: what must not leave.
    wire: further options of `failwell.to_result`: `gate`, `carry`, `meta`, `prefix`, or the format's own.
    """

    format: str | Envelope = "text"
    client: str | None = "auto"
    on_missing: OnMissing = "error"
    questions: Questions = "ask"
    rules: Mapping[str, Sequence[Rule]] = field(default_factory=dict)
    idempotency: bool | KeyStore = False
    publish: bool = False
    check_declared: bool = False
    max_output: int | None = None
    as_written: bool = False
    show_reference: bool = False
    logger: Any = None
    log_level: int | str = "WARNING"
    hooks: Sequence[Callable[[Any], object]] = ()
    events: Events | None = None
    telemetry: bool = True
    extra: Extra = "auto"
    unknown_tool: UnknownTool = "result"
    validate: bool = True
    protocol: Collection[str] | Literal["all"] = ()
    protocol_numbers: Collection[int] = PROTOCOL_NUMBERS
    table: Table = ROWS
    skip: Collection[str] = ()
    reads: Collection[str] = ()
    writes: Collection[str] = ()
    unmarked: Unmarked = "as is"
    hold: float = SECONDS
    show_text: bool = False
    guard: Guard = GUARD
    wire: Mapping[str, Any] = field(default_factory=dict)

    @property
    def form(self) -> str:
        """The name of the format."""
        return self.format.form if isinstance(self.format, Envelope) else self.format

    @property
    def level(self) -> int:
        """The number of `log_level`."""
        return level_of(self.log_level)

    def __post_init__(self) -> None:
        for name in _WANTED:
            demand(name, getattr(self, name))
        if not isinstance(self.format, Envelope):
            _one_of("format", self.format, FORMATS)
        _one_of("on_missing", self.on_missing, get_args(OnMissing))
        _one_of("questions", self.questions, get_args(Questions))
        for name, rules in self.rules.items():
            if not isinstance(rules, Sequence) or not all(isinstance(rule, Rule) for rule in rules):
                raise ValueError(f"rules[{name!r}] is a list of rules, such as [limit(concurrency=2)].")
        level_of(self.log_level)
        _one_of("extra", self.extra, get_args(Extra))
        _one_of("unmarked", self.unmarked, get_args(Unmarked))
        _one_of("unknown_tool", self.unknown_tool, get_args(UnknownTool))
        if self.extra == "auto" and FORMATS[self.form].closed:
            object.__setattr__(self, "extra", "reject")
        if self.protocol == "all":
            object.__setattr__(self, "unknown_tool", "protocol")
        if self.wire:
            _try_wire(self.format, self.wire)


class _Wanted(NamedTuple):
    """What an option has to be, and how that is said."""

    holds: Callable[[Any], bool]
    words: str


def _are(kind: type, values: object) -> bool:
    # A text is a collection of texts, and never meant as one.
    return isinstance(values, Collection) and not isinstance(values, str) and all(isinstance(v, kind) for v in values)


def _shown(value: object) -> str:
    return repr(value)[:_LONGEST] if isinstance(value, (str, int, float)) else type(value).__name__


_FLAG: Final = _Wanted(lambda value: isinstance(value, bool), "is True or False")
_NAMES: Final = _Wanted(lambda value: _are(str, value), "is a collection of names, such as ['search']")
# The types alone: a code may be the author's own, and be declared later.
_WANTED: Final[dict[str, _Wanted]] = {
    "client": _Wanted(
        lambda value: value is None or isinstance(value, str), "is 'auto', a name such as 'claude-code/2.1', or None"
    ),
    "rules": _Wanted(
        lambda value: isinstance(value, Mapping), "are lists by tool, such as {'search': [limit(concurrency=2)]}"
    ),
    "idempotency": _Wanted(
        lambda value: isinstance(value, (bool, KeyStore)), "is True, or a store of keys, such as KeysOnDisk('keys.db')"
    ),
    "publish": _FLAG,
    "check_declared": _FLAG,
    "max_output": _Wanted(
        lambda value: value is None or (isinstance(value, int) and value >= MIN_OUTPUT),
        f"is a number of characters, at least {MIN_OUTPUT}",
    ),
    "as_written": _FLAG,
    "show_reference": _FLAG,
    "logger": _Wanted(
        lambda value: value is None or hasattr(value, "log") or hasattr(value, "bind"),
        "is a logger of logging or structlog",
    ),
    "hooks": _Wanted(
        lambda value: isinstance(value, Collection) and all(map(callable, value)),
        "are functions of one argument, the event, in a list",
    ),
    "events": _Wanted(
        lambda value: value is None or isinstance(value, str) or callable(value),
        "is the address of a store, such as 'sqlite:///events.db', or a hook",
    ),
    "telemetry": _FLAG,
    "validate": _FLAG,
    "protocol": _Wanted(
        lambda value: value == "all" or (_NAMES.holds(value) and "*" not in value),
        "is 'all', or a collection of names of codes, such as ['UNAUTHORIZED']",
    ),
    "protocol_numbers": _Wanted(lambda value: _are(int, value), "is a collection of numbers, such as [-32042]"),
    "table": _Wanted(lambda value: isinstance(value, Table), "is a table, such as failwell.classify.table()"),
    "skip": _NAMES,
    "reads": _NAMES,
    "writes": _NAMES,
    "hold": _Wanted(
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < inf,
        "is a number of seconds, 0 or more",
    ),
    "show_text": _FLAG,
    "guard": _Wanted(lambda value: isinstance(value, Guard), "is a failwell.redact.Guard"),
    "wire": _Wanted(
        lambda value: isinstance(value, Mapping) and _are(str, value), "are options by name, such as {'carry': True}"
    ),
}


def demand(name: str, value: object) -> None:
    """Raise what is wrong with an option, whoever takes it."""
    wanted = _WANTED[name]
    if not wanted.holds(value):
        raise ValueError(f"{name} {wanted.words}, not {_shown(value)}.")


class Given(TypedDict, total=False):
    """The options as `install` takes them: the same, each by its name, for editors and type checkers."""

    format: str | Envelope
    client: str | None
    on_missing: OnMissing
    questions: Questions
    rules: Mapping[str, Sequence[Rule]]
    idempotency: bool | KeyStore
    publish: bool
    check_declared: bool
    max_output: int | None
    as_written: bool
    show_reference: bool
    logger: Any
    log_level: int | str
    hooks: Sequence[Callable[[Any], object]]
    events: Events | None
    telemetry: bool
    extra: Extra
    unknown_tool: UnknownTool
    validate: bool
    protocol: Collection[str] | Literal["all"]
    protocol_numbers: Collection[int]
    table: Table
    skip: Collection[str]
    reads: Collection[str]
    writes: Collection[str]
    unmarked: Unmarked
    hold: float
    show_text: bool
    guard: Guard
    wire: Mapping[str, Any]


def level_of(level: int | str) -> int:
    """The number of a level that is given by name or number."""
    known = logging.getLevelNamesMapping()
    if isinstance(level, int) and not isinstance(level, bool):
        return level
    if not isinstance(level, str) or level.upper() not in known:
        raise ValueError(f"There is no log_level {level!r}; use one of: DEBUG, INFO, WARNING, ERROR.")
    return known[level.upper()]


def _one_of(name: str, value: object, known: Collection[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"There is no {name} {value!r}; use one of: {', '.join(known)}.")


def _try_wire(format: str | Envelope, wire: Mapping[str, Any]) -> None:
    """Write one failure as each of them will be: what is wrong is found when the server is set up, not when one fails,
    and in the words of whoever knows it."""
    if taken := [name for name in wire if name in _OF_CALLS]:
        raise ValueError(f"wire has no option {taken[0]!r}: that is found out with each call.")
    form, settings = (format.form, format.settings) if isinstance(format, Envelope) else (format, {})
    try:
        to_result(ToolError(code="NOT_FOUND"), form, **{**wire, **settings})
    except (TypeError, AttributeError) as exc:
        raise ValueError(f"wire has a value that the format {form!r} cannot use: {exc}.") from exc
