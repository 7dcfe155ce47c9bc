"""The examples have manifests, and the social server's is kept in a file."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

import commands
import failwell.manifest
from failwell import examples

SOCIAL = Path(examples.__file__).parent / "social"


def failwell_(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Its exit code, and what it printed: each time in a process that knows no example yet."""
    done = commands.run(*arguments, environment={**os.environ, **environment})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.checklist(203, 208, 211, 216)
@pytest.mark.parametrize("profile", ["workflow", "api"])
def test_the_social_servers_manifest_is_up_to_date(profile: str) -> None:
    kept = SOCIAL / f"manifest.{profile}.json"
    code, said, complained = failwell_("manifest", "social", "--check", str(kept), SOCIAL_PROFILE=profile)
    assert (code, said) == (0, ""), said + complained
    tools = json.loads(kept.read_text(encoding="utf-8"))["tools"]
    assert all(profile in tool["profiles"] for tool in tools)


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_every_tool_of_every_example_declares_itself(name: str) -> None:
    # In a process of its own: an example's catalogue is known to everybody once it is imported.
    made = failwell.manifest.load(failwell_("manifest", name)[1])
    assert made.tools
    assert failwell.manifest.problems(made) == []
    assert all(tool.annotations for tool in made.tools)


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (["nothing"], {}),
        (["social", "--http", "0"], {}),
        (["reservations"], {"RESERVATIONS_DB": "/nowhere/at/all.db"}),
        (["social"], {"SOCIAL_PROFILE": "zzz"}),
        (["patterns"], {"PATTERNS_TIMEOUT": "soon"}),
        (["reservations", "--http", "{taken}"], {}),
    ],
    ids=str,
)
def test_what_cannot_start_is_one_clear_line(arguments: list[str], settings: dict[str, str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = str(other.getsockname()[1])
        code, said, complained = failwell_("example", *(each.format(taken=taken) for each in arguments), **settings)
    assert (code, said, len(complained.splitlines())) == (2, "", 1), complained
