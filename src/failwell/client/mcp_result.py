"""An MCP call that a framework makes, and the result that says once what became of it.

For frameworks that show their model what an MCP server answered: a failure is settled first, and goes on as a result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from failwell.formats import META_KEY, to_result
from failwell.redact import masked
from failwell.sdk import CallToolResult

from .bridge import Course, Told, attempted, failure
from .content import ORIGINAL, beside, unsaid


async def settled(
    call: Callable[[], Awaitable[Any]],
    course: Course,
    *,
    passes: Callable[[Exception], bool] | None = None,
    text: Callable[[Told], str] | None = None,
) -> Any:
    """What the call gives, made again where that is safe; a result that tells about it where it failed.

    text: what to write of what is told, for frameworks that mark no error.
    """
    last: Any = None

    async def attempt() -> Any:
        nonlocal last
        last = None
        last = await call()
        course.is_answered = True
        if found := failure(last):
            raise found
        return last

    result = await attempted(attempt, passes=passes or _none, transport=True, course=course)
    if not isinstance(result, Told):
        return result
    return CallToolResult.model_validate(answer(result, wire(last), text(result) if text else result.text))


def answer(told: Told, last: dict[str, Any], text: str) -> dict[str, Any]:
    """A result, as JSON, that says it once; what else the server sent in the last one stays."""
    outcome: Any = to_result(told.outcome, "text")["_meta"]
    last = unsaid(last, told.secrets)
    rest = beside(text, last.get("content", ()), in_doubt=told.in_doubt)
    kept = {} if rest.original is None else {ORIGINAL: rest.original}
    # In place of a question, which is no error, a framework could show its model the structured content.
    structured = masked(last.get("structuredContent")) if told.is_error else None
    return {
        "content": [{"type": "text", "text": text}, *rest.blocks],
        "isError": told.is_error,
        "structuredContent": structured,
        "_meta": {**last.get("_meta", {}), **kept, META_KEY: outcome[META_KEY]},
    }


def wire(result: Any) -> dict[str, Any]:
    """A result of the SDK's as JSON; nothing where there is none."""
    if not isinstance(result, CallToolResult):
        return {}
    written: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return written


def _none(exc: Exception) -> bool:
    return False
