"""The tools of the real ledger, what their calls meet, and what the promise allows then.

Nothing here asks Failwell: who may repeat what is worked out from the annotations and from what was planned.
"""

from __future__ import annotations

import inspect
import random
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import failwell
from ledger_real_answers import ANSWERS
from ledger_real_causes import CAUSES, HTTP_CLIENTS
from ledger_real_gateway import GATES
from ledger_real_words import STATED

At = Literal["before", "between", "after"]
TIMEOUT: Final = 8.0
"""Seconds for an answer. A server over stdio has to start first, and its tools load a library when they need it."""
MAX_ATTEMPTS: Final = 4
HAS_EFFECTS: Final = hasattr(failwell, "effects")
READS: Final = ["get_w*"]
"""The patterns of tools that only read, as given to both sides."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A tool, and what it says of itself."""

    name: str
    writes: bool = True
    hints: tuple[tuple[str, bool], ...] = ()

    @property
    def annotations(self) -> Any:
        from mcp_types import ToolAnnotations

        return ToolAnnotations.model_validate(dict(self.hints)) if self.hints else None

    @property
    def repeatable(self) -> bool:
        """Whether anybody may call it twice, by its own word or by the patterns."""
        told = dict(self.hints)
        by_pattern = self.name == "get_weather" and _knows_reads()
        return told.get("readOnlyHint", False) or told.get("idempotentHint", False) or by_pattern


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("pay"),
        Kind("delete_file", hints=(("readOnlyHint", False), ("destructiveHint", True), ("idempotentHint", False))),
        Kind("add_note", hints=(("readOnlyHint", False), ("destructiveHint", False))),
        Kind("draw_ticket"),  # Unmarked: neither annotations nor its name say what it does.
        Kind("set_price", hints=(("idempotentHint", True),)),
        Kind("find_order", writes=False, hints=(("readOnlyHint", True),)),
        Kind("get_weather", writes=False),
    )
}
_WEIGHTS: Final = {"pay": 6, "delete_file": 3, "add_note": 2, "draw_ticket": 2, "set_price": 2, "find_order": 3}


def _knows_reads() -> bool:
    from failwell.client import Recovering

    return "reads" in inspect.signature(Recovering).parameters


@dataclass(frozen=True, slots=True)
class Step:
    """What one run of a tool meets."""

    cause: str
    at: At
    guarded: bool = False
    """Whether the tool says where its effects are, by `with failwell.effects()`."""

    @property
    def escapes(self) -> bool:
        """Whether a library raises it, and not since a service refused."""
        is_librarys = CAUSES[self.cause].provoke.__module__ == "ledger_real_causes"
        return is_librarys and not self.cause.endswith((" 404", " 409"))

    @property
    def word(self) -> str | None:
        """The effect that the author states, on a server with Failwell; None where nobody knows."""
        if self.guarded and self.cause.startswith("another tool") and self.at == "before":
            # What the other tool did is not marked.
            return "unknown"
        if self.guarded:
            return {"before": "none", "between": "unknown", "after": "done"}[self.at]
        return STATED[self.cause][1] if self.cause in STATED else None


@dataclass(frozen=True, slots=True)
class Job:
    """One call of an agent: what its tool meets each time it runs, what the gateway makes of the answers, and the
    answer of the tool when it works."""

    id: str
    tool: str
    steps: tuple[Step, ...] = ()
    gates: tuple[str, ...] = ()
    answer: str = "plain"

    @property
    def kind(self) -> Kind:
        return KINDS[self.tool]

    @property
    def met(self) -> str:
        """In one line."""
        told = [f"{step.cause} {step.at}{' effects' if step.guarded else ''}" for step in self.steps]
        told += [f"gateway {gate}" for gate in self.gates]
        return "; ".join(told) or f"answer {self.answer}"

    @property
    def family(self) -> str:
        """What it meets first, with its like: any HTTP client that gets a 429, any answer in the form of a problem."""
        if self.gates:
            return f"gateway: {self.gates[0]}"
        if not self.steps:
            return f"success like {self.answer.partition(',')[0]}"
        head, _, rest = self.steps[0].cause.partition(" ")
        if head in HTTP_CLIENTS:
            return f"HTTP client: {rest}"
        return self.steps[0].cause.partition(",")[0]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is made."""

    framework: str = "mcpserver"
    transport: Literal["stdio", "http"] = "http"
    installed: bool = True
    keyed: bool = False

    def __str__(self) -> str:
        how = ("with keys" if self.keyed else "installed") if self.installed else "bare"
        return f"{self.framework} {self.transport} {how}"


def draw(seed: str, count: int, server: Server) -> list[Job]:
    """The calls of one run; the same seed gives the same calls."""
    chance = random.Random(seed)
    return [_job(chance, f"{number:05}", server) for number in range(count)]


def _job(chance: random.Random, id: str, server: Server) -> Job:
    weights = {name: _WEIGHTS.get(name, 1) for name in KINDS}
    tool = chance.choices(list(weights), list(weights.values()))[0]
    kind = KINDS[tool]
    over_http = server.transport == "http"
    what = chance.choices(("raise", "answer", "gate"), (55, 22 if kind.writes else 4, 23 if over_http else 0))[0]
    many = chance.choice((1, 2)) if kind.repeatable else 1
    if what == "gate":
        # Half of the time what passes by itself, so that there is something to recover from.
        passing = [name for name, gate in GATES.items() if gate.passes] if chance.random() < 0.5 else list(GATES)
        return Job(id, tool, gates=tuple(chance.choice(passing) for _ in range(many)))
    if what == "answer":
        return Job(id, tool, answer=chance.choice(list(ANSWERS)))
    return Job(id, tool, steps=tuple(_step(chance, kind, server) for _ in range(many)))


def _step(chance: random.Random, kind: Kind, server: Server) -> Step:
    passing = kind.repeatable and chance.random() < 0.5
    choice = [name for name, each in CAUSES.items() if each.passes or not passing]
    cause = chance.choice([name for name in choice if server.installed or name not in STATED])
    if cause in STATED and not kind.writes:
        cause = "stated: busy, none"
    if cause in STATED:
        return Step(cause, STATED[cause][0])
    at: At = chance.choices(("before", "between", "after"), (20, 20, 60))[0] if kind.writes else "before"
    guarded = HAS_EFFECTS and server.installed and kind.writes and chance.random() < 0.15
    # The low-level server has one handler for all tools, so no tool has a function of its own that could say it.
    return Step(cause, at, guarded and server.framework != "lowlevel")


def may_follow(job: Job, runs: int, server: Server) -> bool:
    """Whether the tool may run once more after so many runs: nothing was done before, and somebody said so."""
    if job.kind.repeatable:
        return True
    if job.gates:
        # That the session is gone is what 404 means by the protocol, to a request that names one.
        return all(gate == "404 session" for gate in job.gates[:runs])
    if not server.installed and job.steps and all(step.cause == _STATES_ITSELF for step in job.steps[:runs]):
        # A protocol error of the server itself, with the contract's object in it, is what the server states.
        return True
    return all(server.installed and step.word == "none" for step in job.steps[:runs]) and runs <= len(job.steps)


_STATES_ITSELF: Final = "upstream MCP -32006"


def is_owed(job: Job, server: Server) -> bool:
    """Whether a client that keeps the promise must bring this call to success."""
    if not job.steps and not job.gates:
        return not job.kind.writes
    if job.gates and not (job.kind.repeatable or server.keyed):
        return False
    if job.steps and not server.installed:
        # A sentence is all there is, or not even that.
        return False
    if not all(GATES[gate].passes for gate in job.gates) or not all(CAUSES[step.cause].passes for step in job.steps):
        return False
    return job.kind.repeatable or all(step.word == "none" for step in job.steps)
