"""What an operator sees of a server's calls: counters, log records, spans, metrics, and an event for each call.

Whoever watches is never felt by the call: a hook, a handler or an exporter that raises changes no answer.
"""

from __future__ import annotations

from .counting import UNKNOWN, Stats, ToolStats
from .events import CallEvent, Hook, emit, new_id
from .records import log_failure
from .telemetry import count_failure, durations, mark_failure, mark_span

__all__ = [
    # how often, how long, how it failed
    "Stats",
    "ToolStats",
    "UNKNOWN",
    # one call
    "CallEvent",
    "Hook",
    "emit",
    "new_id",
    # where it is told
    "log_failure",
    "mark_failure",
    "mark_span",
    "count_failure",
    "durations",
]
