"""The tools. None of them handles an error: what the service raises, `failures.TABLE` reads."""

from __future__ import annotations

from typing import Any, Final, Literal

from mcp.server import MCPServer
from mcp_types import CallToolResult, ToolAnnotations

import failwell as fw
from failwell.server import install, reply

from .api import Api, Json
from .failures import TABLE, V1

Format = Literal["markdown", "json", "both"]
MOST_HITS: Final = 20
READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=True)
CODES: Final = [code for code in V1 if code is not V1.NOT_FOUND] + ["RATE_LIMITED", "TLS_ERROR"]
may_fail: Final = fw.raises(*CODES, category="read", mutation=False, requires=["api_key"])


def build() -> MCPServer[Any]:
    """The server, with a service of its own unless PATTERNS_API names one."""
    api = Api.from_environment()
    server: MCPServer[Any] = MCPServer("patterns", log_level="ERROR")

    @server.tool(annotations=READS)
    @may_fail
    @fw.raises(V1.NOT_FOUND)
    async def search_patterns(
        query: str = "", category: str | None = None, limit: int = 10, format: Format = "markdown"
    ) -> CallToolResult:
        """Search the library for patterns that hold all words of the query. The limit is at most 100."""
        if not query.strip():
            raise fw.NeedsInput(
                "What are you looking for?",
                fields=["query"],
                reason="A search needs a query.",
                suggestions={"query": ["retry", "timeout", "connection pool", "test"]},
            )
        found = await api.search(query, category, limit)
        if not category and found["total"] > MOST_HITS:
            raise which_category(found)
        return reply({"kind": "patternSearchResults:v1", "query": query, **found}, markdown=listed(found))

    @server.tool(annotations=READS)
    @may_fail
    async def get_pattern(id: str = "", format: Format = "markdown") -> CallToolResult:
        """Read one pattern, by the id that search_patterns gives."""
        if not id.strip():
            raise fw.NeedsInput("Which pattern?", fields=["id"], reason="A pattern is read by its id.")
        pattern = await api.pattern(id)
        if pattern is None:
            raise which_pattern(id, await api.suggestions(id))
        text = (
            f"## {pattern['title']}\n\n{pattern['summary']}\n\n{pattern['advice']}\n\nCategory: {pattern['category']}"
        )
        return reply({"kind": "patternDetails:v1", **pattern}, markdown=text)

    @server.tool(annotations=READS, structured_output=False)
    @may_fail
    @fw.raises(V1.NOT_FOUND)
    async def list_analysis_rules(rule_set: str = "default") -> str:
        """List the rules by which code is analysed. There are the rule sets default and async."""
        rules = await api.rules(rule_set)
        return "\n".join(f"- **{rule['id']}** ({rule['severity']}): {rule['message']}" for rule in rules)

    return install(server, format="v1", table=TABLE)


def which_category(found: Json) -> fw.NeedsInput:
    categories = found["categories"]
    return fw.NeedsInput(
        f"{found['total']} patterns were found. Which category?",
        fields=["category"],
        reason=f"There are more than {MOST_HITS} hits.",
        options=[
            {"label": name, "value": name, "description": f"{count} patterns", "field": "category"}
            for name, count in categories.items()
        ],
    )


def which_pattern(id: str, known: list[Json]) -> fw.NeedsInput:
    return fw.NeedsInput(
        f'There is no pattern "{id}". Which one?',
        fields=["id"],
        reason="No pattern has this id.",
        suggestions={"id": [each["id"] for each in known]},
        options=[
            {"label": each["title"], "value": each["id"], "description": each["summary"], "field": "id"}
            for each in known
        ],
    )


def listed(found: Json) -> str:
    lines = [
        f"- **{each['title']}** (`{each['id']}`, {each['category']}): {each['summary']}" for each in found["patterns"]
    ]
    return "\n".join([f"{found['total']} found, {len(lines)} shown.", "", *lines]) if lines else "Nothing found."
