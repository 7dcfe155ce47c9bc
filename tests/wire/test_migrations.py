"""What the pages of the contracts promise: the server written by hand and the one with Failwell answer the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from shop_wire import CANONICAL, LEGACY, MODERN, Json, Shop, Shops

import commands

PAGES: Final = Path(__file__).parents[2] / "docs"
Call = tuple[str, Json]
CALLS: Final[dict[str, list[Call]]] = {
    "000": [
        ("get_agent", {"name": "fd-docs"}),
        ("get_agent", {"name": "fd-safety"}),
        *(("reserve", {"pattern": pattern}) for pattern in ("src/*.go", "*", "", "docs/*")),
    ],
    "001": [
        *(
            ("search_patterns", {"query": query, **gate})
            for query in ("slow", "locked", "broken", "retry")
            for gate in ({}, {"format": "markdown"}, {"format": "json"}, {"format": "both"})
        ),
        *(("get_pattern", {"id": "x", "format": gate}) for gate in ("markdown", "json", "both")),
    ],
    "002": [
        *(("projects.get", {"id": id}) for id in ("p_1", "proj_xyz")),
        *(("invoices.pay", {"id": id}) for id in ("inv_1", "paid", "many", "old", "", "a<b&c")),
        ("users.delete", {"user_id": "u_1"}),
        ("users.delete", {"user_id": "u_2"}),
    ],
    "003": [("get_post", {"id": id}) for id in ("1", "2", "limited", "expired", "db", "all")],
    "004": [
        *(("system/get-overview", {"device_id": id}) for id in ("dev-lab-01", "dev-unknown", "dev-down", "dev-slow")),
        *(("ip/set-dns", {"device_id": id}) for id in ("dev-lab-01", "dev-prod-01", "dev-locked")),
    ],
}


class Page(Shop):
    """One of the two servers of a page; `kind` names both."""

    @staticmethod
    def command(kind: str, options: Json | None, transport: str, ledger: Path) -> list[str]:
        page, number = kind.split()
        blocks = re.findall(r"```python\n(.*?)```", (PAGES / f"contract-{page}.md").read_text("utf-8"), re.DOTALL)
        script = ledger.with_name("server.py")
        script.write_text(blocks[int(number)], encoding="utf-8")
        return commands.python(script)


@pytest.fixture(scope="module")
def pages() -> Iterator[Shops]:
    made = Shops(make=Page)
    yield made
    made.close()


def answer(server: Shop, tool: str, arguments: Json) -> Any:
    """What the contract says of an answer: all but what Failwell adds beside it."""
    message = server.session.ask("tools/call", {"name": tool, "arguments": arguments})
    if "error" in message:
        return message["error"]
    result = message["result"]
    stated = (result.pop("_meta", None) or {}).get(CANONICAL)
    if server.kind.endswith("1") and result.get("isError"):
        assert stated is not None
    if not server.kind.startswith("001"):
        result.pop("structuredContent", None)
    return {**result, "isError": result.get("isError", False)}


@pytest.mark.checklist(449)
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize("page", CALLS)
def test_both_servers_of_the_page_answer_the_same(pages: Shops, page: str, era: str) -> None:
    by_hand, ours = (pages.get(f"{page} {number}", era=era) for number in (0, 1))
    for tool, arguments in CALLS[page]:
        old, new = answer(by_hand, tool, arguments), answer(ours, tool, arguments)
        if page == "003":
            # By hand a failure is no error to a client that knows no envelope, as the page says.
            old, new = ({**_untimed(each), "isError": None} for each in (old, new))
        if "code" in new and era == MODERN:
            assert new["code"] == old["code"] + 1000
            new["code"] = old["code"]
        assert new == old, (tool, arguments)


def _untimed(result: Json) -> Json:
    """The answer without how long it took."""
    for block in result["content"]:
        block["text"] = re.sub(r'"elapsed_ms": \d+', '"elapsed_ms": 0', block["text"])
    return result
