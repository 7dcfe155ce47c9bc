"""The stores that several machines share, as real programs."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from databases import Redis, running_postgres, running_redis


@pytest.fixture(scope="module")
def redis_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    # The path of its socket must be a short one, in a folder that its own user can reach.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tempfile.TemporaryDirectory(prefix="pg") as folder, running_postgres(Path(folder)) as url:
            yield url


@pytest.fixture(params=["redis", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "redis":
        return str(request.getfixturevalue("redis_here").url)
    return str(request.getfixturevalue("postgres_url"))
