"""What a generator raises at one of its steps, read where it is raised.

Its body runs when somebody asks for the next item, long after it was called. So each step is watched by itself, and
between them nothing of it stands in the context of whoever asks.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from functools import partial
from typing import Any

from failwell.model import Marks, marking

from .functions import alike

Failed = Callable[[BaseException, tuple[Any, ...], dict[str, Any]], Any]
"""What becomes of a failure of a call with these arguments: it is raised, or given back as what to say in its place."""


def watched(function: Callable[..., Generator[Any, Any, Any]], failed: Failed) -> Callable[..., Any]:
    """The generator function with its failures read. What `failed` gives back is the last item."""

    def steps(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        made = Marks()
        thrown: BaseException | None = None
        inner = _begun(function, args, kwargs)
        step: Callable[[], Any] = partial(next, inner)
        while True:
            with marking(made):
                try:
                    item = step()
                except StopIteration as end:
                    return end.value
                except (Exception, SystemExit) as exc:
                    if exc is thrown:
                        # The caller's own, which the function has let through.
                        raise
                    answer = failed(exc, args, kwargs)
                    break
            try:
                sent = yield item
            except GeneratorExit:
                with marking(made):
                    try:
                        inner.close()
                    except (Exception, SystemExit) as exc:
                        failed(exc, args, kwargs)
                raise
            except BaseException as exc:
                thrown, step = exc, partial(inner.throw, exc)
            else:
                step = partial(inner.send, sent)
        yield answer
        return None

    return alike(steps, function)


def _begun(function: Callable[..., Any], args: Any, kwargs: Any) -> Generator[Any, Any, Any]:
    # Wrong arguments are raised by the call itself, and this has them raised by the first step.
    return (yield from function(*args, **kwargs))


def watched_async(function: Callable[..., AsyncGenerator[Any, Any]], failed: Failed) -> Callable[..., Any]:
    """The same of an async generator function."""

    async def steps(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        made = Marks()
        thrown: BaseException | None = None
        inner: AsyncGenerator[Any, Any] | None = None
        step: Callable[[AsyncGenerator[Any, Any]], Any] = anext
        while True:
            with marking(made):
                try:
                    inner = inner or function(*args, **kwargs)
                    item = await step(inner)
                except StopAsyncIteration:
                    return
                except (Exception, SystemExit) as exc:
                    if exc is thrown:
                        raise
                    answer = failed(exc, args, kwargs)
                    break
            try:
                sent = yield item
            except GeneratorExit:
                with marking(made):
                    try:
                        await inner.aclose()
                    except (Exception, SystemExit) as exc:
                        failed(exc, args, kwargs)
                raise
            except BaseException as exc:
                thrown, step = exc, partial(_thrown_into, exc=exc)
            else:
                step = partial(_sent_into, value=sent)
        yield answer

    return alike(steps, function)


def _thrown_into(inner: AsyncGenerator[Any, Any], exc: BaseException) -> Any:
    return inner.athrow(exc)


def _sent_into(inner: AsyncGenerator[Any, Any], value: object) -> Any:
    return inner.asend(value)
