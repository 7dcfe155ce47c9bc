"""How the failures of the service are told: contract 001's six codes, one row for each way to fail.

The table stands on no other, so whatever it does not name is an UNKNOWN_ERROR. Two codes go beyond the six, since the
contract's own would be wrong about retrying: RATE_LIMITED passes, and a connection that is not secure stays so.
"""

from __future__ import annotations

from typing import Final

import httpx2

import failwell as fw
from failwell.readers import Table, body_message

V1 = fw.catalogs.V1
STATUSES: Final = {
    **dict.fromkeys(range(300, 400), "UNKNOWN_ERROR"),
    **dict.fromkeys(range(400, 500), "CLIENT_ERROR"),
    **dict.fromkeys(range(500, 600), "SERVER_ERROR"),
    **dict.fromkeys((401, 403), "AUTHENTICATION_ERROR"),
    404: "NOT_FOUND",
    408: "NETWORK_ERROR",
    429: "RATE_LIMITED",
}
TROUBLES: Final = {
    "timeout": "Request timeout",
    "connection_refused": "Connection refused",
    "connection_reset": "Connection lost",
    "dns_error": "Host not found",
    "tls_error": "Connection not secure",
    "fetch_error": "No usable answer",
    "network": "Host not reachable",
}
TABLE: Final = Table()


@TABLE.maps(httpx2.HTTPStatusError)
def answered(exc: httpx2.HTTPStatusError) -> fw.ToolError:
    """The service said no, and mostly says why."""
    response = exc.response
    error = fw.classify.from_http(response.status_code, response.headers, response.content, statuses=STATUSES)
    said = body_message(response.content) or error.message
    is_rules = error.code == "NOT_FOUND" and "/rule-sets/" in str(exc.request.url)
    return error.replace(message=said, suggestion="Use the rule set default or async." if is_rules else None)


@TABLE.maps(httpx2.TransportError)
def unanswered(exc: httpx2.TransportError) -> fw.ToolError | None:
    """The service said nothing. What that means, Failwell's own table knows."""
    trouble = fw.wrap(exc).details.get("errorType")
    if trouble not in TROUBLES:
        return None
    code = "TLS_ERROR" if trouble == "tls_error" else "NETWORK_ERROR"
    return fw.ToolError(f"Network error: {TROUBLES[trouble]}", code=code)


@TABLE.maps(Exception)
def unknown(exc: Exception) -> fw.ToolError:
    """Anything else. What it was stands in the log."""
    return V1.UNKNOWN_ERROR("Unknown error occurred")
