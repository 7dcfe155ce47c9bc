"""The engine that recovers, without input and output: what may be called, what to do next, what to tell in the end.

A client, a bridge to an agent framework or a relay drives it; none of them decides by itself. It knows no network, no
event loop and no clock of its own.
"""

from __future__ import annotations

from .advice import advised
from .attempts import has_escaped
from .breaker import Breakers
from .call_key import IDEMPOTENCY_FIRST, IDEMPOTENCY_KEY, IDEMPOTENCY_STORE, KeyForgotten, store_of
from .call_report import Attempt, Report, remembered
from .clock import Watch
from .elsewhere import Elsewhere
from .engine import Ending, Engine, Run, Verdict
from .explanation import EXPLAINED, explained, misspelt
from .missing_things import names_missing
from .patience import LOST
from .refusals import NEVER_SENT, says_doubt
from .tools import Tools, schema_of
from .validators import places_of, values_in

__all__ = [
    "EXPLAINED",
    # The engine, and what it is given and gives.
    "Engine",
    "Breakers",
    "Elsewhere",
    "Run",
    "Tools",
    "Verdict",
    "Ending",
    "Watch",
    # What was tried for one call.
    "Report",
    "Attempt",
    "remembered",
    # The keys by which a server knows a call.
    "IDEMPOTENCY_KEY",
    "IDEMPOTENCY_STORE",
    "IDEMPOTENCY_FIRST",
    "KeyForgotten",
    "store_of",
    # What errors and words say.
    "LOST",
    "NEVER_SENT",
    "advised",
    "has_escaped",
    "names_missing",
    "places_of",
    "says_doubt",
    "values_in",
    # What a server's own list says about a call.
    "explained",
    "misspelt",
    "schema_of",
]
