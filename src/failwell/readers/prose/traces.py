"""Tracebacks of Python and stacks of Node and Java: the line that says what happened, without the way to it."""

from __future__ import annotations

from typing import Final

from failwell.model import pattern

_PYTHON: Final = pattern(r"Traceback \(most recent call last\):|\n  File \"[^\"\n]{1,300}\", line \d{1,7}")
# The first line at the left margin after the frames.
_LAST: Final = pattern(r"(?:^|\n)((?:[a-zA-Z_]\w{0,60}\.){0,8}[A-Z]\w{1,60}(?:: [^\n]{0,2000})?)(?=\n|$)")
_FRAMES: Final = pattern(r"\n\s{2,8}at (?:async )?[^\n]{1,300}(?=\n|$)")


def trace_line(text: str) -> str | None:
    """The line of a trace that counts; None for a text that is none.

    >>> trace_line("Error: gone\\n    at read (/srv/a.js:1:2)\\n    at main (/srv/a.js:9:9)")
    'Error: gone'
    """
    if "\\n" in text:
        # In JSON, or what is left of it where a long answer was cut.
        text = text.replace("\\n", "\n").replace('\\"', '"')
    if _PYTHON.search(text):
        lines = _LAST.findall(text)
        return lines[-1] if lines else None
    frames = _FRAMES.search(text)
    if frames is None:
        return None
    before = text[: frames.start()].strip()
    return before or None
