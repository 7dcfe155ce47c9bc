"""Text without what a reader cannot see: control characters, terminal escapes, bidirectional and zero-width tricks."""

from __future__ import annotations

import json
import re
from typing import Final

from failwell.model import pattern

from .secret_names import is_secret_name

_INVISIBLES: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U00013430-\U00013455\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e01ef"
)
# Joiners and variation selectors have a place inside emoji and several scripts, so they stay where one such character
# follows one that is not ASCII.
_JOINERS: Final = "\u200c\u200d\ufe00-\ufe0f"
_INVISIBLE: Final = pattern(f"[{_INVISIBLES}]")
_JOINER_RUN: Final = pattern(f"((?>\ufe0f\u200d|[{_JOINERS}]))[{_JOINERS}]+")
_STRAY_JOINER: Final = pattern(
    f"(?<![^\x00-\x7f])[{_JOINERS}](?!\u20e3)|[\u200c\u200d](?![^\x00-\x7f])",
)
# Whole escape sequences (CSI, OSC and the like), so that their letters do not stay behind as text.
_ESCAPES: Final = pattern(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\x9d\x90\x98\x9e\x9f]{0,2048}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{0,4}[0-~]"
)
# With halves of characters, which no output can take.
_CONTROL: Final = pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LONE_RETURN: Final = pattern("\r(?!\n)")
_SUSPECT: Final = pattern(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff{_INVISIBLES}{_JOINERS}]")
_UNESCAPED: Final = pattern(f"[\x7f-\x9f\u2028\u2029\ud800-\udfff{_INVISIBLES}]")


def needs_cleaning(text: str) -> bool:
    """Whether there may be anything in `text` that `visible` would change."""
    return not (text.isascii() and text.isprintable()) and _SUSPECT.search(text) is not None


def visible(text: str) -> str:
    """`text` as it looks: escapes and invisible characters gone, other control characters as a visible mark.

    >>> visible("a\\x1b[31mred\\x1b[0m \\u202ekcab\\u202c \\x07")
    'ared kcab �'
    """
    if not needs_cleaning(text):
        return text
    text = _LONE_RETURN.sub("\n", text).replace("\u2028", "\n").replace("\u2029", "\n")
    # What cannot be seen goes first, since it could stand inside an escape sequence.
    text = _ESCAPES.sub(_escape, _INVISIBLE.sub("", text))
    text = _CONTROL.sub("\ufffd", text)
    return _STRAY_JOINER.sub("", _JOINER_RUN.sub(r"\1", text))


# Colours as JSON and programs write them where they cannot be in a text.
_WRITTEN_COLOUR: Final = pattern(r"\\(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,40}m")
_OF_WRITTEN: Final = ("1b[", "1B[", "033[", "\\e[")


def uncoloured(text: str) -> str:
    """`visible`, and without colours that are written as escapes: for whoever looks for something that they would part.

    >>> uncoloured('{"file": "\\\\u001b[31m/srv/a.js\\\\u001b[39m"}')
    '{"file": "/srv/a.js"}'
    """
    text = visible(text)
    return _WRITTEN_COLOUR.sub("", text) if "[" in text and any(mark in text for mark in _OF_WRITTEN) else text


_WORD: Final = pattern(r"[A-Za-z_-]{2,40}")


def _escape(found: re.Match[str]) -> str:
    """Nothing of an escape stays, unless its last letter is the first of a secret's name: then it was no escape."""
    last = found[0][-1]
    plain = last.isalpha() and not any(map(str.isdigit, found[0]))
    following = _WORD.match(found.string, found.end()) if plain else None
    return last if following and is_secret_name(last + following[0]) and not is_secret_name(following[0]) else ""


def escaped(text: str) -> str:
    """A text of JSON that means the same, with what a reader cannot see in it, or no output can take, as escapes."""
    return _UNESCAPED.sub(
        lambda found: f"\\u{ord(found[0]):04x}" if found[0] <= "\uffff" else json.dumps(found[0])[1:-1], text
    )
