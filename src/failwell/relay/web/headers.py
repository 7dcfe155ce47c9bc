"""The HTTP headers of the protocol: sessions and versions, and what the newer era repeats from the body."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from failwell.relay.request import ERA_KEY
from failwell.schema import Schema, properties_of

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAM: Final = "mcp-param-"
LAST_EVENT: Final = "last-event-id"
HANDSHAKES: Final = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""The versions that begin with a handshake; all others say everything with each request."""
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
# The parameter that the newer era repeats in a header.
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=")
_SAFE: Final = re.compile(r"[\x20-\x7e]*")
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,200}")
_DECIMAL: Final = re.compile(r"(-?\d{1,400})(?:\.0+)?")
_DEEPEST: Final = 12


def encode(value: str) -> str:
    """A value as a header can hold it."""
    if _SAFE.fullmatch(value) and value == value.strip() and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def decode(value: str | None) -> str | None:
    """The value that a header holds; None where it is broken."""
    found = _ENCODED.fullmatch(value) if value is not None else None
    if found is None:
        return value
    try:
        plain = base64.b64decode(found[1], validate=True)
        return plain.decode() if base64.b64encode(plain).decode() == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def era_in(params: Mapping[str, Any]) -> object:
    """The version that a request of the newer era names; None for one of the older era."""
    meta = params.get("_meta")
    return meta.get(ERA_KEY) if isinstance(meta, Mapping) else None


def header_arguments(schema: Schema) -> list[tuple[tuple[str, ...], str, str]]:
    """The arguments that a request repeats in a header: path, name of the header, type.

    Empty if the schema breaks the rules for them, since no client sends any then.

    >>> header_arguments({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
    [(('region',), 'Region', 'string')]
    """
    found: dict[str, tuple[tuple[str, ...], str, str]] = {}
    for path, node in _properties(schema, ()):
        token, kind = node.get("x-mcp-header"), node.get("type")
        if token is None:
            continue
        if not isinstance(token, str) or not _TOKEN.fullmatch(token) or token.lower() in found:
            return []
        if kind not in ("string", "integer", "boolean"):
            return []
        found[token.lower()] = path, token, str(kind)
    return list(found.values())


def _properties(node: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    for name, below in properties_of(node).items() if len(path) < _DEEPEST else ():
        if isinstance(below, Mapping):
            yield (*path, str(name)), below
            yield from _properties(below, (*path, str(name)))


def _value_at(arguments: object, path: tuple[str, ...]) -> tuple[Any, str | None]:
    """The value of an argument, and how a header says it; None for what none can."""
    value: Any = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return value, "true" if value else "false"
    try:
        return value, str(value) if isinstance(value, (str, int, float)) else None
    except ValueError:
        # A number with more digits than Python writes.
        return value, None


def modern_headers(method: str, params: Mapping[str, Any], schema: Mapping[str, Any] | None) -> dict[str, str]:
    """What a request of the newer era repeats in headers; `schema` is that of the tool it calls."""
    headers = {VERSION: str(era_in(params)), METHOD: encode(method)}
    name = params.get(_NAMED_BY.get(method, ""))
    if isinstance(name, str):
        headers[NAME] = encode(name)
    for path, token, _ in header_arguments(schema) if schema is not None else ():
        if (text := _value_at(params.get("arguments"), path)[1]) is not None:
            headers[PARAM + token.lower()] = encode(text)
    return headers


def mismatch(method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """Where headers and body of a request of the newer era contradict each other; None if nowhere."""
    if headers.get(VERSION) != era_in(params):
        return f"{VERSION} header does not match the request envelope's protocol version"
    if headers.get(METHOD) != method:
        return f"{METHOD} header does not match the request body's method"
    named = _NAMED_BY.get(method, "")
    if params.get(named) is not None and decode(headers.get(NAME)) != params[named]:
        return f"{NAME} header does not match the request body's {named!r} parameter"
    return None


def param_mismatch(params: Mapping[str, Any], schema: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """The same for the arguments of a call that are repeated in headers."""
    for path, token, kind in header_arguments(schema):
        header, (value, text) = headers.get(PARAM + token.lower()), _value_at(params.get("arguments"), path)
        sent = decode(header)
        if header is None and text is None:
            continue
        is_number = kind == "integer" and sent is not None and not isinstance(value, (bool, str))
        number = _DECIMAL.fullmatch(sent) if is_number and sent is not None else None
        if text is None or sent is None or (sent != text if number is None else int(number[1]) != value):
            return f"{PARAM}{token.lower()} header does not match the argument {'.'.join(path)!r}"
    return None
