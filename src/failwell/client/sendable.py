"""What of a call can be sent at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from failwell.model import ToolError
from failwell.recovery import NEVER_SENT

_LARGE: Final = 1 << 63


def given(name: object, arguments: object) -> Mapping[str, Any]:
    """The arguments of a call as it was given to `Recovering`. What is no call is its program's mistake, which is
    raised: no model could do anything about it."""
    if not isinstance(name, str):
        raise TypeError(f"call_tool() takes the name of a tool, a text, not {name!r}.")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise TypeError(f"call_tool() takes the arguments as a dict, not as {type(arguments).__name__}.")
    return arguments or {}


def is_plain(values: Mapping[Any, Any]) -> bool:
    """Whether arguments can be sent beyond doubt: short enough numbers and plain texts, as most are."""
    for name, value in values.items():
        if type(name) is not str or not name.isascii():
            return False
        if type(value) is str:
            if not value.isascii():
                return False
        elif type(value) is int:
            if not -_LARGE < value < _LARGE:
                return False
        elif value is not None and type(value) not in (bool, float):
            return False
    return True


def unsendable(values: Mapping[Any, Any], what: str = "The arguments") -> ToolError | None:
    """Why a part of a call cannot be sent. A model can write half a character, and that would end all calls."""
    try:
        # What JSON does not know is the SDK's to write.
        json.dumps(values, ensure_ascii=False, default=_opaque).encode()
        if all(type(name) is str for name in values):
            return None
        why = "their names must be texts"
    except UnicodeEncodeError:
        why = "they hold half of a surrogate pair, which is no character"
    except (TypeError, ValueError, RecursionError):
        why = "they are no JSON"
    return ToolError(f"{what} cannot be sent: {why}.", code="VALIDATION_ERROR", **NEVER_SENT)


def _opaque(value: object) -> None:
    return None
