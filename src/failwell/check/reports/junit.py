"""JUnit's XML, which CI servers show as tests: one case for each rule on each tool that it was asked about."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from failwell.check.report_data import CheckReport
from failwell.check.rules import RULES


def junit(report: CheckReport) -> str:
    """The report as one suite for each tool."""
    findings = {(finding.rule, finding.tool or ""): finding for finding in report.findings}
    by_tool: dict[str, list[str]] = {}
    for rule, tools in report.examined.ledger.tally.counts.items():
        for tool in tools:
            by_tool.setdefault(tool, []).append(rule)
    root = Element("testsuites", name="failwell check")
    for tool in sorted(by_tool):
        named = report.discretion.name(tool) if tool else "server"
        suite = SubElement(root, "testsuite", name=_legal(named))
        for rule in sorted(by_tool[tool]):
            case = SubElement(suite, "testcase", classname=_legal(named), name=rule)
            finding = findings.get((rule, named if tool else ""))
            if finding is not None:
                failure = SubElement(case, "failure", type=finding.severity, message=_legal(finding.message))
                failure.text = _legal(f"{RULES[rule].title}\n{finding.fix}\n{finding.reproduce}")
        _count(suite)
    _count(root)
    root.set("time", f"{report.examined.seconds:.3f}")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _count(element: Element) -> None:
    element.set("tests", str(len(element.findall(".//testcase"))))
    element.set("failures", str(len(element.findall(".//failure"))))


def _legal(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(each for each in text if each in "\t\n\r" or " " <= each < "\ud800" or "\ue000" <= each <= "\ufffd")
