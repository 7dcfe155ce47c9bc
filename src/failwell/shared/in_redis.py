"""Claims in Redis or Valkey. Each step is one script, which nobody else's command comes between."""

from __future__ import annotations

import os
from typing import Any, Final
from urllib.parse import urlsplit

import redis

from .claims import DAY, LEASE, PATIENCE, Claimed, SharedClaims, StoreUnusable

# The braces keep all that belongs together on one node of a cluster.
_PREFIX: Final = "{{failwell:{}}}:"
_BEGIN: Final = """
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
"""
_END: Final = """
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'state', ARGV[2])
redis.call('HDEL', KEYS[1], 'token')
if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'answer', ARGV[4]) end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
"""
_RENEW: Final = """
for number, key in ipairs(KEYS) do
  if redis.call('HGET', key, 'token') == ARGV[number + 1] then
    redis.call('HSET', key, 'state', 'running')
    redis.call('PEXPIRE', key, ARGV[1])
  end
end
"""
# Each note with when it came and when it goes, by the clock of the store.
_NOW: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
_HELD: Final = f"""{_NOW}
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
"""
_HOLD: Final = f"""{_NOW}
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %d %s', now, now + ARGV[3], ARGV[2]))
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[3]))
"""
_RELEASE: Final = """
local kept = redis.call('HGET', KEYS[1], ARGV[1])
if kept and string.match(kept, '^%d+ %d+ (.*)$') == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
"""
_OF_VALKEY: Final = {"valkey": "redis", "valkeys": "rediss"}


class ClaimsInRedis(SharedClaims):
    """One hash for each key, and one lease for each process."""

    def __init__(self, url: str, *, ttl: float = DAY, lease: float = LEASE, namespace: str = "keys") -> None:
        super().__init__(ttl=ttl, lease=lease)
        self._url = url
        self._prefix = _PREFIX.format(namespace)
        self._connect()
        try:
            self.instance = self._named()
            self._refuse_forgetful()
        except redis.RedisError as problem:
            raise StoreUnusable(f"cannot use {_place(url)}: {_words(problem)}") from None

    def _connect(self) -> None:
        self._db = _connected(self._url)
        self._script = {name: self._db.register_script(text) for name, text in _SCRIPTS.items()}

    def _named(self) -> str:
        """The name of what is kept here: a store that was emptied has none, and gets another. One that does not write
        down each change comes back from a crash with less than it had, so that its name ends with its process."""
        self._db.set(f"{self._prefix}instance", os.urandom(16).hex(), nx=True)
        self._name = str(self._db.get(f"{self._prefix}instance"))
        is_durable = str(self._db.info("persistence").get("aof_enabled", "0")) == "1"
        self._run = "" if is_durable else str(self._db.info("server").get("run_id", ""))
        return self._name + self._run

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
                f"{_place(self._url)} forgets keys when it is full (maxmemory-policy {policy}), so that calls could be "
                "made twice; set it to noeviction, or use another one"
            )

    def _begin(self, key: str, call: str, token: str) -> Claimed | None:
        keys = [self._prefix + key, f"{self._prefix}instance"]
        owners, lease, unended = f"{self._prefix}owner:", _ms(self.lease), _ms(self.unended)
        found = self._ask("begin", keys, [self._name, call, self.owner, owners, lease, unended, token, self._run])
        if found[0] == "other":
            raise self._emptied(self._told(self._named))
        return None if found[0] == "claimed" else Claimed(*found[1:])

    def _end(self, key: str, token: str, state: str | None, answer: str | None) -> None:
        given = [token, state or "", "0" if answer is None else "1", answer or "", _ms(self.ttl)]
        self._ask("end", [self._prefix + key], given)

    def _renew(self, running: dict[str, str]) -> None:
        self._db.set(f"{self._prefix}owner:{self.owner}", 1, px=_ms(self.lease))
        if running:
            self._ask("renew", [self._prefix + key for key in running], [_ms(self.unended), *running.values()])

    def _held(self, scope: str) -> dict[str, tuple[float, float, str]]:
        found = self._ask("held", [f"{self._prefix}hold:{scope}"], [])
        return {call: (int(age) / 1000, int(left) / 1000, note) for call, age, left, note in found}

    def _hold(self, scope: str, call: str, note: str, seconds: float) -> None:
        self._ask("hold", [f"{self._prefix}hold:{scope}"], [call, note, _ms(seconds)])

    def _release(self, scope: str, call: str, note: str) -> None:
        self._ask("release", [f"{self._prefix}hold:{scope}"], [call, note])

    def _ping(self) -> None:
        self._told(self._db.ping)

    def _leave(self) -> None:
        try:
            if self.owner:
                self._db.delete(f"{self._prefix}owner:{self.owner}")
            self._db.close()
        except redis.RedisError:
            # Its lease runs out by itself.
            return

    def _forked(self) -> None:
        self._connect()

    def _ask(self, script: str, keys: list[str], given: list[Any]) -> Any:
        return self._told(lambda: self._script[script](keys=keys, args=given))

    def _told(self, do: Any) -> Any:
        try:
            return do()
        except redis.RedisError as problem:
            raise StoreUnusable(f"{_place(self._url)} does not answer: {_words(problem)}") from None


def _connected(url: str) -> Any:
    scheme, separator, rest = url.partition("://")
    known = _OF_VALKEY.get(scheme.lower(), scheme) + separator + rest
    try:
        return redis.Redis.from_url(
            known, decode_responses=True, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
        )
    except ValueError as problem:
        raise StoreUnusable(f"cannot use {_place(url)}: {problem}") from None


_SCRIPTS: Final = {
    "begin": _BEGIN, "end": _END, "renew": _RENEW, "held": _HELD, "hold": _HOLD, "release": _RELEASE
}  # fmt: skip
claims = ClaimsInRedis


def _ms(seconds: float) -> int:
    return max(1, int(seconds * 1000))


def _place(url: str) -> str:
    """Where it is, without the password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or parts.path}" + (f":{parts.port}" if parts.port else "")


def _words(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__
