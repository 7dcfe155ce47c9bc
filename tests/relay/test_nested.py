"""Relays inside of relays: whichever of them ends, and however, nothing that they started is left over."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from wrapped import SERVER, WRAP, Wrapped, lives

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not tell who is whose")

NESTED = [*WRAP, "--", *SERVER]
# A server that starts a child in a session of its own, says both numbers, and heeds nothing.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
with open(os.environ["LEDGER"], "a") as ledger:
    ledger.write(f"{os.getpid()} {child.pid}\\n")
time.sleep(600)
"""


def above(pid: int) -> int:
    """Its parent."""
    return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[1])


def below(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()]


@contextmanager
def ending(*pids: int) -> Iterator[None]:
    """Within it, or soon after, all of these have to end."""
    processes = [os.pidfd_open(pid) for pid in pids]
    try:
        assert all(map(lives, pids))
        yield
        until = time.monotonic() + 15
        for process in processes:
            select.select([process], [], [], max(0.0, until - time.monotonic()))
        assert not [pid for pid in pids if lives(pid)]
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
            os.close(process)


def family(relay: Wrapped) -> tuple[int, list[int]]:
    """The inner relay, and all that came of it: its server, its warden, a child of the server in another session, and one
    in its group that shows no environment."""
    server = int(relay.text(1, "say"))
    started = [int(relay.text(2, "say", child=True)), int(relay.text(3, "say", bare=True))]
    inner = above(server)
    assert inner != relay.process.pid
    assert above(inner) == relay.process.pid
    return inner, [inner, *below(inner), *started]


def killed(relay: Wrapped, inner: int) -> None:
    os.kill(inner, signal.SIGKILL)
    # The next one is there when it answers.
    assert relay.text(4, "say")


def hung_up(relay: Wrapped, inner: int) -> None:
    relay.process.stdin.close()  # type: ignore[union-attr]
    relay.process.stdin = None
    assert relay.close()[0] == 0


def lost(relay: Wrapped, inner: int) -> None:
    relay.process.kill()
    relay.process.wait(timeout=60)


@pytest.mark.parametrize("end", [killed, hung_up, lost])
def test_a_relay_in_a_relay_leaves_no_process(tmp_path: Path, end: Callable[[Wrapped, int], None]) -> None:
    with Wrapped(tmp_path / "ledger", command=NESTED) as relay, Wrapped(tmp_path / "other", command=NESTED) as other:
        _, elsewhere = family(other)
        inner, started = family(relay)
        with ending(*started):
            end(relay, inner)
        assert all(map(lives, elsewhere))
        with ending(*elsewhere):
            hung_up(other, 0)


@pytest.mark.parametrize("end", [killed, hung_up, lost])
def test_a_relay_that_a_server_started_leaves_no_process(tmp_path: Path, end: Callable[[Wrapped, int], None]) -> None:
    with Wrapped(tmp_path / "ledger") as relay:
        server = int(relay.text(1, "say"))
        inner = int(relay.text(2, "say", start=[*WRAP, "--", sys.executable, "-S", "-c", STUBBORN]))
        until = time.monotonic() + 30
        while not (started := [int(pid) for pid in relay.done()]) and time.monotonic() < until:
            time.sleep(0.02)
        with ending(inner, *started, *below(inner)):
            end(relay, server)


def test_the_next_server_waits_for_what_a_relay_in_the_last_one_started(tmp_path: Path) -> None:
    with Wrapped(tmp_path / "ledger", command=NESTED) as relay:
        inner, started = family(relay)
        os.kill(inner, signal.SIGKILL)
        assert relay.text(4, "say")
        assert not [pid for pid in started if lives(pid)]
