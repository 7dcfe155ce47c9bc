"""What languages say when a program is wrong. Nothing the caller sent was refused: the tool broke, and is to be mended.

Such a text speaks of types, values, ranges and arguments like a refusal does, so it is looked for before those.
"""

from __future__ import annotations

from re import IGNORECASE
from typing import Final

from failwell.model import pattern

from .clues import STATED, Finding

_NOTHING: Final = r"(?:undefined|null|none|nil)"
# Values in quotes are taken out before; `¤` stands for one.
_PYTHON: Final = (
    r"object has no attribute|has no attribute ¤|nonetype|unsupported operand|can only concatenate|unhashable type",
    r"object (?:is not (?:subscriptable|callable|iterable|reversible|an iterator)|does not support item"
    r"|cannot be (?:interpreted|converted))|not subscriptable",
    r"(?:list|tuple|string|range|deque|assignment) index out of range",
    r"pop from (?:an )?empty|indices must be|argument must be (?:str|bytes|int|a string)[^.\n]{0,40}, not \w"
    r"|expected str instance",
    r"not supported between instances|(?:name|variable) ¤ (?:is not defined|referenced before|where it is not assoc)",
    r"maximum recursion depth|(?:dictionary|set) changed size|values to unpack|cannot unpack non-iterable",
    r"not json serializable|unexpected keyword argument|positional arguments?\b|expected bytes|event loop is closed"
    r"|was never awaited|in ¤ expression|not all arguments converted|expecting (?:value|property name|¤ delimiter)",
)
_JAVASCRIPT: Final = (
    rf"cannot (?:read|set) propert(?:y|ies)|{_NOTHING} is not (?:an?|iterable)\b|cannot destructure"
    rf"|cannot convert {_NOTHING}",
    r"is not (?:a function|a constructor|iterable|defined)\b|before initialization|assignment to constant",
    r"maximum call stack|stack overflow|circular (?:structure|reference)|serialize a bigint|cannot mix bigint"
    r"|cannot use ¤ operator",
    r"unexpected token .{0,60}json|unexpected end of json|unexpected non-whitespace character after json"
    r"|of empty array with no initial"
    r"|\[object object\]",
)
_OTHERS: Final = (
    # Go and Rust
    r"\bruntime error:|nil pointer|\bpanic(?:ked)?(?::| at)|index out of range \[|slice bounds out of range|nil map"
    r"|interface conversion:|index out of bounds: the len|::unwrap\(\)|called ¤ on an? ¤ value|with overflow$",
    # Java and C#
    r"null ?pointer|cannot invoke ¤|cannot be cast to|\bindex -?\d{1,12} out of bounds|object reference not set"
    r"|index was (?:outside|out of)|unable to cast object|sequence contains (?:no|more than one)"
    r"|collection was modified|nullable object must|cast is not valid",
    # Elixir and Erlang
    r"no match of right hand side|no (?:function|case|cond|with|try) clause (?:matching|evaluated)|\{badmatch,",
    # Wrapped on the way, in the words of the service that broke
    r"\b5\d\d: internal error\W{0,2}$",
    # All of them
    r"segmentation fault|out of memory|heap limit|assertion failed",
)
# With the name of its exception it is the tool's sum that went wrong; without, it may be one that the caller asked for.
_SUM: Final = (
    r"^[\w.]{0,60}(?:error|exception):? (?:\w{1,10} )?"
    r"(?:/|division(?: or modulo)?|modulo|(?:attempted to )?divide) by zero\W{0,2}$",
)
PHRASES: Final = (*_PYTHON, *_JAVASCRIPT, *_OTHERS, *_SUM)

# All that Python says about a key that is not there is the key.
_KEY: Final = pattern(r"(?:KeyError: ?)?'[^'\s]{1,100}'")
# What a tool made was held against its own schema.
_MADE: Final = pattern(
    r"(?:output|response|result|structured (?:content|output)) (?:schema )?validation (?:error|failed)"
    r"|invalid structured content|[^\n]{0,120}\boutput schema\b[^\n]{0,40} (?:but|did) no",
    IGNORECASE,
)


def key(text: str) -> Finding | None:
    return Finding("INTERNAL_ERROR", STATED) if _KEY.fullmatch(text) else None


def output(text: str) -> Finding | None:
    return Finding("INTERNAL_ERROR", STATED) if _MADE.match(text) else None
