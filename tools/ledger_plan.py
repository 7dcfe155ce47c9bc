"""What goes wrong with which call, drawn from a seed, and what the law says must come of it.

The law is written here a second time, from the text and not from the code: a table of what each fault lets a client
know, and a table of who may then try again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import failwell as fw
from failwell.testing import Fault, Script, Tool

Known = Literal["refused", "doubt", "claimed", "worded", "final", "told", "fine"]
"""What a client can know after a fault.

refused: nothing was done, and a structured error says so.
doubt: it may have been done, or a part of it. Neither prose that says "later" nor an HTTP status is a proof: a gateway
    sends 429 and 503 after the server took the call as well.
claimed: the server says that it worked, and sends an object that says that it did not. What may be repeated is.
worded: the server says that it worked, in words that sound otherwise. It is taken at its word.
final: the server says that trying again does not help.
told: the server says what was done.
fine: the answer is right.
"""

# Who tries again: tools that may be repeated (read-only, idempotent), and writes that may not.
AGAIN: Final[dict[Known, tuple[bool, bool]]] = {
    "refused": (True, True),
    "doubt": (True, False),
    "claimed": (True, False),
    "worded": (False, False),
    "final": (False, False),
    "told": (False, False),
    "fine": (False, False),
}
TIMEOUT: Final = 2.0
MAX_ATTEMPTS: Final = 8
BASE_DELAY: Final = 0.05
AWAY: Final = 0.2
"""How long a server that died stays away, where it does."""
AWAY_COSTS: Final = 3
"""How many attempts find it away: they come 0, 0.05 and 0.15 seconds after it died."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A tool of the ledger's server, and the one that tells whether it took effect."""

    name: str
    check: str | None = None
    effect: bool = True
    repeatable: bool = False


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("pay", "get_payment"),
        Kind("delete_file", "get_file"),
        Kind("send_fax"),
        Kind("set_price", "get_price", repeatable=True),
        Kind("find_order", effect=False, repeatable=True),
    )
}
_HINTS: Final[dict[str, dict[str, bool]]] = {
    "delete_file": {"destructive": True, "idempotent": False},
    "set_price": {"idempotent": True},
    "find_order": {"read_only": True},
}
_TAKES_ID: Final = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault, and what the law has to know about it."""

    name: str
    fault: Fault
    known: Known

    @property
    def kills(self) -> bool:
        """Whether the process ends, and with it every call that is under way there."""
        return self.fault.kind == "crash"


@dataclass(frozen=True, slots=True)
class Job:
    """One call of an agent, and what its attempts meet, in order."""

    id: str
    tool: str
    strikes: tuple[Strike, ...]

    @property
    def kind(self) -> Kind:
        return KINDS[self.tool]


_ATS: Final = ("before", "during", "after")
_LIMITED: Final = fw.Transient("Too many requests.", code="RATE_LIMITED", retry_after=0.05)
_BUSY: Final = fw.Transient("Busy.", code="SERVER_BUSY")
_LOST: Final = fw.Transient("The bank did not answer.", code="TIMEOUT", effect="unknown")
_HALF: Final = fw.ToolError("The bank broke off.", code="UPSTREAM_ERROR", effect="partial")
_DONE: Final = fw.ToolError("Paid, but the receipt is lost.", code="UPSTREAM_ERROR", effect="done")
_WRONG: Final = fw.Invalid("There is no such currency.")
_TEXT_429: Final = "Client error '429 Too Many Requests' for url 'https://bank.example/pay'"
_TEXT_BUSY: Final = "Error: service temporarily unavailable, try again later"
_AS_SUCCESS: Final = '{"success": false, "error": "Service busy, try again later"}'

# A weight for each row; the processes that die are rarer, since they take the calls beside them along.
_REFUSED: Final = {
    "busy": (2, Fault.error(_BUSY)),
    "limited, v1": (1, Fault.error(_LIMITED, format="v1")),
    "limited, xml": (1, Fault.error(_LIMITED, format="xml", meta=False)),
    "limited, envelope": (1, Fault.error(_LIMITED, format="envelope", meta=False)),
    "limited, JSON-RPC": (0.5, Fault.error(_LIMITED, protocol=True)),
}
_SOON: Final = {"Retry-After": "0.05"}
_FINE: Final = {
    "twice": (1, Fault.twice()),
    "noise": (1, Fault.noise()),
    "slow": (1, Fault.late(0.1)),
}


def _strikes(at: str, over_http: bool) -> dict[Known, dict[str, tuple[float, Fault]]]:
    doubt: dict[str, tuple[float, Fault]] = {
        "crash": (0.7, Fault.crash(at=at)),
        "cut": (1, Fault.cut(at=at)),
        "cut midway": (1, Fault.cut(at=at, midway=True)),
        "hang": (1, Fault.hang(at=at)),
        "too late": (0.5, Fault.late(2 * TIMEOUT, at="after")),
        "garbage": (1, Fault.garbage(at=at)),
        "no frame": (0.5, Fault.malformed("null_result", at=at)),
        "no content": (0.5, Fault.malformed("no_content", at=at)),
        "code is a text": (0.5, Fault.malformed("string_code", at=at)),
        "no message": (0.5, Fault.malformed("no_message", at=at)),
        "another's id": (0.3, Fault.malformed("other_id", at=at)),
        "neither": (0.5, Fault.malformed("neither", at=at)),
        "prose, 429": (1, Fault.text(_TEXT_429, at=at)),
        "prose, busy": (1, Fault.text(_TEXT_BUSY, at=at)),
        "unknown, told": (1, Fault.error(_LOST, at=at)),
    }
    if over_http:
        doubt |= {str(status): (0.7, Fault.http(status, at=at)) for status in (500, 502, 504)}
        doubt |= {f"{status}, soon": (1.5, Fault.http(status, _SOON, at=at)) for status in (429, 503)}
    return {
        "refused": _REFUSED,
        "doubt": doubt,
        "claimed": {"error as success": (1, Fault.text(_AS_SUCCESS, at=at, is_error=False))},
        "worded": {"prose as success": (1, Fault.text(_TEXT_BUSY, at=at, is_error=False))},
        "final": {
            "prose, internal": (1, Fault.text("Error executing tool: internal error", at=at)),
            "-32603": (1, Fault.protocol(-32603, "Internal error", at=at)),
            # What a server refuses it has not done, so these come before the effect.
            "prose, not found": (1, Fault.text("Error: invoice 7 not found")),
            "invalid": (1, Fault.error(_WRONG)),
        },
        "told": {
            "partial": (1, Fault.error(_HALF, at="during")),
            "done": (1, Fault.error(_DONE, at="after")),
        },
        "fine": _FINE,
    }


_SHARES: Final[dict[Known, float]] = {
    "refused": 30,
    "doubt": 51,
    "claimed": 3,
    "worded": 1,
    "final": 4,
    "told": 4,
    "fine": 7,
}
_HOW_MANY: Final = ((0, 1, 2, 3), (25, 35, 25, 15))


def draw(seed: str, count: int, transport: str) -> list[Job]:
    """The calls of one run, each with 0 to 3 faults; the same seed gives the same calls."""
    chance = random.Random(seed)
    return [_job(chance, f"{number:05}", transport == "http") for number in range(count)]


def _job(chance: random.Random, id: str, over_http: bool) -> Job:
    kind = chance.choice(list(KINDS.values()))
    many = chance.choices(*_HOW_MANY)[0]
    return Job(id, kind.name, tuple(_strike(chance, kind, over_http) for _ in range(many)))


def _strike(chance: random.Random, kind: Kind, over_http: bool) -> Strike:
    at = chance.choice(_ATS)
    known = chance.choices(list(_SHARES), list(_SHARES.values()))[0]
    if known == "told" and not kind.effect:
        known = "doubt"
    rows = _strikes(at, over_http)[known]
    name = chance.choices(list(rows), [weight for weight, _ in rows.values()])[0]
    fault = rows[name][1]
    return Strike(f"{name} {fault.at}", fault, known)


def script_of(jobs: Sequence[Job]) -> Script:
    """The server that does all this."""
    plans: dict[str, dict[str, list[Fault]]] = {name: {} for name in KINDS}
    for job in jobs:
        plans[job.tool][job.id] = [strike.fault for strike in job.strikes]
    tools = []
    for kind in KINDS.values():
        tools.append(
            Tool(
                kind.name,
                effect=kind.effect,
                key="id",
                plan=plans[kind.name],
                input_schema=_TAKES_ID,
                **_HINTS.get(kind.name, {}),
            )
        )
        if kind.check is not None:
            tools.append(Tool(kind.check, read_only=True, key="id", reads=kind.name, input_schema=_TAKES_ID))
    return Script(*tools)


def is_owed(job: Job, *, away: bool = False, disturbances: int = 0) -> bool:
    """Whether a client that keeps the law must bring this call to success.

    `away` says that a server which dies stays away for a while; `disturbances` is how often the process died under this
    call because of another one.
    """
    cost = AWAY_COSTS if away else 0
    used = disturbances * (1 + cost)
    if disturbances and not job.kind.repeatable:
        return False
    for strike in job.strikes:
        if strike.known == "fine":
            if disturbances:
                # The right answer may have been the one that was lost.
                continue
            break
        if not AGAIN[strike.known][0 if job.kind.repeatable else 1]:
            return False
        used += 1 + (cost if strike.kills else 0)
    return used < MAX_ATTEMPTS
