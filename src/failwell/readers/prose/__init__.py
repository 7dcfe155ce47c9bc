"""The error texts that servers send, read into ToolErrors: `phrases` is the table, `statuses` finds an HTTP status,
`json_errors` reads JSON in a text, `reader` puts them together."""

from __future__ import annotations

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
    # The tables are large, and most programs never read a foreign text.
    from .reader import read

    return read(text, is_error, number)


def from_paste(text: str) -> ToolError | None:
    """What a text means to whoever pasted it and asks; None for one that tells of no failure.

    What nobody called an error, and what does not call itself one, is believed less.

    >>> from_paste("Transport closed").code, from_paste("All 12 checks passed.") is None
    ('NETWORK_ERROR', True)
    """
    from .reader import GUESSED, is_report, read

    found = read(text, None, None)
    if found is not None or is_report(text):
        return found
    found = read(text, True, None)
    if found is None or found.code is None:
        return None
    return found.replace(confidence=min(found.confidence or GUESSED, GUESSED))


__all__ = ["from_paste", "from_text"]
