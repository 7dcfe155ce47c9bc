"""A service behind HTTP: whatever goes wrong there leaves as an error of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, Final

import httpx2

import failwell as fw

from .codes import SOON

X_STATUSES: Final = {
    **dict.fromkeys(range(300, 600), "x_api_error"),
    400: "invalid_input",
    401: "x_auth_expired",
    403: "x_forbidden",
    404: "not_found",
    422: "invalid_input",
    429: "x_rate_limited",
}
UPLOAD_STATUSES: Final = {**X_STATUSES, **dict.fromkeys((400, 413, 415, 422), "media_upload_error")}
LLM_STATUSES: Final = dict.fromkeys(range(300, 600), "llm_error")
ADVICE: Final = {
    "x_auth_expired": "Ask the user to sign in to X again.",
    "x_forbidden": "Ask the user whether the app has the permission it needs.",
    "x_account_restricted": "Ask the user to look at the account on X.",
}


@dataclass(frozen=True)
class Api:
    name: str
    http: httpx2.Client
    token: str
    not_configured: Callable[[], fw.ToolError]
    unreachable: fw.Code
    statuses: Mapping[int, str]
    # Asking a language model changes nothing, however it is asked.
    only_reads: bool = False

    def ask(self, method: str, path: str, *place: str | int, **request: Any) -> Any:
        """What stands at a place of the JSON that the service answers with."""
        if not self.token:
            raise self.not_configured()
        statuses = request.pop("statuses", self.statuses)
        untouched = self.only_reads or method == "GET"
        try:
            answer = self.http.request(method, path, headers={"authorization": f"Bearer {self.token}"}, **request)
            return reduce(getitem, place, answer.raise_for_status().json())
        except httpx2.HTTPStatusError:
            status, headers, body = answer.status_code, answer.headers, answer.content
            error = fw.classify.from_http(status, headers, body, method=method, statuses=statuses, service=self.name)
            if error.code == "x_forbidden" and b"account-suspended" in body:
                error = error.replace(code="x_account_restricted")
            error = error.replace(reset_at=headers.get("x-rate-limit-reset"), suggestion=ADVICE.get(error.code or ""))
            # What is over its capacity turns a request down before it does anything.
            untouched = untouched or status < 500 or status == 503
        except httpx2.HTTPError as exc:
            effect = fw.classify.operation(exc).effect
            error = self.unreachable(f"{self.name} did not answer.", effect=effect, cause=exc)
        except (ValueError, LookupError, TypeError):
            text = f"{self.name} gave an answer that cannot be read."
            error = fw.ToolError(text, code=statuses[500], effect="unknown")
        if untouched:
            # Nothing happened, so that it may be tried again, even where nobody says when.
            error = error.replace(effect="none", retry_after=error.retry_after or (SOON if error.retryable else None))
        raise error
