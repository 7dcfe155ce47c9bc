"""What several attempts at one call have in common: the waits between them, and what they may have done together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from failwell.model.decide import Policy, Traits
from failwell.model.error import ToolError
from failwell.model.kinds import Effect, Kind

_NO_REFUSAL: Final = frozenset({Kind.TRANSIENT, Kind.INTERNAL})
_WORST_FIRST: Final = (Effect.DONE, Effect.PARTIAL, Effect.UNKNOWN)


def spread(delay: float, error: ToolError, chance: float) -> float:
    """How long to wait: not earlier than the server says, and not every agent at the same moment; where it says
    nothing, anywhere up to then. `chance` is a number from 0 to 1."""
    named = error.retry_after is not None or error.reset_at is not None
    return delay * (1 + chance / 10 if named else chance)


def effect_of(error: ToolError) -> Effect:
    """What a failure says of its call. Where nobody said that nothing was done, it is not known: a sentence may come
    from anywhere inside the tool, after half of its work, unless it is a refusal by its meaning."""
    if error.effect is None or (error.legacy and error.kind in _NO_REFUSAL and "effect" not in error._given):
        return Effect.UNKNOWN
    return error.effect


def in_all(error: ToolError, tool: Traits, policy: Policy, earlier: Sequence[ToolError] = ()) -> ToolError:
    """The last failure, with what all attempts together may have done."""
    if tool.read_only is True and policy.trust_annotations:
        return error if error.effect in (None, Effect.NONE) else error.replace(effect=Effect.NONE, verify=None)
    effects = {effect_of(failure) for failure in (*earlier, error)}
    effect = next((worst for worst in _WORST_FIRST if worst in effects), Effect.NONE)
    return error if effect is error.effect else error.replace(effect=effect)
