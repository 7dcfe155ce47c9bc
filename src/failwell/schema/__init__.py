"""JSON Schema, read in one place: references, the walk, validation, what is wrong with arguments and what mends it.

Other packages import what is listed here, and nothing from inside. jsonschema-rs is imported when the first value is
held against a schema.
"""

from __future__ import annotations

from .checked_call import LONGEST_NAME, MOST_READ, BrokenRule, CheckedCall, cut, step_of
from .coercion import restraint
from .mend import as_option
from .nodes import (
    ANY,
    REFERENCES,
    Schema,
    branches_of,
    has_names,
    known_names,
    open_ended,
    places,
    properties_of,
    resolve,
    step_into,
    unknown_names,
    value_at,
)
from .problems import MOST_NAMES, NO_PROBLEMS, Problems, check, check_names, explain, invalid
from .pydantic_errors import anchored, decoded, errors_of, loc_of, pydantic_problems
from .spelling import is_certain, nearest, normal, one_edit, ranked
from .validator import BySchema, Checker, Checkers, fits

# fmt: off
__all__ = [
    "ANY", "BrokenRule", "BySchema", "CheckedCall", "Checker", "Checkers", "LONGEST_NAME", "MOST_NAMES",
    "MOST_READ", "NO_PROBLEMS", "Problems", "REFERENCES", "Schema", "anchored", "as_option", "branches_of", "check",
    "check_names", "cut", "decoded", "errors_of", "explain", "fits", "has_names", "invalid", "is_certain",
    "known_names", "loc_of", "nearest", "normal", "one_edit", "open_ended", "places", "properties_of",
    "pydantic_problems", "ranked", "resolve", "restraint", "step_into", "step_of", "unknown_names", "value_at",
]
# fmt: on
