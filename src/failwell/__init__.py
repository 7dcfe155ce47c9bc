"""Tool errors that agents can act on.

>>> import failwell as fw
>>> error = fw.NotFound("Project 'p_1' does not exist.", suggestion="Call projects.list first.")
>>> print(fw.render(error, "text"))
Project 'p_1' does not exist. Call projects.list first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from . import classify
    from .formats import losses, parse, render, to_jsonrpc, to_result
    from .model import (
        Catalog,
        Code,
        Conflict,
        Decision,
        Denied,
        Err,
        Internal,
        Invalid,
        NeedsInput,
        NotFound,
        Ok,
        Policy,
        Result,
        ToolError,
        Transient,
        catalogs,
        decide,
        effects,
        error,
        raises,
        required,
    )
    from .readers import partial_failure, read, wrap
    from .redact import Guard

# A package is imported when one of its names is first asked for: to raise an error takes the model alone, and a relay
# starts its server before it loads anything.
_PACKAGES: Final = {
    "model": """ToolError NotFound Conflict Invalid Denied Transient Internal NeedsInput error required
        Code Catalog catalogs raises effects Decision decide Policy Ok Err Result""",
    "formats": "losses parse render to_jsonrpc to_result",
    "redact": "Guard",
    "readers": "partial_failure read wrap",
}
_PACKAGE_OF: Final = {name: package for package, names in _PACKAGES.items() for name in names.split()}
# These need an extra, so they are imported by their package's name; whoever forgets is told.
_ELSEWHERE: Final = {"install": "failwell.server", "tool_errors": "failwell.server", "Recovering": "failwell.client"}


# Not for type checkers: to them a name that is misspelt would be anything.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "classify":
            return import_module("failwell.classify")
        if name not in _PACKAGE_OF:
            place = _ELSEWHERE.get(name)
            hint = f": {name} is in {place}; import {place}" if place else ""
            raise AttributeError(f"module 'failwell' has no attribute {name!r}{hint}")
        value = globals()[name] = getattr(import_module(f"failwell.{_PACKAGE_OF[name]}"), name)
        return value


def __dir__() -> list[str]:
    return __all__


__version__ = "0.1.0"

__all__ = [
    # an error, and its six kinds
    "ToolError",
    "NotFound",
    "Conflict",
    "Invalid",
    "Denied",
    "Transient",
    "Internal",
    "NeedsInput",
    "error",
    "required",
    # codes
    "Code",
    "Catalog",
    "catalogs",
    "raises",
    "effects",
    # over the wire
    "render",
    "parse",
    "read",
    "losses",
    "to_result",
    "to_jsonrpc",
    # from other people's failures
    "classify",
    "wrap",
    "partial_failure",
    # what may leave
    "Guard",
    # what to do about it
    "decide",
    "Decision",
    "Policy",
    # pipelines
    "Ok",
    "Err",
    "Result",
    "__version__",
]
