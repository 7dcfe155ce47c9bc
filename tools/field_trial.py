"""A server under trial, and a client that keeps what the server answered."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Final

import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport

from failwell.client import Recovering
from failwell.recovery import Report
from field_cases import Case
from field_servers import Server

_SHOWN: Final = 60
LIMIT: Final = 120.0
"""Seconds after which a call counts as one that never ends."""
# Starts a program in its own place, so that its number is known, and a signal meets it and nothing else.
_LAUNCH: Final = 'echo $$ >> "$0"; exec "$@"'


class Lost(Exception):
    """The rest of a trial makes no sense."""


# What the server really answered, as the SDK passes it on: `Recovering` adds its own words to a result.
_answers: dict[str, list[object]] = {}


class _McpTap(mcp.Client):
    async def call_tool(self, name: str, *more: Any, **options: Any) -> Any:
        return await _kept(name, super().call_tool(name, *more, **options))


class _FastTap(fastmcp.Client):  # type: ignore[type-arg]
    async def call_tool(self, name: str, *more: Any, **options: Any) -> Any:
        return await _kept(name, super().call_tool(name, *more, **options))


async def _kept(name: str, call: Any) -> Any:
    task = asyncio.current_task()
    answers = _answers.setdefault(task.get_name() if task else "", [])
    try:
        result = await call
    except Exception as exc:
        answers.append(exc)
        raise
    answers.append(result)
    return result


class Trial:
    """A server, a client, and the folder they work in."""

    def __init__(self, server: Server, kind: str, here: Path, web: str) -> None:
        self.server, self.kind, self.here, self.web = server, kind, here, web
        self._command = server.command_line(here)
        self._started = here.parent / "started"
        self._started.touch()

    @property
    def processes(self) -> list[int]:
        """All that were started so far, the present one last."""
        return [int(line) for line in self._started.read_text().split()]

    def client(self) -> Any:
        arguments = ["-c", _LAUNCH, str(self._started), *self._command]
        env, cwd = self.server.environment(self.here), str(self.here)
        mode = {"mode": self.server.mode} if self.server.mode else {}
        if self.kind == "fastmcp":
            quiet = self.here.parent / "stderr"
            return _FastTap(StdioTransport("sh", arguments, env, cwd, log_file=quiet), **mode)
        return _McpTap(mcp.StdioServerParameters(command="sh", args=arguments, env=env, cwd=cwd), **mode)

    def signal(self, number: int) -> None:
        # The SDK gives each server a group of its own, and some servers are two processes.
        os.killpg(self.processes[-1], number)

    def left(self) -> list[int]:
        """The processes that still run."""
        return [process for process in self.processes if _runs(process)]


def _runs(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


async def called(agent: Recovering, case: Case, trial: Trial, **options: Any) -> Report:
    _answers[me()] = []
    try:
        async with asyncio.timeout(LIMIT):
            return await agent.call(case.tool, _filled(dict(case.arguments), trial), **options)
    except TimeoutError:
        raise Lost(f"{case.what}: {case.tool} did not end within {LIMIT:.0f} seconds") from None


def me() -> str:
    task = asyncio.current_task()
    return task.get_name() if task else ""


def _filled(value: Any, trial: Trial) -> Any:
    if isinstance(value, str):
        return value.replace("{here}", str(trial.here)).replace("{web}", trial.web)
    if isinstance(value, list):
        return [_filled(each, trial) for each in value]
    return {name: _filled(each, trial) for name, each in value.items()} if isinstance(value, dict) else value


def wire_text() -> str:
    """The first answer of the server to the latest call."""
    answer = next(iter(_answers.get(me(), ())), None)
    if isinstance(answer, mcp.MCPError):
        return f"{answer.error.code} {answer.error.message}"
    if isinstance(answer, BaseException):
        return repr(answer)
    texts = [text for block in getattr(answer, "content", ()) if isinstance(text := getattr(block, "text", None), str)]
    flag = "" if answer is None or answer.is_error else "(success) "  # type: ignore[attr-defined]
    return flag + " ".join(texts)


def masked(text: str, trial: Trial) -> str:
    """What came on the wire, without what is different each time."""
    for real, shown in ((str(trial.here), "/here"), (str(trial.here.parent), ""), (trial.web, "http://web")):
        text = text.replace(real, shown)
    return " ".join(text.split())[:_SHOWN]
