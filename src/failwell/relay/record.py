"""What passed between a client and a server, written down: for those who debug."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, TextIO

from failwell.redact import masked

from .messages import finite, read_frame
from .own_secrets import OwnSecrets, SentSecrets

_MOST_BYTES: Final = 50_000_000
_LONGEST: Final = 1_000_000
_NOTE: Final = (
    "This file holds what a client and a server said to each other. What was recognised as a secret is masked; it is "
    "private data all the same."
)

_BEGINNING: Final = b'{"failwell": "record"'


class BadRecord(ValueError):
    """Why a record cannot be written or read."""


def _said(line: str) -> None:
    print(f"failwell: {line}", file=sys.stderr, flush=True)


class Record:
    """A file of frames, one per line, each with its time and the side it came from.

    say: is told in one line why nothing more is written down, where that is so. No call is lost by it.
    """

    def __init__(
        self,
        path: str,
        clock: Callable[[], float],
        secrets: OwnSecrets | None = None,
        say: Callable[[str], None] = _said,
    ) -> None:
        self._clock, self._say = clock, say
        self._secrets = secrets or OwnSecrets(())
        self._sent = SentSecrets()
        self._left = _MOST_BYTES
        try:
            handle, self.path = _opened(Path(path))
        except OSError as problem:
            raise _unwritten(path, problem) from None
        # Half a character is one in no encoding, and in JSON it can be written with a backslash.
        self._file: TextIO = os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace")
        try:
            self._write({"failwell": "record", "version": 1, "note": _NOTE})
        except OSError as problem:
            self.close()
            raise _unwritten(path, problem) from None

    def __call__(self, side: str, frame: bytes) -> None:
        """A frame came from `client` or `server`, or went to one of them."""
        if self._left <= 0:
            return
        try:
            self._take(side, frame)
        except Exception as problem:
            # Whatever is wrong with the file or a frame, those who call have nothing to do with it.
            self._left = 0
            self.close()
            why = problem.strerror if isinstance(problem, OSError) else type(problem).__name__
            with suppress(OSError):
                self._say(f"nothing more is written to {self.path}: {why}")

    def _take(self, side: str, frame: bytes) -> None:
        message = read_frame(frame) if len(frame) <= _LONGEST else None
        told = self._told(message) if message is not None else f"({len(frame)} bytes)"
        row = {"at": round(self._clock(), 6), "side": side, "frame": finite(told)}
        self._write(row)
        if self._left <= 0:
            self._write({"note": "The rest was not written down: the file is large enough."})

    def _told(self, message: Any) -> Any:
        self._sent.hear(message)
        return self._sent.masked(self._secrets.masked(masked(message)))

    def _write(self, row: Mapping[str, Any]) -> None:
        line = json.dumps(row, ensure_ascii=False) + "\n"
        self._left -= len(line)
        self._file.write(line)
        self._file.flush()

    def close(self) -> None:
        # What could not be written is tried once more, and there is nobody to tell.
        with suppress(OSError):
            self._file.close()


def _unwritten(path: str, problem: OSError) -> BadRecord:
    return BadRecord(f"cannot write {path}: {problem.strerror or problem}")


def _opened(path: Path) -> tuple[int, Path]:
    """A file with nothing in it, and where it is: what was written down before stays, and the next one has a number."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    place = path
    for number in count(2):
        handle = os.open(place, flags, 0o600)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            # A device would be everybody's, and must not be made ours.
            os.close(handle)
            raise BadRecord(f"{place} is no file: name one with --record")
        begun = os.read(handle, len(_BEGINNING))
        if not begun:
            os.fchmod(handle, 0o600)
            return handle, place
        os.close(handle)
        if begun != _BEGINNING:
            raise BadRecord(f"{place} is there, and no record of ours: name another file with --record")
        place = path.with_stem(f"{path.stem}-{number}")
    raise AssertionError
