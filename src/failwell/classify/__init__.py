"""Foreign failures to ToolErrors: exceptions by one table, HTTP answers by another, bad arguments, foreign texts.

>>> import failwell
>>> class OutOfStock(Exception): ...
>>> @failwell.classify.maps(OutOfStock)
... def out_of_stock(exc):
...     return failwell.Conflict("It is out of stock.", code="OUT_OF_STOCK")
>>> failwell.wrap(OutOfStock()).code
'OUT_OF_STOCK'
"""

from __future__ import annotations

from .batch import partial_failure
from .http import STATUSES, body_message, code_for, from_http, retry_after
from .prose import from_text
from .reading import classify, from_error, is_order, operation, wrap
from .table import DEFAULT, Row, Table

maps = DEFAULT.maps

__all__ = [
    "DEFAULT",
    "STATUSES",
    "Row",
    "Table",
    "body_message",
    "classify",
    "code_for",
    "from_error",
    "from_http",
    "from_text",
    "is_order",
    "maps",
    "operation",
    "partial_failure",
    "retry_after",
    "wrap",
]
