"""Keys and holds in a SQLite file."""

from __future__ import annotations

import os
import platform
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from .leased_keys import TIMEOUT
from .sql_keys import TABLES, SqlKeys
from .store import DAY, StoreUnusable, check_seconds

_MARK: Final = 0x6661696C  # "fail", as SQLite keeps whose file it is
_VERSION: Final = 2
# Connections of a parent process. To close one here could take away what the parent still uses.
_inherited: Final[list[Any]] = []


def _steady() -> Callable[[], float]:
    """The time of day, which runs no faster than time itself, whatever the clock is set to."""
    began, wall = time.monotonic(), time.time()
    return lambda: min(time.time(), wall + time.monotonic() - began)


class KeysOnDisk(SqlKeys):
    """Keeps keys in a SQLite file, which outlives the process and may be shared by several on one machine."""

    _now = "failwell_now()"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        ttl: float = DAY,
        namespace: str = "keys",
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.path = Path(path).absolute()
        self._clock = clock or _steady()
        check_seconds(ttl, "ttl")
        super().__init__(str(path), ttl=ttl, lease=min(30.0, ttl / 2), namespace=namespace)
        self._unended = max(ttl, 30 * DAY)

    def _connect(self, place: str, namespace: str) -> None:
        self._namespace = namespace
        self._check_file()
        self._open()
        with self._transaction() as run:
            self.instance = self._read_instance(run)

    def _check_file(self) -> None:
        """Make the file if it is not there. Answers are nobody else's business."""
        path = self.path
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            with closing(os.fdopen(handle, "rb")):
                about = os.fstat(handle)
                if hasattr(os, "getuid") and about.st_uid != os.getuid():
                    raise StoreUnusable(f"{path} belongs to another user; name a file of your own")
                if not stat.S_ISREG(about.st_mode):
                    raise StoreUnusable(f"{path} is not a file")
            path.chmod(0o600)
        except OSError as problem:
            raise StoreUnusable(f"cannot open {path}: {problem.strerror or problem}; name another file") from None

    def _open(self) -> None:
        self._busy = threading.Lock()
        self._db = sqlite3.connect(self.path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False)
        self._close = weakref.finalize(self, _close, self._db, os.getpid())
        self._db.create_function("failwell_now", 0, self._clock)
        until = time.monotonic() + TIMEOUT
        try:
            while True:
                try:
                    return self._prepare()
                except sqlite3.OperationalError as problem:
                    # SQLite does not wait by itself while somebody changes the mode of the file.
                    if "locked" not in str(problem) or time.monotonic() > until:
                        raise
                time.sleep(0.01)
        except sqlite3.OperationalError as problem:
            words = f"cannot be used ({problem}); end what holds it, or name another file"
        except sqlite3.DatabaseError as problem:
            words = f"is not a file of Failwell's keys ({problem}); name another file"
        except StoreUnusable as problem:
            words = str(problem)
        self._close()
        raise StoreUnusable(f"{self.path} {words}")

    def _prepare(self) -> None:
        # In one step: of several processes that are started at once, none sees a file that another has half made.
        with _begin(self._db) as db:
            (mark,), (version,) = (
                db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
            )
            is_new = (mark, version) == (0, 0) and not db.execute("SELECT 1 FROM sqlite_master").fetchone()
            if not is_new and mark != _MARK:
                raise StoreUnusable("is not a file of Failwell's keys; name another file")
            if not is_new and version != _VERSION:
                raise StoreUnusable(f"is of another version ({version}) of Failwell; move it away")
            for statement in (*TABLES, f"PRAGMA application_id = {_MARK}", f"PRAGMA user_version = {_VERSION}"):
                db.execute(statement)
        self._db.execute("PRAGMA journal_mode = WAL")
        # A call that has begun must be known to have, even after a power cut.
        self._db.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., Any]]:
        try:
            with self._busy, _begin(self._db) as db:
                yield lambda statement, *given: db.execute(
                    statement.replace("{now}", self._now).replace("%s", "?"), given
                )
        except sqlite3.Error as problem:
            raise StoreUnusable(f"{self.path} cannot be used: {problem}") from None

    def _new_owner(self, name: str) -> str:
        return f"{name} {platform.node()} {os.getpid()}"

    def _may_live(self, owner: str) -> bool:
        _, node, pid = owner.rsplit(" ", 2)
        if os.name == "nt" or node != platform.node():
            # Another container, say: when its lease has run out, it counts as dead.
            return True
        try:
            os.kill(int(pid), 0)
        except OSError as problem:
            return not isinstance(problem, ProcessLookupError)
        return True

    def _leave(self) -> None:
        super()._leave()
        self._close()

    def _forked(self) -> None:
        self._close.detach()
        _inherited.append(self._db)
        self._open()


@contextmanager
def _begin(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _close(db: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        db.close()
