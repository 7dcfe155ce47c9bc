"""For programs: JSON, SARIF 2.1.0 for code hosts, and JUnit's XML for CI servers."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, tostring

from failwell import __version__
from failwell.check.report_data import CheckFinding, CheckReport
from failwell.check.rubric import RULES, CheckRule
from failwell.redact import escaped

_LEVEL: Final = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
# What code hosts sort by: from 0 to 10.
_RANK: Final = {"critical": "9.5", "high": "7.5", "medium": "5.0", "low": "2.0"}
DOCS: Final = "https://github.com/failwell/failwell/tree/main/docs/"
# Code hosts refuse a finding without a file.
_STAND_INS: Final = ("pyproject.toml", "package.json", "go.mod", "Cargo.toml", ".mcp.json", "README.md")


def page_of(rule: str) -> str:
    """Where a rule is explained."""
    return f"{DOCS}rubric.md#{rule}"


def _dumped(value: Any) -> str:
    # Nothing in it may be acted on by a terminal.
    return escaped(json.dumps(value, ensure_ascii=False, indent=2)) + "\n"


def as_json(report: CheckReport, known: Collection[str] | None) -> str:
    return _dumped(report.to_dict())


def sarif(report: CheckReport, known: Collection[str] | None) -> str:
    """The findings as one run; those of a baseline that are gone are results, too."""
    broken = sorted({finding.rule for finding in report.findings})
    place = _physical(report.target)
    results = [_result(finding, broken.index(finding.rule), place, known) for finding in report.findings]
    gone = sorted(set(known or ()) - {finding.key for finding in report.findings})
    results += [
        {
            "ruleId": key.partition(":")[0],
            "kind": "pass",
            "level": "none",
            "baselineState": "absent",
            "message": {"text": "It is no longer broken."},
            "locations": [{**place, "logicalLocations": [{"fullyQualifiedName": key}]}],
        }
        for key in gone
    ]
    driver = {"name": "failwell check", "version": __version__, "informationUri": f"{DOCS}rubric.md"}
    properties = {"score": report.score, "grade": report.grade, "target": report.target}
    run = {
        "tool": {"driver": {**driver, "rules": [_rule(RULES[rule]) for rule in broken]}},
        "results": results,
        "properties": properties,
    }
    return _dumped({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]})


def _result(finding: CheckFinding, index: int, place: dict[str, Any], known: Collection[str] | None) -> dict[str, Any]:
    logical = {"name": finding.tool or "server", "fullyQualifiedName": finding.key, "kind": "function"}
    state = {} if known is None else {"baselineState": "unchanged" if finding.key in known else "new"}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVEL[finding.severity],
        **state,
        "message": {"text": f"{finding.line} Fix: {finding.fix}"},
        "locations": [{**place, "logicalLocations": [logical]}],
        "partialFingerprints": {"failwellFinding/v1": hashlib.sha256(finding.key.encode()).hexdigest()[:32]},
        "properties": {"reproduce": finding.reproduce, "count": finding.count, "era": finding.era},
    }


def _physical(target: str) -> dict[str, Any]:
    """The file of the server, where its command names one here, or the file of its project."""
    try:
        parts = shlex.split(target)
    except ValueError:
        parts = []
    paths = [Path(part) for part in (*parts, *_STAND_INS)]
    here = [path for path in paths if not path.is_absolute() and path.suffix and ".." not in path.parts]
    uri = next((path.as_posix() for path in here if path.is_file()), "README.md")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}


def _rule(rule: CheckRule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.replace(".", "-").split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.observes} {rule.reason}"},
        "helpUri": page_of(rule.id),
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
        "properties": {"security-severity": _RANK[rule.severity], "tags": [rule.group]},
    }


def junit(report: CheckReport, known: Collection[str] | None) -> str:
    """One suite for each tool, one case for each rule on it. What a baseline knows is skipped, and no failure."""
    findings = {(finding.rule, finding.tool or ""): finding for finding in report.findings}
    by_tool: dict[str, list[str]] = {}
    for rule, tools in report.examined.tally.asked().items():
        for tool in tools:
            by_tool.setdefault(tool, []).append(rule)
    root = Element("testsuites", name="failwell check")
    for tool in sorted(by_tool):
        named = report.examined.discretion.name(tool) if tool else "server"
        suite = SubElement(root, "testsuite", name=_legal(named))
        for rule in sorted(by_tool[tool]):
            case = SubElement(suite, "testcase", classname=_legal(named), name=rule)
            finding = findings.get((rule, named if tool else ""))
            if finding is None:
                continue
            if known is not None and finding.key in known:
                SubElement(case, "skipped", message=_legal(f"known: {finding.message}"))
                continue
            failure = SubElement(case, "failure", type=finding.severity, message=_legal(finding.message))
            failure.text = _legal(f"{page_of(rule)}\n{finding.fix}\n{finding.reproduce}")
    for element in (root, *root.findall("testsuite")):
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
            element.set(name, str(len(element.findall(f".//{tag}"))))
    root.set("time", f"{report.examined.seconds:.3f}")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _legal(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(each for each in text if each in "\t\n\r" or " " <= each < "\ud800" or "\ue000" <= each <= "\ufffd")
