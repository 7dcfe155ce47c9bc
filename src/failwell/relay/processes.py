"""The server as a process: started with all that it starts in a group of its own, and ended with all of it.

A relay that is killed cannot end anything, so a second, tiny process waits for that and does it in its place.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

MARK: Final = "FAILWELL_WRAP"
"""The variable by which everything that a wrapped server started is found, wherever it went."""
STUBBORN: Final = 2.0
"""How long a server has to end by itself before it is killed."""
MUTE: Final = "its stdout closed, so the relay ended it"
# As much as a pipe holds. Above 128 kB the memory for each read would be asked of the system, and given back.
_CHUNK: Final = 1 << 16
_OURS: Final = "FAILWELL_"
SESSION_VARIABLE: Final = "FAILWELL_SESSION"
"""By which a server that keeps events knows in which session the relay's calls are: `failwell.observe` reads it."""
_TAIL: Final = 8_192
_POLITE: Final = 2.0
_FIRM: Final = 1.0
_MOST_GENERATIONS: Final = 50
# As the system shows it, in fifteen characters at most.
_WARDEN: Final = "failwell-warden"
_MOMENT: Final = 0.02


def read_now(pipe: int) -> bytes | None:
    """What can be read without waiting: nothing at its end, and None where there is nothing yet."""
    try:
        return os.read(pipe, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def fresh_mark() -> str:
    """A mark that nobody else has: below that of the relay whose server started this process, if there is one, so that
    what is started here is found from there as well."""
    own = f"{os.getpid()}-{os.urandom(8).hex()}"
    return f"{above}-{own}" if (above := os.environ.get(MARK)) else own


def mark_below(mark: str) -> str:
    """A mark of one's own under another one, by which both are found."""
    return f"{mark}-{os.urandom(4).hex()}"


def child_env(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """What a server is started with: not with what is set for the relay, which may be a secret."""
    kept = {name: value for name, value in env.items() if name == SESSION_VARIABLE or not name.startswith(_OURS)}
    return {**kept, MARK: mark}


class CannotStart(Exception):
    """Why a command could not be started."""


class Child:
    """A server that runs, with three pipes to it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str | None, mark: str) -> None:
        self.mark = mark_below(mark)
        """Its own, so that what it left behind can be ended while the next one runs."""
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=child_env(env, self.mark),
                cwd=cwd,
                bufsize=0,
                # A group, and no session: between two sessions Linux shares a busy machine out, and each call waits.
                process_group=0,
            )
        except FileNotFoundError:
            missing = cwd if cwd is not None and not Path(cwd).is_dir() else command[0]
            raise CannotStart(f"there is no {missing}") from None
        except OSError as problem:
            raise CannotStart(problem.strerror or str(problem)) from None
        except ValueError as problem:
            # A NUL, half a character, or a variable whose name is none.
            raise CannotStart(str(problem)) from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.pid = self._process.pid
        self.stdin = self._process.stdin.fileno()
        self.stdout = self._process.stdout.fileno()
        self.stderr = self._process.stderr.fileno()
        for pipe in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(pipe, False)
        self._errors = b""
        self._news = 0
        """How many bytes of that are recent."""

    @property
    def code(self) -> int | None:
        """Its exit code when it has ended, else None."""
        return self._process.poll()

    def wait(self) -> None:
        """Until it has ended."""
        self._process.wait()

    @property
    def errors(self) -> str:
        """The end of what it said on stderr."""
        return self._errors.decode("utf-8", "replace")

    @property
    def recent(self) -> str:
        """The same, of what it said since it was last sent a request."""
        return self._errors[len(self._errors) - self._news :].decode("utf-8", "replace")

    def said(self, data: bytes) -> None:
        self._errors = (self._errors + data)[-_TAIL:]
        self._news = min(self._news + len(data), len(self._errors))

    def asked(self) -> None:
        """It is sent a request: what it said before is about something else."""
        self._news = 0

    def hang_up(self) -> None:
        """Close its stdin, which asks it to end."""
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]

    def signal(self, number: int) -> None:
        """To it and all that it started in its group."""
        with suppress(OSError):
            os.killpg(self.pid, number)

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def end(self, *, politely: bool = True) -> None:
        """End it with all that it started, and wait until it has ended."""
        self.hang_up()
        for number, patience in ((0, _POLITE if politely else 0.0), (signal.SIGTERM, _FIRM), (signal.SIGKILL, 5.0)):
            if number:
                self.signal(number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
                break
        # What it started may still be there.
        self.signal(signal.SIGKILL)
        self.close()


_SET_CHILD_SUBREAPER: Final = 36


def take_in_orphans(wanted: bool = True) -> None:
    """Become the parent of what a server leaves behind, where the system has that, so that it can be found; or let
    orphans go elsewhere again."""
    if sys.platform != "linux":
        return
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


def children(known: Collection[int] = ()) -> list[int]:
    """The processes whose parent this one is, but for those that are known; none where the system does not tell."""
    try:
        mine = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text("ascii")
    except OSError:
        return []
    return [pid for pid in map(int, mine.split()) if pid not in known]


def bury(known: Collection[int]) -> None:
    """Take note of orphans that have ended."""
    for pid in children(known):
        with suppress(OSError):
            os.waitpid(pid, os.WNOHANG)


def end_orphans(known: Collection[int]) -> None:
    """End what was left to us, and what that leaves to us in turn."""
    for _ in range(_MOST_GENERATIONS):
        left = children(known)
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        if not left:
            return


def sweep(mark: str) -> None:
    """End what a wrapped server left behind outside of its group, where the system tells who that is, and wait for it.

    A mark below it is meant as well: a relay has one, and each server that it starts has one of its own. The warden of
    a relay that is ended here has time for its work: it alone knows the group of that relay's server.
    """
    patient_until = time.monotonic() + _FIRM + _POLITE
    while left := _marked(mark):
        is_patient = time.monotonic() < patient_until
        for pid in left:
            if not is_patient or not _is_warden(pid):
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        if not is_patient:
            return
        time.sleep(_MOMENT)


def _marked(mark: str) -> list[int]:
    """The other processes with a mark, or with one below it."""
    wanted = f"{MARK}={mark}".encode()
    below = wanted + b"-"
    found = []
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid():
                with suppress(OSError):
                    given = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                    if any(each == wanted or each.startswith(below) for each in given):
                        found.append(int(name))
    return found


def _is_warden(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8").strip() == _WARDEN
    except (OSError, UnicodeDecodeError):
        return False


class Warden:
    """A process that ends the server when the relay was killed, and ends itself with it."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        reading, self._writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._writing)
            _watch(reading, mark)
        os.close(reading)

    def knows(self, group: int) -> None:
        """Tell it of a server."""
        with suppress(OSError):
            os.write(self._writing, b"%d\n" % group)

    def forgets(self, group: int) -> None:
        """Tell it that a server has ended, and that its number may be another's by now."""
        with suppress(OSError):
            os.write(self._writing, b"-%d\n" % group)

    def dismiss(self) -> None:
        """There is nothing left to end."""
        with suppress(OSError):
            os.write(self._writing, b"0\n")
            os.close(self._writing)
            os.waitpid(self.pid, 0)


def _watch(reading: int, mark: str) -> None:
    """What the warden does; it never returns."""
    groups: set[int] = set()
    rest = b""
    try:
        os.setsid()
        with suppress(OSError):
            # Whoever sweeps above us knows us by that.
            Path("/proc/self/comm").write_text(_WARDEN, "ascii")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        while data := os.read(reading, 4096):
            *lines, rest = (rest + data).split(b"\n")
            for said in map(int, lines):
                if said > 0:
                    groups.add(said)
                else:
                    groups = groups - {-said} if said else set()
        if groups:
            for order, patience in ((signal.SIGTERM, _FIRM), (signal.SIGKILL, 0.0)):
                for group in groups:
                    with suppress(OSError):
                        os.killpg(group, order)
                time.sleep(patience)
            sweep(mark)
    finally:
        os._exit(0)
