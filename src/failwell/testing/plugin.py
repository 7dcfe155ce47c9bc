"""The pytest plugin: fixtures for tests of agents. It is loaded with every run, so it imports nothing it can avoid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .fake_clock import FakeClock
    from .host import ScriptedServer
    from .script import Tool


@pytest.fixture
def fake_clock() -> FakeClock:
    """A clock on which waits cost nothing: `fake_clock.slept` says how long an agent would have waited."""
    from .fake_clock import FakeClock

    return FakeClock()


@pytest.fixture
def scripted_server(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ScriptedServer]:
    """Makes scripted servers: `async with scripted_server(Tool(...), transport="http") as server`.

    What happened is kept in the test's temporary folder, to look at when the test has failed.
    """
    from .host import scripted
    from .script import Script

    def make(*tools: Tool, directory: Path | None = None, **options: Any) -> ScriptedServer:
        return scripted(Script(*tools), directory=directory or tmp_path_factory.mktemp("scripted"), **options)

    return make
