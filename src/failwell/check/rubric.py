"""The rubric: one row for each rule, with what it observes, why, what was measured, what it costs, and the fix.

The rows are data, in a file for each version. A rule is a pure function of one observation; it is found here by its id.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final

from . import answers, conduct
from .observation import Judged, Observation

VERSION: Final = 1
_JUDGES: Final[Mapping[str, Callable[[Observation], Judged]]] = {
    "harm.starts": conduct.starts,
    "harm.crash": conduct.alive,
    "harm.secret": conduct.secrets,
    "harm.trace": conduct.trace,
    "harm.as-success": answers.as_success,
    **answers.LADDER,
    "advice.write": answers.no_write,
    "advice.same-call": answers.not_same,
    "advice.works": answers.advice_works,
    "advice.retryable": answers.not_retryable,
    "advice.retry-after": answers.retry_after,
    "advice.never-sent": answers.never_sent,
    "calls.answered": conduct.answers,
    "calls.schema": conduct.schema_kept,
    "calls.unknown-argument": conduct.unknown_argument,
    "calls.required": conduct.required,
    "calls.annotations": conduct.annotated,
    "safety.internals": conduct.internals,
    "safety.injection": conduct.injection,
    "form.text": answers.form,
    "form.in-result": answers.in_result,
    "form.code": answers.coded,
    "form.length": answers.short,
    "protocol.unknown-tool": conduct.unknown_tool,
    "protocol.envelope": conduct.envelope,
    "protocol.codes": conduct.codes,
    "protocol.survives": conduct.survives_frames,
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
