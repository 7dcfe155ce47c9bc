"""An HTTP status in a text, as axios, httpx, requests, SDKs of APIs and hand-written wraps put it there."""

from __future__ import annotations

from re import IGNORECASE
from typing import Final

from failwell.model import find, pattern
from failwell.readers.http import code_for

PHRASES: Final = (
    "Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not Allowed|Not Acceptable|Request Timeout"
    "|Conflict|Gone|Precondition Failed|(?:Payload|Content|Request Entity) Too Large|Unsupported Media Type"
    "|Unprocessable (?:Entity|Content)|Locked|Too Early|Too Many Requests|Internal Server Error|Not Implemented"
    "|Bad Gateway|Service Unavailable|Gateway Time-?out|Client Error|Server Error"
)
# Those that services use. Other numbers of three digits are codes of somebody's own.
_CODE: Final = r"(4(?:0\d|1[0-8]|2[1-9]|31|51)|5(?:0[0-8]|1[01]|2\d|30))"
_STATUS: Final = pattern(
    # A word that a status follows.
    r"\b(?:status(?:[ _-]?code)?|https?(?:/\d(?:\.\d)?)?(?: error| status| response)?(?: code)?|error(?: code)?"
    r"|fail(?:ed|ure)"
    r"|returned|responded|response|answered|replied|received|got|code|reason|\w{0,30}(?:error|exception))\b"
    rf"['\"]?[\s:=(\[#'\"-]{{0,4}}(?:with |an? |of |the |http |error |status |code |was |is ){{0,4}}[('\"\[]?{_CODE}"
    r"(?![\w%]|[.,:]\d| ?(?:ms|seconds?|bytes?|rows?|items?|characters?|tokens?|results?|lines?|px)\b)"
    # A status that its own phrase follows.
    rf"|\b{_CODE}[\s:-]{{1,3}}\(?(?:{PHRASES})\b"
    # A status in brackets, where an API's error is spoken of.
    rf"|\b(?:api|request|http|server|client|fetch|query|call)\b[^\n()]{{0,60}}\((?:status )?{_CODE}\)"
    # "[GET /pages/{id}][404] getPageNotFound"
    rf"|\]\[{_CODE}\]"
    # "GET https://…: 404 no such page"
    rf"|\bURL: {_CODE}(?= )"
    # "google.api_core.exceptions.Aborted: 409 The transaction …"
    rf"|^(?:[a-z_]\w{{0,60}}\.){{1,6}}[A-Z]\w{{1,60}}: {_CODE} (?=\w)"
    # "Failed to get the page: 404"
    rf"|\bfailed (?:to )?\w[^\n:]{{0,80}}: {_CODE}(?=[\s.,;({{]|$)",
    IGNORECASE,
)
_NUMBER: Final = pattern(r"[45]\d\d")
_URL: Final = pattern(r"https?://[^\s'\"<>)]{1,500}", IGNORECASE)
_LONGEST: Final = 4_000


def status_in(text: str) -> int | None:
    """The status that a text speaks of.

    >>> status_in("API request failed: 401"), status_in("Client error '404 Not Found' for url"), status_in("room 404")
    (401, 404, None)
    """
    text = text[:_LONGEST]
    # Nearly all texts speak of none, and are told by that.
    found = _STATUS.search(_URL.sub("URL", text)) if _NUMBER.search(text) else None
    return int(next(filter(None, found.groups()))) if found else None


WEAK: Final = frozenset({400, 422})
"""What services answer when they have not looked closer; a sentence beside it says more."""
# What a sentence may say instead of these: a limit is not always 429, and waiting does not lift every one that is.
_INSTEAD: Final = {400: "RATE_LIMITED", 403: "RATE_LIMITED", 404: "UNKNOWN_TOOL", 405: "CONFLICT", 429: "FORBIDDEN"}


def code_with(status: int, worded: str | None, weak: frozenset[int] = WEAK) -> str:
    """The code for a status with a sentence beside it, which stands for the code `worded`.

    >>> code_with(422, "CONFLICT"), code_with(404, "CONFLICT"), code_with(403, "RATE_LIMITED")
    ('CONFLICT', 'NOT_FOUND', 'RATE_LIMITED')
    """
    if worded is not None and _INSTEAD.get(status) == worded:
        return worded
    if worded is not None and status in weak and worded != "INTERNAL_ERROR":
        # An upstream's refusal is not the tool's crash, and will not pass.
        info = find(worded)
        if info is None or not info.retryable:
            return worded
    return code_for(status)
