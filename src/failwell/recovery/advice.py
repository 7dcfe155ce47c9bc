"""What a server's own words say to do."""

from __future__ import annotations

import re
from typing import Final

from failwell.model import ToolError

_LONGEST: Final = 1_000
_VERBS: Final = (
    "use|try|run|call|check|make sure|ensure|set|provide|install|add|specify|log in|sign in|start|create|pass|choose"
    "|select|open"
)
_ADVICE: Final = re.compile(rf"(.{{3,}}?[.!]) ((?i:(?:please |first,? )?(?:{_VERBS})) .{{3,}})")


def advised(error: ToolError) -> ToolError:
    """A failure whose own words end with what to do, told apart: then nothing is to be added to them."""
    if error.standing != "quoted" or error.suggestion or error.fields or len(error.message) > _LONGEST:
        return error
    found = _ADVICE.fullmatch(error.message)
    return error if found is None else error.replace(message=found[1], suggestion=found[2])
