"""On systems that are not this one: every module is imported as on Windows, as far as that can be played here."""

from __future__ import annotations

import subprocess
import sys

import pytest

# What Windows does not have. Other people's packages are imported before, since they know where they are.
ELSEWHERE = """
import importlib, os, pkgutil, select, signal, socket, sys

import failwell

names = [each.name for each in pkgutil.walk_packages(failwell.__path__, "failwell.") if not each.name.endswith("__main__")]

def load():
    failed = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            failed.append(name)
    return failed

# Packages that are not installed, or in another generation.
absent = load()
for name in [name for name in sys.modules if name.partition(".")[0] == "failwell"]:
    del sys.modules[name]
for name in ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "readline", "syslog"):
    sys.modules[name] = None
for module, attributes in {
    os: "fork forkpty killpg setsid getpgid setpgid getuid geteuid getgid getpgrp uname wait WNOHANG waitid mkfifo "
        "sched_getaffinity getloadavg register_at_fork posix_spawn",
    signal: "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGCHLD SIGPIPE SIGALRM SIGCONT SIGSTOP SIGTSTP alarm setitimer pthread_sigmask",
    select: "poll epoll",
    socket: "AF_UNIX socketpair",
}.items():
    for attribute in attributes.split():
        if hasattr(module, attribute):
            delattr(module, attribute)
# Not os.name, by which pathlib chooses its classes.
sys.platform = "win32"
print([name for name in load() if name not in absent], len(names) - len(absent) > 200)
"""


@pytest.fixture(scope="module")
def imported() -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=False)


def test_every_module_is_imported_where_there_is_no_fork_and_no_poll(
    imported: subprocess.CompletedProcess[str],
) -> None:
    assert (imported.returncode, imported.stderr, imported.stdout) == (0, "", "[] True\n")
