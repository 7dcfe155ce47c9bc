"""The agents of the recovery table: scripted, so that the difference between two rows is never a model's mood.

naive: makes the same call again, up to three times, a second apart, whatever the failure was.
text follower: reads the text that a model would be shown, and does what it says: a rule for each way of naming an
    action. Where a text names none, it does not guess: it reports.
failwell: `Recovering`, and the same text follower for what is left.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

import failwell as fw
from failwell.client import Recovering, patched
from recovery_goals import ASKED, BROKEN, DONE, FORBIDDEN, MISSING, Arguments, Goal
from recovery_world import WorldClock

REPEATS = 3
MOST_CALLS = 6
TIMEOUT = 30.0
# Every goal here meets a fault: the brake that keeps many agents from an overload would brake the measurement.
POLICY = fw.Policy(circuit_breaker=False)


@dataclass(frozen=True)
class Answer:
    text: str
    failed: bool
    """What the protocol says."""


@dataclass
class Session:
    """What one goal has cost so far."""

    sent: list[tuple[str, Arguments]] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """The texts about failures that a model would have had to read."""


class Bare:
    """The SDK's client, opened again when its server is gone."""

    def __init__(self, server: StdioServerParameters) -> None:
        self._server = server
        self._group = anyio.create_task_group()
        self._client: Client | None = None
        self._leave = anyio.Event()
        self.session = Session()

    async def __aenter__(self) -> Bare:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        self._close()
        await self._group.__aexit__(*exc)

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await (await self._open()).list_tools()).tools}

    async def call(self, tool: str, arguments: Arguments) -> Answer:
        self.session.sent.append((tool, dict(arguments)))
        try:
            result = await (await self._open()).call_tool(tool, arguments, read_timeout_seconds=TIMEOUT)
        except Exception as exc:
            self._close()
            return _read(self.session, str(exc), True)
        return _read(self.session, text_of(result), bool(result.is_error))

    async def _open(self) -> Client:
        if self._client is None:
            self._client = await self._group.start(self._hold)
        return self._client

    async def _hold(self, *, task_status: Any) -> None:
        """A client belongs to the task that opened it, so each has its own."""
        self._leave = leave = anyio.Event()
        async with Client(self._server) as client:
            task_status.started(client)
            await leave.wait()

    def _close(self) -> None:
        self._client = None
        self._leave.set()


class Recovered:
    """The same client inside `Recovering`."""

    def __init__(self, server: StdioServerParameters, clock: WorldClock, random: Random) -> None:
        client = Client(server)
        self._agent = Recovering(client, policy=POLICY, fix=patched, clock=clock, jitter=random.random)
        self.session = Session()

    async def __aenter__(self) -> Recovered:
        await self._agent.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._agent.__aexit__(*exc)

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await self._agent.list_tools()).tools}

    async def call(self, tool: str, arguments: Arguments) -> Answer:
        report = await self._agent.call(tool, arguments)
        made = [dict(attempt.arguments) for attempt in report.attempts if attempt.made]
        if report.ok:
            made.append(report.arguments)
        self.session.sent += [(tool, each) for each in made]
        return _read(self.session, text_of(report.result), bool(report.result.is_error))


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def _read(session: Session, text: str, failed: bool) -> Answer:
    if failed or sounds_failed(text):
        session.read.append(text)
    return Answer(text, failed)


def sounds_failed(text: str) -> bool:
    """Whether a text says by itself that the call failed, whatever the protocol says."""
    return re.match(r'\s*(error\b|\{\s*"success":\s*false)', text, re.IGNORECASE) is not None


# The agents. Each gives the last word that it would tell its user.


async def naive(goal: Goal, caller: Any, clock: WorldClock) -> str:
    for _ in range(REPEATS + 1):
        answer = await caller.call(goal.tool, goal.arguments)
        if not answer.failed:
            return DONE
        await clock.sleep(1)
    return BROKEN


async def follow(goal: Goal, caller: Any, clock: WorldClock) -> str:
    tools = await caller.tools()
    arguments = dict(goal.arguments)
    for number in range(MOST_CALLS):
        answer = await caller.call(goal.tool, arguments)
        if not answer.failed and not sounds_failed(answer.text):
            return DONE
        told = Told(answer.text, goal, arguments, tools, number)
        step = next(filter(None, (rule(told) for rule in RULES)), Say(_reason(answer.text)))
        if isinstance(step, Say):
            return step.word
        if isinstance(step, Wait):
            await clock.sleep(step.seconds)
        if isinstance(step, Change):
            arguments = step.arguments
        if isinstance(step, Look):
            seen = await caller.call(step.tool, step.arguments)
            facts = _facts(seen)
            if facts is None:
                return BROKEN
            if step.decides and facts.get("done") is True:
                return DONE
            if step.decides and (reason := _reason(answer.text)) != BROKEN:
                # It was not done, and the reason stays what it is.
                return reason
            if step.decides:
                await clock.sleep(2.0**number)
            arguments.update({name: facts[name] for name in goal.looked_up if name in facts})
    return BROKEN


def _facts(answer: Answer) -> dict[str, Any] | None:
    try:
        found = json.loads(answer.text)
    except ValueError:
        return None
    return found if isinstance(found, dict) and not answer.failed else None


AGENTS: dict[str, Callable[[Goal, Any, WorldClock], Awaitable[str]]] = {
    "naive": naive,
    "text follower": follow,
    "failwell": follow,
}


def caller_for(agent: str, server: StdioServerParameters, clock: WorldClock, random: Random) -> Any:
    return Recovered(server, clock, random) if agent == "failwell" else Bare(server)


# What a text can ask for, and the rules that find it.


@dataclass(frozen=True)
class Say:
    word: str


@dataclass(frozen=True)
class Wait:
    seconds: float


@dataclass(frozen=True)
class Change:
    arguments: Arguments


@dataclass(frozen=True)
class Look:
    tool: str
    arguments: Arguments
    decides: bool = False
    """Whether what is seen tells that the call was done after all."""


Step = Say | Wait | Change | Look


@dataclass(frozen=True)
class Told:
    text: str
    goal: Goal
    arguments: Arguments
    tools: set[str]
    made: int

    def find(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.text, re.IGNORECASE | re.MULTILINE)


def check_first(told: Told) -> Step | None:
    """`Next: call get_invoice with {"invoice":"inv_1"} to see whether it was.`"""
    found = told.find(r"\bcall (\w+)(?: with (\{.*?\}))? to see whether it was")
    if not found or found[1] not in told.tools:
        return None
    return Look(found[1], json.loads(found[2] or "{}"), decides=True)


def do_not_repeat(told: Told) -> Step | None:
    if told.find(r"may have been done already"):
        return Say(ASKED)
    forbids = told.find(r"\bdo not (?:repeat|retry|call again)|will not be made again")
    return Say(_reason(told.text)) if forbids else None


def next_call(told: Told) -> Step | None:
    """`Next: call pay_invoice with {"invoice": "inv_1", "currency": "EUR"}.`, where nothing is left to fill in."""
    found = told.find(r"\bnext: call (\w+) with (\{.*\})\.")
    if not found or found[1] not in told.tools or re.search(r'"<[^"]*>"', found[2]):
        return None
    arguments = json.loads(found[2])
    return Change(arguments) if found[1] == told.goal.tool else Look(found[1], arguments)


def another_name(told: Told) -> Step | None:
    found = told.find(r"\b(\w+)['\"]? instead of ['\"]?(\w+)")
    if not found or found[2] not in told.arguments:
        return None
    return Change({(found[1] if name == found[2] else name): value for name, value in told.arguments.items()})


def missing_name(told: Told) -> Step | None:
    """`amount: Field required`, where something was sent by nearly that name."""
    found = told.find(r"^(\w+)\s+(?:field required|missing required argument)")
    near = difflib.get_close_matches(found[1], told.arguments, 1) if found else []
    if not found or not near or found[1] in told.arguments:
        return None
    return Change({(found[1] if name == near[0] else name): value for name, value in told.arguments.items()})


def allowed_value(told: Told) -> Step | None:
    """`currency: Input should be 'EUR', 'USD' or 'GBP'`: the one that was meant, but for case and space."""
    for name, sent in told.arguments.items():
        listed = told.find(
            rf"\b{name}\b[\s\S]{{0,100}}?(?:should be|one of|expected|allowed)\s+((?:['\"]\w+['\"][,| or]*)+)"
        )
        options = re.findall(r"['\"](\w+)['\"]", listed[1]) if listed else []
        meant = [option for option in options if option.casefold() == str(sent).strip().casefold() and option != sent]
        if meant:
            return Change({**told.arguments, name: meant[0]})
    return None


def allowed_range(told: Told) -> Step | None:
    for name, sent in told.arguments.items():
        most = told.find(rf"\b{name}\b[\s\S]{{0,100}}?(?:less than or equal to|at most|<=)\s*(\d+)")
        if most and isinstance(sent, int) and sent > int(most[1]):
            return Change({**told.arguments, name: int(most[1])})
    return None


def wait_so_long(told: Told) -> Step | None:
    found = told.find(r"(?:wait|retry[-_ ]after|again (?:in|after)|retry (?:in|after))\W{0,4}(\d+(?:\.\d+)?)")
    return Wait(float(found[1])) if found else None


def call_another(told: Told) -> Step | None:
    found = told.find(r"\bcall (\w+)(?:\((.*?)\))?")
    return Look(found[1], _arguments(found[2] or "")) if found and found[1] in told.tools else None


def look_first(told: Told) -> Step | None:
    return Look(*told.goal.look) if told.goal.look and told.find(r"\blook at how things stand") else None


def again_some_time(told: Told) -> Step | None:
    if told.made >= REPEATS or not told.find(r"\b(?:please retry|retry later|try again)\b"):
        return None
    return Wait(2.0**told.made)


RULES: tuple[Callable[[Told], Step | None], ...] = (
    check_first,
    do_not_repeat,
    next_call,
    another_name,
    missing_name,
    allowed_value,
    allowed_range,
    wait_so_long,
    call_another,
    look_first,
    again_some_time,
)
_REASONS = (
    (FORBIDDEN, r"\b(?:403|forbidden|permission|not allowed|may not|may read only|approval|ask the user)\b"),
    (MISSING, r"\b(?:404|not found|does not exist|there is no|no such)\b"),
)


def _reason(text: str) -> str:
    """Why it failed, in the agent's own words to its user: what the text says, or just that it did."""
    return next((word for word, pattern in _REASONS if re.search(pattern, text, re.IGNORECASE)), BROKEN)


def _arguments(written: str) -> Arguments:
    found = re.findall(r"(\w+)=(\"[^\"]*\"|[\w.-]+)", written)
    return {name: json.loads(value) if value[0] in '"0123456789-' else value for name, value in found}
