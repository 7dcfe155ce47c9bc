"""From what the rules said to a score: a hundred, less what each root cause costs.

A rule costs its points for the share of tools that show it. The rules of the ladder cost theirs for the share of
failures that end there: of one failure only the lowest missing rung counts. What is not applicable or unsure is in no
share. The rules that harm limit the whole, as does a grade that is based on refusals alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from .failure_rules import LADDER
from .observation import Judged, Observation, Unsure
from .rubric import RULES

_GRADES: Final = ((95, "A+"), (90, "A"), (75, "B"), (60, "C"), (40, "D"), (0, "F"))
SERVER: Final = ""
"""Stands for the server as a whole where a tool is named."""
_HARMED: Final = 69
"""The highest score of a server that harms, be it with one tool of many."""
REFUSALS_ONLY: Final = 59
"""The highest score of a server of which no call was seen to work."""


def grade(score: int) -> str:
    return next(letter for least, letter in _GRADES if score >= least)


@dataclass
class RuleTally:
    """How often each rule held, was broken, and could not be told, by rule, tool and category."""

    held: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    broken: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    unsure: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, rule: str, seen: Observation, said: Judged) -> None:
        key = rule, seen.probe.tool or SERVER, seen.category
        (self.held if said is True else self.unsure if isinstance(said, Unsure) else self.broken)[key] += 1

    def asked(self) -> dict[str, set[str]]:
        """The tools of which each rule said whether it holds."""
        found: dict[str, set[str]] = {}
        for rule, tool, _ in (*self.held, *self.broken):
            found.setdefault(rule, set()).add(tool)
        return found

    def inconclusive(self) -> list[str]:
        """The rules of which nothing but doubt was seen."""
        return sorted({rule for rule, _, _ in self.unsure} - self.asked().keys())

    def share(self, rule: str, tool: str | None = None) -> float:
        """The share of what breaks a rule."""
        names = {name for name in self.asked().get(rule, ()) if tool is None or name == tool}
        if rule in LADDER:
            shares = [self._ending(rule, name) for name in self._on_ladder() if tool is None or name == tool]
            return sum(shares) / len(shares) if shares else 0.0
        bad = {name for each, name, _ in self.broken if each == rule and name in names}
        if SERVER in bad:
            return 1.0
        names.discard(SERVER)
        return len(bad) / len(names) if names else 0.0

    def _on_ladder(self) -> set[str]:
        return self.asked().get(_FIRST, set()) - {SERVER}

    def _ending(self, rule: str, tool: str) -> float:
        """The share of a tool's failures that end at a rung; each category counts the same."""
        first = _FIRST
        of = {cat: self.held[first, tool, cat] + self.broken[first, tool, cat] for cat in _CATEGORIES}
        shares = [self.broken[rule, tool, cat] / count for cat, count in of.items() if count]
        return sum(shares) / len(shares)

    def lost(self, tool: str | None = None) -> dict[str, float]:
        """What each rule costs, the dearest first; nothing that costs nothing."""
        costs = {rule: RULES[rule].points * self.share(rule, tool) for rule in self.asked()}
        return dict(
            sorted(((rule, cost) for rule, cost in costs.items() if cost), key=lambda each: (-each[1], each[0]))
        )

    def limit(self, *, refusals_only: bool = False, tool: str | None = None) -> tuple[int, str | None]:
        """The highest score that is possible, and what limits it."""
        limits: list[tuple[int, str | None]] = [(100, None)]
        if refusals_only:
            limits.append((REFUSALS_ONLY, "refusals only"))
        for rule in self.asked():
            floor, share = RULES[rule].floor, self.share(rule, tool)
            if floor is not None and share:
                top = 0 if rule == "harm.starts" else int(floor + (_HARMED - floor) * (1 - share))
                limits.append((top, rule))
        return min(limits, key=lambda each: each[0])

    def total(self, *, refusals_only: bool = False, tool: str | None = None) -> int:
        # Rounded before it is cut, so that what adds up to a whole number is one.
        rest = round(100 - sum(self.lost(tool).values()), 6)
        return max(0, int(min(rest, self.limit(refusals_only=refusals_only, tool=tool)[0])))


_FIRST: Final = next(iter(LADDER))
_CATEGORIES: Final = ("arguments", "names", "absent", "doing")
