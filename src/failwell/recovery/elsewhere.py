"""What others know of the same session, where several relays stand in front of one server."""

from __future__ import annotations

from typing import Protocol

from failwell.model import Effect, Kind, ToolError


class Elsewhere(Protocol):
    """Told what happens here, and asked what happened there. Neither waits for anybody."""

    def spent(self) -> float:
        """How much of the session's budget others have spent."""

    def failed(self, call: str) -> tuple[str, int] | None:
        """In which way a call failed at others, and how often, if it did so lately."""

    def tell_spent(self, amount: float) -> None: ...

    def tell_failed(self, call: str, way: str, times: int, seconds: float) -> None:
        """A call failed here so often in this way, which counts for so many seconds."""

    def tell_worked(self, call: str | None) -> None:
        """A call worked; without one, something was done after which any may work."""


def way_of(error: ToolError) -> str:
    """How a call failed, as far as it is compared: nothing that was sent or said."""
    effect = error.effect.value if error.effect is not None else ""
    return f"{error.kind.value}:{effect}:{error.code or ''}"


def failure_of(way: str) -> ToolError:
    """A failure that only others have seen."""
    kind, _, rest = way.partition(":")
    effect, _, code = rest.partition(":")
    return ToolError(
        "Another relay in front of this server was told so",
        kind=Kind(kind),
        code=code or None,
        effect=Effect(effect) if effect else None,
    )
