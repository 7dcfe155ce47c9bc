"""What an operator says about the failures of a server that does not say enough: `failwell.toml`.

[[rules]]
tool = "charge_*"
text = "quota .* exceeded"
set = { code = "RATE_LIMITED", retry_after = 60, effect = "none" }

[[rules]]
tool = "build"
timeout = "20m"
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from failwell.model import Effect, Kind, ToolError
from failwell.schema import nearest

_MATCHES: Final = ("tool", "text", "code")
_SETS: Final = ("code", "kind", "message", "suggestion", "next_steps", "actions", "effect", "retry_after", "verify")
_KEYS: Final = (*_MATCHES, "set", "timeout")
# How much of a server's words a pattern is searched in.
_REACH: Final = 1_000
# Of a catalogue, or an operator's own: one word, so that a program can go by it.
_CODE: Final = re.compile(r"[A-Za-z0-9](?:[\w.:/-]{0,98}[A-Za-z0-9])?", re.ASCII)
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}


class BadRules(ValueError):
    """What is wrong with a file of rules."""


@dataclass(frozen=True, slots=True)
class FailureRule:
    """Which failures are meant, and what is said about them. The first rule that fits a failure decides."""

    number: int
    tool: str = "*"
    text: re.Pattern[str] | None = None
    code: str | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None

    def fits(self, tool: str, error: ToolError, text: str) -> bool:
        if not self.sets or not fnmatchcase(tool, self.tool):
            return False
        if self.code is not None and self.code not in (error.code, str(error.details.get("code", ""))):
            return False
        return self.text is None or self.text.search((text or error.message)[:_REACH]) is not None

    def __str__(self) -> str:
        pattern = None if self.text is None else self.text.pattern
        said = [f"{name}={value!r}" for name, value in (("tool", self.tool), ("text", pattern), ("code", self.code))]
        return f"rule {self.number}: " + " ".join(part for part in said if not part.endswith("=None"))


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one file."""

    rules: Sequence[FailureRule] = ()

    def applied(self, tool: str, error: ToolError, text: str) -> tuple[ToolError, FailureRule | None]:
        """The failure as the rules have it, and the rule that decided."""
        rule = next((each for each in self.rules if each.fits(tool, error, text)), None)
        if rule is None:
            return error, None
        sets = dict(rule.sets)
        if "code" in sets:
            # What follows from the code is what the operator means, not what was read before.
            sets = {"kind": ToolError("", code=sets["code"]).kind, "recoverable": None, "strategy": None, **sets}
        if "effect" in sets:
            # Whoever runs the server has said so.
            sets |= {"standing": "stated", "legacy": None}
        return error.replace(**sets), rule

    def timeout(self, tool: str, usual: float | None) -> float | None:
        return next(
            (each.timeout for each in self.rules if each.timeout is not None and fnmatchcase(tool, each.tool)), usual
        )


def load(path: str) -> Rules:
    """The rules in a file; it raises `BadRules`."""
    try:
        data = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as problem:
        raise BadRules(f"cannot read {path}: {problem.strerror or problem}") from None
    except ValueError as problem:
        raise BadRules(f"{path} is no TOML: {problem}") from None
    rows = data.get("rules")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadRules(f"{path} has no rules; one begins with [[rules]]")
    return Rules([_rule(number, row, path) for number, row in enumerate(rows, 1)])


def _rule(number: int, row: Mapping[str, Any], path: str) -> FailureRule:
    where = f"rule {number} of {path}"
    _known(row, _KEYS, where)
    sets = row.get("set", {})
    if not isinstance(sets, dict):
        raise BadRules(f"{where}: set is a table, such as {{ code = 'RATE_LIMITED' }}")
    _known(sets, _SETS, f"{where}, set")
    for name, allowed in (("kind", Kind), ("effect", Effect)):
        if name in sets and sets[name] not in list(allowed):
            raise BadRules(f"{where}: {name} is one of {', '.join(allowed)}, not {sets[name]!r}")
    for name in ("code", "message", "suggestion"):
        if not isinstance(sets.get(name, ""), str):
            raise BadRules(f"{where}: {name} is a text, not {sets[name]!r}")
    if "code" in sets and _CODE.fullmatch(sets["code"]) is None:
        raise BadRules(f"{where}: {sets['code']!r} is no code; one looks like RATE_LIMITED")
    wait = sets.get("retry_after", 1)
    if isinstance(wait, bool) or not isinstance(wait, (int, float)) or not 0 < wait < math.inf:
        raise BadRules(f"{where}: retry_after is a number of seconds above zero, not {wait!r}")
    if not sets and "timeout" not in row:
        raise BadRules(f"{where} says nothing: it needs set or timeout")
    text = _pattern(row["text"], where) if "text" in row else None
    code = str(row["code"]) if "code" in row else None
    return FailureRule(number, str(row.get("tool", "*")), text, code, sets, seconds(row.get("timeout"), where))


def _pattern(given: object, where: str) -> re.Pattern[str]:
    try:
        return re.compile(str(given), re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as problem:
        raise BadRules(f"{where}: text is no pattern: {problem}") from None


def _known(row: Mapping[str, Any], names: Sequence[str], where: str) -> None:
    for name in row:
        if name not in names:
            meant = nearest(name, names)
            told = f"did you mean {meant!r}?" if meant else f"there are: {', '.join(names)}"
            raise BadRules(f"{where} has no {name!r}; {told}")


def seconds(given: object, where: str = "") -> float | None:
    """A time as people write it: 90, "90s", "5m"."""
    if given is None:
        return None
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)\s*([smh]?)", str(given).strip())
    if found is None or not float(found[1]):
        raise BadRules(f"{where}: {given!r} is no time; it looks like 90, 90s or 5m".removeprefix(": "))
    return float(found[1]) * _UNITS[found[2]]
