"""The ways of showing a report; each takes the report, and knows nothing of how it came about."""

from __future__ import annotations

from .badge import badge
from .html import html
from .junit import junit
from .sarif import sarif
from .terminal import show

__all__ = ["badge", "html", "junit", "sarif", "show"]
