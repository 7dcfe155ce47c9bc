"""Regular expressions that are compiled when they are first used: an import should not do the work of a lifetime."""

from __future__ import annotations

import re
from typing import Any, cast

_USES = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")


class _Pattern:
    def __init__(self, source: str, flags: int) -> None:
        self._made_from = (source, flags)

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._made_from)
        # From now on found on the object itself, as fast as on a compiled one.
        self.__dict__.update({use: getattr(compiled, use) for use in (*_USES, "pattern", "flags", "groups")})
        return getattr(compiled, name)


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, later.

    >>> pattern("[0-9]+").sub("#", "a1b22")
    'a#b#'
    """
    return cast("re.Pattern[str]", _Pattern(source, flags))
