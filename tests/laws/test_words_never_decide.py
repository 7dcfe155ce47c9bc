"""Law 6: for any two texts, the same exception at the same place gives the same kind, code, effect, flags and hold."""

from __future__ import annotations

import asyncio
import html
import itertools
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import fastmcp
import httpx2
import mcp
import pytest
from fastmcp.exceptions import ToolError as FrameworkError
from hypothesis import example, given
from hypothesis import strategies as st
from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from strategies import WIRE_TEXTS

import failwell as fw
import failwell.server

CANONICAL = "io.github.failwell/tool-error"
NUMBERS = itertools.count()
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True)
READS = ToolAnnotations(read_only_hint=True)
FORMS = ("text", "typed", "v1", "xml", "envelope", "jsonrpc")


class CardDeclined(Exception):
    """A type that no table knows."""


PLAIN: dict[str, Callable[[str], Exception]] = {
    each.__name__: each
    for each in (
        ValueError, TypeError, UnicodeError, LookupError, KeyError, IndexError, PermissionError, FileNotFoundError,
        FileExistsError, RuntimeError, NotImplementedError, ArithmeticError, AssertionError, Exception, CardDeclined,
        OSError, TimeoutError, ConnectionError, ConnectionResetError, ConnectionRefusedError, EOFError,
        sqlite3.OperationalError, sqlite3.IntegrityError, httpx2.ReadTimeout, httpx2.ConnectError, FrameworkError,
    )
}  # fmt: skip
"""What our own words must not invite to repeat."""
AUTHORS: dict[str, Callable[[str], Exception]] = {
    **{each.__name__: each for each in (fw.NotFound, fw.Invalid, fw.Conflict, fw.Denied, fw.Transient, fw.Internal)},
    "without a code": fw.ToolError,
    "in doubt": lambda text: fw.Transient(text, code="TIMEOUT", effect="unknown"),
}
RAISED = PLAIN | AUTHORS

SAYINGS = (
    "could not parse amount from the bank response",
    "Zahlung bereits ausgeführt",
    "not found",
    "try again",
    "Please try again in 5 seconds",
    "Rate limit exceeded, retry after 30 seconds",
    "429 Too Many Requests",
    "Client error '404 Not Found' for url 'https://bank.example/charges'",
    "Nothing was done",
    "The payment was made, but the receipt could not be mailed",
    "id must be at most 24",
    "id is missing",
    "Unknown tool: pay_invoice",
    "Invalid arguments for pay_invoice: id",
    "You must log in first",
    "database is locked",
    "Connection refused",
    "timed out",
    "支払いは完了しました",
    "no se pudo leer el importe; inténtelo de nuevo",
    "Платёж уже выполнен",
    "الفاتورة غير موجودة",
    "Call get_invoice first, then correct the arguments and call again",
    "Wait 1 second, then make the same call again",
)
sayings = st.lists(st.sampled_from(SAYINGS), min_size=1, max_size=3).map(". ".join)
texts = st.one_of(sayings, st.sampled_from(WIRE_TEXTS), st.text(max_size=40), st.sampled_from(("", " ", "x" * 3000)))

INVITES = re.compile(
    r"(?i)\b(again|retry|correct the|wait \d|look for another)\b(?<!not run again)(?<!do not call it again)"
)


@pytest.fixture(autouse=True, scope="module")
def nobody_reads_the_log() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@dataclass
class Bank:
    """A server that pays, and then raises what it is told to."""

    server: Any
    connect: Callable[[Any], Any]
    make: Callable[[str], Exception] = Exception
    text: str = ""
    paid: list[str] = field(default_factory=list)


@cache
def bank(framework: str, form: str) -> Bank:
    if framework == "fastmcp":
        made = Bank(fastmcp.FastMCP("bank"), fastmcp.Client)
        options = {}
    else:
        made = Bank(MCPServer("bank", log_level="CRITICAL"), mcp.Client)
        options = {"show_text": True}

    def pay_invoice(id: str):
        made.paid.append(id)
        raise made.make(made.text)

    def get_invoice(id: str):
        return "open"

    made.server.tool(annotations=WRITES)(pay_invoice)
    made.server.tool(annotations=READS)(get_invoice)
    failwell.server.install(made.server, format=form, wire={"client": None}, **options)
    return made


@dataclass(frozen=True)
class Outcome:
    """Everything that a program reads, and that no text may change."""

    code: Any
    kind: Any
    effect: Any
    retryable: Any
    recoverable: Any
    strategy: Any
    retry_after: Any
    formed: Any
    """The code, the flags and the strategy of the form itself."""
    held: bool
    paid: int


def outcome(framework: str, form: str, name: str, text: str) -> tuple[Outcome, str]:
    """What one text leads to, and what the model reads of the first call."""
    at = bank(framework, form)
    at.paid.clear()
    at.make, at.text = RAISED[name], text

    id = f"inv_{next(NUMBERS)}"

    async def twice() -> list[Any]:
        async with at.connect(at.server) as client:
            call = client.call_tool_mcp if framework == "fastmcp" else client.call_tool
            results = [await call("pay_invoice", {"id": id}) for _ in range(2)]
        return [result.model_dump(mode="json", by_alias=True, exclude_none=True) for result in results]

    first, again = asyncio.run(twice())
    error = first["_meta"][CANONICAL]
    assert first["isError"]
    stated = [
        error.get(key) for key in ("code", "kind", "effect", "retryable", "recoverable", "strategy", "retry_after")
    ]
    words = readable(first, form)
    held = len(at.paid) == 1
    assert held is ("was not run again" in readable(again, form))
    return Outcome(*stated, flags_of(first, form), held, len(at.paid)), words


def readable(result: dict[str, Any], form: str) -> str:
    """All texts of an answer as they were before the form escaped them."""
    text = result["content"][0]["text"]
    if form == "text":
        return str(text)
    if form == "xml":
        return html.unescape(text)
    return "\n".join(_strings(result.get("structuredContent") or json.loads(text)))


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in _strings(each)]
    return [value] if isinstance(value, str) else []


def flags_of(result: dict[str, Any], form: str) -> Any:
    text = result["content"][0]["text"]
    if form == "text":
        return None
    if form == "xml":
        return re.findall(r'code="(\w+)"|severity="(\w+)"|<(retry_after)>', text)
    stated = result.get("structuredContent") or json.loads(text)
    data = stated.get("data") or {}
    match form:
        case "typed":
            return stated["type"], stated["recoverable"], data.get("retry_after")
        case "v1":
            return stated["code"], stated["retryable"], stated.get("retryAfter")
        case "envelope":
            return stated["error"]["code"], stated["error"]["retryable"], stated["error"].get("retry_after_ms")
        case _:
            return stated["code"], *(data.get(key) for key in ("mcp_error_code", "recovery_strategy", "retry_after"))


WHERE = [*(("fastmcp", form) for form in FORMS), ("mcpserver", "text")]


@pytest.mark.parametrize(("framework", "form"), WHERE)
@given(name=st.sampled_from(sorted(RAISED)), one=texts, other=texts)
@example(name="ValueError", one="could not parse amount from the bank response", other="Zahlung bereits ausgeführt")
@example(name="LookupError", one="inv_1 not found", other="No response returned for invoice inv_1")
@example(name="ToolError", one="Rate limit exceeded, retry after 30 seconds", other="boom")
@example(name="RuntimeError", one="429 Too Many Requests", other="boom")
@example(name="OperationalError", one="database is locked", other="no such table: invoices")
def test_for_any_two_texts_programs_read_the_same(framework: str, form: str, name: str, one: str, other: str) -> None:
    assert outcome(framework, form, name, one)[0] == outcome(framework, form, name, other)[0]


@pytest.mark.parametrize(("framework", "form"), WHERE)
@given(name=st.sampled_from(sorted(RAISED)), text=sayings)
@example(name="Exception", text="No seats left on that date; try 2026-12-02")
@example(name="KeyError", text="b9")
def test_the_authors_text_arrives(framework: str, form: str, name: str, text: str) -> None:
    words = outcome(framework, form, name, text)[1]
    assert text.rstrip(". ") in words


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_a_long_text_arrives_in_its_first_half(name: str) -> None:
    text = "The bank says no. " * 100
    words = outcome("fastmcp", "text", name, text)[1]
    assert text[:400] in words
    assert len(words) < 1_000


@pytest.mark.parametrize(("framework", "form"), WHERE)
@given(name=st.sampled_from(sorted(PLAIN)), text=sayings)
def test_nothing_of_ours_invites_the_same_call(framework: str, form: str, name: str, text: str) -> None:
    found, words = outcome(framework, form, name, text)
    assert found.held
    assert not found.retry_after or found.effect is not None
    assert found.strategy != "retry_with_backoff"
    ours = words.replace(text.rstrip(". "), "")
    assert not INVITES.search(ours), ours
