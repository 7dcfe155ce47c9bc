"""Posts, threads and approvals under a policy: contract 003, where successes and failures leave in one envelope.

SOCIAL_PROFILE=api has the plain tools; `workflow` has a policy and approvals, and says its mode in every answer.
Behind it: SQLite, and an HTTP service on loopback that fails the way a social network's API does.
"""

from .server import build, profiles

__all__ = ["build", "profiles"]
