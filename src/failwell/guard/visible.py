"""Text without what a reader cannot see: control characters, terminal escapes, bidirectional and zero-width tricks."""

from __future__ import annotations

import re
from typing import Final

# Whole escape sequences first (CSI, OSC and the like), so that their letters do not stay behind as text.
_ESCAPES: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,2048}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{0,4}[0-~]"
)
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Joiners have a place inside emoji and several scripts, so they stay between characters that are not ASCII.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
_SUSPECT: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
    "\u2028\u2029\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]"
)


def needs_cleaning(text: str) -> bool:
    """Whether there is anything in `text` that `visible` would change."""
    return not (text.isascii() and text.isprintable()) and _SUSPECT.search(text) is not None


def visible(text: str) -> str:
    """`text` as it looks: escapes and invisible characters gone, other control characters as a visible mark.

    >>> visible("a\\x1b[31mred\\x1b[0m \\u202ekcab\\u202c \\x07")
    'ared kcab �'
    """
    if not needs_cleaning(text):
        return text
    text = _ESCAPES.sub("", text)
    # Taking one character away can bring two together that hide something again.
    while (cleaned := _INVISIBLE.sub("", text)) != text:
        text = cleaned
    return _CONTROL.sub("\ufffd", text.replace("\u2028", "\n").replace("\u2029", "\n"))


def one_line(text: str) -> str:
    """For a terminal: visible, and unable to overwrite the line it stands in."""
    return visible(text).replace("\r\n", "\n").replace("\r", "\n")
