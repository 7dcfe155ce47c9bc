"""What a server author can choose."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, Final, Literal, TypedDict, get_args

from failwell.formats import FORMATS, MODES, build_meta, envelope, to_result
from failwell.idempotency import KeyStore
from failwell.model import ToolError, Unmarked
from failwell.observe import Events
from failwell.readers import DEFAULT as ROWS
from failwell.readers import Table
from failwell.recovery import SECONDS
from failwell.redact import DEFAULT as GUARD
from failwell.redact import Guard

log = logging.getLogger("failwell.server")

Validate = Literal["reject", "warn", "allow"]
Questions = Literal["ask", "missing", "result"]

PROTOCOL_NUMBERS: Final = frozenset({-32020, -32021, -32022, -32042})
"""MCPErrors of tools that stay protocol errors: wrong headers, a missing capability, an unknown version, a page to
visit. They are between client and server, and tell a model nothing."""

MIN_OUTPUT: Final = 200
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Contract 003 for a whole server: successes and failures in one envelope.

    The `workflow` profile has `mode` and `approval_mode`, in every answer; they may be callables, for a server whose
    mode changes while it runs. The `api` profile has neither, ever.
    """

    profile: Literal["api", "workflow"] = "api"
    mode: str | Callable[[], str] | None = None
    approval_mode: bool | Callable[[], bool] | None = None
    strict: bool = False
    form: ClassVar[str] = envelope.FORMAT.name

    def __post_init__(self) -> None:
        # Wrong settings are found when the server is set up, not when a call fails.
        build_meta({}, **self.settings)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings without asking anybody: what may change is at its most careful."""
        mode, approval = self.mode, self.approval_mode
        return {
            "profile": self.profile,
            "mode": MODES[-1] if callable(mode) else mode,
            "approval_mode": True if callable(approval) else approval,
        }

    def now(self) -> dict[str, Any]:
        """The settings as they are at this moment."""
        if self.profile == "api":
            return {"profile": "api"}
        mode, approval = _asked(self.mode), _asked(self.approval_mode)
        return {
            "profile": self.profile,
            # Who cannot say in which mode they are is in the careful one.
            "mode": mode if mode in MODES else MODES[-1],
            "approval_mode": approval if isinstance(approval, bool) else True,
        }


def _asked(setting: object) -> object:
    try:
        return setting() if callable(setting) else setting
    except Exception:
        log.warning("The server could not say in which mode it is.", exc_info=True)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How failures leave a server.

    format: the form of the failure, the name of one of the formats, or an `Envelope`, which successes are put in too. A
        client that asks for another one by negotiation gets that.
    wire: how the answers are written, by name.
        `gate`, `carry`, `meta`, `prefix`, and the options of the format: as `failwell.to_result` takes them.
        `client`: for whom, as `name/version`, since clients show their models different parts of an answer. `"auto"` is
        the client that calls, None is nobody in particular.
        `protocol`: codes that leave as JSON-RPC errors instead of results, such as `["UNKNOWN_TOOL"]`; "all" for every
        failure, as contract 004 has it.
        `as_written`: the message of an author's own error leaves as they wrote it, in the formats whose message is all
        that a model reads (`typed`, `v1`, `envelope`). Of a call that may have been done it always says so.
        `max_output`: how many characters a successful result may have; longer ones are cut, and say so.
    questions: a `NeedsInput` is put to the user where the client can ask ("ask"), and so are missing required arguments
        ("missing"); or both are the result of the call whoever calls ("result"), as contract 001 has it.
    validate: arguments and results are held against the listed schemas where the framework does not do so. Of arguments
        that the tool does not have, True refuses those that hide a mistake: on a tool that changes things, near a
        missing argument, where the name promises restraint (`dry_run`), and where the schema or the contract of the
        format (002) forbids them. The others are ignored, and named in the `_meta` of the result. "reject" refuses all,
        "warn" ignores them with a warning, "allow" ignores them. False turns the checks of Failwell off.
    reads: names of tools that only read, with `*` for anything: `["get_*"]`.
    writes: names of tools that change something, where their annotations and names do not say so.
    unmarked: what holds for tools of which neither annotations nor names nor these lists tell what they are: "as is",
        the advice of the failure's cause, or "write", the strong rules of writes.
    hold: for how many seconds an identical call of a write that may have been done already is not run again, unless
        the agent has looked; 0 turns it off.
    show_text: send the text of any exception, as FastMCP does by itself and `mcp` 2 does not.
    guard: what must not leave.
    table: rows of your own, asked before the shared ones (`failwell.classify.table()`).
    logger: where failures are written, a logger of `logging` or of structlog; "failwell.server" unless given.
    hooks: called with a `failwell.observe.CallEvent` after every call; the address of a store, such as
        `sqlite:///events.db`, keeps the events there.
    idempotency: whether a call with an idempotency key is done once, however often it is made: True keeps the keys in
        memory, a store such as `open_store("keys.db")` where you say.
    """

    format: str | Envelope = "text"
    wire: Mapping[str, Any] = field(default_factory=dict)
    questions: Questions = "ask"
    validate: bool | Validate = True
    reads: Collection[str] = ()
    writes: Collection[str] = ()
    unmarked: Unmarked = "as is"
    hold: float = SECONDS
    show_text: bool = False
    guard: Guard = GUARD
    table: Table = ROWS
    logger: Any = None
    hooks: Sequence[Events] = ()
    idempotency: bool | KeyStore = False

    @property
    def form(self) -> str:
        """The name of the format."""
        return self.format.form if isinstance(self.format, Envelope) else self.format

    @property
    def extra(self) -> str:
        """What becomes of arguments that a tool does not have; "auto" depends on the tool and the argument."""
        if isinstance(self.validate, str):
            return self.validate
        return "reject" if FORMATS[self.form].closed else "auto"

    def __post_init__(self) -> None:
        for name in _WANTED:
            demand(name, getattr(self, name))
        if not isinstance(self.format, Envelope):
            _one_of("format", self.format, FORMATS)
        _one_of("questions", self.questions, get_args(Questions))
        _one_of("unmarked", self.unmarked, get_args(Unmarked))
        if not isinstance(self.validate, bool):
            _one_of("validate", self.validate, get_args(Validate))
        if self.wire:
            self._try_wire()

    def _try_wire(self) -> None:
        """Write one failure as each of them will be: what is wrong is found when the server is set up, not when one
        fails, and in the words of whoever knows it."""
        if taken := [name for name in self.wire if name in _OF_CALLS]:
            raise ValueError(f"wire has no option {taken[0]!r}: that is found out with each call.")
        for name, wanted in _WANTED_OF_WIRE.items():
            if name in self.wire:
                demand(name, self.wire[name], wanted, "wire: ")
        chosen = {name: value for name, value in self.wire.items() if name not in _WANTED_OF_WIRE}
        settings = self.format.settings if isinstance(self.format, Envelope) else {}
        try:
            to_result(ToolError(code="NOT_FOUND"), self.form, **{**chosen, **settings})
        except (TypeError, AttributeError) as exc:
            raise ValueError(f"wire has a value that the format {self.form!r} cannot use: {exc}.") from exc


class Given(TypedDict, total=False):
    """The options as `install` takes them: the same, each by its name, for editors and type checkers."""

    format: str | Envelope
    wire: Mapping[str, Any]
    questions: Questions
    validate: bool | Validate
    reads: Collection[str]
    writes: Collection[str]
    unmarked: Unmarked
    hold: float
    show_text: bool
    guard: Guard
    table: Table
    logger: Any
    hooks: Sequence[Events]
    idempotency: bool | KeyStore


def _are(kind: type, values: object) -> bool:
    # A text is a collection of texts, and never meant as one.
    return isinstance(values, Collection) and not isinstance(values, str) and all(isinstance(v, kind) for v in values)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _are_names(value: object) -> bool:
    return _are(str, value)


_Wanted = tuple[Callable[[Any], bool], str]
# What an option has to be, and how that is said. Of codes the type alone: an author's own may be declared later.
_WANTED: Final[dict[str, _Wanted]] = {
    "wire": (
        lambda value: isinstance(value, Mapping) and _are(str, value),
        "is options by name, such as {'carry': True}",
    ),
    "reads": (_are_names, "is a collection of names, such as ['search']"),
    "writes": (_are_names, "is a collection of names, such as ['search']"),
    "hold": (
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < inf,
        "is a number of seconds, 0 or more",
    ),
    "show_text": (_is_flag, "is True or False"),
    "guard": (lambda value: isinstance(value, Guard), "is a failwell.redact.Guard"),
    "table": (
        lambda value: isinstance(value, Table),
        "is a table, such as failwell.classify.table()",
    ),
    "logger": (
        lambda value: value is None or hasattr(value, "log") or hasattr(value, "bind"),
        "is a logger of logging or structlog",
    ),
    "hooks": (
        lambda value: (
            isinstance(value, Collection)
            and not isinstance(value, str)
            and all(callable(each) or isinstance(each, str) for each in value)
        ),
        "is a list of functions of one argument, the event, or of addresses such as 'sqlite:///events.db'",
    ),
    "idempotency": (
        lambda value: isinstance(value, (bool, KeyStore)),
        "is True, or a store of keys, such as open_store('keys.db')",
    ),
}
_WANTED_OF_WIRE: Final[dict[str, _Wanted]] = {
    "client": (
        lambda value: value is None or isinstance(value, str),
        "is 'auto', a name such as 'claude-code/2.1', or None",
    ),
    "protocol": (
        lambda value: value == "all" or (_are_names(value) and "*" not in value),
        "is 'all', or a collection of codes, such as ['UNAUTHORIZED']",
    ),
    "as_written": (_is_flag, "is True or False"),
    "max_output": (
        lambda value: value is None or (isinstance(value, int) and value >= MIN_OUTPUT),
        f"is a number of characters, at least {MIN_OUTPUT}",
    ),
}
# Options of `to_result` that no server has: what it says there, it knows of the call.
_OF_CALLS: Final = frozenset({"era", "output_schema", "guard", "words"})


def demand(name: str, value: object, wanted: _Wanted | None = None, where: str = "") -> None:
    """Raise what is wrong with an option, whoever takes it."""
    holds, words = wanted or _WANTED[name]
    if not holds(value):
        shown = repr(value)[:_LONGEST] if isinstance(value, (str, int, float)) else type(value).__name__
        raise ValueError(f"{where}{name} {words}, not {shown}.")


def _one_of(name: str, value: object, known: Collection[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"There is no {name} {value!r}; use one of: {', '.join(known)}.")
