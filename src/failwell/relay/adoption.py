"""A file of servers with every stdio server wrapped, and the way back: what is not the wrapping stays byte for byte."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import escape
from itertools import count
from pathlib import Path
from typing import Final

from .config import Entry, NoServer, entries, parsed
from .jsonc import Node, read

BACKUP: Final = ".before-failwell"
"""What the name of the backup ends with."""
_WRAP: Final = "wrap"
_HIDDEN: Final = ("env", "headers")


@dataclass(frozen=True, slots=True)
class Adoption:
    """A file as it would be, and what became of each of its servers."""

    text: str
    changed: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    """Those that stay as they are, and why."""


def relay_command() -> list[str]:
    """How to start this program from anywhere: desktop programs have no PATH."""
    script = Path(sys.argv[0]).absolute()
    if script.name in ("failwell", "failwell.exe") and script.is_file():
        return [_plainly(str(script))]
    beside = Path(sys.executable).with_name("failwell")
    return [_plainly(str(beside))] if beside.is_file() else [_plainly(sys.executable), "-m", "failwell"]


def _plainly(path: str) -> str:
    """A path without steps back. Links stay: whoever upgrades a program changes where they lead. Behind one a step back
    leads elsewhere, so there the path stays as it is."""
    plain = os.path.normpath(path)
    return plain if os.path.exists(plain) and os.path.samefile(plain, path) else path


def _start(command: Sequence[str]) -> int | None:
    """Where in a command the wrapped one begins; None if it is not wrapped."""
    if _WRAP not in command or "--" not in command:
        return None
    # However it is started: by its path, by python -m, by uvx or npx.
    before = list(command)[: list(command).index(_WRAP)]
    if not before or Path(before[-1]).stem.partition("==")[0].partition("@")[0] != "failwell":
        return None
    place = list(command).index("--") + 1
    return place if place < len(command) else None


def _is_bare(entry: Entry) -> bool:
    """Whether it is one that is wrapped by us: on stdio, and not wrapped already."""
    return entry.is_stdio and _start(entry.command) is None


def _is_ours(command: Sequence[str]) -> bool:
    """Whether a command is wrapped as we do it: by a path, and with no option. All else was written by somebody."""
    return Path(command[0]).is_absolute() and list(command)[: _start(command)][-2:] == [_WRAP, "--"]


def unwrapped_command(command: Sequence[str]) -> list[str]:
    """The command of the server itself, whether it is wrapped or not."""
    return list(command)[_start(command) or 0 :]


def adopted(text: str, relay: Sequence[str]) -> Adoption:
    """The text with each stdio server wrapped; doing it twice changes nothing."""
    return _adopted(text, lambda entry: relay)


def _adopted(text: str, relay_of: Callable[[Entry], Sequence[str]]) -> Adoption:
    changes: list[tuple[int, int, str]] = []
    changed: list[str] = []
    left: list[tuple[str, str]] = []
    for entry in entries(read(text)):
        if entry.flaw is not None:
            left.append((entry.name, entry.flaw))
        elif not entry.is_stdio:
            left.append((entry.name, "it is no server on stdio"))
        elif _start(entry.command) is not None:
            left.append((entry.name, "it is wrapped already"))
        else:
            changes += _wrapping(text, entry, relay_of(entry))
            changed.append(entry.name)
    return Adoption(_replaced(text, changes), tuple(changed), tuple(left))


def _wrapping(text: str, entry: Entry, relay: Sequence[str]) -> list[tuple[int, int, str]]:
    command = entry.node["command"]
    front = [*relay[1:], _WRAP, "--"]
    first = ", ".join([*map(json.dumps, front), text[command.start : command.end]])
    mine = (command.start, command.end, json.dumps(relay[0]))
    arguments = entry.node.get("args")
    if arguments is None:
        lead = _indent(text, command)
        return [(mine[0], mine[1], f'{mine[2]},{lead}"args": [{first}]')]
    if not arguments.items:
        return [mine, (arguments.start, arguments.end, f"[{first}]")]
    place = arguments.items[0].start
    # On a line of its own where each argument has one.
    between = f",{_indent(text, arguments.items[0])}" if "\n" in text[arguments.start : place] else ", "
    return [mine, (place, place, first + between)]


def _indent(text: str, node: Node) -> str:
    """What goes before a member that is put after this one: a new line with the same indent, or a blank."""
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    blank = line[: len(line) - len(line.lstrip())]
    # Where more than the name of the member stands before it in its line, the others do too.
    if "\n" not in text[: node.start] or line.strip().count('"') > 2:
        return " "
    return ("\r\n" if "\r\n" in text else "\n") + blank


def returned(text: str, old: str | None = None) -> Adoption:
    """The text with the wrapping taken off that `adopted` put there; all else stays, and so does what somebody has
    wrapped by hand. `old` is the text before it was wrapped; without it, only what looks like our own is taken off."""
    before = None if old is None else {entry.place: entry for entry in entries(read(old))}
    changes: list[tuple[int, int, str]] = []
    changed: list[str] = []
    for entry in entries(read(text)):
        start = _start(entry.command) if entry.is_stdio else None
        was = None if before is None else before.get(entry.place)
        if start is None or not (_is_ours(entry.command) if before is None else was is not None and _is_bare(was)):
            continue
        is_listed = was is None or was.node.get("args") is not None
        command, items = entry.node["command"], entry.node["args"].items
        # The command itself is no argument.
        inner = items[start - 1]
        is_added = not is_listed and start == len(items) and 0 <= text.find('"args"', command.end) < items[0].start
        if is_added:
            # The list came with the wrapping, right after the command.
            changes.append((command.start, entry.node["args"].end, text[inner.start : inner.end]))
            changed.append(entry.name)
            continue
        changes.append((command.start, command.end, text[inner.start : inner.end]))
        after = items[start].start if start < len(items) else entry.node["args"].end - 1
        changes.append((items[0].start, after, ""))
        changed.append(entry.name)
    return Adoption(_replaced(text, changes), tuple(changed), ())


def _replaced(text: str, changes: list[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def shown(text: str) -> str:
    """The text as it may be printed: the values of variables and headers stay in the file, and so do secrets in
    arguments and addresses."""
    # Here, since a server is also taken from such a file, and nothing is shown of it then.
    from failwell.redact import masked

    from .own_secrets import told_arguments

    changes = []
    for entry in entries(read(text)):
        for name in _HIDDEN:
            node = entry.node.get(name)
            changes += [(each.start, each.end, '"(kept)"') for each in (node.members.values() if node else ())]
        arguments = entry.node.get("args")
        words = arguments.items if arguments else []
        told = [*zip(words, told_arguments([word.value for word in words]), strict=True)]
        if arguments is not None and isinstance(arguments.value, str):
            # No list, but written for a command line.
            told.append((arguments, " ".join(told_arguments(arguments.value.split(" ")))))
        if (url := entry.node.get("url")) is not None:
            told.append((url, masked(url.value)))
        changes += [
            # What is no text stands there as it is, unless it was a secret.
            (node.start, node.end, json.dumps(new, ensure_ascii=False))
            for node, new in told
            if new not in (node.value, str(node.value))
        ]
    return _replaced(text, changes)


def text_of(path: Path) -> str:
    """The text of a file that can be changed; it raises `NoServer`."""
    if path.exists() and not path.is_file():
        # A pipe would be waited for, and a device has no end.
        raise NoServer(f"{path} is no file")
    return parsed(path)[0]


def write(path: Path, relay: Sequence[str]) -> Adoption:
    """Wrap the servers of a file, with a backup beside it; it raises `NoServer`."""
    path = path.resolve()
    text = text_of(path)
    adoption = adopted(text, relay)
    if not adoption.changed:
        return adoption
    backup, old = _backup(path), _old(path)
    before = Adoption(text, (), ()) if old is None else _restored(text, old)
    if not before.changed and backup.exists():
        raise NoServer(f"{backup.name} is there already, beside {path.name}: move it away first")
    _check_writable(path)
    if before.text != old:
        if backup.exists():
            # The file was changed since, and what it was before is not to be had from anywhere else.
            backup.rename(_free(backup))
        # What `undo` gives back, and by which it knows what was wrapped here.
        _put(backup, before.text, path)
    _put(path, adoption.text, path)
    return adoption


def undo(path: Path) -> Adoption:
    """Take the wrapping off that `write` put there: byte for byte the old file if nobody changed it since."""
    path = path.resolve()
    text = text_of(path)
    old = _old(path)
    if old is None:
        return Adoption(text, (), ())
    back = _restored(text, old)
    if back.text != text:
        _check_writable(path)
        _put(path, back.text, path)
    if back.text == old and back.changed:
        _backup(path).unlink(missing_ok=True)
    return back


def backup_of(path: Path) -> Path | None:
    """Where the file before it was wrapped is kept, if it is."""
    backup = _backup(path.resolve())
    return backup if backup.exists() else None


def older_backups_of(path: Path) -> list[Path]:
    """What the file was before it was wrapped, changed, and wrapped again."""
    backup = _backup(path.resolve())
    found = backup.parent.glob(f"{escape(backup.name)}-*")
    return sorted(each for each in found if each.name.removeprefix(f"{backup.name}-").isdecimal())


def _old(path: Path) -> str | None:
    """The text before it was wrapped, if that is what the backup holds."""
    try:
        return text_of(_backup(path))
    except NoServer:
        return None


def _restored(text: str, old: str) -> Adoption:
    """The text before it was wrapped: the old one where that was wrapped and nothing else, by this program, wherever it
    was then."""
    back = returned(text, old)
    now = {entry.place: entry for entry in entries(read(text)) if entry.is_stdio and _WRAP in entry.command}

    def then(entry: Entry) -> Sequence[str]:
        command = now[entry.place].command if entry.place in now else [""]
        return command[: command.index(_WRAP)] if _WRAP in command else command

    return Adoption(old, back.changed, ()) if _adopted(old, then).text == text else back


def _check_writable(path: Path) -> None:
    """Who made a file read-only does not want it changed: replacing it would need no leave of the file's."""
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise NoServer(f"cannot write {path}: it is read-only")


def _free(backup: Path) -> Path:
    return next(each for n in count(1) if not (each := backup.with_name(f"{backup.name}-{n}")).exists())


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _put(path: Path, text: str, like: Path) -> None:
    """Write a file in one step, with the mode of another one."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
        Path(name).chmod(like.stat().st_mode & 0o7777)
        os.replace(name, path)
    except OSError as problem:
        raise NoServer(f"cannot write {path}: {problem.strerror or problem}") from None


__all__ = [
    "Adoption",
    "adopted",
    "backup_of",
    "older_backups_of",
    "relay_command",
    "returned",
    "shown",
    "text_of",
    "undo",
    "unwrapped_command",
    "write",
]
