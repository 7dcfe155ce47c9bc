"""What an operator sees of a server's calls: counters, log records, spans, metrics, and an event for each call.

Whoever watches is never felt by the call: a hook, a handler or an exporter that raises changes no answer.
"""

from __future__ import annotations

from .counters import UNKNOWN as UNKNOWN
from .counters import Stats, ToolStats
from .events import CallEvent, Hook, emit
from .events import new_id as new_id
from .log import log_failure, logged
from .otel import count_failure as count_failure
from .otel import durations
from .otel import mark_failure as mark_failure
from .otel import mark_span as mark_span

__all__ = [
    # how often, how long, how it failed
    "Stats",
    "ToolStats",
    # one call
    "CallEvent",
    "Hook",
    "emit",
    # where it is told
    "log_failure",
    "logged",
    "durations",
]
# What other rooms of this house use, and nobody else may count on.
_HOUSE = ("UNKNOWN", "new_id", "mark_failure", "mark_span", "count_failure")
