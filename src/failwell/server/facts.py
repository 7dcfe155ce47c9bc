"""What is known of a tool and of a failure of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from failwell.classify import is_order
from failwell.formats import Outcome

URL_ELICITATION: Final = -32042


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says about one of its tools."""

    name: str
    schema: Mapping[str, Any] | None = None
    structured: bool = False
    read_only: bool = False
    idempotent: bool = False
    action: str | None = None
    """Which action of a grouped tool was called."""
    function: Any = None
    """What stands behind it, where that is known."""

    @classmethod
    def of(
        cls,
        name: str,
        schema: Any,
        structured: bool,
        annotations: Any,
        action: str | None = None,
        function: Any = None,
    ) -> Facts:
        return cls(
            name,
            schema if isinstance(schema, Mapping) else None,
            structured,
            bool(getattr(annotations, "read_only_hint", False)),
            bool(getattr(annotations, "idempotent_hint", False)),
            action,
            function,
        )

    @property
    def label(self) -> str:
        return self.name if self.action is None else f"{self.name}/{self.action}"


class Abandoned(Exception):
    """Something that a tool waited for was cancelled, though the call itself was not."""


def taken(exc: BaseException) -> BaseException:
    """`exc` as a failure. An order to stop is raised again; a cancellation is one if this call is what is cancelled."""
    if isinstance(exc, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            return Abandoned()
    if is_order(exc):
        raise exc
    return exc


class BrokenResult(Exception):
    """A tool ran to its end and returned what its output schema does not allow."""


class Failed(NamedTuple):
    """A failure that has been read: what it means, which tool it is of, and what was raised."""

    outcome: Outcome
    tool: Facts
    raised: BaseException
