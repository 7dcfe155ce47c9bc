"""The stores that several processes share: a file, and real programs."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from places import keys_at

from databases import Redis, running_postgres, running_redis
from failwell.idempotency.leased_keys import LeasedKeys


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


@pytest.fixture(params=["file", "redis", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where keys are kept: a path, or a URL."""
    if request.param == "file":
        return str(tmp_path / "a [strange] name?.db")
    if request.param == "redis":
        return str(request.getfixturevalue("redis_here").url)
    return str(request.getfixturevalue("postgres_url"))


_numbers = count()


@pytest.fixture
def opened(place: str) -> Iterator[Callable[..., LeasedKeys]]:
    """The store as one process has it; each call is another process, of the same namespace."""
    namespace = f"test {next(_numbers)}"
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(closing(keys_at(place, **{"namespace": namespace, **options})))
