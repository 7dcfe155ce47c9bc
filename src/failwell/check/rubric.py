"""The rubric: one row for each rule, with what it observes, why, what was measured, what it costs, and the fix.

The rows are data, in a file for each version. A rule is a pure function of one observation; it is found here by its id.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final

from . import conduct_rules, failure_rules
from .observation import Judged, Observation

VERSION: Final = 1
_JUDGES: Final[Mapping[str, Callable[[Observation], Judged]]] = {
    "harm.starts": conduct_rules.starts,
    "harm.crash": conduct_rules.alive,
    "harm.secret": conduct_rules.secrets,
    "harm.trace": conduct_rules.trace,
    "harm.as-success": failure_rules.as_success,
    **failure_rules.LADDER,
    "advice.write": failure_rules.no_write,
    "advice.same-call": failure_rules.not_same,
    "advice.works": failure_rules.advice_works,
    "advice.retryable": failure_rules.not_retryable,
    "advice.retry-after": failure_rules.retry_after,
    "advice.never-sent": failure_rules.never_sent,
    "calls.answered": conduct_rules.answers,
    "calls.schema": conduct_rules.schema_kept,
    "calls.unknown-argument": conduct_rules.unknown_argument,
    "calls.required": conduct_rules.required,
    "calls.annotations": conduct_rules.annotated,
    "safety.internals": conduct_rules.internals,
    "safety.injection": conduct_rules.injection,
    "form.text": failure_rules.form,
    "form.in-result": failure_rules.in_result,
    "form.code": failure_rules.coded,
    "form.length": failure_rules.short,
    "protocol.unknown-tool": conduct_rules.unknown_tool,
    "protocol.envelope": conduct_rules.envelope,
    "protocol.codes": conduct_rules.codes,
    "protocol.survives": conduct_rules.survives_frames,
}


@dataclass(frozen=True, slots=True)
class CheckRule:
    """One rule."""

    id: str
    judge: Callable[[Observation], Judged]
    points: int
    """What it costs if every tool breaks it."""
    title: str
    observes: str
    reason: str
    measured: str
    fix: str
    floor: int | None = None
    """The highest score of a server whose tools all break it; for the rules that harm."""
    code: Mapping[str, str] = field(default_factory=dict)
    """The fix by the language of the server."""
    clause: str | None = None
    """Where the protocol says so."""

    @property
    def group(self) -> str:
        return self.id.partition(".")[0]

    @property
    def severity(self) -> str:
        if self.floor is not None:
            return "critical"
        return "high" if self.points >= 20 else "medium" if self.points >= 5 else "low"

    def fix_in(self, language: str | None) -> str:
        code = self.code.get(language or "")
        return f"{self.fix} In {language}: {code}" if code else self.fix


def _loaded() -> dict[str, CheckRule]:
    rows = tomllib.loads(files(__package__).joinpath(f"rubric-{VERSION}.toml").read_text(encoding="utf-8"))
    shared = rows.pop("code")
    for row in rows.values():
        if isinstance(row.get("code"), str):
            row["code"] = shared[row["code"]]
    return {id: CheckRule(id, _JUDGES[id], **row) for id, row in rows.items()}


RULES: Final[Mapping[str, CheckRule]] = _loaded()
GROUPS: Final = tuple(dict.fromkeys(rule.group for rule in RULES.values()))
