"""For web applications: failures as `application/problem+json`, with `Retry-After`.

app = failwell.server.problems(FastAPI())
"""

from __future__ import annotations

import logging
import math
from typing import Any, Final, NamedTuple, TypeVar, cast

from failwell.formats import Outcome, render
from failwell.guards import DEFAULT as GUARD
from failwell.guards import Guard
from failwell.model import IN_DOUBT, Effect, Kind, NeedsInput, ToolError, Traits, find, marked_effect
from failwell.observe import log_failure
from failwell.readers import DEFAULT, Table

from .aftermath import Aftermath
from .decorator import meaning
from .facts import Facts
from .options import level_of
from .request_secrets import KeepingBodies, secrets_sent
from .server_errors import contained

log = logging.getLogger("failwell.server")

A = TypeVar("A")

MEDIA_TYPE: Final = "application/problem+json"
_OF_KIND: Final = {
    Kind.NOT_FOUND: 404,
    Kind.CONFLICT: 409,
    Kind.VALIDATION: 422,
    Kind.PERMISSION: 403,
    Kind.TRANSIENT: 503,
    Kind.INTERNAL: 500,
}
_QUESTION: Final = 422
# What may have been done: clients repeat a 503 by themselves, and take a 404 or 422 for the word that nothing was done.
_IN_DOUBT: Final = 500
# What the method of a request says about calling it twice.
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_IDEMPOTENT: Final = frozenset({"PUT", "DELETE"})


class Problem(NamedTuple):
    """What to answer over HTTP, whatever the framework."""

    status: int
    headers: dict[str, str]
    body: str


def problem(outcome: Outcome) -> Problem:
    """A failure as an answer of HTTP, guarded: for frameworks that `problems` does not take.

    Of a call that may have been done it is a 500 without `Retry-After`: clients repeat what says that it passes, and
    correct and repeat what says that the request was wrong.

    >>> problem(ToolError("Too many requests.", code="RATE_LIMITED", retry_after=1.5)).headers
    {'content-type': 'application/problem+json', 'retry-after': '2'}
    """
    return _problem(outcome, GUARD)


def _problem(outcome: Outcome, guard: Guard) -> Problem:
    headers = {"content-type": MEDIA_TYPE}
    if isinstance(outcome, NeedsInput):
        outcome = _asked(outcome)
    status = _status(outcome)
    if outcome.retryable and outcome.effect not in IN_DOUBT:
        if outcome.retry_after:
            headers["retry-after"] = str(math.ceil(outcome.retry_after))
        elif outcome.reset_at:
            # Slow to load, and rarely needed.
            from email.utils import format_datetime

            headers["retry-after"] = format_datetime(outcome.reset_at, usegmt=True)
    return Problem(status, headers, render(outcome.replace(http_status=status), "problem", guard=guard))


def _asked(question: NeedsInput) -> ToolError:
    return ToolError(question.message, code="MISSING_REQUIRED_FIELD", http_status=_QUESTION)


def _status(error: ToolError) -> int:
    if error.effect in IN_DOUBT:
        return _IN_DOUBT
    code = find(error.code)
    return error.http_status or (code.http_status if code is not None else None) or _OF_KIND[error.kind]


def _of_request(error: ToolError, exc: Exception, *, is_read: bool) -> ToolError:
    """An error with a status that takes no word of nobody's for the word that nothing was done.

    What escapes a handler that may write says nothing about what it did before, so it is no fault of the request: not
    even where a second one does no harm, since clients do not make it after a 404.
    """
    is_said = is_read or isinstance(exc, ToolError) or error.authored or error.effect is Effect.NONE
    if is_said or _status(error) >= _IN_DOUBT:
        return error
    return error.replace(http_status=_OF_KIND[Kind.TRANSIENT if error.kind is Kind.TRANSIENT else Kind.INTERNAL])


def problems(app: A, *, table: Table = DEFAULT, logger: Any = None, log_level: int | str = "WARNING") -> A:
    """Answer every failure of a FastAPI or Starlette application as a problem, and give the application back.

    A `ToolError` leaves as it is, any other exception as what it means, with its text in the log alone. What the
    framework answers itself (`HTTPException`, arguments that FastAPI refuses) stays. What a request sent under a secret
    name, in its path, query, headers, cookies or body, is masked in the problem and in the log.
    """
    add = getattr(app, "add_exception_handler", None)
    if add is None:
        raise TypeError(
            f"problems() takes a FastAPI or Starlette application, not {type(app).__name__}; "
            "in another framework answer with failwell.server.problem(error)."
        )
    from starlette.responses import Response

    level = level_of(log_level)

    def answer(request: Any, exc: Exception) -> Any:
        endpoint = request.scope.get("endpoint")
        name = getattr(endpoint, "__name__", None) or request.scope.get("path", "")
        is_read = request.method in _READS
        traits = Traits(name, read_only=is_read, idempotent=request.method in _IDEMPOTENT)
        outcome: Outcome = (
            exc
            if isinstance(exc, NeedsInput)
            else _of_request(meaning(exc, name, None, table, endpoint, traits, refuses=is_read), exc, is_read=is_read)
        )
        if isinstance(exc, NeedsInput) and marked_effect(exc) in IN_DOUBT:
            # Who asks in the middle of the work cannot be answered by a second request.
            error = _asked(exc)
            facts = Facts(name, function=endpoint, traits=traits)
            outcome = error.replace(**Aftermath().of(error, facts, is_authors=True, exc=exc))
        guard = GUARD.knowing(secrets) if (secrets := secrets_sent(request, GUARD.secrets)) else GUARD
        if isinstance(outcome, ToolError) and not outcome.logged:
            log_failure(logger or log, outcome, tool=name, exc=exc, guard=guard, level=level)
        status, headers, body = _problem(outcome, guard)
        return Response(body, status, headers)

    for kind in (ToolError, NeedsInput, Exception):
        add(kind, answer)
    framed = cast(Any, app)
    framed.add_middleware(KeepingBodies)
    build = framed.build_middleware_stack
    framed.build_middleware_stack = lambda: contained(build(), answer)
    return app
