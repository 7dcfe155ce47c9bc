"""Where things lie on the machine of whoever runs a server, and the way through its files, are not for the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from failwell.guards import gathered, uncoloured
from failwell.model import ToolError, compact
from failwell.readers import trace_line

# Roots of file systems: a path of an address, such as /v1/users, begins with something else.
_ROOTS: Final = (
    "home|Users|root|usr|opt|srv|var|tmp|etc|app|private|mnt|nix|Library|workspace|build|data|nfs|media|Volumes|export"
    "|run|proc|lib|lib64|snap|scratch|efs|work|code|System|Applications|cygdrive|kaggle|databricks|dbfs|lambda|codebuild"
    r"|__w|vercel|sdcard|storage/emulated|dev/shm|github/(?:workspace|home|workflow)|vol(?:ume)?\d{1,3}|u\d{2}|[a-z]/Users"
    # Some API has them, too: there a number follows.
    r"|(?:workspaces|builds|sandbox|repo)(?!/+\d+(?![\w.-]))"
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
# What operating systems say of a path, and how it is named beside that: whatever its root, it is one of a machine.
_TROUBLE: Final = (
    "(?i:no such file or directory|file exists|(?:is|not) a directory|directory not empty|read-only file system"
    "|file name too long|invalid cross-device link|too many levels of symbolic links|text file busy|stale file handle"
    "|exec format error)"
)
_REFUSED: Final = "(?i:permission denied|operation not permitted)"
_CALL: Final = (
    r"\b(?:open(?:at|dir|file)?|l?stat|mkdir|rmdir|unlink|remove|rename|link|symlink|readlink|chmod|chown|chdir|scandir|access"
    r"|truncate|copyfile|exec|fork/exec|read|write)"
)
_PROGRAM: Final = (
    r"(?<![\w.-])(?!error|fatal|warning)[a-z][\w.-]{1,30}:(?: line \d+:)? (?:cannot [a-z ]{4,40} ['\"`]?)?"
)
_ANY: Final = rf"(?<![\w./\\])/{_PART}(?:/+{_PART})++"
_QUOTED: Final = r"(?P<mark>['\"`])(?P<quoted>/(?:(?!(?P=mark))[^\r\n]){1,4000}+)(?P=mark)"
_NAMED: Final = re.compile(
    # ENOENT: no such file or directory, open '/a/b'; [Errno 2] No such file or directory: '/a/b'
    r"(?:\bE[A-Z]{3,14}: [^\r\n'\"/]{3,80}, \w{2,20} |\[(?:Errno|WinError) -?\d{1,6}\] [^\r\n'\"/:]{3,80}: "
    rf"|{_TROUBLE}(?: \(os error \d+\))?(?:: |, \w{{2,20}} | @ \w{{2,40}} - | - )|{_REFUSED}: (?=['\"`])"
    r"|\b(?:FileNotFound|NoSuchFile|AccessDenied|FileAlreadyExists|NotDirectory|DirectoryNotEmpty)Exception: "
    r"|\bCould not find (?:file|a part of the path|directory) |\bAccess to the path "
    r"|\bsyscall['\"]?: ?['\"]\w{2,20}['\"],\s{0,20}['\"]?path['\"]?: ?)"
    rf"(?:{_QUOTED}(?: -> (?P=mark)(?P<other>/(?:(?!(?P=mark))[^\r\n]){{1,4000}}+)(?P=mark))?|['\"`]?(?P<bare>{_ANY}))"
    # open /a/b: no such file or directory; cat: /a/b: Permission denied; /a/b (Permission denied)
    rf"|(?P<before>{_ANY})['\"`]?\)?(?:: (?:[Ff]ailed to open stream: )?| \(){_TROUBLE}"
    rf"|(?:{_CALL} ['\"`]?|{_PROGRAM})(?P<denied>{_ANY})['\"`]?(?:: | \(){_REFUSED}"
)
# Words without which nothing of that is there, since most failures are about no file: first looks are cheap.
_NAMING: Final = (
    *("directory", "file exists", "file system", "name too long", "cross-device", "symbolic", "busy", "stale"),
    *("exec format", "denied", "not permitted", "[errno ", "[winerror ", "exception: ", "could not find"),
    *("access to the path", "syscall"),
)
_CODED: Final = re.compile(r"E[A-Z]{3,14}: ")
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

    def short(found: str) -> str:
        path = found.rstrip(".")
        parts = _SEPARATOR.split(path.removeprefix("file://").removeprefix("file:"))
        if asked and any(beginning in asked for beginning in _beginnings(parts)):
            return found
        return f"…/{parts[-1]}{found[len(path) :]}"

    told = _NAMED.sub(lambda found: _in_place(found, short), seen) if _may_name(seen) else seen
    told = _PATH.sub(lambda found: short(found[0]), told)
    return told if told != seen else text


def _may_name(text: str) -> bool:
    """Whether an operating system may name a path in a text."""
    if "/" not in text:
        return False
    plain = text.lower()
    return any(word in plain for word in _NAMING) or _CODED.search(text) is not None


def _in_place(found: re.Match[str], short: Callable[[str], str]) -> str:
    """What was found, with each path that is named in it made short."""
    told, at = "", found.start()
    for name in ("quoted", "other", "bare", "before", "denied"):
        path = found[name]
        if path is not None and len(_SEPARATOR.findall(path)) > 1:
            told += found.string[at : found.start(name)] + short(path)
            at = found.end(name)
    return told + found.string[at : found.end()]


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
