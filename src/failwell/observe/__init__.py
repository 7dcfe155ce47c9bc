"""What an operator sees of a server's calls: counters, log records, spans, metrics, and an event for each call.

Whoever watches is never felt by the call: a hook, a handler or an exporter that raises changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .account import event_of as event_of
from .counters import UNKNOWN as UNKNOWN
from .counters import Stats as Stats
from .counters import ToolStats as ToolStats
from .events import CallEvent
from .events import EventKeeper as EventKeeper
from .events import Events as Events
from .events import Hook as Hook
from .events import Try as Try
from .events import emit as emit
from .identity import CALL_KEY as CALL_KEY
from .identity import SESSION_HEADER as SESSION_HEADER
from .identity import SESSION_VARIABLE as SESSION_VARIABLE
from .identity import Names as Names
from .identity import inherited_session as inherited_session
from .identity import keyed_fingerprint as keyed_fingerprint
from .identity import keyed_hash as keyed_hash
from .identity import sent_id as sent_id
from .identity import session_in as session_in
from .identity import trace_of as trace_of
from .log import log_failure as log_failure
from .log import logged
from .log import new_id as new_id
from .otel import TRACE_NAMES as TRACE_NAMES
from .otel import count_failure as count_failure
from .otel import current_trace as current_trace
from .otel import is_tracing as is_tracing
from .otel import mark_failure as mark_failure
from .otel import mark_span as mark_span
from .otel import trace_call as trace_call

if TYPE_CHECKING:
    from .prometheus import Collector
    from .stores import BadStore as BadStore
    from .stores import Database as Database
    from .stores import Numbers as Numbers
    from .stores import Reading as Reading
    from .stores import Selection as Selection
    from .stores import Store as Store
    from .stores import address_of as address_of
    from .stores import resolve as resolve
    from .stores import store

# Only whoever keeps events needs a database.
_LATER: Final = frozenset("store Store BadStore Numbers Reading Selection Database address_of resolve".split())


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".stores", __name__), name)


def hook_of(events: Events) -> Hook:
    """The hook that events go to: the store at an address, or the hook that was given."""
    if not isinstance(events, str):
        return events
    found: Hook = __getattr__("store")(events)
    return found


def prometheus_collector(read: Callable[[], Mapping[str, ToolStats]]) -> Collector:
    """The counters for a registry of Prometheus; its package is imported when somebody has it."""
    from .prometheus import Collector

    return Collector(read)


__all__ = [
    # one call
    "CallEvent",
    # where events are kept
    "store",
    # where it is told
    "logged",
]
# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL = (
    *("UNKNOWN", "new_id", "mark_failure", "mark_span", "count_failure", "current_trace"),
    *("is_tracing", "trace_call", "TRACE_NAMES"),
    *("hook_of", "event_of", "Names", "CALL_KEY", "SESSION_HEADER", "SESSION_VARIABLE", "inherited_session"),
    *("session_in", "Stats", "ToolStats", "emit", "log_failure", "Reading", "Selection"),
    *("keyed_fingerprint", "keyed_hash", "sent_id", "trace_of", "resolve", "Database"),
    *("address_of", "prometheus_collector", "Try", "Hook", "Events", "EventKeeper", "Store", "BadStore", "Numbers"),
)
