"""`Envelope`: contract 003 as the form of a whole server."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from failwell.formats import MODES, build_meta, envelope

log = logging.getLogger("failwell.server")


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
