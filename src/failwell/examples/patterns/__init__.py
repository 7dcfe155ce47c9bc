"""A pattern library behind an HTTP service, for people and programs: contract 001, `toolError:v1` and `needsInput:v1`.

Shows: one `format` argument for successes, failures and questions; a table of one's own that reads what the service
answers, so that no tool handles an error; questions instead of failures where only the user knows.
"""

from __future__ import annotations

from .server import build

__all__ = ["build"]
