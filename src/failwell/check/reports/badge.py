"""A badge for a README, as one small SVG."""

from __future__ import annotations

from failwell.check.report_data import CheckReport

_COLOURS = ((90, "#2e7d32"), (80, "#558b2f"), (70, "#9e6a03"), (60, "#bf5b04"), (0, "#b3261e"))


def badge(report: CheckReport) -> str:
    """The score and its letter."""
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
