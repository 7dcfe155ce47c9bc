"""A store with something of everything in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from served_page import hostile, served

from failwell.observe import Store, store

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from store_world import Truth, events


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('store') / 'events.db'}"
    kept: Store = store(url)
    for event in (*events(3_000, Truth(), key=kept.key), *hostile()):
        kept(event)
    kept.close(60)
    assert kept.dropped == 0
    return url


@pytest.fixture(scope="module")
def page(filled: str) -> Iterator[httpx.Client]:
    with served(filled) as client:
        yield client
