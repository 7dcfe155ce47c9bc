"""Foreign failures to ToolErrors: exceptions by one table, HTTP answers by another, foreign texts.

>>> import failwell
>>> class OutOfStock(Exception): ...
>>> @failwell.classify.maps(OutOfStock)
... def out_of_stock(exc):
...     return failwell.Conflict("It is out of stock.", code="OUT_OF_STOCK")
>>> failwell.wrap(OutOfStock()).code
'OUT_OF_STOCK'
"""

from __future__ import annotations

from typing import Any, Final

from .old_names import old_name
from .readers import DEFAULT, STATUSES, Table, body_message, from_http, operation

maps = DEFAULT.maps

__all__ = [
    "DEFAULT",
    "STATUSES",
    "Table",
    "body_message",
    "from_http",
    "maps",
    "operation",
]

_OLD: Final = {
    "classify": "failwell.wrap",
    "from_text": "failwell.read",
    "from_error": "failwell.wrap, which finds the one that it was raised from",
    "partial_failure": "failwell.partial_failure",
    "wrap": "failwell.wrap",
    **dict.fromkeys(("Row", "code_for", "is_order", "retry_after")),
}


def __getattr__(name: str) -> Any:
    if name not in _OLD:
        raise AttributeError(f"module 'failwell.classify' has no attribute {name!r}")
    return old_name("failwell.classify", name, f"failwell.readers.{name}", _OLD[name])
