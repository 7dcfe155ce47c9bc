"""What the agents of the recovery table are asked to do, and what counts as having done it.

A goal is reached when two things are true: the world is as the goal says, which only the world's own ledger tells, and
the last word of the agent is true. A few goals cannot be reached by any call: there the agent has to stop by itself,
say why, and not make a call again that has failed already.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from recovery_world import World

Arguments = dict[str, Any]
DONE, MISSING, FORBIDDEN, BROKEN = "done", "missing", "forbidden", "broken"
ASKED = "asked"
"""It may have been done, nothing tells, and the user was asked: true, and not what was to be done."""


@dataclass(frozen=True)
class Goal:
    """One thing to do, which meets one fault."""

    subject: str
    tool: str
    arguments: Arguments
    """The call that the agent begins with."""
    effect: Arguments | None = None
    """What has to be in the ledger for the subject, once and with nothing else; None if nothing may be there."""
    read: Arguments | None = None
    """What the subject has to have been read by, at last."""
    word: str = DONE
    """What is true in the end."""
    look: tuple[str, Arguments] | None = None
    """The call by which the agent has seen how things stand, and can see it again."""
    looked_up: tuple[str, ...] = ()
    """The arguments that it knows from there, and not from its user."""


@dataclass(frozen=True)
class Verdict:
    success: bool
    duplicates: int
    """Effects beyond the first."""
    wrong: int
    """Effects that nobody asked for."""
    untrue: bool
    """Whether the agent said that it was done, and it was not."""


def judge(world: World, goal: Goal, word: str, sent: list[tuple[str, Arguments]]) -> Verdict:
    """What became of a goal: the same question for every agent and every server."""
    effects = world.effects(goal.subject)
    wrong = sum(effect != goal.effect for effect in effects)
    stands = effects == ([] if goal.effect is None else [goal.effect])
    if goal.read is not None:
        stands = stands and world.reads(goal.subject)[-1:] == [goal.read]
    if goal.word != DONE:
        stands = stands and not _repeats(sent)
    untrue = word == DONE and (goal.word != DONE or not stands)
    return Verdict(stands and word == goal.word, max(0, len(effects) - 1), wrong, untrue)


def _repeats(sent: list[tuple[str, Arguments]]) -> bool:
    calls = [json.dumps(call, sort_keys=True) for call in sent]
    return len(set(calls)) < len(calls)


# One function for each fault: it gets ready what will go wrong, and says what is to be done.


def wrong_value(world: World, random: Random, run: int) -> Goal:
    goal = _payment(world, random)
    amount, currency = goal.arguments["amount"], goal.arguments["currency"]
    sent: Arguments = ({"currency": currency.lower()}, {"currency": f" {currency} "}, {"amount": 10_000 + amount})[
        run % 3
    ]
    # Of too large an amount as much is paid as may be.
    effect = {"amount": 10_000 if "amount" in sent else amount, "currency": currency}
    return replace(goal, arguments={**goal.arguments, **sent}, effect=effect)


def unknown_argument(world: World, random: Random, run: int) -> Goal:
    typos = ({"amount": "amout"}, {"currency": "curency"}, {"status": "staus"})[run % 3]
    goal = _payment(world, random) if "status" not in typos else _search(world, random)
    return replace(goal, arguments={typos.get(name, name): value for name, value in goal.arguments.items()})


def not_found(world: World, random: Random, run: int) -> Goal:
    invoice = _id("inv", random)
    return Goal(invoice, "get_invoice", {"invoice": invoice}, word=MISSING)


def conflict(world: World, random: Random, run: int) -> Goal:
    item, version, price = _id("item", random), random.randint(2, 90), random.randint(5, 500)
    world.records[item] = {"item": item, "price": price + 1, "version": version}
    known = version
    if run % 2:
        world.trouble(item, "held", random.randint(2, 20))
    else:
        known = version - 1
    arguments = {"item": item, "price": price, "version": known}
    look = ("get_price", {"item": item})
    return Goal(item, "set_price", arguments, {"price": price}, look=look, looked_up=("version",))


def rate_limit(world: World, random: Random, run: int) -> Goal:
    goal = _payment(world, random)
    world.trouble(goal.subject, "limited", random.randint(2, 30))
    return goal


def transient(world: World, random: Random, run: int) -> Goal:
    seconds = random.uniform(0.5, 12)
    if run % 2:
        item, quantity = _id("item", random), random.randint(1, 9)
        world.refuse(seconds)
        return Goal(item, "order_item", {"item": item, "quantity": quantity}, {"quantity": quantity})
    invoice, text = _id("inv", random), random.choice(["Sent by post.", "Called twice.", "Wait until May."])
    world.lock(seconds)
    return Goal(invoice, "add_note", {"invoice": invoice, "text": text}, {"text": text})


def outcome_unknown(world: World, random: Random, run: int) -> Goal:
    goal = _payment(world, random)
    world.trouble(goal.subject, ("lost after", "silent", "killed", "lost before")[run % 4], once=True)
    return goal


def permission(world: World, random: Random, run: int) -> Goal:
    goal = _payment(world, random)
    world.trouble(goal.subject, "forbidden", text=random.choice(_REFUSALS))
    reason = random.choice(["Paid twice.", "Goods came back."])
    arguments = {"invoice": goal.subject, "reason": reason}
    return replace(goal, tool="refund_invoice", arguments=arguments, effect=None, word=FORBIDDEN)


def crash(world: World, random: Random, run: int) -> Goal:
    month = f"{random.randint(1990, 2025)}-{random.randint(1, 12):02}"
    world.records[month] = {"payments": ([], [{"sum": 3}], [{"amount": "7"}])[run % 3]}
    return Goal(month, "average_payment", {"month": month}, word=BROKEN)


def error_as_success(world: World, random: Random, run: int) -> Goal:
    order = _id("ord", random)
    world.trouble(order, "worded", random.randint(2, 20), _WORDED[run % len(_WORDED)])
    return Goal(order, "print_label", {"order": order}, {"label": order})


FAULTS: dict[str, Callable[[World, Random, int], Goal]] = {
    "wrong value": wrong_value,
    "unknown argument": unknown_argument,
    "not found": not_found,
    "conflict": conflict,
    "rate limit": rate_limit,
    "transient": transient,
    "outcome unknown": outcome_unknown,
    "permission": permission,
    "crash": crash,
    "error as success": error_as_success,
}

_REFUSALS = ("Refunds need the approval of an owner.", "This key may read only.")
_WORDED = (
    '{"success": false, "error": {"code": "RATE_LIMITED", "message": "Too many labels.", "retry_after": {wait}}}',
    "Error: too many labels, try again in {wait} seconds",
)


def _payment(world: World, random: Random) -> Goal:
    invoice, customer = _id("inv", random), _id("cus", random)
    amount, currency = random.randint(1, 9_999), random.choice(["USD", "GBP"])
    world.records[invoice] = {"id": invoice, "customer": customer, "amount": amount, "currency": currency}
    effect = {"amount": amount, "currency": currency}
    return Goal(invoice, "pay_invoice", {"invoice": invoice, **effect}, effect)


def _search(world: World, random: Random) -> Goal:
    customer, status = _id("cus", random), random.choice(["paid", "overdue"])
    world.records[customer] = {"customer": customer, "invoices": [_id("inv", random)]}
    return Goal(customer, "find_invoices", {"customer": customer, "status": status}, read={"status": status})


def _id(kind: str, random: Random) -> str:
    return f"{kind}_{random.getrandbits(32):08x}"
