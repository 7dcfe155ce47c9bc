"""The error texts that servers send, read into ToolErrors: exact shapes first, then what the words say.

A text is unwrapped (`wraps`), looked at by one small parser for each well-known shape (`shapes`), and if none knows it,
by rules over its words (`words`). Whether it is an error at all, where nobody said so, is decided in `announcing`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from failwell.model import ToolError


def from_text(text: str, *, is_error: bool | None = None, number: int | None = None) -> ToolError | None:
    """What an error text means; None for a text that is no error.

    `is_error` is what the result says about itself: unless it is True, only a text that shows plainly that it is an
    error counts as one. `number` is the code of a JSON-RPC error; it decides only where the text says nothing.

    >>> error = from_text("MCP error -32603: Failed to draw: Request failed with status code 429")
    >>> error.code, error.message, error.http_status
    ('RATE_LIMITED', 'Failed to draw: Request failed with status code 429', 429)
    >>> from_text("3 files were written.") is None
    True
    """
    return _reader()(text, is_error, number)


@cache
def _reader() -> Callable[[str, bool | None, int | None], ToolError | None]:
    # The tables are large, and most programs never read a foreign text.
    from .reader import read

    return read


def from_paste(text: str) -> ToolError | None:
    """What a text means to whoever pasted it and asks; None for one that tells of no failure.

    What nobody called an error, and what does not call itself one, is believed less.

    >>> from_paste("Transport closed").code, from_paste("All 12 checks passed.") is None
    ('NETWORK_ERROR', True)
    """
    from .announcements import is_report
    from .clues import GUESSED

    found = from_text(text)
    if found is not None or is_report(text):
        return found
    found = from_text(text, is_error=True)
    if found is None or found.code is None:
        return None
    return found.replace(confidence=min(found.confidence or GUESSED, GUESSED))


__all__ = ["from_paste", "from_text"]
