"""Pictures in SVG, drawn here: no script, no style of their own, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from failwell.observe import Flow, Numbers

from .figures import count, moment


def sparkline(values: Sequence[float | None]) -> str:
    """A small line; where nothing is known, it has a gap."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return ""
    low, high = min(0.0, *known), max(known)
    room = (high - low) or 1.0
    step = 100 / max(1, len(values) - 1)
    paths, points = [], list[str]()
    for index, value in enumerate((*values, None)):
        if value is not None:
            points.append(f"{index * step:.1f},{22 - 20 * (value - low) / room:.1f}")
        elif points:
            paths.append(points if len(points) > 1 else [points[0], points[0]])
            points = []
    drawn = "".join(f'<polyline points="{" ".join(path)}"/>' for path in paths)
    areas = "".join(
        f'<polygon points="{path[0].partition(",")[0]},24 {" ".join(path)} {path[-1].partition(",")[0]},24"/>'
        for path in paths
    )
    return f'<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">{areas}{drawn}</svg>'


def bars(parts: Sequence[tuple[int, Numbers]]) -> str:
    """Failures over time: those that were recovered from, and those that were not."""
    top = max((part.failed for _, part in parts), default=0)
    if not top:
        return ""
    width = 1000 / len(parts)
    drawn = []
    for index, (at, part) in enumerate(parts):
        left, gap = index * width, min(2.0, width / 5)
        lost = part.failed - part.recovered
        good, bad = 150 * part.recovered / top, 150 * lost / top
        said = (
            f"{moment(at)[:16]} UTC: {count(part.calls)} calls, {count(part.failed)} failed, "
            f"{count(part.recovered)} recovered"
        )
        x, wide = f"{left + gap / 2:.1f}", f"{max(0.5, width - gap):.1f}"
        drawn.append(
            f"<g><title>{escape(said)}</title>"
            f'<rect class="hit" x="{x}" y="0" width="{wide}" height="160"/>'
            f'<rect class="bad" x="{x}" y="{160 - good - bad:.1f}" width="{wide}" height="{bad:.1f}"/>'
            f'<rect class="good" x="{x}" y="{160 - good:.1f}" width="{wide}" height="{good:.1f}"/></g>'
        )
    return (
        '<svg class="bars" viewBox="0 0 1000 160" preserveAspectRatio="none" role="img" '
        f'aria-label="Failures over time, at most {count(top)} at a time">{"".join(drawn)}</svg>'
    )


_OUTCOMES = {"recovered": "good", "not recovered": "bad"}


def flow(flows: Sequence[Flow]) -> str:
    """From what failed, over what was decided, to what came of it."""
    links: list[tuple[str, str, float, str]] = []
    for each in flows:
        decision = each.decision or "left to the agent"
        links.append((f"0{each.kind}", f"1{decision}", each.recovered + each.left, f"k-{_safe(each.kind)}"))
        links.append((f"1{decision}", "2recovered", each.recovered, "good"))
        links.append((f"1{decision}", "2not recovered", each.left, "bad"))
    merged: dict[tuple[str, str, str], float] = {}
    for source, target, value, colour in links:
        if value:
            merged[source, target, colour] = merged.get((source, target, colour), 0) + value
    if not merged:
        return ""
    size: dict[str, float] = {}
    for (source, target, _), value in merged.items():
        size[source] = size.get(source, 0) + (value if source[0] == "0" else 0)
        size[target] = size.get(target, 0) + value
    columns: list[list[str]] = [sorted((n for n in size if n[0] == c), key=lambda n: -size[n]) for c in "012"]
    total = sum(size[name] for name in columns[0])
    most = max(map(len, columns))
    gap = 18.0
    height = max(160.0, most * 34.0)
    scale = (height - gap * (most - 1)) / total
    tops: dict[str, float] = {}
    for column in columns:
        y = (height - sum(size[n] * scale for n in column) - gap * (len(column) - 1)) / 2
        for name in column:
            tops[name] = y
            y += size[name] * scale + gap
    out, into = dict(tops), dict(tops)
    lefts = {"0": 130.0, "1": 440.0, "2": 750.0}
    ribbons = []
    for (source, target, colour), value in sorted(merged.items(), key=lambda e: (tops[e[0][0]], tops[e[0][1]])):
        thick = max(1.0, value * scale)
        x0, x1 = lefts[source[0]] + 10, lefts[target[0]]
        y0, y1 = out[source], into[target]
        out[source] += value * scale
        into[target] += value * scale
        middle = (x0 + x1) / 2
        said = escape(f"{source[1:]} → {target[1:]}: {count(value)}")
        ribbons.append(
            f'<path class="ribbon {colour}" d="M{x0:.1f},{y0:.1f} C{middle:.1f},{y0:.1f} {middle:.1f},{y1:.1f} '
            f"{x1:.1f},{y1:.1f} L{x1:.1f},{y1 + thick:.1f} C{middle:.1f},{y1 + thick:.1f} {middle:.1f},"
            f'{y0 + thick:.1f} {x0:.1f},{y0 + thick:.1f} Z"><title>{said}</title></path>'
        )
    nodes = []
    for name in size:
        x, y, tall = lefts[name[0]], tops[name], max(1.5, size[name] * scale)
        place = {"0": (x - 8, "end"), "1": (x + 16, "start"), "2": (x + 16, "start")}[name[0]]
        colour = _OUTCOMES.get(name[1:], f"k-{_safe(name[1:])}" if name[0] == "0" else "")
        nodes.append(
            f'<rect class="node {colour}" x="{x:.1f}" y="{y:.1f}" width="10" height="{tall:.1f}" rx="2"/>'
            f'<text x="{place[0]:.1f}" y="{y + tall / 2:.1f}" text-anchor="{place[1]}" dominant-baseline="central">'
            f'{escape(name[1:].replace("_", " "))} <tspan class="n">{count(size[name])}</tspan></text>'
        )
    return (
        f'<svg class="flow" viewBox="0 -8 920 {height + 16:.0f}" role="img" aria-label="From the kind of failure, over '
        f'the decision, to what came of it">{"".join(ribbons)}{"".join(nodes)}</svg>'
    )


def strip(rows: Sequence[dict[str, object]]) -> str:
    """The calls of a session, one after the other."""
    if not rows:
        return ""
    width = 1000 / len(rows)
    drawn = []
    for index, row in enumerate(rows):
        colour = "good" if row["ok"] else "warn" if row["recovered"] else "bad"
        said = escape(f"{row['tool']}: {'worked' if row['ok'] else row['code'] or row['kind']}")
        drawn.append(
            f'<rect class="{colour}" x="{(index + 0.08) * width:.2f}" y="0" width="{width * 0.84:.2f}" height="20" '
            f'rx="2"><title>{said}</title></rect>'
        )
    return (
        '<svg class="strip" viewBox="0 0 1000 20" preserveAspectRatio="none" role="img" '
        f'aria-label="{len(rows)} calls in their order">{"".join(drawn)}</svg>'
    )


def _safe(name: str) -> str:
    return name if name.isidentifier() and name.isascii() and len(name) < 20 else "other"
