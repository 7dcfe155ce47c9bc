"""One process for each kind of shop, for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from shop_wire import Shops


@pytest.fixture(scope="session")
def shops() -> Iterator[Shops]:
    made = Shops()
    yield made
    made.close()
