"""Lines that hold more than one message, or something beside one: what servers write that share their stdout with
others, or forget a line end."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .messages import last_frame, outline, read_frame
from .raw_members import closing

_BEGINNING: Final = re.compile(rb'\{\s*"(?:jsonrpc|id|result|error|method)"\s*:')
# What stands between messages and says nothing: a line end that is none, what some put between records.
_BETWEEN: Final = b"\xef\xbb\xbf \t\r\n,;\0\x1e"
_KINDS: Final = frozenset({"method", "result", "error"})
_COLOUR: Final = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
# What a line of a log has, and neither a prompt nor a bar of progress: the name of a level, a date or a time of day
# (the times in a bar stand around a `<`), an arrow, and words for what was sent or heard.
_LOG: Final = re.compile(
    rb"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|FATAL|CRITICAL|SEVERE|VERBOSE)\b"
    rb"|^\W*(?i:trace|debug|info|notice|warn(?:ing)?|error|fatal|critical|severe|verbose)\b|\blevel="
    rb"|\b\d{4}[-/]\d\d[-/]\d\d(?!\d)|(?<![\d:.<])\d\d:\d\d:\d\d(?![\d:<])"
    rb"|<-|<<|\xe2\x86[\x90\x92]|\S\s{1,20}(?:-{1,2}>|>>|<=|=>)"
    rb"|(?i:\b(?:received?|recv|responses?|reply|replie[sd]|sent|upstream|downstream|incoming|outgoing|inbound|outbound)\b"
    rb"|\b(?:sending|receiving|rx|tx|got|message|msg)\W*$)",
)
# Of a longer one only what stands before the message is looked at.
_MOST_NOISE: Final = 2_000
# A longer line is one message, or none: to look through it would let all others wait.
_MOST_LOOKED_AT: Final = 5_000_000


class LinePart(NamedTuple):
    """A message in a line."""

    noise: bytes
    """What stands before it and is none; empty if nothing does that says anything."""
    frame: bytes
    """The message as it came; empty for what stands behind the last one."""


def parts_of(line: bytes) -> list[LinePart]:
    """The messages of a line that is none. Nothing where it holds none, or is one by itself that cannot be read."""
    found: list[LinePart] = []
    taken = position = looked_at = 0
    while len(line) <= _MOST_LOOKED_AT and looked_at <= _MOST_LOOKED_AT:
        begins = _BEGINNING.search(line, position)
        if begins is None:
            break
        start, end = begins.start(), closing(line, begins.start())
        noise = _said(line[taken:start])
        looked_at += (end or len(line)) - start
        if end is not None and _is_message(line[start:end]):
            found.append(LinePart(noise, line[start:end] + b"\n"))
            taken = end
        elif end is None and not noise:
            # The beginning of a message, and what it holds is none by itself.
            break
        position = end or begins.end()
    if not found or line.strip() + b"\n" == found[0].frame:
        return []
    rest = _said(line[taken:])
    return [*found, LinePart(rest, b"")] if rest else found


def is_log(noise: bytes) -> bool:
    """Whether words before a message are those of a log, in which a server writes down what it hears and says."""
    # What was written over is not to be read.
    seen = noise[-_MOST_NOISE:].rpartition(b"\r")[2]
    return _LOG.search(_COLOUR.sub(b"", seen)) is not None


def last_line(rest: bytes) -> bytes | None:
    """What came after the last line end of a server that has ended, as a frame, if there is a whole message in it."""
    return last_frame(rest) or (rest + b"\n" if parts_of(rest) else None)


def _said(noise: bytes) -> bytes:
    return noise if noise.strip(_BETWEEN) else b""


def _is_message(piece: bytes) -> bool:
    message = read_frame(piece)
    if message is None:
        return b'"jsonrpc"' in piece and outline(piece) is not None
    return type(message) is dict and message.get("jsonrpc") == "2.0" and not _KINDS.isdisjoint(message)
