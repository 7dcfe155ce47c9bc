"""Agents reserve files for a while, so that no two of them change the same ones (contract 000).

Who finds a file held is told by whom, and can ask for it; the holder lets go or says why not. State is a SQLite file
named by RESERVATIONS_DB, or a temporary one; RESERVATIONS_CLOCK names a file to read the time from.
"""

from .server import build

__all__ = ["build"]
