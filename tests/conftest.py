"""What every test shares: how hard the laws are tried."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "failwell",
    max_examples=int(os.environ.get("FAILWELL_EXAMPLES", "40")),
    deadline=None,
    derandomize="FAILWELL_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("failwell")
