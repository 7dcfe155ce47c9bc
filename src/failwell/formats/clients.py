"""What known clients show their model when a tool fails, and so which parts of a result they need.

No one part of a result reaches every model, so the table says what each client does with each of them. A new client is
a new row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Client:
    """One client and what it does with a failed result.

    `structured` is what becomes of `structuredContent`: shown to the model beside the text, dropped, shown `instead` of
    the text, or `checked` against the tool's output schema, with an exception when it does not fit.
    """

    name: str
    structured: Literal["shown", "dropped", "instead", "checked"] = "dropped"
    marks_errors: bool = True
    protocol_errors: Literal["shown", "hidden", "fatal"] = "shown"
    below: tuple[int, ...] | None = None
    """Only versions before this one."""
    chosen: bool = True
    """Whether somebody asked for it. Known by the client's name alone, it leaves a contract's text as it is."""


UNKNOWN: Final = Client("unknown", structured="checked", marks_errors=False, protocol_errors="hidden")
"""A client nobody knows may do the least."""

CLIENTS: Final = (
    Client("claude-code"),
    Client("claude-ai"),
    Client("claude-agent-sdk"),
    Client("openai-agents", marks_errors=False, protocol_errors="hidden"),
    Client("pydantic-ai", structured="instead"),
    Client("langchain-mcp-adapters", protocol_errors="fatal"),
    Client("smolagents", marks_errors=False, protocol_errors="fatal"),
    Client("mcpadapt", marks_errors=False, protocol_errors="fatal"),
    Client("mcp-agent", marks_errors=False),
    Client("fastmcp"),
    # The name of the Python SDK, by which clients connect that give none of their own: four are known, and the row is
    # what suits them all.
    Client("mcp", structured="instead", marks_errors=False, protocol_errors="hidden"),
    Client("mastra", structured="instead", marks_errors=False),
    Client("typescript-sdk", structured="checked", below=(2,)),
    Client("typescript-sdk", structured="shown"),
    Client("mcp-inspector", structured="checked", below=(2,)),
    Client("mcp-inspector", structured="shown"),
    Client("gemini-cli"),
    Client("crewai", marks_errors=False),
    Client("llama-index", marks_errors=False),
    Client("n8n", marks_errors=False),
    Client("elizaos", marks_errors=False),
    Client("nanobot", marks_errors=False),
)


def find_client(named: str | Client | None) -> Client | None:
    """The row for `name/version`, as a client gives it when it connects; what is not in the table counts as unknown."""
    if named is None or isinstance(named, Client):
        return named
    # It is asked of each failure, and a connection has one; a name of any length is not kept.
    return _found(named) if len(named) <= _LONGEST_KEPT else _found.__wrapped__(named)


_LONGEST_KEPT: Final = 200


@lru_cache(maxsize=256)
def _found(named: str) -> Client:
    name, _, version = named.partition("/")
    wanted = re.sub(r"[\s_]+", "-", name.strip().lower())
    number = tuple(int(part) for part in re.findall(r"\d{1,6}", version)[:3])
    for client in CLIENTS:
        if client.name == wanted and (client.below is None or (number and number < client.below)):
            return client
    return UNKNOWN
