"""How errors travel: one file per wire format, each a row; results, and the reader that tells them apart."""

from __future__ import annotations

from . import canonical, envelope, jsonrpc, keys, v1
from .canonical import load
from .crosswalk import default_code, number_of
from .detection import META_KEY, is_prose, parse, words_in
from .doubt import next_step
from .envelope import MODES, build_meta, success
from .jsonrpc import MODERN_ERA, is_structured
from .next_call import mends_all
from .results import (
    CLIENTS,
    GATES,
    UNKNOWN,
    Client,
    as_result,
    find_client,
    in_words,
    losses,
    render,
    to_jsonrpc,
    to_result,
    to_wire,
    unplaced_details,
)
from .table import FORMATS, SCHEMAS, schema
from .text import next_action, reasons, usual_action, wait_step
from .wire import OBJECT, Format, Outcome, is_number, pretty, read_json, stated, whole

__all__ = [
    "CLIENTS", "Client", "FORMATS", "Format", "GATES", "META_KEY", "MODERN_ERA", "MODES", "OBJECT", "Outcome",
    "SCHEMAS", "UNKNOWN", "as_result", "build_meta", "canonical", "default_code", "envelope", "find_client", "in_words",
    "is_number", "is_prose", "is_structured", "jsonrpc", "keys", "load", "losses", "mends_all", "next_action",
    "next_step", "number_of", "parse", "pretty", "read_json", "reasons", "render", "schema", "stated", "success",
    "to_jsonrpc", "to_result", "to_wire", "unplaced_details", "usual_action", "v1", "wait_step", "whole", "words_in",
]  # fmt: skip
