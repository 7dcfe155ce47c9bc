"""What the protocol wants done, and what it is told: plain values, so that nothing in between needs a process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from .frames import LONGEST

if TYPE_CHECKING:
    from failwell.idempotency import KeyStore
    from failwell.model import Policy, Unmarked
    from failwell.observe import EventKeeper, Hook, Names
    from failwell.recovery import Hold

    from .rules import Rules


class ToClient(NamedTuple):
    """Send this to the client."""

    frame: bytes


class ToServer(NamedTuple):
    """Send this to the server."""

    frame: bytes
    request: object = None
    """What it is the request of: whoever sends tells, when the server dies, which of them were never written."""


class Start(NamedTuple):
    """Start the server."""


class StopServer(NamedTuple):
    """End the server; it is told as dead when it is."""

    why: str = ""


class Quit(NamedTuple):
    """End everything, with this exit code."""

    code: int
    line: str = ""
    """What to say on stderr."""


class Prepare(NamedTuple):
    """Load what calls will need, while nobody waits for an answer."""


class Note(NamedTuple):
    """A line for the log."""

    line: str
    loud: bool = False
    """Whether it is said even where nobody asked for a log."""
    is_of_server: bool = False
    """Whether the server wrote it to stderr."""


Action = ToClient | ToServer | Start | StopServer | Quit | Prepare | Note


@dataclass(frozen=True, slots=True)
class Death:
    """How a server ended.

    code: its exit code; below zero the signal that ended it; None if it was never started.
    errors: the end of what it said on stderr.
    unwritten: the requests of which not one byte was written to it.
    """

    code: int | None
    errors: str = ""
    unwritten: tuple[object, ...] = ()
    recent: str | None = None
    """What of that it said since it was last sent a request; None if nobody knows."""
    problem: str = ""
    """Why it could not be started at all."""
    ended_for: str = ""
    """Why the relay itself has ended it."""
    is_remote: bool = False
    """Whether it is a server behind an address, of which only the connection has ended."""


# That of `failwell.recovery`, which is imported when the first call needs it.
HOLD: Final = 300.0
"""For how many seconds a write in doubt is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayOptions:
    """How a server is wrapped.

    format: the form of a failure.
    validate: `auto` holds arguments against the tool's schema where they are sure to fail, `on` always, `off` never.
    reads, writes: names of tools that only read, or that change something, with `*` for anything. unmarked: "write"
        puts tools of which nothing tells what they are under the strong rules of writes. trusted: whether what a tool
        says of itself counts. hold: for how many seconds a write in doubt is not run again.
    timeout: how many seconds a call may take without a word from the server; None for no limit.
    policy: how patient the engine is; None for as long as clients wait.
    rules: what the operator says about this server's failures. keys: where idempotency keys are kept.
    remote: whether the server is behind an address, so that it is not ours to start. caller: who calls, where that is
        known beside the name of the client's program: keys belong to whoever made them.
    hooks: told of each call that has ended, by a `failwell.observe.CallEvent`.
    shared_hold: what a login has in doubt behind all relays in front of the same server, where there are others.
    events: the store that keeps them, if one does. names: by what calls are known to it.
    env: the variables that the server is given. What is secret in them is masked wherever it turns up in a failure.
        headers, url: what a server behind an address is sent, and where; the same holds for these. words: the command
        as it is started, in which an argument may have blanks; the same holds for it.
    """

    command: str = "the server"
    format: str = "text"
    validate: str = "auto"
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    unmarked: Unmarked = "as is"
    hold: float = HOLD
    trusted: bool = True
    timeout: float | None = None
    longest: int = LONGEST
    policy: Policy | None = None
    rules: Rules | None = None
    keys: KeyStore | None = None
    hooks: tuple[Hook, ...] = ()
    shared_hold: Hold | None = None
    remote: bool = False
    caller: str = ""
    events: EventKeeper | None = None
    names: Names | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    words: tuple[str, ...] = ()
