"""A file of servers with every stdio server wrapped, and the way back: what is not the wrapping stays byte for byte."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .config import Entry, NoServer, entries, parsed
from .jsonc import Node, read

BACKUP: Final = ".before-failwell"
"""What the name of the backup ends with."""
_WRAP: Final = "wrap"
_HIDDEN: Final = ("env", "headers")
_TRIES: Final = 20
_MOMENT: Final = 0.02


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


def unwrapped_command(command: Sequence[str]) -> list[str]:
    """The command of the server itself, whether it is wrapped or not."""
    return list(command)[_start(command) or 0 :]


def adopted(text: str, relay: Sequence[str], options: Sequence[str] = ()) -> Adoption:
    """The text with each stdio server wrapped, with these options of `wrap`; doing it twice changes nothing."""
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
            changes += _wrapping(text, entry, [*relay, _WRAP, *options, "--"])
            changed.append(entry.name)
    return Adoption(_replaced(text, changes), tuple(changed), tuple(left))


def _wrapping(text: str, entry: Entry, relay: Sequence[str]) -> list[tuple[int, int, str]]:
    command = entry.node["command"]
    first = ", ".join([*map(json.dumps, relay[1:]), text[command.start : command.end]])
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


def returned(text: str, old: str) -> Adoption:
    """The text with the wrapping taken off that `adopted` put there; all else stays, and so does what somebody has
    wrapped by hand. `old` is the text before it was wrapped: it tells which is which, and how the rest was written."""
    before = {entry.place: entry for entry in entries(read(old)) if entry.is_stdio and _start(entry.command) is None}
    changes: list[tuple[int, int, str]] = []
    changed: list[str] = []
    for entry in entries(read(text)):
        start = _start(entry.command) if entry.is_stdio else None
        was = before.get(entry.place)
        if start is None or was is None:
            continue
        changed.append(entry.name)
        command, words, listed = entry.node["command"], entry.node["args"], was.node.get("args")
        # The command itself is no argument.
        inner, rest = words.items[start - 1], words.items[start:]
        changes.append((command.start, command.end, text[inner.start : inner.end]))
        if listed is None and not rest and text[command.end : words.start].count(",") == 1:
            # The list came with the wrapping, right after the command.
            changes.append((command.end, words.end, ""))
        elif listed is not None and [item.value for item in rest] == listed.value:
            changes.append((words.start, words.end, old[listed.start : listed.end]))
        else:
            changes.append((words.items[0].start, rest[0].start if rest else words.end - 1, ""))
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


def write(path: Path, relay: Sequence[str], options: Sequence[str] = ()) -> Adoption:
    """Wrap the servers of a file, with a backup beside it; it raises `NoServer`."""
    path = path.resolve()
    backup = backup_of(path)
    with _locked(path):
        old = _old(backup)

        def wrapped(text: str) -> Adoption:
            made = adopted(text, relay, options)
            if made.changed:
                if old is None and backup.exists():
                    raise NoServer(f"{backup.name} is there already, beside {path.name}: move it away first")
                _check_writable(path)
                # What `undo` gives back, and by which it knows what was wrapped here.
                _put(backup, text if old is None else returned(text, old).text, path)
            return made

        return _changed(path, wrapped)


def undo(path: Path, *, dry: bool = False) -> Adoption:
    """Take the wrapping off that `write` put there: byte for byte the old file if nobody changed it since."""
    backup = backup_of(path)
    old = _old(backup)
    if old is None:
        return Adoption(text_of(path), (), ())
    if dry:
        return returned(text_of(path), old)
    with _locked(path):
        back = _changed(path, lambda text: returned(text, old))
        if back.text == old and back.changed:
            backup.unlink(missing_ok=True)
    return back


def backup_of(path: Path) -> Path:
    """Where the file before it was wrapped is kept."""
    path = path.resolve()
    return path.with_name(path.name + BACKUP)


def _old(backup: Path) -> str | None:
    """The text before it was wrapped, if that is what the backup holds."""
    try:
        return text_of(backup)
    except NoServer:
        return None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One of us at a time: the lock is on the folder, so that nothing is left of it."""
    folder = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        with suppress(ImportError):
            import fcntl

            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _changed(path: Path, change: Callable[[str], Adoption]) -> Adoption:
    """Change a file that others may write at the same time: what they have written is changed, never lost."""
    path = path.resolve()
    for left in reversed(range(_TRIES)):
        try:
            text = text_of(path)
        except NoServer:
            # It may be written at this moment.
            if not left or not path.is_file():
                raise
            time.sleep(_MOMENT)
            continue
        made = change(text)
        if made.text == text:
            return made
        _check_writable(path)
        if _put(path, made.text, path, instead_of=text):
            return made
    raise NoServer(f"{path} is changed by somebody else all the time: nothing was written")


def _check_writable(path: Path) -> None:
    """Who made a file read-only does not want it changed: replacing it would need no leave of the file's."""
    if not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise NoServer(f"cannot write {path}: it is read-only")


def _put(path: Path, text: str, like: Path, *, instead_of: str | None = None) -> bool:
    """Write a file in one step, with the mode of another one; whether it still held what it is put in place of."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("utf-8"))
            Path(name).chmod(like.stat().st_mode & 0o7777)
            if instead_of is None:
                os.replace(name, path)
                return True
            wanted = instead_of.encode("utf-8")
            if path.read_bytes() != wanted:
                return False
            if not _exchange(name, path):
                os.replace(name, path)
                return True
            if Path(name).read_bytes() == wanted:
                return True
            # Somebody wrote it in between: theirs goes back, or what was written since.
            _exchange(name, path)
            if Path(name).read_bytes() != text.encode("utf-8"):
                _exchange(name, path)
            return False
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as problem:
        raise NoServer(f"cannot write {path}: {problem.strerror or problem}") from None


def _exchange(one: str, other: Path) -> bool:
    """Two files change places, so that nothing is lost that stands in either; False where the system cannot."""
    try:
        import ctypes

        here, exchange = -100, 2
        call = ctypes.CDLL(None).renameat2
        return bool(call(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
    except (ImportError, AttributeError, OSError):
        return False
