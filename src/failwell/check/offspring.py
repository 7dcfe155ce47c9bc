"""What a server has started, wherever it went: found while it runs, since afterwards nobody knows whose it was."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

_MOST: Final = 1000


class Offspring:
    """The processes below one, held so that their numbers cannot become another's; none where the system has no such
    thing. What was left by a process that has ended already is somebody else's child, and not among them."""

    def __init__(self, pid: int) -> None:
        self._held: list[int] = []
        if not hasattr(os, "pidfd_open"):
            return
        waiting = _children(pid)
        while waiting and len(self._held) < _MOST:
            each = waiting.pop()
            with suppress(OSError):
                self._held.append(os.pidfd_open(each))
                waiting += _children(each)

    def end(self) -> None:
        """End those that are still there."""
        for held in self._held:
            with suppress(OSError):
                signal.pidfd_send_signal(held, signal.SIGKILL)
            os.close(held)
        self._held.clear()


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text("ascii").split())
    return found
