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

from .readers import DEFAULT as DEFAULT
from .readers import STATUSES, Row, Table, classify, from_http, from_text
from .readers import body_message as body_message
from .readers import code_for as code_for
from .readers import from_error as from_error
from .readers import is_order as is_order
from .readers import operation as operation
from .readers import partial_failure as partial_failure
from .readers import retry_after as retry_after
from .readers import wrap as wrap

maps = DEFAULT.maps

__all__ = ["STATUSES", "Row", "Table", "classify", "from_http", "from_text", "maps"]
