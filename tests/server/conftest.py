"""Server processes for the tests of the adapters."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from wire import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    # Not pytest's folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory() as folder:
        made = Nursery(Path(folder))
        yield made
        made.close()
