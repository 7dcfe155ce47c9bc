"""Which calls with an idempotency key have begun, and how they were answered: in memory, or in a file that stays.

A call is known by its key, its caller, its server, its tool and its arguments, all of it as one hash. Answers are kept
whole, or not at all.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    import sqlite3

    from failwell.recovery import Hold
    from failwell.shared import Claimed

Given = ParamSpec("Given")
T = TypeVar("T")
DAY: Final = 86_400.0
_MOST: Final = 10_000
_MOST_BYTES: Final = 32_000_000
LARGEST: Final = 1_000_000
"""How many bytes of an answer are kept; of a larger one only that it was given."""
# How long a key that comes after the store was emptied may be an old one.
_DOUBT: Final = 600.0
_VERSION: Final = 1
# All other calls wait meanwhile.
_PATIENCE: Final = 2.0
_MARK: Final = 0x6661696C  # "fail", as SQLite keeps whose file it is


class BadState(ValueError):
    """Why a file of keys cannot be used: one line that says what to do."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What is known of a key.

    call: the hash of the call that it was used for. answer: the message by which it was answered, as the bytes that
        came, its line end included; None where it is not there.
    state: `running`, `done`, or `lost` for a call that began and whose end nobody saw.
    """

    call: str
    state: str
    answer: bytes | None = None


class Keys(Protocol):
    """A place for keys. `is_shared` says whether other machines use it too."""

    @property
    def is_shared(self) -> bool: ...

    def begin(self, key: str, call: str, *, is_first: bool = False) -> KeptAnswer | None:
        """Claim a key for a call, or give what is known of it; `is_first` says that the client made none before."""

    def finish(self, key: str, answer: bytes | None) -> None:
        """Keep how the call was answered; None where that is not kept."""

    def lose(self, key: str) -> None:
        """Nobody will know how the call ended."""

    def forget(self, key: str) -> None:
        """The call did nothing: the next one is the first."""

    def hold(self, server: str, caller: str, seconds: float) -> Hold | None:
        """What a caller has in doubt, behind whichever relay; None where keys are shared with nobody."""

    def problem(self) -> str | None:
        """Why keys cannot be kept at present; None if they can. It waits for whoever keeps them."""

    def close(self) -> None:
        """There will be no more calls."""


def named(key: str, caller: str | None, server: str) -> str:
    """A key as it is kept: nobody else's, and of no use to whoever reads the file."""
    return _hash([key, caller, server])


def call_of(tool: str, arguments: Mapping[str, Any]) -> str:
    return _hash([tool, arguments])


def _hash(value: object) -> str:
    # It loads OpenSSL, and few calls have a key.
    import hashlib

    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


class AnswersInMemory:
    """As long as the relay runs."""

    is_shared = False

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, KeptAnswer]] = OrderedDict()
        self._bytes = 0

    def begin(self, key: str, call: str, *, is_first: bool = False) -> KeptAnswer | None:
        known = self.known(key)
        if known is None:
            self._put(key, KeptAnswer(call, "running"))
        return known

    def known(self, key: str) -> KeptAnswer | None:
        until, kept = self._kept.get(key, (0.0, None))
        return kept if kept is not None and (kept.state == "running" or until > self._clock()) else None

    def finish(self, key: str, answer: bytes | None) -> None:
        if key in self._kept:
            self._put(key, KeptAnswer(self._kept[key][1].call, "done", answer))

    def lose(self, key: str) -> None:
        if key in self._kept:
            self._put(key, KeptAnswer(self._kept[key][1].call, "lost"))

    def forget(self, key: str) -> None:
        self._drop(key)

    def hold(self, server: str, caller: str, seconds: float) -> Hold | None:
        return None

    def problem(self) -> str | None:
        return None

    def close(self) -> None:
        """It is gone with the relay."""

    def _put(self, key: str, kept: KeptAnswer) -> None:
        self._drop(key)
        self._kept[key] = self._clock() + DAY, kept
        self._bytes += len(kept.answer or b"")
        while len(self._kept) > _MOST or self._bytes > _MOST_BYTES:
            # The oldest that has ended: what is running is never forgotten.
            oldest = next((each for each, (_, old) in self._kept.items() if old.state != "running"), None)
            if oldest is None:
                break
            self._drop(oldest)

    def _drop(self, key: str) -> None:
        _, kept = self._kept.pop(key, (0.0, None))
        self._bytes -= len(kept.answer or b"") if kept is not None else 0


def _told(method: Callable[Given, T]) -> Callable[Given, T]:
    """The method, with what SQLite raises told as what it is: a place for keys that cannot be used."""

    @wraps(method)
    def asked(*given: Given.args, **named: Given.kwargs) -> T:
        import sqlite3

        try:
            return method(*given, **named)
        except sqlite3.Error as problem:
            raise BadState(f"the file of keys cannot be used: {problem}") from None

    return asked


class KeysInFile:
    """In a SQLite file of one's own, which outlives the relay and may be shared by several."""

    is_shared = False

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._owner = os.urandom(8).hex()
        self._path = Path(path)
        self._db = _opened(self._path)
        try:
            self._lock = self._joined()
        except BadState:
            self._db.close()
            raise

    @_told
    def _joined(self) -> sqlite3.Connection | None:
        """The lock that tells whose calls are still running: the system takes it away with the process."""
        with self._db:
            # In a transaction, so that nobody takes the file for one that was left behind before it is locked.
            self._db.execute("BEGIN IMMEDIATE")
            for left in self._path.parent.glob(f"{escape(self._path.name)}-running-*"):
                # Of a relay that was killed.
                self._lives(left.name.rpartition("-")[2])
            mine = self._file_of(self._owner)
            os.close(os.open(mine, os.O_RDWR | os.O_CREAT, 0o600))
            return _lock(mine)

    @_told
    def begin(self, key: str, call: str, *, is_first: bool = False) -> KeptAnswer | None:
        now = self._clock()
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM calls WHERE state != 'running' AND expires <= ?", (now,))
            row = self._db.execute("SELECT call, state, owner, answer FROM calls WHERE key = ?", (key,)).fetchone()
            if row is None:
                values = (key, call, "running", self._owner, None, now + DAY)
                self._db.execute("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)", values)
                self._shorten()
                return None
            known, state, owner, answer = row
            if state == "running" and owner != self._owner and not self._lives(owner):
                self._db.execute("UPDATE calls SET state = 'lost', expires = ? WHERE key = ?", (now + DAY, key))
                state = "lost"
            return KeptAnswer(known, state, answer)

    @_told
    def finish(self, key: str, answer: bytes | None) -> None:
        with self._db:
            self._db.execute(
                "UPDATE calls SET state = 'done', answer = ?, expires = ? WHERE key = ?",
                (answer, self._clock() + DAY, key),
            )

    @_told
    def lose(self, key: str) -> None:
        with self._db:
            changes = (self._clock() + DAY, key)
            self._db.execute("UPDATE calls SET state = 'lost', expires = ? WHERE key = ?", changes)

    @_told
    def forget(self, key: str) -> None:
        with self._db:
            self._db.execute("DELETE FROM calls WHERE key = ?", (key,))

    def hold(self, server: str, caller: str, seconds: float) -> Hold | None:
        return None

    def problem(self) -> str | None:
        return None

    def close(self) -> None:
        self._db.close()
        if self._lock is not None:
            self._lock.close()
        self._file_of(self._owner).unlink(missing_ok=True)

    def _shorten(self) -> None:
        (count,) = self._db.execute("SELECT count(*) FROM calls").fetchone()
        if count > _MOST:
            self._db.execute(
                "DELETE FROM calls WHERE key IN "
                "(SELECT key FROM calls WHERE state != 'running' ORDER BY expires LIMIT ?)",
                (count - _MOST,),
            )

    def _lives(self, owner: str) -> bool:
        file = self._file_of(owner)
        if not file.exists():
            return False
        lock = _lock(file)
        if lock is None:
            return True
        lock.close()
        file.unlink(missing_ok=True)
        return False

    def _file_of(self, owner: str) -> Path:
        return self._path.with_name(f"{self._path.name}-running-{owner}")


class SharedAnswers:
    """In Redis or PostgreSQL, shared with relays on other machines. Answers are texts there."""

    is_shared = True

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        from failwell.shared import claims_at

        self._url, self._clock = url, clock
        self._mine = AnswersInMemory(clock)
        """What this very relay has made."""
        self._doubted_until = 0.0
        self._claims = _usable(lambda: claims_at(url, ttl=DAY, namespace="relay"))

    def begin(self, key: str, call: str, *, is_first: bool = False) -> KeptAnswer | None:
        mine = self._mine.known(key)
        if mine is not None:
            # Nobody else has a word in this, whatever became of the store since.
            return mine
        known = self._begun(key, call)
        if known is not None:
            return KeptAnswer(known.call, known.state, None if known.answer is None else known.answer.encode())
        if not is_first and self._clock() < self._doubted_until:
            # It may have been made before the store was emptied, behind another relay.
            self.lose(key)
            return KeptAnswer(call, "lost")
        self._mine.begin(key, call)
        return None

    def _begun(self, key: str, call: str) -> Claimed | None:
        former = self._claims.former
        try:
            return _usable(lambda: self._claims.begin(key, call))
        except BadState:
            if self._claims.former == former:
                raise
        self._doubted_until = self._clock() + _DOUBT
        return _usable(lambda: self._claims.begin(key, call))

    def finish(self, key: str, answer: bytes | None) -> None:
        self._mine.finish(key, answer)
        _usable(lambda: self._claims.finish(key, None if answer is None else _as_text(answer)))

    def lose(self, key: str) -> None:
        self._mine.lose(key)
        _usable(lambda: self._claims.lose(key))

    def forget(self, key: str) -> None:
        self._mine.forget(key)
        _usable(lambda: self._claims.forget(key))

    def hold(self, server: str, caller: str, seconds: float) -> Hold | None:
        from failwell.recovery import SharedHold

        return SharedHold(seconds, self._claims, _hash([server, caller]))

    def problem(self) -> str | None:
        return self._claims.problem()

    def close(self) -> None:
        self._claims.close()


def _as_text(answer: bytes) -> str:
    """An answer as a store of texts takes it: bytes that are none, which clients read as a mark, become that mark."""
    return answer.decode("utf-8", "replace").replace("\0", "\ufffd")


def _usable(do: Callable[[], T]) -> T:
    from failwell.shared import StoreUnusable

    try:
        return do()
    except StoreUnusable as problem:
        raise BadState(str(problem)) from None


def keys_at(place: str | None) -> Keys:
    """Where keys are kept: in memory, in a file, or under the URL of a shared store."""
    if place is None:
        return AnswersInMemory()
    if not place.strip():
        raise BadState("--state is empty; name a file, or the URL of a store")
    return SharedAnswers(place) if "://" in place else KeysInFile(place)


def _opened(path: Path) -> sqlite3.Connection:
    import sqlite3

    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with closing(os.fdopen(handle, "rb")):
            about = os.fstat(handle)
            if hasattr(os, "getuid") and about.st_uid != os.getuid():
                raise BadState(f"{path} belongs to another user; name a file of your own with --state")
            if not stat.S_ISREG(about.st_mode):
                raise BadState(f"{path} is no file; name one with --state")
    except OSError as problem:
        raise BadState(f"cannot open {path}: {problem.strerror or problem}; name another file with --state") from None
    db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        _patiently(lambda: _prepared(db, path))
    except sqlite3.OperationalError as problem:
        db.close()
        raise BadState(f"{path} cannot be used ({problem}); end what holds it, or name another file") from None
    except sqlite3.DatabaseError as problem:
        db.close()
        raise BadState(f"{path} is no file of failwell's keys ({problem}); name another one with --state") from None
    except BadState:
        db.close()
        raise
    return db


def _prepared(db: sqlite3.Connection, path: Path) -> None:
    with db:
        # In one step: of several relays that are started at once, none sees a file that another has half made.
        db.execute("BEGIN IMMEDIATE")
        (mark,), (version,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version"))
        is_new = (mark, version) == (0, 0) and not db.execute("SELECT 1 FROM sqlite_master").fetchone()
        if not is_new and mark != _MARK:
            raise BadState(f"{path} is no file of failwell's keys; name another one with --state")
        if not is_new and version != _VERSION:
            raise BadState(f"{path} is of another version ({version}) of failwell; move it away, or name another file")
        if is_new:
            db.execute(
                "CREATE TABLE calls (key TEXT PRIMARY KEY, call TEXT NOT NULL, state TEXT NOT NULL, "
                "owner TEXT NOT NULL, answer BLOB, expires REAL NOT NULL) WITHOUT ROWID"
            )
            db.execute(f"PRAGMA application_id = {_MARK}")
            db.execute(f"PRAGMA user_version = {_VERSION}")
    path.chmod(0o600)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")


def _patiently(do: Callable[[], T]) -> T:
    """Wait for others who use the file: SQLite does not do so by itself while its mode is changed."""
    import sqlite3

    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return do()
        except sqlite3.OperationalError as problem:
            if "locked" not in str(problem) or time.monotonic() > until:
                raise
        time.sleep(0.01)


def _lock(file: Path) -> sqlite3.Connection | None:
    """A lock on a file, held while it is open; None if somebody else has it. SQLite's own work on every system."""
    import sqlite3

    lock = sqlite3.connect(file, timeout=0, isolation_level=None)
    try:
        # Nothing is ever written, so there is nothing to note down beside it.
        lock.execute("PRAGMA journal_mode = OFF")
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        return None
    return lock
