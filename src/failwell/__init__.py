"""Tool errors that agents can act on.

>>> import failwell as fw
>>> error = fw.NotFound("Project 'p_1' does not exist.", suggestion="Call projects.list first.")
>>> print(fw.render(error, "text"))
Project 'p_1' does not exist. Call projects.list first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .model import (
    Action,
    Catalog,
    Code,
    Conflict,
    Decision,
    Denied,
    Effect,
    Err,
    FieldError,
    Internal,
    Invalid,
    Kind,
    NeedsInput,
    Next,
    NotFound,
    Ok,
    Policy,
    Result,
    Template,
    ToolError,
    Traits,
    Transient,
    catalogs,
    decide,
    effects,
    error,
    raises,
    required,
)

if TYPE_CHECKING:
    from . import classify
    from .formats import FORMATS, losses, parse, render, to_jsonrpc, to_result
    from .guards import Guard, guard
    from .readers import from_error, partial_failure, read, wrap

# What is loaded when it is first asked for: to declare and raise an error takes the model alone.
_ROOMS: Final = {
    **dict.fromkeys(("FORMATS", "losses", "parse", "render", "to_jsonrpc", "to_result"), "formats"),
    **dict.fromkeys(("Guard", "guard"), "guards"),
    **dict.fromkeys(("from_error", "partial_failure", "read", "wrap"), "readers"),
}

# What takes another package is imported by whoever has that; where it is, a mistake says.
_SEATS: Final = {"install": "failwell.server", "tool_errors": "failwell.server", "Recovering": "failwell.client"}


# What was public once, and what to write instead.
_OLD: Final = {
    "Severity": 'its texts, such as severity="warning"',
    "Strategy": 'its texts, such as strategy="user_action_required"',
    "Patch": "a dict with op, path, value and to",
    "Conflicting": "a dict with agent_id, pattern and held_by",
    "Option": "a dict with label, value, description and field",
    "apply_patch": "failwell.client.patched",
    "UNSET": None,
}


def __getattr__(name: str) -> Any:
    if name in _OLD:
        from .old_names import old_name

        return old_name("failwell", name, f"failwell.model.{name}", _OLD[name])
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
    # what it is made of
    "Kind",
    "Effect",
    "Action",
    "FieldError",
    # codes
    "Code",
    "Catalog",
    "catalogs",
    "Template",
    "raises",
    "effects",
    # over the wire
    "FORMATS",
    "render",
    "parse",
    "read",
    "losses",
    "to_result",
    "to_jsonrpc",
    # from other people's failures
    "classify",
    "wrap",
    "from_error",
    "partial_failure",
    # what may leave
    "guard",
    "Guard",
    # what to do about it
    "decide",
    "Decision",
    "Next",
    "Policy",
    "Traits",
    # pipelines
    "Ok",
    "Err",
    "Result",
    "__version__",
]
