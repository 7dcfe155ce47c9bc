"""Two reports held against each other: what is new, what is gone, and what became of the score."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .findings import CheckFinding


class NoReport(Exception):
    """Why a file is no report: one line that says what to do."""


def load_report(path: str) -> dict[str, Any]:
    """A report that was written with --json; it raises `NoReport`."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoReport(f"there is no {path}; write it with: failwell check --json … > {path}") from None
    except (OSError, ValueError, RecursionError) as problem:
        raise NoReport(f"cannot read {path}: {problem}") from None
    findings = data.get("findings") if isinstance(data, dict) else None
    if not isinstance(findings, list) or not all(isinstance(each, dict) and "rule" in each for each in findings):
        raise NoReport(f"{path} is no report of failwell check --json")
    return dict(data)


def keys_of(report: Mapping[str, Any]) -> set[str]:
    """The findings of a report, by what they are known by in every run."""
    return {f"{each['rule']}:{each.get('tool') or ''}" for each in report["findings"]}


def new_findings(findings: Iterable[CheckFinding], baseline: Mapping[str, Any]) -> list[CheckFinding]:
    """The findings that a baseline does not have."""
    known = keys_of(baseline)
    return [finding for finding in findings if finding.key not in known]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one report to another."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def gone(self) -> list[str]:
        return sorted(keys_of(self.before) - keys_of(self.after))

    @property
    def new(self) -> list[str]:
        return sorted(keys_of(self.after) - keys_of(self.before))

    def lines(self) -> list[str]:
        """The same in words."""
        told = [f"score {_score(self.before)} -> {_score(self.after)}"]
        for group in self.after.get("groups", {}):
            one, other = (each.get("groups", {}).get(group, {}).get("score") for each in (self.before, self.after))
            if one != other:
                told.append(f"{group} {_or_none(one)} -> {_or_none(other)}")
        told += [f"gone  {_named(key)}" for key in self.gone]
        told += [f"new   {_named(key)}" for key in self.new]
        return told

    def to_dict(self) -> dict[str, Any]:
        return {
            "before": {"target": self.before.get("target"), "score": self.before.get("score")},
            "after": {"target": self.after.get("target"), "score": self.after.get("score")},
            "gone": self.gone,
            "new": self.new,
        }


def _score(report: Mapping[str, Any]) -> str:
    return f"{report.get('score')} {report.get('grade', '')}".strip()


def _or_none(score: object) -> str:
    return "–" if score is None else str(score)


def _named(key: str) -> str:
    rule, _, tool = key.partition(":")
    return f"{rule} on {tool or 'the server'}"
