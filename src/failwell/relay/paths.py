"""Where things lie on the machine of whoever runs a server is not for the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from failwell.model import compact

# Roots of file systems: a path of an address, such as /v1/users, begins with something else.
_PATH: Final = re.compile(
    r"(?<![\w./:\\])(?:/(?:home|Users|root|usr|opt|srv|var|tmp|etc|app|private|mnt|nix|Library|workspace|build)"
    r"(?:/[^\s'\"`,;:(){}\[\]<>|]+)+|[A-Za-z]:\\(?:[^\s'\"`,;:(){}\[\]<>|\\]+\\)+[^\s'\"`,;:(){}\[\]<>|]+)"
)


def without_paths(text: str, sent: Mapping[str, Any]) -> str:
    """The text with the last part of each absolute path only, but for what the caller sent itself."""
    if "/" not in text and ":\\" not in text:
        return text
    asked = compact(dict(sent)) if sent else ""

    def short(found: re.Match[str]) -> str:
        path = found[0].rstrip(".")
        if path in asked or any(part in asked for part in _parents(path)):
            return found[0]
        return "…/" + re.split(r"[\\/]", path)[-1] + found[0][len(path) :]

    return _PATH.sub(short, text)


def _parents(path: str) -> list[str]:
    """The longer beginnings of a path: who names a folder knows what lies in it."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(3, len(parts))]
