"""The engine that recovers, without input and output: what may be called, what to do next, what to tell in the end.

A client, a bridge to an agent framework or a relay drives it; none of them decides by itself. It knows no network, no
event loop and no clock of its own.
"""

from __future__ import annotations

from .attempts import NEVER_SENT, has_escaped, is_in_words
from .engine import Ending, Engine, Run, Verdict, Watch
from .hold import SECONDS, Held, Hold, leaves_in_doubt
from .idempotency_key import IDEMPOTENCY_FIRST, IDEMPOTENCY_KEY, IDEMPOTENCY_STORE, KeyForgotten, store_of
from .report import Attempt, Report, shorten_report
from .retry_limits import LOST, Limits
from .tools import Tools, explain_failure, find_misspelling, schema_of

__all__ = [
    # The engine, and what it is given and gives.
    "Engine",
    "Run",
    "Tools",
    "Verdict",
    "Ending",
    "Limits",
    "Watch",
    # Writes that are in doubt.
    "Hold",
    "Held",
    "SECONDS",
    "leaves_in_doubt",
    # What was tried for one call.
    "Report",
    "Attempt",
    "shorten_report",
    # The keys by which a server knows a call.
    "IDEMPOTENCY_KEY",
    "IDEMPOTENCY_STORE",
    "IDEMPOTENCY_FIRST",
    "KeyForgotten",
    "store_of",
    # What errors and words say.
    "LOST",
    "NEVER_SENT",
    "has_escaped",
    "is_in_words",
    # What a server's own list says about a call.
    "explain_failure",
    "find_misspelling",
    "schema_of",
]
