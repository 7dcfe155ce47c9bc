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
from failwell.readers import DEFAULT, Table, classify, from_error, leaves, refusal

from .aftermath import Aftermath
from .decorator import meaning
from .facts import Facts
from .options import level_of
from .request_secrets import KeepingBodies, secrets_sent
from .server_errors import AnsweredWithin, contained

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


class _Handler(NamedTuple):
    """Who failed to answer a request, and what its method says about that."""

    name: str
    endpoint: Any
    method: str
    table: Table

    @property
    def is_read(self) -> bool:
        return self.method in _READS

    @property
    def facts(self) -> Facts:
        traits = Traits(self.name, read_only=self.is_read, idempotent=self.method in _IDEMPOTENT)
        return Facts(self.name, function=self.endpoint, traits=traits)

    def outcome(self, exc: Exception) -> Outcome:
        """What is answered for an exception."""
        if not isinstance(exc, NeedsInput):
            error = self._meaning(exc)
            return self._of_group(error, exc) if self.is_read else self._of_write(error, exc)
        if marked_effect(exc) not in IN_DOUBT:
            return exc
        # Who asks in the middle of the work cannot be answered by a second request.
        error = _asked(exc)
        return error.replace(**Aftermath().of(error, self.facts, is_authors=True, exc=exc))

    def _meaning(self, exc: Exception) -> ToolError:
        traits = self.facts.traits
        return meaning(exc, self.name, None, self.table, self.endpoint, traits, refuses=self.is_read)

    def _of_write(self, error: ToolError, exc: Exception) -> ToolError:
        """An error with a status that takes no word of nobody's for the word that nothing was done.

        What escapes a handler that may write says nothing about what it did before, so it is no fault of the request:
        not even where a second one does no harm, since clients do not make it after a 404.
        """
        is_said = isinstance(exc, ToolError) or error.authored or error.effect is Effect.NONE
        if not is_said and self._is_of_no_argument(error, exc):
            return _unexpected(error, exc)
        if is_said or _status(error) >= _IN_DOUBT:
            return error
        return error.replace(http_status=_OF_KIND[Kind.TRANSIENT if error.kind is Kind.TRANSIENT else Kind.INTERNAL])

    def _is_of_no_argument(self, error: ToolError, exc: Exception) -> bool:
        """Whether a value was refused, and nobody says that it was sent: a crash, as a `KeyError` from there is one."""
        if error.kind is not Kind.VALIDATION or error.fields or from_error(exc, context=False) is not None:
            return False
        return isinstance(exc, (ValueError, ExceptionGroup)) and refusal(exc, self.endpoint) is None

    def _of_group(self, error: ToolError, exc: Exception) -> ToolError:
        """What a request that only reads has failed with. Several failures at once are the fault of the request if each
        of them would be, in the author's own words and with the same status; then the first is told."""
        if not isinstance(exc, ExceptionGroup) or error.effect in IN_DOUBT:
            return error
        first: ToolError | None = None
        for leaf in leaves(exc):
            word = self._word(leaf, exc)
            if word is None or (first is not None and _status(word) != _status(first)):
                return error if _status(error) >= _IN_DOUBT else _unexpected(error, exc)
            first = first or word
        return error if first is None else self._meaning(first)

    def _word(self, leaf: BaseException, group: ExceptionGroup[Any]) -> ToolError | None:
        """What an author says by one exception of a group; None if it is not theirs."""
        if (own := from_error(leaf, context=False)) is not None:
            return own
        error = classify(leaf, table=self.table)
        refused = error if error.authored else refusal(leaf, self.endpoint, group=group)
        return None if refused is None else refused.replace(tool=self.name)


def _unexpected(error: ToolError, exc: Exception) -> ToolError:
    """The same as what nobody planned for."""
    name = type(exc).__name__
    return ToolError(
        f"Unexpected error: {name}",
        code="INTERNAL_ERROR",
        details={"error_type": name},
        effect=error.effect,
        standing=error.standing,
        tool=error.tool,
        debug=error.debug,
        cause=error.cause,
    )


def problems(app: A, *, table: Table = DEFAULT, logger: Any = None, log_level: int | str = "WARNING") -> A:
    """Answer every failure of a FastAPI or Starlette application as a problem, and give the application back.

    A `ToolError` leaves as it is, any other exception as what it means, with its text in the log alone. What the
    framework answers itself (`HTTPException`, arguments that FastAPI refuses) stays. What a request sent under a secret
    name, in its path, query, headers, cookies or body, is masked in the problem and in the log. Crashes alone are
    answered outside of the application's middleware.
    """
    add = getattr(app, "add_exception_handler", None)
    if add is None:
        raise TypeError(
            f"problems() takes a FastAPI or Starlette application, not {type(app).__name__}; "
            "in another framework answer with failwell.server.problem(error)."
        )
    from starlette.middleware import Middleware
    from starlette.responses import Response

    level = level_of(log_level)

    def handler(request: Any) -> _Handler:
        endpoint = request.scope.get("endpoint")
        name = getattr(endpoint, "__name__", None) or request.scope.get("path", "")
        return _Handler(name, endpoint, request.method, table)

    def told(request: Any, exc: Exception, outcome: Outcome) -> Any:
        guard = GUARD.knowing(secrets) if (secrets := secrets_sent(request, GUARD.secrets)) else GUARD
        if isinstance(outcome, ToolError) and not outcome.logged:
            log_failure(logger or log, outcome, tool=handler(request).name, exc=exc, guard=guard, level=level)
        status, headers, body = _problem(outcome, guard)
        return Response(body, status, headers)

    def answer(request: Any, exc: Exception) -> Any:
        return told(request, exc, handler(request).outcome(exc))

    def answer_within(request: Any, exc: Exception) -> Any:
        """The same for what is no crash. A crash is raised through the application's middleware: it may have to take
        something back, and after a write so is whatever passes."""
        failed = handler(request)
        outcome = failed.outcome(exc)
        status = _QUESTION if isinstance(outcome, NeedsInput) else _status(outcome)
        is_crash = status == _OF_KIND[Kind.INTERNAL] if failed.is_read else status >= _IN_DOUBT
        return None if is_crash else told(request, exc, outcome)

    for kind in (ToolError, NeedsInput, Exception):
        add(kind, answer)
    framed = cast(Any, app)
    framed.add_middleware(KeepingBodies)
    # The innermost: whatever is added later stands around it, and so do those that are there.
    framed.user_middleware.append(Middleware(AnsweredWithin, answer=answer, within=answer_within))
    build = framed.build_middleware_stack
    framed.build_middleware_stack = lambda: contained(build(), answer)
    return app
