"""For agent authors: read any failure, and recover from it.

error = failwell.client.read(result)
"""

from __future__ import annotations

from .reading import Http, read

__all__ = ["Http", "read"]
