"""Bridges to frameworks that are not installed here: `make bridges` runs them with the real packages."""

from __future__ import annotations

import importlib
import importlib.metadata
from pathlib import Path

import pytest

import failwell as fw
from failwell.client.bridge import Bridge, RenderedFailure
from failwell.packages import MissingPackage, lacks
from snapshots import Snapshots

SNAPSHOTS = Snapshots(Path(__file__).with_name("snapshots"))

PACKAGES = {
    "langchain_mcp": "langchain-mcp-adapters",
    "google_adk": "google-adk",
    "llama_index": "llama-index-tools-mcp",
    "crewai": "crewai",
}


@pytest.mark.parametrize(("module", "package"), PACKAGES.items())
def test_a_framework_that_is_missing_is_said_in_one_line(module: str, package: str) -> None:
    name = f"failwell.client.{module}"
    with pytest.raises(MissingPackage) as caught:
        importlib.import_module(name)
    assert str(caught.value) == f"{name} needs {package} (not installed): pip install {package}"


def test_a_framework_that_is_too_old_is_said_in_one_line() -> None:
    found = importlib.metadata.version("pytest")
    problem = lacks("it", "pytest", ImportError("cannot import name 'ToolFailure'"))
    assert str(problem) == (
        f"it cannot use pytest {found} (cannot import name 'ToolFailure'): pip install --upgrade pytest"
    )


@pytest.mark.parametrize("style", ["stdio", "plain"])
def test_every_framework_shows_its_model_the_same(style: str) -> None:
    group = f"frameworks-{style}"
    places = SNAPSHOTS.places(group)
    others = ["google_adk", "langchain", "langchain_mcp", "llama_index"]
    held = ["crewai_tools", "openai_agents", "openai_agents_old"]
    assert places == sorted(["crewai", *others, *held])
    assert SNAPSHOTS.differing(group) == {}
    told = [SNAPSHOTS.read(group, place) for place in places]
    # A connection that is held is lost with its server.
    assert [place for place, answers in zip(places, told, strict=True) if "6. dies" not in answers] == held
    assert {(answers["payments"], answers["shipped"]) for answers in told} == {(1, 1)}


def test_tools_are_named_as_the_model_knows_them() -> None:
    annotations = {"pay": {"readOnlyHint": False}, "get_payment": {"readOnlyHint": True}}
    schema = {"type": "object", "properties": {"invoice": {"type": "string"}}, "required": ["invoice"]}
    tools = {name: {"name": name, "annotations": hints, "inputSchema": schema} for name, hints in annotations.items()}

    def pay() -> None:
        raise fw.ToolError("It took too long.", code="TIMEOUT", effect="unknown", actions=["list_payments"])

    told = Bridge(tools=tools).call(tools["pay"], {"invoice": "inv_1"}, names="shop_".__add__).attempt_sync(pay)
    assert isinstance(told, RenderedFailure)
    assert told.text == (
        "shop_pay failed part-way (It took too long), so it may have been done already. Next: call shop_get_payment "
        'with {"invoice":"inv_1"} to see whether it was.'
    )
    assert isinstance(told.outcome, fw.ToolError)
    assert [action.tool for action in told.outcome.actions] == ["shop_list_payments"]
