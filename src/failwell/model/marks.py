"""Where in a tool its effects are: marked by the author, so that a failure elsewhere can say what was done."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from types import CodeType, TracebackType
from typing import Any, Final, Literal

from .codes import Effect

# How many marks were passed so far where nobody knows by which call: in a thread of a pool, or by a worker for others.
_strayed = 0


class Marks:
    """The marked places that one call of a tool has passed."""

    # Defaults of the class: there are marks for every call, and most calls change one or two of them.
    finished: int = 0
    open: int = 0
    broken: int = 0
    parts: int = 0
    undone: bool = False
    """Whether the last of the marked work was undone."""
    has_run: bool = False
    """Whether the tool itself came to its end: what fails after that is middleware."""
    runs: tuple[Effect | None, ...] = ()
    """The effect of each failed run of the tool in the same call, since middleware may run it again."""
    said: str = ""
    """What the tool said in an error that it returned."""
    is_over: bool = False
    """Whether the call was answered. Who passes a mark after that works for another one."""

    def __init__(self) -> None:
        self._before = _strayed

    @property
    def is_complete(self) -> bool:
        """Whether no mark was passed meanwhile that may as well be of this call."""
        return self._before == _strayed

    @property
    def effect(self) -> Effect | None:
        """What was done by now, as far as the marks tell; None before the first of them, and where all was undone."""
        if self.open or self.broken:
            return Effect.PARTIAL if self.finished or self.parts else Effect.UNKNOWN
        if self.finished or self.parts:
            return Effect.PARTIAL if self.undone else Effect.DONE
        return None


marks: ContextVar[Marks | None] = ContextVar("failwell_marks", default=None)
"""The marks of the call that is being answered; there are none where nobody would ask for them."""


@contextmanager
def marking(held: Marks | None = None) -> Iterator[None]:
    """Around a call of a function: its marks are its own, unless somebody further out keeps them already.

    `held` are those of the steps before, of a function that is left and entered again, as a generator is.
    """
    if marks.get() is not None:
        yield
        return
    token = marks.set(made := held or Marks())
    try:
        yield
    finally:
        made.is_over = held is None
        marks.reset(token)


def marked_effect(exc: BaseException) -> Effect | None:
    """What the author's marks say of a call that ended so; None if there are none."""
    passed = marks.get()
    if passed is None:
        # Nobody has kept them. Where the exception came from says at least whether the first of them was reached.
        return Effect.UNKNOWN if _is_past_marks(exc) else None
    is_before = _marks_own_effects(exc) and not _is_past_marks(exc)
    effect = passed.effect
    if effect is not None:
        # Above the first mark, in another round of a loop.
        return Effect.PARTIAL if effect is Effect.DONE and is_before else effect
    if not passed.is_complete:
        return Effect.UNKNOWN
    # Not reached yet, or undone, by a tool that marks its effects: the rest of it has none, by its author's word.
    is_none = _marks_own_effects(exc) if passed.undone else is_before
    return Effect.NONE if is_none else None


class effects:
    """Mark the part of a tool that changes something: `with failwell.effects():`.

    An exception before it says that nothing was done, inside it that nobody knows, and after it that it was done. Where
    the work has several parts, say when one of them is done:

    >>> with effects() as work:
    ...     for post in ("a", "b"):
    ...         work.part()

    A failure after the first part says that it was done in part. Around a call that failed and is known to have done
    nothing, or whose work was taken back, catch its exception and say so, in the block or after it: `work.undone()`.
    Where nothing else was done, whatever is raised then says that nothing was done.

    Whoever marks one effect in the function of a tool marks all of them: what it does above the first mark, and after
    everything was undone, counts as nothing.
    """

    __slots__ = ("_counted", "_marks", "_parts")

    def __init__(self) -> None:
        self._marks = Marks()
        self._counted: Literal["", "open", "finished", "broken"] = ""
        """As what the marks count this work."""
        self._parts = 0

    def __enter__(self) -> effects:
        held = marks.get()
        if held is None or held.is_over:
            global _strayed
            _strayed += 1
            held = Marks()
        # Of the call in which it is entered, wherever it was made.
        self._marks, self._counted, self._parts = held, "", 0
        self._count("open")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What was undone inside stays so.
        if self._counted == "open":
            self._count("finished" if kind is None else "broken")
            self._marks.undone = False

    def part(self) -> None:
        """One part of the work is done."""
        self._parts += 1
        self._marks.parts += 1

    def undone(self) -> None:
        """Nothing of this work was done, or all of it was taken back."""
        self._count("")
        self._marks.parts -= self._parts
        self._marks.undone = True
        self._parts = 0

    def _count(self, state: Literal["", "open", "finished", "broken"]) -> None:
        for name, change in ((self._counted, -1), (state, 1)):
            if name:
                setattr(self._marks, name, getattr(self._marks, name) + change)
        self._counted = state


_MOST_FRAMES: Final = 2_000


def frames(exc: BaseException) -> list[TracebackType]:
    """The functions that an exception went through, the outermost first."""
    found: list[TracebackType] = []
    trace = exc.__traceback__
    while trace is not None and len(found) < _MOST_FRAMES:
        found.append(trace)
        trace = trace.tb_next
    return found


def marks_effects(code: CodeType, names: Mapping[str, Any]) -> bool:
    """Whether a function says where its effects are. `names` are its globals: others have effects of their own."""
    if "effects" not in code.co_names:
        return False
    known = names.get("effects") is effects
    return known or any(getattr(names.get(name), "effects", None) is effects for name in code.co_names)


def _marks_own_effects(exc: BaseException) -> bool:
    """Whether the outermost function of an author's that an exception came out of marks its effects.

    Where a function without marks called the one that has them, nobody says what that one did before. A decorator's
    marks are about itself: it has called a function that it was made for.
    """
    own = [trace for trace in frames(exc) if not is_frameworks_module(trace.tb_frame.f_globals.get("__name__"))]
    if not own or not _marks(own[0]):
        return False
    for trace, inner in pairwise(own):
        frame, code = trace.tb_frame, inner.tb_frame.f_code
        held = (frame.f_locals.get(name) for name in frame.f_code.co_freevars)
        if _marks(trace) and any(getattr(each, "__code__", None) is code for each in held):
            return False
    return True


def _is_past_marks(exc: BaseException) -> bool:
    """Whether an exception came out of a function that says where its effects are, from that place or after it.

    Of a function that failed above its first mark, in the order of its code, this takes the author's word that it has
    marked all its effects. What stands below, in another branch, says nothing.
    """
    return any(trace.tb_lasti >= _first_mark(trace.tb_frame.f_code) for trace in frames(exc) if _marks(trace))


def _marks(trace: TracebackType) -> bool:
    return marks_effects(trace.tb_frame.f_code, trace.tb_frame.f_globals)


# Whose functions may stand between a call and its tool without having done anything.
_FRAMEWORKS: Final = frozenset(
    """
    failwell mcp mcp_types fastmcp pydantic pydantic_core anyio sniffio starlette uvicorn opentelemetry langchain_core
    langchain langgraph langsmith pydantic_ai pydantic_graph agents anthropic openai httpx httpx2
    """.split()
)


@lru_cache(maxsize=4096)
def is_frameworks_module(module: object) -> bool:
    """Whether a module, by its name, is of a framework or of Python, and so of nobody who wrote a tool."""
    package = module.partition(".")[0] if isinstance(module, str) else ""
    return package in _FRAMEWORKS or (package in sys.stdlib_module_names and package != "__main__")


@lru_cache(maxsize=1024)
def _first_mark(code: CodeType) -> int:
    # Only now: it takes longer to import than everything here.
    import dis

    return min((each.offset for each in dis.get_instructions(code) if each.argval == "effects"), default=0)
