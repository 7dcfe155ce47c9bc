"""SARIF 2.1.0, which code hosts show beside the code."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any, Final

from failwell import __version__
from failwell.check.findings import CheckFinding
from failwell.check.report_data import CheckReport
from failwell.check.rules import RULES, CheckRule

_LEVEL: Final = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
# What code hosts sort by: from 0 to 10.
_RANK: Final = {"critical": "9.5", "high": "7.5", "medium": "5.0", "low": "2.0"}
DOCS: Final = "https://github.com/failwell/failwell/tree/main/docs/check.md"


def sarif(report: CheckReport) -> dict[str, Any]:
    """The findings of a report as one run."""
    broken = sorted({finding.rule for finding in report.findings})
    place = _physical(report.target)
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "failwell check",
                        "version": __version__,
                        "informationUri": DOCS,
                        "rules": [_rule(RULES[rule]) for rule in broken],
                    }
                },
                "results": [
                    {
                        "ruleId": finding.rule,
                        "ruleIndex": broken.index(finding.rule),
                        "level": _LEVEL[finding.severity],
                        "message": {"text": f"{_where(finding.tool)}{finding.message} Fix: {finding.fix}"},
                        "locations": [{**place, "logicalLocations": [_place(finding)]}],
                        "partialFingerprints": {"failwellFinding/v1": _print(finding.key)},
                        "properties": {"reproduce": finding.reproduce, "count": finding.count, "era": finding.era},
                    }
                    for finding in report.findings
                ],
                "properties": {"score": report.score, "grade": report.grade, "target": report.target},
            }
        ],
    }


def _where(tool: str | None) -> str:
    return f"{tool}: " if tool else ""


def _physical(target: str) -> dict[str, Any]:
    """The file of the server, where its command names one here: code hosts show nothing that has no file."""
    try:
        parts = shlex.split(target)
    except ValueError:
        parts = []
    for part in parts:
        path = Path(part)
        if not path.is_absolute() and path.suffix and ".." not in path.parts and path.is_file():
            return {"physicalLocation": {"artifactLocation": {"uri": path.as_posix()}, "region": {"startLine": 1}}}
    return {}


def _place(finding: CheckFinding) -> dict[str, str]:
    return {"name": finding.tool or "server", "fullyQualifiedName": finding.key, "kind": "function"}


def _print(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _rule(rule: CheckRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.replace(".", "-").split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.looks_at} {rule.why}"},
        "help": {"text": f"{rule.plain}\nWith Failwell: {rule.failwell}"},
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
        "properties": {"security-severity": _RANK[rule.severity], "tags": [rule.group]},
    }
