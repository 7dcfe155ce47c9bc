"""The table of the formats: one line each. Everything else about a format stands in its own file."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from . import canonical, envelope, jsonrpc, problem, text, typed, v1, xml
from .wire import Format

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        module.FORMAT.name: module.FORMAT
        for module in (
            typed,
            v1,
            xml,
            envelope,
            jsonrpc,
            problem,
            text,
            canonical,
        )
    }
)
