"""Holds what was said about calls of real tools against what the tools wrote down."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from failwell.model import Nature, Traits
from ledger_check import Said
from ledger_real_answers import FAILURES
from ledger_real_causes import CAUSES
from ledger_real_gateway import GATES
from ledger_real_plan import Job, Server, is_owed, may_follow
from ledger_real_words import STATED

_AGAIN: Final = re.compile(r"\b(again|retry|retrying|retried|repeat)\b", re.IGNORECASE)
_NOT: Final = re.compile(r"\b(not|never|before|without|fail|cannot|no use)\b|n't\b", re.IGNORECASE)
_NOTHING: Final = re.compile(r"nothing (was|has been) (done|changed)|call was not made|had no effect", re.IGNORECASE)

_FASTMCP_SAYS: Final = ("Rate limited by upstream API, please retry later", "Upstream request timed out, please retry")


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that does not hold, for one call."""

    what: str
    job: Job
    server: Server
    said: str

    def __str__(self) -> str:
        return f"{self.what}: {self.job.tool} {self.job.id} on {self.server}, met {self.job.met}; {self.said}"


@dataclass(slots=True)
class Tally:
    """The figures of one run, and everything that is wrong."""

    calls: int = 0
    succeeded: int = 0
    recovered: int = 0
    ran: int = 0
    """How often tools ran."""
    owed: int = 0
    excused: int = 0
    """Calls that had to succeed, had the machine not been slow, or had the client been able to connect again."""
    seconds: float = 0.0
    wrong: list[Wrong] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def count(self, what: str) -> int:
        return sum(wrong.what == what for wrong in self.wrong)


TWICE: Final = "done twice"
GAMBLED: Final = "run again"
NONE: Final = "said none"
UNTRUE: Final = "said done"
DENIED: Final = "success denied"
LOST: Final = "not recovered"
HUNG: Final = "hung"
ADVICE: Final = "says again"
MISSTATED: Final = "misstated"
WHATS: Final = {
    TWICE: "a line stands twice in the ledger, for a tool that is neither read-only nor idempotent",
    GAMBLED: "such a tool ran again, though nobody had said that nothing was done",
    NONE: "said to have done nothing, with a line in the ledger",
    UNTRUE: "said to be done, without one",
    DENIED: "a write that worked, reported as failed",
    LOST: "had to succeed, and did not",
    HUNG: "no outcome, or the agent was cancelled",
    ADVICE: "the text advises to make a call again that may have been done",
    MISSTATED: "the server's word is not what the promise says",
}


def check(
    said: Sequence[Said],
    lines: Mapping[str, Counter[str]],
    ran: Mapping[str, int],
    server: Server,
    *,
    owes: bool = True,
    words: bool = False,
) -> Tally:
    """The figures, and what is wrong.

    `owes` says that the client has to recover what can be. With `words` it only passes on what the server says, which
    is what is looked at.
    """
    tally = Tally(calls=len(said))
    for each in said:
        job: Job = each.job  # type: ignore[assignment]
        runs = ran.get(job.id, 0)
        tally.ran += runs
        tally.met[job.family] += 1
        tally.succeeded += each.ok
        tally.recovered += each.ok and (runs > 1 or bool(job.gates))
        what = _what(each, job, lines.get(job.id, Counter()), runs, server, words)
        if owes and is_owed(job, server):
            tally.owed += 1
            if not each.ok and (each.timeouts or getattr(each, "once", False)):
                tally.excused += 1
            elif not each.ok:
                what.append(LOST)
        told = "success" if each.ok else f"{each.error} with effect {each.effect}; {_texts(each)}"
        tally.wrong += [Wrong(one, job, server, told) for one in what]
    return tally


def _what(said: Said, job: Job, lines: Counter[str], runs: int, server: Server, words: bool) -> list[str]:
    found = []
    if said.hung or said.aborted:
        found.append(HUNG)
    if not job.kind.repeatable:
        gambled = any(not may_follow(job, before, server) for before in range(1, runs))
        if gambled and max(lines.values(), default=0) > 1:
            found.append(TWICE)
        if gambled:
            found.append(GAMBLED)
    effects = {said.effect, *getattr(said, "stated", [])}
    if lines and ("none" in effects or any(_NOTHING.search(_own(text, job)) for text in _texts(said))):
        found.append(NONE)
    if "done" in effects and not lines["credit"]:
        found.append(UNTRUE)
    # A question is one wherever it is the whole answer: the contract has no other place for it.
    asks = job.answer.startswith("needsInput")
    fails = job.answer in FAILURES
    worked = bool(lines) and not job.steps and not job.gates and not asks and not fails
    # Over stdio another call may have taken the server down before it answered this one: then that is what is said.
    is_lost = (
        server.transport == "stdio" and said.effect in (None, "unknown") and str(said.error).startswith("NETWORK_ERROR")
    )
    if worked and not said.ok and not said.timeouts and not is_lost:
        found.append(DENIED)
    if not said.ok and not worked and runs and _may_be_done(job, runs, server):
        found += [ADVICE] * any(_advises(_own(text, job)) for text in _texts(said))
    if words and job.steps and runs and server.installed and not _is_as_promised(job, said, server):
        found.append(MISSTATED)
    return found


def _may_be_done(job: Job, runs: int, server: Server) -> bool:
    """Whether anybody who knows the tool's annotations and its name must think so."""
    return _nature(job) is Nature.WRITE and not job.kind.repeatable and not may_follow(job, runs, server)


def _nature(job: Job) -> Nature:
    return Traits.of({"name": job.tool, "annotations": dict(job.kind.hints)}).nature


def _is_as_promised(job: Job, said: Said, server: Server) -> bool:
    """Whether the server says what it can know after the first run."""
    if said.timeouts:
        return True
    step, kind = job.steps[0], job.kind
    if not kind.writes:
        return True
    if dict(kind.hints).get("idempotentHint"):
        # Whether it was done does not matter.
        return said.effect in (None, step.word if step.cause in STATED or step.word == "none" else None)
    if step.word is not None:
        return said.effect == step.word
    if _nature(job) is not Nature.WRITE:
        # Of a tool that nothing tells about, nothing alarms.
        return said.effect is None
    # What the author raises, or a service refuses, says nothing of what came before it.
    return said.effect == "unknown" or (said.effect is None and not step.escapes)


def _texts(said: Said) -> list[str]:
    return getattr(said, "texts", [])


def _own(text: str, job: Job) -> str:
    """A text without what the tool's author, the framework or the gateway wrote: that is quoted, and not our advice."""
    quoted = [CAUSES[step.cause].text for step in job.steps]
    quoted += [GATES[gate].result or GATES[gate].message for gate in job.gates]
    quoted += _FASTMCP_SAYS
    for each in filter(None, quoted):
        text = text.replace(each.removeprefix("Error: "), "")
        text = text.replace(each, "").replace(each.rstrip("."), "")
    return text


def _advises(text: str) -> bool:
    """Whether a sentence says to make the call again, and not that one should not."""
    return any(_AGAIN.search(part) and not _NOT.search(part) for part in re.split(r"[.;\n]\s", text + " "))


def written(folder: Path) -> tuple[dict[str, Counter[str]], dict[str, int]]:
    """What the tools did, by call and part, and how often they ran."""
    lines: defaultdict[str, Counter[str]] = defaultdict(Counter)
    ledger = folder / "ledger.jsonl"
    for line in ledger.read_text().splitlines() if ledger.exists() else []:
        one = json.loads(line)
        lines[one["id"]][one["part"]] += 1
    return dict(lines), {file.name: file.stat().st_size for file in (folder / "ran").iterdir()}
