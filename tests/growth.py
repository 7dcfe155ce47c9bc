"""How work grows with its input, without a clock: a busy machine changes nothing.

What runs in Python is counted, line by line. What runs in C (regular expressions above all) cannot be counted: it is given
so much that anything worse than linear takes minutes of this process's own CPU, and ended when it has had them. How fast
it is, and how the time grows, is measured by `tools/bench_growth.py`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

# Of CPU, not of time. What is bounded by it takes about one, or much less.
CPU_SECONDS = 30


def steps(work: Callable[[], object]) -> int:
    """How many lines of Python run, in all that is called."""
    lines = 0

    def each(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += 1
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


def outgrown(work: Callable[[str], object], text: Callable[[int], str], length: int = 1_000) -> str | None:
    """What is wrong if four times the text takes far more than four times the steps, and again four times that."""
    work(text(length // 8))
    counted = [steps(lambda: work(text(length))), steps(lambda: work(text(4 * length)))]
    if counted[1] <= 6 * counted[0]:
        return None
    # One that is only looked at when it is long enough, or that was known already. Once before that: what is compiled when
    # a text is first long enough to need it is no growth.
    work(text(16 * length))
    counted.append(steps(lambda: work(text(16 * length))))
    return (
        None
        if counted[2] <= 6 * counted[1] + 2 * length
        else f"{text(20)!r}: {counted} steps for {length} characters and more"
    )


def repeated(unit: str) -> Callable[[int], str]:
    """The text of any length that says this again and again."""
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def wrong_growth(work: Callable[[str], object], units: Iterable[str], longest: int) -> list[str]:
    """The units of which a long text is too much work. What runs much Python for a character need not be so long."""
    wrong = []
    for unit in units:
        text = repeated(unit)
        problem = outgrown(work, text)
        if problem is not None:
            wrong.append(problem)
            continue
        busy = steps(lambda text=text: work(text(2_000))) > 2_000  # type: ignore[misc]
        with ending():
            work(text(min(longest, 20_000) if busy else longest))
    return wrong


class TooMuch(BaseException):
    pass


@contextmanager
def ending(cpu_seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Fails what does not come to an end."""
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def stop(*_: object) -> None:
        raise TooMuch

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    try:
        yield
    except TooMuch:
        pytest.fail("It takes far more than linear time.", pytrace=False)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
