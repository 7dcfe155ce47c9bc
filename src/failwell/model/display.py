"""Words of contract 002 that errors are made with and that formats write."""

from __future__ import annotations

import json
from typing import Final

from .json_values import Json

FIX_FIELDS: Final = "Fix the fields above and call the tool again. Do not explain the error."

compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def shown(value: Json, *, cut: bool = True) -> str:
    """A value as the contract shows it to a model, cut to 50 characters."""
    if isinstance(value, str):
        if cut and len(value) > 50:
            value = value[:47] + "..."
        quote = '"' if "'" in value and '"' not in value else "'"
        return f"{quote}{value}{quote}"
    if isinstance(value, list):
        return f"array({len(value)})"
    written = compact(value)
    return written[:47] + "..." if cut and len(written) > 50 else written
