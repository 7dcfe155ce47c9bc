"""Where an exception came from, what it holds and what it says, read without trusting it.

An exception can be of anybody's class: what looks like an attribute may be code that raises, and so may `__str__`. What
Python itself keeps (the class, the cause, the context, the members of a group) is read from Python's own slots, which
no class can bend.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from failwell.model import text

# Longer chains have been built only by mistake, or to do harm.
LONGEST_CHAIN: Final = 1_000
_LONGEST_TEXT: Final = 4_000

_CAUSE: Final = vars(BaseException)["__cause__"].__get__
_CONTEXT: Final = vars(BaseException)["__context__"].__get__
_SUPPRESSED: Final = vars(BaseException)["__suppress_context__"].__get__
_MEMBERS: Final = vars(BaseExceptionGroup)["exceptions"].__get__
_ARGS: Final = vars(BaseException)["args"].__get__
_NAME: Final = vars(type)["__name__"].__get__
_QUALNAME: Final = vars(type)["__qualname__"].__get__
_MODULE: Final = vars(type)["__module__"].__get__
_MRO: Final = vars(type)["__mro__"].__get__


def is_a(exc: object, *kinds: type) -> bool:
    """`isinstance`, by the true class alone: `__class__` may be a property that raises."""
    return issubclass(type(exc), kinds)


def cause(exc: BaseException) -> BaseException | None:
    """What `exc` was raised from."""
    return cast("BaseException | None", _CAUSE(exc))


def origin(exc: BaseException) -> BaseException | None:
    """What `exc` was raised from, or while handling."""
    return cause(exc) or (None if _SUPPRESSED(exc) else _CONTEXT(exc))


def underlying(exc: BaseException) -> BaseException | None:
    """The same, where its author hides it from whoever reads the traceback, too: `raise … from None`."""
    return cause(exc) or _CONTEXT(exc)


def members(exc: BaseException) -> tuple[BaseException, ...]:
    """The exceptions in a group; none for all others."""
    return cast("tuple[BaseException, ...]", _MEMBERS(exc)) if is_a(exc, BaseExceptionGroup) else ()


def args(exc: BaseException) -> tuple[Any, ...]:
    """What the exception was made with."""
    return cast("tuple[Any, ...]", _ARGS(exc))


def leaves(exc: BaseException) -> Iterator[BaseException]:
    """The exceptions that a group, and the groups in it, are made of; of one that is no group, itself."""
    # By hand and not by recursion: groups can stand in groups deeper than Python can call. And each group once: a few
    # that hold each other twice stand for more members than there are atoms.
    seen: set[int] = set()
    waiting = [exc]
    while waiting:
        each = waiting.pop()
        if not is_a(each, BaseExceptionGroup):
            yield each
        elif id(each) not in seen:
            seen.add(id(each))
            waiting += reversed(members(each))


def chain(exc: BaseException, *, context: bool = True) -> Iterator[BaseException]:
    """`exc`, the members of a group, and where each came from, nearest first; each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [exc]
    while waiting and len(seen) < LONGEST_CHAIN:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting.append(origin(each) if context else cause(each))
        waiting += reversed(members(each))


def attribute(holder: object, name: str) -> Any:
    """An attribute, or None: also where it is a property that raises."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def class_name(exc: BaseException) -> str:
    """The name of the class."""
    return cast(str, _NAME(type(exc)))


LONGEST_SHOWN: Final = 500
"""Of the text of an exception that a model is shown."""


def shorten_text(text: str) -> str:
    """The beginning of a text that is too long to be shown to a model."""
    text = text.strip()
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def with_words(message: str, words: str) -> str:
    """A sentence of ours, and what somebody else said about it, on one line."""
    return f"{message.removesuffix('.')}: {' '.join(words.split())}" if words.strip() else message


def exc_text(exc: BaseException) -> str:
    """The text of an exception, cut to a size that a log line can bear; empty when there is none to be had."""
    try:
        # Not by its own slicing: what comes back may be of a class derived from str.
        return text(str.__getitem__(str(exc), slice(_LONGEST_TEXT)))
    except Exception:
        return ""


def exc_summary(exc: BaseException) -> str:
    """The class and the text, as a log shows them."""
    what = exc_text(exc)
    name = class_name(exc)
    return f"{name}: {what}" if what else name


def full_names(cls: type) -> Iterator[tuple[type, str]]:
    """A class and what it is derived from, nearest first, each with its full name."""
    for base in _MRO(cls):
        module = _MODULE(base)
        yield base, f"{module}.{_QUALNAME(base)}" if type(module) is str else ""
