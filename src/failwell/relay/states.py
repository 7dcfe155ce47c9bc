"""The two tables that the relay runs by: what becomes of a request, and what becomes of the server.

An event that a table does not have for a state cannot happen there. The effect says what the request may have changed
when nobody says more: only one that was with the server may have changed anything.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, NamedTuple

from failwell.model import Effect


class State(StrEnum):
    """Where a request of the client is."""

    NEW = "new"
    LISTING = "listing"
    """It waits until the tools are known."""
    QUEUED = "queued"
    """It waits for the server to be there."""
    SENT = "sent"
    WAITING = "waiting"
    """It waits for its time to be sent again, or until the tools are listed anew."""
    JOINED = "joined"
    """It waits for the answer to another call with the same idempotency key."""
    SETTLING = "settling"
    """An attempt has ended: it is sent again, or told."""
    CANCELLED = "cancelled"
    """The client gave it up while the server had it."""
    DONE = "done"


class Event(StrEnum):
    """What happens to a request."""

    LIST = "list"
    QUEUE = "queue"
    SEND = "send"
    WAIT = "wait"
    JOIN = "join"
    ANSWER = "answer"
    DROP = "drop"
    """The server ended before one byte of it was written."""
    LOSE = "lose"
    """The server or the connection ended, or the answer cannot be read."""
    TIME_OUT = "time out"
    CUT_SHORT = "cut short"
    """The relay ends."""
    CANCEL = "cancel"
    END = "end"
    """The client is told."""


class Step(NamedTuple):
    """What follows from an event: the next state, and what the transport knows of the effect."""

    to: State
    delivery: str | None = None
    effect: Effect | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The same as fields of an error that the relay itself reports."""
        told = {"delivery": self.delivery, "effect": self.effect}
        return {"origin": "local", **{name: value for name, value in told.items() if value is not None}}


_NOT_SENT: Final = Step(State.DONE, "never_sent", Effect.NONE)
_LOST: Final = Step(State.SETTLING, "unanswered", Effect.UNKNOWN)
_ON_THE_WAY: Final = {
    Event.LIST: Step(State.LISTING),
    Event.QUEUE: Step(State.QUEUED),
    Event.SEND: Step(State.SENT),
    Event.WAIT: Step(State.WAITING),
    Event.JOIN: Step(State.JOINED),
    Event.TIME_OUT: _NOT_SENT,
    Event.CUT_SHORT: _NOT_SENT,
    Event.CANCEL: _NOT_SENT,
    Event.END: _NOT_SENT,
}
REQUEST: Final[dict[State, dict[Event, Step]]] = {
    **dict.fromkeys((State.NEW, State.LISTING, State.QUEUED, State.WAITING, State.JOINED), _ON_THE_WAY),
    State.SENT: {
        Event.ANSWER: Step(State.SETTLING, "answered"),
        Event.DROP: Step(State.SETTLING, "never_sent", Effect.NONE),
        Event.LOSE: _LOST,
        Event.TIME_OUT: _LOST,
        Event.CUT_SHORT: _LOST,
        Event.CANCEL: Step(State.CANCELLED, "unanswered", Effect.UNKNOWN),
    },
    State.SETTLING: {
        Event.LIST: Step(State.LISTING),
        Event.QUEUE: Step(State.QUEUED),
        Event.SEND: Step(State.SENT),
        Event.WAIT: Step(State.WAITING),
        Event.END: Step(State.DONE),
    },
    State.CANCELLED: {
        Event.ANSWER: Step(State.DONE, "answered"),
        Event.DROP: _NOT_SENT,
        Event.LOSE: Step(State.DONE, "unanswered", Effect.UNKNOWN),
        Event.TIME_OUT: Step(State.DONE, "unanswered", Effect.UNKNOWN),
        Event.CUT_SHORT: Step(State.DONE, "unanswered", Effect.UNKNOWN),
    },
    State.DONE: {},
}


class ServerState(StrEnum):
    """Whether there is a server."""

    OFF = "off"
    STARTING = "starting"
    UP = "up"
    DOWN = "down"
    PAUSING = "pausing"
    """It ended soon after it was started, and is started again a little later."""
    FAILED = "failed"
    """It never answered anything."""


class ServerChange(StrEnum):
    """What happens to the server."""

    START = "start"
    GREETED = "greeted"
    """Its process runs, and it knows the session."""
    DIED = "died"
    NEVER_ANSWERED = "never answered"
    PAUSE = "pause"
    FORGOT = "forgot"
    """It has forgotten the session."""


_RUNNING: Final = {
    ServerChange.DIED: ServerState.DOWN,
    ServerChange.NEVER_ANSWERED: ServerState.FAILED,
}
SERVER: Final[dict[ServerState, dict[ServerChange, ServerState]]] = {
    ServerState.OFF: {ServerChange.START: ServerState.STARTING},
    ServerState.STARTING: {ServerChange.GREETED: ServerState.UP, **_RUNNING},
    ServerState.UP: {ServerChange.FORGOT: ServerState.STARTING, **_RUNNING},
    ServerState.DOWN: {
        ServerChange.PAUSE: ServerState.PAUSING,
        ServerChange.START: ServerState.STARTING,
        ServerChange.DIED: ServerState.DOWN,
    },
    ServerState.PAUSING: {ServerChange.START: ServerState.STARTING, ServerChange.DIED: ServerState.DOWN},
    ServerState.FAILED: {
        ServerChange.DIED: ServerState.FAILED,
        ServerChange.NEVER_ANSWERED: ServerState.FAILED,
    },
}
