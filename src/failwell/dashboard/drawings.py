"""Pictures in SVG, drawn here: no script, no style of their own, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from failwell.observe import Numbers

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
