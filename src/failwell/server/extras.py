"""A word about the arguments that a tool does not have and that were let pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from failwell.formats import keys
from failwell.readers import unknown_arguments
from failwell.schema import known_names

from .served_call import ServedCall

if TYPE_CHECKING:
    from .served_call import Facts

IGNORED: Final = keys.IGNORED_ARGUMENTS
"""The key in the `_meta` of a result under which stand the arguments that the tool does not have."""

LET_PASS: Final = ("warn", "allow")
"""With these the author lets arguments pass that a tool does not have, and that its framework would refuse."""


def note(call: ServedCall, unknown: list[str], tool: Facts, extra: str) -> None:
    """A word about the arguments that were ignored: beside the result if the author wants it, else in its `_meta`."""
    if not unknown or extra not in ("warn", "note"):
        return
    if extra == "note":
        call.ignored = tuple(name[:_LONGEST_NAME] for name in unknown[:_MOST_NAMES])
        return
    known = list(known_names(tool.schema))
    remark = unknown_arguments(unknown, known, tool=tool.name, schema=tool.schema, arguments=call.arguments)
    names = ", ".join(repr(name[:50]) for name in unknown[:5])
    remark = remark.replace(
        message=f"These arguments do not exist and were ignored: {names}.", severity="warning", suggestion=None
    )
    call.remarks += (remark,)


_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 100
