"""What an exception says about the one operation that raised it, and what it does not say about the whole call."""

from __future__ import annotations

import failwell as fw
from failwell.model import Effect
from failwell.readers import classify
from failwell.readers.exceptions.exception_table import operation


def classified(exc: BaseException) -> fw.ToolError:
    """What `exc` means for the operation. Of the whole call it is only quoted, and never says that nothing was done."""
    one, call = operation(exc), classify(exc)
    assert call.standing == "quoted"
    assert call.effect is (None if one.effect is Effect.NONE else one.effect)
    assert call.replace(effect=one.effect) == one
    return one
