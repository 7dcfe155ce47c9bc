"""The examples have manifests, and the social server's is kept in a file."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

import commands
from failwell import examples
from failwell.manifest.entries import load, problems

SOCIAL = Path(examples.__file__).parent / "social"


def failwell_(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """Its exit code, and what it printed: each time in a process that knows no example yet."""
    done = commands.run(*arguments, environment={**os.environ, **environment})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.checklist(203, 208, 211, 216)
@pytest.mark.parametrize("profile", ["workflow", "api"])
def test_the_social_server_has_one_manifest_whatever_its_profile(profile: str) -> None:
    kept = SOCIAL / "manifest.json"
    # Nothing is wrong, so nothing is said.
    assert failwell_("manifest", "social", "--check", str(kept), SOCIAL_PROFILE=profile) == (0, "", "")
    code, said, complained = failwell_("manifest", "social", "--profile", profile, SOCIAL_PROFILE="api")
    assert (code, complained) == (0, "")
    tools = json.loads(kept.read_text(encoding="utf-8"))["tools"]
    assert len(tools) == 13
    assert json.loads(said)["tools"] == [tool for tool in tools if profile in tool["profiles"]]


@pytest.mark.checklist(207)
def test_the_flags_say_what_a_tool_of_the_social_server_needs() -> None:
    tools = json.loads((SOCIAL / "manifest.json").read_text(encoding="utf-8"))["tools"]
    flags = ("requires_x_client", "requires_llm", "requires_db")
    x, llm, db = {"x_not_configured"}, {"llm_not_configured"}, {"db_error"}
    needs = {tool["name"]: [tool[flag] for flag in flags] for tool in tools}
    assert needs == {
        "author_context": [True, False, False],
        "compose_post": [True, False, True],
        "decide": [True, False, True],
        "delete_post": [True, False, True],
        "export_analytics": [True, False, False],
        "list_posts": [True, False, False],
        "list_threads": [False, False, True],
        "recommend_action": [True, False, False],
        "resume_thread": [True, False, True],
        "topic_performance": [True, False, False],
        "upload_media": [True, False, True],
        "write_draft": [False, True, True],
        "x_post": [True, False, True],
    }
    # A flag is true just where the tool can fail for want of what it names.
    for tool in tools:
        can = set(tool["possible_error_codes"])
        assert [codes <= can for codes in (x, llm, db)] == needs[tool["name"]], tool["name"]


@pytest.mark.parametrize("name", examples.EXAMPLES)
def test_every_tool_of_every_example_declares_itself(name: str) -> None:
    # In a process of its own: an example's catalogue is known to everybody once it is imported.
    code, said, complained = failwell_("manifest", name)
    assert (code, complained) == (0, "")
    made = load(said)
    assert made.tools
    assert problems(made) == []
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
