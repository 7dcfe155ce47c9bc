"""One picture: stacked bars over time, as plain SVG, each a link to its part of the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from .figures import count, stamp

STACKED = (("recovered", "good", "recovered"), ("lost", "bad", "not recovered"), ("unknown", "warn", "unknown"))


def bars(parts: Sequence[tuple[int, dict[str, Any]]], address: Callable[[int], str] | None) -> str:
    """Failures in each part of a time, by what became of them; nothing where nothing has failed."""
    top = max((numbers["failed"] for _, numbers in parts), default=0)
    if not top:
        return ""
    width, drawn = 1000 / len(parts), list[str]()
    gap = min(2.0, width / 5)
    for index, (at, numbers) in enumerate(parts):
        x, wide, y = f"{index * width + gap / 2:.1f}", f"{max(0.5, width - gap):.1f}", 160.0
        said = ", ".join(f"{count(numbers[name])} {label}" for name, _, label in STACKED)
        title = f"{stamp(at)[:16]} UTC: {count(numbers['calls'])} calls, {count(numbers['failed'])} failed: {said}"
        shapes = [f'<title>{escape(title)}</title><rect class="hit" x="{x}" y="0" width="{wide}" height="160"/>']
        for name, tone, _ in STACKED:
            height = 150 * numbers[name] / top
            y -= height
            if height:
                shapes.append(f'<rect class="{tone}" x="{x}" y="{y:.1f}" width="{wide}" height="{height:.1f}"/>')
        inner = "".join(shapes)
        drawn.append(f"<g>{inner}</g>" if address is None else f'<a href="{escape(address(at))}">{inner}</a>')
    return (
        '<svg class="bars" viewBox="0 0 1000 160" preserveAspectRatio="none" role="img" '
        f'aria-label="Failures over time, at most {count(top)} at a time">{"".join(drawn)}</svg>'
    )
