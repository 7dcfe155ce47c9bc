"""A help desk as a careful author writes it with the SDK alone: plain sentences, no Failwell, no trick for any checker."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server import Server

TICKETS = {
    "T-1": {"title": "Printer is on fire", "state": "open"},
    "T-2": {"title": "Coffee machine speaks", "state": "closed"},
}
STATES = ("open", "closed", "any")
TICKET = {
    "type": "string",
    "description": "The number of a ticket, such as T-1.",
    "pattern": "^T-[0-9]+$",
    "examples": ["T-1"],
}
TOOLS = {
    "search_tickets": types.Tool(
        name="search_tickets",
        description="Tickets by their state.",
        input_schema={
            "type": "object",
            "properties": {
                "state": {"type": "string", "enum": list(STATES), "description": "Which tickets to list."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many at most."},
            },
            "required": ["state"],
            "additionalProperties": False,
        },
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    "show_ticket": types.Tool(
        name="show_ticket",
        description="One ticket.",
        input_schema={
            "type": "object",
            "properties": {"ticket": TICKET},
            "required": ["ticket"],
            "additionalProperties": False,
        },
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    "close_ticket": types.Tool(
        name="close_ticket",
        description="Closes a ticket, with a reason for the one who opened it.",
        input_schema={
            "type": "object",
            "properties": {
                "ticket": TICKET,
                "reason": {"type": "string", "description": "Why it is closed.", "minLength": 3},
            },
            "required": ["ticket", "reason"],
            "additionalProperties": False,
        },
        annotations=types.ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False),
    ),
}


class Refused(Exception):
    """A sentence for the caller."""


def text_of(arguments: dict[str, Any], name: str, example: str) -> str:
    if name not in arguments:
        raise Refused(f"Please give {name}, for example {example}. I did nothing yet.")
    if not isinstance(arguments[name], str) or not arguments[name].strip():
        raise Refused(f"{name} has to be a piece of text like {example}. Please correct it; I did nothing yet.")
    return str(arguments[name])


def only(tool: str, arguments: dict[str, Any]) -> None:
    known = list(TOOLS[tool].input_schema["properties"])
    for name in arguments:
        if name not in known:
            near = next((one for one in known if one[:2] == str(name)[:2]), None)
            hint = f" You probably meant {near}." if near else ""
            raise Refused(
                f"{tool} has no argument {str(name)[:30]!r}.{hint} Use {' and '.join(known)}. I did nothing yet."
            )


def ticket_of(arguments: dict[str, Any]) -> str:
    number = text_of(arguments, "ticket", "T-1")
    if number not in TICKETS:
        raise Refused(
            f"There is no ticket {number[:20]!r}, so I did nothing, and asking again will not help. "
            "Use search_tickets with state 'any' to find the number."
        )
    return number


def run(tool: str, arguments: dict[str, Any]) -> str:
    if tool not in TOOLS:
        raise Refused(f"I have no tool called {tool[:30]!r}. Please use search_tickets, show_ticket or close_ticket.")
    only(tool, arguments)
    if tool == "search_tickets":
        state = text_of(arguments, "state", "'open'")
        if state not in STATES:
            raise Refused(f"state cannot be {state[:20]!r}: choose open, closed or any.")
        limit = arguments.get("limit", 10)
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 100:
            raise Refused("limit has to be a whole number between 1 and 100. Please correct it.")
        found = [number for number, ticket in TICKETS.items() if state in ("any", ticket["state"])]
        return ", ".join(found[:limit]) or "none"
    number = ticket_of(arguments)
    if tool == "show_ticket":
        return f"{number}: {TICKETS[number]['title']} ({TICKETS[number]['state']})"
    reason = text_of(arguments, "reason", "'solved by a reboot'")
    if TICKETS[number]["state"] == "closed":
        raise Refused(f"{number} is closed already, so nothing was changed. Use show_ticket to see it.")
    TICKETS[number]["state"] = "closed"
    return f"{number} is closed: {reason}"


async def listed(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=list(TOOLS.values()))


async def called(context: Any, params: Any) -> types.CallToolResult:
    try:
        return types.CallToolResult(content=[types.TextContent(text=run(params.name, params.arguments or {}))])
    except Refused as exc:
        return types.CallToolResult(content=[types.TextContent(text=str(exc))], is_error=True)


def server() -> Server[Any]:
    return Server("help desk", version="1", on_list_tools=listed, on_call_tool=called)
