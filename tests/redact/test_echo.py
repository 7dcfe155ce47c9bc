"""What was sent is quoted once in a text, and not at length, whoever quotes it and however."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import string
from typing import Any
from urllib.parse import quote

import mcp
import pytest
from mcp.server import MCPServer

import failwell as fw
import failwell.server
from failwell.redact import DEFAULT, MASK, Guard
from failwell.redact.length import shorten

_DRAWN = random.Random(7)
PROSE = " ".join("".join(_DRAWN.choices(string.ascii_lowercase, k=_DRAWN.randint(2, 9))) for _ in range(3_500))
LINES = PROSE.replace(" ", '\n"é" ', 900)
# What a guard may add to 200 characters of what was sent: the words around them.
MOST = 320

WAYS: dict[str, Any] = {
    "as it is": lambda sent: f"No project {sent} here",
    "twice": lambda sent: f"No {sent}, really no {sent}",
    "in code": lambda sent: f"KeyError({sent!r})",
    "in a list": lambda sent: repr([{"id": sent}]),
    "in JSON": lambda sent: json.dumps({"id": sent}),
    "in JSON of another alphabet": lambda sent: json.dumps({"id": sent}, ensure_ascii=False),
    "in an address": lambda sent: f"GET https://api.example.com/projects/{quote(sent)} failed",
    "from its middle": lambda sent: f"near '{sent[3_000:9_000]}'",
    "its end": lambda sent: f"after {sent[-5_000:]}",
    "on one line": lambda sent: " ".join(sent.split()),
}


@pytest.mark.parametrize("sent", [PROSE, LINES], ids=["words", "lines"])
@pytest.mark.parametrize("way", WAYS)
def test_what_was_sent_is_quoted_once_and_not_at_length(way: str, sent: str) -> None:
    told = DEFAULT.hearing({"id": sent}).text(WAYS[way](sent))
    assert len(told) < MOST
    assert re.search(r" …\([0-9]+ characters cut\)… ", told)
    assert DEFAULT.hearing({"id": sent}).text(told) == told


def test_every_part_of_an_error_is_held_to_it_but_what_is_to_be_sent() -> None:
    error = fw.Invalid(
        f"No {PROSE}",
        suggestion=f"Not {PROSE}",
        next_steps=[f"Look for {PROSE}"],
        fields=[{"path": ["id"], "message": f"{PROSE} is no id"}],
        details={"rows": [{"id": PROSE}]},
        verify={"tool": "find", "arguments": {"id": PROSE[:300]}},
    )
    told = DEFAULT.hearing({"id": PROSE})(error)
    texts = [told.message, told.suggestion, *told.next_steps, told.fields[0].message, told.details["rows"][0]["id"]]
    assert [len(str(each)) < MOST for each in texts] == [True] * 5
    assert told.verify is not None
    assert told.verify.arguments == {"id": PROSE[:300]}
    assert told == DEFAULT.hearing({"id": PROSE})(told)


def test_a_list_that_was_sent_is_one_argument() -> None:
    ids = [f"p_{number}" for number in range(3_000)]
    guard = DEFAULT.hearing({"ids": ids})
    for quoted in (f"unknown: {ids}", f"unknown: {json.dumps(ids)}", json.dumps({"ids": ids}, separators=(",", ":"))):
        assert len(guard.text(quoted)) < MOST


def test_other_words_stay() -> None:
    own = " ".join(f"sentence {number}." for number in range(100))
    guard = DEFAULT.hearing({"id": PROSE, "short": "p_1"})
    assert guard.text(own) == own
    assert guard.text(f"No p_1. {own} p_1") == f"No p_1. {own} p_1"
    assert guard.text(f"{own} {PROSE} {own}").startswith(own)
    assert guard.text(f"{own} {PROSE} {own}").endswith(own)
    assert guard(fw.NotFound(PROSE[:150])).message == PROSE[:150]


def test_a_call_with_short_arguments_has_the_same_guard() -> None:
    assert DEFAULT.hearing({"id": "p_1", "ids": [1, 2, 3]}) is DEFAULT
    assert DEFAULT.hearing(None) is DEFAULT


@pytest.mark.parametrize("length", [300, 9_000, 30_000, 100_000])
def test_a_secret_stays_one_however_long_it_is_and_wherever_it_is_cut(length: int) -> None:
    secret = "".join(_DRAWN.choices(string.ascii_letters, k=length))
    guard = DEFAULT.hearing({"password": secret})
    for quoted in (secret, secret[length // 2 :], f"{secret!r} is wrong", secret[-250:]):
        told = guard(fw.ToolError(f"No: {quoted}")).message
        assert MASK in told or "cut" in told
        pieces = [secret[at : at + 12] for at in range(0, length - 12, 7)]
        assert not any(piece in told for piece in pieces), told[:300]


def test_a_cut_parts_no_secret_from_its_name() -> None:
    lines = "".join(f"line {number} password=Tr0ub4dor{number:05} end\n" for number in range(600))
    told = DEFAULT.hearing({"config": lines}).text(f"cannot read {lines}")
    assert "Tr0ub4" not in told
    assert len(told) < 2 * MOST


@pytest.mark.parametrize(
    "escape", [r"\n", r"\\", r"\u00e9", r"\ud83d\ude00", r"\U0001f600", r"\x1b", "%20", "%C3%A9", "&quot;", MASK]
)
def test_nothing_is_cut_in_the_middle_of_an_escape(escape: str) -> None:
    for shift in range(len(escape)):
        told = shorten("x" * shift + escape * 100, 150)
        head, _, tail = told.partition(" …(")
        tail = tail.partition(")… ")[2]
        assert head.removeprefix("x" * shift).replace(escape, "") == ""
        assert tail.replace(escape, "") == ""


def test_a_guard_of_your_own_does_the_same() -> None:
    guard = Guard.make(patterns=[r"EMP-[0-9]{6}"], max_chars=50_000).hearing({"id": PROSE})
    assert guard.text(f"EMP-204711 sent {PROSE}").startswith(f"{MASK} sent ")
    assert len(guard.text(f"EMP-204711 sent {PROSE}")) < MOST


def find(project: str) -> str:
    raise LookupError(f"No {project} among {[project]}")


def refuse(project: str) -> str:
    raise fw.NotFound(f"No {project}, really no {project}", suggestion=f"Not {project}", details={"id": project})


def crash(project: str) -> str:
    raise RuntimeError(repr([project]))


@pytest.mark.parametrize("format", ["text", "xml", "jsonrpc", "canonical"])
def test_a_server_quotes_no_argument_at_length_in_its_answers_nor_in_its_log(
    format: str, caplog: pytest.LogCaptureFixture
) -> None:
    server: Any = MCPServer("echo", log_level="DEBUG")
    for tool in (find, refuse, crash):
        server.tool()(tool)
    failwell.server.install(server, wire={"client": None}, format=format, show_text=True)

    async def main() -> list[Any]:
        async with mcp.Client(server) as client:
            return [await client.call_tool(tool.__name__, {"project": LINES}) for tool in (find, refuse, crash)]

    with caplog.at_level(logging.DEBUG, logger="failwell"):
        answers = asyncio.run(main())
    # Each of its texts quotes it once: message, suggestion and one detail, in words and in `_meta`.
    assert [len(answer.model_dump_json()) < 3_500 for answer in answers] == [True] * 3
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("failwell")]
    assert [len(line) < 500 for line in lines] == [True] * len(lines)
    assert sum("characters cut" in line for line in lines) == 3
