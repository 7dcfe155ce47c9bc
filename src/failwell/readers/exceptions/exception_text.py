"""What an exception says, read without trusting it: its `__str__` may raise, lie about its type, or never end."""

from __future__ import annotations

import sys
import time
from types import FrameType, FunctionType
from typing import Any

from failwell.model import text

from .chain import class_name

LONGEST = 4_000
_PATIENCE = 0.1


class _TooSlow(BaseException):
    """Not an Exception, so that what is too slow cannot catch it in passing."""


def said(exc: BaseException) -> str:
    """The text of an exception, cut to a size that a log line can bear; empty when there is none to be had."""
    try:
        hurry = type(type(exc).__str__) is FunctionType and sys.gettrace() is None
        # Not by its own slicing: what comes back may be of a class derived from str.
        return text(str.__getitem__((_hurried if hurry else str)(exc), slice(LONGEST)))
    except (Exception, _TooSlow):
        return ""


def named(exc: BaseException) -> str:
    """The class and the text, as a log shows them."""
    what = said(exc)
    name = class_name(exc)
    return f"{name}: {what}" if what else name


def _hurried(exc: BaseException) -> str:
    """`str(exc)` of somebody's own code, stopped when it takes longer than any text is worth."""
    deadline = time.monotonic() + _PATIENCE

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        # Called for each line, and each time a loop comes round.
        if time.monotonic() > deadline:
            raise _TooSlow
        return watch

    sys.settrace(watch)
    try:
        return str(exc)
    finally:
        sys.settrace(None)
