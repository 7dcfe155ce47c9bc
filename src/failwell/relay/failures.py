"""What the relay itself has to say: a server that died, never started, or does not answer."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Unpack

from failwell.model import Effect, Fields, ToolError
from failwell.recovery import NEVER_SENT
from failwell.redact import DEFAULT, shorten, uncoloured

from .actions import Death
from .own_secrets import told_arguments
from .stack_traces import without_traces
from .states import REQUEST, Event, State, Step

_LONGEST_WORDS: Final = 300
_ENDED: Final = "what it had open, such as a login or a browser, is gone"
# Of a Python traceback the last line says what happened; of Node's the first ones that are no place in a file. Lines
# without a word are drawn, around exceptions that were raised together.
_PLACES: Final = re.compile(
    r"(?:at |File \"|\^+|~+|(?:\+ Exception Group )?Traceback |node:internal|Node\.js v|npm (?:error|ERR!)\s*$)|[\W_]*$"
    r"|\+(?:-\+)?-{4,} (?:\d+|\.{3}) -{4,}$"
)

_TELLING: Final = re.compile(r"(?i)\b(?:\w*error|\w*exception|failed|fatal|panic|cannot|denied|missing)\b.*\w")
_LAST: Final = 5
_LONGEST_COMMAND: Final = 200


def how(death: Death) -> str:
    """How a server ended, in a few words."""
    if death.problem:
        return death.problem
    if death.ended_for:
        return death.ended_for
    if death.code is None:
        return "it was not started"
    if death.code < 0:
        try:
            return f"signal {signal.Signals(-death.code).name}"
        except ValueError:
            return f"signal {-death.code}"
    return f"exit code {death.code}"


def last_words(errors: str, *, any_line: bool = True) -> str:
    """The line of a server's stderr that is likeliest to say why, as it may leave."""
    lines = [line.lstrip(" \t|").rstrip() for line in uncoloured(errors).splitlines()]
    lines = [line for line in lines if not _PLACES.match(line)][-_LAST:]
    telling = [line for line in lines if _TELLING.search(line)]
    words = (telling or (lines if any_line else []) or [""])[-1]
    return shorten(DEFAULT.text(words), _LONGEST_WORDS) if words else ""


def reason(death: Death) -> str:
    # Who was killed had no time to say why: its last line is about something else.
    words = last_words(death.errors, any_line=False)
    if not words and (death.code is None or death.code >= 0):
        # Any other line may be its last words, but not one that it said when it was started.
        words = last_words(death.errors if death.recent is None else death.recent)
    return f"{how(death)}: {words}" if words else how(death)


def stopped(death: Death, tool: str, step: Step) -> ToolError:
    """A call that was with the server when it ended, or on the way to it."""
    errors = str(without_traces(death.errors))
    said = [line.strip() for line in errors.splitlines() if line.strip()][-_LAST:]
    details = {"exit": how(death), **({"stderr": "\n".join(said)} if said else {})}
    if step.effect is Effect.NONE:
        message = f"The server stopped ({reason(death)}) before it was sent this call; {_ENDED}."
    else:
        message = f"the server stopped with {reason(death)}; {_ENDED}"
    return ToolError(message, code="UNAVAILABLE", tool=tool, details=details, **step.fields)


def not_back(death: Death, command: str, tool: str | None = None) -> ToolError:
    """A call that waited for a server which could not be started again."""
    message = f"The server does not start: {command} ended with {reason(death)}."
    if death.is_remote:
        message = f"The server cannot be reached: {reason(death)}."
    return ToolError(
        message, code="UNAVAILABLE", tool=tool, suggestion="Tell the user that the server has to be looked at.",
        **NEVER_SENT,
    )  # fmt: skip


def never_started(death: Death, command: str) -> str:
    """Why a server never started, in one line that names the command."""
    if death.is_remote:
        return unreached(reason(death), command)
    if death.problem:
        return f"cannot start {command}: {death.problem}"
    words = last_words(death.errors)
    said = f"; it said: {words}" if words else ""
    return f"{command} ended with {how(death)} before it answered{said}"


def command_line(words: Sequence[str]) -> str:
    """A command as it can be told: without arguments that may be secret."""
    return shorten(" ".join(told_arguments(words)), _LONGEST_COMMAND)


def unreached(problem: str, address: str) -> str:
    """Why a server behind an address cannot be used, in one line that names it."""
    return f"cannot use the server at {address}: {problem}"


def logged_out(error: ToolError, address: str) -> ToolError:
    """A refusal because of who asks: whoever runs the client has to log in again, and no model can."""
    return error.replace(
        message=f"{address} asks for a login, which is missing or has expired. {error.message}",
        suggestion=f"Ask the user to log in to {address} again; until then no call can work.",
        # The words are ours.
        origin="local",
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """What the relay says of one kind of failure, whichever tool it is of. What is cited begins in lower case."""

    message: str
    fields: Mapping[str, Any]

    def __call__(self, tool: str, **about: float) -> ToolError:
        seconds = f"{about['seconds']:g} second{'' if about['seconds'] == 1 else 's'}" if "seconds" in about else ""
        return ToolError(self.message.format(**{**about, "seconds": seconds}), tool=tool, **self.fields)


def _row(message: str, **fields: Unpack[Fields]) -> _Said:
    return _Said(message, fields)


_SENT: Final = REQUEST[State.SENT]
_QUEUED: Final = REQUEST[State.QUEUED]

timed_out = _row(
    "The server said nothing for {seconds}, and the call was cancelled.", code="TIMEOUT", **_SENT[Event.TIME_OUT].fields
)
too_large = _row(
    "the answer has {size:.0f} MB, more than the {limit:.0f} MB that are let through",
    code="RESPONSE_TOO_LARGE",
    kind="internal",
    **_SENT[Event.LOSE].fields,
)
cut_short = _row(
    "the relay was told to end before the answer came", code="UNAVAILABLE", **_SENT[Event.CUT_SHORT].fields
)
unreadable = _row(
    "the answer is a failure that cannot be read",
    code="INTERNAL_ERROR",
    origin="local",
    delivery="answered",
    effect=Effect.UNKNOWN,
)
not_there = _row(
    "The server has stopped, and was not there again after {seconds}; this call was not sent to it.",
    code="UNAVAILABLE",
    **_QUEUED[Event.TIME_OUT].fields,
)
crash_loop = _row(
    "The server ends whenever it is started; it is started again in {seconds}. This call was not sent to it.",
    code="UNAVAILABLE",
    **_QUEUED[Event.TIME_OUT].fields,
)
ending = _row(
    "The relay is about to end, and the call was not made.", code="UNAVAILABLE", **_QUEUED[Event.CUT_SHORT].fields
)

# Of idempotency keys.
no_key = _row(
    "The idempotency key of this call is no text of 1 to 255 characters.",
    code="INVALID_PARAMS",
    suggestion="Give this call a key such as a UUID, or none. It was not made.",
    **NEVER_SENT,
)
no_place_for_keys = _row(
    "The call was not made, because the store of its idempotency key cannot be reached.",
    code="UNAVAILABLE",
    retry_after=5,
    **NEVER_SENT,
)
too_deep_for_key = _row(
    "the arguments are nested too deeply to tell whether a call with this idempotency key was made before",
    code="INVALID_PARAMS",
    origin="local",
    effect=Effect.UNKNOWN,
)
too_deep = _row(
    "The arguments are nested too deeply to be looked at; the call was not made.", code="VALIDATION_ERROR", **NEVER_SENT
)
# The same of a key that may have been used before, behind another relay: what became of that call cannot be looked up.
no_look_at_keys = _row(
    "whether an earlier call with this idempotency key was made cannot be looked up at present",
    code="UNAVAILABLE",
    retry_after=5,
    origin="local",
    effect=Effect.UNKNOWN,
)
key_reused = _row(
    "The idempotency key was used for another call: another tool, or other arguments.",
    code="IDEMPOTENCY_CONFLICT",
    suggestion="Give this call a key of its own. It was not made.",
    **NEVER_SENT,
)
key_unfinished = _row(
    "the first call with this idempotency key has begun, and nobody saw its end",
    code="IDEMPOTENCY_UNFINISHED",
    origin="local",
    effect=Effect.UNKNOWN,
)
key_done = _row(
    "the first call with this idempotency key was answered, and the answer was too large to be kept",
    code="IDEMPOTENCY_UNFINISHED",
    origin="local",
    effect=Effect.DONE,
)
