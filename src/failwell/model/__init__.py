"""The error, its kinds, codes and catalogues, what is known of a tool, and the decision: the standard library only."""

from __future__ import annotations

from . import catalogs
from .catalogs import CATALOGS, COMMON_CODES, JsonRpc
from .codes import IN_DOUBT, Catalog, Code, Effect, Kind, Severity, Strategy, find, snake, upper_snake
from .decision import NO_RETRY_RULES, Decision, Next, Policy, RetryRules, decide, register_retry_rules, retry_rules_of
from .declarations import Declared, declared, raises
from .effect import (
    HELD,
    Source,
    effect_of_attempts,
    effect_of_escape,
    effect_of_raise,
    effect_seen,
    is_refusal_status,
    withhold_retry,
)
from .fields import NOTHING_RAN, Delivery, Fields, Standing
from .json_values import (
    MAX_ITEMS,
    UNSET,
    Json,
    Unset,
    budget_left,
    compact,
    each,
    instant,
    label,
    lines,
    plain,
    plain_map,
    positive,
    rfc3339,
    seconds,
    shown,
    text,
)
from .marks import Marks, effects, frames, is_frameworks_module, marked_effect, marking, marks, marks_effects
from .needs import NeedsInput
from .parts import Action, Conflicting, FieldError, Option, Patch, Path, apply_patch, place_of
from .regex import pattern
from .result import Err, Ok, Result, data_type, unwrapped
from .tool import ADVICE, Nature, SentArguments, Traits, Unmarked, fingerprint, is_same_tool
from .tool_error import (
    CANONICAL_VERSION,
    DEFAULT_CODES,
    PROVENANCE,
    UNWRITTEN,
    Conflict,
    Denied,
    Internal,
    Invalid,
    NotFound,
    ToolError,
    Transient,
    error,
    required,
)
from .toolname import HANDS_OUT, LONGEST, NOUNS, READS, WRITES, nature_of_name, singular, words_of

# fmt: off
__all__ = [
    "ADVICE", "Action", "CANONICAL_VERSION", "CATALOGS", "COMMON_CODES", "Catalog", "Code", "Conflict", "Conflicting",
    "DEFAULT_CODES", "Decision", "Declared", "Delivery", "Denied", "Effect", "Err", "FieldError", "Fields",
    "HANDS_OUT", "HELD", "IN_DOUBT", "Internal", "Invalid", "Json", "JsonRpc", "Kind", "LONGEST", "MAX_ITEMS",
    "Marks", "NOTHING_RAN", "NOUNS", "NO_RETRY_RULES", "Nature", "NeedsInput", "Next", "NotFound", "Ok", "Option",
    "PROVENANCE", "Patch", "Path", "Policy", "READS", "Result", "RetryRules", "SentArguments", "Severity", "Source",
    "Standing", "Strategy", "ToolError", "Traits", "Transient", "UNSET", "UNWRITTEN", "Unmarked", "Unset", "WRITES",
    "apply_patch", "budget_left", "catalogs", "compact", "data_type", "decide", "declared", "each",
    "effect_of_attempts", "effect_of_escape", "effect_of_raise", "effect_seen", "effects", "error", "find",
    "fingerprint", "frames", "instant", "is_frameworks_module", "is_refusal_status", "is_same_tool", "label",
    "lines", "marked_effect", "marking", "marks", "marks_effects", "nature_of_name", "pattern", "place_of", "plain",
    "plain_map", "positive", "raises", "register_retry_rules", "required", "retry_rules_of", "rfc3339", "seconds",
    "shown", "singular", "snake", "text", "unwrapped", "upper_snake", "withhold_retry", "words_of",
]
