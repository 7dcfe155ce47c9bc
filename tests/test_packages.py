"""A package that is missing or too old is said in one line, with what to install, by every door that needs it."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import fastmcp
import mcp
import pytest

import failwell.packages
import failwell.server
from failwell.client import Recovering, drivers
from failwell.packages import MissingPackage, missing, needed

Installed = Callable[[dict[str, str | None]], None]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Installed:
    real = importlib.metadata.version

    def say(versions: dict[str, str | None]) -> None:
        def version(name: str) -> str:
            found = versions.get(name, "") or (real(name) if name not in versions else None)
            if found is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return found

        monkeypatch.setattr(importlib.metadata, "version", version)

    return say


@pytest.mark.parametrize(
    ("versions", "extra", "said"),
    [
        ({}, "mcp", None),
        ({"mcp": "2.3.0"}, "client", None),
        ({"mcp": "2.30"}, "client", None),
        ({"mcp": "1.9.0"}, "client", None),
        ({"mcp": "1.30.0"}, "client", None),
        ({"mcp": "1.8.1"}, "client", "it needs mcp>=1.9,<3 (1.8.1 is installed): pip install 'failwell[client]'"),
        ({"mcp": "3.0.0"}, "client", "it needs mcp>=1.9,<3 (3.0.0 is installed): pip install 'failwell[client]'"),
        (
            {"mcp": "2.2.9"},
            "client",
            "it needs mcp>=1.9,<3, and not 2.0 to 2.2 (2.2.9 is installed): pip install 'failwell[client]'",
        ),
        (
            {"fastmcp": "4.0.1"},
            "fastmcp",
            "it needs fastmcp>=2.12,<5, and not 4.0 (4.0.1 is installed): pip install 'failwell[fastmcp]'",
        ),
        ({"mcp": None}, "client", "it needs mcp>=1.9,<3 (not installed): pip install 'failwell[client]'"),
        (
            {"fastmcp": "1.0", "jsonschema-rs": None},
            "fastmcp",
            "it needs fastmcp>=2.12,<5 (1.0 is installed), jsonschema-rs>=0.40 (not installed): "
            "pip install 'failwell[fastmcp]'",
        ),
        (
            {"pydantic-ai-slim": None},
            "pydantic-ai",
            "it needs pydantic-ai-slim>=2.66 (not installed): pip install 'failwell[pydantic-ai]'",
        ),
    ],
    ids=str,
)
def test_what_is_missing_is_said_with_what_to_install(
    installed: Installed, versions: dict[str, str | None], extra: str, said: str | None
) -> None:
    installed(versions)
    found = missing("it", extra)
    assert (None if found is None else str(found)) == said


def test_an_import_that_fails_for_another_reason_says_its_own(installed: Installed) -> None:
    problem = ImportError("cannot import name 'x'")
    assert needed("it", "mcp", problem) is problem
    installed({"mcp": None})
    inner = MissingPackage("said already")
    assert needed("it", "mcp", inner) is inner


# A program that has Failwell and nothing else, as after `pip install failwell`.
BARE = """\
import importlib.metadata, sys
absent = {"mcp", "mcp_types", "fastmcp", "anyio", "jsonschema_rs", "langchain_core", "anthropic", "agents", "pydantic_ai",
          "prometheus_client", "pydantic", "httpx2", "uvicorn"}
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Nothing())
real = importlib.metadata.version
def version(name):
    if name in ("rich", "failwell"):
        return real(name)
    raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.version = version
def says(do):
    try:
        do()
    except ImportError as problem:
        print(f"{type(problem).__name__}: {problem}")
import failwell, failwell.server, failwell.client, failwell.testing, failwell.manifest, failwell.examples
from importlib import import_module
says(lambda: failwell.client.Recovering)
for name in ("anthropic", "langchain", "openai_agents", "pydantic_ai"):
    says(lambda: import_module(f"failwell.client.{name}"))
says(lambda: import_module("failwell.observe.prometheus"))
says(lambda: failwell.manifest.of_url)
says(lambda: failwell.examples.build("workspace"))
says(lambda: failwell.testing.scripted(failwell.testing.Script()).__enter__())
from failwell.cli import main
print(main(["manifest", "social"]), main(["example", "routers"]), main(["wrap", "--listen", "127.0.0.1:0", "--", "x"]), flush=True)
"""


def test_every_door_says_what_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=True)
    mcp = "mcp>=1.9,<3 (not installed)"
    rs = "jsonschema-rs>=0.40 (not installed)"
    needs = {
        "failwell.client": (mcp, "client"),
        "failwell.client.anthropic": (f"anthropic>=0.40 (not installed), {mcp}", "anthropic"),
        "failwell.client.langchain": (f"langchain-core>=0.3.40 (not installed), {mcp}", "langchain"),
        "failwell.client.openai_agents": (f"{mcp}, openai-agents>=0.2 (not installed)", "openai-agents"),
        "failwell.client.pydantic_ai": (f"{mcp}, pydantic-ai-slim>=2.66 (not installed)", "pydantic-ai"),
        "failwell.observe.prometheus": ("prometheus-client>=0.21 (not installed)", "prometheus"),
        "failwell.manifest": (f"{rs}, {mcp}", "mcp"),
        "the example workspace": (f"fastmcp>=2.12,<5 (not installed), {rs}", "fastmcp"),
        "a scripted server": (f"{mcp}, pytest>=7 (not installed)", "testing"),
    }
    assert done.stdout.splitlines() == [
        *(
            f"MissingPackage: {what} needs {lacks}: pip install 'failwell[{extra}]'"
            for what, (lacks, extra) in needs.items()
        ),
        "2 2 2",
    ]
    manifest, routers, listen = done.stderr.splitlines()
    assert manifest == f"failwell: failwell.manifest needs {rs}, {mcp}: pip install 'failwell[mcp]'"
    assert routers == f"failwell: the example routers needs {rs}, {mcp}: pip install 'failwell[mcp]'"
    start, *needed, end = re.split(r" needs |, |: (?=pip)", listen)
    assert (start, end) == ("failwell: failwell wrap --listen", "pip install 'failwell[http]'")
    assert {re.split("[>]", each)[0] for each in needed} >= {
        "httpx2", "jsonschema-rs", "orjson", "prometheus-client", "uvicorn",
    }  # fmt: skip


def test_a_server_of_a_too_old_sdk_is_told_the_version(installed: Installed) -> None:
    old = type("FastMCP", (), {"__module__": "mcp.server.fastmcp.server"})()
    installed({"mcp": "1.8.1"})
    with pytest.raises(MissingPackage) as caught:
        failwell.server.install(old)
    assert str(caught.value) == "failwell.server needs mcp>=1.9,<3 (1.8.1 is installed): pip install 'failwell[mcp]'"


@pytest.mark.parametrize(
    ("client", "versions", "said"),
    [
        (mcp.Client, {"mcp": "2.0.1"}, "mcp>=1.9,<3, and not 2.0 to 2.2 (2.0.1 is installed): pip install 'failwell[client]'"),
        (fastmcp.Client, {"fastmcp": "4.0.2"}, "fastmcp>=2.12,<5, and not 4.0 (4.0.2 is installed): pip install 'failwell[fastmcp]'"),
        # What else the extra for servers brings along, a client does without.
        (fastmcp.Client, {"jsonschema-rs": None}, None),
        # It could be imported.
        (mcp.Client, {"mcp": None}, None),
    ],
)  # fmt: skip
def test_a_client_of_a_version_that_was_never_tried_is_told_so(
    installed: Installed, client: Any, versions: dict[str, str | None], said: str | None
) -> None:
    installed(versions)
    drivers._require_tried.cache_clear()
    try:
        with nullcontext() if said is None else pytest.raises(MissingPackage) as caught:
            Recovering(client("http://127.0.0.1:9/mcp"))
    finally:
        drivers._require_tried.cache_clear()
    if said is not None:
        assert str(caught.value) == f"failwell.client needs {said}"


@pytest.mark.parametrize(
    ("module", "name", "versions", "said"),
    [
        ("mcp.server.fastmcp.server", "FastMCP", {"mcp": "2.3.0"}, "mcp 1.x; 2.3.0 is installed."),
        ("mcp.server.mcpserver.server", "MCPServer", {"mcp": "1.30.0"}, "mcp 2.x; 1.30.0 is installed."),
    ],
)
def test_a_server_of_another_generation_than_is_installed_is_told_so(
    installed: Installed, module: str, name: str, versions: dict[str, str | None], said: str
) -> None:
    installed(versions)
    quacks = type(name, (), {"__module__": module})()
    with pytest.raises(MissingPackage) as caught:
        failwell.server.install(quacks)
    assert str(caught.value) == f"failwell.server takes this kind of server from {said}"
    assert failwell.server.installed_on(quacks) is None


def test_what_needs_the_newest_sdk_says_so_beside_an_older_one(installed: Installed) -> None:
    installed({"mcp": "1.30.0"})
    problem = ModuleNotFoundError("No module named 'mcp_types'", name="mcp_types")
    assert str(needed("it", "mcp", problem)) == (
        "it needs mcp>=2.3,<3 (1.30.0 is installed): pip install 'failwell[mcp]' 'mcp>=2.3'"
    )
    other = ModuleNotFoundError("No module named 'yaml'", name="yaml")
    assert needed("it", "mcp", other) is other


def test_a_package_that_is_installed_in_part_is_told_so(installed: Installed) -> None:
    installed({"mcp": "2.3.0"})
    problem = ModuleNotFoundError("No module named 'mcp_types'", name="mcp_types")
    assert str(needed("it", "mcp", problem)) == (
        "it cannot use mcp, which is installed in part (No module named 'mcp_types'): pip install --force-reinstall mcp"
    )


def test_a_list_of_servers_is_told_how() -> None:
    with pytest.raises(TypeError) as caught:
        failwell.server.install([1])
    assert str(caught.value) == (
        "install() takes an MCPServer, a low-level mcp Server or a FastMCP, not list; call it once for each server."
    )


def test_an_older_sdk_over_a_newer_one_is_said_to_be_installed_in_part(installed: Installed) -> None:
    installed({"mcp": "1.30.0"})
    problem = needed("it", "client", ModuleNotFoundError("No module named 'httpx'", name="httpx"))
    assert str(problem) == (
        "it cannot use mcp, which is installed in part (No module named 'httpx'): pip install --force-reinstall mcp"
    )


def test_all_means_all_and_no_extra_is_empty() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    (whole,) = extras.pop("all")
    assert set(re.fullmatch(r"failwell\[(.+)\]", whole)[1].split(",")) == set(extras)  # type: ignore[index]
    assert [name for name, wanted in extras.items() if not wanted] == []


# The lowest with which what Failwell does with them was tried: whoever has an older application need not move it.
LOWEST = {"rich": "12", "pytest": "7", "langchain-core": "0.3.40", "anthropic": "0.40"}


def test_what_failwell_uses_of_others_is_asked_for_no_newer_than_it_needs() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*project["dependencies"], *(line for lines in project["optional-dependencies"].values() for line in lines)]
    asked = {tuple(line.split(">=")) for line in lines if line.partition(">=")[0] in LOWEST}
    assert asked == set(LOWEST.items())
