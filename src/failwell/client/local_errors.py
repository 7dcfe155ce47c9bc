"""Why a call could not even be sent, or its answer not be waited for: the errors of the connection itself."""

from __future__ import annotations

from failwell.model import Kind, ToolError
from failwell.readers import read
from failwell.recovery import NEVER_SENT

from .connection import NotConnected


def too_late() -> ToolError:
    return ToolError("The server could not be reached in time.", code="TIMEOUT", **NEVER_SENT)


def not_listed() -> ToolError:
    return ToolError(
        "The server did not say whether the tool may still be called twice.", code="UNAVAILABLE", **NEVER_SENT
    )


def closed() -> ToolError:
    return ToolError("The client was closed before the call could be made.", kind=Kind.INTERNAL, **NEVER_SENT)


def not_connected(exc: NotConnected) -> ToolError:
    """Why there is no connection. Whatever it was, the call was never sent."""
    cause = exc.__cause__
    if cause is None:
        return ToolError("The connection to the server was closed.", code="NETWORK_ERROR", **NEVER_SENT)
    if isinstance(cause, OSError) and not isinstance(cause, (ConnectionError, TimeoutError)):
        return ToolError("The server could not be started.", code="NOT_CONFIGURED", cause=cause, **NEVER_SENT)
    outcome = read(cause, http=exc.seen.http, transport=True)
    if not isinstance(outcome, ToolError):
        return ToolError("The server cannot be reached.", code="UNAVAILABLE", **NEVER_SENT)
    if outcome.kind in (Kind.VALIDATION, Kind.INTERNAL, Kind.NOT_FOUND, Kind.CONFLICT):
        # Nothing is wrong with the arguments of a call that was never made.
        return ToolError(f"The server cannot be reached. {outcome.message}", code="NOT_CONFIGURED", **NEVER_SENT)
    return outcome.replace(**NEVER_SENT)
