"""What SDKs put around a text: prefixes, often doubled, the name of the tool, and the number of a JSON-RPC error."""

from __future__ import annotations

from re import IGNORECASE
from typing import Final, NamedTuple

from failwell.model import pattern

LONGEST: Final = 20_000
_PART: Final = 10_000
_MOST_WRAPS: Final = 8

_NUMBER: Final = pattern(r"\[(-?\d{1,6})\]\s{1,3}|mcp error (-?\d{1,6}):\s{0,3}", IGNORECASE)
_TOOL: Final = pattern(
    r"error (?:executing|calling|running|invoking) tool:? ['\"`]?([\w./:-]{1,100}?)['\"`]?(?::\s{1,3}|[.!]?$)"
    r"|tool ['\"`]([^'\"`\n]{1,100})['\"`] (?:execution )?failed:\s{1,3}"
    r"|tool execution failed:\s{1,3}|tool (?:call )?(?:error|failed):\s{1,3}|toolerror:\s{1,3}|mcperror:\s{1,3}",
    IGNORECASE,
)
_ERROR: Final = pattern(r"[\s#>*_❌✖✗⚠️🚫🛑⛔❗️-]{0,12}error\b[*_]{0,3}\s?(?::[*_]{0,3}\s{0,3}|\n{1,3}|$)", IGNORECASE)
# A remark about the call, before what came of it.
_REMARK: Final = pattern(r"[^\n]{0,400}\b(?:was|were|is|are|been|be) ignored\b[^\n]{0,1000}\n(?=[^\n])", IGNORECASE)


class Unwrapped(NamedTuple):
    """A text without its wrapping. `announced` says that the wrapping called it an error."""

    text: str
    tool: str | None = None
    number: int | None = None
    announced: bool = False


def ends(text: str) -> str:
    """The beginning and the end of a long text: what happened stands in the one, why in the other."""
    return text if len(text) <= LONGEST else f"{text[:_PART]}\n…\n{text[-_PART:]}"


def unwrap(text: str) -> Unwrapped:
    """Take off what the SDKs put in front.

    >>> unwrap("Error executing tool add: MCP error -32602: Error: Error: no")
    Unwrapped(text='no', tool='add', number=-32602, announced=True)

    A name alone says nothing about how its tool failed:

    >>> unwrap("Error executing tool find_missing").text
    ''
    """
    text = text.strip("\ufeff \t\r\n")
    tool: str | None = None
    number: int | None = None
    announced = False
    for _ in range(_MOST_WRAPS):
        if found := _NUMBER.match(text):
            number = number or int(found[1] or found[2])
            # A number in brackets is a footnote as often as an error.
            announced = announced or found[2] is not None or number <= -32000
        elif found := _TOOL.match(text):
            tool = tool or found[1] or found[2]
            announced = True
        elif found := _ERROR.match(text):
            announced = True
        elif "\n" in text and (found := _REMARK.match(text)):
            pass
        else:
            break
        text = text[found.end() :]
    return Unwrapped(text.strip(), tool, number, announced)
