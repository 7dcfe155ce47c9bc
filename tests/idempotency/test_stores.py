"""What every store of keys does, in memory and on disk; `test_leased_keys.py` has what several processes see."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from failwell.idempotency import DAY, KeysInMemory, KeysOnDisk, KeyStore, StoredCall


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Any]:
    made: Any = KeysInMemory(ttl=100, clock=clock)
    if request.param == "disk":
        made = KeysOnDisk(tmp_path / "keys.db", ttl=100, clock=clock)
    with closing(made):
        yield made


def test_a_key_is_claimed_once_and_then_kept(store: Any) -> None:
    assert isinstance(store, KeyStore)
    assert len(store.instance) == 32
    assert store.claim("k", "c1") is None
    assert store.claim("k", "c1") == store.claim("k", "c2") == StoredCall("c1", "running")
    store.finish("k", b"the answer")
    assert store.claim("k", "c2") == StoredCall("c1", "done", b"the answer")
    assert store.claim("other", "c1") is None


def test_a_released_key_is_free_and_a_lost_one_is_not(store: Any) -> None:
    assert store.claim("k", "c1") is None
    store.release("k")
    assert store.claim("k", "c2") is None
    store.lose("k")
    store.release("k")
    assert store.claim("k", "c2") == StoredCall("c2", "lost")


def test_answers_are_kept_for_their_time_and_what_runs_for_longer(store: Any, clock: Clock) -> None:
    assert store.claim("ended", "c") is store.claim("running", "c") is None
    store.finish("ended", b"a")
    clock.now += 99
    assert store.claim("ended", "c") == StoredCall("c", "done", b"a")
    clock.now += 1
    assert store.claim("ended", "c") is None
    clock.now += 10 * DAY
    assert store.claim("running", "c") is not None


def test_keys_on_disk_outlive_a_clock_that_is_set_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A board without a clock of its own gets the time from the network after its server has begun."""
    with closing(KeysOnDisk(tmp_path / "keys.db", ttl=100)) as store:
        assert store.claim("k", "call") is None
        store.finish("k", b"answer")
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 200_000)
        assert store.claim("k", "call") == StoredCall("call", "done", b"answer")


def test_memory_is_bounded_and_the_oldest_answers_go_first() -> None:
    store = KeysInMemory(max_entries=2)
    for key in "abcd":
        store.claim(key, "c")
    for key in "bca":
        store.finish(key, key.encode())
    assert store.claim("c", "c") == StoredCall("c", "done", b"c")
    assert store.claim("a", "c") == StoredCall("c", "done", b"a")
    assert store.claim("d", "c") == StoredCall("c", "running")
    assert store.claim("b", "c") is None
    for key in "xyz":
        store.claim(key, "c")
        store.finish(key, b"." * 31_000_000)
    # By their size, too; the newest stays, however large.
    assert [key for key in "xyz" if store.find(key)] == ["z"]


def test_memory_has_a_new_name_each_time_and_a_file_keeps_its_own(tmp_path: Path) -> None:
    assert KeysInMemory().instance != KeysInMemory().instance
    one, same, other = (KeysOnDisk(tmp_path / name) for name in "112")
    assert one.instance == same.instance != other.instance
    for each in (one, same, other):
        each.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


@pytest.mark.parametrize("options", [{"ttl": 0}, {"ttl": "1"}, {"ttl": float("nan")}, {"max_entries": 0}])
def test_wrong_options(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(options))} is a "):
        KeysInMemory(**options)
    if "ttl" in options:
        with pytest.raises(ValueError, match=r"^ttl is a number of seconds above zero"):
            KeysOnDisk(tmp_path / "keys.db", **options)


def test_what_a_dead_process_began_in_a_file_is_lost_at_once(tmp_path: Path) -> None:
    path = tmp_path / "keys.db"
    begins = "import os, sys; from failwell.idempotency import KeysOnDisk; s = KeysOnDisk(sys.argv[1]); "
    begins += "s.claim('k', 'c'); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", begins, str(path)], check=False).returncode == -9
    with closing(KeysOnDisk(path)) as mine:
        assert mine.claim("k", "c") == StoredCall("c", "lost")


def test_a_fork_opens_the_file_anew(tmp_path: Path) -> None:
    program = """
import os, sys
from failwell.idempotency import KeysOnDisk
store = KeysOnDisk(sys.argv[1])
store.claim("parent", "c")
if os.fork() == 0:
    assert store.claim("parent", "c").state == "running"
    store.claim("child", "c")
    store.finish("child", b"a")
    sys.exit()
assert os.wait()[1] == 0
store.finish("parent", b"b")
print(store.claim("child", "c").answer, store.claim("parent", "c").answer)
"""
    command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "keys.db")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "b'a' b'b'\n"


def test_only_the_owner_reads_the_file(tmp_path: Path) -> None:
    with closing(KeysOnDisk(tmp_path / "keys.db")) as store:
        store.claim("k", "c")
        assert {oct(path.stat().st_mode & 0o077) for path in tmp_path.glob("keys.db*")} == {"0o0"}
