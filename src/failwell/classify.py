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

from .readers import DEFAULT, Table, from_http, operation

maps = DEFAULT.maps


def table() -> Table:
    """A table of a server's own rows, which is asked before the shared one: `install(server, table=mine)`.

    >>> mine = table()
    >>> @mine.maps("shop.OutOfStock")
    ... def out_of_stock(exc): ...
    """
    return Table(DEFAULT)


__all__ = ["from_http", "maps", "operation", "table"]
