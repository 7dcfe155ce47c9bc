"""From what the rules said to a score: the share of what holds, by rule, by group and by tool.

Of one tool each kind of situation counts the same, however many probes it has, and so does each tool. What a tool
breaks each time that it fails in one way costs more. What stands in the way of trust keeps the whole below a limit,
whatever else holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .rules import GROUPS, RULES, CheckRule

_GRADES: Final = ((95, "A+"), (90, "A"), (80, "B"), (70, "C"), (60, "D"), (0, "F"))
SERVER: Final = ""
"""Stands for the server as a whole where a tool is named."""


def grade(score: int) -> str:
    return next(letter for least, letter in _GRADES if score >= least)


@dataclass
class RuleTally:
    """How often each rule held, by tool and by situation."""

    counts: dict[str, dict[str, dict[str, list[int]]]] = field(default_factory=dict)

    def add(self, rule: str, tool: str, category: str, holds: bool) -> None:
        held = self.counts.setdefault(rule, {}).setdefault(tool, {}).setdefault(category, [0, 0])
        held[0] += holds
        held[1] += 1

    def broken(self) -> list[str]:
        return [rule for rule, tools in self.counts.items() if any(_share(each) < 1 for each in tools.values())]

    def rates(self, tool: str | None = None) -> dict[str, float]:
        """The share of what holds of each rule that was asked, of the server or of one tool."""
        rates = {}
        for rule, tools in self.counts.items():
            chosen = [_share(each) for name, each in tools.items() if tool is None or name == tool]
            if chosen:
                rates[rule] = sum(chosen) / len(chosen)
        return rates

    def each_time(self) -> dict[str, float]:
        """Of each rule the share of tools that break it whenever they fail in some one way."""
        shares = {}
        for rule, tools in self.counts.items():
            never = [_never(each) for name, each in tools.items() if name != SERVER]
            shares[rule] = sum(never) / len(never) if never else 0.0
        return shares

    def cost(self, tool: str | None = None) -> float:
        """What is broken each time costs: of a tool what costs most, since one failure may break several rules."""
        worst: dict[str, float] = {}
        for rule, tools in self.counts.items():
            for name, categories in tools.items():
                if name != SERVER and tool in (None, name):
                    worst[name] = max(worst.get(name, 0.0), RULES[rule].cost(float(_never(categories))))
        return sum(worst.values()) / len(worst) if worst else 0.0


def _never(categories: Mapping[str, list[int]]) -> bool:
    return any(held == 0 for held, _ in categories.values())


def _share(categories: Mapping[str, list[int]]) -> float:
    return sum(held / asked for held, asked in categories.values()) / len(categories)


def group_scores(rates: Mapping[str, float]) -> dict[str, float | None]:
    """Of each group the weighted share; None where nothing of it was asked."""
    found: dict[str, float | None] = {}
    for group in GROUPS:
        rules = [rule for rule in map(RULES.get, rates) if rule is not None and rule.group == group]
        total = sum(rule.weight for rule in rules)
        found[group] = 100 * sum(rule.weight * rates[rule.id] for rule in rules) / total if total else None
    return found


def total(tally: RuleTally, tool: str | None = None) -> int:
    """The score of a server or of one tool: what the groups give together, below the limit of every broken rule."""
    rates = tally.rates(tool)
    scores = {group: score for group, score in group_scores(rates).items() if score is not None}
    if not scores:
        return 0
    weights = sum(GROUPS[group] for group in scores)
    whole = sum(GROUPS[group] * score for group, score in scores.items()) / weights
    whole -= tally.cost(tool)
    limits = [RULES[rule].limit(rate) for rule, rate in rates.items()]
    # Rounded before it is cut, so that what adds up to a whole number is one.
    return max(0, int(min([round(whole, 6), *limits])))


def lost(rule: CheckRule, tally: RuleTally) -> float:
    """How many points a rule costs."""
    rates = tally.rates()
    others = sum(RULES[each].weight for each in rates if RULES[each].group == rule.group)
    weighed = GROUPS[rule.group] * rule.weight * (1 - rates[rule.id]) / others if others else 0.0
    return weighed + rule.cost(tally.each_time().get(rule.id, 0.0))


def limited_by(tally: RuleTally) -> str | None:
    """The rule that holds the score down, where one does."""
    rates = tally.rates()
    if not rates:
        return None
    strictest = min(rates, key=lambda rule: RULES[rule].limit(rates[rule]))
    limit = RULES[strictest].limit(rates[strictest])
    return strictest if limit < 100 and total(tally) == int(round(limit, 6)) else None


Json = dict[str, Any]
