"""Tool errors that agents can act on.

>>> import failwell as fw
>>> error = fw.NotFound("Project 'p_1' does not exist.", suggestion="Call projects.list first.")
>>> print(fw.render(error, "text"))
Project 'p_1' does not exist. Call projects.list first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import classify
from .classify import from_error, partial_failure, wrap
from .formats import FORMATS, losses, parse, render, to_jsonrpc, to_result
from .guard import Guard, guard
from .model.codes import Catalog, Code
from .model.error import Conflict, Denied, Internal, Invalid, NotFound, ToolError, Transient, error, required
from .model.kinds import Effect, Kind, Severity, Strategy
from .model.needs import NeedsInput
from .model.parts import Action, Conflicting, FieldError, Option, Patch, apply_patch
from .model.plain import UNSET

if TYPE_CHECKING:
    from .classify.answer import read
    from .model import catalogs
    from .model.decide import Decision, Next, Policy, decide
    from .model.declared import raises
    from .model.effects import effects
    from .model.result import Err, Ok, Result
    from .model.template import Template
    from .model.tool import Traits

# What most servers never name is imported when it is asked for.
_LATER = {
    **dict.fromkeys(("Decision", "Next", "Policy", "decide"), ".model.decide"),
    "Traits": ".model.tool",
    **dict.fromkeys(("Ok", "Err", "Result"), ".model.result"),
    "Template": ".model.template",
    "raises": ".model.declared",
    "effects": ".model.effects",
    "read": ".classify.answer",
    "catalogs": ".model.catalogs",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'failwell' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_LATER[name], __name__)
    value = globals()[name] = getattr(module, name, module)  # of the catalogues it is the module itself that is meant
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
    "Severity",
    "Strategy",
    "Effect",
    "Action",
    "FieldError",
    "Patch",
    "apply_patch",
    "Conflicting",
    "Option",
    "UNSET",
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
