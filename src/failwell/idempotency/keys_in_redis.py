"""Keys and holds in Redis or Valkey. Each step is one script, which nobody else's command comes between."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import redis

from .leased_keys import TIMEOUT, LeasedKeys, in_line
from .store import StoredCall, StoreUnusable

T = TypeVar("T")
# The braces keep all that belongs together on one node of a cluster.
_PREFIX: Final = "{{failwell:{}}}:"
# Each note with when it came and when it goes, by the clock of the store.
_NOW: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
_SCRIPTS: Final = {
    "claim": """
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {'other'} end
if ARGV[8] ~= '' and not string.find(redis.call('INFO', 'server'), ARGV[8], 1, true) then return {'other'} end
local known = redis.call('HMGET', KEYS[1], 'call', 'state', 'owner', 'answer')
if not known[1] then
  redis.call('HSET', KEYS[1], 'call', ARGV[2], 'state', 'running', 'owner', ARGV[3], 'token', ARGV[7])
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  redis.call('SET', ARGV[4] .. ARGV[3], 1, 'PX', ARGV[5])
  return {'claimed'}
end
if known[2] == 'running' and redis.call('EXISTS', ARGV[4] .. known[3]) == 0 then
  redis.call('HSET', KEYS[1], 'state', 'lost')
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  known[2] = 'lost'
end
return {'known', known[1], known[2], known[4]}
""",
    "end": """
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'state', ARGV[2])
redis.call('HDEL', KEYS[1], 'token')
if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'answer', ARGV[4]) end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
""",
    "renew": """
for number, key in ipairs(KEYS) do
  if redis.call('HGET', key, 'token') == ARGV[number + 1] then
    redis.call('HSET', key, 'state', 'running')
    redis.call('PEXPIRE', key, ARGV[1])
  end
end
""",
    "held": f"""{_NOW}
local found, all = {{}}, redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local since, till, note = string.match(all[at + 1], '^(%d+) (%d+) (.*)$')
  if tonumber(till) > now then
    table.insert(found, {{all[at], now - since, till - now, note}})
  else
    redis.call('HDEL', KEYS[1], all[at])
  end
end
return found
""",
    "hold": f"""{_NOW}
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %d %s', now, now + ARGV[3], ARGV[2]))
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[3]))
""",
    "unhold": """
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if kept and string.match(kept, '^%d+ %d+ (.*)$') == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
""",
}
_OF_VALKEY: Final = {"valkey": "redis", "valkeys": "rediss"}


class KeysInRedis(LeasedKeys):
    """Keeps keys in Redis or Valkey, for any number of servers on any number of machines.

    Each process holds a lease of `lease` seconds and renews it. A call that began in a process that is gone is known
    for what it is when the lease runs out: begun, and nobody knows how it ended. Servers that are not replicas of each
    other each need a `namespace`. A Redis that forgets keys when it is full is refused.
    """

    _schemes = ("redis", "rediss", "unix", "valkey", "valkeys")

    def _connect(self, place: str, namespace: str) -> None:
        parts = urlsplit(place)
        self._place = f"{parts.scheme}://{parts.hostname or parts.path}" + (f":{parts.port}" if parts.port else "")
        self._url, self._prefix = place, _PREFIX.format(namespace)
        self._forked()
        try:
            self.instance = self._read_instance()
            self._refuse_forgetful()
        except redis.RedisError as problem:
            raise StoreUnusable(f"cannot use {self._place}: {in_line(problem)}") from None

    def _forked(self) -> None:
        scheme, separator, rest = self._url.partition("://")
        known = _OF_VALKEY.get(scheme.lower(), scheme) + separator + rest
        try:
            self._db: Any = redis.Redis.from_url(known, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT)
        except ValueError as problem:
            raise StoreUnusable(f"cannot use {self._place}: {problem}") from None
        self._script = {name: self._db.register_script(text) for name, text in _SCRIPTS.items()}

    def _read_instance(self) -> str:
        """The name of what is kept here: a store that was emptied has none, and gets another. One that does not write
        down each change comes back from a crash with less than it had, so that its name ends with its process."""
        self._db.set(f"{self._prefix}instance", os.urandom(16).hex(), nx=True)
        self._name = str(self._db.get(f"{self._prefix}instance").decode())
        is_durable = str(self._db.info("persistence").get("aof_enabled", "0")) == "1"
        self._run_id = "" if is_durable else str(self._db.info("server").get("run_id", ""))
        return self._name + self._run_id

    def _refuse_forgetful(self) -> None:
        """A store that throws keys away when it is full would have calls made twice."""
        try:
            settings = self._db.config_get("maxmemory*")
        except redis.RedisError:
            # Those who rent it out do not always tell.
            return
        policy = str(settings.get("maxmemory-policy", "noeviction"))
        if int(settings.get("maxmemory", 0) or 0) and policy != "noeviction":
            raise StoreUnusable(
                f"{self._place} forgets keys when it is full (maxmemory-policy {policy}), so that calls could be "
                "made twice; set it to noeviction, or use another one"
            )

    def _claim(self, key: str, call: str, token: str) -> StoredCall | None:
        keys = [self._prefix + key, f"{self._prefix}instance"]
        given = [self._name, call, self._owner, f"{self._prefix}owner:", _ms(self.lease), _ms(self._unended), token]
        found = self._run_script("claim", keys, *given, self._run_id)
        if found[0] == b"other":
            raise self._emptied(self._report(self._read_instance))
        return None if found[0] == b"claimed" else StoredCall(found[1].decode(), found[2].decode(), found[3])

    def _end(self, key: str, token: str, state: str | None, answer: bytes | None) -> None:
        is_kept = "0" if answer is None else "1"
        self._run_script("end", [self._prefix + key], token, state or "", is_kept, answer or b"", _ms(self.ttl))

    def _renew(self, running: dict[str, str]) -> None:
        self._report(lambda: self._db.set(f"{self._prefix}owner:{self._owner}", 1, px=_ms(self.lease)))
        if running:
            self._run_script("renew", [self._prefix + key for key in running], _ms(self._unended), *running.values())

    def held(self, scope: str) -> dict[str, tuple[float, float, str]]:
        found = self._ask(lambda: self._run_script("held", [f"{self._prefix}hold:{scope}"]))
        return {call.decode(): (int(age) / 1000, int(left) / 1000, note.decode()) for call, age, left, note in found}

    def hold(self, scope: str, call: str, note: str, seconds: float) -> None:
        self._ask(lambda: self._run_script("hold", [f"{self._prefix}hold:{scope}"], call, note, _ms(seconds)))

    def unhold(self, scope: str, call: str, note: str) -> None:
        self._ask(lambda: self._run_script("unhold", [f"{self._prefix}hold:{scope}"], call, note))

    def end_holds(self, is_meant: Callable[[str], bool]) -> None:
        start = f"{self._prefix}hold:"
        names = self._report(lambda: [each.decode() for each in self._db.scan_iter(count=1_000)])
        for scope in (name.removeprefix(start) for name in names if name.startswith(start)):
            for call, (_, _, note) in self.held(scope).items():
                if is_meant(call):
                    self.unhold(scope, call, note)

    def _leave(self) -> None:
        # If it is away, the lease runs out by itself.
        with suppress(redis.RedisError):
            if self._owner:
                self._db.delete(f"{self._prefix}owner:{self._owner}")
            self._db.close()

    def _run_script(self, script: str, keys: list[str], *given: Any) -> Any:
        return self._report(lambda: self._script[script](keys=keys, args=given))

    def _report(self, do: Callable[[], T]) -> T:
        try:
            return do()
        except redis.RedisError as problem:
            raise StoreUnusable(f"{self._place} does not answer: {in_line(problem)}") from None


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))
