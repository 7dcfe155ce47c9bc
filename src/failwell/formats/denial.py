"""`denial`: authorization denials as SEP-2643 drafts them for MCP. Experimental: it may change or go with the draft.

It travels in the `_meta` of a result, next to a text that carries the message. That it is there means that nothing was
done, and that the same call is not made again before something has changed: it says whether anything can, and who has
to do what. Whoever makes the call again sends the context id back, in the `_meta` of the request under `CONTEXT_KEY`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from failwell.model import Effect, Json, Kind, Strategy, ToolError, plain

from .wire import build

META_KEY: Final = "io.modelcontextprotocol/authorization"
CONTEXT_KEY: Final = "io.modelcontextprotocol/authorization-context-id"

_REASON: Final = "insufficient_authorization"
_CONTEXT: Final = "authorizationContextId"
_HINTS: Final = "remediationHints"
_REMEDIATION: Final = "remediation"

# What the draft says to do about a denial, by whether there is a way forward, and by the hints that name one.
_ADVICE: Final = {
    "available": "Ask the user to get the access that is missing first.",
    "undisclosed": "Ask the user, or whoever runs the server, how to get access.",
    "unavailable": "Tell the user that there is no way to get access to this.",
}
_STEPS: Final = {
    "url": "Ask the user to approve it on the page that came with the answer, then make the call again.",
    "task": "Somebody else decides about it: follow the task that came with the answer.",
    "authorization_remediation": "Get a new credential for the authorization details in the answer, then call again.",
}
_MOST_HINTS: Final = 20
_LONGEST: Final = 500


def dump(error: ToolError) -> dict[str, Json] | None:
    """The draft's object; None for an error that is no denial, or after which something may have been done.

    >>> dump(ToolError("You may not see this.", code="FORBIDDEN"))
    {'reason': 'insufficient_authorization', 'remediation': 'undisclosed'}
    """
    # What was read out of somebody's words is a denial by its looks only: it does not prove that nothing was done.
    guessed = error.legacy and "effect" not in error._given
    if error.kind is not Kind.PERMISSION or error.effect is not Effect.NONE or guessed:
        return None
    details = error.details
    told = details.get(_REMEDIATION)
    hints = _hints(details.get(_HINTS))
    if told not in _ADVICE:
        told = "unavailable" if error.strategy is Strategy.ABORT else "available" if hints else "undisclosed"
    wire: dict[str, Json] = {"reason": _short(details.get("reason")) or _REASON, _REMEDIATION: told}
    if context := _short(details.get(_CONTEXT)):
        wire[_CONTEXT] = context
    if hints and told == "available":
        wire[_HINTS] = [*hints]
    return wire


def load(data: object, message: str = "") -> ToolError | None:
    """The denial in the object under `META_KEY`; None for anything that is none. `message` is the result's own text.

    >>> error = load({"reason": "insufficient_authorization", "remediation": "unavailable"}, "Not for you.")
    >>> error.code, error.strategy.value, error.effect.value
    ('FORBIDDEN', 'report_and_abort', 'none')
    """
    found = _read(data)
    if found is None:
        return None
    reason, told = _short(found.get("reason")), found.get(_REMEDIATION)
    if reason is None or not isinstance(told, str) or told not in _ADVICE:
        return None
    notes: list[str] = []
    hints = _hints(found.get(_HINTS))
    if hints and told != "available":
        notes.append(f"The peer gave hints, which the remediation {told} rules out.")
        hints = []
    # A hint of a type that is not known is kept, and says nothing.
    steps = list(dict.fromkeys(step for hint in hints if (step := _STEPS.get(hint["type"])))) or [_ADVICE[told]]
    details: dict[str, Json] = {"reason": reason, _REMEDIATION: told}
    if context := _short(found.get(_CONTEXT)):
        details[_CONTEXT] = context
    if hints:
        details[_HINTS] = [*hints]
    fields = {
        "code": "FORBIDDEN",
        "effect": Effect.NONE,
        "strategy": Strategy.ABORT if told == "unavailable" else Strategy.USER_ACTION,
        "suggestion": steps[0],
        "next_steps": steps[1:],
        "details": details,
    }
    said = message.strip() if isinstance(message, str) else ""
    return build("denial", said or f"The call was refused: {reason.replace('_', ' ')}.", fields, notes=notes)


def _read(data: object) -> dict[str, Any] | None:
    try:
        found = plain(data) if isinstance(data, Mapping) else None
    except Exception:
        # Some objects break when they are looked at.
        return None
    return found if isinstance(found, dict) else None


def _hints(value: object) -> list[dict[str, Any]]:
    """The hints that have a type, as the draft wants of all of them."""
    items = value if isinstance(value, (list, tuple)) else []
    return [dict(item) for item in items[:_MOST_HINTS] if isinstance(item, Mapping) and _short(item.get("type"))]


def _short(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _LONGEST else None
