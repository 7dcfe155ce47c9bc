"""Prompts and resources that do not exist, and arguments that a prompt was not given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from failwell.model import FieldError, ToolError
from failwell.schema import nearest


def no_such(kind: str, name: str, names: Iterable[str]) -> ToolError:
    """The error for something the server does not have, with the nearest that it has.

    >>> no_such("prompt", "sumarize", ["summarize"]).suggestion
    "Did you mean 'summarize'?"
    """
    asked = name[:200]
    meant = nearest(asked, list(names))
    return ToolError(
        f"There is no {kind} {asked!r}.", code="NOT_FOUND", suggestion=f"Did you mean {meant!r}?" if meant else None
    )


def missing_arguments(prompt: Any, arguments: Mapping[str, Any] | None) -> ToolError | None:
    """The error for a prompt that was not given all it needs."""
    given = arguments or {}
    missing = [each.name for each in prompt.arguments or () if each.required and each.name not in given]
    if not missing:
        return None
    return ToolError(
        f"Arguments of the prompt {prompt.name!r} are missing: {', '.join(missing)}.",
        code="VALIDATION_ERROR",
        fields=[
            FieldError((name,), "Required", rule="required", expected="Expected type: string.") for name in missing
        ],
    )
