"""What several machines share: which keyed calls have begun and how they were answered, and which calls are in doubt.

In Redis or Valkey, or in PostgreSQL. Servers with `install(idempotency=…)` and relays with `--state` use the same.
"""

from __future__ import annotations

from .claims import Claimed as Claimed
from .claims import SharedClaims as SharedClaims
from .claims import StoreUnusable as StoreUnusable
from .stores import claims_at as claims_at

__all__: list[str] = []
# For the server's and the relay's own stores of keys; users see those.
_INTERNAL = ("Claimed", "SharedClaims", "StoreUnusable", "claims_at")
