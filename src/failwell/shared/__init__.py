"""What several machines share: which keyed calls have begun and how they were answered, which tools do not work, and
what a session was worth so far.

In Redis or Valkey, or in PostgreSQL. Servers with `install(idempotency=…)` and relays with `--state` use the same.
"""

from __future__ import annotations

from .breakers import SharedBreakers as SharedBreakers
from .claims import Claimed as Claimed
from .claims import SharedClaims as SharedClaims
from .claims import StoreUnusable as StoreUnusable
from .sessions import SharedSessions as SharedSessions
from .stores import breakers_at as breakers_at
from .stores import claims_at as claims_at
from .stores import sessions_at as sessions_at

__all__: list[str] = []
# For the server's and the relay's own stores of keys; users see those.
_HOUSE = (
    "Claimed",
    "SharedClaims",
    "SharedBreakers",
    "SharedSessions",
    "StoreUnusable",
    "claims_at",
    "breakers_at",
    "sessions_at",
)
