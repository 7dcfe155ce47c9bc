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
        Action,
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
    from .redact import Guard, guard

# What is loaded when it is first asked for: to declare and raise an error takes the model alone, and a relay starts its
# server before it loads anything.
_ROOMS: Final = {
    **dict.fromkeys(
        """
        ToolError NotFound Conflict Invalid Denied Transient Internal NeedsInput error required Action
        Code Catalog catalogs raises effects Decision decide Policy Ok Err Result
        """.split(),
        "model",
    ),
    **dict.fromkeys(("losses", "parse", "render", "to_jsonrpc", "to_result"), "formats"),
    **dict.fromkeys(("Guard", "guard"), "redact"),
    **dict.fromkeys(("partial_failure", "read", "wrap"), "readers"),
}

# What takes another package is imported by whoever has that; where it is, a mistake says.
_SEATS: Final = {"install": "failwell.server", "tool_errors": "failwell.server", "Recovering": "failwell.client"}


# Not for type checkers: to them a name that is misspelt would be anything.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "classify":
            return import_module("failwell.classify")
        if name not in _ROOMS:
            place = _SEATS.get(name)
            hint = f": {name} is in {place}; import {place}" if place else ""
            raise AttributeError(f"module 'failwell' has no attribute {name!r}{hint}")
        value = globals()[name] = getattr(import_module(f"failwell.{_ROOMS[name]}"), name)
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
    "Action",
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
    "guard",
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
