"""One process for each kind of server, for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from contract_wire import Servers
from shop_wire import Shops


@pytest.fixture(scope="session")
def shops() -> Iterator[Shops]:
    made = Shops()
    yield made
    made.close()


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    made = Servers()
    yield made
    made.close()
