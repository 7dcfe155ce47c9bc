"""The ways of showing a report; each takes the report and the findings of a baseline, and knows nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from failwell.check.report_data import CheckReport

from .html import badge, html
from .machines import as_json, junit, sarif
from .terminal import lines, show

FORMATS: Final[Mapping[str, Callable[[CheckReport, Collection[str] | None], str]]] = {
    "json": as_json,
    "sarif": sarif,
    "junit": junit,
    "html": html,
    "badge": badge,
    "text": lambda report, known: "\n".join("".join(text for text, _ in line) for line in lines(report, known)) + "\n",
}
"""What `--output` writes, by name. The keys of a baseline are None where there is none."""

__all__ = ["FORMATS", "show"]
