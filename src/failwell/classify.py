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
