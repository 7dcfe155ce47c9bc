"""Keys and holds in a database: a row for each key, for each process, and for each call in doubt."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, ClassVar, Final

from .leased_keys import LeasedKeys
from .store import StoredCall, StoreUnusable

TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS failwell_stores (namespace text PRIMARY KEY, instance text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS failwell_processes (owner text PRIMARY KEY, until double precision NOT NULL)",
    """CREATE TABLE IF NOT EXISTS failwell_keys (
    namespace text, key text, call text NOT NULL, state text NOT NULL, owner text NOT NULL, token text NOT NULL,
    answer bytea, expires double precision NOT NULL, PRIMARY KEY (namespace, key))""",
    "CREATE INDEX IF NOT EXISTS failwell_keys_expire ON failwell_keys (expires)",
    """CREATE TABLE IF NOT EXISTS failwell_calls_in_doubt (
    namespace text, scope text, call text, note text NOT NULL, since double precision NOT NULL,
    until double precision NOT NULL, PRIMARY KEY (namespace, scope, call))""",
)
_INSTANCE: Final = "SELECT instance FROM failwell_stores WHERE namespace = %s"
_NEW_INSTANCE: Final = "INSERT INTO failwell_stores VALUES (%s, %s) ON CONFLICT DO NOTHING"
_LIVES: Final = """
INSERT INTO failwell_processes VALUES (%s, {now} + %s) ON CONFLICT (owner) DO UPDATE SET until = EXCLUDED.until
"""
# Where the key is there already, this locks its row until the transaction ends.
_CLAIM: Final = """
INSERT INTO failwell_keys VALUES (%s, %s, %s, 'running', %s, %s, NULL, {now} + %s)
ON CONFLICT (namespace, key) DO UPDATE SET
    call = EXCLUDED.call, state = 'running', owner = EXCLUDED.owner, token = EXCLUDED.token, answer = NULL,
    expires = EXCLUDED.expires
    WHERE failwell_keys.expires <= {now}
"""
_KNOWN: Final = """
SELECT call, state, answer, owner, EXISTS (
    SELECT 1 FROM failwell_processes WHERE owner = failwell_keys.owner AND until > {now}
) FROM failwell_keys WHERE namespace = %s AND key = %s
"""
_LOST: Final = "UPDATE failwell_keys SET state = 'lost', expires = {now} + %s WHERE namespace = %s AND key = %s"
_END: Final = """
UPDATE failwell_keys SET state = %s, answer = %s, token = '', expires = {now} + %s
WHERE namespace = %s AND key = %s AND token = %s
"""
_FREE: Final = "DELETE FROM failwell_keys WHERE namespace = %s AND key = %s AND token = %s"
_RUNS: Final = """
UPDATE failwell_keys SET state = 'running', expires = {now} + %s WHERE namespace = %s AND key = %s AND token = %s
"""
_DROP_OLD: Final = (
    "DELETE FROM failwell_keys WHERE expires <= {now}",
    "DELETE FROM failwell_processes WHERE until <= {now} - 86400",
    "DELETE FROM failwell_calls_in_doubt WHERE until <= {now}",
)
_HELD: Final = """
SELECT call, {now} - since, until - {now}, note FROM failwell_calls_in_doubt
WHERE namespace = %s AND scope = %s AND until > {now}
"""
_HOLD: Final = """
INSERT INTO failwell_calls_in_doubt VALUES (%s, %s, %s, %s, {now}, {now} + %s)
ON CONFLICT (namespace, scope, call) DO UPDATE SET note = EXCLUDED.note, since = EXCLUDED.since, until = EXCLUDED.until
"""
_UNHOLD: Final = "DELETE FROM failwell_calls_in_doubt WHERE namespace = %s AND scope = %s AND call = %s AND note = %s"


class SqlKeys(LeasedKeys):
    """Keys in a database, by SQL that SQLite and PostgreSQL have in common."""

    _namespace: str
    _now: ClassVar[str]
    """What gives the time, by one clock for all."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Callable[..., Any]]:
        """A transaction that others wait for, and what makes a statement in it."""

    def _run(self, statement: str, *given: object) -> Any:
        with self._transaction() as run:
            return run(statement, *given)

    def _read_instance(self, run: Callable[..., Any]) -> str:
        """The name of what is kept here: a store that was emptied has none, and gets another."""
        run(_NEW_INSTANCE, self._namespace, os.urandom(16).hex())
        return str(run(_INSTANCE, self._namespace).fetchone()[0])

    def _claim(self, key: str, call: str, token: str) -> StoredCall | None:
        with self._transaction() as run:
            instance = self._read_instance(run)
            if instance == self.instance:
                run(_LIVES, self._owner, self.lease)
                if run(_CLAIM, self._namespace, key, call, self._owner, token, self._unended).rowcount:
                    return None
                known, state, answer, owner, is_leased = run(_KNOWN, self._namespace, key).fetchone()
                if state == "running" and not (is_leased and self._may_live(owner)):
                    run(_LOST, self._unended, self._namespace, key)
                    state = "lost"
                return StoredCall(known, state, answer)
        raise self._emptied(instance)

    def _may_live(self, owner: str) -> bool:
        """Whether a process whose lease has not run out may be there."""
        return True

    def _end(self, key: str, token: str, state: str | None, answer: bytes | None) -> None:
        named = (self._namespace, key, token)
        self._run(*((_FREE, *named) if state is None else (_END, state, answer, self.ttl, *named)))

    def _renew(self, running: dict[str, str]) -> None:
        with self._transaction() as run:
            run(_LIVES, self._owner, self.lease)
            for key, token in running.items():
                run(_RUNS, self._unended, self._namespace, key, token)
            for statement in _DROP_OLD:
                run(statement)

    def held(self, scope: str) -> dict[str, tuple[float, float, str]]:
        def read() -> list[Any]:
            with self._transaction() as run:
                return list(run(_HELD, self._namespace, scope).fetchall())

        return {call: (age, left, note) for call, age, left, note in self._ask(read)}

    def hold(self, scope: str, call: str, note: str, seconds: float) -> None:
        self._ask(lambda: self._run(_HOLD, self._namespace, scope, call, note, seconds))

    def unhold(self, scope: str, call: str, note: str) -> None:
        self._ask(lambda: self._run(_UNHOLD, self._namespace, scope, call, note))

    def end_holds(self, is_meant: Callable[[str], bool]) -> None:
        with self._transaction() as run:
            calls = "failwell_calls_in_doubt WHERE namespace = %s"
            for (call,) in run(f"SELECT DISTINCT call FROM {calls}", self._namespace).fetchall():
                if is_meant(call):
                    run(f"DELETE FROM {calls} AND call = %s", self._namespace, call)

    def _leave(self) -> None:
        with suppress(StoreUnusable):
            self._run("DELETE FROM failwell_processes WHERE owner = %s", self._owner)
