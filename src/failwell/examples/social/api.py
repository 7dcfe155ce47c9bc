"""A service behind HTTP: whatever goes wrong there leaves as an error of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

import failwell as fw

from .codes import S, llm_not_configured, x_not_configured

FAILED: Final = range(400, 600)
X_STATUSES: Final = {
    **dict.fromkeys(FAILED, "x_api_error"),
    400: "invalid_input",
    401: "x_auth_expired",
    403: "x_forbidden",
    422: "invalid_input",
    429: "x_rate_limited",
}
NAMED: Final = {**X_STATUSES, 404: "not_found"}
UPLOAD: Final = {**X_STATUSES, **dict.fromkeys((400, 413, 415, 422), "media_upload_error")}
ADVICE: Final = {
    "x_auth_expired": "Ask the user to sign in to X again.",
    "x_forbidden": "Ask the user whether the app has the permission it needs.",
    "x_account_restricted": "Ask the user to look at the account on X.",
}
AGAIN: Final = "Wait a few seconds, then make the same call again."


@dataclass(frozen=True)
class Api:
    name: str
    http: httpx2.Client
    token: str
    missing: Callable[[], fw.ToolError]
    unreachable: fw.Code
    broken: fw.Code
    statuses: Mapping[int, str]
    only_reads: bool = False

    def ask(
        self, method: str, path: str, *place: str | int, statuses: Mapping[int, str] | None = None, **request: Any
    ) -> Any:
        """What stands at a place of the JSON that the service answers with."""
        if not self.token:
            raise self.missing()
        reads = self.only_reads or method == "GET"
        try:
            answer = self.http.request(method, path, headers={"authorization": f"Bearer {self.token}"}, **request)
        except httpx2.HTTPError as exc:
            late = isinstance(exc, httpx2.TimeoutException)
            text = f"{self.name} did not answer in time." if late else f"{self.name} cannot be reached."
            raise _advised(self.unreachable(text, effect="none" if reads else fw.wrap(exc).effect, cause=exc)) from None
        if answer.is_error:
            raise self._refused(answer, "GET" if reads else method, statuses or self.statuses)
        try:
            found = answer.json()
            for key in place:
                found = found[key]
        except (ValueError, LookupError, TypeError):
            effect = "none" if reads else "unknown"
            raise _advised(self.broken(f"{self.name} gave an answer that cannot be read.", effect=effect)) from None
        return found

    def _refused(self, answer: httpx2.Response, method: str, statuses: Mapping[int, str]) -> fw.ToolError:
        status, content = answer.status_code, answer.content
        error = fw.classify.from_http(
            status, answer.headers, content, method=method, statuses=statuses, service=self.name
        )
        if error.code == "x_forbidden" and b"account-suspended" in content:
            error = error.replace(code="x_account_restricted")
        refused = status < 500 or method == "GET"
        reset = answer.headers.get("x-rate-limit-reset")
        return _advised(error.replace(reset_at=reset, effect="none" if refused else error.effect))


def _advised(error: fw.ToolError) -> fw.ToolError:
    """With what to do about it, where that does not follow from the rest."""
    harmless = error.retryable and error.effect is fw.Effect.NONE and error.retry_after is None
    return error.replace(suggestion=AGAIN if harmless else ADVICE.get(error.code or ""))


def x_api(http: httpx2.Client, token: str) -> Api:
    return Api("X", http, token, x_not_configured, S.x_network_error, S.x_api_error, X_STATUSES)


def llm_api(http: httpx2.Client, key: str) -> Api:
    """Asking a language model changes nothing, however it is asked."""
    always = dict.fromkeys(FAILED, "llm_error")
    return Api("The language model", http, key, llm_not_configured, S.llm_error, S.llm_error, always, only_reads=True)
