"""One page that holds everything and needs nothing: no script, no font, no address but those it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

from failwell.check.findings import CheckFinding
from failwell.check.report_data import CheckReport
from failwell.check.rules import RULES
from failwell.redact import escaped, visible

_COLOURS: Final = ((90, "good"), (70, "fair"), (0, "poor"))


def html(report: CheckReport) -> str:
    """The whole report as one page."""
    data = report.to_dict()
    title = f"{data['score']} {data['grade']}: {data['target']}"
    body = "".join(_body(report, data))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_style()}</style></head><body><main>{body}</main></body></html>\n"
    )


@cache
def _style() -> str:
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8")


def _body(report: CheckReport, data: dict[str, Any]) -> Iterator[str]:
    kind = _kind(data["score"])
    yield (
        f'<header><div class="dial {kind}" style="--score:{data["score"]}"><b>{data["score"]}</b>'
        f"<span>{escape(data['grade'])}</span></div><div><p class=over>How it fails</p>"
        f"<h1>{escape(_name(data))}</h1><p class=target><code>{escape(data['target'])}</code></p>"
        f"<p class=scope>{escape(_scope(data))}</p></div></header>"
    )
    if data["reason"] is not None:
        yield f'<section class="note poor"><h2>It does not start</h2><p>{escape(data["reason"])}</p></section>'
        return
    if data["limited_by"] is not None:
        rule = RULES[data["limited_by"]]
        yield (
            f'<section class="note {kind}"><p>Held at {data["score"]} by this rule: '
            f'<a href="#{rule.id}">{escape(rule.title)}</a></p></section>'
        )
    yield '<section class=groups aria-label="Groups">'
    for group, told in data["groups"].items():
        yield _group(group, told)
    yield "</section>"
    fixes = report.first_to_fix()
    if fixes:
        yield "<section><h2>Fix first</h2><ol class=fixes>"
        for rule_id, points, findings in fixes:
            rule = RULES[rule_id]
            tools = ", ".join(sorted({finding.tool or "the server" for finding in findings})[:4])
            more = f" and {len(findings) - 4} more" if len(findings) > 4 else ""
            worth = f", {points:.1f} points" if points >= 0.05 else ""
            yield (
                f'<li><h3><a href="#{rule.id}">{escape(rule.title)}</a> {_tag(rule.severity)}</h3>'
                f"<p>{escape(findings[0].message)}</p><p class=where>{escape(tools + more + worth)}</p>"
                f"<p class=fix>{escape(rule.plain)}</p><p class=fix><code>{escape(rule.failwell)}</code></p></li>"
            )
        yield "</ol></section>"
    yield from _tools(data)
    yield from _findings(report.findings)
    if data["notes"]:
        yield (
            "<section><h2>Notes</h2><ul>"
            + "".join(f"<li>{escape(note)}</li>" for note in data["notes"])
            + "</ul></section>"
        )
    yield (
        f"<footer>{data['probes']} probes in {data['duration_s']:.1f} s, {escape(' and '.join(data['eras']))}. "
        "Made by <code>failwell check</code>.</footer>"
    )


def _name(data: dict[str, Any]) -> str:
    server = data["server"]
    named = " ".join(str(server[key]) for key in ("name", "version") if server.get(key))
    return " ".join(visible(named).split()) or "A server"


def _scope(data: dict[str, Any]) -> str:
    graded = data["graded"]
    told = f"{graded['graded']} of {graded['tools']} tools could be graded"
    if refused := graded["graded"] - graded["fully"]:
        told += f", {refused} of them only by calls that must be refused"
    return told + "."


def _group(group: str, told: dict[str, Any]) -> str:
    score = told["score"]
    if score is None:
        return f"<div class=group><h3>{group}</h3><p class=none>nothing to look at</p></div>"
    count = told["findings"]
    found = f"{count} finding{'s' if count != 1 else ''}" if count else "nothing found"
    return (
        f'<div class="group {_kind(score)}"><h3>{group}</h3><b>{score}</b>'
        f'<div class=bar><i style="width:{score}%"></i></div><p>{found}</p></div>'
    )


def _tools(data: dict[str, Any]) -> Iterator[str]:
    if not data["tools"]:
        return
    yield "<section><h2>Tools</h2><div class=wide><table>"
    yield "<thead><tr><th>tool<th>is a<th>asked<th>findings<th>score</tr></thead><tbody>"
    asked = {
        "all": "everything",
        "refusals": "what must be refused",
        "none": "nothing: it may write, and requires nothing",
    }
    order = sorted(data["tools"], key=lambda tool: (tool["score"] is None, tool["score"] or 0, tool["name"]))
    for tool in order:
        score = tool["score"]
        shown = f'<b class="{_kind(score)}">{score}</b>' if score is not None else "–"
        yield (
            f"<tr><td><code>{escape(tool['name'])}</code><td>{escape(tool['nature'].replace('_', ' '))}"
            f"<td>{asked[tool['scope']]}<td>{tool['findings']}<td>{shown}</tr>"
        )
    yield "</tbody></table></div></section>"


def _findings(findings: list[CheckFinding]) -> Iterator[str]:
    if not findings:
        yield '<section class="note good"><h2>Nothing to fix</h2></section>'
        return
    yield f"<section><h2>All findings, {len(findings)}</h2>"
    by_rule: dict[str, list[CheckFinding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    for rule_id, found in by_rule.items():
        rule = RULES[rule_id]
        clause = f"<p class=clause>{escape(rule.clause)}</p>" if rule.clause else ""
        yield (
            f'<article id="{rule.id}"><h3>{escape(rule.title)} {_tag(rule.severity)}</h3>'
            f"<p class=id><code>{rule.id}</code></p><p>{escape(rule.why)}</p>{clause}"
            f"<p class=fix>{escape(rule.plain)}</p><p class=fix><code>{escape(rule.failwell)}</code></p>"
        )
        for finding in found:
            times = f" <em>{finding.count} probes</em>" if finding.count > 1 else ""
            yield (
                f"<details><summary><code>{escape(finding.tool or 'server')}</code> "
                f"{escape(finding.message)}{times}</summary>"
                f"<h4>Request</h4><pre>{_json(finding.request)}</pre><h4>Answer</h4><pre>{_json(finding.answer)}</pre>"
                f"<h4>To see it again</h4><pre>{escape(finding.reproduce)}</pre></details>"
            )
        yield "</article>"
    yield "</section>"


def _json(value: Any) -> str:
    return escape(value if isinstance(value, str) else escaped(json.dumps(value, indent=2, ensure_ascii=False)))


def _tag(severity: str) -> str:
    return f'<span class="tag {severity}">{severity}</span>'


def _kind(score: int) -> str:
    return next(kind for least, kind in _COLOURS if score >= least)
