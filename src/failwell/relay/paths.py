"""Where things lie on the machine of whoever runs a server, and the way through its files, are not for the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from failwell.guards import gathered, uncoloured
from failwell.model import ToolError, compact
from failwell.readers import trace_line

# Roots of file systems: a path of an address, such as /v1/users, begins with something else.
_ROOTS: Final = (
    "home|Users|root|usr|opt|srv|var|tmp|etc|app|private|mnt|nix|Library|workspace|build|data|nfs|media|Volumes|export"
    "|run|proc|lib|lib64|snap|scratch|efs|work|code|System|Applications|cygdrive"
)
_PART: Final = r"[^\s'\"`,;:(){}\[\]<>|\\/]+"
_QUOTED_PART: Final = r"[^\s'\"`,;:(){}\[\]<>|\\/%&?#=]|%(?!2[Ff])"
# Of a name with a space in it only what goes on as a path is one.
_FOLDER: Final = rf"(?:{_PART}(?: {_PART}){{0,3}}[\\/]{{1,2}})"
# In an address a path follows the name of a host: so it begins after no word, and after `//` only where there is none.
# The option of one letter that stands before its value, and the number of a line in a list, are no hosts.
_AT_ROOT: Final = (
    r"/(?:(?<![\w./\\]/)(?<!GET /)(?<!PUT /)(?<!POST /)(?<!HEAD /)(?<!PATCH /)(?<!DELETE /)|(?<=:///)|(?<=:////)"
    r"|(?<=-[A-Za-z]/)(?<![^\s'\"`=(,\[]-[A-Za-z]/)|(?<=\d\./)(?<![\w./:-]\d\./))"
)
# Of these schemes what follows the host is a path on its disk.
_REMOTE: Final = r"(?:ssh|sftp|scp|rsync)://[^\s/'\"]{1,200}"
_PATH: Final = re.compile(
    rf"{_AT_ROOT}(?:{_ROOTS})(?:/+{_PART})+"
    # With each sign twice; behind a scheme, or a word, it would be a host.
    rf"|(?<![\w:./\\])//{{1,3}}(?:{_ROOTS})(?:/{{2,4}}{_PART})+"
    r"|(?<![\w./\\])(?:"
    rf"(?:file:(?://[\w.-]*)?|{_REMOTE})/(?:{_ROOTS})(?:/+{_PART})+"
    rf"|file://[\w.-]*(?:/+[A-Za-z]:)?(?:/+{_PART})+"
    rf"|%2[Ff](?:{_ROOTS})(?:(?:%2[Ff])+(?:{_QUOTED_PART})+)+"
    rf"|(?<!:)[A-Za-z]:[\\/]{{1,2}}{_FOLDER}+{_PART}"
    rf"|(?<!:)\\{{2,4}}[\w.$-]+\\{{1,2}}{_FOLDER}*{_PART})"
)
# The number that an operating system gives to what stands behind it in words.
_NUMBER: Final = re.compile(r"\[(?:Errno|WinError) -?\d{1,6}\] ?(?=\w)")
_SEPARATOR: Final = re.compile(r"(?:[\\/]|%2[Ff])+")
# What is to be sent is left as it is, or it is something else: `actions`, `patch` and `verify`.
_TOLD: Final = frozenset(
    {"message", "suggestion", "next_steps", "notes", "details", "meta", "policy_decision", "fields", "conflicts"}
)
_SENT: Final = frozenset({"sent", "options"})
_OPAQUE: Final = frozenset({"data", "blob"})


def has_places(text: str) -> bool:
    """Whether there may be a path in a text."""
    return "/" in text or "\\" in text or "%2" in text


def without_paths(text: str, sent: Mapping[str, Any]) -> str:
    """The text with the last part of each absolute path only, but for what the caller sent itself."""
    if not has_places(text):
        return text
    seen = _as_read(text)
    asked = _SEPARATOR.sub("/", compact(dict(sent))) if sent else ""

    def short(found: re.Match[str]) -> str:
        path = found[0].rstrip(".")
        parts = _SEPARATOR.split(path.removeprefix("file://").removeprefix("file:"))
        if asked and any(beginning in asked for beginning in _beginnings(parts)):
            return found[0]
        return f"…/{parts[-1]}{found[0][len(path) :]}"

    told = _PATH.sub(short, seen)
    return told if told != seen else text


def _as_read(text: str) -> str:
    """A text as paths are looked for in it: nothing parts them, and JSON of PHP has no signs before theirs."""
    text = uncoloured(text)
    return text.replace("\\/", "/") if "\\/" in text else text


def _beginnings(parts: list[str]) -> list[str]:
    """The path and its longer beginnings: who names a folder knows what lies in it."""
    return ["/".join(parts[:count]) for count in range(min(3, len(parts)), len(parts) + 1)]


def without_places(value: Any, sent: Mapping[str, Any]) -> Any:
    """A JSON value in whose texts nobody reads where in its files a server broke, nor where these lie: some clients
    show it to the model."""
    if isinstance(value, str):
        return without_paths(trace_line(value) or value, sent)
    if isinstance(value, Mapping):
        kept = _SENT | _OPAQUE if isinstance(value.get("mimeType"), str) else _SENT
        return gathered(
            (without_places(name, sent), part if name in kept else without_places(part, sent))
            for name, part in value.items()
        )
    return [without_places(part, sent) for part in value] if isinstance(value, (list, tuple)) else value


def placeless(error: ToolError, sent: Mapping[str, Any]) -> ToolError:
    """The error as it may be told."""
    changed = {}
    for name in error._given:
        if name in _TOLD:
            plain = _plain(getattr(error, name))
            told = without_places(plain, sent)
            if isinstance(told, str) and "rr" in told:
                told = _NUMBER.sub("", told)
            if told != plain:
                changed[name] = told
    return error.replace(**changed) if changed else error


def _plain(value: Any) -> Any:
    return (
        [part if isinstance(part, str) else part.to_dict() for part in value]
        if isinstance(value, (list, tuple))
        else value
    )
