"""What an HTTP request says beside its body, in both eras of the protocol."""

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
NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_SENTINEL: Final = re.compile(r"=\?base64\?(.*)\?=")
_SAFE: Final = re.compile(r"[\x20-\x7e]*")


def encoded(value: str) -> str:
    """A value as a header can hold it."""
    if _SAFE.fullmatch(value) and value == value.strip() and not _SENTINEL.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def decoded(value: str | None) -> str | None:
    """The value that a header holds; None where it is broken."""
    found = _SENTINEL.fullmatch(value) if value is not None else None
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


_REPEATED: Final = "x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,200}")
_REPEATED_TYPES: Final = frozenset({"string", "integer", "boolean"})
_DEEPEST: Final = 12


def header_arguments(schema: Schema) -> list[tuple[tuple[str, ...], str, str]]:
    """The arguments that a request over HTTP repeats in a header: path, name of the header, type.

    None if the schema breaks the rules for them, since no client sends any then.

    >>> header_arguments({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
    [(('region',), 'Region', 'string')]
    """
    found = []
    names: set[str] = set()
    for path, node in _described(schema, ()):
        token, kind = node.get(_REPEATED), node.get("type")
        if token is None:
            continue
        if not isinstance(token, str) or not _TOKEN.fullmatch(token) or kind not in _REPEATED_TYPES:
            return []
        if token.lower() in names:
            return []
        names.add(token.lower())
        found.append((path, token, str(kind)))
    return found


def _described(node: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    for name, below in properties_of(node).items() if len(path) < _DEEPEST else ():
        if isinstance(below, Mapping):
            yield (*path, str(name)), below
            yield from _described(below, (*path, str(name)))


def modern_headers(method: str, params: Mapping[str, Any], schema: Mapping[str, Any] | None) -> dict[str, str]:
    """What a request of the newer era repeats in headers; `schema` is that of the tool it calls."""
    headers = {VERSION: str(era_in(params)), METHOD: encoded(method)}
    name = params.get(NAMED_BY.get(method, ""))
    if isinstance(name, str):
        headers[NAME] = encoded(name)
    arguments = params.get("arguments")
    if schema is not None and isinstance(arguments, Mapping):
        for path, token, _ in header_arguments(schema):
            value = at(arguments, path)
            if (told := written(value)) is not None:
                headers[PARAM + token.lower()] = encoded(told)
    return headers


def at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The value of an argument; None where there is none."""
    value: Any = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def written(value: Any) -> str | None:
    """A value as a header tells it; None for what none can."""
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return str(value) if isinstance(value, (str, int, float)) else None
    except ValueError:
        return None


_DECIMAL: Final = re.compile(r"(-?\d+)(?:\.0+)?")


def mismatch(method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """Where headers and body of a request of the newer era contradict each other; None if nowhere."""
    if headers.get(VERSION) != era_in(params):
        return f"{VERSION} header does not match the request envelope's protocol version"
    if headers.get(METHOD) != method:
        return f"{METHOD} header does not match the request body's method"
    named = NAMED_BY.get(method)
    value = params.get(named) if named is not None else None
    if value is not None and decoded(headers.get(NAME)) != value:
        return f"{NAME} header does not match the request body's {named!r} parameter"
    return None


def param_mismatch(params: Mapping[str, Any], schema: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """The same for the arguments of a call that are repeated in headers."""
    arguments = params.get("arguments")
    arguments = arguments if isinstance(arguments, Mapping) else {}
    for path, token, kind in header_arguments(schema):
        name, value = PARAM + token.lower(), at(arguments, path)
        given, told = headers.get(name), written(value)
        if given is None and told is None:
            continue
        is_same = given is not None and told is not None and _same(kind, value, told, decoded(given))
        if not is_same:
            return f"{name} header does not match the argument {'.'.join(path)!r}"
    return None


def _same(kind: str, value: Any, told: str, given: str | None) -> bool:
    if given is None:
        return False
    found = _DECIMAL.fullmatch(given) if kind == "integer" and not isinstance(value, (bool, str)) else None
    return given == told if found is None else int(found[1]) == value
