"""One page that holds everything and needs nothing, and a badge: no script, no font, no address but those it shows."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from html import escape
from importlib.resources import files
from typing import Any, Final

from failwell.check.report_data import CheckReport
from failwell.check.rubric import RULES
from failwell.redact import escaped, visible

_KINDS: Final = ((75, "good"), (40, "fair"), (0, "poor"))
_COLOURS: Final = ((90, "#2e7d32"), (75, "#558b2f"), (60, "#9e6a03"), (40, "#bf5b04"), (0, "#b3261e"))
_ASKED: Final = {"all": "everything", "refusals": "what must be refused", "none": "nothing"}


def html(report: CheckReport, known: Collection[str] | None) -> str:
    """The whole report as one page."""
    data = report.to_dict()
    title = f"{data['score']} {data['grade']}: {data['target']}"
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>{''.join(_body(report, data))}"
        "</main></body></html>\n"
    )


def _body(report: CheckReport, data: dict[str, Any]) -> Iterator[str]:
    server = data["server"]
    named = " ".join(visible(" ".join(str(server[key]) for key in ("name", "version") if server.get(key))).split())
    graded = data["graded"]
    yield (
        f'<header><div class="dial {_kind(data["score"])}" style="--score:{data["score"]}"><b>{data["score"]}</b>'
        f"<span>{escape(data['grade'])}</span></div><div><p class=over>How it fails, rubric {data['rubric']}</p>"
        f"<h1>{escape(named or 'A server')}</h1><p class=target><code>{escape(data['target'])}</code></p>"
        f"<p class=scope>{graded['fully']} of {graded['tools']} tools graded fully, {graded['refusals']} by refusals "
        "only.</p></div></header>"
    )
    if data["reason"] is not None:
        yield f'<section class="note poor"><h2>It does not start</h2><p>{escape(data["reason"])}</p></section>'
        return
    if data["limited_by"] is not None:
        yield f'<section class="note poor"><p>Held at {data["score"]}: {escape(data["limited_by"])}</p></section>'
    if data["lost"]:
        yield "<section><h2>What it lost</h2><div class=wide><table class=lost><tbody>"
        for rule, cost in data["lost"].items():
            yield (
                f'<tr><td><b>−{cost:.1f}</b><td><a href="#{rule}">{escape(RULES[rule].title)}</a>'
                f"<td><code>{rule}</code></tr>"
            )
        yield "</tbody></table></div></section>"
    yield from _findings(report)
    if data["tools"]:
        yield "<section><h2>Tools</h2><div class=wide><table>"
        yield "<thead><tr><th>tool<th>is a<th>asked<th>score</tr></thead><tbody>"
        for tool in sorted(data["tools"], key=lambda each: (each["score"] is None, each["score"] or 0, each["name"])):
            score = "–" if tool["score"] is None else f'<b class="{_kind(tool["score"])}">{tool["score"]}</b>'
            nature = escape(tool["nature"].replace("_", " "))
            yield f"<tr><td><code>{escape(tool['name'])}</code><td>{nature}<td>{_ASKED[tool['scope']]}<td>{score}</tr>"
        yield "</tbody></table></div></section>"
    for title, names in (("Inconclusive", data["inconclusive"]), ("Notes", data["notes"])):
        if names:
            yield f"<section><h2>{title}</h2><ul>{''.join(f'<li>{escape(each)}</li>' for each in names)}</ul></section>"
    eras = escape(" and ".join(data["eras"]))
    yield f"<footer>{data['probes']} calls in {data['duration_s']:.1f} s, {eras}. Made by <code>failwell check</code>."
    yield "</footer>"


def _findings(report: CheckReport) -> Iterator[str]:
    if not report.findings:
        yield '<section class="note good"><h2>Nothing to fix</h2></section>'
        return
    yield f"<section><h2>Findings, {len(report.findings)}</h2>"
    for rule_id, cost, found in report.first_to_fix(len(RULES)):
        rule = RULES[rule_id]
        clause = f"<p class=clause>{escape(rule.clause)}</p>" if rule.clause else ""
        yield (
            f'<article id="{rule.id}"><h3>{escape(rule.title)} <span class="tag {rule.severity}">{rule.severity}</span>'
            f"</h3><p class=id><code>{rule.id}</code>, {cost:.1f} points</p><p>{escape(rule.reason)}</p>{clause}"
            f"<p class=fix>{escape(found[0].fix)}</p>"
        )
        for finding in found:
            times = f" <em>{finding.count} calls</em>" if finding.count > 1 else ""
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


def _kind(score: int) -> str:
    return next(kind for least, kind in _KINDS if score >= least)


def badge(report: CheckReport, known: Collection[str] | None) -> str:
    """The score and its letter as one small SVG, for a README."""
    value = f"{report.score} {report.grade}" if report.examined.reason is None else "does not start"
    colour = next(each for least, each in _COLOURS if report.score >= least)
    if not report.is_graded:
        value, colour = "not graded", "#666"
    left, right = 62, 14 + 7 * len(value)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="fails well: {value}"><title>fails well: {value}</title>'
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2}" y="14">fails well</text><text x="{left + right / 2}" y="14">{value}</text></g></svg>\n'
    )
