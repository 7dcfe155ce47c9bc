"""Crashes of a web application, answered where nothing of them reaches the server that runs it.

Starlette raises an exception once more after its handler has answered, and the server prints it with all it quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

Answer = Callable[[Any, Exception], Any]

_MOST_LAYERS: Final = 100
_ANSWERED_BY: Final = "failwell.answer"
_BROKEN_OFF: Final = "The application failed after its answer had begun. What failed is in the log of failwell.server."


def contained(stack: Any, answer: Answer) -> Any:
    """The layers of an application, with `answer` inside the one that would raise again after it.

    Where somebody else answers there, and in the debug mode, whose page shows all of it anyway, nothing is changed.
    """
    from starlette.middleware.errors import ServerErrorMiddleware

    for layer in _layers(stack):
        if isinstance(layer, ServerErrorMiddleware) and layer.handler is answer and not layer.debug:
            layer.app = Contained(layer.app, answer)
    return stack


def _layers(stack: Any) -> Iterator[Any]:
    for _ in range(_MOST_LAYERS):
        if stack is None:
            return
        yield stack
        stack = getattr(stack, "app", None)


class Contained:
    """An application whose exceptions become answers. One that breaks off in the middle of an answer is told to the
    server, which has to close the connection, without what it quotes."""

    def __init__(self, app: Any, answer: Answer) -> None:
        self.app = app
        self._answer = answer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[_ANSWERED_BY] = self._answer
        has_begun = is_whole = False

        async def watched(message: Any) -> None:
            nonlocal has_begun, is_whole
            has_begun = True
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        failed: Exception | None = None
        try:
            await self.app(scope, receive, watched)
        except Exception as exc:
            failed = exc
        if failed is None:
            return
        # Only here, so that what fails from now on does not have it as its context, which would be printed as well.
        response = await _answered(self._answer, failed, scope)
        if not has_begun:
            await response(scope, receive, send)
        elif not is_whole:
            raise RuntimeError(_BROKEN_OFF)


class AnsweredWithin:
    """An application whose exceptions become answers where its own middleware still sees them, as it sees all others:
    a browser reads no answer without the headers for other origins. Those that `within` has no answer for are raised,
    and so is everything where somebody else than `answer` answers crashes."""

    def __init__(self, app: Any, answer: Answer, within: Answer) -> None:
        self.app = app
        self._answer, self._within = answer, within

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope.get(_ANSWERED_BY) is not self._answer:
            await self.app(scope, receive, send)
            return
        has_begun = False

        async def watched(message: Any) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
            return
        except Exception as exc:
            response = None if has_begun else await _answered(self._within, exc, scope)
            if response is None:
                raise
        await response(scope, receive, send)


async def _answered(answer: Answer, exc: Exception, scope: Any) -> Any:
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request

    return await run_in_threadpool(answer, Request(scope), exc)
