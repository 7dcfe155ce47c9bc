"""What is known of a tool is found out once, and anew when the tool has changed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mcp_types import ToolAnnotations

from failwell.server.served_call import ToolInfo


def tool(**changes: Any) -> Any:
    def pay() -> None: ...

    given = {"fn": pay, "parameters": {}, "annotations": None, "description": "Pays."}
    return SimpleNamespace(**{**given, **changes})


def test_the_same_tool_has_the_same_facts_also_as_a_copy() -> None:
    one = tool()
    assert ToolInfo.of_tool("pay", one) is ToolInfo.of_tool("pay", SimpleNamespace(**vars(one)))
    assert ToolInfo.of_tool("shop_pay", one).name == "shop_pay"


def test_annotations_that_are_changed_in_their_place_count() -> None:
    one = tool(annotations=ToolAnnotations(read_only_hint=True))
    assert ToolInfo.of_tool("pay", one).traits.read_only is True
    one.annotations.read_only_hint = False
    assert ToolInfo.of_tool("pay", one).traits.read_only is False


def test_a_tool_that_is_given_another_schema_has_that_one() -> None:
    one = tool()
    ToolInfo.of_tool("pay", one)
    one.parameters = {"type": "object"}
    assert ToolInfo.of_tool("pay", one).schema == {"type": "object"}
