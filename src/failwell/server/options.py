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

Questions = Literal["ask", "missing", "result"]

PROTOCOL_NUMBERS: Final = frozenset({-32020, -32021, -32022, -32042})
"""MCPErrors of tools that stay protocol errors: wrong headers, a missing capability, an unknown version, a page to
visit. They are between client and server, and tell a model nothing."""

_LEAST_OUTPUT: Final = 200
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
        build_meta({}, **self.settings(ask=False))

    def settings(self, *, ask: bool = True) -> dict[str, Any]:
        """The settings as they are at this moment. What is not to be asked, or cannot say, is at its most careful."""
        held: dict[str, Any] = {"profile": self.profile, "mode": self.mode, "approval_mode": self.approval_mode}
        for name, known, careful in (("mode", MODES, MODES[-1]), ("approval_mode", (True, False), True)):
            if not callable(setting := held[name]):
                continue
            held[name] = careful
            try:
                if ask and type(now := setting()) is type(careful) and now in known:
                    held[name] = now
            except Exception:
                log.warning("The server could not say in which mode it is.", exc_info=True)
        return held


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
        format (002) forbids them. The others are ignored, and named in the `_meta` of the result. "reject" refuses all.
        False turns the checks of Failwell off.
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
    validate: bool | Literal["reject"] = True
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
        return "reject" if self.validate == "reject" or FORMATS[self.form].closed else "auto"

    def __post_init__(self) -> None:
        for name in _WANTED:
            check_option(name, getattr(self, name))
        choices: dict[str, Collection[object]] = {
            "format": FORMATS,
            "questions": get_args(Questions),
            "unmarked": get_args(Unmarked),
            "validate": (True, False, "reject"),
        }
        for name, known in choices.items():
            chosen = getattr(self, name)
            if not isinstance(chosen, Envelope) and (not isinstance(chosen, (str, bool)) or chosen not in known):
                raise ValueError(f"There is no {name} {chosen!r}; use one of: {', '.join(map(str, known))}.")
        for name in self.wire:
            if name in _OF_CALLS:
                raise ValueError(f"wire has no option {name!r}: that is found out with each call.")
            if name in WIRE_OPTIONS:
                check_option(name, self.wire[name], WIRE_OPTIONS[name], "wire: ")
        if not (chosen := {name: value for name, value in self.wire.items() if name not in WIRE_OPTIONS}):
            return
        settings = self.format.settings(ask=False) if isinstance(self.format, Envelope) else {}
        try:
            # One failure is written as each of them will be, so that whoever knows the options finds what is wrong.
            to_result(ToolError(code="NOT_FOUND"), self.form, **{**chosen, **settings})
        except (TypeError, AttributeError) as exc:
            raise ValueError(f"wire has a value that the format {self.form!r} cannot use: {exc}.") from exc


class Given(TypedDict, total=False):
    """The options as `install` takes them: the same, each by its name, for editors and type checkers."""

    format: str | Envelope
    wire: Mapping[str, Any]
    questions: Questions
    validate: bool | Literal["reject"]
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


def _are_names(value: object) -> bool:
    # A text is a collection of texts, and never meant as one.
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(each, str) for each in value)


def _are_hooks(value: object) -> bool:
    is_list = isinstance(value, Collection) and not isinstance(value, str)
    return is_list and all(callable(each) or isinstance(each, str) for each in value)  # type: ignore[attr-defined]


_Wanted = tuple[Callable[[Any], bool], str]
_NAMES: Final = (_are_names, "is a collection of names, such as ['search']")
_FLAG: Final = (lambda value: isinstance(value, bool), "is True or False")
# What an option has to be, and how that is said. Of codes the type alone: an author's own may be declared later.
_WANTED: Final[dict[str, _Wanted]] = {
    "wire": (
        lambda value: isinstance(value, Mapping) and _are_names(value.keys()),
        "is options by name, such as {'carry': True}",
    ),
    "reads": _NAMES,
    "writes": _NAMES,
    "hold": (
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < inf,
        "is a number of seconds, 0 or more",
    ),
    "show_text": _FLAG,
    "guard": (lambda value: isinstance(value, Guard), "is a failwell.redact.Guard"),
    "table": (lambda value: isinstance(value, Table), "is a table, such as failwell.classify.table()"),
    "logger": (
        lambda value: value is None or hasattr(value, "log") or hasattr(value, "bind"),
        "is a logger of logging or structlog",
    ),
    "hooks": (
        _are_hooks,
        "is a list of functions of one argument, the event, or of addresses such as 'sqlite:///events.db'",
    ),
    "idempotency": (
        lambda value: isinstance(value, (bool, KeyStore)),
        "is True, or a store of keys, such as open_store('keys.db')",
    ),
}
WIRE_OPTIONS: Final[dict[str, _Wanted]] = {
    "client": (
        lambda value: value is None or isinstance(value, str),
        "is 'auto', a name such as 'claude-code/2.1', or None",
    ),
    "protocol": (
        lambda value: value == "all" or (_are_names(value) and "*" not in value),
        "is 'all', or a collection of codes, such as ['UNAUTHORIZED']",
    ),
    "as_written": _FLAG,
    "max_output": (
        lambda value: value is None or (isinstance(value, int) and value >= _LEAST_OUTPUT),
        f"is a number of characters, at least {_LEAST_OUTPUT}",
    ),
}
"""Options of a server's `wire` that `to_result` does not have, or knows by the call."""
# Options of `to_result` that no server has: what it says there, it knows of the call.
_OF_CALLS: Final = frozenset({"era", "output_schema", "guard", "words"})


def check_option(name: str, value: object, wanted: _Wanted | None = None, where: str = "") -> None:
    """Raise what is wrong with an option, whoever takes it."""
    holds, words = wanted or _WANTED[name]
    if not holds(value):
        shown = repr(value)[:_LONGEST] if isinstance(value, (str, int, float)) else type(value).__name__
        raise ValueError(f"{where}{name} {words}, not {shown}.")
