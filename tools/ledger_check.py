"""Holds what the clients said against what the ledger says was done."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from failwell.testing import Call, RecordedEffect
from ledger_plan import AGAIN, TIMEOUT, Job, is_owed

LIMIT: Final = 30 * TIMEOUT
"""A call that takes longer hangs."""
DYING: Final = 0.5
"""How long a process may take to die after the call that kills it has arrived, with what it writes to the disk."""


@dataclass(slots=True)
class Said:
    """What a client said about one call, and when."""

    job: Job
    client: str = ""
    """Which connection it went over: what breaks that breaks all the calls on it."""
    ok: bool = False
    effect: str | None = None
    verify: Mapping[str, Any] | None = None
    """The call that would tell, as the error names it."""
    told: int | None = None
    """How often it was done, as that call told."""
    error: str = ""
    calls: int = 0
    timeouts: int = 0
    """How often the client itself stopped waiting."""
    began: float = 0.0
    ended: float = 0.0
    hung: bool = False
    aborted: bool = False
    """Whether the agent's task was cancelled by its client."""
    allows: bool = False
    """Whether the server states that the identical call may be made again."""


@dataclass(slots=True)
class Tally:
    """The figures of one run, and everything that is wrong."""

    calls: int = 0
    succeeded: int = 0
    recovered: int = 0
    owed: int = 0
    """Calls that the law says must succeed, whatever the clients did."""
    excused: int = 0
    """Calls that would have had to, had not the server died under them for another call, or the machine been slow."""
    unknown: int = 0
    verified: int = 0
    twice: int = 0
    gambled: int = 0
    """Writes that were sent again though the first one may have been done."""
    lies: int = 0
    lost: int = 0
    """Calls that had to succeed, and did not."""
    hung: int = 0
    aborted: int = 0
    arrived: int = 0
    seconds: float = 0.0
    left: list[str] = field(default_factory=list)
    """What was left behind: processes, tasks, descriptors."""
    wrong: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        for name in self.__slots__:
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, mine + theirs)


def check(
    said: Sequence[Said],
    calls: Iterable[Call],
    effects: Iterable[RecordedEffect],
    *,
    over_http: bool,
    away: bool = False,
) -> Tally:
    """Everything that is wrong with what was said, one line each, and the figures."""
    tally = Tally(calls=len(said))
    ledger: defaultdict[tuple[str, str], list[RecordedEffect]] = defaultdict(list)
    for effect in effects:
        ledger[effect.tool, effect.call.key].append(effect)
    arrivals: defaultdict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in calls:
        arrivals[call.tool, call.key].append(call)
    deaths = _deaths(arrivals, said, over_http)
    before: dict[str, float] = {}
    for each in sorted(said, key=lambda each: each.began):
        key = (each.job.tool, each.job.id)
        # A session that went with its server is missed by the next call over it, however much later that is.
        since = min(each.began - DYING, before.get(each.client, each.began))
        before[each.client] = each.began
        _look(tally, each, ledger[key], arrivals[key], deaths, over_http, away, since)
    return tally


def _deaths(
    arrivals: Mapping[tuple[str, str], list[Call]], said: Sequence[Said], over_http: bool
) -> list[tuple[float, str, str]]:
    """When a process died, because of which call, over which connection."""
    # Over a pipe the connection is the process.
    kinds = {"crash"} if over_http else {"crash", "cut"}
    return [
        (call.when.timestamp(), each.job.id, each.client)
        for each in said
        for call in arrivals.get((each.job.tool, each.job.id), ())
        if call.fault is not None and call.fault.kind in kinds
    ]


def _look(
    tally: Tally,
    said: Said,
    lines: list[RecordedEffect],
    arrived: list[Call],
    deaths: list[tuple[float, str, str]],
    over_http: bool,
    away: bool,
    since: float,
) -> None:
    job = said.job
    tally.arrived += len(arrived)
    tally.met.update(strike.name for strike in job.strikes[: len(arrived)])
    tally.succeeded += said.ok
    tally.recovered += said.ok and len(arrived) > 1
    tally.hung += said.hung
    tally.aborted += said.aborted
    wrong: list[str] = []
    if said.hung or said.aborted:
        wrong.append("the call hung" if said.hung else "the agent was cancelled")
    if job.kind.effect and not job.kind.repeatable:
        if len(lines) > 1:
            tally.twice += 1
            wrong.append(f"done {len(lines)} times")
        if _gambled(job, arrived):
            tally.gambled += 1
            wrong.append("sent again though it may have been done")
    lie = _lie(said, lines, arrived)
    if lie is not None:
        tally.lies += 1
        wrong.append(lie)
    if said.ok and _is_gullible(job, arrived):
        tally.lost += 1
        wrong.append("a failure in a success was not tried again")
    if said.effect == "unknown":
        tally.unknown += 1
        wrong += _unverified(tally, said, lines)
    disturbances = sum(
        since <= when <= said.ended and other != job.id and (over_http or client == said.client)
        for when, other, client in deaths
    )
    if is_owed(job, away=away):
        slow = said.timeouts > sum(_silent(strike.fault.kind, over_http) for strike in job.strikes)
        if is_owed(job, away=away, disturbances=disturbances) and not slow:
            tally.owed += 1
            if not said.ok:
                tally.lost += 1
                wrong.append("it had to succeed")
        elif not said.ok:
            tally.excused += 1
    if wrong:
        met = ", ".join(strike.name for strike in job.strikes) or "nothing"
        what = "success" if said.ok else f"{said.error} with effect {said.effect}"
        tally.wrong.append(f"{job.tool} {job.id} ({said.client}) met {met}; {what}: {'; '.join(wrong)}")


def _silent(fault: str, over_http: bool) -> bool:
    """Whether a fault may end only by the client's own timeout."""
    return fault in ("hang", "late", "raw") or (fault == "garbage" and not over_http)


def _gambled(job: Job, arrived: list[Call]) -> bool:
    """Whether an attempt came after one that leaves a doubt."""
    return any(not AGAIN[strike.known][1] for strike in job.strikes[: max(0, len(arrived) - 1)])


def _lie(said: Said, lines: list[RecordedEffect], arrived: list[Call]) -> str | None:
    """What was said that is not so. What the server itself claimed last is the server's word."""
    whole = [line for line in lines if not line.part]
    if said.ok:
        if said.job.kind.effect and not whole and not _is_claimed(said.job, arrived):
            return "said to be done, and is not"
        return None
    match said.effect:
        case "none" if lines:
            return "said not to be done, and is"
        case "done" if not whole:
            return "said to be done, and is not"
        case "partial" if not any(line.part for line in lines):
            return "said to be done in part, and is not"
    return None


def _is_claimed(job: Job, arrived: list[Call]) -> bool:
    """Whether an answer was a success by the server's word, and nobody had to doubt it: what may be repeated was."""
    met = enumerate(job.strikes[: len(arrived)], 1)
    return any(
        strike.known in _CLAIMS and (number < len(arrived) or not AGAIN[strike.known][_column(job)])
        for number, strike in met
    )


_CLAIMS: Final = ("claimed", "worded")


def _column(job: Job) -> int:
    return 0 if job.kind.repeatable else 1


def _is_gullible(job: Job, arrived: list[Call]) -> bool:
    """Whether what says in a success that it failed was returned though it could have been tried again."""
    last = job.strikes[len(arrived) - 1 : len(arrived)] if arrived else ()
    return any(strike.known == "claimed" and AGAIN["claimed"][_column(job)] for strike in last)


def _unverified(tally: Tally, said: Said, lines: list[RecordedEffect]) -> list[str]:
    check = said.job.kind.check
    if check is None:
        return [] if said.verify is None else ["names a check where there is none"]
    if said.verify != {"tool": check, "arguments": {"id": said.job.id}}:
        return [f"nobody knows whether it was done, and the call that would tell is {said.verify}"]
    if said.told is None:
        return ["the call that tells did not answer"]
    if said.told != len(lines):
        return [f"the call that tells says {said.told}, the ledger {len(lines)}"]
    tally.verified += 1
    return []
