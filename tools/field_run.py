"""One server of the field trial with one client: what is tried, what came on the wire, and what was made of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import failwell as fw
from failwell.client import Recovering
from failwell.model import Effect
from failwell.model.decision import Next
from failwell.model.tool import Traits
from failwell.recovery import Report
from field_cases import CASES, TRANSIENT, WORKS, Case
from field_servers import Server
from field_trial import LIMIT, Lost, Trial, called, masked, me, wire_text

CLIENTS: Final = ("mcp", "fastmcp")
# A breaker, a budget and the loop guard look at calls in a row. Mistakes that are made on purpose are none.
_PATIENT: Final = fw.Policy(base_delay=0.05, timeout=40, circuit_breaker=False)
_PROPER: Final[dict[str, frozenset[Next]]] = {
    "validation": frozenset({Next.FIX}),
    "not_found": frozenset({Next.ALTERNATIVE, Next.FIX}),
    "permission": frozenset({Next.ASK}),
    "conflict": frozenset(Next) - {Next.PROCEED},
    "transient": frozenset({Next.RETRY, Next.VERIFY, Next.ASK}),
    "internal": frozenset({Next.GIVE_UP, Next.RETRY, Next.VERIFY, Next.ASK}),
}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    tool: str
    wire: str = ""
    reading: str = ""
    decision: str = ""
    wrong: str = ""
    """What a reasonable person does not agree with."""


async def run(server: Server, kind: str, web: str) -> list[Row]:
    """Everything that is tried on one server with one client."""
    with tempfile.TemporaryDirectory(prefix="field-", ignore_cleanup_errors=True) as folder:
        here = Path(folder).resolve() / "work"
        here.mkdir()
        (here.parent / "home").mkdir()
        trial = Trial(server, kind, here, web)
        server.prepare(here)
        rows: list[Row] = []
        asyncio.current_task().set_name(f"{server.name} {kind}")  # type: ignore[union-attr]
        try:
            async with asyncio.timeout(LIMIT * 4):
                for part in (_mistakes, _faults):
                    async for row in part(trial):
                        rows.append(row)  # noqa: PERF401 - what was seen before something hangs is kept
        except (Lost, TimeoutError) as exc:
            rows.append(Row("the trial", "", wrong=str(exc) or "took too long"))
        rows.append(await _leftovers(trial))
        return [replace(row, wire=masked(row.wire, trial)) for row in rows]


@asynccontextmanager
async def _agent(trial: Trial, policy: fw.Policy) -> AsyncIterator[Recovering]:
    async with Recovering(trial.client(), policy=policy) as agent:
        yield agent
        began = time.monotonic()
    if time.monotonic() - began > 15:
        raise Lost("closing took more than 15 seconds")


async def _tools(agent: Recovering) -> dict[str, Any]:
    """What a server lists: each client gives it in its own way."""
    listed = await agent.list_tools()
    return {tool.name: tool for tool in getattr(listed, "tools", listed)}


async def _mistakes(trial: Trial) -> AsyncIterator[Row]:
    async with _agent(trial, _PATIENT) as agent:
        try:
            tools = await _tools(agent)
        except fw.ToolError as error:
            yield Row("connect and list", "", error.message, _reading(error), wrong="it should connect")
            tools = {}
        else:
            yield Row("connect and list", "", f"{len(tools)} tools", WORKS)
        for case in CASES[trial.server.name]:
            report = await called(agent, case, trial)
            yield _row(case, report, Traits.of(tools.get(case.tool, case.tool)), wire_text())


def _row(case: Case, report: Report, tool: Traits, wire: str) -> Row:
    error = report.error
    if error is None and case.expected == WORKS:
        return Row(case.what, case.tool, "", WORKS)
    if error is None:
        # What the server calls a success is one, and left to the model; whoever only observes sees what it is.
        seen = fw.read(report.result, observe=True)
        kind = seen.kind.value if isinstance(seen, fw.ToolError) else ""
        wrong = "" if kind in case.expected.split() else f"{case.expected} was expected"
        return Row(case.what, case.tool, wire, f"a success that looks like {kind or 'nothing'}", wrong=wrong)
    if not isinstance(error, fw.ToolError):
        return Row(case.what, case.tool, wire, "needs input", "ask", f"{case.expected} was expected")
    first = report.attempts[0].decision.next
    wrong = "; ".join(_objections(case, error, first, tool))
    return Row(case.what, case.tool, wire, _reading(error), first.value, wrong)


def _objections(case: Case, error: fw.ToolError, first: Next, tool: Traits) -> Iterator[str]:
    """What a reasonable person says against a reading, and against what is done about it."""
    kind = error.kind.value
    if kind not in case.expected.split():
        yield f"{case.expected} was expected"
        return
    if error.retryable != (kind == TRANSIENT and error.effect is not Effect.UNKNOWN):
        yield "retryable" if error.retryable else "not retryable"
    if case.fields and not any(problem.path and problem.path[0] == case.fields for problem in error.fields):
        yield f"{case.fields} is not named"
    if first not in _PROPER[kind]:
        yield f"{first.value} is of no use"
    if first is Next.RETRY and kind == TRANSIENT and not tool.repeatable and error.legacy:
        yield "what may have been done is repeated"


def _reading(error: fw.ToolError) -> str:
    fields = ",".join(".".join(map(str, problem.path)) for problem in error.fields)
    parts = (
        error.kind.value,
        error.code or "no code",
        "retryable" if error.retryable else "",
        f"fields {fields}" if fields else "",
        f"effect {error.effect.value}" if error.effect is not None else "",
    )
    return ", ".join(part for part in parts if part)


async def _faults(trial: Trial) -> AsyncIterator[Row]:
    """The server is killed between two calls, killed under a call, and stopped for good."""
    case = next(
        (case for case in reversed(CASES[trial.server.name]) if case.expected == WORKS and _is_plain(case)), None
    )
    if case is None:
        return
    async with _agent(trial, fw.Policy(base_delay=0.1)) as agent:
        await _expect(await called(agent, case, trial), "before the faults")
        tool = (await _tools(agent))[case.tool]
        traits = Traits.of(tool)

        trial.signal(signal.SIGKILL)
        # Nobody can know that a process has ended before its pipe says so.
        await asyncio.sleep(0.5)
        yield _fault("killed before a call", case, await called(agent, case, trial), must=True)

        await _expect(await called(agent, case, trial), "after a kill")
        trial.signal(signal.SIGSTOP)
        under_way = asyncio.create_task(called(agent, case, trial), name=me())
        await asyncio.sleep(0.5)
        trial.signal(signal.SIGKILL)
        yield _fault("killed under a call", case, await under_way, must=traits.repeatable)
        yield _fault("the call after it", case, await called(agent, case, trial), must=True)

        trial.signal(signal.SIGSTOP)
        option = {"timeout" if trial.kind == "fastmcp" else "read_timeout_seconds": trial.server.patience}
        yield _fault("stopped", case, await called(agent, case, trial, **option), must=traits.repeatable)
        yield _fault("the call after it", case, await called(agent, case, trial, **option), must=True)
        with contextlib.suppress(ProcessLookupError):
            trial.signal(signal.SIGSTOP)


def _is_plain(case: Case) -> bool:
    return not any(word in str(case.arguments) for word in ("create ", "insert ", "xlsx", "collection_name"))


async def _expect(report: Report, when: str) -> None:
    if not report.ok:
        raise Lost(f"{report.tool} fails {when}: {report.failure}")


def _fault(what: str, case: Case, report: Report, *, must: bool) -> Row:
    """What came of a call whose server was struck. It must work, or else say that its effect is not known."""
    first = report.attempts[0] if report.attempts else None
    wire = "" if first is None else f"{getattr(first.error, 'message', '')}"
    reading = f"{WORKS}, {report.calls} sent, {report.seconds:.0f} s" if report.ok else ""
    decision = "" if first is None else first.decision.next.value
    wrong = ""
    if not report.ok:
        assert isinstance(report.error, fw.ToolError)
        reading = f"{_reading(report.error)}, {report.calls} sent, {report.seconds:.0f} s"
        is_honest = report.error.effect is Effect.UNKNOWN and report.calls == 1
        wrong = "it should work" if must else "" if is_honest else "nobody knows whether it was done"
    elif not must and report.calls > 1:
        wrong = "what may have been done is repeated"
    return Row(what, case.tool, wire, reading, decision, wrong)


async def _leftovers(trial: Trial) -> Row:
    deadline = time.monotonic() + 3
    while (left := trial.left()) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    for process in left:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
    count = len(trial.processes)
    return Row("after closing", "", f"{count} started, {len(left)} left", wrong="a process is left" if left else "")
