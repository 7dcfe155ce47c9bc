"""What an exception says, read without trusting it: its `__str__` may raise, or lie about its type."""

from __future__ import annotations

from failwell.model import text

from .chain import class_name

LONGEST = 4_000


def said(exc: BaseException) -> str:
    """The text of an exception, cut to a size that a log line can bear; empty when there is none to be had."""
    try:
        # Not by its own slicing: what comes back may be of a class derived from str.
        return text(str.__getitem__(str(exc), slice(LONGEST)))
    except Exception:
        return ""


def named(exc: BaseException) -> str:
    """The class and the text, as a log shows them."""
    what = said(exc)
    name = class_name(exc)
    return f"{name}: {what}" if what else name
