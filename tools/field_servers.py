"""The servers of the field trial: published by others, installed from their registries in the versions named here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = ROOT / ".field"
"""Where the servers are installed. It is made when it is needed, and git does not see it."""
_INSTALLING: Final = 600


class NotInstalled(Exception):
    """A server cannot be had, for the reason it gives."""


@dataclass(frozen=True)
class Server:
    """One server, and how it is started."""

    name: str
    needs: tuple[str, ...]
    """What is installed: the package itself first."""
    command: str
    language: str = "Python"
    arguments: tuple[str, ...] = ()
    """`{here}` in them is the folder that the server may work in."""
    env: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Path], None] = lambda here: None
    """Puts into that folder what the calls need."""
    mode: str | None = None
    """The `mode` of the client, where the usual one cannot connect."""
    patience: float = 8.0
    """Seconds for a call to a stopped server: longer than it takes to start, since that is a part of the next call."""

    @property
    def is_node(self) -> bool:
        return self.language != "Python"

    @property
    def package(self) -> str:
        return self.needs[0].replace("==", " ") if not self.is_node else " ".join(self.needs[0].rsplit("@", 1))

    def command_line(self, here: Path) -> list[str]:
        """What to run, installed before if it is not yet. The server is the process itself, and not a child of uv or
        npx, so that a signal meets it and nothing else."""
        home = FOLDER / self.name
        _install(self, home)
        program = home / ("node_modules/.bin" if self.is_node else "bin") / self.command
        if not program.exists():
            raise NotInstalled(f"{self.needs[0]} brings no command {self.command}")
        return [str(program), *(argument.format(here=here) for argument in self.arguments)]

    def environment(self, here: Path) -> dict[str, str]:
        """Nothing of this machine but what starts a program."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        home = str(here.parent / "home")
        plain = {"PATH": path, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "NO_COLOR": "1"}
        return plain | {name: value.format(here=here) for name, value in self.env.items()}


def _install(server: Server, home: Path) -> None:
    ready = home / ".ready"
    wanted = " ".join(server.needs)
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    if server.is_node:
        _run("npm", "install", "--prefix", str(home), *_QUIET, *server.needs)
    else:
        uv = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home))
        _run(uv, "pip", "install", "--quiet", "--python", str(home / "bin" / "python"), *server.needs)
    ready.write_text(wanted, encoding="utf-8")


# Scripts of packages are other people's code that no call needs.
_QUIET: Final = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def _run(*command: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    env = {**os.environ, "PATH": path, "UV_PYTHON_DOWNLOADS": "never"}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=_INSTALLING, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise NotInstalled(f"{Path(command[0]).name}: {type(exc).__name__}") from exc
    if done.returncode:
        # npm ends with the place of its log, which is on this machine and nowhere else.
        said = " ".join(
            word for line in done.stderr.splitlines() if "log of this run" not in line for word in line.split()
        )
        raise NotInstalled(f"{Path(command[0]).name}: {said[:160] or f'exit {done.returncode}'}")


def _git_repository(here: Path) -> None:
    for command in (
        ("init", "--quiet", "--initial-branch=main"),
        (
            "-c",
            "user.name=field",
            "-c",
            "user.email=field@example.com",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "1",
        ),
    ):
        subprocess.run(("git", "-C", str(here), *command), check=True, capture_output=True)


def _file(name: str, text: str = "tea\n") -> Callable[[Path], None]:
    def write(here: Path) -> None:
        (here / name).write_text(text, encoding="utf-8")

    return write


_PYDANTIC: Final = "pydantic==2.14.3"
_V2: Final = ("mcp==2.3.0", _PYDANTIC)
_V1: Final = ("mcp==1.30.0", _PYDANTIC)
_OFFICIAL: Final = "@modelcontextprotocol/server-"
# A port that nothing listens on.
_CLOSED: Final = "127.0.0.1:9"
_KUBECONFIG: Final = f"""apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://{_CLOSED}"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {{}}}}]
current-context: c
"""

SERVERS: Final = (
    Server("time", ("mcp-server-time==2026.10.19", *_V2), "mcp-server-time", arguments=("--local-timezone", "UTC")),
    Server("fetch", ("mcp-server-fetch==2026.10.24", *_V2), "mcp-server-fetch", arguments=("--allow-private-ips",)),
    Server(
        "git",
        ("mcp-server-git==2026.10.19", *_V2),
        "mcp-server-git",
        arguments=("--repository", "{here}"),
        prepare=_git_repository,
    ),
    Server("excel", ("excel-mcp-server==2.2.2", *_V2), "excel-mcp-server", arguments=("stdio",)),
    Server(
        "sqlite",
        ("mcp-server-sqlite==2025.4.25", *_V1),
        "mcp-server-sqlite",
        arguments=("--db-path", "{here}/t.db"),
    ),
    Server("shell", ("mcp-shell-server==1.1.14", *_V1), "mcp-shell-server", env={"ALLOW_COMMANDS": "ls,cat,sleep"}),
    Server("calculator", ("mcp-server-calculator==0.2.1", *_V1), "mcp-server-calculator"),
    Server("redis", ("redis-mcp-server==0.5.1", *_V1), "redis-mcp-server", arguments=("--url", f"redis://{_CLOSED}/0")),
    Server(
        "motherduck",
        ("mcp-server-motherduck==1.1.0", "fastmcp==4.1.2", *_V2),
        "mcp-server-motherduck",
        arguments=("--db-path", ":memory:", "--read-write"),
    ),
    Server(
        "chroma",
        ("chroma-mcp==0.2.6", "mcp==1.6.0", "pydantic==2.11.10"),
        "chroma-mcp",
        arguments=("--client-type", "ephemeral"),
        env={"ANONYMIZED_TELEMETRY": "false"},
        # The question for the newer era of the protocol ends this server.
        mode="legacy",
    ),
    Server("everything", (_OFFICIAL + "everything@2026.8.31",), "mcp-server-everything", "TypeScript"),
    Server(
        "filesystem",
        (_OFFICIAL + "filesystem@2026.8.31",),
        "mcp-server-filesystem",
        "TypeScript",
        arguments=("{here}",),
        prepare=_file("tea.txt"),
    ),
    Server(
        "memory",
        (_OFFICIAL + "memory@2026.8.31",),
        "mcp-server-memory",
        "TypeScript",
        env={"MEMORY_FILE_PATH": "{here}/memory.jsonl"},
    ),
    Server("thinking", (_OFFICIAL + "sequential-thinking@2026.8.31",), "mcp-server-sequential-thinking", "TypeScript"),
    Server(
        "dbhub",
        ("@bytebase/dbhub@1.4.0",),
        "dbhub",
        "TypeScript",
        arguments=("--transport", "stdio", "--dsn", "sqlite://{here}/t.db"),
        prepare=_file("t.db", ""),
    ),
    Server("repomix", ("repomix@1.18.1",), "repomix", "TypeScript", arguments=("--mcp",), prepare=_file("tea.txt")),
    Server(
        "toolbox",
        ("@toolbox-sdk/server@1.12.0",),
        "toolbox",
        "Go",
        arguments=("--prebuilt", "sqlite", "--stdio"),
        env={"SQLITE_DATABASE": "{here}/t.db"},
    ),
    Server(
        "kubernetes",
        ("kubernetes-mcp-server@0.0.67",),
        "kubernetes-mcp-server",
        "Go",
        arguments=("--kubeconfig", "{here}/kubeconfig.yaml"),
        prepare=_file("kubeconfig.yaml", _KUBECONFIG),
    ),
    Server(
        "moon",
        ("@moonrepo/cli@2.5.5",),
        "moon",
        "Rust",
        arguments=("mcp",),
        env={"MOON_WORKSPACE_ROOT": "{here}"},
        # It does not answer the question for the newer era, and the SDK waits ten seconds before it asks otherwise.
        patience=20.0,
        prepare=lambda here: _moon(here),
    ),
)


def _moon(here: Path) -> None:
    (here / ".moon").mkdir()
    (here / ".moon" / "workspace.yml").write_text("projects: []\n", encoding="utf-8")
    _git_repository(here)
