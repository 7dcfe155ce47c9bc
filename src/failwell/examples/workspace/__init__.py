"""Projects, invoices and users, as three grouped tools that tell an agent how to heal a call (contract 002).

Failures leave as XML: simple ones, missing fields, errors with the calls that help, codes of the domain, a deprecated
action that warns, and a pipeline that stops at its first failure. WORKSPACE_DB names the SQLite file, or it is memory.
"""

from .server import build

__all__ = ["build"]
