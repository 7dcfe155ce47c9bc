"""JSON Schema, read in one place: references, the walk, validation, what is wrong with arguments and what mends it.

Other rooms import what is listed here, and nothing from inside. No validator is imported before one is used.
"""

from __future__ import annotations

from .argument_names import has_names, strange_names, unknown_names, without_unheeded
from .by_schema import BySchema
from .certainty import fits
from .check import Checker, Checkers, broken_rules
from .fixes import as_option
from .jsonschema_errors import jsonschema_problems
from .leniency import is_hopeless, may_take, respelt
from .locations import anchored, decoded, errors_of, loc_of
from .mirrored import header_arguments
from .nodes import branches_of, known_names, open_ended, properties_of, step_into
from .problems import (
    LONGEST_NAME,
    MOST_NAMES,
    MOST_READ,
    NO_PROBLEMS,
    BrokenRule,
    CheckedCall,
    Problems,
    Secrecy,
    cut,
    invalid,
    step_of,
    told,
)
from .pydantic_errors import pydantic_problems
from .refs import Schema, renamed, resolve
from .restraints import restraint
from .rule_table import PYDANTIC, Of
from .spelling import is_certain, nearest, normal, one_edit, ranked
from .walk import ANY, places

__all__ = [
    "ANY",
    "LONGEST_NAME",
    "MOST_NAMES",
    "MOST_READ",
    "NO_PROBLEMS",
    "PYDANTIC",
    "BrokenRule",
    "CheckedCall",
    "Checker",
    "Checkers",
    "BySchema",
    "Of",
    "Problems",
    "Schema",
    "Secrecy",
    "anchored",
    "as_option",
    "branches_of",
    "broken_rules",
    "cut",
    "decoded",
    "errors_of",
    "fits",
    "has_names",
    "header_arguments",
    "invalid",
    "is_certain",
    "is_hopeless",
    "jsonschema_problems",
    "known_names",
    "loc_of",
    "may_take",
    "nearest",
    "normal",
    "one_edit",
    "open_ended",
    "restraint",
    "places",
    "properties_of",
    "pydantic_problems",
    "ranked",
    "renamed",
    "resolve",
    "respelt",
    "step_into",
    "step_of",
    "told",
    "strange_names",
    "unknown_names",
    "without_unheeded",
]
