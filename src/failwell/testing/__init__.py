"""For everyone's tests: servers that fail as a script says, a clock that does not wait, assertions, and the conformance
vectors with the command that runs them.

    async with scripted(Script(Tool("pay", effect=True, faults=[Fault.crash(at="after")]))) as server:
        ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assertions import assert_effects, assert_error
    from .fake_clock import FakeClock
    from .host import ScriptedServer as ScriptedServer
    from .host import scripted
    from .ledger import Call as Call
    from .ledger import RecordedEffect as RecordedEffect
    from .script import Fault, Script, Tool

# The conformance runner and the pytest plugin import this package too, and need none of it.
_LATER = {
    **dict.fromkeys(("Fault", "Script", "Tool"), ".script"),
    **dict.fromkeys(("Call", "RecordedEffect"), ".ledger"),
    **dict.fromkeys(("ScriptedServer", "scripted"), ".host"),
    **dict.fromkeys(("assert_effects", "assert_error"), ".assertions"),
    "FakeClock": ".fake_clock",
}

# Exported to the other packages of Failwell only; not part of the public API.
_INTERNAL = {"conformance": ".conformance"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'failwell.testing' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "scripted",
    "Script",
    "Tool",
    "Fault",
    "FakeClock",
    "assert_error",
    "assert_effects",
]
