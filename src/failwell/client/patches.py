"""Corrections that need nobody to think."""

from __future__ import annotations

from typing import Any

from failwell.formats import mends_all
from failwell.model import ToolError, apply_patch


def patched(error: ToolError, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """A `fix` that applies what the server proposes, where the proposal is enough to make the call right.

    >>> error = ToolError("No argument 'limt'.", patch=[{"op": "rename", "path": ["limt"], "to": "limit"}])
    >>> patched(error, {"limt": 5})
    {'limit': 5}
    """
    if not error.patch or not mends_all(error):
        return None
    return apply_patch(arguments, error.patch)
