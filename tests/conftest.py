"""What every test shares: how hard the laws are tried, and who starts the servers."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import commands
from failwell.testing import host

settings.register_profile(
    "failwell",
    max_examples=int(os.environ.get("FAILWELL_EXAMPLES", "40")),
    deadline=None,
    derandomize="FAILWELL_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("failwell")


class Sooner:
    """The command of a scripted server, for which nobody imports anything again."""

    def __iter__(self) -> Iterator[str]:
        return iter(commands.python("-m", "failwell.testing.scripted"))


@pytest.fixture(scope="session", autouse=True)
def scripted_servers_start_sooner() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "_COMMAND", Sooner())
        yield
