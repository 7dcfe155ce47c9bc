"""What the boundary needs of a framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .facts import Facts, Failed


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class FrameworkCall:
    """One call of a tool, as the framework that runs it knows it. Each adapter makes one and hands it to the boundary,
    which knows no framework."""

    run: Callable[[dict[str, Any]], Awaitable[Any]]
    """Runs the tool with these arguments."""
    read: Callable[[BaseException], Failed | Awaitable[Failed]]
    """Reads what the run raised; it raises what is no failure of the tool."""
    facts: Callable[[], Facts | Awaitable[Facts]]
    """Says what the tool is. Asked only where somebody needs to know: most calls work."""
    opened: Callable[[Any], Any] = _same
    """The framework's result as the SDK's; None for what is no result of a tool."""
    closed: Callable[[Any], Any] = _same
    """The SDK's result as the framework's."""
