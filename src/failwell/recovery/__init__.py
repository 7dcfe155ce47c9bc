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

# fmt: off
__all__ = [
    "Attempt", "Ending", "Engine", "Held", "Hold", "IDEMPOTENCY_FIRST", "IDEMPOTENCY_KEY", "IDEMPOTENCY_STORE",
    "KeyForgotten", "LOST", "Limits", "NEVER_SENT", "Report", "Run", "SECONDS", "Tools", "Verdict", "Watch",
    "explain_failure", "find_misspelling", "has_escaped", "is_in_words", "leaves_in_doubt", "schema_of",
    "shorten_report", "store_of",
]
