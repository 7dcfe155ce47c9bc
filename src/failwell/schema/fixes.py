"""The change that certainly puts an argument right; nothing where there are two ways to read it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from failwell.model import UNSET, Json, Unset, text

from .certainty import fits, same
from .nodes import options_of, types_of
from .refs import Schema
from .spelling import LONGEST, is_certain, nearest

# A call that is fixed is a small one: larger texts are data, not arguments that were written down wrongly.
_LONGEST_JSON: Final = 20_000
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")


def as_type(value: object, node: Schema, root: Schema) -> Json | Unset:
    """`value` as the type the schema wants, where it says the same in another type."""
    found: list[Json] = []
    for kind in types_of(node):
        for other in _READINGS[kind](value, node, root) if kind in _READINGS else ():
            if fits(other, node, root) and not any(same(other, each) for each in found):
                found.append(other)
    return found[0] if len(found) == 1 else UNSET


def _whole(value: object, node: Schema, root: Schema) -> Iterator[Json]:
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()[:30]):
        yield int(value)


def _number(value: object, node: Schema, root: Schema) -> Iterator[Json]:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()[:60]):
        yield int(value) if _WHOLE.fullmatch(value.strip()) else float(value)


def _string(value: object, node: Schema, root: Schema) -> Iterator[Json]:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        yield str(value)
    elif isinstance(value, float) and math.isfinite(value):
        yield json.dumps(value)


def _boolean(value: object, node: Schema, root: Schema) -> Iterator[Json]:
    if isinstance(value, str) and len(value) < 20 and value.strip().casefold() in ("true", "false"):
        yield value.strip().casefold() == "true"


def _array(value: object, node: Schema, root: Schema) -> Iterator[Json]:
    decoded = _decoded(value)
    if isinstance(decoded, list):
        yield decoded
        return
    # A text with separators in it may be several items, and one with a bracket a list that was written down wrongly.
    several = isinstance(value, str) and (len(value) > LONGEST or re.search(r"[,;|\n\t]|^\s*[\[{]", value))
    if isinstance(value, (str, int, float)) and not several:
        yield [value]


def _object(value: object, node: Schema, root: Schema) -> Iterator[Json]:
    decoded = _decoded(value)
    if isinstance(decoded, dict):
        yield decoded


def _decoded(value: object) -> Json | Unset:
    if not isinstance(value, str) or len(value) > _LONGEST_JSON or value.lstrip()[:1] not in ("{", "["):
        return UNSET
    try:
        return json.loads(value, parse_constant=_refuse, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        return UNSET


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _without_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # Which of the two was meant, nobody knows.
        raise ValueError
    return found


_READINGS: Final[dict[str, Callable[[object, Schema, Schema], Iterator[Json]]]] = {
    "integer": _whole,
    "number": _number,
    "string": _string,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
}


def as_option(value: object, options: Sequence[Json]) -> Json | Unset:
    """The option that was certainly meant: the same in another spelling, or in another type."""
    if isinstance(value, str):
        words = [option for option in options if isinstance(option, str)]
        meant = nearest(value, words)
        if meant is not None and is_certain(value, meant, words):
            return meant
    written = _written(value)
    found = [option for option in options if _written(option) == written]
    return found[0] if written is not None and len(found) == 1 else UNSET


def _written(value: object) -> str | None:
    if isinstance(value, str):
        return value.strip().casefold() if len(value) <= LONGEST else None
    if isinstance(value, (bool, int, float)) and not (isinstance(value, int) and value.bit_length() > 64):
        return json.dumps(value)
    return None


def near_option(value: object, options: Sequence[Json]) -> str | None:
    """The option that was probably meant."""
    return (
        nearest(value, [text(option) for option in options if isinstance(option, str)])
        if isinstance(value, str)
        else None
    )


def given(node: Schema, root: Schema) -> Json | Unset:
    """What an argument that was left out can only be: the one value there is, or the default.

    A flag that must be true is a confirmation, and confirming is up to the caller.
    """
    options = options_of(node)
    if len(options) == 1:
        return UNSET if isinstance(options[0], bool) else options[0]
    if "default" in node and fits(node["default"], node, root):
        found: Json = node["default"]
        return found
    return UNSET
